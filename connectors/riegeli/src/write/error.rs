//! What can go wrong when writing.

use crate::fault::ChunkFault;

/// Options that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// There is no such option.
    #[error("unknown option '{key}'; {hint}")]
    Unknown {
        /// What was given.
        key: String,
        /// The nearest names, or all.
        hint: String,
    },
    /// An option is given twice.
    #[error("option '{0}' is given twice")]
    Twice(&'static str),
    /// The value of an option is none that it takes.
    #[error("option '{key}': '{value}' is not {expected}")]
    Value {
        /// The option.
        key: &'static str,
        /// What was given.
        value: String,
        /// What it takes.
        expected: &'static str,
    },
    /// Two options exclude each other.
    #[error("options '{0}' and '{1}' exclude each other")]
    Conflict(&'static str, &'static str),
    /// An option comes too late.
    #[error("option '{key}' must come before {other}")]
    Order {
        /// The option.
        key: &'static str,
        /// What it must come before.
        other: &'static str,
    },
}

impl OptionsError {
    pub(super) fn value(key: &'static str, value: &str, expected: &'static str) -> Self {
        Self::Value { key, value: value.to_string(), expected }
    }
}

/// Records that cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// A record is longer than a chunk can be.
    #[error("a record of {size} bytes is longer than the possible {limit}")]
    RecordTooLong {
        /// Bytes of the record.
        size: u64,
        /// The most that is possible.
        limit: u64,
    },
    /// The encoded chunk is one that readers refuse.
    #[error("the encoded chunk cannot be read again: {0}")]
    Chunk(#[from] ChunkFault),
    /// Compression failed.
    #[error("{codec} cannot compress a chunk: {reason}")]
    Compression {
        /// The algorithm.
        codec: &'static str,
        /// What the algorithm says.
        reason: String,
    },
    /// The file would be longer than positions can tell.
    #[error("the file gets too long")]
    FileTooLong,
    /// The options cannot be used.
    #[error(transparent)]
    Options(#[from] OptionsError),
}
