//! A file being written: nobody sees it before it is complete.

use std::fmt::Display;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use datafusion::common::runtime::JoinSet;
use datafusion::error::{DataFusionError, Result};
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload};
use tokio::runtime::Handle;
use tokio::sync::watch;

/// Bytes of a part. Stores take at least 5 MiB, and some want all parts but the last to be equal.
const PART: usize = 8 << 20;
/// Parts that are on their way at the same time.
const MAX_RUNNING: usize = 4;

/// How many uploads are neither visible nor removed.
static OPEN: LazyLock<watch::Sender<usize>> = LazyLock::new(watch::Sender::default);

/// Waits until every file that is being written in this process is either visible or removed. A program that
/// is about to end calls it after it has dropped its queries: what they leave behind is removed in the
/// background, which the end of the runtime would cut short.
pub async fn writes_ended() {
    // The sender lives as long as the process.
    let _ = OPEN.subscribe().wait_for(|&open| open == 0).await;
}

/// Counts as something that is neither visible nor removed.
#[derive(Debug)]
pub(super) struct Open;

impl Open {
    pub(super) fn new() -> Self {
        OPEN.send_modify(|open| *open += 1);
        Self
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        OPEN.send_modify(|open| *open -= 1);
    }
}

/// An upload to an object store. The local store, too, writes to a temporary name first. An upload that is
/// dropped is given up.
pub(crate) struct Upload {
    store: Arc<dyn ObjectStore>,
    location: Path,
    /// What errors call it.
    path: String,
    /// What is less than a part.
    pending: Vec<Bytes>,
    pending_len: usize,
    /// A small file has none.
    parts: Option<Parts>,
    open: Option<Open>,
}

struct Parts {
    upload: Box<dyn MultipartUpload>,
    running: JoinSet<object_store::Result<()>>,
}

impl Upload {
    /// An upload to `location` in `store`; errors call it `path`.
    pub(crate) fn new(store: Arc<dyn ObjectStore>, location: Path, path: String) -> Self {
        let open = Some(Open::new());
        Self { store, location, path, pending: Vec::new(), pending_len: 0, parts: None, open }
    }

    /// The store and the place in it.
    pub(crate) fn location(&self) -> (&Arc<dyn ObjectStore>, &Path) {
        (&self.store, &self.location)
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// The store failed, now or with what was appended before.
    pub(crate) async fn write(&mut self, bytes: impl Into<Bytes>) -> Result<()> {
        let mut bytes = bytes.into();
        while self.pending_len + bytes.len() >= PART {
            let head = bytes.split_to(PART - self.pending_len);
            self.keep(head);
            self.send().await.map_err(|error| self.describe(error))?;
        }
        self.keep(bytes);
        Ok(())
    }

    /// Waits until the store has all parts of a file that consists of parts; nothing is seen yet.
    ///
    /// # Errors
    /// The store failed.
    pub(crate) async fn settle(&mut self) -> Result<()> {
        if self.parts.is_some() && !self.pending.is_empty() {
            self.send().await.map_err(|error| self.describe(error))?;
        }
        let settled = match &mut self.parts {
            Some(parts) => parts.wait(0).await,
            None => Ok(()),
        };
        settled.map_err(|error| self.describe(error))
    }

    /// Makes the file visible, which has [settled](Self::settle).
    ///
    /// # Errors
    /// The store failed; what was written is removed.
    pub(crate) async fn finish(mut self) -> Result<()> {
        match self.complete().await {
            Ok(()) => {
                self.parts = None;
                Ok(())
            }
            Err(error) => {
                let error = self.describe(error);
                self.abort().await;
                Err(error)
            }
        }
    }

    /// Gives up; what was written is removed as far as the store allows it.
    pub(crate) async fn abort(mut self) {
        if let Some(parts) = self.parts.take() {
            parts.abort(&self.path).await;
        }
    }

    /// An error with the file's name.
    pub(crate) fn describe(&self, error: impl Display) -> DataFusionError {
        DataFusionError::Execution(format!("cannot write {}: {error}", self.path))
    }

    fn keep(&mut self, bytes: Bytes) {
        self.pending_len += bytes.len();
        if !bytes.is_empty() {
            self.pending.push(bytes);
        }
    }

    fn take_pending(&mut self) -> PutPayload {
        self.pending_len = 0;
        std::mem::take(&mut self.pending).into_iter().collect()
    }

    /// Sends what is pending as a part.
    async fn send(&mut self) -> object_store::Result<()> {
        if self.parts.is_none() {
            let upload = self.store.put_multipart(&self.location).await?;
            self.parts = Some(Parts { upload, running: JoinSet::new() });
        }
        let payload = self.take_pending();
        if let Some(parts) = &mut self.parts {
            parts.wait(MAX_RUNNING - 1).await?;
            let part = parts.upload.put_part(payload);
            parts.running.spawn(part);
        }
        Ok(())
    }

    async fn complete(&mut self) -> object_store::Result<()> {
        let Some(parts) = &mut self.parts else {
            let payload = self.take_pending();
            return self.store.put(&self.location, payload).await.map(drop);
        };
        parts.upload.complete().await.map(drop)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let (Some(parts), open) = (self.parts.take(), self.open.take()) else { return };
        let path = std::mem::take(&mut self.path);
        in_background(async move {
            parts.abort(&path).await;
            drop(open);
        });
    }
}

/// Cleans up with nobody waiting for it but [`writes_ended`].
pub(super) fn in_background(work: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = Handle::try_current() {
        runtime.spawn(work);
    }
}

impl Parts {
    /// Waits until at most `most` parts are on their way.
    async fn wait(&mut self, most: usize) -> object_store::Result<()> {
        while self.running.len() > most {
            if let Some(part) = self.running.join_next().await {
                part??;
            }
        }
        Ok(())
    }

    async fn abort(mut self, path: &str) {
        self.running.shutdown().await;
        if let Err(error) = self.upload.abort().await {
            log::warn!("cannot remove the unfinished {path}: {error}");
        }
    }
}
