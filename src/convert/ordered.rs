//! Runs the partitions of a plan, several at a time, and gives their rows, or what they are encoded to, in order.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use tokio::sync::mpsc;

use crate::encode::{Encoded, NewUnit};

/// Batches or encoded units that a partition may be ahead of its turn.
const AHEAD: usize = 2;

/// A partition at work.
struct Running<T> {
    items: mpsc::Receiver<Result<T>>,
    _task: SpawnedTask<()>,
}

/// Runs up to `workers` of the `partitions` at the same time and gives their encoded units in order. What
/// runs is cancelled when the stream is dropped.
pub(super) fn encode(
    plan: &Arc<dyn ExecutionPlan>,
    task: &Arc<TaskContext>,
    partitions: Range<usize>,
    workers: usize,
    new_unit: NewUnit,
) -> BoxStream<'static, Result<Encoded>> {
    let (plan, task) = (Arc::clone(plan), Arc::clone(task));
    in_order(partitions, workers, move |partition| {
        let (plan, task, new_unit) = (Arc::clone(&plan), Arc::clone(&task), Arc::clone(&new_unit));
        start(|sender| async move { encode_partition(&plan, task, partition, &new_unit, &sender).await })
    })
}

/// Like [`encode`], with the rows as they are.
pub(super) fn batches(
    plan: &Arc<dyn ExecutionPlan>,
    task: &Arc<TaskContext>,
    partitions: Range<usize>,
    workers: usize,
) -> BoxStream<'static, Result<RecordBatch>> {
    let (plan, task) = (Arc::clone(plan), Arc::clone(task));
    in_order(partitions, workers, move |partition| {
        let (plan, task) = (Arc::clone(&plan), Arc::clone(&task));
        start(|sender| async move {
            let mut batches = plan.execute(partition, task)?;
            while let Some(batch) = batches.try_next().await? {
                if sender.send(Ok(batch)).await.is_err() {
                    break;
                }
            }
            Ok(())
        })
    })
}

/// What the partitions give, one after another, while the next ones work already.
fn in_order<T: Send + 'static>(
    partitions: Range<usize>,
    workers: usize,
    start: impl Fn(usize) -> Running<T> + Clone + Send + 'static,
) -> BoxStream<'static, Result<T>> {
    let begin = (VecDeque::<Running<T>>::new(), partitions);
    stream::unfold(begin, move |(mut running, mut waiting)| {
        let start = start.clone();
        async move {
            loop {
                while running.len() < workers.max(1) {
                    let Some(partition) = waiting.next() else { break };
                    running.push_back(start(partition));
                }
                match running.front_mut()?.items.recv().await {
                    Some(item) => return Some((item, (running, waiting))),
                    None => running.pop_front(),
                };
            }
        }
    })
    .boxed()
}

/// Starts a task that sends the items of a partition.
fn start<T: Send + 'static, F>(work: impl FnOnce(mpsc::Sender<Result<T>>) -> F) -> Running<T>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let (sender, items) = mpsc::channel(AHEAD);
    let work = work(sender.clone());
    let task = async move {
        if let Err(error) = work.await {
            // Nobody waits for the error of a conversion that was given up.
            let _ = sender.send(Err(error)).await;
        }
    };
    Running { items, _task: SpawnedTask::spawn(task) }
}

async fn encode_partition(
    plan: &Arc<dyn ExecutionPlan>,
    task: Arc<TaskContext>,
    partition: usize,
    new_unit: &NewUnit,
    sender: &mpsc::Sender<Result<Encoded>>,
) -> Result<()> {
    let mut batches = plan.execute(partition, task)?;
    let mut unit = new_unit()?;
    while let Some(batch) = batches.try_next().await? {
        for piece in unit.pieces(&batch)? {
            unit.push(&piece)?;
            if unit.is_full() {
                let full = std::mem::replace(&mut unit, new_unit()?);
                if sender.send(Ok(full.finish()?)).await.is_err() {
                    return Ok(());
                }
            }
        }
    }
    if !unit.is_empty() {
        // As above: nobody waits for what is left.
        let _ = sender.send(Ok(unit.finish()?)).await;
    }
    Ok(())
}
