//! Gathers batches to the units that are encoded at once: a row group, or a piece of text.

use std::collections::HashSet;

use datafusion::arrow::array::{Array, ArrayData, RecordBatch};
use datafusion::error::Result;
use futures::StreamExt;
use futures::stream::{self, BoxStream};

/// When a unit is full.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnitLimits {
    /// Rows.
    pub(super) rows: usize,
    /// Bytes of memory that the unit's batches keep alive.
    pub(super) bytes: usize,
}

/// Batches that are encoded together.
pub(super) type Unit = Vec<RecordBatch>;

/// Gathers `batches`, in order, to units within `limits`; the last batch of a unit may go beyond.
pub(super) fn gather(
    batches: BoxStream<'_, Result<RecordBatch>>,
    limits: UnitLimits,
) -> BoxStream<'_, Result<Unit>> {
    stream::unfold(Some(batches), move |batches| async move {
        let mut batches = batches?;
        let mut unit = Unit::new();
        let (mut rows, mut memory) = (0, Memory::default());
        while let Some(batch) = batches.next().await {
            match batch {
                Ok(batch) if batch.num_rows() == 0 => {}
                Ok(batch) => {
                    rows += batch.num_rows();
                    memory.add(&batch);
                    unit.push(batch);
                }
                Err(error) => return Some((Err(error), None)),
            }
            if rows >= limits.rows || memory.bytes >= limits.bytes {
                return Some((Ok(unit), Some(batches)));
            }
        }
        (!unit.is_empty()).then_some((Ok(unit), None))
    })
    .boxed()
}

/// Memory that arrays keep alive. String views of many columns point into one chunk: each buffer counts once.
#[derive(Default)]
struct Memory {
    seen: HashSet<usize>,
    bytes: usize,
}

impl Memory {
    fn add(&mut self, batch: &RecordBatch) {
        for column in batch.columns() {
            self.add_data(&column.to_data());
        }
    }

    fn add_data(&mut self, data: &ArrayData) {
        for buffer in data.buffers() {
            if self.seen.insert(buffer.data_ptr().as_ptr() as usize) {
                self.bytes += buffer.capacity();
            }
        }
        for child in data.child_data() {
            self.add_data(child);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{ArrayRef, Int32Array, StringViewArray};
    use futures::TryStreamExt;

    use super::*;

    fn batch(rows: i32) -> RecordBatch {
        let column: ArrayRef = Arc::new(Int32Array::from_iter_values(0..rows));
        RecordBatch::try_from_iter([("n", column)]).expect("one column")
    }

    #[tokio::test]
    async fn units_end_at_the_row_limit_and_lose_nothing() {
        let batches = stream::iter([3, 0, 4, 5, 1].map(|rows| Ok(batch(rows)))).boxed();
        let units: Vec<Unit> = gather(batches, UnitLimits { rows: 6, bytes: usize::MAX })
            .try_collect()
            .await
            .expect("no errors");
        let rows: Vec<usize> =
            units.iter().map(|unit| unit.iter().map(RecordBatch::num_rows).sum()).collect();
        assert_eq!(rows, [7, 6]);
    }

    #[test]
    fn a_shared_buffer_counts_once() {
        let text: ArrayRef = Arc::new(StringViewArray::from(vec!["a string longer than twelve bytes"; 100]));
        let both =
            RecordBatch::try_from_iter([("a", Arc::clone(&text)), ("b", text)]).expect("equal lengths");
        let (mut once, mut twice) = (Memory::default(), Memory::default());
        once.add(&both.project(&[0]).expect("exists"));
        twice.add(&both);
        assert!(once.bytes > 0);
        assert_eq!(once.bytes, twice.bytes);
    }
}
