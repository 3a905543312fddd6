//! What a writer can be told (section 6.3).

use std::ops::RangeInclusive;

use crate::compression::Codec;
use crate::write::error::OptionsError;

/// Chunk size in bytes unless given.
const DEFAULT_CHUNK_SIZE: u64 = 1 << 20;
/// Chunk size in bytes unless given, without compression.
const DEFAULT_CHUNK_SIZE_UNCOMPRESSED: u64 = 4 << 10;

/// The compression of chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// None.
    None,
    /// Brotli.
    Brotli {
        /// From 0, fast, to 11, dense.
        level: u8,
        /// Base-two logarithm of the window in bytes, 10 to 30; unless given as much as a chunk needs, at most 22.
        window_log: Option<u8>,
    },
    /// Zstandard.
    Zstd {
        /// From -131072, fast, to 22, dense; 0 stands for 3.
        level: i32,
        /// Base-two logarithm of the window in bytes, 10 to 31; from level and size unless given.
        window_log: Option<u8>,
    },
    /// Snappy.
    Snappy,
}

impl Default for Compression {
    fn default() -> Self {
        Self::BROTLI
    }
}

impl Compression {
    /// Brotli with the usual level.
    pub const BROTLI: Self = Self::Brotli { level: 6, window_log: None };
    /// Zstandard with the usual level.
    pub const ZSTD: Self = Self::Zstd { level: 3, window_log: None };

    /// That of a codec with the usual level.
    pub(crate) fn of(codec: Codec) -> Self {
        match codec {
            Codec::None => Self::None,
            Codec::Brotli => Self::BROTLI,
            Codec::Zstd => Self::ZSTD,
            Codec::Snappy => Self::Snappy,
        }
    }

    /// The same with another window, where there is one.
    pub(super) fn with_window(self, window_log: Option<u8>) -> Self {
        match self {
            Self::Brotli { level, .. } => Self::Brotli { level, window_log },
            Self::Zstd { level, .. } => Self::Zstd { level, window_log },
            Self::None | Self::Snappy => self,
        }
    }

    /// Checks level and window.
    ///
    /// # Errors
    /// [`OptionsError::Value`].
    pub fn check(self) -> Result<(), OptionsError> {
        let (key, level, levels, window_log, windows) = match self {
            Self::None | Self::Snappy => return Ok(()),
            Self::Brotli { level, window_log } => {
                ("brotli", i32::from(level), BROTLI_LEVELS, window_log, BROTLI_WINDOWS)
            }
            Self::Zstd { level, window_log } => ("zstd", level, ZSTD_LEVELS, window_log, ZSTD_WINDOWS),
        };
        if !levels.range.contains(&level) {
            return Err(OptionsError::value(key, &level.to_string(), levels.name));
        }
        match window_log {
            Some(log) if !windows.range.contains(&i32::from(log)) => {
                Err(OptionsError::value("window_log", &log.to_string(), windows.name))
            }
            _ => Ok(()),
        }
    }
}

/// The whole numbers that an option takes, and how to say so.
struct Numbers {
    range: RangeInclusive<i32>,
    name: &'static str,
}

const BROTLI_LEVELS: Numbers = Numbers { range: 0..=11, name: "a level from 0 to 11" };
const BROTLI_WINDOWS: Numbers = Numbers { range: 10..=30, name: "a number from 10 to 30 with brotli" };
const ZSTD_LEVELS: Numbers = Numbers { range: -131_072..=22, name: "a level from -131072 to 22" };
const ZSTD_WINDOWS: Numbers = Numbers { range: 10..=31, name: "a number from 10 to 31 with zstd" };

/// The options of a writer; [`str::parse`] and [`ToString`] are their text form.
///
/// ```
/// use recordfusion_riegeli::write::{Compression, WriterOptions};
///
/// let options: WriterOptions = "transpose,zstd:5,chunk_size:256K".parse()?;
/// assert_eq!(options.compression, Compression::Zstd { level: 5, window_log: None });
/// assert_eq!(options.chunk_size(), 256 << 10);
/// assert_eq!(options.to_string(), "transpose,zstd:5,chunk_size:256K");
/// # Ok::<(), recordfusion_riegeli::write::OptionsError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct WriterOptions {
    /// Whether records are cut into fields, so that fields can be read by themselves.
    pub transpose: bool,
    /// The compression of chunks.
    pub compression: Compression,
    /// Bytes of records of a chunk, at least 1; `None` for 1 MiB, or 4 KiB without compression.
    pub chunk_size: Option<u64>,
    /// Bytes that are compressed together in transposed chunks, as a fraction of the chunk size, 0 to 1.
    pub bucket_fraction: f64,
    /// Where the first chunk appended to a file begins: a multiple of so many bytes, from 1 to 1 TiB.
    pub initial_padding: u64,
    /// What the file is padded to when records are flushed: a multiple of so many bytes, from 1 to 1 TiB.
    pub final_padding: u64,
    /// Chunks that are encoded at the same time besides the one being filled.
    pub parallelism: u32,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            transpose: false,
            compression: Compression::default(),
            chunk_size: None,
            bucket_fraction: 1.0,
            initial_padding: 1,
            final_padding: 1,
            parallelism: 0,
        }
    }
}

impl WriterOptions {
    /// Bytes of records of a chunk, each counted with 8 bytes more.
    pub fn chunk_size(&self) -> u64 {
        self.chunk_size.unwrap_or(match self.compression {
            Compression::None => DEFAULT_CHUNK_SIZE_UNCOMPRESSED,
            _ => DEFAULT_CHUNK_SIZE,
        })
    }

    /// Bytes that are compressed together in transposed chunks; unlimited without compression.
    pub fn bucket_size(&self) -> u64 {
        match self.compression {
            Compression::None => u64::MAX,
            _ => ((self.chunk_size() as f64 * self.bucket_fraction).round() as u64).max(1),
        }
    }

    /// Checks that every option lies in its range.
    ///
    /// # Errors
    /// [`OptionsError::Value`].
    pub fn check(&self) -> Result<(), OptionsError> {
        self.compression.check()?;
        if !(0.0..=1.0).contains(&self.bucket_fraction) {
            return Err(OptionsError::value("bucket_fraction", &self.bucket_fraction.to_string(), FRACTION));
        }
        let sizes = [
            ("chunk_size", self.chunk_size()),
            ("initial_padding", self.initial_padding),
            ("final_padding", self.final_padding),
        ];
        if let Some((key, _)) = sizes.into_iter().find(|&(_, size)| size == 0) {
            return Err(OptionsError::value(key, "0", SIZE));
        }
        let paddings = [("initial_padding", self.initial_padding), ("final_padding", self.final_padding)];
        match paddings.into_iter().find(|&(_, size)| size > MOST_PADDING) {
            Some((key, size)) => Err(OptionsError::value(key, &size.to_string(), PADDING)),
            None => Ok(()),
        }
    }
}

/// The largest padding: it is written, so that more is a mistake.
pub(super) const MOST_PADDING: u64 = 1 << 40;
/// What paddings are.
pub(super) const PADDING: &str = "a size from 1 to 1T, such as 64K";
/// What `bucket_fraction` takes.
pub(super) const FRACTION: &str = "a number from 0 to 1";
/// What sizes in bytes are.
pub(super) const SIZE: &str = "a size of at least 1, such as 64K or 1.5M";
