//! The options of reading.

use recordfusion_core::{Limits, OnCorruption, OnTruncated, OptionInfo, Options, Result, Split};
use recordfusion_records::ContainerOptions;

use crate::fault::LIMITS;

/// The options of reading.
pub(crate) const OPTIONS: &[OptionInfo] = &[
    OnCorruption::OPTION,
    OnTruncated::OPTION,
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

/// How files are read.
#[derive(Debug, Clone, Copy)]
pub struct ReadOptions {
    /// What becomes of damage, and how large things may be.
    pub container: ContainerOptions,
    /// How files are read in parts.
    pub split: Split,
    /// Whether rows are counted by headers.
    pub trust_headers: bool,
}

impl ReadOptions {
    /// Reads the options; other names are not looked at.
    ///
    /// # Errors
    /// A value that its option cannot have.
    pub(crate) fn from_options(options: &Options) -> Result<Self> {
        Ok(Self {
            container: ContainerOptions::from_options(options, LIMITS, 4..=u32::MAX.into())?,
            split: Split::from_options(options)?,
            trust_headers: options
                .choose("trust_headers", &[("true", true), ("false", false)])?
                .unwrap_or(true),
        })
    }
}
