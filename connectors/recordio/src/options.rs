//! The options of reading.

use std::sync::LazyLock;

use recordfusion_core::{
    ContainerOptions, Limits, OPEN_FILES, OnCorruption, OnTruncated, OptionInfo, Options, Result, Split,
    open_files,
};
use recordfusion_protobuf::ProtobufOptions;

use crate::fault::LIMITS;

/// The options of the container.
const CONTAINER: &[OptionInfo] = &[
    OnCorruption::OPTION,
    OnTruncated::OPTION,
    OPEN_FILES,
    Split::OPTION,
    OptionInfo::new(
        "trust_headers",
        "true | false",
        "Count rows by the numbers in chunk headers, which no checksum guards, or by reading",
    ),
    OptionInfo::new(Limits::CHUNK, "SIZE", "Largest payload of a chunk as it is stored, by default 256M"),
    OptionInfo::new(
        Limits::DECODED_CHUNK,
        "SIZE",
        "Largest payload of a chunk after decompression, by default 256M",
    ),
    OptionInfo::new(Limits::RECORD, "SIZE", "Largest record, by default 256M"),
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
    /// How files are read in parts.
    pub split: Split,
    /// Whether rows are counted by headers.
    pub trust_headers: bool,
}

impl ReadOptions {
    /// Reads the options.
    ///
    /// # Errors
    /// Unknown or contradictory options; a value that its option cannot have.
    pub fn from_options(options: &Options) -> Result<Self> {
        options.reject_unknown(&OPTIONS)?;
        open_files(options)?;
        Ok(Self {
            records: ProtobufOptions::from_options(options)?,
            container: ContainerOptions::from_options(options, LIMITS, 4..=u32::MAX.into())?,
            split: Split::from_options(options)?,
            trust_headers: options
                .choose("trust_headers", &[("true", true), ("false", false)])?
                .unwrap_or(true),
        })
    }
}
