//! How much of a file is held in memory at a time.

use std::ops::RangeInclusive;

use crate::{Options, Result};

/// The largest chunks and records that are read. None is a property of a format; what is larger is refused before
/// memory is taken for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the data of a chunk as it is stored: the option `max_chunk_size`.
    pub chunk: u64,
    /// Bytes of a chunk after decompression: the option `max_decoded_chunk_size`.
    pub decoded_chunk: u64,
    /// Bytes of a record: the option `max_record_size`.
    pub record: u64,
}

impl Limits {
    /// The option for [`Self::chunk`].
    pub const CHUNK: &'static str = "max_chunk_size";
    /// The option for [`Self::decoded_chunk`].
    pub const DECODED_CHUNK: &'static str = "max_decoded_chunk_size";
    /// The option for [`Self::record`].
    pub const RECORD: &'static str = "max_record_size";

    /// Limits of the same number of bytes each.
    pub const fn same(bytes: u64) -> Self {
        Self { chunk: bytes, decoded_chunk: bytes, record: bytes }
    }

    /// Reads the options; those that are not given are as in `default`. Other names are not looked at.
    ///
    /// # Errors
    /// [`crate::Error::Option`] for what is no number of bytes, and for one outside of `range`.
    pub fn from_options(options: &Options, default: Self, range: RangeInclusive<u64>) -> Result<Self> {
        let given = |name| options.size(name, range.clone());
        Ok(Self {
            chunk: given(Self::CHUNK)?.unwrap_or(default.chunk),
            decoded_chunk: given(Self::DECODED_CHUNK)?.unwrap_or(default.decoded_chunk),
            record: given(Self::RECORD)?.unwrap_or(default.record),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_has_its_option() {
        let default = Limits::same(100);
        let read = |name: &str, text: &str| {
            Limits::from_options(&Options::new().with(name, text), default, 4..=1 << 20)
        };
        assert_eq!(read("other", "x").expect("not looked at"), default);
        assert_eq!(read("max_chunk_size", "1K").expect("a size").chunk, 1024);
        assert_eq!(read("max_decoded_chunk_size", "5").expect("a size").decoded_chunk, 5);
        assert_eq!(read("max_record_size", "1M").expect("a size"), Limits { record: 1 << 20, ..default });
        assert_eq!(
            read("max_record_size", "3").unwrap_err().to_string(),
            "option 'max_record_size': '3' is not a number of bytes from 4 to 1048576, such as 64K or 1M"
        );
    }
}
