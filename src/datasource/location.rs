//! Where the text that names a table's files points to: a file, a folder, or what a pattern matches.
//!
//! A path that exists is that path, whatever characters it has. Otherwise `*`, `?`, `[…]` and `[!…]` match within a
//! name and `**` any folders, as in a shell, in paths and in URLs of any store. DataFusion's own matching, which lets
//! `*` stand for `/` and does not see `key=value` folders, is not used: only [`ListingTableUrl`] as the place where
//! folder and pattern are kept.

use std::path::{Path as LocalPath, is_separator};

use datafusion::catalog::Session;
use datafusion::common::{plan_datafusion_err, plan_err};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::error::Result;
use futures::StreamExt;
use glob::{MatchOptions, Pattern};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use url::Url;

/// What makes a pattern of a path that does not exist.
const PATTERN: [char; 3] = ['*', '?', '['];

/// Names are matched one by one.
const MATCH: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// The place that `text`, a path or a URL, names. The folder of a pattern is the longest part without one. A pattern
/// that ends in `/` stands for all files below the folders that it matches.
///
/// # Errors
/// Text that is no path or URL; a pattern that is not well formed; no store is registered for the URL.
pub async fn locate(session: &dyn Session, text: &str) -> Result<ListingTableUrl> {
    match is_url(text) {
        true => locate_on_store(session, text).await,
        false => locate_here(text),
    }
}

/// Whether a file of a pattern's folder, or of a folder, matches the pattern.
pub(super) fn is_match(path: &ListingTableUrl, location: &Path) -> bool {
    let Some(pattern) = path.get_glob() else { return true };
    let below: Option<Vec<&str>> = path.strip_prefix(location).map(Iterator::collect);
    below.is_some_and(|names| pattern.matches_with(&names.join("/"), MATCH))
}

/// The names of a pattern, for folders to be left out that no file of it can lie in.
#[derive(Debug, Clone)]
pub(super) struct Levels(Vec<Level>);

#[derive(Debug, Clone)]
enum Level {
    /// A folder or file of such a name.
    Name(Pattern),
    /// Folders and files at any depth.
    Any,
}

impl Levels {
    pub(super) fn of(path: &ListingTableUrl) -> Self {
        let level = |name: &str| match Pattern::new(name) {
            Ok(pattern) if name != "**" => Level::Name(pattern),
            _ => Level::Any,
        };
        Self(match path.get_glob() {
            Some(pattern) => pattern.as_str().split('/').map(level).collect(),
            None => vec![Level::Any],
        })
    }

    /// Whether files of the pattern may lie in the folder of these names below that of the pattern.
    pub(super) fn reach_into(&self, folder: &[String]) -> bool {
        let Some((_, folders)) = self.0.split_last().filter(|(last, _)| matches!(last, Level::Name(_)))
        else {
            return self.match_folders(&self.0, folder);
        };
        self.match_folders(folders, folder)
    }

    fn match_folders(&self, levels: &[Level], folder: &[String]) -> bool {
        for (place, name) in folder.iter().enumerate() {
            match levels.get(place) {
                Some(Level::Any) => return true,
                Some(Level::Name(pattern)) if pattern.matches_with(name, MATCH) => {}
                _ => return false,
            }
        }
        true
    }
}

fn is_url(text: &str) -> bool {
    let has_scheme = text.contains("://") || text.starts_with("file:");
    has_scheme && !LocalPath::new(text).exists()
}

/// A path of this machine.
fn locate_here(text: &str) -> Result<ListingTableUrl> {
    let exists = |path: &str| LocalPath::new(path).symlink_metadata().is_ok();
    match split_pattern(text, exists) {
        None => {
            let path = LocalPath::new(text);
            let is_folder = path.is_dir() || (!exists(text) && text.ends_with(is_separator));
            url_of(path, is_folder)
        }
        Some((folder, names)) => {
            let folder = if folder.is_empty() { "." } else { folder };
            with_pattern(text, &url_of(LocalPath::new(folder), true)?, names)
        }
    }
}

