//! What one execution of a statement writes: its files are staged, and become visible together.
//!
//! ```text
//! begin ──▶ upload, write_file (each file is staged) ──▶ publish: all files are visible
//!   │            │                                         │
//!   ▼            ▼ dropped, or an error                    ▼ an error
//! refused      nothing is left                           all is as it was
//! ```

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use datafusion::common::plan_err;
use datafusion::error::{DataFusionError, Result};
use object_store::path::Path as Location;
use object_store::{Error, ObjectMeta, ObjectStoreExt};
use recordfusion_core::{OptionInfo, Options};

use super::lock::Lock;
use super::publish::{Publication, abort_all, check_empty};
use super::staged::StagedFolder;
use super::upload::cannot_write;
use super::{Place, UnfinishedFile, Upload};

/// What becomes of files that are there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// One file, instead of any other.
    Replace,
    /// One file, of what is there and the rows behind it. A file that is empty or not there becomes a new one.
    Append,
    /// The files of a folder that has none.
    NewFolder,
    /// The files of a folder, instead of all others.
    Overwrite,
    /// Files of a folder beside those that are there.
    Add,
}

/// The option of every statement that writes a folder.
pub(crate) const OVERWRITE: OptionInfo = OptionInfo::new(
    "overwrite",
    "false | true",
    "Whether the files of a folder that is written take the place of all that it has; otherwise it must be empty",
);

/// Whether `options` ask to replace the files of a folder.
///
/// # Errors
/// Text that is neither `true` nor `false`.
pub(crate) fn overwrite_option(options: &Options) -> recordfusion_core::Result<bool> {
    let asked = options.choose(OVERWRITE.name, &[("false", false), ("true", true)])?;
    Ok(asked.unwrap_or(false))
}

/// One execution of a statement that writes files. If it is dropped, nothing was written.
#[derive(Debug)]
pub(crate) struct Statement {
    target: Place,
    mode: Mode,
    id: String,
    /// The file that rows go behind, if there is one.
    before: Option<ObjectMeta>,
    folder: Option<Arc<StagedFolder>>,
    lock: Option<Lock>,
}

impl Statement {
    /// Begins to write to `target`: waits for another process that adds rows to the same file on this machine.
    ///
    /// # Errors
    /// A folder that is not empty, or that another process writes; failures of the store.
    pub(crate) async fn begin(target: &Place, mode: Mode) -> Result<Self> {
        let describe = |error| cannot_write(target.name(), error);
        let is_folder = !matches!(mode, Mode::Replace | Mode::Append);
        if target.is_folder() && !is_folder {
            return plan_err!("cannot write {}: it is a folder", target.name());
        }
        if target.is_stream() && mode == Mode::Append {
            return plan_err!("rows cannot be added to {}: it is no regular file", target.name());
        }
        let lock = match (mode, target.local()) {
            (Mode::Append, Some(path)) => Some(Lock::wait(path).await.map_err(describe)?),
            (Mode::NewFolder | Mode::Overwrite, Some(path)) => match lock_folder(path).map_err(describe)? {
                Some(lock) => Some(lock),
                None => return plan_err!("cannot write {}: another statement is writing it", target.name()),
            },
            _ => None,
        };
        let before = match mode {
            Mode::Append => found(target).await?,
            _ => None,
        };
        if mode == Mode::NewFolder {
            check_empty(target).await?;
        }
        let id = new_id();
        let folder = match (mode, target.local().map(Path::to_path_buf)) {
            (Mode::NewFolder | Mode::Overwrite, Some(path)) => Some(StagedFolder::whole(path, &id)),
            (Mode::Add, Some(path)) => Some(StagedFolder::inside(path, &id)),
            _ => None,
        };
        let folder = folder.transpose().map_err(describe)?.map(Arc::new);
        Ok(Self { target: target.clone(), mode, id, before, folder, lock })
    }

    /// What no other execution has: names of files begin with it.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Where it writes.
    pub(crate) fn target(&self) -> &Place {
        &self.target
    }

    /// The file that rows go behind, if there is one that has bytes.
    pub(crate) fn existing(&self) -> Option<&ObjectMeta> {
        self.before.as_ref().filter(|file| file.size > 0)
    }

    /// The location of a file of the folder, of a name that may have folders in it.
    pub(crate) fn location(&self, name: &str) -> Location {
        name.split('/').fold(self.target.location().clone(), |folder, part| folder.join(part))
    }

    /// Begins the upload of the file, or of one of the folder.
    ///
    /// # Errors
    /// There can be no such file.
    pub(crate) fn upload(&self, location: &Location) -> Result<Upload> {
        if self.target.is_folder() {
            return Upload::within(&self.target, location.clone(), self.folder.as_ref());
        }
        let mut upload = Upload::to(&self.target)?;
        if self.mode == Mode::Append {
            upload.before = Some(self.before.clone());
        }
        Ok(upload)
    }

    /// Makes all `files` visible; none of them if the statement has `failed`.
    ///
    /// # Errors
    /// That error, or the store's; then all is as it was, as far as the store allows it.
    pub(crate) async fn publish(
        self,
        files: Vec<UnfinishedFile>,
        failed: Option<DataFusionError>,
    ) -> Result<()> {
        let uploads: Vec<Upload> = files.into_iter().map(|file| file.0).collect();
        if let Some(error) = failed {
            abort_all(uploads).await;
            return Err(error);
        }
        let Self { target, mode, folder, lock, .. } = self;
        Publication { target, mode, uploads, folder, lock }.publish().await
    }
}

/// The lock of a folder, if nobody has it: beside the folder, or within if this user may not write there.
fn lock_folder(path: &Path) -> io::Result<Option<Lock>> {
    match Lock::try_new(path) {
        Err(_) if path.is_dir() => Lock::try_new(&path.join("files")),
        lock => lock,
    }
}

/// The file that there is at `target`.
async fn found(target: &Place) -> Result<Option<ObjectMeta>> {
    match target.store().head(target.location()).await {
        Ok(file) => Ok(Some(file)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(cannot_write(target.name(), error)),
    }
}

/// 16 hexadecimal digits that come only once.
pub(super) fn new_id() -> String {
    // The keys of the hasher are random.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{:016x}", RandomState::new().hash_one((std::process::id(), now)))
}
