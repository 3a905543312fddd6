//! From the data of a chunk to its records: chunk data comes in with its hash verified.

use arrow::array::RecordBatch;
use bytes::Bytes;
use recordfusion_core::{Limits, RecordBlock, ScanCounters};
use recordfusion_protobuf::BatchDecoder;
use recordfusion_protobuf::shredded::Unfit;

use crate::compression::Decompressor;
use crate::fault::{ChunkFault, LIMITS};
use crate::header::{ChunkHeader, ChunkKind};
use crate::simple;
use crate::transposed::columns::{Chunk, ColumnReader};
use crate::transposed::{Header, TransposedDecoder};

/// Decodes chunks one after another; keeps buffers and decompression contexts.
pub struct ChunkDecoder {
    decompressor: Decompressor,
    transposed: TransposedDecoder,
    limits: Limits,
}

impl Default for ChunkDecoder {
    fn default() -> Self {
        Self::with_limits(LIMITS)
    }
}

impl ChunkDecoder {
    /// A decoder that refuses larger chunks and records.
    pub fn with_limits(limits: Limits) -> Self {
        Self { decompressor: Decompressor::default(), transposed: TransposedDecoder::default(), limits }
    }

    /// The records of the chunk that begins at `begin`, or `None` if the chunk is of a kind without records.
    ///
    /// # Errors
    /// Any [`ChunkFault`] of the chunk's kind.
    pub fn decode(
        &mut self,
        header: &ChunkHeader,
        begin: u64,
        data: &Bytes,
    ) -> Result<Option<RecordBlock>, ChunkFault> {
        let kind = header.kind()?;
        if !matches!(kind, ChunkKind::Simple | ChunkKind::Transposed) {
            return Ok(None);
        }
        header.check_limits(&self.limits)?;
        let block = match kind {
            ChunkKind::Simple => simple::decode(header, begin, data, &mut self.decompressor)?,
            _ => self.transposed.decode(header, begin, data, &mut self.decompressor)?,
        };
        self.check_records(header, &block)?;
        Ok(Some(block))
    }

    fn check_records(&self, header: &ChunkHeader, block: &RecordBlock) -> Result<(), ChunkFault> {
        if header.decoded_data_size <= self.limits.record {
            return Ok(());
        }
        let longest = block.records().map(<[u8]>::len).max().unwrap_or(0) as u64;
        match longest > self.limits.record {
            true => Err(ChunkFault::Limit {
                what: "a record",
                claimed: longest,
                limit: self.limits.record,
                option: Limits::RECORD,
            }),
            false => Ok(()),
        }
    }

    /// Whether the transposed chunk that was decoded last has what readers ignore and no known writer leaves: bytes
    /// that belong to no field (section 3.6).
    pub fn has_leftovers(&self) -> bool {
        self.transposed.has_leftovers
    }

    /// The records of a transposed chunk as columns.
    ///
    /// # Errors
    /// [`Unfit`] if [`Self::decode`] has to take it.
    pub(crate) fn decode_columns(
        &mut self,
        chunk: Chunk<'_>,
        reader: &mut ColumnReader,
        decoder: &mut BatchDecoder,
        file: &str,
        counters: &ScanCounters,
    ) -> Result<RecordBatch, Unfit> {
        if chunk.0.decoded_data_size > self.limits.record {
            return Err(Unfit);
        }
        reader.read(chunk, decoder, file, &mut self.decompressor, counters)
    }

    /// The state machine header of a transposed chunk.
    ///
    /// # Errors
    /// Any [`ChunkFault`] of it.
    pub(crate) fn table(&mut self, data: &[u8]) -> Result<Header, ChunkFault> {
        Header::read(data, &mut self.decompressor)
    }

    /// The serialized `RecordsMetadata` of a metadata chunk.
    ///
    /// # Errors
    /// Any [`ChunkFault`] of a transposed chunk with one record.
    pub fn decode_metadata(&mut self, header: &ChunkHeader, data: &[u8]) -> Result<Bytes, ChunkFault> {
        header.kind()?;
        let header = ChunkHeader { num_records: 1, ..*header };
        let block = self.transposed.decode(&header, 0, data, &mut self.decompressor)?;
        Ok(Bytes::copy_from_slice(block.data()))
    }

    /// Bytes decompressed since the last call.
    pub fn take_decompressed_bytes(&mut self) -> u64 {
        self.decompressor.take_bytes()
    }
}
