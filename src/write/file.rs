//! The rows of one file: cut into chunks, encoded several at a time, appended in order.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::{DataFusionError, Result};
use futures::{Stream, TryStreamExt};
use object_store::{ObjectMeta, ObjectStoreExt};
use recordfusion_core::{Assembler, ChunkJob, EncodedChunk, Writer};

use super::Upload;
use crate::datasource::external;
use crate::encode::columnar_pieces;

/// How much was written so far; it may be read meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Rows.
    pub rows: AtomicU64,
    /// Bytes.
    pub bytes: AtomicU64,
    /// Values that the format could not say as they are, by what became of them.
    losses: Mutex<BTreeMap<&'static str, u64>>,
}

impl Written {
    /// How many values the format could not say as they are, by the name of what became of them.
    pub(crate) fn losses(&self) -> Vec<(&'static str, u64)> {
        let losses = self.losses.lock().unwrap_or_else(PoisonError::into_inner);
        losses.iter().map(|(&name, &count)| (name, count)).collect()
    }

    fn add_losses(&self, losses: Vec<(&'static str, u64)>) {
        let mut all = self.losses.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, count) in losses {
            *all.entry(name).or_default() += count;
        }
    }
}

/// A file with all its bytes that nobody sees yet. One that is dropped is given up.
#[must_use]
pub(crate) struct UnfinishedFile(pub(super) Upload);

impl UnfinishedFile {
    /// The file of `upload`, once all its bytes are staged.
    ///
    /// # Errors
    /// The `outcome` of writing, or the store's; then the upload is given up.
    pub(crate) async fn new(mut upload: Upload, outcome: Result<()>) -> Result<Self> {
        let settled = match outcome {
            Ok(()) => upload.settle().await,
            Err(error) => Err(error),
        };
        match settled {
            Ok(()) => Ok(Self(upload)),
            Err(error) => {
                upload.abort().await;
                Err(error)
            }
        }
    }
}

/// Writes `batches` as a file, behind what it has if rows are added to one, with about `workers` chunks being encoded
/// at a time.
///
/// # Errors
/// Whatever the batches, the format or the store fail with, and a file that nothing can be added to; then the
/// upload is given up.
pub(crate) async fn write_file(
    writer: &dyn Writer,
    batches: impl Stream<Item = Result<RecordBatch>> + Unpin,
    mut upload: Upload,
    workers: usize,
    written: &Written,
) -> Result<UnfinishedFile> {
    let assembler = match upload.existing().cloned() {
        None => writer.assembler().map_err(external),
        Some(file) => copy(writer, &file, &mut upload).await,
    };
    let outcome = match assembler {
        Ok(assembler) => write_chunks(writer, assembler, batches, &mut upload, workers, written).await,
        Err(error) => Err(error),
    };
    UnfinishedFile::new(upload, outcome).await
}

/// Copies what is there, and gives what puts chunks behind it.
async fn copy(writer: &dyn Writer, file: &ObjectMeta, upload: &mut Upload) -> Result<Box<dyn Assembler>> {
    let store = Arc::clone(upload.location().0);
    // Stores take no empty ranges.
    let tail = match writer.tail(file.size) {
        range if range.is_empty() => Bytes::new(),
        range => store.get_range(&file.location, range).await.map_err(|error| upload.describe(error))?,
    };
    let assembler = writer.appender(file.size, &tail).map_err(|error| upload.describe(error))?;
    let found = store.get(&file.location).await.map_err(|error| upload.describe(error))?;
    let (mut pieces, mut copied) = (found.into_stream(), 0);
    while let Some(piece) = pieces.try_next().await.map_err(|error| upload.describe(error))? {
        copied += piece.len() as u64;
        upload.write(piece).await?;
    }
    if copied == file.size {
        return Ok(assembler);
    }
    let size = file.size;
    Err(upload.describe(format!("it changed while it was read: it had {size} bytes, then {copied}")))
}

/// Writes everything behind what `upload` has already.
async fn write_chunks(
    writer: &dyn Writer,
    assembler: Box<dyn Assembler>,
    mut batches: impl Stream<Item = Result<RecordBatch>> + Unpin,
    upload: &mut Upload,
    workers: usize,
    written: &Written,
) -> Result<()> {
    let mut chunker = writer.chunker().map_err(external)?;
    // One more than can work: the others have something to do while the first in order takes longer.
    let most_running = writer.parallelism().unwrap_or(if workers > 1 { workers + 1 } else { 1 });
    let mut file = Chunks { assembler, upload, running: VecDeque::new(), most_running, written };
    let first = file.assembler.begin().map_err(external)?;
    file.put_with_more(first).await?;
    while let Some(batch) = batches.try_next().await? {
        for piece in columnar_pieces(&batch)? {
            for job in chunker.push(&piece).map_err(external)? {
                file.start(job).await?;
            }
        }
    }
    for job in chunker.finish().map_err(external)? {
        file.start(job).await?;
    }
    while !file.running.is_empty() {
        file.append_next().await?;
    }
    let last = file.assembler.finish().map_err(external)?;
    written.add_losses(chunker.losses());
    file.put_with_more(last).await
}

/// The chunks of a file, some of them being encoded.
struct Chunks<'a> {
    assembler: Box<dyn Assembler>,
    upload: &'a mut Upload,
    /// In the order of the file.
    running: VecDeque<SpawnedTask<recordfusion_core::Result<EncodedChunk>>>,
    most_running: usize,
    written: &'a Written,
}

impl Chunks<'_> {
    async fn start(&mut self, job: ChunkJob) -> Result<()> {
        while self.running.len() >= self.most_running {
            self.append_next().await?;
        }
        self.running.push_back(SpawnedTask::spawn_blocking(job));
        Ok(())
    }

    /// Waits for the first chunk that is being encoded.
    async fn append_next(&mut self) -> Result<()> {
        let Some(task) = self.running.pop_front() else { return Ok(()) };
        let chunk = task.join().await.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))?;
        let chunk = chunk.map_err(external)?;
        self.written.rows.fetch_add(chunk.rows, Ordering::Relaxed);
        let bytes = self.assembler.append(chunk).map_err(external)?;
        self.put(bytes).await
    }

    /// Writes `bytes`, and what the assembler has besides.
    async fn put_with_more(&mut self, bytes: Vec<u8>) -> Result<()> {
        self.put(bytes).await?;
        while let Some(bytes) = self.assembler.more().map_err(external)? {
            self.put(bytes).await?;
        }
        Ok(())
    }

    async fn put(&mut self, bytes: Vec<u8>) -> Result<()> {
        self.written.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.upload.write(bytes).await
    }
}
