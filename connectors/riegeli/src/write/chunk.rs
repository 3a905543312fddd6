//! From records to a chunk that is ready for the file.

use crate::fault::MAX_CHUNK_SIZE;
use crate::hash::hash;
use crate::header::ChunkHeader;
use crate::write::compress::Compressor;
use crate::write::error::{OptionsError, WriteError};
use crate::write::options::{Compression, WriterOptions};
use crate::write::{simple, transposed};

/// What each record counts besides its bytes, so that empty records are bounded too.
const RECORD_OVERHEAD: u64 = 8;

/// The records of a chunk that is being filled: one buffer and where each record ends in it.
///
/// A writer asks [`Self::fits`] before each record and [`Self::is_full`] behind it, and takes the records
/// for a [`ChunkEncoder`] if the one says no or the other yes.
#[derive(Debug, Clone, Default)]
pub struct ChunkRecords {
    data: Vec<u8>,
    ends: Vec<u32>,
}

impl ChunkRecords {
    /// Number of records.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of all records, one after another.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The records in order.
    pub fn records(&self) -> impl Iterator<Item = &[u8]> {
        self.places().map(|(begin, end)| self.data.get(begin as usize..end as usize).unwrap_or_default())
    }

    /// Begin and end of each record in [`Self::data`].
    pub fn places(&self) -> impl Iterator<Item = (u32, u32)> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(self.ends.iter().copied())
    }

    /// Whether a record of `len` bytes belongs to this chunk, or else begins the next (section 8.1).
    ///
    /// Chunks are never larger than [`MAX_CHUNK_SIZE`], whatever `chunk_size` says.
    pub fn fits(&self, len: usize, chunk_size: u64) -> bool {
        let size = (len as u64).saturating_add(RECORD_OVERHEAD);
        self.is_empty() || self.counted().saturating_add(size) <= chunk_size.min(MAX_CHUNK_SIZE)
    }

    /// Whether not even an empty record fits behind these (section 8.1).
    pub fn is_full(&self, chunk_size: u64) -> bool {
        !self.fits(0, chunk_size)
    }

    /// Appends a record, whether it [`Self::fits`] or not.
    ///
    /// # Errors
    /// [`WriteError::RecordTooLong`] if the chunk gets larger than [`MAX_CHUNK_SIZE`].
    pub fn push(&mut self, record: &[u8]) -> Result<(), WriteError> {
        let end = self.data.len() as u64 + record.len() as u64;
        match u32::try_from(end) {
            Ok(place) if end <= MAX_CHUNK_SIZE => {
                self.data.extend_from_slice(record);
                self.ends.push(place);
                Ok(())
            }
            _ => Err(WriteError::RecordTooLong { size: record.len() as u64, limit: MAX_CHUNK_SIZE }),
        }
    }

    /// Takes the records out and leaves none.
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// Takes all records away but keeps the memory.
    pub fn clear(&mut self) {
        self.data.clear();
        self.ends.clear();
    }

    fn counted(&self) -> u64 {
        self.data.len() as u64 + self.ends.len() as u64 * RECORD_OVERHEAD
    }
}

/// How a chunk lays out its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// One record after another (section 2.2).
    Simple,
    /// Cut into fields (section 3).
    Transposed {
        /// Bytes that are compressed together.
        bucket_size: u64,
    },
}

/// A chunk without its place in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedChunk {
    /// The header.
    pub header: ChunkHeader,
    /// The chunk data.
    pub data: Vec<u8>,
}

impl EncodedChunk {
    pub(super) fn new(chunk_type: u8, num_records: u64, decoded_data_size: u64, data: Vec<u8>) -> Self {
        let (data_size, data_hash) = (data.len() as u64, hash(&data));
        let header = ChunkHeader { data_size, data_hash, chunk_type, num_records, decoded_data_size };
        Self { header, data }
    }
}

/// Encodes chunks one after another; keeps buffers and compression contexts. Each thread has one of its own.
pub struct ChunkEncoder {
    layout: Layout,
    compressor: Compressor,
}

impl ChunkEncoder {
    /// An encoder of the chunks that `options` ask for.
    ///
    /// # Errors
    /// [`OptionsError::Value`] if an option is out of its range.
    pub fn new(options: &WriterOptions) -> Result<Self, OptionsError> {
        options.check()?;
        let layout = match options.transpose {
            true => Layout::Transposed { bucket_size: options.bucket_size() },
            false => Layout::Simple,
        };
        Self::with_layout(layout, options.compression)
    }

    /// An encoder of chunks of one layout.
    ///
    /// # Errors
    /// [`OptionsError::Value`] if level or window are out of their range.
    pub fn with_layout(layout: Layout, compression: Compression) -> Result<Self, OptionsError> {
        compression.check()?;
        Ok(Self { layout, compressor: Compressor::new(compression) })
    }

    /// Encodes `records` as one chunk.
    ///
    /// # Errors
    /// [`WriteError::Compression`]; [`WriteError::Chunk`] if the encoded chunk is larger than readers take.
    pub fn encode(&mut self, records: &ChunkRecords) -> Result<EncodedChunk, WriteError> {
        let (chunk_type, data) = match self.layout {
            Layout::Simple => (b'r', simple::encode(records, &mut self.compressor)?),
            Layout::Transposed { bucket_size } => {
                (b't', transposed::encode(records, bucket_size, &mut self.compressor)?)
            }
        };
        let chunk = EncodedChunk::new(chunk_type, records.len() as u64, records.data.len() as u64, data);
        chunk.header.kind()?;
        Ok(chunk)
    }

    /// Encodes the serialized `RecordsMetadata` as metadata chunk (section 6.1).
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn encode_metadata(&mut self, metadata: &[u8]) -> Result<EncodedChunk, WriteError> {
        self.encode_metadata_with(metadata, transposed::encode)
    }

    /// The same, but the message is kept whole.
    pub(crate) fn encode_metadata_whole(&mut self, metadata: &[u8]) -> Result<EncodedChunk, WriteError> {
        self.encode_metadata_with(metadata, transposed::encode_whole)
    }

    fn encode_metadata_with(
        &mut self,
        metadata: &[u8],
        encode: fn(&ChunkRecords, u64, &mut Compressor) -> Result<Vec<u8>, WriteError>,
    ) -> Result<EncodedChunk, WriteError> {
        let mut record = ChunkRecords::default();
        record.push(metadata)?;
        let data = encode(&record, u64::MAX, &mut self.compressor)?;
        let chunk = EncodedChunk::new(b'm', 0, metadata.len() as u64, data);
        chunk.header.kind()?;
        Ok(chunk)
    }
}
