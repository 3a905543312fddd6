//! Where files are written, and how several of them become visible together.

use std::sync::Arc;

use datafusion::common::plan_err;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionState;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use tokio::sync::Mutex;
use url::Url;

use super::Upload;
use super::upload::{Open, in_background};

/// Where an output lies. A local path is taken as it is, without patterns; a link leads to what it points to.
///
/// # Errors
/// Something that is no regular file is there already, such as a device.
pub(crate) fn output_url(path: &str) -> Result<ListingTableUrl> {
    if path.contains("://") {
        return ListingTableUrl::parse(path);
    }
    let mut local = std::path::absolute(path)?;
    if let Ok(found) = std::fs::metadata(&local) {
        if !found.is_file() {
            return plan_err!("cannot write {path}: it exists and is no regular file");
        }
        local = std::fs::canonicalize(&local)?;
    } else if let (Some(folder), Some(name)) = (local.parent(), local.file_name())
        && let Ok(folder) = std::fs::canonicalize(folder)
    {
        local = folder.join(name);
    }
    match Url::from_file_path(&local) {
        Ok(url) => ListingTableUrl::try_new(url, None),
        Err(()) => plan_err!("cannot write {path}: it is no path of this machine"),
    }
}

/// Begins an upload to `path`, a path or URL.
///
/// # Errors
/// No store is registered for the URL.
pub(crate) fn begin_upload(state: &SessionState, path: &str) -> Result<Upload> {
    let url = output_url(path)?;
    let store = state.runtime_env().object_store(&url)?;
    Ok(Upload::new(store, url.prefix().clone(), path.to_string()))
}

/// A file with all its bytes that nobody sees yet.
#[must_use]
pub(crate) struct UnfinishedFile {
    upload: Upload,
    /// The file that it takes the place of, as it was when it was read.
    replaces: Option<ObjectMeta>,
}

/// Files that replace others become visible one after another, so that none is made of an old state.
static REPLACING: Mutex<()> = Mutex::const_new(());

impl UnfinishedFile {
    /// A new file, or one that has all of the file `replaces` in it, once the store has its parts.
    ///
    /// # Errors
    /// The `outcome` of writing, or the store's; then the upload is given up.
    pub(crate) async fn new(
        mut upload: Upload,
        replaces: Option<ObjectMeta>,
        outcome: Result<()>,
    ) -> Result<Self> {
        let settled = match outcome {
            Ok(()) => upload.settle().await,
            Err(error) => Err(error),
        };
        match settled {
            Ok(()) => Ok(Self { upload, replaces }),
            Err(error) => {
                upload.abort().await;
                Err(error)
            }
        }
    }

    async fn finish(self) -> Result<()> {
        let Some(replaces) = self.replaces else { return self.upload.finish().await };
        let _guard = REPLACING.lock().await;
        let (store, location) = self.upload.location();
        let error = match store.head(location).await {
            Ok(now) if same_state(&now, &replaces) => return self.upload.finish().await,
            Ok(_) => self.upload.describe("it changed while rows were added to it, and they were not added"),
            Err(error) => self.upload.describe(error),
        };
        self.upload.abort().await;
        Err(error)
    }
}

fn same_state(one: &ObjectMeta, other: &ObjectMeta) -> bool {
    let state = |file: &ObjectMeta| (file.size, file.last_modified, file.e_tag.clone(), file.version.clone());
    state(one) == state(other)
}

/// Makes all `files` visible; none of them if the statement has `failed`.
///
/// # Errors
/// That error, or the store's. Files that were visible already are removed then, and also if the caller does not
/// wait for the end.
pub(crate) async fn publish(files: Vec<UnfinishedFile>, failed: Option<DataFusionError>) -> Result<()> {
    if let Some(error) = failed {
        abort_all(files).await;
        return Err(error);
    }
    let mut visible = Visible::default();
    let mut files = files.into_iter();
    while let Some(file) = files.next() {
        let (store, location) = file.upload.location();
        let place = (Arc::clone(store), location.clone());
        if let Err(error) = file.finish().await {
            abort_all(files).await;
            remove_all(std::mem::take(&mut visible.0)).await;
            return Err(error);
        }
        visible.0.push(place);
    }
    visible.0.clear();
    Ok(())
}

async fn abort_all(files: impl IntoIterator<Item = UnfinishedFile>) {
    for file in files {
        file.upload.abort().await;
    }
}

async fn remove_all(files: Vec<(Arc<dyn ObjectStore>, Path)>) {
    for (store, location) in files {
        if let Err(error) = store.delete(&location).await {
            log::warn!("cannot remove {location}: {error}");
        }
    }
}

/// Files that are removed when this is dropped.
#[derive(Default)]
struct Visible(Vec<(Arc<dyn ObjectStore>, Path)>);

impl Drop for Visible {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            let (files, open) = (std::mem::take(&mut self.0), Open::new());
            in_background(async move {
                remove_all(files).await;
                drop(open);
            });
        }
    }
}
