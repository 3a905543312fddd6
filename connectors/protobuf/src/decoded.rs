//! What records became: arrays, and what was noticed on the way.

use arrow::array::ArrayRef;
use arrow::buffer::BooleanBuffer;

use crate::fault::{FaultKind, Result};

/// The arrays that some records became, and what was noticed on the way.
#[derive(Default)]
pub(crate) struct Arrays {
    /// The wanted columns.
    pub columns: Vec<ArrayRef>,
    /// The unknown fields of each record, if they are wanted.
    pub unknown: Option<ArrayRef>,
    /// What was noticed of values.
    pub tally: Tally,
    /// Occurrences of known fields with another wire type.
    pub mismatches: u64,
    /// Which records lack a required field, if any does.
    pub incomplete: Option<BooleanBuffer>,
}

/// What was noticed while arrays were made.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    /// Timestamps, durations and times of day that lost digits.
    pub truncated: u64,
    /// Strings that were mended.
    pub mended: u64,
    /// Values that are NULL because no column can hold them.
    pub nulled: u64,
    /// Whether a value that no column can hold is NULL, and no fault.
    pub null_bad_values: bool,
}

impl Tally {
    /// The value, or NULL for a bad one where that is wanted.
    ///
    /// # Errors
    /// The fault, if it is to be one.
    pub(crate) fn value<T>(&mut self, value: Result<T>) -> Result<Option<T>> {
        match value {
            Err(fault) if self.null_bad_values && matches!(fault.kind(), FaultKind::BadValue(_)) => {
                self.nulled = self.nulled.saturating_add(1);
                Ok(None)
            }
            other => other.map(Some),
        }
    }
}
