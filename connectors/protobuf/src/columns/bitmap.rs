//! One bit per row.

use std::ops::Range;

use arrow::buffer::{BooleanBuffer, Buffer};

/// Bits by row; rows that none is written for are 0.
#[derive(Debug, Default)]
pub(crate) struct Bitmap {
    bytes: Vec<u8>,
    usual_bytes: usize,
}

impl Bitmap {
    /// Sets the bit of `row` to 1.
    #[inline(always)]
    pub(crate) fn set(&mut self, row: usize) {
        self.put(row, true);
    }

    /// Sets the bit of `row` to `value`.
    #[inline(always)]
    pub(crate) fn put(&mut self, row: usize, value: bool) {
        let index = row / 8;
        if index >= self.bytes.len() {
            self.grow(index);
        }
        if let Some(byte) = self.bytes.get_mut(index) {
            *byte = *byte & !(1 << (row % 8)) | u8::from(value) << (row % 8);
        }
    }

    /// The bit of `row`.
    pub(crate) fn get(&self, row: usize) -> bool {
        self.bytes.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1)
    }

    /// Sets the bits of the first `rows` rows to 1, of a bitmap in which no later one is set.
    pub(crate) fn set_first(&mut self, rows: usize) {
        self.bytes.clear();
        self.bytes.resize(rows / 8, 0xff);
        (rows & !7..rows).for_each(|row| self.set(row));
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "an eighth of a row is far from the last index, and a vector has no more bytes than isize counts"
    )]
    #[cold]
    fn grow(&mut self, index: usize) {
        let len = (index + 1).max(self.usual_bytes).max(2 * self.bytes.len());
        self.bytes.resize(len, 0);
    }

    /// Sets the bits of `rows` to 0.
    pub(crate) fn erase(&mut self, rows: Range<usize>) {
        for row in rows.start..rows.end.min(self.bytes.len().saturating_mul(8)) {
            self.put(row, false);
        }
    }

    /// The bits of the first `rows` rows; the bitmap is empty afterwards.
    pub(crate) fn take(&mut self, rows: usize) -> BooleanBuffer {
        let mut bytes = std::mem::take(&mut self.bytes);
        self.usual_bytes = rows.div_ceil(8);
        bytes.resize(self.usual_bytes, 0);
        BooleanBuffer::new(Buffer::from_vec(bytes), 0, rows)
    }

    /// Forgets all bits.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }
}
