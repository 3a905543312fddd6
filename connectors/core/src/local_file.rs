//! A file on a disk of this machine that stays open.

use std::fs::File;
use std::io::{Read, Result, Seek, SeekFrom};
use std::ops::Range;
use std::time::SystemTime;

use bytes::Bytes;

/// An open file, for many short reads: handing one to another thread costs more than the read.
#[derive(Debug)]
pub(crate) struct LocalFile {
    file: File,
    /// When it was written last, before the first read.
    modified: Option<SystemTime>,
}

impl LocalFile {
    /// Takes a file that was just opened.
    pub fn new(file: File) -> Self {
        let modified = file.metadata().and_then(|state| state.modified()).ok();
        Self { file, modified }
    }

    /// The bytes of `range`, which lies in the first `size` bytes; `None` if the file is shorter by now, or has
    /// this size and was written to.
    ///
    /// # Errors
    /// Those of the system.
    pub fn read(&mut self, range: Range<u64>, size: u64) -> Result<Option<Bytes>> {
        let now = self.file.metadata()?;
        if now.len() < size || now.len() == size && now.modified().ok() != self.modified {
            return Ok(None);
        }
        self.file.seek(SeekFrom::Start(range.start))?;
        let mut bytes = Vec::new();
        let wanted = range.end.saturating_sub(range.start);
        (&self.file).take(wanted).read_to_end(&mut bytes)?;
        Ok((bytes.len() as u64 == wanted).then(|| bytes.into()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_or_not_at_all() {
        let path = std::env::temp_dir().join(format!("recordfusion-local-{}", std::process::id()));
        let write = |bytes: &[u8]| std::fs::write(&path, bytes).expect("a folder to write to");
        write(b"0123456789");
        let mut local = LocalFile::new(File::open(&path).expect("was written"));
        let mut read = |range, size| local.read(range, size).expect("no fault of the disk");
        assert_eq!(read(3..6, 10).as_deref(), Some(&b"345"[..]));
        assert_eq!(read(0..10, 10).as_deref(), Some(&b"0123456789"[..]));
        assert_eq!(read(5..5, 10).as_deref(), Some(&b""[..]));
        write(b"0123456789ab");
        assert_eq!(read(8..10, 10).as_deref(), Some(&b"89"[..]), "it has only grown");
        write(b"01234");
        assert_eq!(read(0..2, 10), None, "it is shorter");
        write(b"9876543210");
        let later = SystemTime::now() + Duration::from_secs(10);
        let file = File::options().write(true).open(&path).expect("was written");
        file.set_modified(later).expect("a file system with times");
        assert_eq!(read(0..2, 10), None, "it has other bytes");
        std::fs::remove_file(&path).expect("was written");
    }
}
