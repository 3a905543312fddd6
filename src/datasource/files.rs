//! Finding the files of a table, recognising them, and reading Hive partitions from their paths.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::catalog::Session;
use datafusion::common::{ScalarValue, plan_datafusion_err, plan_err};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::cache::TableScopedPath;
use datafusion::execution::object_store::ObjectStoreUrl;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use recordfusion_core::{Connector, Error, RecordFile};

use super::external;
use super::partitions::{parse_folder_name, value};
use crate::registry;

/// Files whose first bytes are read at the same time.
const CONCURRENT_READS: usize = 16;

/// The name of a file in messages: a plain path on the local disk, a URL elsewhere.
pub(crate) fn describe_location(store: &ObjectStoreUrl, location: &Path) -> String {
    match store.as_str() {
        "file:///" => format!("/{location}"),
        url => format!("{url}{location}"),
    }
}

/// The files at `path`, sorted by path. Files and folders whose names begin with `.` or `_` are left out,
/// as Hive and Spark do: they are markers and unfinished writes.
pub async fn list_files(session: &dyn Session, path: &ListingTableUrl) -> Result<Vec<RecordFile>> {
    forget_listing(session, path);
    let store = session.runtime_env().object_store(path)?;
    let listed = path.list_all_files(session, store.as_ref(), "").await;
    let listed = listed.map_err(|error| listing_error(path, error))?.try_collect().await;
    let mut objects: Vec<object_store::ObjectMeta> = listed.map_err(|error| listing_error(path, error))?;
    objects.retain(|object| !is_hidden(path, &object.location));
    objects.sort_by(|a, b| a.location.cmp(&b.location));
    let file = |object: object_store::ObjectMeta| RecordFile {
        store: Arc::clone(&store),
        name: describe_location(&path.object_store(), &object.location),
        size: object.size,
        location: object.location,
        e_tag: object.e_tag,
    };
    Ok(objects.into_iter().map(file).collect())
}

/// An error of the store names what was listed.
pub(super) fn listing_error(path: &ListingTableUrl, error: DataFusionError) -> DataFusionError {
    match error {
        DataFusionError::ObjectStore(source) => external(Error::Store {
            file: describe_location(&path.object_store(), path.prefix()),
            source: *source,
        }),
        other => other,
    }
}

/// Makes the session list the files at `path` anew: it remembers them otherwise for as long as it lives.
pub(super) fn forget_listing(session: &dyn Session, path: &ListingTableUrl) {
    if let Some(cache) = session.runtime_env().cache_manager.get_list_files_cache() {
        let table = path.get_table_ref().clone();
        cache.remove(&TableScopedPath { table, path: path.prefix().clone() });
    }
}

/// Whether a part of the path below the table's own location begins with `.` or `_`.
pub(super) fn is_hidden(path: &ListingTableUrl, location: &Path) -> bool {
    let below = path.strip_prefix(location);
    below.is_some_and(|mut parts| parts.any(|part| part.starts_with(['.', '_']) && !part.contains('=')))
}

/// The connector that all `files` belong to by their first bytes. Empty files belong to any.
///
/// `expected` is the connector that the user named; without it the first file decides.
///
/// # Errors
/// A file that is of no known format or not of the same as the others is named.
pub async fn recognise_files(
    files: &[RecordFile],
    expected: Option<&Arc<dyn Connector>>,
) -> Result<Option<Arc<dyn Connector>>> {
    let with_data: Vec<RecordFile> = files.iter().filter(|file| file.size > 0).cloned().collect();
    let mut kinds = stream::iter(with_data)
        .map(|file| async move {
            let prefix = file.read(0..registry::signature_len()).await?;
            Ok::<_, Error>((file, registry::recognise(&prefix)))
        })
        .buffered(CONCURRENT_READS);
    let mut found = expected.cloned();
    let mut foreign: Option<RecordFile> = None;
    while let Some((file, kind)) = kinds.try_next().await.map_err(external)? {
        match (&found, kind) {
            (None, Some(kind)) if foreign.is_none() => found = Some(Arc::clone(kind)),
            (None, Some(kind)) => {
                let name = foreign.map_or_else(String::new, |foreign| foreign.name);
                return plan_err!("{name} is not a {} file, but {} is one", kind.name(), file.name);
            }
            (Some(found), Some(kind)) if found.name() == kind.name() => {}
            (Some(found), Some(kind)) => {
                return plan_err!("{} is a {} file, not a {} file", file.name, kind.name(), found.name());
            }
            (Some(found), None) => {
                return plan_err!("{} is not a {} file: its first bytes are others", file.name, found.name());
            }
            (None, None) => foreign = foreign.or(Some(file)),
        }
    }
    Ok(found)
}

