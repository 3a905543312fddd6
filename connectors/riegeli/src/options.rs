//! The options of reading.

use recordfusion_core::{Limits, OnCorruption, OnTruncated, OptionInfo, Options, Result};
use recordfusion_records::ContainerOptions;

use crate::fault::{LIMITS, MAX_CHUNK_SIZE};

/// The options of reading.
pub(crate) const OPTIONS: &[OptionInfo] = &[
    OnCorruption::OPTION,
    OnTruncated::OPTION,
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

/// Reads them; other names are not looked at.
///
/// # Errors
/// A value that its option cannot have.
pub(crate) fn container_options(options: &Options) -> Result<ContainerOptions> {
    ContainerOptions::from_options(options, LIMITS, 1..=MAX_CHUNK_SIZE)
}
