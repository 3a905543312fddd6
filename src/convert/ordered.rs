//! The batches of a plan in the order of its partitions, several partitions at work.

use std::collections::VecDeque;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio::sync::mpsc;

/// Batches that a partition may be ahead of its turn.
const BATCHES_AHEAD: usize = 16;

/// A partition at work.
struct Running {
    batches: mpsc::Receiver<Result<RecordBatch>>,
    _task: SpawnedTask<()>,
}

/// Runs up to `workers` partitions at the same time and gives their batches in order. What runs is
/// cancelled when the stream is dropped.
pub(super) fn batches(
    plan: &Arc<dyn ExecutionPlan>,
    task: &Arc<TaskContext>,
    workers: usize,
) -> BoxStream<'static, Result<RecordBatch>> {
    let (plan, task) = (Arc::clone(plan), Arc::clone(task));
    let waiting = 0..plan.properties().partitioning.partition_count();
    let start = (VecDeque::<Running>::new(), waiting);
    stream::unfold(start, move |(mut running, mut waiting)| {
        let (plan, task) = (Arc::clone(&plan), Arc::clone(&task));
        async move {
            loop {
                while running.len() < workers.max(1) {
                    let Some(partition) = waiting.next() else { break };
                    running.push_back(start_partition(&plan, &task, partition));
                }
                match running.front_mut()?.batches.recv().await {
                    Some(batch) => return Some((batch, (running, waiting))),
                    None => running.pop_front(),
                };
            }
        }
    })
    .boxed()
}

fn start_partition(plan: &Arc<dyn ExecutionPlan>, task: &Arc<TaskContext>, partition: usize) -> Running {
    let (sender, batches) = mpsc::channel(BATCHES_AHEAD);
    let (plan, task) = (Arc::clone(plan), Arc::clone(task));
    let work = async move {
        let mut stream = match plan.execute(partition, task) {
            Ok(stream) => stream,
            Err(error) => {
                let _ = sender.send(Err(error)).await;
                return;
            }
        };
        while let Some(batch) = stream.next().await {
            if sender.send(batch).await.is_err() {
                return;
            }
        }
    };
    Running { batches, _task: SpawnedTask::spawn(work) }
}
