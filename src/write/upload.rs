//! A file being written: nobody sees it before it is complete.

use std::sync::Arc;

use bytes::Bytes;
use datafusion::common::plan_err;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionState;
use object_store::ObjectStore;
use object_store::buffered::BufWriter;
use object_store::path::Path;
use tokio::io::AsyncWriteExt;
use url::Url;

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

/// An upload to an object store. The local store, too, writes to a temporary name first.
pub(crate) struct Upload {
    path: String,
    writer: BufWriter,
}

impl Upload {
    /// Begins an upload to `path`, a path or URL.
    ///
    /// # Errors
    /// No store is registered for the URL.
    pub(crate) fn begin(state: &SessionState, path: &str) -> Result<Self> {
        let url = output_url(path)?;
        let store = state.runtime_env().object_store(&url)?;
        Ok(Self::new(store, url.prefix().clone(), path.to_string()))
    }

    /// An upload to `location` in `store`; errors call it `path`.
    pub(crate) fn new(store: Arc<dyn ObjectStore>, location: Path, path: String) -> Self {
        Self { path, writer: BufWriter::new(store, location) }
    }

    /// Appends `bytes`.
    pub(crate) async fn write(&mut self, bytes: Vec<u8>) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let written = self.writer.put(Bytes::from(bytes)).await;
        written.map_err(|error| self.describe(&error))
    }

    /// Appends the last `bytes` and makes the file visible.
    pub(crate) async fn finish(mut self, bytes: Vec<u8>) -> Result<()> {
        if let Err(error) = self.write(bytes).await {
            self.abort().await;
            return Err(error);
        }
        let finished = self.writer.shutdown().await;
        finished.map_err(|error| self.describe(&error))
    }

    /// Gives up; what was written is removed as far as the store allows it.
    pub(crate) async fn abort(mut self) {
        if let Err(error) = self.writer.abort().await {
            log::warn!("cannot remove the unfinished {}: {error}", self.path);
        }
    }

    fn describe(&self, error: &dyn std::error::Error) -> DataFusionError {
        DataFusionError::Execution(format!("cannot write {}: {error}", self.path))
    }
}
