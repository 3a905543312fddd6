//! A file on an object store.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{GetOptions, GetResult, GetResultPayload, ObjectMeta, ObjectStore, ObjectStoreExt};

use crate::local_file::LocalFile;
use crate::{Error, Result};

/// One file: where it is, how long it is, and what to call it in messages.
#[derive(Debug, Clone)]
pub struct RecordFile {
    /// The store that holds the file.
    pub store: Arc<dyn ObjectStore>,
    /// The file's path within the store.
    pub location: Path,
    /// Length in bytes, fixed when the scan was planned.
    pub size: u64,
    /// What tells this state of the file from others, if the store has such a thing.
    pub e_tag: Option<String>,
    /// The file's name as the user wrote it, for messages.
    pub name: String,
    /// The first bytes of this state of the file, if they were read already.
    head: Bytes,
}

impl RecordFile {
    /// A file of `size` bytes in any state.
    pub fn new(store: Arc<dyn ObjectStore>, location: Path, size: u64, name: impl Into<String>) -> Self {
        Self { store, location, size, e_tag: None, name: name.into(), head: Bytes::new() }
    }

    /// A file in the state that the store described.
    pub fn of_object(store: Arc<dyn ObjectStore>, object: ObjectMeta, name: impl Into<String>) -> Self {
        Self { e_tag: object.e_tag, ..Self::new(store, object.location, object.size, name) }
    }

    /// Keeps the first bytes of the file, so that they are not read again.
    #[must_use]
    pub fn with_head(self, head: Bytes) -> Self {
        Self { head, ..self }
    }

    /// The first bytes of the file, if they were read already; otherwise none.
    pub fn head(&self) -> &Bytes {
        &self.head
    }

    /// Reads the bytes of `range`, clipped to the end of the file. A file that has only grown is read as it was.
    ///
    /// # Errors
    /// [`Error::Store`] when the store fails; [`Error::Changed`] when the file is shorter than it was when the scan was
    /// planned, or another of the same length.
    pub async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        match self.clip(range) {
            Some(range) => match self.in_head(&range) {
                Some(bytes) => Ok(bytes),
                None => self.bytes_of(self.get(&range).await?, &range).await,
            },
            None => Ok(Bytes::new()),
        }
    }

    /// The bytes of a range that lies in what was read already.
    fn in_head(&self, range: &Range<u64>) -> Option<Bytes> {
        let bound = |at: u64| usize::try_from(at).ok().filter(|at| *at <= self.head.len());
        Some(self.head.slice(bound(range.start)?..bound(range.end)?))
    }

    /// The same, and the open file if it lies on a disk of this machine.
    pub(crate) async fn read_and_keep(&self, range: Range<u64>) -> Result<(Bytes, Option<LocalFile>)> {
        let Some(range) = self.clip(range) else { return Ok((Bytes::new(), None)) };
        if let Some(bytes) = self.in_head(&range) {
            return Ok((bytes, None));
        }
        match self.get(&range).await? {
            GetResult { payload: GetResultPayload::File(file, _), .. } => {
                let mut local = LocalFile::new(file);
                Ok((self.read_local(&mut local, range)?, Some(local)))
            }
            found => Ok((self.bytes_of(found, &range).await?, None)),
        }
    }

    /// As [`Self::read`], from the open file, and without leaving the thread.
    pub(crate) fn read_local(&self, local: &mut LocalFile, range: Range<u64>) -> Result<Bytes> {
        let Some(range) = self.clip(range) else { return Ok(Bytes::new()) };
        let read = local.read(range, self.size).map_err(|error| {
            self.store_error(object_store::Error::Generic { store: "local", source: error.into() })
        });
        read?.ok_or_else(|| self.changed())
    }

    /// The part of `range` that lies in the file, if there is one.
    fn clip(&self, range: Range<u64>) -> Option<Range<u64>> {
        let range = range.start..range.end.min(self.size);
        (range.start < range.end).then_some(range)
    }

    /// Asks for a range of the file in the state that it had.
    async fn get(&self, range: &Range<u64>) -> Result<GetResult> {
        let options = GetOptions { range: Some(range.clone().into()), ..GetOptions::default() };
        let found = match self.store.get_opts(&self.location, options).await {
            Ok(found) => found,
            Err(error) => return Err(self.read_error(error).await),
        };
        if found.meta.size < self.size || (found.meta.size == self.size && self.is_another(&found.meta)) {
            return Err(self.changed());
        }
        Ok(found)
    }

    /// Stores refuse a range behind the end of a file that has become shorter, each in its own words.
    async fn read_error(&self, error: object_store::Error) -> Error {
        match self.store.head(&self.location).await {
            Ok(now) if now.size < self.size => self.changed(),
            _ => self.store_error(error),
        }
    }

    async fn bytes_of(&self, found: GetResult, range: &Range<u64>) -> Result<Bytes> {
        let bytes = found.bytes().await.map_err(|error| self.store_error(error))?;
        if bytes.len() as u64 == range.end.saturating_sub(range.start) {
            Ok(bytes)
        } else {
            Err(self.changed())
        }
    }

    fn is_another(&self, found: &ObjectMeta) -> bool {
        self.e_tag.is_some() && found.e_tag.is_some() && self.e_tag != found.e_tag
    }

    fn changed(&self) -> Error {
        Error::Changed { file: self.name.clone() }
    }

    /// An [`Error::Corrupt`] of this file.
    pub fn corrupt(&self, offset: u64, reason: impl Into<String>) -> Error {
        Error::Corrupt { file: self.name.clone(), offset, reason: reason.into() }
    }

    /// An [`Error::Store`] of this file.
    pub fn store_error(&self, source: object_store::Error) -> Error {
        Error::Store { file: self.name.clone(), source }
    }
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;

    #[tokio::test]
    async fn a_file_that_has_become_shorter_has_changed() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let location = Path::from("x");
        store.put(&location, vec![7; 50].into()).await.expect("memory takes it");
        let file = RecordFile::new(store, location, 100, "x");
        for range in [0..10, 40..60, 50..60, 60..80, 99..200] {
            let error = file.read(range.clone()).await.expect_err("it is shorter");
            assert!(matches!(error, Error::Changed { .. }), "{range:?}: {error}");
        }
        let gone = RecordFile { location: Path::from("y"), ..file };
        let error = gone.read(0..10).await.expect_err("it is not there");
        assert!(matches!(error, Error::Store { .. }), "{error}");
    }

    #[tokio::test]
    async fn what_was_read_is_not_read_again() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let location = Path::from("x");
        store.put(&location, (0..50).collect::<Vec<u8>>().into()).await.expect("memory takes it");
        let file = RecordFile::new(store, location, 50, "x").with_head(Bytes::from_static(&[99; 10]));
        for (range, first, len) in
            [(0..10, 99, 10), (3..7, 99, 4), (0..11, 0, 11), (9..12, 9, 3), (10..60, 10, 40)]
        {
            let bytes = file.read(range.clone()).await.expect("is there");
            assert_eq!((bytes[0], bytes.len()), (first, len), "{range:?}");
            let (again, _) = file.read_and_keep(range.clone()).await.expect("is there");
            assert_eq!(again, bytes, "{range:?}");
        }
    }
}
