//! The options of reading.

use std::sync::LazyLock;

use recordfusion_core::{
    ContainerOptions, Limits, OPEN_FILES, OnCorruption, OnTruncated, OptionInfo, Options, Result, open_files,
};
use recordfusion_protobuf::ProtobufOptions;

use crate::fault::{LIMITS, MAX_CHUNK_SIZE};

/// The options of the container.
const CONTAINER: &[OptionInfo] = &[
    OnCorruption::OPTION,
    OnTruncated::OPTION,
    OPEN_FILES,
    OptionInfo::new(
        Limits::CHUNK,
        "SIZE",
        "Largest data of a chunk as they are stored, by default and at most 1G",
    ),
    OptionInfo::new(
        Limits::DECODED_CHUNK,
        "SIZE",
        "Largest sum of the records of a chunk, by default and at most 1G",
    ),
    OptionInfo::new(Limits::RECORD, "SIZE", "Largest record, by default and at most 1G"),
];

/// The options of reading: those of the records, then those of the container.
pub(crate) static OPTIONS: LazyLock<Vec<OptionInfo>> =
    LazyLock::new(|| [ProtobufOptions::OPTIONS, CONTAINER].concat());

/// How a table is read.
#[derive(Debug, Clone)]
pub(crate) struct ReadOptions {
    /// What the records are.
    pub records: ProtobufOptions,
    /// How they are found in the file.
    pub container: ContainerOptions,
    /// Files that are opened at a time.
    pub open_files: usize,
}

impl ReadOptions {
    /// Reads the options.
    ///
    /// # Errors
    /// Unknown or contradictory options; a value that its option cannot have.
    pub fn from_options(options: &Options) -> Result<Self> {
        options.reject_unknown(&OPTIONS)?;
        Ok(Self {
            records: ProtobufOptions::from_options(options)?,
            container: ContainerOptions::from_options(options, LIMITS, 1..=MAX_CHUNK_SIZE)?,
            open_files: open_files(options)?,
        })
    }
}
