//! Records to chunks (section 7).

use std::io::Write as _;

use crate::framing;
use crate::header::{ChunkHeader, Codec, HEADER_LEN, LENGTH_LEN, Layout};

/// Largest payload of several records before compression, in bytes: what readers accept by default. Also the
/// largest that [`WriterOptions::max_chunk_bytes`] may be.
pub const MAX_PAYLOAD: u64 = 256 << 20;

/// How records become chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriterOptions {
    /// The layout of chunk headers.
    pub layout: Layout,
    /// The compression of payloads; one that the layout has.
    pub codec: Codec,
    /// The level of gzip, 0 to 9.
    pub gzip_level: u32,
    /// A chunk is full when its records would have more bytes than this together, without their lengths and before
    /// compression.
    pub max_chunk_bytes: u64,
    /// A chunk is full with so many records.
    pub max_chunk_records: Option<u64>,
}

impl WriterOptions {
    /// The defaults of the layout's own writer, with Snappy.
    pub fn new(layout: Layout) -> Self {
        let max_chunk_records = (layout == Layout::Fluid).then_some(1000);
        Self { layout, codec: Codec::Snappy, gzip_level: 6, max_chunk_bytes: 32 << 20, max_chunk_records }
    }
}

impl Default for WriterOptions {
    /// The Go layout.
    fn default() -> Self {
        Self::new(Layout::Go)
    }
}

/// Why records do not become a chunk.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The record, or the chunk that it makes, has a size that is no 32-bit number.
    #[error("a record of {0} bytes does not fit into a chunk, which ends below 4 GiB")]
    TooLarge(u64),
    /// The layout has no such compression.
    #[error("the {} layout has no compression with {}", .0.name(), .1.name())]
    NoCodec(Layout, Codec),
    /// The compression fails.
    #[error("{0}")]
    Compression(String),
}

/// The records of a chunk that is not yet closed.
#[derive(Debug, Default)]
pub struct ChunkRecords {
    /// Each record behind its length.
    payload: Vec<u8>,
    count: u32,
}

impl ChunkRecords {
    /// Whether a record of `len` bytes goes into this chunk, and not into the next one. A first record always does.
    pub fn has_room(&self, len: usize, options: &WriterOptions) -> bool {
        let lengths = u64::from(self.count).saturating_mul(LENGTH_LEN);
        let payload = self.payload_with(len);
        self.count == 0
            || payload.saturating_sub(lengths).saturating_sub(LENGTH_LEN) <= options.max_chunk_bytes
                && payload <= MAX_PAYLOAD
                && options.max_chunk_records.is_none_or(|most| u64::from(self.count) < most)
    }

    /// Adds a record.
    ///
    /// # Errors
    /// [`WriteError::TooLarge`].
    pub fn push(&mut self, record: &[u8]) -> Result<(), WriteError> {
        let payload = self.payload_with(record.len());
        let length = match u32::try_from(record.len()) {
            Ok(length) if payload <= u64::from(u32::MAX) => length,
            _ => return Err(WriteError::TooLarge(record.len() as u64)),
        };
        self.payload.extend(length.to_le_bytes());
        self.payload.extend_from_slice(record);
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Bytes of the payload with one more record, of `len` bytes.
    fn payload_with(&self, len: usize) -> u64 {
        (self.payload.len() as u64).saturating_add(LENGTH_LEN).saturating_add(len as u64)
    }

    /// Number of records.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The records; there are none afterwards.
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// Header and payload of the chunk of these records, of which there is at least one.
    ///
    /// # Errors
    /// [`WriteError::NoCodec`], [`WriteError::Compression`], and [`WriteError::TooLarge`] if the compressed payload is
    /// larger than a chunk can be.
    pub fn encode(self, options: &WriterOptions) -> Result<([u8; HEADER_LEN], Vec<u8>), WriteError> {
        let (layout, codec) = (options.layout, options.codec);
        let payload = match (layout, codec) {
            (_, Codec::None) => self.payload,
            (Layout::Go, Codec::Snappy) => framing::encode(&self.payload).map_err(WriteError::Compression)?,
            (Layout::Fluid, Codec::Snappy) => {
                framing::encode_old(&self.payload).map_err(WriteError::Compression)?
            }
            (Layout::Elastic, Codec::Snappy) => {
                let block = snap::raw::Encoder::new().compress_vec(&self.payload);
                block.map_err(|error| WriteError::Compression(error.to_string()))?
            }
            (_, Codec::Gzip) => gzip(&self.payload, options.gzip_level)?,
        };
        let size = u32::try_from(payload.len()).map_err(|_| WriteError::TooLarge(payload.len() as u64))?;
        let checksum = layout.checksum().of(&payload);
        let header = ChunkHeader::encode(layout, codec, checksum, size, self.count);
        header.map(|header| (header, payload)).ok_or(WriteError::NoCodec(layout, codec))
    }
}

fn gzip(bytes: &[u8], level: u32) -> Result<Vec<u8>, WriteError> {
    let failed = |error: std::io::Error| WriteError::Compression(error.to_string());
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(level.min(9)));
    encoder.write_all(bytes).map_err(failed)?;
    encoder.finish().map_err(failed)
}
