//! Rows without columns.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema;
use futures::stream::{self, BoxStream, StreamExt};

use crate::{BatchStream, Error, Result};

/// Batches without columns, with as many rows as `counts` say together: at most `batch_size` each, and `limit`
/// together. What was counted before an error comes before it.
pub fn row_counts(
    counts: BoxStream<'static, Result<u64>>,
    limit: Option<usize>,
    batch_size: usize,
) -> BatchStream {
    let left = limit.map_or(u64::MAX, |limit| limit as u64);
    let count = RowCount { counts, counted: 0, left, batch_size: batch_size.max(1) as u64, end: None };
    stream::try_unfold(count, |mut count| async move { Ok(count.next().await?.map(|batch| (batch, count))) })
        .boxed()
}

struct RowCount {
    counts: BoxStream<'static, Result<u64>>,
    /// Rows that were counted, but not yet handed out.
    counted: u64,
    /// Rows that the limit still allows.
    left: u64,
    batch_size: u64,
    /// How the counting came to its end.
    end: Option<Option<Error>>,
}

impl RowCount {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let wanted = self.batch_size.min(self.left);
        while self.end.is_none() && self.counted < wanted {
            match self.counts.next().await {
                Some(Ok(rows)) => self.counted = self.counted.saturating_add(rows),
                Some(Err(error)) => self.end = Some(Some(error)),
                None => self.end = Some(None),
            }
        }
        let rows = self.counted.min(wanted);
        if rows == 0 {
            let error = if wanted > 0 { self.end.as_mut().and_then(Option::take) } else { None };
            return error.map_or(Ok(None), Err);
        }
        self.counted = self.counted.saturating_sub(rows);
        self.left = self.left.saturating_sub(rows);
        let options = RecordBatchOptions::new().with_row_count(Some(rows as usize));
        Ok(Some(RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?))
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;

    fn rows(counts: Vec<Result<u64>>, limit: Option<usize>, batch_size: usize) -> (Vec<usize>, bool) {
        let batches = row_counts(stream::iter(counts).boxed(), limit, batch_size);
        let batches: Vec<_> = block_on(batches.collect());
        let failed = batches.iter().any(Result::is_err);
        (batches.into_iter().flatten().map(|batch| batch.num_rows()).collect(), failed)
    }

    #[test]
    fn counts_become_batches_within_the_limit() {
        let counts = || vec![Ok(5), Ok(0), Ok(8)];
        assert_eq!(rows(counts(), None, 100), (vec![13], false));
        assert_eq!(rows(counts(), None, 4), (vec![4, 4, 4, 1], false));
        assert_eq!(rows(counts(), Some(6), 4), (vec![4, 2], false));
        assert_eq!(rows(counts(), Some(0), 4), (vec![], false));
        assert_eq!(rows(vec![], None, 4), (vec![], false));
    }

    #[test]
    fn what_was_counted_comes_before_the_error() {
        let counts = || vec![Ok(5), Err(Error::Schema("broken".to_string()))];
        assert_eq!(rows(counts(), None, 4), (vec![4, 1], true));
        assert_eq!(rows(counts(), Some(5), 4), (vec![4, 1], false), "the limit is reached before");
    }
}
