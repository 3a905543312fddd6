//! Strings and bytes in a buffer of their own, one after the other.

use std::ops::Range;

use arrow::array::OffsetSizeTrait;

use crate::fault::{FaultKind, Result};

/// Byte strings by row; rows without one hold the empty string. Only the last row can change.
#[derive(Debug, Default)]
pub(crate) struct ByteStrings {
    /// Begin of the string of each row so far.
    begins: Vec<usize>,
    bytes: Vec<u8>,
}

#[expect(clippy::arithmetic_side_effects, reason = "a row is less than the number of rows")]
impl ByteStrings {
    /// Adds `value` to the string of `row`.
    pub(crate) fn append(&mut self, row: usize, value: &[u8]) {
        if self.begins.len() <= row {
            self.begins.resize(row + 1, self.bytes.len());
        }
        self.bytes.extend_from_slice(value);
    }

    /// Makes `value` the string of `row`.
    pub(crate) fn replace(&mut self, row: usize, value: &[u8]) {
        self.erase(row..row + 1);
        self.append(row, value);
    }

    /// The string of `row`.
    pub(crate) fn get(&self, row: usize) -> &[u8] {
        let begin = self.begins.get(row).copied().unwrap_or(self.bytes.len());
        let end = self.begins.get(row + 1).copied().unwrap_or(self.bytes.len());
        self.bytes.get(begin..end).unwrap_or_default()
    }

    /// Takes back the strings of `rows`, which are the last ones.
    pub(crate) fn erase(&mut self, rows: Range<usize>) {
        if let Some(&begin) = self.begins.get(rows.start) {
            self.bytes.truncate(begin);
            self.begins.truncate(rows.start);
        }
    }

    /// Arrow offsets of the first `rows` rows, and the bytes; the column is empty afterwards.
    ///
    /// # Errors
    /// [`FaultKind::TooLarge`] beyond what the offsets reach.
    pub(crate) fn take<O: OffsetSizeTrait>(&mut self, rows: usize) -> Result<(Vec<O>, Vec<u8>)> {
        let bytes = std::mem::take(&mut self.bytes);
        let offsets = offsets(&mut self.begins, rows, bytes.len())?;
        Ok((offsets, bytes))
    }

    /// Forgets all strings.
    pub(crate) fn clear(&mut self) {
        self.begins.clear();
        self.bytes.clear();
    }
}

/// Arrow offsets of `rows` rows that begin at `begins`, padded with `end`; `begins` is empty afterwards.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "rows are records or items in memory, whose bytes usize counts"
)]
pub(super) fn offsets<O: OffsetSizeTrait>(
    begins: &mut Vec<usize>,
    rows: usize,
    end: usize,
) -> Result<Vec<O>> {
    if end > O::MAX_OFFSET {
        return Err(FaultKind::TooLarge.into());
    }
    begins.resize(rows + 1, end);
    let offsets = begins.iter().map(|&begin| O::usize_as(begin)).collect();
    begins.clear();
    Ok(offsets)
}
