//! The rows of one file: cut into chunks, encoded several at a time, appended in order.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::arrow::array::RecordBatch;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::{DataFusionError, Result};
use futures::{Stream, TryStreamExt};
use recordfusion_core::{Assembler, ChunkJob, EncodedChunk, Writer};

use super::Upload;
use crate::datasource::external;

/// How much was written so far; it may be read meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Rows.
    pub rows: AtomicU64,
    /// Bytes.
    pub bytes: AtomicU64,
}

/// A file with all its rows that nobody sees yet.
#[must_use]
pub(crate) struct UnfinishedFile {
    upload: Upload,
    /// What stands behind the last chunk.
    last: Vec<u8>,
}

impl UnfinishedFile {
    /// Makes the file visible.
    ///
    /// # Errors
    /// The store failed; then no file is seen.
    pub(crate) async fn finish(self) -> Result<()> {
        self.upload.finish(self.last).await
    }

    /// Gives the file up.
    pub(crate) async fn abort(self) {
        self.upload.abort().await;
    }
}

/// Writes `batches` as a file, with up to `workers` chunks being encoded at a time.
///
/// # Errors
/// Whatever the batches, the format or the store fail with; then the upload is given up.
pub(crate) async fn write_file(
    writer: &dyn Writer,
    batches: impl Stream<Item = Result<RecordBatch>> + Unpin,
    mut upload: Upload,
    workers: usize,
    written: &Written,
) -> Result<UnfinishedFile> {
    match write_chunks(writer, batches, &mut upload, workers, written).await {
        Ok(last) => {
            written.bytes.fetch_add(last.len() as u64, Ordering::Relaxed);
            Ok(UnfinishedFile { upload, last })
        }
        Err(error) => {
            upload.abort().await;
            Err(error)
        }
    }
}

/// Writes all chunks, and gives what stands behind them.
async fn write_chunks(
    writer: &dyn Writer,
    mut batches: impl Stream<Item = Result<RecordBatch>> + Unpin,
    upload: &mut Upload,
    workers: usize,
    written: &Written,
) -> Result<Vec<u8>> {
    let mut chunker = writer.chunker().map_err(external)?;
    let mut file = Chunks {
        assembler: writer.assembler().map_err(external)?,
        upload,
        running: VecDeque::new(),
        workers: workers.max(1),
        written,
    };
    let first = file.assembler.begin().map_err(external)?;
    file.put(first).await?;
    while let Some(batch) = batches.try_next().await? {
        for job in chunker.push(&batch).map_err(external)? {
            file.start(job).await?;
        }
    }
    for job in chunker.finish().map_err(external)? {
        file.start(job).await?;
    }
    while !file.running.is_empty() {
        file.append_next().await?;
    }
    file.assembler.finish().map_err(external)
}

/// The chunks of a file, some of them being encoded.
struct Chunks<'a> {
    assembler: Box<dyn Assembler>,
    upload: &'a mut Upload,
    /// In the order of the file.
    running: VecDeque<SpawnedTask<recordfusion_core::Result<EncodedChunk>>>,
    workers: usize,
    written: &'a Written,
}

impl Chunks<'_> {
    async fn start(&mut self, job: ChunkJob) -> Result<()> {
        while self.running.len() >= self.workers {
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

    async fn put(&mut self, bytes: Vec<u8>) -> Result<()> {
        self.written.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.upload.write(bytes).await
    }
}
