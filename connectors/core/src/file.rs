//! A file on an object store.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{GetOptions, ObjectMeta, ObjectStore};

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
}

impl RecordFile {
    /// Reads the bytes of `range`, clipped to the end of the file. A file that has only grown is read as it was.
    ///
    /// # Errors
    /// [`Error::Store`] when the store fails; [`Error::Changed`] when the file is shorter than it was when the scan was
    /// planned, or another of the same length.
    pub async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let range = range.start..range.end.min(self.size);
        let Some(wanted) = range.end.checked_sub(range.start).filter(|wanted| *wanted > 0) else {
            return Ok(Bytes::new());
        };
        let options = GetOptions { range: Some(range.into()), ..GetOptions::default() };
        let found =
            self.store.get_opts(&self.location, options).await.map_err(|error| self.store_error(error))?;
        if found.meta.size < self.size || (found.meta.size == self.size && self.is_another(&found.meta)) {
            return Err(self.changed());
        }
        let bytes = found.bytes().await.map_err(|error| self.store_error(error))?;
        if bytes.len() as u64 == wanted { Ok(bytes) } else { Err(self.changed()) }
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
