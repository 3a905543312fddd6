//! A file that batches are handed to, while others are being written too.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{exec_err, internal_err};
use datafusion::error::{DataFusionError, Result};
use futures::stream;
use recordfusion_core::Writer;
use tokio::sync::mpsc;

use super::{UnfinishedFile, Upload, Written, write_file};

/// Batches that wait for their turn.
const WAITING: usize = 2;

/// A file of rows that come one batch after another.
pub(crate) struct OpenFile {
    batches: mpsc::Sender<RecordBatch>,
    /// `None` after it has failed.
    task: Option<SpawnedTask<Result<UnfinishedFile>>>,
}

impl OpenFile {
    /// Begins to write a file, with about `workers` chunks being encoded at a time.
    pub(crate) fn begin(
        writer: Arc<dyn Writer>,
        upload: Upload,
        workers: usize,
        written: Arc<Written>,
    ) -> Self {
        let (batches, mut waiting) = mpsc::channel(WAITING);
        let task = SpawnedTask::spawn(async move {
            let batches =
                stream::poll_fn(move |context| waiting.poll_recv(context).map(|batch| batch.map(Ok)));
            write_file(writer.as_ref(), batches, upload, workers, &written).await
        });
        Self { batches, task: Some(task) }
    }

    /// Writes the rows of `batch`.
    ///
    /// # Errors
    /// What the file failed with, now or with an earlier batch.
    pub(crate) async fn send(&mut self, batch: RecordBatch) -> Result<()> {
        if self.batches.send(batch).await.is_ok() {
            return Ok(());
        }
        // It takes no more: it has failed, and says why.
        match self.task.take() {
            Some(task) => match joined(task).await {
                Ok(_) => internal_err!("a file ended before its rows"),
                Err(error) => Err(error),
            },
            None => exec_err!("rows for a file that failed already"),
        }
    }

    /// Ends the file.
    ///
    /// # Errors
    /// What it failed with.
    pub(crate) async fn close(self) -> Result<UnfinishedFile> {
        drop(self.batches);
        match self.task {
            Some(task) => joined(task).await,
            None => exec_err!("a file that failed already cannot end"),
        }
    }
}

async fn joined(task: SpawnedTask<Result<UnfinishedFile>>) -> Result<UnfinishedFile> {
    task.join_unwind().await.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error))).flatten()
}
