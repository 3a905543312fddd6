//! The bytes of a file from one stream of rows.
//!
//! Text and Arrow batches are encoded several at a time; of Parquet, the columns of one row group, so that only one is
//! in memory. The order of the rows is kept.

use std::collections::VecDeque;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryReservation;
use futures::stream::{self, BoxStream, Fuse};
use futures::{StreamExt, TryStreamExt};

use super::file::{Encoded, Encoding, FileEncoder, NewUnit, Unit};

/// Bytes of a file, and the rows that are complete with them.
pub(crate) struct Piece {
    pub(crate) rows: u64,
    pub(crate) bytes: Vec<u8>,
}

/// Encodes `batches` as a file with about `workers` jobs at a time; `memory` is what they hold.
///
/// # Errors
/// A column that the format does not have; then those of the batches, a value that the format does not have, and
/// memory that there is not.
pub(crate) fn encode_stream(
    encoding: &Arc<Encoding>,
    schema: &SchemaRef,
    batches: BoxStream<'static, Result<RecordBatch>>,
    workers: usize,
    memory: MemoryReservation,
) -> Result<BoxStream<'static, Result<Piece>>> {
    let file = FileEncoder::new(encoding, schema)?;
    let rows = Rows { batches: batches.fuse(), encoding: Arc::clone(encoding), pieces: VecDeque::new() };
    let new_unit = file.new_unit();
    let units = Units { rows, new_unit, workers: workers.max(1), running: VecDeque::new(), memory };
    let begin = Some((units, file));
    let pieces = stream::try_unfold(begin, |state| async {
        let Some((mut units, mut file)) = state else { return Ok(None) };
        let piece = match units.next().await? {
            Some(unit) => {
                let piece = Piece { rows: unit.rows, bytes: file.append(unit)? };
                return Ok(Some((piece, Some((units, file)))));
            }
            None => Piece { rows: 0, bytes: file.finish()? },
        };
        Ok(Some((piece, None)))
    });
    Ok(pieces.boxed())
}

/// Rows in pieces.
struct Rows {
    batches: Fuse<BoxStream<'static, Result<RecordBatch>>>,
    encoding: Arc<Encoding>,
    pieces: VecDeque<RecordBatch>,
}

impl Rows {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        while self.pieces.is_empty() {
            let Some(batch) = self.batches.try_next().await? else { return Ok(None) };
            self.pieces.extend(self.encoding.pieces(&batch)?);
        }
        Ok(self.pieces.pop_front())
    }
}

struct Units {
    rows: Rows,
    new_unit: NewUnit,
    workers: usize,
    /// In the order of the file.
    running: VecDeque<SpawnedTask<Result<Encoded>>>,
    memory: MemoryReservation,
}

impl Units {
    async fn next(&mut self) -> Result<Option<Encoded>> {
        match self.rows.encoding.as_ref() {
            Encoding::Parquet(_) => self.next_row_group().await,
            _ => self.next_piece().await,
        }
    }

    async fn next_piece(&mut self) -> Result<Option<Encoded>> {
        // One more than can work: the others have something to do while the first in order takes longer.
        while self.running.len() <= self.workers {
            let Some(piece) = self.rows.next().await? else { break };
            let mut unit = (self.new_unit)()?;
            self.running.push_back(SpawnedTask::spawn_blocking(move || {
                unit.push(&piece)?;
                unit.finish()
            }));
        }
        match self.running.pop_front() {
            Some(task) => joined(task).await.map(Some),
            None => Ok(None),
        }
    }

    async fn next_row_group(&mut self) -> Result<Option<Encoded>> {
        let mut open: Option<Unit> = None;
        while let Some(mut piece) = self.rows.next().await? {
            let mut unit = match open.take() {
                Some(unit) => unit,
                None => (self.new_unit)()?,
            };
            let room = unit.room();
            if piece.num_rows() > room {
                self.rows.pieces.push_front(piece.slice(room, piece.num_rows() - room));
                piece = piece.slice(0, room);
            }
            let mut running = vec![];
            for job in unit.split(&piece, self.workers)? {
                running.push(SpawnedTask::spawn_blocking(move || job.run()));
            }
            for job in running {
                unit.join(joined(job).await?);
            }
            self.memory.try_resize(unit.memory_size())?;
            if unit.is_full() {
                return joined(SpawnedTask::spawn_blocking(|| unit.finish())).await.map(Some);
            }
            open = Some(unit);
        }
        match open {
            Some(unit) => joined(SpawnedTask::spawn_blocking(|| unit.finish())).await.map(Some),
            None => Ok(None),
        }
    }
}

async fn joined<T: Send + 'static>(task: SpawnedTask<Result<T>>) -> Result<T> {
    task.join().await.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))?
}
