//! How records are found in a file, whatever they are.

use std::ops::RangeInclusive;

use recordfusion_core::{Limits, OnCorruption, OnTruncated, Options, Result};

/// What becomes of what is damaged, unfinished or too large in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContainerOptions {
    /// What becomes of damage.
    pub on_corruption: OnCorruption,
    /// What becomes of a last chunk that is not whole.
    pub on_truncated: OnTruncated,
    /// The largest chunks and records.
    pub limits: Limits,
}

impl ContainerOptions {
    /// Reads the options; limits that are not given are as in `limits`. Other names are not looked at.
    ///
    /// # Errors
    /// [`recordfusion_core::Error::Option`] for a value that its option cannot have, and for a limit outside of `range`, in bytes.
    pub fn from_options(options: &Options, limits: Limits, range: RangeInclusive<u64>) -> Result<Self> {
        Ok(Self {
            on_corruption: OnCorruption::from_options(options)?,
            on_truncated: OnTruncated::from_options(options)?,
            limits: Limits::from_options(options, limits, range)?,
        })
    }

    /// With damage passed over.
    #[must_use]
    pub fn skipping(self) -> Self {
        Self { on_corruption: OnCorruption::Skip, ..self }
    }
}