/// The part before the first name that is a pattern and does not exist, and the rest.
fn split_pattern(text: &str, exists: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
    if exists(text) {
        return None;
    }
    let mut begin = 0;
    for name in text.split_inclusive(is_separator) {
        let end = begin + name.len();
        if name.contains(PATTERN) && !text.get(..end).is_some_and(&exists) {
            return text.split_at_checked(begin);
        }
        begin = end;
    }
    None
}

fn url_of(path: &LocalPath, is_folder: bool) -> Result<ListingTableUrl> {
    let absolute = std::path::absolute(path)?;
    let url = if is_folder { Url::from_directory_path(&absolute) } else { Url::from_file_path(&absolute) };
    // Parsed again, it has no `.` and `..` any more.
    let url = url.ok().and_then(|url| Url::parse(url.as_str()).ok());
    let no_path = || plan_datafusion_err!("{} is no path that can be read", path.display());
    ListingTableUrl::try_new(url.ok_or_else(no_path)?, None)
        .map_err(|error| plan_datafusion_err!("{}: its name cannot be used: {error}", path.display()))
}

/// A URL of any store. What is there under the very text of the path, or the text without percent signs, is it.
async fn locate_on_store(session: &dyn Session, text: &str) -> Result<ListingTableUrl> {
    let is_web = text.starts_with("http:") || text.starts_with("https:");
    let Some((root, path)) = split_url(text).filter(|_| !is_web && text.contains(['*', '?', '[', '#', '%']))
    else {
        return ListingTableUrl::parse(text);
    };
    let root = ListingTableUrl::parse(format!("{root}/"))?;
    let store = session.runtime_env().object_store(&root)?;
    let is_folder = path.ends_with('/');
    for place in [Path::parse(path), Path::from_url_path(path)].into_iter().flatten() {
        if is_there(store.as_ref(), &place, is_folder).await {
            return at(&root, &place, is_folder);
        }
    }
    match split_pattern(path, |_| false) {
        None => at(&root, &Path::from_url_path(path)?, is_folder),
        Some((folder, names)) => {
            let slash = if is_folder { "/" } else { "" };
            let names = format!("{}{slash}", Path::from_url_path(names)?);
            with_pattern(text, &at(&root, &Path::from_url_path(folder)?, true)?, &names)
        }
    }
}

/// Scheme and authority of a URL, and its path.
fn split_url(text: &str) -> Option<(&str, &str)> {
    let authority = text.find("://")? + "://".len();
    let path = authority + text.get(authority..)?.find('/')?;
    text.split_at_checked(path)
}

async fn is_there(store: &dyn ObjectStore, place: &Path, is_folder: bool) -> bool {
    match is_folder {
        true => matches!(store.list(Some(place)).next().await, Some(Ok(_))),
        false => store.head(place).await.is_ok(),
    }
}

/// The file at `location` of the store that `path` is on.
pub(super) fn file_at(path: &ListingTableUrl, location: &Path) -> Result<ListingTableUrl> {
    at(path, location, false)
}

/// The URL of a place of the store of `root`.
fn at(root: &ListingTableUrl, place: &Path, is_folder: bool) -> Result<ListingTableUrl> {
    let mut url = root.get_url().clone();
    match url.path_segments_mut() {
        Ok(mut names) => {
            names.clear().extend(place.parts());
            if is_folder && !place.as_ref().is_empty() {
                names.push("");
            }
        }
        Err(()) => return plan_err!("{root} has no paths"),
    }
    ListingTableUrl::try_new(url, None)
}

