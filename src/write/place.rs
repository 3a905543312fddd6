//! Where an output lies: what a path or URL stands for that is going to be written.

use std::path::{self, PathBuf};
use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::common::{plan_datafusion_err, plan_err};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::error::Result;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use recordfusion_core::RecordFile;
use url::Url;

use super::local::{self, Kind};

/// A file or folder to write, whether it is there or not.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    url: ListingTableUrl,
    store: Arc<dyn ObjectStore>,
    /// On this machine's disk, links followed.
    local: Option<Local>,
    /// What errors call it.
    name: String,
}

#[derive(Debug, Clone)]
struct Local {
    path: PathBuf,
    kind: Kind,
}

impl Place {
    /// What `path` stands for, a path or URL. A local path is taken as it is, whatever characters it has; links lead
    /// to what they point to. A folder ends in `/`, or is there as one.
    ///
    /// # Errors
    /// No store is registered for the URL; a name that no store can have.
    pub(crate) fn parse(session: &dyn Session, path: &str) -> Result<Self> {
        if path.contains("://") {
            return Self::of(session, &ListingTableUrl::parse(path)?, path);
        }
        let is_folder = path.ends_with(path::is_separator);
        Self::of_local(session, &path::absolute(path)?, is_folder, path)
    }

    /// The place of a table's location, which has no pattern; errors call it `name`.
    ///
    /// # Errors
    /// As of [`Self::parse`].
    pub(crate) fn of(session: &dyn Session, url: &ListingTableUrl, name: &str) -> Result<Self> {
        match (url.scheme(), url.as_ref() as &Url) {
            ("file", file) if let Ok(path) = file.to_file_path() => {
                Self::of_local(session, &path, url.is_collection(), name)
            }
            _ => {
                let store = session.runtime_env().object_store(url)?;
                Ok(Self { url: url.clone(), store, local: None, name: name.to_string() })
            }
        }
    }

    fn of_local(session: &dyn Session, path: &path::Path, is_folder: bool, name: &str) -> Result<Self> {
        let (path, kind) = local::resolve(path);
        let url = match is_folder || kind == Kind::Folder {
            true => Url::from_directory_path(&path),
            false => Url::from_file_path(&path),
        };
        let url =
            url.map_err(|()| plan_datafusion_err!("cannot write {name}: it is no path of this machine"))?;
        let url = ListingTableUrl::try_new(url, None)?;
        let store = session.runtime_env().object_store(&url)?;
        // A program may have put another store in the place of this machine's files: it is written as any store is.
        let is_disk = store.to_string() == LocalFileSystem::new().to_string();
        let place =
            Self { url, store, local: is_disk.then_some(Local { path, kind }), name: name.to_string() };
        match kind {
            Kind::Stream | Kind::File if is_folder => {
                plan_err!("cannot write {name}: it exists and is no folder")
            }
            Kind::Other => plan_err!("cannot write {name}: it exists and is no regular file"),
            _ => Ok(place),
        }
    }

    /// The same place as a folder.
    ///
    /// # Errors
    /// As of [`Self::parse`].
    pub(crate) fn as_folder(&self, session: &dyn Session) -> Result<Self> {
        if self.is_folder() {
            return Ok(self.clone());
        }
        let url: &Url = self.url.as_ref();
        let mut folder = url.clone();
        folder.set_path(&format!("{}/", url.path()));
        Self::of(session, &ListingTableUrl::try_new(folder, None)?, &self.name)
    }

    /// Its URL, with links followed; that of a folder ends in `/`.
    pub(crate) fn url(&self) -> &ListingTableUrl {
        &self.url
    }

    /// Whether it is a folder, of files or to be.
    pub(crate) fn is_folder(&self) -> bool {
        self.url.is_collection()
    }

    /// Whether it is there already, and no folder.
    pub(crate) fn is_file_or_stream(&self) -> bool {
        self.local.as_ref().is_some_and(|local| matches!(local.kind, Kind::File | Kind::Stream))
    }

    /// The location in the store.
    pub(crate) fn location(&self) -> &Path {
        self.url.prefix()
    }

    /// The store.
    pub(crate) fn store(&self) -> &Arc<dyn ObjectStore> {
        &self.store
    }

    /// What errors call it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The path, if it is on this machine's disk.
    pub(super) fn local(&self) -> Option<&path::Path> {
        self.local.as_ref().map(|local| local.path.as_path())
    }

    /// Whether bytes that are written are gone at once, as with a pipe or a terminal.
    pub(crate) fn is_stream(&self) -> bool {
        self.local.as_ref().is_some_and(|local| local.kind == Kind::Stream)
    }

    /// Whether both are one file.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self.local(), other.local()) {
            (Some(one), Some(other)) => local::is_same_file(one, other),
            _ => self.url.object_store() == other.url.object_store() && self.location() == other.location(),
        }
    }

    /// Whether the place is this file.
    pub(crate) fn is_file(&self, file: &RecordFile) -> bool {
        match self.local() {
            Some(path) if Arc::ptr_eq(&self.store, &file.store) => {
                local::path_of(&file.location).is_some_and(|other| local::is_same_file(path, &other))
            }
            _ => Arc::ptr_eq(&self.store, &file.store) && *self.location() == file.location,
        }
    }

    /// Whether the other place lies in this folder.
    pub(crate) fn contains(&self, other: &Self) -> bool {
        self.url.object_store() == other.url.object_store()
            && other.location().prefix_matches(self.location())
    }

    /// Whether the file lies in this folder.
    pub(crate) fn holds(&self, file: &RecordFile) -> bool {
        let path = match self.local() {
            Some(_) => local::path_of(&file.location)
                .and_then(|path| Path::from_absolute_path(local::resolve(&path).0).ok()),
            None => None,
        };
        let location = path.as_ref().unwrap_or(&file.location);
        Arc::ptr_eq(&self.store, &file.store) && self.is_folder() && location.prefix_matches(self.location())
    }
}
