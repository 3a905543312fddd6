//! A file being written: nobody sees it before it is published.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::common::runtime::{JoinSet, SpawnedTask};
use datafusion::error::{DataFusionError, Result};
use object_store::path::Path;
use object_store::{
    Error, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload,
    UpdateVersion,
};

use super::Place;
use super::publish::{Open, in_background};
use super::staged::{StagedFile, StagedFolder};

/// Bytes of a part. Stores take at least 5 MiB, and some want all parts but the last to be equal.
const PART: usize = 8 << 20;
/// Bytes that are written to a disk at a time.
const PIECE: usize = 1 << 20;
/// Parts that are on their way at the same time.
const MAX_RUNNING: usize = 4;

/// A file on its way to a disk or store. An upload that is dropped is given up.
pub(crate) struct Upload {
    pub(super) site: Site,
    /// The file that must still be there as it was, or that there must be none, when this one takes its place.
    pub(super) before: Option<Option<ObjectMeta>>,
    /// What is less than a part or piece.
    pending: Vec<Bytes>,
    pending_len: usize,
    to: To,
    open: Option<Open>,
}

/// Where a file is to be.
#[derive(Debug, Clone)]
pub(super) struct Site {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) location: Path,
    /// What errors call it.
    name: String,
}

impl Site {
    /// The file that is there.
    ///
    /// # Errors
    /// The store's.
    pub(super) async fn found(&self) -> Result<Option<ObjectMeta>> {
        match self.store.head(&self.location).await {
            Ok(file) => Ok(Some(file)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(cannot_write(&self.name, error)),
        }
    }

    /// The error of a file that another writer came before.
    pub(super) fn changed(&self) -> DataFusionError {
        cannot_write(&self.name, "it changed while rows were added to it, and they were not added")
    }
}

enum To {
    /// A file on this machine's disk.
    Disk { staged: StagedFile, file: Option<File>, writing: Option<SpawnedTask<io::Result<File>>> },
    /// What takes bytes at once, such as a pipe.
    Stream { path: PathBuf, file: Option<File>, writing: Option<SpawnedTask<io::Result<File>>> },
    /// An object: a small one is put as a whole, unless it is one of several.
    Store { parts: Option<Parts>, is_one_of_several: bool },
}

struct Parts {
    upload: Box<dyn MultipartUpload>,
    running: JoinSet<object_store::Result<()>>,
}

impl Upload {
    /// An upload to a file.
    ///
    /// # Errors
    /// There can be no such file.
    pub(crate) fn to(place: &Place) -> Result<Self> {
        let to = match place.local() {
            Some(path) if place.is_stream() => {
                To::Stream { path: path.to_path_buf(), file: None, writing: None }
            }
            Some(path) => {
                let staged = StagedFile::beside(path.to_path_buf());
                let (staged, file) = staged.map_err(|error| cannot_write(place.name(), error))?;
                To::Disk { staged, file: Some(file), writing: None }
            }
            None => To::Store { parts: None, is_one_of_several: false },
        };
        Ok(Self::new(place, place.location().clone(), place.name().to_string(), to))
    }

    /// An upload to `location` in the folder `place`, whose files on a disk are staged in `folder`.
    ///
    /// # Errors
    /// There can be no such file.
    pub(super) fn within(place: &Place, location: Path, folder: Option<&Arc<StagedFolder>>) -> Result<Self> {
        let below: Vec<&str> = place.url().strip_prefix(&location).map(Iterator::collect).unwrap_or_default();
        let name = format!("{}/{}", place.name().trim_end_matches('/'), below.join("/"));
        let to = match (place.local(), folder) {
            (Some(path), Some(folder)) => {
                let target = below.iter().fold(path.to_path_buf(), |path, part| path.join(part));
                let staged = StagedFile::within(target, folder);
                let (staged, file) = staged.map_err(|error| cannot_write(&name, error))?;
                To::Disk { staged, file: Some(file), writing: None }
            }
            _ => To::Store { parts: None, is_one_of_several: true },
        };
        Ok(Self::new(place, location, name, to))
    }

