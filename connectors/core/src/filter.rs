//! Rows that a scan may leave out.

use std::fmt::Debug;

use arrow::array::{BooleanArray, RecordBatch};

use crate::{ColumnBounds, Projection, Result};

/// A predicate that a scan applies to its rows. Its answers may change while the scan goes on, from rows that are
/// wanted to rows that are not: a scan asks anew for each batch.
pub trait RowFilter: Debug + Send + Sync {
    /// What it looks at.
    fn columns(&self) -> &Projection;

    /// Which rows of a batch of those columns are wanted. There are no NULLs.
    ///
    /// # Errors
    /// Rows that the predicate cannot be computed of.
    fn keep(&self, batch: &RecordBatch) -> Result<BooleanArray>;

    /// Whether a row may be wanted out of some whose values keep to `bounds`, by the index among the columns.
    fn may_keep(&self, bounds: &mut dyn FnMut(usize) -> Option<ColumnBounds>) -> bool {
        let _ = bounds;
        true
    }
}
