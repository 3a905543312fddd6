//! ArrayRecord files: chunks of equally many records, and an index of them at the end (section 9.1).

use std::fmt;
use std::str::FromStr;

use crate::array_record::MAGIC;
use crate::position::BLOCK;
use crate::write::chunk::{ChunkEncoder, ChunkRecords, EncodedChunk, Layout};
use crate::write::error::{OptionsError, WriteError};
use crate::write::file::FileWriter;
use crate::write::grammar::{Items, size};
use crate::write::options::{Compression, SIZE, WriterOptions};
use crate::write::varint::{put_bytes_field, put_varint_field};

const KEYS: [&str; 11] = [
    "group_size",
    "max_parallelism",
    "saturation_delay_ms",
    "uncompressed",
    "brotli",
    "zstd",
    "snappy",
    "transpose",
    "transpose_bucket_size",
    "window_log",
    "pad_to_block_boundary",
];

/// Base-two logarithm of Zstandard's window unless given.
const ZSTD_WINDOW_LOG: u8 = 20;
/// Version of the index.
const VERSION: u64 = 1;
/// Records of the postscript, all the same.
const POSTSCRIPT_RECORDS: usize = 3;

/// The options of an ArrayRecord writer; [`str::parse`] and [`ToString`] are their text form, which is stored
/// in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayRecordOptions {
    /// Records of a chunk, at least 1; the last chunk may have fewer.
    pub group_size: u64,
    /// Whether records are cut into fields.
    pub transpose: bool,
    /// Bytes that are compressed together in transposed chunks.
    pub transpose_bucket_size: u64,
    /// The compression of chunks.
    pub compression: Compression,
    /// Whether chunks begin at multiples of 64 KiB.
    pub pad_to_block_boundary: bool,
    /// Chunks that are encoded at the same time.
    pub max_parallelism: u32,
}

impl Default for ArrayRecordOptions {
    fn default() -> Self {
        Self {
            group_size: 1,
            transpose: false,
            transpose_bucket_size: 256,
            compression: Compression::Zstd { level: 3, window_log: Some(ZSTD_WINDOW_LOG) },
            pad_to_block_boundary: false,
            max_parallelism: 1,
        }
    }
}

impl ArrayRecordOptions {
    /// An encoder of the chunks that these options ask for.
    ///
    /// # Errors
    /// [`OptionsError::Value`] if level or window are out of their range.
    pub fn encoder(&self) -> Result<ChunkEncoder, OptionsError> {
        let bucket_size = match self.compression {
            Compression::None => u64::MAX,
            _ => self.transpose_bucket_size.max(1),
        };
        let layout = if self.transpose { Layout::Transposed { bucket_size } } else { Layout::Simple };
        ChunkEncoder::with_layout(layout, self.compression)
    }

    /// Whether `records` are as many as a chunk takes.
    pub fn is_full(&self, records: &ChunkRecords) -> bool {
        records.len() as u64 >= self.group_size
    }
}

impl FromStr for ArrayRecordOptions {
    type Err = OptionsError;

    /// Reads the text form of options. `saturation_delay_ms`, which has no effect on the file, is checked and
    /// otherwise ignored.
    fn from_str(text: &str) -> Result<Self, OptionsError> {
        let default = Self::default();
        let items = Items::parse(text, &KEYS)?;
        let whole = |value: &str| value.parse::<u32>().ok();
        items.read("saturation_delay_ms", "a whole number", whole)?;
        let group_size = items.read("group_size", "a number of at least 1", |value| {
            size(value).filter(|&records| records > 0)
        })?;
        let bucket_size =
            items.read("transpose_bucket_size", SIZE, |value| size(value).filter(|&bytes| bytes > 0))?;
        let compression = match items.compression(Compression::ZSTD)? {
            Compression::Zstd { level, window_log: None } => {
                Compression::Zstd { level, window_log: Some(ZSTD_WINDOW_LOG) }
            }
            other => other,
        };
        Ok(Self {
            group_size: group_size.unwrap_or(default.group_size),
            transpose: items.switch("transpose")?,
            transpose_bucket_size: bucket_size.unwrap_or(default.transpose_bucket_size),
            compression,
            pad_to_block_boundary: items.switch("pad_to_block_boundary")?,
            max_parallelism: items
                .read("max_parallelism", "a whole number", whole)?
                .unwrap_or(default.max_parallelism),
        })
    }
}