    fn new(place: &Place, location: Path, name: String, to: To) -> Self {
        let site = Site { store: Arc::clone(place.store()), location, name };
        Self { site, before: None, pending: Vec::new(), pending_len: 0, to, open: Some(Open::new()) }
    }

    /// The store and the place in it.
    pub(crate) fn location(&self) -> (&Arc<dyn ObjectStore>, &Path) {
        (&self.site.store, &self.site.location)
    }

    /// The file whose rows come first, if there is one that has bytes.
    pub(crate) fn existing(&self) -> Option<&ObjectMeta> {
        self.before.as_ref()?.as_ref().filter(|file| file.size > 0)
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// The store failed, now or with what was appended before.
    pub(crate) async fn write(&mut self, bytes: impl Into<Bytes>) -> Result<()> {
        let mut bytes = bytes.into();
        let size = match &self.to {
            To::Store { .. } => PART,
            To::Disk { .. } | To::Stream { .. } => PIECE,
        };
        while self.pending_len + bytes.len() >= size {
            let head = bytes.split_to(size - self.pending_len);
            self.keep(head);
            self.send().await?;
        }
        self.keep(bytes);
        Ok(())
    }

    /// Waits until all is staged. A single small object is kept, to be put as a whole.
    ///
    /// # Errors
    /// The store failed.
    pub(super) async fn settle(&mut self) -> Result<()> {
        let is_kept = matches!(&self.to, To::Store { parts: None, is_one_of_several: false });
        // A pipe is opened even if nothing goes through it: its reader waits for that.
        let is_needed = self.pending_len > 0 || !matches!(&self.to, To::Disk { .. });
        if !is_kept && is_needed {
            self.send().await?;
        }
        let settled = match &mut self.to {
            To::Disk { file, writing, .. } => sync(file, writing).await.map_err(|error| error.to_string()),
            To::Stream { file, writing, .. } => {
                written(file, writing).await.map(|_| *file = None).map_err(|error| error.to_string())
            }
            To::Store { parts: Some(parts), .. } => parts.wait(0).await.map_err(|error| error.to_string()),
            To::Store { parts: None, .. } => Ok(()),
        };
        settled.map_err(|error| self.describe(error))
    }

    /// Gives up; what was written is removed as far as the store allows it.
    pub(crate) async fn abort(mut self) {
        if let To::Store { parts, .. } = &mut self.to
            && let Some(parts) = parts.take()
        {
            parts.abort(&self.site.name).await;
        }
    }

    /// An error with the file's name.
    pub(crate) fn describe(&self, error: impl Display) -> DataFusionError {
        cannot_write(&self.site.name, error)
    }

    /// The staged file, if there is one on a disk.
    pub(super) fn staged(&self) -> Option<&StagedFile> {
        match &self.to {
            To::Disk { staged, .. } => Some(staged),
            _ => None,
        }
    }

    /// Makes an object visible, which has [settled](Self::settle).
    ///
    /// # Errors
    /// The store failed, or another writer came first.
    pub(super) async fn complete(&mut self) -> Result<()> {
        let outcome = self.try_complete().await;
        outcome.map_err(|error| match error {
            Error::Precondition { .. } | Error::AlreadyExists { .. } => self.site.changed(),
            error => self.describe(error),
        })?;
        if let To::Store { parts, .. } = &mut self.to {
            *parts = None;
        }
        Ok(())
    }

    async fn try_complete(&mut self) -> object_store::Result<()> {
        let To::Store { parts, .. } = &mut self.to else { return Ok(()) };
        if let Some(parts) = parts {
            return parts.upload.complete().await.map(drop);
        }
        let payload: PutPayload = self.pending.iter().cloned().collect();
        let mode = match &self.before {
            None => PutMode::Overwrite,
            Some(None) => PutMode::Create,
            Some(Some(file)) => {
                PutMode::Update(UpdateVersion { e_tag: file.e_tag.clone(), version: file.version.clone() })
            }
        };
        let is_plain = mode == PutMode::Overwrite;
        let options = PutOptions { mode, ..PutOptions::default() };
        match self.site.store.put_opts(&self.site.location, payload.clone(), options).await {
            // The caller looked at the file a moment ago; this store can do no better.
            Err(Error::NotImplemented { .. } | Error::NotSupported { .. }) if !is_plain => {
                self.site.store.put(&self.site.location, payload).await.map(drop)
            }
            outcome => outcome.map(drop),
        }
    }

    fn keep(&mut self, bytes: Bytes) {
        self.pending_len += bytes.len();
        if !bytes.is_empty() {
            self.pending.push(bytes);
        }
    }

    /// Sends what is pending.
    async fn send(&mut self) -> Result<()> {
        self.pending_len = 0;
        let pending = std::mem::take(&mut self.pending);
        let sent = match &mut self.to {
            To::Disk { file, writing, .. } => {
                write_behind(file, writing, || Err(io::Error::other("it is closed")), pending).await
            }
            To::Stream { path, file, writing } => {
                let path = path.clone();
                let open = move || OpenOptions::new().write(true).open(path);
                write_behind(file, writing, open, pending).await
            }
            To::Store { parts, .. } => {
                let parts = match parts {
                    Some(parts) => Ok(parts),
                    None => {
                        let begun = self.site.store.put_multipart(&self.site.location).await;
                        begun.map(|upload| parts.insert(Parts { upload, running: JoinSet::new() }))
                    }
                };
                match parts {
                    Ok(parts) => parts.send(pending.into_iter().collect()).await,
                    Err(error) => Err(error),
                }
                .map_err(io::Error::other)
            }
        };
        sent.map_err(|error| self.describe(error))
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let To::Store { parts, .. } = &mut self.to else { return };
        let (Some(parts), open) = (parts.take(), self.open.take()) else { return };
        let name = std::mem::take(&mut self.site.name);
        in_background(async move {
            parts.abort(&name).await;
            drop(open);
        });
    }
}

pub(super) fn cannot_write(name: &str, error: impl Display) -> DataFusionError {
    DataFusionError::Execution(format!("cannot write {name}: {error}"))
}

/// Waits for what is being written.
async fn written(
    file: &mut Option<File>,
    writing: &mut Option<SpawnedTask<io::Result<File>>>,
) -> io::Result<()> {
    if let Some(writing) = writing.take() {
        *file = Some(writing.join().await.map_err(io::Error::other)??);
    }
    Ok(())
}

/// Writes `pieces` while the next ones are being made.
async fn write_behind(
    file: &mut Option<File>,
    writing: &mut Option<SpawnedTask<io::Result<File>>>,
    open: impl FnOnce() -> io::Result<File> + Send + 'static,
    pieces: Vec<Bytes>,
) -> io::Result<()> {
    written(file, writing).await?;
    let file = file.take();
    *writing = Some(SpawnedTask::spawn_blocking(move || {
        let mut file = file.map_or_else(open, Ok)?;
        pieces.iter().try_for_each(|piece| file.write_all(piece))?;
        Ok(file)
    }));
    Ok(())
}

/// Waits until the disk has all, and closes the file.
async fn sync(
    file: &mut Option<File>,
    writing: &mut Option<SpawnedTask<io::Result<File>>>,
) -> io::Result<()> {
    written(file, writing).await?;
    match file.take() {
        Some(file) => {
            SpawnedTask::spawn_blocking(move || file.sync_all()).join().await.map_err(io::Error::other)?
        }
        None => Ok(()),
    }
}

impl Parts {
    async fn send(&mut self, payload: PutPayload) -> object_store::Result<()> {
        self.wait(MAX_RUNNING - 1).await?;
        let part = self.upload.put_part(payload);
        self.running.spawn(part);
        Ok(())
    }

    /// Waits until at most `most` parts are on their way.
    async fn wait(&mut self, most: usize) -> object_store::Result<()> {
        while self.running.len() > most {
            if let Some(part) = self.running.join_next().await {
                part??;
            }
        }
        Ok(())
    }

    async fn abort(mut self, name: &str) {
        self.running.shutdown().await;
        if let Err(error) = self.upload.abort().await {
            log::warn!("cannot remove the unfinished {name}: {error}");
        }
    }
}
