//! From chunk header to chunk header, without the data in between.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use recordfusion_core::{RecordFile, ScanCounters, ShortReads};

use super::{Damage, ReadResult, SIGNATURE_LEN, check_signature};
use crate::fault::Fault;
use crate::header::{BlockHeader, Chunk};
use crate::position::{BLOCK, BLOCK_HEADER, remaining};

/// Blocks to go back for an intact block header.
const BLOCKS_BACK: u64 = 16;

/// Reads the headers of the chunks that begin in a range.
pub(crate) struct HeaderWalk {
    file: RecordFile,
    counters: Arc<ScanCounters>,
    headers: ShortReads,
    position: u64,
    end: u64,
}

impl HeaderWalk {
    /// Stands at the first chunk that begins in `range`, or behind the range if there is none. Finding it
    /// takes one block header, and the chunk headers between the begin of the block and that of the range.
    pub async fn start(file: RecordFile, range: Range<u64>, counters: Arc<ScanCounters>) -> ReadResult<Self> {
        let end = range.end.min(file.size);
        let headers = ShortReads::new(file.clone(), Arc::clone(&counters)).until(end);
        let mut walk = Self { file, counters, headers, position: range.start, end };
        if range.start >= end {
            return Ok(walk);
        }
        if range.start == 0 {
            let prefix = walk.bytes(0, SIGNATURE_LEN.min(walk.file.size)).await?;
            check_signature(&walk.file, &prefix)?;
        } else {
            walk.seek_first(range.start).await?;
        }
        Ok(walk)
    }

    /// Offset of the next chunk.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The next chunk that begins in the range.
    pub async fn next(&mut self) -> ReadResult<Option<Chunk>> {
        if self.position >= self.end {
            return Ok(None);
        }
        self.read_chunk().await.map(Some)
    }

    /// The first byte of the data of the chunk just read, if it has data.
    pub async fn first_data_byte(&mut self, chunk: &Chunk) -> ReadResult<Option<u8>> {
        if chunk.header.data_size == 0 {
            return Ok(None);
        }
        let size = self.file.size;
        let mut begin = Chunk::header_end(chunk.begin, size).map_err(Damage::at(chunk.begin))?;
        if remaining(begin) == 0 {
            begin = begin.saturating_add(BLOCK_HEADER);
        }
        Ok(self.bytes(begin, begin.saturating_add(1)).await?.first().copied())
    }

    /// Goes to the first chunk that begins at or behind `target`. Where a block header is damaged, which may
    /// be in padding that nobody reads, one of the blocks before shows the way.
    async fn seek_first(&mut self, target: u64) -> ReadResult<()> {
        let target_block = target.saturating_sub(target % BLOCK);
        let mut block = target_block;
        self.position = loop {
            if block == 0 {
                break 0;
            }
            if let Some(chunk) = self.first_chunk_of(block).await? {
                break chunk;
            }
            if target_block.saturating_sub(block) == BLOCKS_BACK * BLOCK {
                return Err(Damage::at(target_block)(Fault::BlockHeaderHash { block: target_block }));
            }
            block = block.saturating_sub(BLOCK);
        };
        while self.position < target.min(self.file.size) {
            self.read_chunk().await?;
            self.counters.chunks_skipped_by_range.add(1);
        }
        Ok(())
    }

    /// The first chunk at or behind a block boundary, or `None` if the block header is damaged or cut off.
    async fn first_chunk_of(&mut self, block: u64) -> ReadResult<Option<u64>> {
        let bytes = self.file.read(block..block.saturating_add(BLOCK_HEADER)).await?;
        self.counters.bytes_scanned.add(bytes.len() as u64);
        Ok(BlockHeader::parse(block, &bytes).ok().and_then(|header| header.first_chunk(block)))
    }

    async fn read_chunk(&mut self) -> ReadResult<Chunk> {
        let (begin, size) = (self.position, self.file.size);
        let header_end = Chunk::header_end(begin, size).map_err(Damage::at(begin))?;
        let bytes = self.bytes(begin, header_end).await?;
        let chunk = Chunk::parse(begin, &bytes, size).map_err(Damage::at(begin))?;
        self.headers.expect_step(chunk.end.saturating_sub(begin));
        self.position = chunk.end;
        Ok(chunk)
    }

    async fn bytes(&mut self, begin: u64, end: u64) -> ReadResult<Bytes> {
        Ok(self.headers.bytes(begin, end).await?)
    }
}
