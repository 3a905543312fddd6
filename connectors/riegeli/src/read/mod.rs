//! Chunks and records of a file on an object store.
//!
//! [`HeaderWalk`] reads headers only: it finds the first chunk of a byte range (section 7.4) and counts records.
//! [`ChunkReader`] reads whole chunks of a range ahead. [`index`] finds the end of the records of an ArrayRecord file.
//!
//! A fault stops these with a [`Damage`]. [`ChunkScan`] reads chunks as the options say: it passes over damage with
//! the help of [`resync`], and takes a chunk that is not finished for the end of the file. [`BlockReader`] decodes
//! what it gives.

mod blocks;
mod chunks;
pub(crate) mod index;
mod resync;
mod scan;
mod walk;

pub(crate) use blocks::{BlockReader, Large};
pub(crate) use chunks::{ChunkReader, metadata_chunk, metadata_end, read_metadata, read_metadata_alone};
pub(crate) use scan::{ChunkData, ChunkScan, is_unfinished};
pub(crate) use walk::HeaderWalk;

use recordfusion_core::{Error, RecordFile};

use crate::fault::{ChunkFault, Fault};
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

pub(crate) type ReadResult<T> = Result<T, ReadError>;

impl From<Error> for ReadError {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl ReadError {
    /// The error to show, for `map_err`.
    pub fn of(file: &RecordFile) -> impl Fn(Self) -> Error {
        |error| match error {
            Self::Damage(Damage { begin: 0, fault: Fault::TruncatedHeader }) => {
                wrong_format(file, format!("it has only {} bytes, fewer than the signature", file.size))
            }
            Self::Damage(Damage { begin, fault: Fault::Chunk(fault @ ChunkFault::Limit { .. }) }) => {
                Error::Unsupported(format!("{}: in the chunk at byte {begin}, {fault}", file.name))
            }
            Self::Damage(damage) => file.corrupt(damage.begin, damage.fault.to_string()),
            Self::Other(error) => error,
        }
    }
}

/// Checks the first bytes of a file that is not empty.
pub(crate) fn check_signature(file: &RecordFile, prefix: &[u8]) -> ReadResult<()> {
    if prefix == SIGNATURE {
        return Ok(());
    }
    let same = prefix.iter().zip(&SIGNATURE).take_while(|(found, expected)| found == expected).count();
    let reason = if same == prefix.len() {
        return Err(Damage::at(0)(Fault::TruncatedHeader));
    } else if same >= 8 {
        format!("its signature is damaged at byte {same}")
    } else {
        let begin = prefix.get(..16).unwrap_or(prefix);
        format!("it begins with \"{}\" instead of the signature", begin.escape_ascii())
    };
    Err(ReadError::Other(wrong_format(file, reason)))
}

fn wrong_format(file: &RecordFile, reason: String) -> Error {
    Error::WrongFormat { file: file.name.clone(), format: "Riegeli", reason }
}
