//! Encodes the partitions of a plan, several at a time, and gives what they become in order.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use datafusion::common::runtime::SpawnedTask;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use tokio::sync::mpsc;

use super::formats::{Encoded, NewUnit};

/// Encoded units that a partition may be ahead of its turn.
const UNITS_AHEAD: usize = 2;

/// A partition at work.
struct Running {
    units: mpsc::Receiver<Result<Encoded>>,
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
    let start = (VecDeque::<Running>::new(), partitions);
    stream::unfold(start, move |(mut running, mut waiting)| {
        let (plan, task, new_unit) = (Arc::clone(&plan), Arc::clone(&task), Arc::clone(&new_unit));
        async move {
            loop {
                while running.len() < workers.max(1) {
                    let Some(partition) = waiting.next() else { break };
                    running.push_back(start_partition(&plan, &task, partition, &new_unit));
                }
                match running.front_mut()?.units.recv().await {
                    Some(unit) => return Some((unit, (running, waiting))),
                    None => running.pop_front(),
                };
            }
        }
    })
    .boxed()
}

fn start_partition(
    plan: &Arc<dyn ExecutionPlan>,
    task: &Arc<TaskContext>,
    partition: usize,
    new_unit: &NewUnit,
) -> Running {
    let (sender, units) = mpsc::channel(UNITS_AHEAD);
    let (plan, task, new_unit) = (Arc::clone(plan), Arc::clone(task), Arc::clone(new_unit));
    let work = async move {
        if let Err(error) = encode_partition(&plan, task, partition, &new_unit, &sender).await {
            // Nobody waits for the error of a conversion that was given up.
            let _ = sender.send(Err(error)).await;
        }
    };
    Running { units, _task: SpawnedTask::spawn(work) }
}

async fn encode_partition(
    plan: &Arc<dyn ExecutionPlan>,
    task: Arc<TaskContext>,
    partition: usize,
    new_unit: &NewUnit,
    sender: &mpsc::Sender<Result<Encoded>>,
) -> Result<()> {
    let mut batches = plan.execute(partition, task)?;
    let mut unit = None;
    while let Some(batch) = batches.try_next().await? {
        if batch.num_rows() == 0 {
            continue;
        }
        let mut open = match unit.take() {
            Some(open) => open,
            None => new_unit()?,
        };
        open.push(&batch)?;
        if !open.is_full() {
            unit = Some(open);
        } else if sender.send(Ok(open.finish()?)).await.is_err() {
            return Ok(());
        }
    }
    if let Some(open) = unit {
        let last = open.finish()?;
        // As above: nobody waits for what is left.
        let _ = sender.send(Ok(last)).await;
    }
    Ok(())
}
