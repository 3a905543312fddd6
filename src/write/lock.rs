//! Locks that other processes see: one at a time replaces a file, or makes a folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::sleep;

use super::staged::NewFolders;

/// How often to try again.
const STEP: Duration = Duration::from_millis(10);
/// Longest name of a lock file: file systems take 255 bytes.
const MAX_NAME: usize = 240;

/// The right to replace a file or to make a folder on this machine's disk. The file beside it that is locked is removed
/// with it; one that a killed process left is not locked, and serves the next.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    /// Unlocked when it is closed.
    _file: File,
    _folders: NewFolders,
}

impl Lock {
    /// Waits for the lock of `target`.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub(super) async fn wait(target: &Path) -> io::Result<Self> {
        loop {
            if let Some(lock) = Self::try_new(target)? {
                return Ok(lock);
            }
            sleep(STEP).await;
        }
    }

    /// The lock of `target`, if nobody has it.
    ///
    /// # Errors
    /// As of [`Self::wait`].
    pub(super) fn try_new(target: &Path) -> io::Result<Option<Self>> {
        let path = lock_path(target);
        loop {
            let folders = NewFolders::make(path.parent().unwrap_or(Path::new("/")))?;
            let file = match open(&path) {
                // Whoever had made the folder too has removed it.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                file => file?,
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {
                    log::warn!("{} cannot be locked: other writers are not kept out", target.display());
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Whoever had it may have removed it meanwhile, and another one may be locked.
            if is_at(&file, &path)? {
                return Ok(Some(Self { path, _file: file, _folders: folders }));
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // It is still locked: who waits for it finds that it is gone, and makes another.
        if cfg!(unix)
            && let Err(error) = std::fs::remove_file(&self.path)
        {
            log::debug!("cannot remove {}: {error}", self.path.display());
        }
    }
}

fn lock_path(target: &Path) -> PathBuf {
    let mut name = format!(".{}", target.file_name().unwrap_or_default().to_string_lossy());
    while name.len() > MAX_NAME {
        name.pop();
    }
    target.with_file_name(format!("{name}.lock"))
}

/// Opens the lock file; another user's can be read only.
fn open(path: &Path) -> io::Result<File> {
    loop {
        match OpenOptions::new().write(true).create_new(true).open(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made,
        }
        match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            opened => return opened,
        }
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Lock files are not removed here.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_at_a_time_has_the_lock_and_nothing_is_left() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["x", &"long".repeat(60), &"ä".repeat(120)] {
            let target = folder.path().join(name);
            let first = Lock::try_new(&target).expect("a folder").expect("nobody has it");
            assert!(Lock::try_new(&target).expect("a folder").is_none(), "{name}");
            let waiting = tokio::spawn({
                let target = target.clone();
                async move { Lock::wait(&target).await }
            });
            drop(first);
            let second = waiting.await.expect("runs").expect("free");
            assert!(Lock::try_new(&target).expect("a folder").is_none(), "{name}");
            drop(second);
            assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), usize::from(!cfg!(unix)));
        }
    }

    #[test]
    fn what_a_killed_process_left_is_no_lock() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("x");
        std::fs::write(lock_path(&target), "").expect("written");
        assert!(Lock::try_new(&target).expect("a folder").is_some());
    }
}
