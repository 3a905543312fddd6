//! The bytes of the records, counted where all of them are looked at.

use recordfusion_protobuf::shredded::Unfit;

/// How many bytes the records have as far as the walk has come.
#[derive(Debug, Default)]
pub(super) struct Size {
    bytes: usize,
    /// Of each open submessage the bytes behind it, and those of its tag.
    open: Vec<(usize, u8)>,
}

impl Size {
    /// The bytes of all records.
    pub fn total(&self) -> u64 {
        self.bytes as u64
    }

    #[inline(always)]
    pub fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    /// The end of a submessage, met after `bytes` others.
    #[inline(always)]
    pub fn end(&mut self, bytes: u16, tag: u8) {
        self.bytes += usize::from(bytes);
        self.open.push((self.bytes, tag));
    }

    /// The begin of a submessage, met after `bytes` others.
    #[inline(always)]
    pub fn begin(&mut self, bytes: u16) -> Result<(), Unfit> {
        let (behind, tag) = self.open.pop().ok_or(Unfit)?;
        let len = self.bytes + usize::from(bytes) - behind;
        self.bytes = behind;
        self.submessage(len, tag);
        Ok(())
    }

    /// A submessage of `len` bytes.
    #[inline(always)]
    pub fn submessage(&mut self, len: usize, tag: u8) {
        let prefix = (usize::BITS - (len | 1).leading_zeros()).div_ceil(7) as usize;
        self.bytes += len + prefix + usize::from(tag);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submessages_have_a_length_and_a_tag() {
        for (len, prefix) in [(0, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3)] {
            let mut size = Size::default();
            size.add(5);
            size.end(1, 2);
            size.add(len);
            assert_eq!(size.begin(0), Ok(()));
            assert_eq!(size.total(), (6 + len + prefix + 2) as u64);
            assert_eq!(size.begin(0), Err(Unfit));
        }
    }
}
