//! A file on an object store.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

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
    /// The file's name as the user wrote it, for messages.
    pub name: String,
}

impl RecordFile {
    /// Reads the bytes of `range`, clipped to the end of the file.
    ///
    /// # Errors
    /// [`Error::Store`] when the store fails; [`Error::Corrupt`] when the file has become shorter
    /// than it was when the scan was planned.
    pub async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let range = range.start..range.end.min(self.size);
        if range.start >= range.end {
            return Ok(Bytes::new());
        }
        let wanted = range.end - range.start;
        let start = range.start;
        let bytes =
            self.store.get_range(&self.location, range).await.map_err(|source| self.store_error(source))?;
        if bytes.len() as u64 == wanted {
            Ok(bytes)
        } else {
            Err(self.corrupt(start + bytes.len() as u64, "the file has become shorter while it was read"))
        }
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
