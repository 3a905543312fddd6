//! Chunks of a file on an object store (sections 5 and 6).
//!
//! [`ChunkSource`] tests whether an intact chunk begins at some place, and searches for the next one. [`HeaderWalk`]
//! hops from header to header. Above them, [`StrictReader`] reads the chunks of a byte range and stops at the first
//! fault, and [`RecoveringReader`] passes over faults.
//!
//! A chunk belongs to the range that holds its first byte. Which chunks there are is known for certain only by
//! hopping from the begin of the file on. A range of a file of many chunks searches for its first one instead, and
//! what a range cannot know then, whether it found a chunk of the file, the range before it checks: see
//! [`range_end`].

mod range_end;
mod recover;
mod source;
mod strict;
mod walk;

pub(crate) use range_end::check_strictly;
pub(crate) use recover::RecoveringReader;
pub(crate) use source::{Chunk, ChunkSource};
pub(crate) use strict::{StrictReader, is_unfinished};
pub(crate) use walk::{HeaderWalk, Hops, Start, most_hops};

use recordfusion_core::{Error, RecordFile};

use crate::fault::Fault;

/// Name of the format in errors.
pub(crate) const FORMAT: &str = "RecordIO";

/// Why reading stopped.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// No intact chunk begins where one should.
    Damage {
        /// The place.
        begin: u64,
        /// What is wrong there.
        fault: Fault,
    },
    /// The store failed.
    Other(Error),
}

pub(crate) type ReadResult<T> = Result<T, ReadError>;

impl From<Error> for ReadError {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl ReadError {
    /// The fault of the chunk that should begin at `begin`, for `map_err`.
    pub fn at(begin: u64) -> impl Fn(Fault) -> Self {
        move |fault| Self::Damage { begin, fault }
    }

    /// The error to show, for `map_err`.
    pub fn of(file: &RecordFile) -> impl Fn(Self) -> Error {
        |error| match error {
            Self::Damage { begin: 0, fault: fault @ Fault::Magic(_) } => Error::WrongFormat {
                file: file.name.clone(),
                format: FORMAT,
                reason: format!("at byte 0 {fault} (on_corruption = 'skip' would look for chunks behind)"),
            },
            Self::Damage { begin, fault: fault @ Fault::Limit { .. } } => {
                Error::Unsupported(format!("{}: in the chunk at byte {begin}, {fault}", file.name))
            }
            Self::Damage { begin, fault } => file.corrupt(begin, fault.to_string()),
            Self::Other(error) => error,
        }
    }

    /// The same, of a range that searched for its first chunk.
    pub fn of_searched(file: &RecordFile) -> impl Fn(Self) -> Error {
        |error| match Self::of(file)(error) {
            Error::Corrupt { file, offset, reason } => Error::Corrupt {
                file,
                offset,
                reason: format!(
                    "{reason}; or the file is sound and this part of it began inside of a record that holds RecordIO \
                     bytes, which the option split = 'never', or 'walk', rules out"
                ),
            },
            error => error,
        }
    }
}
