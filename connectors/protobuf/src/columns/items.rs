//! The items of lists and the entries of maps.

use std::ops::Range;

use super::byte_strings::offsets;
use crate::fault::Result;

/// Which items belong to which row: an item is a row of the column below. Only the last row can change.
#[derive(Debug, Default)]
pub(crate) struct Items {
    /// The first item of each row so far.
    begins: Vec<usize>,
    count: usize,
    withdrawn: Vec<usize>,
}

impl Items {
    /// Adds an item to `row` and returns its index.
    #[inline(always)]
    pub(crate) fn push(&mut self, row: usize) -> usize {
        self.push_run(row, 1)
    }

    /// Adds `len` items to `row` and returns the index of the first.
    #[expect(clippy::arithmetic_side_effects, reason = "each item was a value in memory")]
    #[inline(always)]
    pub(crate) fn push_run(&mut self, row: usize, len: usize) -> usize {
        while self.begins.len() <= row {
            self.begins.push(self.count);
        }
        let first = self.count;
        self.count += len;
        first
    }

    /// How many items there are.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Takes `item`, the last one, out of its map: it keeps its index but counts no more.
    pub(crate) fn withdraw(&mut self, item: usize) {
        self.withdrawn.push(item);
    }

    /// Takes back the items of `rows`, which are the last ones, and returns which they were.
    pub(crate) fn erase(&mut self, rows: Range<usize>) -> Range<usize> {
        let first = self.begins.get(rows.start).copied().unwrap_or(self.count);
        let erased = first..self.count;
        self.begins.truncate(rows.start);
        self.withdrawn.retain(|&item| item < first);
        self.count = first;
        erased
    }

    /// Arrow offsets of the first `rows` rows, and the withdrawn items in order; empty afterwards.
    ///
    /// # Errors
    /// [`crate::fault::FaultKind::TooLarge`] beyond what 32-bit offsets reach.
    pub(crate) fn take(&mut self, rows: usize) -> Result<(Vec<i32>, Vec<usize>)> {
        let count = std::mem::take(&mut self.count);
        Ok((offsets(&mut self.begins, rows, count)?, std::mem::take(&mut self.withdrawn)))
    }

    /// Forgets all items.
    pub(crate) fn clear(&mut self) {
        self.begins.clear();
        self.withdrawn.clear();
        self.count = 0;
    }
}
