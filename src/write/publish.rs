//! Files becoming visible together: all of them, or none.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use datafusion::common::plan_err;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::{DataFusionError, Result};
use futures::TryStreamExt;
use futures::future::{Either, select};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStoreExt};
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

use super::local;
use super::lock::Lock;
use super::rename;
use super::staged::StagedFolder;
use super::upload::{Site, cannot_write};
use super::{Mode, Place, Upload};

/// How long a store has to answer after nobody waits for the statement any more.
const GRACE: Duration = Duration::from_secs(3);

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

/// Cleans up with nobody waiting for it but [`writes_ended`].
pub(super) fn in_background(work: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = Handle::try_current() {
        runtime.spawn(work);
    }
}

/// Statements whose files are becoming visible, and whether those of others still may.
static GATE: Mutex<Gate> = Mutex::new(Gate { publishing: 0, is_closed: false });

struct Gate {
    publishing: usize,
    is_closed: bool,
}

/// From now on no statement of this process takes effect, unless the files of one are just becoming visible: then
/// nothing changes, and the answer is `false`. A program that is interrupted asks before it says that nothing was
/// written, and otherwise waits for the statement.
pub fn stop_publishing() -> bool {
    let mut gate = GATE.lock().unwrap_or_else(PoisonError::into_inner);
    gate.is_closed |= gate.publishing == 0;
    gate.is_closed
}

/// Counts as a statement whose files are becoming visible.
struct Publishing;

impl Publishing {
    fn begin() -> Result<Self> {
        let mut gate = GATE.lock().unwrap_or_else(PoisonError::into_inner);
        if gate.is_closed {
            return Err(DataFusionError::Execution("interrupted: nothing was written".to_string()));
        }
        gate.publishing += 1;
        Ok(Self)
    }
}

impl Drop for Publishing {
    fn drop(&mut self) {
        GATE.lock().unwrap_or_else(PoisonError::into_inner).publishing -= 1;
    }
}

/// All that a statement has written, and what it needs to make it visible.
pub(super) struct Publication {
    pub(super) target: Place,
    pub(super) mode: Mode,
    pub(super) uploads: Vec<Upload>,
    pub(super) folder: Option<Arc<StagedFolder>>,
    pub(super) lock: Option<Lock>,
}

impl Publication {
    /// Makes all files visible. What has begun goes on if the caller does not wait for the end: files on a disk become
    /// visible, and a store has [`GRACE`] to answer.
    ///
    /// # Errors
    /// The store's, or the disk's; then all is as it was, as far as the store allows it.
    pub(super) async fn publish(mut self) -> Result<()> {
        if self.mode == Mode::Replace
            && self.lock.is_none()
            && let Some(path) = self.target.local().filter(|_| !self.target.is_stream())
        {
            // Rows that are just being added to the old file are not lost without a word: they come first.
            let lock = Lock::wait(path).await.map_err(|error| cannot_write(self.target.name(), error))?;
            self.lock = Some(lock);
        }
        let (open, publishing) = (Open::new(), Publishing::begin()?);
        let (waits, abandoned) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let outcome = self.run(abandoned).await;
            drop((publishing, open));
            outcome
        });
        let outcome = task.await.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)));
        drop(waits);
        outcome.flatten()
    }

    async fn run(mut self, abandoned: oneshot::Receiver<()>) -> Result<()> {
        // Where a store cannot make sure of it, statements of this process look at what is there, and replace it, one after
        // another, so that no file is made of an old state.
        static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
        let too_late = async move {
            let _ = abandoned.await;
            tokio::time::sleep(GRACE).await;
        };
        let mut visible = Visible::default();
        let late = cannot_write(self.target.name(), "the store does not answer");
        let in_stores = {
            let work = async {
                let is_checked =
                    self.target.local().is_none() && !matches!(self.mode, Mode::Replace | Mode::Add);
                let _guard = if is_checked { Some(ONE_AT_A_TIME.lock().await) } else { None };
                self.publish_objects(&mut visible).await
            };
            match select(pin!(work), pin!(too_late)).await {
                Either::Left((outcome, _)) => outcome,
                Either::Right(_) => Err(late),
            }
        };
        let outcome = match in_stores {
            Ok(()) => self.publish_on_disk().await,
            Err(error) => {
                abort_all(std::mem::take(&mut self.uploads)).await;
                Err(error)
            }
        };
        if outcome.is_err() {
            visible.remove().await;
        }
        outcome
    }

    async fn publish_objects(&mut self, visible: &mut Visible) -> Result<()> {
        let places = self.uploads.iter().map(|upload| (upload.site.clone(), upload.before.clone())).collect();
        let there = check_target(self.target.clone(), self.mode, places).await?;
        let is_one = self.uploads.len() == 1;
        for upload in self.uploads.iter_mut().filter(|upload| upload.staged().is_none()) {
            let site = upload.site.clone();
            let is_new = !is_one && self.mode != Mode::Append && !there.contains(&site.location);
            upload.complete().await?;
            if is_new {
                visible.0.push(site);
            }
        }
        if self.mode == Mode::Overwrite && self.target.local().is_none() {
            let ours: HashSet<Path> =
                self.uploads.iter().map(|upload| upload.site.location.clone()).collect();
            let (store, name) = (Arc::clone(self.target.store()), self.target.name().to_string());
            for old in there.difference(&ours) {
                store.delete(old).await.map_err(|error| cannot_write(&name, error))?;
            }
        }
        Ok(())
    }

    async fn publish_on_disk(self) -> Result<()> {
        let staged = self.uploads.iter().any(|upload| upload.staged().is_some());
        if !staged && self.folder.is_none() {
            return Ok(());
        }
        let only =
            (self.mode == Mode::Overwrite).then(|| self.target.local().map(std::path::Path::to_path_buf));
        let name = self.target.name().to_string();
        // A blocking task is not cut short once it runs.
        let task = SpawnedTask::spawn_blocking(move || {
            let files: Vec<_> = self.uploads.iter().filter_map(Upload::staged).collect();
            rename::publish(&files, self.folder.as_deref(), only.flatten().as_deref())
        });
        let outcome = task.join().await.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))?;
        outcome.map_err(|error| cannot_write(&name, error))
    }
}