/// The Hive partition columns that the paths of `files` below `path` show, as in `day=2026-01-01/x.riegeli`.
///
/// `declared` are the columns that the user named; every file must have just these.
///
/// # Errors
/// A file that lies outside the partitions is named.
pub(super) fn partition_columns(
    path: &ListingTableUrl,
    files: &[RecordFile],
    declared: Option<&[String]>,
) -> Result<Vec<(String, DataType)>> {
    let mut expected: Option<Vec<String>> = declared.map(<[String]>::to_vec);
    for file in files {
        let keys = partition_keys(path, &file.location);
        match &expected {
            None => expected = Some(keys),
            Some(expected) if *expected == keys => {}
            Some(expected) => {
                let shape = |keys: &[String]| match keys {
                    [] => "no partition folder".to_string(),
                    keys => keys.iter().map(|key| format!("{key}=…/")).collect(),
                };
                return Err(plan_datafusion_err!(
                    "{} lies in {}, but the table is partitioned by {}; move the file or name the files by a glob",
                    file.name,
                    shape(&keys),
                    shape(expected)
                ));
            }
        }
    }
    let text = || DataType::Dictionary(Box::new(DataType::UInt16), Box::new(DataType::Utf8));
    Ok(expected.unwrap_or_default().into_iter().map(|name| (name, text())).collect())
}

fn partition_keys(path: &ListingTableUrl, location: &Path) -> Vec<String> {
    partitions(path, location).into_iter().map(|(key, _)| key).collect()
}

/// Names and values of the `key=value` folders that a file lies in.
fn partitions<'a>(path: &ListingTableUrl, location: &'a Path) -> Vec<(String, &'a str)> {
    let parts: Vec<&str> = path.strip_prefix(location).map(Iterator::collect).unwrap_or_default();
    let folders = parts.split_last().map_or(&[][..], |(_, folders)| folders);
    folders.iter().filter_map(|part| parse_folder_name(part)).collect()
}

/// The values of the partition columns by the folders that a file lies in.
///
/// # Errors
/// A file that lies in other folders; a value that is none of its column's type.
pub(super) fn partition_values(
    path: &ListingTableUrl,
    location: &Path,
    columns: &[(String, DataType)],
) -> Result<Vec<ScalarValue>> {
    let found = partitions(path, location);
    let name = || describe_location(&path.object_store(), location);
    if !found.iter().map(|(key, _)| key).eq(columns.iter().map(|(key, _)| key)) {
        return plan_err!("{} does not lie in the partition folders of its table", name());
    }
    let parse = |((key, text), (_, kind)): (&(String, &str), &(String, DataType))| {
        value(text, kind).map_err(|error| {
            let reason = crate::error_message(&error);
            plan_datafusion_err!("{} lies in {key}={text}, which is no {kind}: {reason}", name())
        })
    };
    found.iter().zip(columns).map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(location: &str) -> RecordFile {
        RecordFile {
            store: Arc::new(object_store::memory::InMemory::new()),
            location: Path::from(location),
            size: 1,
            name: location.to_string(),
            e_tag: None,
        }
    }

    #[test]
    fn partitions_come_from_the_folders() {
        let path = ListingTableUrl::parse("mem:///t/").expect("a URL");
        let files = [file("t/day=1/hour=2/x"), file("t/day=2/hour=2/y")];
        let columns = partition_columns(&path, &files, None).expect("alike");
        assert_eq!(columns.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["day", "hour"]);
        assert!(
            partition_columns(&path, &[file("t/a=b"), file("t/c")], None).expect("files only").is_empty()
        );
    }

    #[test]
    fn a_stray_file_is_named() {
        let path = ListingTableUrl::parse("mem:///t/").expect("a URL");
        let files = [file("t/day=1/x"), file("t/stray")];
        let error = partition_columns(&path, &files, None).unwrap_err().to_string();
        assert!(error.contains("t/stray lies in no partition folder"), "{error}");
        let declared = ["day".to_string()];
        assert!(partition_columns(&path, &files[..1], Some(&declared)).is_ok());
        assert!(partition_columns(&path, &files, Some(&declared)).is_err());
    }

    #[test]
    fn markers_are_hidden_but_partitions_are_not() {
        let path = ListingTableUrl::parse("mem:///_t/").expect("a URL");
        assert!(is_hidden(&path, &Path::from("_t/_SUCCESS")));
        assert!(is_hidden(&path, &Path::from("_t/.x.crc")));
        assert!(!is_hidden(&path, &Path::from("_t/_day=1/x")));
    }
}
