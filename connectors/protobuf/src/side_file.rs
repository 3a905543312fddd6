//! Files that options name: descriptor sets and .proto sources.

use std::fs::File;
use std::io::{Error, Read, Result};
use std::path::Path;

/// The largest that are read, in bytes. A device may have no end.
pub(crate) const MOST: u64 = 64 << 20;

/// The bytes of a file.
///
/// # Errors
/// Those of reading; more than [`MOST`] bytes.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path)?.take(MOST.saturating_add(1)).read_to_end(&mut bytes)?;
    if read as u64 > MOST { Err(too_large()) } else { Ok(bytes) }
}

/// What is wrong with a file of more than [`MOST`] bytes.
pub(crate) fn too_large() -> Error {
    Error::other(format!("it has more than {} MiB", MOST >> 20))
}
