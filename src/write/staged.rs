//! Files on this machine's disk that nobody sees yet, under names that no table takes for files.
//!
//! A file is staged beside its place as `.recordfusion-ID#1`; the files of a folder in a folder of such a name: beside a
//! folder that is not there yet, which gets all of them by one rename, and inside of one that is.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::new_id;

/// What the names of staged files and folders begin with: nobody reads what begins with a dot.
pub(super) const STAGED: &str = ".recordfusion-";
/// What the names of staged files end in: object stores do not list such names on a disk, and no pattern for an
/// extension matches them.
const STAGED_END: &str = "#1";
/// A file that nobody sees yet. It is removed if it is dropped.
#[derive(Debug)]
pub(super) struct StagedFile {
    pub(super) staged: PathBuf,
    pub(super) target: PathBuf,
    pub(super) folder: Option<Arc<StagedFolder>>,
    _parents: NewFolders,
}

impl StagedFile {
    /// A file that will be `target`.
    ///
    /// # Errors
    /// There can be no such file.
    pub(super) fn beside(target: PathBuf) -> io::Result<(Self, File)> {
        let parents = NewFolders::make(target.parent().unwrap_or(Path::new("/")))?;
        let staged = target.with_file_name(format!("{STAGED}{}{STAGED_END}", new_id()));
        let file = create(&staged, target.exists())?;
        Ok((Self { staged, target, folder: None, _parents: parents }, file))
    }

    /// A file of a folder.
    ///
    /// # Errors
    /// There can be no such file; `target` lies in another folder.
    pub(super) fn within(target: PathBuf, folder: &Arc<StagedFolder>) -> io::Result<(Self, File)> {
        let below = target.strip_prefix(&folder.target).map_err(io::Error::other)?;
        let place = folder.staged.join(below);
        let mut name = place.file_name().unwrap_or_default().to_os_string();
        name.push(STAGED_END);
        let staged = place.with_file_name(name);
        fs::create_dir_all(staged.parent().unwrap_or(&folder.staged))?;
        let file = create(&staged, target.exists())?;
        let folder = Some(Arc::clone(folder));
        Ok((Self { staged, target, folder, _parents: NewFolders::default() }, file))
    }

    /// Its name in a staged folder that becomes visible as a whole.
    pub(super) fn final_name(&self, folder: &StagedFolder) -> Option<PathBuf> {
        self.target.strip_prefix(&folder.target).ok().map(|below| folder.staged.join(below))
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        match fs::remove_file(&self.staged) {
            // It is where it should be.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => log::warn!("cannot remove the unfinished {}: {error}", self.staged.display()),
            Ok(()) => {}
        }
    }
}

/// A new file; others may not read it yet if it takes the place of one, whose mode it gets.
fn create(path: &Path, replaces: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if replaces {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let _ = replaces;
    options.open(path)
}

/// A folder whose files nobody sees yet. It is removed if it is dropped.
#[derive(Debug)]
pub(super) struct StagedFolder {
    pub(super) staged: PathBuf,
    pub(super) target: PathBuf,
    /// Whether one rename makes it the target, which is not there, or empty.
    pub(super) is_whole: bool,
    _parents: NewFolders,
}

impl StagedFolder {
    /// A folder for files of `target`, which get their places one by one.
    ///
    /// # Errors
    /// There can be no such folder.
    pub(super) fn inside(target: PathBuf, id: &str) -> io::Result<Self> {
        let parents = NewFolders::make(&target)?;
        let staged = target.join(format!("{STAGED}{id}"));
        fs::create_dir(&staged)?;
        Ok(Self { staged, target, is_whole: false, _parents: parents })
    }

    /// A folder that becomes `target` as a whole, if that is not there or empty.
    ///
    /// # Errors
    /// As of [`Self::inside`].
    pub(super) fn whole(target: PathBuf, id: &str) -> io::Result<Self> {
        if !can_be_replaced(&target)? {
            return Self::inside(target, id);
        }
        let parents = NewFolders::make(target.parent().unwrap_or(Path::new("/")))?;
        let staged = target.with_file_name(format!("{STAGED}{id}"));
        match fs::create_dir(&staged) {
            Err(_) if target.exists() => Self::inside(target, id),
            Err(error) => Err(error),
            Ok(()) => Ok(Self { staged, target, is_whole: true, _parents: parents }),
        }
    }
}

impl Drop for StagedFolder {
    fn drop(&mut self) {
        match fs::remove_dir_all(&self.staged) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => log::warn!("cannot remove the unfinished {}: {error}", self.staged.display()),
            Ok(()) => {}
        }
    }
}

/// Whether a renamed folder can be the target: it is not there, or empty and on the disk of the folder around it.
fn can_be_replaced(target: &Path) -> io::Result<bool> {
    match fs::read_dir(target) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
        Ok(mut entries) => Ok(entries.next().is_none() && !is_mounted(target)?),
    }
}

#[cfg(unix)]
fn is_mounted(folder: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    match folder.parent() {
        Some(parent) => Ok(fs::metadata(folder)?.dev() != fs::metadata(parent)?.dev()),
        None => Ok(true),
    }
}

#[cfg(not(unix))]
fn is_mounted(folder: &Path) -> io::Result<bool> {
    Ok(folder.parent().is_none())
}

/// Folders that were made for what is staged. Those that are still empty are removed when this is dropped.
#[derive(Debug, Default)]
pub(super) struct NewFolders(Vec<PathBuf>);

impl NewFolders {
    /// Makes `folder` and those around it.
    ///
    /// # Errors
    /// The disk's.
    pub(super) fn make(folder: &Path) -> io::Result<Self> {
        let missing = folder.ancestors().take_while(|path| !path.exists());
        let made = Self(missing.map(Path::to_path_buf).collect());
        fs::create_dir_all(folder)?;
        Ok(made)
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        for folder in &self.0 {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
}
