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
        if row == self.values.len() && row < self.values.capacity() {
            self.values.push(value);
            return self.fill;
        }
        self.set_elsewhere(row, value)
    }

    /// Sets a row that is not the next one, or that there is no room for.
    #[expect(clippy::arithmetic_side_effects, reason = "a row is less than the number of rows")]
    #[inline(never)]
    fn set_elsewhere(&mut self, row: usize, value: T) -> T {
        if row >= self.values.len() {
            self.make_room(row + 1);
            self.values.resize(row + 1, self.fill);
        }
        match self.values.get_mut(row) {
            Some(place) => std::mem::replace(place, value),
            None => self.fill,
        }
    }

    /// Room for `rows` rows: at least as many as the last batch had, or twice as many as now.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "a vector has no more bytes than isize counts, and no more values than it has room for"
    )]
    fn make_room(&mut self, rows: usize) {
        if rows > self.values.capacity() {
            let rows = rows.max(self.usual_rows).max(2 * self.values.capacity());
            self.values.reserve_exact(rows - self.values.len());
        }
    }

    /// The value of `row`.
    pub(crate) fn get(&self, row: usize) -> T {
        self.values.get(row).copied().unwrap_or(self.fill)
    }

    /// The value of rows that none is written for.
    pub(crate) fn fill(&self) -> T {
        self.fill
    }

    /// The values of the first `rows` rows, to be set in any order.
    pub(crate) fn first(&mut self, rows: usize) -> &mut [T] {
        if rows > self.values.len() {
            self.make_room(rows);
            self.values.resize(rows, self.fill);
        }
        self.values.get_mut(..rows).unwrap_or_default()
    }

    /// Appends `values` from `row` on, for a run of items.
    #[expect(clippy::arithmetic_side_effects, reason = "together they are the rows so far")]
    #[inline]
    pub(crate) fn extend(&mut self, row: usize, values: impl ExactSizeIterator<Item = T>) {
        self.make_room(row + values.len());
        self.values.resize(row, self.fill);
        self.values.extend(values);
    }

    /// The values before `row`, to append others.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "the rows before are in memory, and each has several bytes"
    )]
    #[inline]
    pub(crate) fn before(&mut self, row: usize) -> &mut Vec<T> {
        self.make_room(row + 1);
        self.values.resize(row, self.fill);
        &mut self.values
    }

    /// The values so far.
    pub(crate) fn values(&self) -> &[T] {
        &self.values
    }

    /// As [`Self::values`], to be changed.
    pub(crate) fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
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
        values.resize(rows, self.fill);
        values
    }

    /// Forgets all values.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
    }
}
