//! Recognising the files of a table, and reading Hive partitions from their paths.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{ScalarValue, plan_datafusion_err, plan_err};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreUrl;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use recordfusion_core::{Connector, Error, OnCorruption, RecordFile};

use bytes::Bytes;

use super::external;
use super::heads::{HEAD, Heads};
use super::partitions::{parse_folder_name, value};
use crate::registry;

/// What reads a file whose first bytes are damaged.
const DAMAGED: &str =
    "if it is a damaged one, on_corruption=skip reads what is whole of it, and repair copies that";

/// The name of a file in messages: a plain path on the local disk, a URL elsewhere.
pub(crate) fn describe_location(store: &ObjectStoreUrl, location: &Path) -> String {
    match store.as_str() {
        "file:///" => format!("/{location}"),
        url => format!("{url}{location}"),
    }
}

/// The connector that all `files` belong to by their first bytes. Empty files belong to any.
///
/// `expected` is the connector that the user named; without it the first file decides. Where damage is skipped, a file
/// with other first bytes belongs to the connector that the user or its extension names, or else to the one whose
/// chunks are found in it. At most `open_files` are read at a time.
///
/// # Errors
/// A file that is of no known format or not of the same as the others is named.
pub async fn recognise_files(
    files: &[RecordFile],
    expected: Option<&Arc<dyn Connector>>,
    on_corruption: OnCorruption,
    open_files: usize,
) -> Result<Option<Arc<dyn Connector>>> {
    let len = registry::signature_len();
    recognise(files, expected, on_corruption, (len, open_files), |_, _, _| ()).await
}

/// Like [`recognise_files`], and gives those that have bytes with what a connector needs to open them, so that it need
/// not read them a second time.
pub(super) async fn recognise_to_open(
    files: &[RecordFile],
    expected: Option<&Arc<dyn Connector>>,
    on_corruption: OnCorruption,
    open_files: usize,
) -> Result<(Option<Arc<dyn Connector>>, Vec<RecordFile>)> {
    let (mut heads, mut with_heads) = (Heads::default(), Vec::new());
    let keep = |file: &RecordFile, head, connector: Option<&Arc<dyn Connector>>| {
        with_heads.push(heads.keep(file.clone(), head, connector.map(AsRef::as_ref)));
    };
    let len = HEAD.max(registry::signature_len());
    let found = recognise(files, expected, on_corruption, (len, open_files), keep).await?;
    Ok((found, with_heads))
}

/// The connector of all files, of which the first `len` bytes are read, of some files at a time. `seen` gets each file
/// in turn, with these bytes and its connector.
async fn recognise(
    files: &[RecordFile],
    expected: Option<&Arc<dyn Connector>>,
    on_corruption: OnCorruption,
    (len, at_a_time): (u64, usize),
    mut seen: impl FnMut(&RecordFile, Bytes, Option<&Arc<dyn Connector>>),
) -> Result<Option<Arc<dyn Connector>>> {
    let with_data: Vec<RecordFile> = files.iter().filter(|file| file.size > 0).cloned().collect();
    let mut kinds = stream::iter(with_data)
        .map(|file| async move {
            let head = file.read(0..len).await?;
            let kind = kind(&file, &head, expected, on_corruption).await?;
            Ok::<_, Error>((file, head, kind))
        })
        .buffered(at_a_time);
    let mut found = expected.cloned();
    let mut foreign: Option<RecordFile> = None;
    while let Some((file, head, kind)) = kinds.try_next().await.map_err(external)? {
        seen(&file, head, kind);
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
            (Some(found), None) => return Err(wrong_head(&file, found.as_ref())),
            (None, None) => foreign = foreign.or(Some(file)),
        }
    }
    if let (None, Some(file)) = (&found, &foreign) {
        let damaged = match named(file) {
            None => registry::recognise_inside(file).await.map_err(external)?,
            named => named,
        };
        if let Some(connector) = damaged {
            return Err(wrong_head(file, connector.as_ref()));
        }
    }
    Ok(found)
}

/// The connector of a file that has bytes, the first of which are `head`.
async fn kind<'a>(
    file: &RecordFile,
    head: &[u8],
    expected: Option<&'a Arc<dyn Connector>>,
    on_corruption: OnCorruption,
) -> recordfusion_core::Result<Option<&'a Arc<dyn Connector>>> {
    let known = registry::recognise(head);
    if known.is_some() || on_corruption == OnCorruption::Error {
        return Ok(known);
    }
    match expected.or_else(|| named(file)) {
        None => registry::recognise_inside(file).await,
        named => Ok(named),
    }
}

/// The connector that the extension of a file names.
fn named(file: &RecordFile) -> Option<&'static Arc<dyn Connector>> {
    registry::connector(file.location.extension()?)
}

fn wrong_head(file: &RecordFile, connector: &dyn Connector) -> datafusion::error::DataFusionError {
    let name = connector.name();
    plan_datafusion_err!("{} is not a {name} file: its first bytes are others; {DAMAGED}", file.name)
}