impl fmt::Display for ArrayRecordOptions {
    /// The form that the reference implementation stores.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group_size, transpose, pad_to_block_boundary, .. } = self;
        write!(formatter, "group_size:{group_size},transpose:{transpose}")?;
        write!(formatter, ",pad_to_block_boundary:{pad_to_block_boundary}")?;
        if *transpose {
            write!(formatter, ",transpose_bucket_size:{}", self.transpose_bucket_size)?;
        }
        write!(formatter, ",{},max_parallelism:{}", self.compression, self.max_parallelism)
    }
}

/// What the index says of a chunk.
#[derive(Debug, Clone, Copy)]
struct Entry {
    offset: u64,
    decoded_data_size: u64,
    num_records: u64,
}

/// An ArrayRecord file that is being written. As with a [`FileWriter`], each call appends to `out` what comes
/// next in the file.
///
/// It holds 24 bytes per chunk until the end.
#[derive(Debug, Clone)]
pub struct ArrayRecordWriter {
    file: FileWriter,
    options: ArrayRecordOptions,
    stored_options: Option<String>,
    entries: Vec<Entry>,
}

impl ArrayRecordWriter {
    /// Begins a new file with the signature. A metadata chunk, if any, has to be written first.
    pub fn create(options: ArrayRecordOptions, out: &mut Vec<u8>) -> Self {
        let file = FileWriter::create(&WriterOptions::default(), out);
        Self { file, stored_options: Some(options.to_string()), options, entries: Vec::new() }
    }

    /// The same, but this is the text of the options in the file, or none: that of a file which this one repairs.
    pub(crate) fn with_stored_options(self, text: Option<String>) -> Self {
        Self { stored_options: text, ..self }
    }

    /// Bytes of the file so far.
    pub fn position(&self) -> u64 {
        self.file.position()
    }

    /// Writes a chunk and returns where it begins. All but the last have as many records as the group size.
    ///
    /// # Errors
    /// [`WriteError::FileTooLong`].
    pub fn write(&mut self, chunk: &EncodedChunk, out: &mut Vec<u8>) -> Result<u64, WriteError> {
        let offset = self.file.write(chunk, out)?;
        let header = &chunk.header;
        if header.num_records > 0 {
            let (decoded_data_size, num_records) = (header.decoded_data_size, header.num_records);
            self.entries.push(Entry { offset, decoded_data_size, num_records });
            if self.options.pad_to_block_boundary {
                self.file.pad_to(BLOCK, out)?;
            }
        }
        Ok(offset)
    }

    /// Writes the index, which ends the file.
    ///
    /// # Errors
    /// [`WriteError::FileTooLong`]; any error of a [`ChunkEncoder`].
    pub fn finish(mut self, out: &mut Vec<u8>) -> Result<(), WriteError> {
        let mut footer = ChunkRecords::default();
        footer.push(&self.footer_metadata())?;
        for entry in &self.entries {
            let mut record = Vec::new();
            put_varint_field(&mut record, 1, entry.offset);
            put_varint_field(&mut record, 2, entry.decoded_data_size);
            put_varint_field(&mut record, 3, entry.num_records);
            footer.push(&record)?;
        }
        let mut encoder = ChunkEncoder::with_layout(Layout::Simple, self.options.compression)?;
        let footer_offset = self.file.write(&encoder.encode(&footer)?, out)?;
        self.file.pad_to(BLOCK, out)?;

        let mut record = Vec::new();
        put_varint_field(&mut record, 1, footer_offset);
        put_varint_field(&mut record, 2, MAGIC);
        let mut postscript = ChunkRecords::default();
        for _ in 0..POSTSCRIPT_RECORDS {
            postscript.push(&record)?;
        }
        let mut encoder = ChunkEncoder::with_layout(Layout::Simple, Compression::None)?;
        self.file.write(&encoder.encode(&postscript)?, out)?;
        self.file.pad_to(BLOCK, out)
    }

    fn footer_metadata(&self) -> Vec<u8> {
        let mut message = Vec::new();
        put_varint_field(&mut message, 1, VERSION);
        put_varint_field(&mut message, 2, self.entries.len() as u64);
        put_varint_field(&mut message, 3, self.entries.iter().map(|entry| entry.num_records).sum());
        if let Some(text) = &self.stored_options {
            put_bytes_field(&mut message, 4, text.as_bytes());
        }
        let mut record = Vec::new();
        put_bytes_field(&mut record, 1, &message);
        record
    }
}
