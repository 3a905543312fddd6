//! What a format gives to a scan: its row groups, one after another.

use std::future::Future;

use arrow::array::{BooleanArray, RecordBatch};

use crate::{ColumnBounds, Result};

/// The row groups that begin in a byte range, in file order.
pub trait RowGroups: Send {
    /// One of them.
    type Group: RowGroup;

    /// The next row group. A format whose row groups may be small puts them together to at least `rows` rows.
    ///
    /// # Errors
    /// Those of the file; nothing comes after one.
    fn next(&mut self, rows: usize) -> impl Future<Output = Result<Option<Self::Group>>> + Send;
}

/// Rows that lie together in a file and whose columns can be decoded by themselves: a row group, a transposed chunk,
/// a block of records.
pub trait RowGroup: Send {
    /// Decodes the columns of one projection; it keeps its memory from row group to row group.
    type Columns: Send;

    /// Whether columns of a part of the rows cost about that part of all. Otherwise it only pays to leave out a row
    /// group as a whole.
    fn decodes_single_rows(&self) -> bool;

    /// Bounds of the values of a column, by its index in the projection. Little is read for it.
    fn bounds(&mut self, columns: &mut Self::Columns, column: usize) -> Option<ColumnBounds> {
        let _ = (columns, column);
        None
    }

    /// The columns of the next rows, in order: about `rows` of them, or all at once where rows cannot be had one by
    /// one. `None` behind the last.
    ///
    /// # Errors
    /// Those of the file and of its values.
    fn next(
        &mut self,
        columns: &mut Self::Columns,
        rows: usize,
    ) -> impl Future<Output = Result<Option<RecordBatch>>> + Send;

    /// Other columns of the rows that [`Self::next`] gave last, as far as `keep` wants them.
    ///
    /// # Errors
    /// As [`Self::next`].
    fn rest(
        &mut self,
        columns: &mut Self::Columns,
        keep: &BooleanArray,
    ) -> impl Future<Output = Result<RestOfRows>> + Send;
}

/// Columns of rows of which some are wanted.
#[derive(Debug)]
pub enum RestOfRows {
    /// Of all the rows.
    All(RecordBatch),
    /// Of the wanted rows, in parts; fewer only if the others are lost to damage that is passed over.
    Kept(Vec<RecordBatch>),
}
