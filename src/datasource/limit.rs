//! The limit of a scan, which its partitions keep together.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use datafusion::arrow::array::RecordBatch;
use datafusion::error::Result;
use futures::FutureExt;
use futures::stream::{BoxStream, StreamExt, TryStreamExt};
use tokio::sync::watch;

/// The executions of a scan, of which there is one at a time as a rule.
#[derive(Debug, Default)]
pub(super) struct Executions(Mutex<Weak<RowCount>>);

/// A copy of a scan shares no executions with it.
impl Clone for Executions {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Executions {
    /// Lets `partition` take part in the present execution; in a new one if there is none, or if it took part in it
    /// already.
    pub(super) fn join(&self, partition: usize, limit: usize) -> Arc<RowCount> {
        let mut present = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(execution) = present.upgrade().filter(|execution| execution.limit == limit)
            && execution.admit(partition)
        {
            return execution;
        }
        let execution =
            Arc::new(RowCount { limit, rows: watch::Sender::default(), partitions: Mutex::default() });
        execution.admit(partition);
        *present = Arc::downgrade(&execution);
        execution
    }
}

/// How many rows the partitions of an execution gave together.
#[derive(Debug)]
pub(super) struct RowCount {
    limit: usize,
    rows: watch::Sender<usize>,
    partitions: Mutex<HashSet<usize>>,
}

impl RowCount {
    /// Whether it was the first time.
    fn admit(&self, partition: usize) -> bool {
        self.partitions.lock().unwrap_or_else(PoisonError::into_inner).insert(partition)
    }

    /// Whether there are as many rows as the limit asks for.
    pub(super) fn is_enough(&self) -> bool {
        *self.rows.borrow() >= self.limit
    }

    /// Counts the rows of `batches`, and ends them, reads under way included, when there are enough of all partitions.
    pub(super) fn limited(
        self: Arc<Self>,
        batches: BoxStream<'static, Result<RecordBatch>>,
    ) -> BoxStream<'static, Result<RecordBatch>> {
        let (mut rows, limit) = (self.rows.subscribe(), self.limit);
        // The sender lives as long as the stream.
        let enough = async move { drop(rows.wait_for(|rows| *rows >= limit).await) };
        let counted =
            batches.inspect_ok(move |batch| self.rows.send_modify(|rows| *rows += batch.num_rows()));
        counted.take_until(enough.boxed()).boxed()
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::RecordBatchOptions;
    use datafusion::arrow::datatypes::Schema;
    use futures::executor::block_on;
    use futures::stream;

    use super::*;

    fn batches(rows: usize) -> BoxStream<'static, Result<RecordBatch>> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options);
        stream::repeat(batch.expect("no columns")).map(Ok).boxed()
    }

    #[test]
    fn partitions_stop_together() {
        let executions = Executions::default();
        let (first, second) = (executions.join(0, 5), executions.join(1, 5));
        let mut one = Arc::clone(&first).limited(batches(2));
        let mut pending = second.limited(stream::pending().boxed());
        for _ in 0..3 {
            assert!(pending.next().now_or_never().is_none(), "there are not enough");
            assert!(block_on(one.next()).is_some());
        }
        assert!(first.is_enough());
        assert!(block_on(one.next()).is_none());
        assert!(block_on(pending.next()).is_none(), "what was read is not waited for");
    }

    #[test]
    fn executions_do_not_mix() {
        let executions = Executions::default();
        let first = executions.join(0, 1);
        let again = executions.join(0, 1);
        assert!(block_on(first.limited(batches(1)).next()).is_some());
        assert!(!again.is_enough());
        assert!(!executions.clone().join(1, 1).is_enough());
        assert!(Arc::ptr_eq(&again, &executions.join(1, 1)));
        assert!(!Arc::ptr_eq(&again, &executions.join(2, 7)), "another limit");
    }
}
