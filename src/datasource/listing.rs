//! Listing the files of a table.
//!
//! A local folder is listed by its store as long as that works. The local store gives up at the first name or link that
//! it cannot follow; then, and for patterns, which need not look into every folder, the folders are walked here, and
//! what cannot be read is passed over with a warning that names it.

use std::path::{Path as LocalPath, PathBuf};
use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::common::exec_datafusion_err;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::error::Result;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use recordfusion_core::{Error, Options, RecordFile};
use walkdir::{DirEntry, WalkDir};

use super::external;
use super::files::describe_location;
use super::location::{Levels, is_match};
use super::settings::open_files_setting;

/// The files at `path`, sorted by path. Files and folders whose names begin with `.` or `_` are left out,
/// as Hive and Spark do: they are markers and unfinished writes.
///
/// # Errors
/// Failures of the store. Of a local folder, what cannot be read below it is passed over, and a warning is logged.
pub async fn list_files(session: &dyn Session, path: &ListingTableUrl) -> Result<Vec<RecordFile>> {
    let store = session.runtime_env().object_store(path)?;
    let file = |object: ObjectMeta| {
        let name = describe_location(&path.object_store(), &object.location);
        RecordFile::of_object(Arc::clone(&store), object, name)
    };
    Ok(list_objects(session, path).await?.into_iter().map(file).collect())
}

/// The same as the store describes them.
pub(super) async fn list_objects(session: &dyn Session, path: &ListingTableUrl) -> Result<Vec<ObjectMeta>> {
    let store = session.runtime_env().object_store(path)?;
    let at_a_time = open_files_setting(session, &Options::new())?;
    let found = match path.is_collection() {
        true => list_folder(&store, path, at_a_time).await,
        false => match store.head(path.prefix()).await {
            Ok(object) => Ok(vec![object]),
            // It may be a folder that is named without a slash.
            Err(object_store::Error::NotFound { .. }) => list_folder(&store, path, at_a_time).await,
            Err(error) => Err(store_error(path, path.prefix(), error)),
        },
    };
    let direct_only = session.config_options().execution.listing_table_ignore_subdirectory;
    let mut objects = found?;
    objects.retain(|object| {
        let is_wanted = match path.get_glob() {
            Some(_) => is_match(path, &object.location),
            None => path.contains(&object.location, direct_only),
        };
        is_wanted && !is_hidden(path, &object.location)
    });
    objects.sort_by(|a, b| a.location.cmp(&b.location));
    Ok(objects)
}

/// Whether a part of the path below the table's own location begins with `.` or `_`.
pub(crate) fn is_hidden(path: &ListingTableUrl, location: &Path) -> bool {
    path.strip_prefix(location).is_some_and(|mut names| names.any(is_marker))
}

fn is_marker(name: &str) -> bool {
    name.starts_with(['.', '_']) && !name.contains('=')
}

/// An error of the store names what was looked for.
fn store_error(
    path: &ListingTableUrl,
    location: &Path,
    source: object_store::Error,
) -> datafusion::error::DataFusionError {
    external(Error::Store { file: describe_location(&path.object_store(), location), source })
}

async fn list_folder(
    store: &Arc<dyn ObjectStore>,
    path: &ListingTableUrl,
    at_a_time: usize,
) -> Result<Vec<ObjectMeta>> {
    let local = path.get_url().to_file_path().ok();
    let local = local.filter(|folder| path.scheme() == "file" && folder.is_dir());
    if let (Some(folder), Some(_)) = (&local, path.get_glob()) {
        return walk_folder(store, path, folder.clone(), at_a_time).await;
    }
    let listed: object_store::Result<Vec<_>> = store.list(Some(path.prefix())).try_collect().await;
    match (listed, local) {
        (Ok(objects), _) => Ok(objects),
        (Err(_), Some(folder)) => walk_folder(store, path, folder, at_a_time).await,
        (Err(error), None) => Err(store_error(path, path.prefix(), error)),
    }
}

/// The files of a folder of this machine that can be read, as the store describes them.
async fn walk_folder(
    store: &Arc<dyn ObjectStore>,
    path: &ListingTableUrl,
    folder: PathBuf,
    at_a_time: usize,
) -> Result<Vec<ObjectMeta>> {
    let place = path.clone();
    let walk = tokio::task::spawn_blocking(move || Walk::new(&place, folder).run()).await;
    let found = walk.map_err(|error| exec_datafusion_err!("listing was given up: {error}"))??;
    let lookups = stream::iter(found).map(|location| async move {
        match store.head(&location).await {
            Ok(object) => Ok(Some(object)),
            // It was removed in the meantime.
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(store_error(path, &location, error)),
        }
    });
    let objects: Vec<Option<ObjectMeta>> = lookups.buffered(at_a_time).try_collect().await?;
    Ok(objects.into_iter().flatten().collect())
}

