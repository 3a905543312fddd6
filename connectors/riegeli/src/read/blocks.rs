//! The records of a range, a block a chunk.

use std::ops::Range;
use std::sync::Arc;

use recordfusion_core::{RecordBlock, RecordFile, ScanCounters};
use recordfusion_records::{ContainerOptions, ScanItem};

use super::{ChunkData, ChunkScan, ReadResult};
use crate::decoder::ChunkDecoder;
use crate::header::{ChunkHeader, ChunkKind};

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
    options: ContainerOptions,
    counters: Arc<ScanCounters>,
    chunks: ChunkScan,
    decoder: ChunkDecoder,
    large: Option<Large>,
}

impl BlockReader {
    /// Reads nothing yet.
    pub fn new(
        file: RecordFile,
        range: Range<u64>,
        options: ContainerOptions,
        counters: Arc<ScanCounters>,
    ) -> Self {
        let chunks = ChunkScan::new(file.clone(), range, options, Arc::clone(&counters));
        let decoder = ChunkDecoder::with_limits(options.limits);
        Self { file, options, counters, chunks, decoder, large: None }
    }

    /// Hands out large transposed chunks as they are.
    pub fn keep_large(&mut self, large: Large) {
        self.large = Some(large);
    }

    /// The records of the next chunk that has some.
    pub async fn next_records(&mut self) -> ReadResult<Option<RecordBlock>> {
        while let Some(item) = self.next().await? {
            let block = match item {
                ScanItem::Records(block) => Some(block),
                ScanItem::Chunk(chunk) => self.decode(&chunk)?,
            };
            if block.is_some() {
                return Ok(block);
            }
        }
        Ok(None)
    }

    /// The next chunk that has records.
    pub async fn next(&mut self) -> ReadResult<Option<ScanItem<ChunkData>>> {
        while let Some(chunk) = self.chunks.next().await? {
            if !matches!(chunk.kind, ChunkKind::Simple | ChunkKind::Transposed) {
                continue;
            }
            self.counters.chunks_read.add(1);
            if self.large.is_some_and(|large| large.includes(chunk.kind, &chunk.chunk.header)) {
                return Ok(Some(ScanItem::Chunk(chunk)));
            }
            if let Some(block) = self.decode(&chunk)? {
                return Ok(Some(ScanItem::Records(block)));
            }
        }
        Ok(None)
    }

    /// The records of a chunk, if it has some.
    fn decode(&mut self, chunk: &ChunkData) -> ReadResult<Option<RecordBlock>> {
        let on_corruption = self.options.on_corruption;
        let block = chunk.records(&mut self.decoder, on_corruption, &self.file, &self.counters)?;
        Ok(block.filter(|block| !block.is_empty()))
    }
}