/// Looks again at what there is, in the last moment; gives the objects of a folder that is replaced, and those that side
/// files take the place of.
async fn check_target(
    target: Place,
    mode: Mode,
    places: Vec<(Site, Option<Option<ObjectMeta>>)>,
) -> Result<HashSet<Path>> {
    let mut there = HashSet::new();
    let has_side_files = places.len() > 1 && !target.is_folder();
    for (site, before) in places {
        if before.is_some() || has_side_files {
            let now = site.found().await?;
            if before.is_some_and(|before| !is_same_state(before.as_ref(), now.as_ref())) {
                return Err(site.changed());
            }
            there.extend(now.map(|file| file.location));
        }
    }
    match mode {
        Mode::NewFolder => check_empty(&target).await?,
        Mode::Overwrite if target.local().is_none() => there.extend(visible_objects(&target).await?),
        _ => {}
    }
    Ok(there)
}

/// Checks that a folder has no files, or is not there.
///
/// # Errors
/// A file that there is, or the store's.
pub(super) async fn check_empty(folder: &Place) -> Result<()> {
    let first = match folder.local() {
        Some(path) => {
            let found = local::visible_files(path).map_err(|error| cannot_write(folder.name(), error))?;
            found.first().map(|path| path.display().to_string())
        }
        None => visible_objects(folder).await?.first().map(ToString::to_string),
    };
    match first {
        None => Ok(()),
        Some(file) => plan_err!(
            "the folder {} is not empty: it holds {file}; another folder, or the option overwrite, is needed",
            folder.name().trim_end_matches('/')
        ),
    }
}

/// The objects below a folder that tables take for their files.
async fn visible_objects(folder: &Place) -> Result<Vec<Path>> {
    let listed = folder.store().list(Some(folder.location())).try_collect::<Vec<_>>().await;
    let objects = listed.map_err(|error| cannot_write(folder.name(), error))?;
    let objects = objects.into_iter().map(|object| object.location);
    let mut objects: Vec<_> =
        objects.filter(|location| !crate::datasource::is_hidden(folder.url(), location)).collect();
    objects.sort();
    Ok(objects)
}

fn is_same_state(one: Option<&ObjectMeta>, other: Option<&ObjectMeta>) -> bool {
    let state = |file: &ObjectMeta| (file.size, file.last_modified, file.e_tag.clone(), file.version.clone());
    one.map(state) == other.map(state)
}

pub(super) async fn abort_all(uploads: impl IntoIterator<Item = Upload>) {
    for upload in uploads {
        upload.abort().await;
    }
}

/// Objects that are visible already, and were not there before.
#[derive(Default)]
struct Visible(Vec<Site>);

impl Visible {
    async fn remove(self) {
        for Site { store, location, .. } in self.0 {
            match tokio::time::timeout(GRACE, store.delete(&location)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => log::warn!("cannot remove {location}: {error}"),
                Err(_) => log::warn!("cannot remove {location}: the store does not answer"),
            }
        }
    }
}