/// A walk through a folder of this machine.
struct Walk<'a> {
    path: &'a ListingTableUrl,
    levels: Levels,
    folder: PathBuf,
    files: Vec<Path>,
}

impl<'a> Walk<'a> {
    fn new(path: &'a ListingTableUrl, folder: PathBuf) -> Self {
        Self { path, levels: Levels::of(path), folder, files: Vec::new() }
    }

    /// The files below the folder that may be of the table.
    ///
    /// # Errors
    /// The folder itself cannot be read.
    fn run(mut self) -> Result<Vec<Path>> {
        let unreadable = |error| exec_datafusion_err!("{}: {error}", self.folder.display());
        std::fs::read_dir(&self.folder).map_err(unreadable)?;
        let mut entries = WalkDir::new(&self.folder).min_depth(1).follow_links(true).into_iter();
        while let Some(entry) = entries.next() {
            match entry {
                Ok(entry) if entry.file_type().is_dir() => {
                    if !self.goes_into(&entry) {
                        entries.skip_current_dir();
                    }
                }
                Ok(entry) if entry.file_type().is_file() => self.add(entry.path()),
                Ok(_) => {}
                Err(error) => self.report(&error),
            }
        }
        Ok(self.files)
    }

    /// The names below the folder; those that are not UTF-8 as they are shown.
    fn names(&self, path: &LocalPath) -> Vec<String> {
        let below = path.strip_prefix(&self.folder).unwrap_or(path);
        below.iter().map(|name| name.to_string_lossy().into_owned()).collect()
    }

    fn may_hold_files(&self, folder: &LocalPath) -> bool {
        let names = self.names(folder);
        !names.iter().any(|name| is_marker(name)) && self.levels.reach_into(&names)
    }

    fn goes_into(&self, folder: &DirEntry) -> bool {
        if !self.may_hold_files(folder.path()) {
            return false;
        }
        let fault = name_fault(folder.path());
        if let Some(fault) = fault {
            pass_over(folder.path(), fault);
        }
        fault.is_none()
    }

    fn add(&mut self, file: &LocalPath) {
        let names = self.names(file);
        if names.iter().any(|name| is_marker(name)) || is_unfinished(&names) {
            return;
        }
        let below = names.join("/");
        let prefix = self.path.prefix().as_ref();
        let location = if prefix.is_empty() { below } else { format!("{prefix}/{below}") };
        match (name_fault(file), Path::parse(&location)) {
            (None, Ok(location)) => {
                if is_match(self.path, &location) {
                    self.files.push(location);
                }
            }
            (fault, _) => {
                let shown = Path::from(location);
                if is_match(self.path, &shown) {
                    pass_over(file, fault.unwrap_or("no store has such a name"));
                }
            }
        }
    }

    /// Tells of a place that cannot be read, if files of the table may be there.
    fn report(&self, error: &walkdir::Error) {
        let Some(path) = error.path() else { return };
        // A link to nothing holds no rows, and neither does what was removed in the meantime.
        let is_gone = error.io_error().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        if is_gone || !self.may_hold_files(path) {
            return;
        }
        match (error.loop_ancestor(), error.io_error()) {
            (Some(_), _) => pass_over(path, "it is a link to a folder that it lies in"),
            (None, Some(error)) => pass_over(path, &error.to_string()),
            (None, None) => pass_over(path, "it cannot be read"),
        }
    }
}

/// Why the local store cannot read a file or folder of this name.
fn name_fault(path: &LocalPath) -> Option<&'static str> {
    match path.file_name()?.to_str() {
        None => Some("its name is not UTF-8"),
        Some(name) if name.contains(|c: char| c.is_ascii_control()) => {
            Some("its name has a control character")
        }
        Some(_) => None,
    }
}

/// Whether the name ends as those of files that the local store has not finished writing: in `#` and digits.
fn is_unfinished(names: &[String]) -> bool {
    let number = names.last().and_then(|name| name.split_once('#'));
    number.is_some_and(|(_, digits)| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn pass_over(path: &LocalPath, reason: &str) {
    log::warn!("{} is passed over: {reason}", path.display());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_hidden_but_partitions_are_not() {
        let path = ListingTableUrl::parse("mem:///_t/").expect("a URL");
        assert!(is_hidden(&path, &Path::from("_t/_SUCCESS")));
        assert!(is_hidden(&path, &Path::from("_t/.x.crc")));
        assert!(!is_hidden(&path, &Path::from("_t/_day=1/x")));
    }

    #[test]
    fn files_that_are_being_written_have_numbers() {
        let is_unfinished = |name: &str| is_unfinished(&["a".to_string(), name.to_string()]);
        assert!(is_unfinished("x.riegeli#17"));
        assert!(!is_unfinished("x#17.riegeli") && !is_unfinished("x#") && !is_unfinished("17"));
    }
}
