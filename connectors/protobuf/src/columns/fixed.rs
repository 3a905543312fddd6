//! Values of one width.

use std::ops::Range;

/// Values of one width by row; rows without a value hold `fill`.
#[derive(Debug)]
pub(crate) struct Fixed<T> {
    values: Vec<T>,
    fill: T,
    usual_rows: usize,
}

impl<T: Copy> Fixed<T> {
    /// An empty column. `fill` is the value of rows that none is written for.
    pub(crate) fn new(fill: T) -> Self {
        Self { values: Vec::new(), fill, usual_rows: 0 }
    }

    /// Sets the value of `row` and returns the one before.
    #[inline(always)]
    pub(crate) fn set(&mut self, row: usize, value: T) -> T {
        if row >= self.values.len() {
            self.grow(row);
        }
        std::mem::replace(&mut self.values[row], value)
    }

    /// Room for as many rows as the last batch had, or for twice as many as now.
    #[cold]
    fn grow(&mut self, row: usize) {
        let rows = (row + 1).max(self.usual_rows).max(2 * self.values.len());
        if self.values.is_empty() {
            self.values = vec![self.fill; rows];
        } else {
            self.values.resize(rows, self.fill);
        }
    }

    /// The value of `row`.
    pub(crate) fn get(&self, row: usize) -> T {
        self.values.get(row).copied().unwrap_or(self.fill)
    }

    /// The room of `values.len()` rows from `row` on, for a run of items.
    #[inline]
    pub(crate) fn run(&mut self, row: usize, len: usize) -> &mut [T] {
        if row + len > self.values.len() {
            self.grow(row + len);
        }
        &mut self.values[row..row + len]
    }

    /// Takes back the values of `rows`.
    pub(crate) fn erase(&mut self, rows: Range<usize>) {
        let end = rows.end.min(self.values.len());
        if let Some(values) = self.values.get_mut(rows.start.min(end)..end) {
            values.fill(self.fill);
        }
    }

    /// The values of the first `rows` rows; the column is empty afterwards.
    pub(crate) fn take(&mut self, rows: usize) -> Vec<T> {
        self.usual_rows = rows;
        let mut values = std::mem::take(&mut self.values);
        if values.is_empty() {
            return vec![self.fill; rows];
        }
        values.resize(rows, self.fill);
        values
    }

    /// Forgets all values.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
    }
}
