//! What is known of a column's values before they are decoded.

use arrow::array::ArrayRef;

/// What every value of a column in some rows keeps to.
#[derive(Debug, Clone)]
pub struct ColumnBounds {
    /// An array of one value in the column's type that no value is below; `None` if none is known.
    pub low: Option<ArrayRef>,
    /// An array of one value in the column's type that no value is above; `None` if none is known.
    pub high: Option<ArrayRef>,
    /// Which rows are NULL.
    pub nulls: Nulls,
}

/// Which rows of a column are NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// All.
    All,
    /// None.
    None,
    /// It is not known: there may be some.
    Some,
}
