//! Rows that a filter kept, put together to batches of the wanted size.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::BatchCoalescer;
use arrow::datatypes::SchemaRef;

use crate::{Result, compact};

/// Kept rows on their way out.
pub(super) struct Output {
    schema: SchemaRef,
    batch_size: usize,
    rows: BatchCoalescer,
    /// Rows that have no columns.
    counted: usize,
}

impl Output {
    pub fn new(schema: SchemaRef, batch_size: usize) -> Self {
        let rows = BatchCoalescer::new(Arc::clone(&schema), batch_size);
        Self { schema, batch_size, rows, counted: 0 }
    }

    /// Takes the rows of `columns` that `keep` says.
    #[expect(clippy::arithmetic_side_effects, reason = "a file has fewer records than usize counts")]
    pub fn push(&mut self, columns: Vec<ArrayRef>, keep: &BooleanArray) -> Result<()> {
        if self.schema.fields().is_empty() {
            self.counted += keep.true_count();
            return Ok(());
        }
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        match keep.true_count() == batch.num_rows() {
            true => self.rows.push_batch(batch)?,
            false => self.rows.push_batch_with_filter(batch, keep)?,
        }
        Ok(())
    }

    /// The next batch: a full one, or of what is there if nothing comes behind it or no more than that is wanted.
    pub fn next(&mut self, ended: bool, wanted: usize) -> Result<Option<RecordBatch>> {
        if self.schema.fields().is_empty() {
            return self.next_count(ended, wanted);
        }
        if !self.rows.has_completed_batch() && (ended || self.rows.get_buffered_rows() >= wanted) {
            self.rows.finish_buffered_batch()?;
        }
        let batch = self.rows.next_completed_batch();
        let batch = batch.map(|batch| if batch.num_rows() > wanted { batch.slice(0, wanted) } else { batch });
        batch.as_ref().map(compact).transpose()
    }

    #[expect(clippy::arithmetic_side_effects, reason = "no more rows are given out than are counted")]
    fn next_count(&mut self, ended: bool, wanted: usize) -> Result<Option<RecordBatch>> {
        let full = self.batch_size.min(wanted);
        if self.counted == 0 || (self.counted < full && !ended) {
            return Ok(None);
        }
        let rows = self.counted.min(full);
        self.counted -= rows;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(Some(RecordBatch::try_new_with_options(Arc::clone(&self.schema), vec![], &options)?))
    }
}
