//! The records of a range, a block a chunk.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use recordfusion_core::{Piece, RecordBlock, RecordFile, ScanCounters};

use super::{ChunkReader, Damage, ReadResult};
use crate::decoder::ChunkDecoder;
use crate::header::{ChunkHeader, ChunkKind};

/// A chunk that is not yet decoded.
pub(crate) struct ChunkData {
    pub header: ChunkHeader,
    pub begin: u64,
    pub data: Bytes,
}

impl ChunkData {
    /// The records of the chunk; `None` if it is of a kind without records.
    pub fn decode(
        &self,
        decoder: &mut ChunkDecoder,
        counters: &ScanCounters,
    ) -> ReadResult<Option<RecordBlock>> {
        let decode = || decoder.decode(&self.header, self.begin, &self.data);
        let block = counters.decompress_time.time(decode).map_err(Damage::at(self.begin))?;
        counters.bytes_decompressed.add(decoder.take_decompressed_bytes());
        Ok(block)
    }
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
    decoder: ChunkDecoder,
    large: Option<Large>,
}

impl BlockReader {
    /// Reads nothing yet.
    pub fn new(file: RecordFile, range: Range<u64>, counters: Arc<ScanCounters>) -> Self {
        Self { file, range, counters, chunks: None, decoder: ChunkDecoder::default(), large: None }
    }

    /// Hands out large transposed chunks as they are.
    pub fn keep_large(&mut self, large: Large) {
        self.large = Some(large);
    }

    /// The records of the next chunk that has some.
    pub async fn next_records(&mut self) -> ReadResult<Option<RecordBlock>> {
        while let Some(piece) = self.next().await? {
            let block = match piece {
                Piece::Records(block) => Some(block),
                Piece::Chunk(chunk) => chunk.decode(&mut self.decoder, &self.counters)?,
            };
            if let Some(block) = block.filter(|block| !block.is_empty()) {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// The next chunk that has records.
    pub async fn next(&mut self) -> ReadResult<Option<Piece<ChunkData>>> {
        while let Some((kind, chunk)) = self.next_chunk().await? {
            if self.large.is_some_and(|large| large.includes(kind, &chunk.header)) {
                return Ok(Some(Piece::Chunk(chunk)));
            }
            if let Some(block) =
                chunk.decode(&mut self.decoder, &self.counters)?.filter(|block| !block.is_empty())
            {
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
}
