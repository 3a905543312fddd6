//! Files on this machine's disk: staged under names that no table takes for files, then renamed.
//!
//! A file is staged beside its place as `.recordfusion-ID#1`; the files of a folder in a folder of such a name: beside a
//! folder that is not there yet, which gets all of them by one rename, and inside of one that is.

use std::collections::HashSet;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use object_store::path::Path as Location;

use super::new_id;

/// What the names of staged files and folders begin with: nobody reads what begins with a dot.
const STAGED: &str = ".recordfusion-";
/// What the names of staged files end in: object stores do not list such names on a disk, and no pattern for an
/// extension matches them.
const STAGED_END: &str = "#1";
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

/// A file that nobody sees yet. It is removed if it is dropped.
#[derive(Debug)]
pub(super) struct StagedFile {
    staged: PathBuf,
    target: PathBuf,
    folder: Option<Arc<StagedFolder>>,
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
    fn final_name(&self, folder: &StagedFolder) -> Option<PathBuf> {
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
    staged: PathBuf,
    target: PathBuf,
    /// Whether one rename makes it the target, which is not there, or empty.
    is_whole: bool,
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
            fs::rename(&file.staged, &name).map_err(|error| at(&file.target, error))?;
            let between = name.ancestors().skip(1).take_while(|path| *path != folder.staged);
            folders.extend(between.map(Path::to_path_buf));
        }
    }
    sync_folders(folders);
    if folder.target.exists() {
        keep_attributes(&folder.staged, &folder.target);
        #[cfg(not(unix))]
        fs::remove_dir(&folder.target).map_err(|error| at(&folder.target, error))?;
    }
    fs::rename(&folder.staged, &folder.target).map_err(|error| match error.kind() {
        ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists => {
            at(&folder.target, io::Error::other("it is not empty any more: another program wrote to it"))
        }
        _ => at(&folder.target, error),
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
        fs::create_dir_all(parent).map_err(|error| at(parent, error))?;
        let is_there = file.target.exists();
        let kept = if is_there { steps.kept(&file.target) } else { None };
        if is_there {
            keep_attributes(&file.staged, &file.target);
        }
        fs::rename(&file.staged, &file.target).map_err(|error| at(&file.target, error))?;
        match (is_there, kept) {
            (false, _) => steps.done.push(Step::Added(file.target.clone())),
            (true, Some(kept)) => steps.done.push(Step::Replaced(file.target.clone(), kept)),
            (true, None) => {}
        }
        folders.push(parent.to_path_buf());
    }
    for other in others {
        let kept = steps.kept(&other);
        fs::remove_file(&other).map_err(|error| at(&other, error))?;
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
            entries => entries.map_err(|error| at(&folder, error))?,
        };
        for entry in entries {
            let entry = entry.map_err(|error| at(&folder, error))?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_hidden = name.starts_with('.') || name.starts_with('_') && !name.contains('=');
            match entry.file_type().map_err(|error| at(&entry.path(), error))?.is_dir() {
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

fn at(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
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