/// The Hive partition columns that the locations of files below `path` show, as in `day=2026-01-01/x.riegeli`.
///
/// `declared` are the columns that the user named; every file must have just these. A pattern whose files lie in folders
/// of different kinds, and of which no columns were named, has none: its files were asked for as they are.
///
/// # Errors
/// A file that lies outside the partitions is named.
pub(super) fn partition_columns<'a>(
    path: &ListingTableUrl,
    files: impl IntoIterator<Item = &'a Path>,
    declared: Option<&[String]>,
) -> Result<Vec<(String, DataType)>> {
    let mut expected: Option<Vec<String>> = declared.map(<[String]>::to_vec);
    for file in files {
        let keys: Vec<String> = partitions(path, file).into_iter().map(|(key, _)| key).collect();
        match &expected {
            None => expected = Some(keys),
            Some(expected) => {
                let checked = check_keys(path, file, &keys, expected);
                if checked.is_err() && declared.is_none_or(<[_]>::is_empty) && path.get_glob().is_some() {
                    return Ok(Vec::new());
                }
                checked?;
            }
        }
    }
    let text = || DataType::Dictionary(Box::new(DataType::UInt16), Box::new(DataType::Utf8));
    Ok(expected.unwrap_or_default().into_iter().map(|name| (name, text())).collect())
}

fn check_keys(path: &ListingTableUrl, file: &Path, keys: &[String], expected: &[String]) -> Result<()> {
    if keys == expected {
        return Ok(());
    }
    let file = describe_location(&path.object_store(), file);
    let shape = |keys: &[String]| match keys {
        [] => "no partition folder".to_string(),
        keys => keys.iter().map(|key| format!("{key}=…/")).collect(),
    };
    plan_err!(
        "{file} lies in {}, but the table is partitioned by {}; move the file or name the files by a glob",
        shape(keys),
        shape(expected)
    )
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
    if columns.is_empty() && path.get_glob().is_some() {
        return Ok(Vec::new());
    }
    let found = partitions(path, location);
    let keys: Vec<String> = found.iter().map(|(key, _)| key.clone()).collect();
    let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
    check_keys(path, location, &keys, &names)?;
    let parse = |((key, text), (_, kind)): (&(String, &str), &(String, DataType))| {
        value(text, kind).map_err(|error| {
            let name = describe_location(&path.object_store(), location);
            let reason = crate::error_message(&error);
            plan_datafusion_err!("{name} lies in {key}={text}, which is no {kind}: {reason}")
        })
    };
    found.iter().zip(columns).map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_come_from_the_folders() {
        let path = ListingTableUrl::parse("mem:///t/").expect("a URL");
        let files = ["t/day=1/hour=2/x", "t/day=2/hour=2/y"].map(Path::from);
        let columns = partition_columns(&path, &files, None).expect("alike");
        assert_eq!(columns.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["day", "hour"]);
        let files = ["t/a=b", "t/c"].map(Path::from);
        assert!(partition_columns(&path, &files, None).expect("files only").is_empty());
    }

    #[test]
    fn values_come_from_the_folders_with_names() {
        let path = ListingTableUrl::parse("mem:///t/").expect("a URL");
        let columns = [("day".to_string(), DataType::Int32), ("city".to_string(), DataType::Utf8)];
        let location = Path::parse("t/a/day=7/b/city=Z%C3%BCrich/x").expect("a path");
        let values = partition_values(&path, &location, &columns);
        let expected = [ScalarValue::Int32(Some(7)), ScalarValue::Utf8(Some("Zürich".to_string()))];
        assert_eq!(values.expect("they are there"), expected);
        let error = partition_values(&path, &Path::from("t/day=7/x"), &columns).unwrap_err().to_string();
        assert!(
            error.contains("t/day=7/x lies in day=…/, but the table is partitioned by day=…/city=…/"),
            "{error}"
        );
    }

    #[test]
    fn a_pattern_over_folders_of_different_kinds_has_no_partitions() {
        let path = ListingTableUrl::parse("mem:///t/").and_then(|path| path.with_glob("*/x")).expect("a URL");
        let files = ["t/day=1/x", "t/other/x"].map(Path::from);
        assert!(partition_columns(&path, &files, None).expect("none").is_empty());
        assert!(partition_columns(&path, &files, Some(&["day".to_string()])).is_err());
        assert!(partition_values(&path, &files[0], &[]).expect("none").is_empty());
    }

    #[test]
    fn a_stray_file_is_named() {
        let path = ListingTableUrl::parse("mem:///t/").expect("a URL");
        let files = ["t/day=1/x", "t/stray"].map(Path::from);
        let error = partition_columns(&path, &files, None).unwrap_err().to_string();
        assert!(error.contains("t/stray lies in no partition folder"), "{error}");
        let declared = ["day".to_string()];
        assert!(partition_columns(&path, &files[..1], Some(&declared)).is_ok());
        assert!(partition_columns(&path, &files, Some(&declared)).is_err());
    }
}
