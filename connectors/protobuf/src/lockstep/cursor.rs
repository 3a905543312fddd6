//! Messages on the way, and what is read where they stand.

use crate::wire;

/// Bytes that can be read behind every message, so that nothing has to be done apart near the end of the data.
pub(super) const MARGIN: usize = 256;

/// A message on the way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor {
    /// Where its next field begins: beyond its end if what was read there was no value of it.
    pub at: u32,
    /// Where it ends.
    pub end: u32,
    /// The row that it belongs to.
    pub row: u32,
}

impl Cursor {
    /// The bytes from its next field on.
    #[inline(always)]
    pub(super) fn window<'d>(&self, data: &'d [u8]) -> Option<&'d Window> {
        window_at(data, self.at as usize)
    }

    /// Goes on `len` bytes, less than [`MARGIN`], if `is_here`.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "a message that goes on ends MARGIN before the end of the data, whose places have 32 bits"
    )]
    #[inline(always)]
    pub(super) fn skip_if(&mut self, is_here: bool, len: u32) {
        self.at += len & u32::from(is_here).wrapping_neg();
    }

    /// Begin and end of the value whose length is `width` bytes on; the message goes on behind it. `None` if it
    /// does not end within the message.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "a place has 32 bits, a tag five bytes, and a length of one byte is less than 128"
    )]
    #[inline(always)]
    pub(super) fn take_delimited(
        &mut self,
        data: &[u8],
        window: &Window,
        width: usize,
    ) -> Option<(usize, usize)> {
        let mut begin = self.at as usize + width;
        let end = match *window.get(width)? {
            len if len < 0x80 => {
                begin += 1;
                begin + len as usize
            }
            _ => long_length(data, &mut begin)?,
        };
        if end > self.end as usize {
            return None;
        }
        self.at = end as u32;
        Some((begin, end))
    }
}

/// The bytes from somewhere on.
pub(super) type Window = [u8; 16];

/// The bytes from `at` on.
#[expect(clippy::arithmetic_side_effects, reason = "a place has 32 bits")]
#[inline(always)]
pub(super) fn window_at(data: &[u8], at: usize) -> Option<&Window> {
    data.get(at..at + size_of::<Window>())?.first_chunk()
}

#[inline(never)]
fn long_length(data: &[u8], at: &mut usize) -> Option<usize> {
    wire::length(data, at).ok()
}
