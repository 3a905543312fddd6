//! Bytes of records that are counted on the way: those of what is not wanted, or whose row is chosen. All others are
//! known of each leaf at once.

use recordfusion_protobuf::shredded::{Others, Unfit};

/// The bytes that were met and not given to a message so far, and those that messages have.
#[derive(Debug, Default)]
pub(super) struct Size {
    bytes: u64,
    /// Of each open submessage the bytes behind it, and those of its tag.
    open: Vec<(u64, u8)>,
    given: Others,
}

impl Size {
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "each string is added once, and the ops that add others are counted"
    )]
    #[inline(always)]
    pub fn add(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    /// The end of a submessage.
    pub fn end(&mut self, tag: u8) {
        self.open.push((self.bytes, tag));
    }

    /// The begin of a submessage.
    pub fn begin(&mut self) -> Result<(), Unfit> {
        let (behind, tag) = self.open.pop().ok_or(Unfit)?;
        let len = self.bytes.checked_sub(behind).ok_or(Unfit)?;
        self.bytes = behind;
        self.submessage(len as usize, tag);
        Ok(())
    }

    /// A submessage of `len` bytes.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "the length is that of bytes which were added before, and the rest 20 at most"
    )]
    pub fn submessage(&mut self, len: usize, tag: u8) {
        let prefix = (usize::BITS - (len | 1).leading_zeros()).div_ceil(7) as usize;
        self.add(len + prefix + usize::from(tag));
    }

    /// Gives the bytes to a message, by index, whose fields have this row.
    #[expect(clippy::arithmetic_side_effects, reason = "messages are numbered by 16 bits")]
    pub fn give(&mut self, message: usize, row: u32) {
        if self.given.len() <= message {
            self.given.resize(message + 1, Vec::new());
        }
        if let Some(given) = self.given.get_mut(message) {
            given.push((row, std::mem::take(&mut self.bytes)));
        }
    }

    /// The bytes that messages have.
    ///
    /// # Errors
    /// [`Unfit`] if some were given to none.
    pub fn given(self) -> Result<Others, Unfit> {
        if self.bytes == 0 && self.open.is_empty() { Ok(self.given) } else { Err(Unfit) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submessages_have_a_length_and_a_tag() {
        for (len, prefix) in [(0, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3)] {
            let mut size = Size::default();
            size.add(6);
            size.end(2);
            size.add(len);
            assert_eq!(size.begin(), Ok(()));
            assert_eq!(size.begin(), Err(Unfit));
            size.give(1, 7);
            let bytes = (6 + len + prefix + 2) as u64;
            assert_eq!(size.given(), Ok(vec![vec![], vec![(7, bytes)]]));
        }
    }
}
