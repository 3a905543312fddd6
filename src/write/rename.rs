//! How staged files on this machine's disk become visible: by renames, which are undone if one of them fails.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::local::{at, visible_files};
use super::new_id;
use super::staged::{STAGED, StagedFile, StagedFolder};

/// Makes staged files visible: those of a new folder by one rename, others one after another. If `only` is a folder, its
/// other files are removed. On an error all is as it was, as far as the disk allows it.
///
/// # Errors
/// The disk's, with the path.
pub(super) fn publish(
    files: &[&StagedFile],
    folder: Option<&StagedFolder>,
    only: Option<&Path>,
) -> io::Result<()> {
    match folder {
        Some(folder) if folder.is_whole => {
            let (within, beside): (Vec<_>, Vec<_>) =
                files.iter().copied().partition(|file| file.folder.is_some());
            publish_folder(folder, &within)?;
            // There were no other files.
            publish_files(&beside, Steps::default(), None).inspect_err(|_| {
                if let Err(error) = fs::rename(&folder.target, &folder.staged) {
                    log::warn!("cannot take {} away: {error}", folder.target.display());
                }
            })
        }
        folder => {
            let keep = match (folder, files) {
                (Some(folder), _) => Some(folder.staged.join("replaced")),
                (None, [first, _, ..]) => Some(first.target.with_file_name(format!("{STAGED}{}", new_id()))),
                (None, _) => None,
            };
            publish_files(files, Steps { keep, ..Steps::default() }, only)
        }
    }
}

fn publish_folder(folder: &StagedFolder, files: &[&StagedFile]) -> io::Result<()> {
    let mut folders = vec![folder.staged.clone()];
    for file in files {
        if let Some(name) = file.final_name(folder) {
            fs::rename(&file.staged, &name).map_err(|error| at(&file.target, &error))?;
            let between = name.ancestors().skip(1).take_while(|path| *path != folder.staged);
            folders.extend(between.map(Path::to_path_buf));
        }
    }
    sync_folders(folders);
    if folder.target.exists() {
        keep_attributes(&folder.staged, &folder.target);
        #[cfg(not(unix))]
        fs::remove_dir(&folder.target).map_err(|error| at(&folder.target, &error))?;
    }
    fs::rename(&folder.staged, &folder.target).map_err(|error| match error.kind() {
        ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists => {
            at(&folder.target, &io::Error::other("it is not empty any more: another program wrote to it"))
        }
        _ => at(&folder.target, &error),
    })?;
    sync_folders(folder.target.parent().map(Path::to_path_buf));
    Ok(())
}

/// What was done, to be undone.
#[derive(Default)]
struct Steps {
    done: Vec<Step>,
    /// A folder for files whose place was taken, until all is done.
    keep: Option<PathBuf>,
}

enum Step {
    Added(PathBuf),
    /// The second path is the old file.
    Replaced(PathBuf, PathBuf),
}

impl Steps {
    /// Keeps what is at `path` under another name, if that can be.
    fn kept(&self, path: &Path) -> Option<PathBuf> {
        let kept = self.keep.as_ref()?.join(self.done.len().to_string());
        fs::create_dir_all(kept.parent()?).ok()?;
        fs::hard_link(path, &kept).ok().map(|()| kept)
    }

    fn undo(self) {
        for step in self.done.into_iter().rev() {
            let undone = match &step {
                Step::Added(path) => fs::remove_file(path),
                Step::Replaced(path, old) => fs::rename(old, path),
            };
            if let (Err(error), Step::Added(path) | Step::Replaced(path, _)) = (undone, &step) {
                log::warn!("cannot put {} back as it was: {error}", path.display());
            }
        }
    }
}

fn publish_files(files: &[&StagedFile], mut steps: Steps, only: Option<&Path>) -> io::Result<()> {
    let outcome = try_publish_files(files, &mut steps, only);
    let keep = steps.keep.take();
    let outcome = match outcome {
        Ok(folders) => {
            sync_folders(folders);
            Ok(())
        }
        Err(error) => {
            steps.undo();
            Err(error)
        }
    };
    if let Some(keep) = keep.filter(|keep| keep.exists())
        && let Err(error) = fs::remove_dir_all(&keep)
    {
        log::warn!("cannot remove {}: {error}", keep.display());
    }
    outcome
}

