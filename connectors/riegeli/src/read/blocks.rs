//! The records of a range, a block a chunk.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use bytes::Bytes;
use recordfusion_core::{RecordBlock, RecordFile, ScanCounters};

use recordfusion_protobuf::BatchDecoder;

use super::{ChunkReader, Damage, ReadResult};
use crate::decoder::ChunkDecoder;
use crate::header::{ChunkHeader, ChunkKind};
use crate::transposed::columns::ColumnReader;

/// A chunk that is not yet decoded.
pub(crate) struct ChunkData {
    pub header: ChunkHeader,
    pub begin: u64,
    pub data: Bytes,
}

/// What a chunk has for a scan.
pub(crate) enum Piece {
    /// Its records.
    Records(RecordBlock),
    /// Itself, to be decoded to columns.
    Transposed(ChunkData),
}

/// Which transposed chunks are handed out as they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Large {
    /// Those of at least as many records.
    pub rows: usize,
    /// Those of at least as many bytes of records.
    pub bytes: usize,
}

impl Large {
    fn includes(self, kind: ChunkKind, header: &ChunkHeader) -> bool {
        let size = header.num_records >= self.rows as u64 || header.decoded_data_size >= self.bytes as u64;
        kind == ChunkKind::Transposed && size && header.num_records > 0
    }
}

/// Decodes the record chunks that begin in a range.
pub(crate) struct BlockReader {
    file: RecordFile,
    range: Range<u64>,
    counters: Arc<ScanCounters>,
    chunks: Option<ChunkReader>,
    pub decoder: ChunkDecoder,
    large: Option<Large>,
}

impl BlockReader {
    /// Reads nothing yet.
    pub fn new(file: RecordFile, range: Range<u64>, counters: Arc<ScanCounters>) -> Self {
        Self { file, range, counters, chunks: None, decoder: ChunkDecoder::default(), large: None }
    }

    /// Hands out large transposed chunks as they are, or none.
    pub fn keep_large(&mut self, large: Option<Large>) {
        self.large = large;
    }

    /// The records of the next chunk that has some.
    pub async fn next_records(&mut self) -> ReadResult<Option<RecordBlock>> {
        while let Some(piece) = self.next().await? {
            let block = match piece {
                Piece::Records(block) => Some(block),
                Piece::Transposed(chunk) => self.decode(&chunk)?,
            };
            if let Some(block) = block.filter(|block| !block.is_empty()) {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// The next chunk that has records.
    pub async fn next(&mut self) -> ReadResult<Option<Piece>> {
        while let Some((kind, chunk)) = self.next_chunk().await? {
            if self.large.is_some_and(|large| large.includes(kind, &chunk.header)) {
                return Ok(Some(Piece::Transposed(chunk)));
            }
            if let Some(block) = self.decode(&chunk)?.filter(|block| !block.is_empty()) {
                return Ok(Some(Piece::Records(block)));
            }
        }
        Ok(None)
    }

    /// The next chunk of records.
    async fn next_chunk(&mut self) -> ReadResult<Option<(ChunkKind, ChunkData)>> {
        let chunks = match &mut self.chunks {
            Some(chunks) => chunks,
            none => {
                let counters = Arc::clone(&self.counters);
                none.insert(ChunkReader::open(self.file.clone(), self.range.clone(), counters).await?)
            }
        };
        while let Some(chunk) = chunks.next_chunk().await? {
            let kind = chunk.header.kind().map_err(Damage::at(chunk.begin))?;
            match kind {
                ChunkKind::Simple | ChunkKind::Transposed => {
                    let data = chunks.read_data(&chunk).await?;
                    self.counters.chunks_read.add(1);
                    return Ok(Some((kind, ChunkData { header: chunk.header, begin: chunk.begin, data })));
                }
                _ => chunks.check_data(&chunk).await?,
            }
        }
        Ok(None)
    }

    /// The records of a transposed chunk as columns; `None` if they have to be decoded as records.
    pub fn columns(
        &mut self,
        chunk: &ChunkData,
        reader: &mut ColumnReader,
        decoder: &mut BatchDecoder,
    ) -> Option<RecordBatch> {
        let (file, counters) = (&self.file.name, &self.counters);
        let place = (&chunk.header, chunk.begin, &chunk.data);
        let decode = || self.decoder.decode_columns(place, reader, decoder, file, counters);
        let rows = counters.decode_time.time(decode);
        counters.bytes_decompressed.add(self.decoder.take_decompressed_bytes());
        rows.ok()
    }

    /// The records of a chunk; `None` if it is of a kind without records.
    pub fn decode(&mut self, chunk: &ChunkData) -> ReadResult<Option<RecordBlock>> {
        let decode = || self.decoder.decode(&chunk.header, chunk.begin, &chunk.data);
        let block = self.counters.decompress_time.time(decode).map_err(Damage::at(chunk.begin))?;
        self.counters.bytes_decompressed.add(self.decoder.take_decompressed_bytes());
        Ok(block)
    }
}
