//! Chunks and records of a file on an object store.
//!
//! [`HeaderWalk`] reads headers only: it finds the first chunk of a byte range (section 7.4) and counts records.
//! [`ChunkReader`] reads whole chunks of a range ahead, and [`BlockReader`] decodes them.
//! [`index`] finds the end of the records of an ArrayRecord file.
//!
//! A fault stops them with a [`Damage`]. Its place and its kind, together with the chunk being read, are what
//! section 7.5 needs to go on behind it.

mod blocks;
mod chunks;
pub(crate) mod index;
mod walk;

pub(crate) use blocks::{BlockReader, ChunkData, Large};
pub(crate) use chunks::{ChunkReader, read_metadata};
pub(crate) use walk::HeaderWalk;

use recordfusion_core::{Error, RecordFile, Result};

use crate::fault::Fault;
use crate::header::SIGNATURE;

/// Bytes that show whether a file has the signature.
pub(crate) const SIGNATURE_LEN: u64 = SIGNATURE.len() as u64;

/// Damage of a file.
#[derive(Debug)]
pub(crate) struct Damage {
    /// Offset of the damaged chunk.
    pub begin: u64,
    /// What is wrong with it.
    pub fault: Fault,
}

impl Damage {
    /// The fault of the chunk that begins at `begin`, for `map_err`.
    pub fn at<F: Into<Fault>>(begin: u64) -> impl Fn(F) -> ReadError {
        move |fault| ReadError::Damage(Damage { begin, fault: fault.into() })
    }
}

/// Why reading stopped.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The file is damaged.
    Damage(Damage),
    /// The store failed, or the file is of another format.
    Other(Error),
}

pub(crate) type ReadResult<T> = std::result::Result<T, ReadError>;

impl From<Error> for ReadError {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl ReadError {
    /// The error to show, for `map_err`.
    pub fn of(file: &RecordFile) -> impl Fn(Self) -> Error {
        |error| match error {
            Self::Damage(damage) => file.corrupt(damage.begin, damage.fault.to_string()),
            Self::Other(error) => error,
        }
    }
}

/// Checks the first bytes of a file that is not empty.
fn check_signature(file: &RecordFile, prefix: &[u8]) -> Result<()> {
    if prefix == SIGNATURE {
        return Ok(());
    }
    let same = prefix.iter().zip(&SIGNATURE).take_while(|(found, expected)| found == expected).count();
    let reason = if same == prefix.len() {
        format!("it has only {same} bytes, fewer than the signature")
    } else if same >= 8 {
        format!("its signature is damaged at byte {same}")
    } else {
        let begin = prefix.get(..16).unwrap_or(prefix);
        format!("it begins with \"{}\" instead of the signature", begin.escape_ascii())
    };
    Err(Error::WrongFormat { file: file.name.clone(), format: "Riegeli", reason })
}