fn with_pattern(text: &str, folder: &ListingTableUrl, names: &str) -> Result<ListingTableUrl> {
    let all_below = if names.ends_with('/') { "**" } else { "" };
    let pattern = Pattern::new(&format!("{names}{all_below}")).map_err(|error| {
        let reason = error.msg;
        plan_datafusion_err!(
            "'{text}' is no pattern: {reason}; a name that has [, * or ? has them as [[], [*], [?]"
        )
    })?;
    ListingTableUrl::try_new(folder.get_url().clone(), Some(pattern))
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;

    use super::*;

    async fn place(text: &str) -> ListingTableUrl {
        let ctx = SessionContext::new();
        let store = object_store::memory::InMemory::new();
        for name in ["t/a[1].x", "t/50%.x", "t/a b.x", "t/q?.x"] {
            let name = Path::parse(name).expect("a path");
            store.put(&name, vec![1].into()).await.expect("memory takes it");
        }
        ctx.register_object_store(&Url::parse("mem:///").expect("a URL"), std::sync::Arc::new(store));
        locate(&ctx.state(), text).await.expect("a place")
    }

    fn matches(path: &ListingTableUrl, locations: &[&str]) -> Vec<bool> {
        locations.iter().map(|location| is_match(path, &Path::parse(location).expect("a path"))).collect()
    }

    #[tokio::test]
    async fn names_are_matched_as_in_a_shell() {
        let locations = ["t/a.x", "t/b/a.x", "t/b/c/a.x", "t/day=1/a.x", "t/a.y", "u/a.x"];
        for (pattern, expected) in [
            ("mem:///t/*.x", [true, false, false, false, false, false]),
            ("mem:///t/*", [true, false, false, false, true, false]),
            ("mem:///t/*/*.x", [false, true, false, true, false, false]),
            ("mem:///t/**/*.x", [true, true, true, true, false, false]),
            ("mem:///t/**", [true, true, true, true, true, false]),
            ("mem:///t/day=*/a.x", [false, false, false, true, false, false]),
            ("mem:///t/*=1/", [false, false, false, true, false, false]),
            ("mem:///?/a.[!y]", [true, false, false, false, false, true]),
            ("mem:///**/c/*", [false, false, true, false, false, false]),
            ("mem:///t/[a-c]/*", [false, true, false, false, false, false]),
        ] {
            assert_eq!(matches(&place(pattern).await, &locations), expected, "{pattern}");
        }
    }

    #[tokio::test]
    async fn a_name_on_a_store_that_is_there_is_no_pattern() {
        for (text, prefix) in [
            ("mem:///t/a[1].x", "t/a[1].x"),
            ("mem:///t/50%.x", "t/50%.x"),
            ("mem:///t/a%20b.x", "t/a b.x"),
            ("mem:///t/q?.x", "t/q?.x"),
            ("mem:///t/q%3F.x", "t/q?.x"),
        ] {
            let path = place(text).await;
            assert_eq!((path.prefix().as_ref(), path.get_glob()), (prefix, &None), "{text}");
        }
        let pattern = place("mem:///t/b[1].x").await;
        assert_eq!(pattern.prefix().as_ref(), "t");
        assert!(is_match(&pattern, &Path::from("t/b1.x")));
    }

    #[tokio::test]
    async fn a_pattern_that_is_not_closed_is_refused() {
        let error = locate(&SessionContext::new().state(), "nowhere/a[b").await.unwrap_err().to_string();
        assert!(error.contains("'nowhere/a[b' is no pattern: invalid range pattern"), "{error}");
    }

    #[tokio::test]
    async fn folders_that_cannot_hold_a_match_are_left_out() {
        let names = |folder: &str| folder.split('/').map(str::to_string).collect::<Vec<_>>();
        for (pattern, folder, expected) in [
            ("mem:///t/*.x", "b", false),
            ("mem:///t/b*/*.x", "b", true),
            ("mem:///t/b*/*.x", "c", false),
            ("mem:///t/b*/*.x", "b/c", false),
            ("mem:///t/b*/**", "b/c", true),
            ("mem:///t/**/y/*.x", "b/c", true),
            ("mem:///t/", "b/c", true),
        ] {
            let levels = Levels::of(&place(pattern).await);
            assert_eq!(levels.reach_into(&names(folder)), expected, "{pattern} {folder}");
        }
    }

    #[tokio::test]
    async fn a_path_that_exists_is_that_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("a[1]");
        std::fs::create_dir(&inner).expect("writable");
        std::fs::write(inner.join("res[final].x"), "x").expect("writable");
        let text = |name: &str| format!("{}/{name}", folder.path().display());
        let file = place(&text("a[1]/res[final].x")).await;
        assert!(file.get_glob().is_none() && file.prefix().as_ref().ends_with("a[1]/res[final].x"));
        let pattern = place(&text("a[1]/res*.x")).await;
        assert!(pattern.prefix().as_ref().ends_with("a[1]"));
        assert!(place(&text("a[1]")).await.is_collection());
    }
}