fn try_publish_files(
    files: &[&StagedFile],
    steps: &mut Steps,
    only: Option<&Path>,
) -> io::Result<Vec<PathBuf>> {
    let others = match only {
        Some(folder) => {
            let ours: HashSet<&Path> = files.iter().map(|file| file.target.as_path()).collect();
            let mut others = visible_files(folder)?;
            others.retain(|other| !ours.contains(other.as_path()));
            others
        }
        None => vec![],
    };
    let mut folders = vec![];
    for file in files {
        let parent = file.target.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(parent).map_err(|error| at(parent, &error))?;
        let is_there = file.target.exists();
        let kept = if is_there { steps.kept(&file.target) } else { None };
        if is_there {
            keep_attributes(&file.staged, &file.target);
        }
        fs::rename(&file.staged, &file.target).map_err(|error| at(&file.target, &error))?;
        match (is_there, kept) {
            (false, _) => steps.done.push(Step::Added(file.target.clone())),
            (true, Some(kept)) => steps.done.push(Step::Replaced(file.target.clone(), kept)),
            (true, None) => {}
        }
        folders.push(parent.to_path_buf());
    }
    for other in others {
        let kept = steps.kept(&other);
        fs::remove_file(&other).map_err(|error| at(&other, &error))?;
        if let Some(kept) = kept {
            steps.done.push(Step::Replaced(other.clone(), kept));
        }
        remove_empty_folders(other.parent(), only);
    }
    Ok(folders)
}

fn remove_empty_folders(mut folder: Option<&Path>, within: Option<&Path>) {
    while let Some(empty) = folder.filter(|folder| Some(*folder) != within) {
        if fs::remove_dir(empty).is_err() {
            break;
        }
        folder = empty.parent();
    }
}

/// Gives `new` the mode of `old`, and its owner as far as this user may.
fn keep_attributes(new: &Path, old: &Path) {
    let Ok(found) = fs::metadata(old) else { return };
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, chown};
        if chown(new, Some(found.uid()), Some(found.gid())).is_err() {
            // Only the system's administrator gives files away; a group of one's own is another matter.
            let _ = chown(new, None, Some(found.gid()));
        }
    }
    if let Err(error) = fs::set_permissions(new, found.permissions()) {
        log::warn!("{} does not get the mode of {}: {error}", new.display(), old.display());
    }
}

/// Writes the entries of folders to the disk. What they name is there already: that it would be lost with the machine's
/// power is no reason to take it away.
fn sync_folders(folders: impl IntoIterator<Item = PathBuf>) {
    let mut folders: Vec<PathBuf> = folders.into_iter().collect();
    folders.sort();
    folders.dedup();
    for folder in folders.iter().filter(|_| cfg!(unix)) {
        if let Err(error) = File::open(folder).and_then(|folder| folder.sync_all()) {
            log::debug!("cannot sync {}: {error}", folder.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn staged(target: &Path, bytes: &str) -> StagedFile {
        let (staged, mut file) = StagedFile::beside(target.to_path_buf()).expect("staged");
        io::Write::write_all(&mut file, bytes.as_bytes()).expect("written");
        staged
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder").flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name().display().to_string()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_rename_that_fails_undoes_those_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("old"), "old").expect("written");
        fs::create_dir_all(at("taken/by")).expect("made");
        let files = [staged(&at("new"), "1"), staged(&at("old"), "2"), staged(&at("taken"), "3")];
        let error = publish(&files.iter().collect::<Vec<_>>(), None, None).expect_err("a folder is there");
        assert!(error.to_string().contains("taken"), "{error}");
        drop(files);
        assert_eq!(names(folder.path()), ["old", "taken"]);
        assert_eq!(fs::read_to_string(at("old")).expect("there"), "old");
    }

    #[test]
    fn other_files_of_a_folder_are_removed_only_if_they_are_visible() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("k=1/_tmp")).expect("made");
        for name in ["x", "old", "_marker", "k=1/old", "k=1/_tmp/y", "staged#1"] {
            fs::write(at(name), "old").expect("written");
        }
        let within = Arc::new(StagedFolder::whole(folder.path().to_path_buf(), "id").expect("staged"));
        assert!(!within.is_whole);
        let files: Vec<_> = ["x", "k=2/y"]
            .iter()
            .map(|name| StagedFile::within(at(name), &within).expect("staged").0)
            .collect();
        assert_eq!(visible_files(folder.path()).expect("read"), [at("k=1/old"), at("old"), at("x")]);
        publish(&files.iter().collect::<Vec<_>>(), Some(&within), Some(folder.path())).expect("published");
        drop((files, within));
        assert_eq!(visible_files(folder.path()).expect("read"), [at("k=2/y"), at("x")]);
        assert_eq!(names(folder.path()), ["_marker", "k=1", "k=2", "staged#1", "x"]);
        assert!(fs::read(at("x")).expect("there").is_empty());
    }

    #[test]
    fn a_new_folder_is_there_as_a_whole_or_not_at_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("a/b/out");
        for is_published in [false, true] {
            let whole = Arc::new(StagedFolder::whole(target.clone(), "id").expect("staged"));
            let file = StagedFile::within(target.join("k=1/x"), &whole).expect("staged").0;
            assert!(whole.is_whole && visible_files(folder.path()).expect("read").is_empty());
            if is_published {
                publish(&[&file], Some(&whole), Some(&target)).expect("published");
            }
            drop((file, whole));
            assert_eq!(folder.path().join("a").exists(), is_published);
        }
        assert_eq!(visible_files(folder.path()).expect("read"), [target.join("k=1/x")]);
        assert_eq!(names(&folder.path().join("a/b")), ["out"]);
    }
}
