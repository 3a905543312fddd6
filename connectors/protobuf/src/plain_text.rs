//! Records that are plain text: option `payload`.

use std::sync::Arc;

use arrow::array::ArrayRef;
use recordfusion_core::RecordBlock;

use crate::decoded::{Arrays, Tally};
use crate::fault::Result;
use crate::options::{InvalidUtf8, Mapping};
use crate::text::{Utf8, views_of_strings};
use crate::view::view;

/// Decodes records that are text to one column of views, shown as often as it is wanted.
#[derive(Debug)]
pub(crate) struct TextDecoder {
    utf8: Utf8,
    columns: usize,
    judged: bool,
}

impl TextDecoder {
    /// A decoder of `columns` columns, all of the text. Without any the records are only looked into if they are
    /// judged as a whole.
    pub(crate) fn new(columns: usize, mapping: &Mapping) -> Self {
        let utf8 = match mapping.invalid_utf8 {
            InvalidUtf8::Auto | InvalidUtf8::Error => Utf8::Strict,
            InvalidUtf8::Replace => Utf8::Replace,
            InvalidUtf8::Null => Utf8::Null,
        };
        Self { utf8, columns, judged: mapping.judges_whole_records() }
    }

    /// How many columns are decoded.
    pub(crate) fn leaves(&self) -> u64 {
        self.columns.min(1) as u64
    }

    /// The records `rows` of `block` as text, in views of its buffer.
    ///
    /// # Errors
    /// [`crate::fault::FaultKind::InvalidUtf8`] as far as the options do not say otherwise.
    pub(crate) fn decode(&self, block: &RecordBlock, rows: impl Iterator<Item = usize>) -> Result<Arrays> {
        let mut arrays = Arrays::default();
        if self.columns == 0 && !self.judged {
            return Ok(arrays);
        }
        let record = |row: usize| {
            let (begin, end) = block.places().get(row).copied().unwrap_or_default();
            view(block.data(), begin as usize, end as usize)
        };
        let views = rows.map(record).collect();
        let mut tally = Tally::default();
        let text: ArrayRef =
            views_of_strings(views, vec![block.data().clone()], None, self.utf8, &mut tally)?;
        arrays.columns = (0..self.columns).map(|_| Arc::clone(&text)).collect();
        arrays.tally = tally;
        Ok(arrays)
    }
}
