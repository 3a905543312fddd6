//! What there is on this machine's disk: where paths lead to, and which files of a folder are seen.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use object_store::local::LocalFileSystem;
use object_store::path::Path as Location;

/// Links that are followed, as the systems do.
const MAX_LINKS: usize = 40;

/// What there is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Nothing,
    File,
    Folder,
    /// What takes bytes and keeps none, such as a pipe or a terminal.
    Stream,
    /// What no bytes can be written to in order, such as a socket or a disk.
    Other,
}

/// Where a path leads to, whether it is there or not, and what is there.
pub(super) fn resolve(path: &Path) -> (PathBuf, Kind) {
    let mut path = path.to_path_buf();
    if let Ok(found) = fs::metadata(&path) {
        return match kind(&found) {
            // The real path of a pipe is no path.
            Kind::Stream => (path, Kind::Stream),
            kind => (fs::canonicalize(&path).unwrap_or(path), kind),
        };
    }
    for _ in 0..MAX_LINKS {
        let Ok(to) = fs::read_link(&path) else { break };
        path = path.parent().map_or(to.clone(), |folder| folder.join(&to));
    }
    if path.is_symlink() {
        return (path, Kind::Other);
    }
    let missing = path.ancestors().take_while(|path| !path.exists()).count();
    let components: Vec<Component> = path.components().collect();
    let (there, rest) = components.split_at(components.len().saturating_sub(missing));
    let there: PathBuf = there.iter().collect();
    let there = fs::canonicalize(&there).unwrap_or(there);
    (rest.iter().fold(there, |path, part| path.join(part)), Kind::Nothing)
}

fn kind(found: &Metadata) -> Kind {
    match (found.is_file(), found.is_dir()) {
        (true, _) => Kind::File,
        (_, true) => Kind::Folder,
        _ if is_stream(found) => Kind::Stream,
        _ => Kind::Other,
    }
}

#[cfg(unix)]
fn is_stream(found: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    found.file_type().is_fifo() || found.file_type().is_char_device()
}

#[cfg(not(unix))]
fn is_stream(_: &Metadata) -> bool {
    false
}

/// The path of a location of the store of this machine's files.
pub(super) fn path_of(location: &Location) -> Option<PathBuf> {
    LocalFileSystem::new().path_to_filesystem(location).ok()
}

/// Whether both paths lead to one file, which need not be there.
pub(super) fn is_same_file(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if let (Ok(one), Ok(other)) = (fs::metadata(one), fs::metadata(other)) {
            return (one.dev(), one.ino()) == (other.dev(), other.ino());
        }
    }
    resolve(one).0 == resolve(other).0
}

/// All files below `folder` that a table would take for its own, links among them.
///
/// # Errors
/// The disk's, but a folder that is not there has no files.
pub(super) fn visible_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = vec![];
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            entries => entries.map_err(|error| at(&folder, &error))?,
        };
        for entry in entries {
            let entry = entry.map_err(|error| at(&folder, &error))?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_hidden = name.starts_with('.') || name.starts_with('_') && !name.contains('=');
            match entry.file_type().map_err(|error| at(&entry.path(), &error))?.is_dir() {
                _ if is_hidden => {}
                true => folders.push(entry.path()),
                false if is_staged(&name) => {}
                false => files.push(entry.path()),
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Whether object stores on a disk do not list the name.
fn is_staged(name: &str) -> bool {
    let number = name.split_once('#').map_or("", |(_, number)| number);
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// An error with the path.
pub(super) fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn links_lead_to_files_that_need_not_be_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(folder.path()).expect("there");
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, root.join(name)).expect("linked");
        link("missing", "one");
        link("one", "two");
        link(".", "here");
        link("loop", "loop");
        for (path, expected) in
            [("two", "missing"), ("here/two", "missing"), ("new/x", "new/x"), ("here", "")]
        {
            assert_eq!(
                resolve(&root.join(path)).0,
                root.join(expected).components().collect::<PathBuf>(),
                "{path}"
            );
        }
        assert_eq!(resolve(&root.join("loop")).1, Kind::Other);
    }
}
