//! The records of a range, a block a chunk.

use std::ops::Range;
use std::sync::Arc;

use recordfusion_core::{RecordBlock, RecordFile, ScanCounters};

use super::{ChunkReader, Damage, ReadResult};
use crate::decoder::ChunkDecoder;
use crate::header::ChunkKind;

/// Decodes the record chunks that begin in a range.
pub(crate) struct BlockReader {
    file: RecordFile,
    range: Range<u64>,
    counters: Arc<ScanCounters>,
    chunks: Option<ChunkReader>,
    decoder: ChunkDecoder,
}

impl BlockReader {
    /// Reads nothing yet.
    pub fn new(file: RecordFile, range: Range<u64>, counters: Arc<ScanCounters>) -> Self {
        Self { file, range, counters, chunks: None, decoder: ChunkDecoder::default() }
    }

    /// The records of the next chunk that has some.
    pub async fn next(&mut self) -> ReadResult<Option<RecordBlock>> {
        let chunks = match &mut self.chunks {
            Some(chunks) => chunks,
            none => {
                let counters = Arc::clone(&self.counters);
                none.insert(ChunkReader::open(self.file.clone(), self.range.clone(), counters).await?)
            }
        };
        while let Some(chunk) = chunks.next_chunk().await? {
            match chunk.header.kind().map_err(Damage::at(chunk.begin))? {
                ChunkKind::Simple | ChunkKind::Transposed => {}
                _ => {
                    chunks.check_data(&chunk).await?;
                    continue;
                }
            }
            let data = chunks.read_data(&chunk).await?;
            let decode = || self.decoder.decode(&chunk.header, chunk.begin, &data);
            let block = self.counters.decompress_time.time(decode).map_err(Damage::at(chunk.begin))?;
            self.counters.bytes_decompressed.add(self.decoder.take_decompressed_bytes());
            self.counters.chunks_read.add(1);
            if let Some(block) = block.filter(|block| !block.is_empty()) {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }
}
