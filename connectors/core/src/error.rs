//! The errors of all connectors, in the terms of the person who reads the file.

/// Result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes of the file contradict its format.
    #[error("{file}: damaged at byte {offset}: {reason}")]
    Corrupt {
        /// The file, as the user knows it.
        file: String,
        /// Byte offset in the file of the chunk or header that is damaged.
        offset: u64,
        /// What is wrong there.
        reason: String,
    },
    /// The file is not of the format it was read as.
    #[error("{file} is not a {format} file: {reason}")]
    WrongFormat {
        /// The file, as the user knows it.
        file: String,
        /// The format's name.
        format: &'static str,
        /// What was found instead.
        reason: String,
    },
    /// Parts of the file cannot be told to begin right, although nothing is known to be damaged.
    #[error(
        "{file}: at byte {offset}, {reason}, so that it is not certain where parts of the file begin. The file may be \
         sound: the option split = 'never' reads it in one piece, split = 'walk' in parts that are found by all of \
         its chunk headers"
    )]
    NotSplittable {
        /// The file, as the user knows it.
        file: String,
        /// Byte offset in the file where it cannot be told.
        offset: u64,
        /// What was found there.
        reason: &'static str,
    },
    /// A record of an intact file cannot be decoded.
    #[error("{file}: record at position {position}: {fault}")]
    BadRecord {
        /// The file, as the user knows it.
        file: String,
        /// Numeric record position.
        position: u64,
        /// The message, the field path and what is wrong with it.
        fault: String,
    },
    /// A value of an intact file cannot be read as its column's type.
    #[error("{file}: row group at byte {offset}, row {row}, column '{column}': {reason}")]
    BadCell {
        /// The file, as the user knows it.
        file: String,
        /// Byte offset in the file of the row group.
        offset: u64,
        /// The row, counted from 0 in the row group.
        row: u64,
        /// The column and the path inside it.
        column: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Chunks cannot be encoded or put together.
    #[error("cannot write {format}: {reason}")]
    Encode {
        /// The format's name.
        format: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A value cannot be written.
    #[error("column '{column}', row {row}: {reason}")]
    BadValue {
        /// The column and the path inside it.
        column: String,
        /// The row, counted from 0 over all that one writer was given.
        row: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// The descriptors, or those of several files together, do not make a schema.
    #[error("{0}")]
    Schema(String),
    /// An option has a value it cannot have.
    #[error("option '{name}': {reason}")]
    Option {
        /// The option's name.
        name: String,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// An option of this name does not exist.
    #[error("unknown option '{name}'; {hint}")]
    UnknownOption {
        /// The name as given.
        name: String,
        /// The nearest names, as a phrase.
        hint: String,
    },
    /// Something asked for does not exist in this format.
    #[error("{0}")]
    Unsupported(String),
    /// The object store failed.
    #[error("{file}: {source}")]
    Store {
        /// The file, as the user knows it.
        file: String,
        /// The store's own error.
        source: object_store::Error,
    },
    /// The file is not what it was when the scan was planned.
    #[error("{file} has changed while it was read")]
    Changed {
        /// The file, as the user knows it.
        file: String,
    },
    /// Arrow refused the columns.
    #[error(transparent)]
    Arrow(#[from] arrow::error::ArrowError),
}
