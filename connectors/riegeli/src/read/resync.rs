//! Where reading goes on behind damage (section 7.5), and where a range begins in a damaged file.
//!
//! Reading comes by a sequence of places. At each of them a chunk begins, or something is wrong there, and then the
//! rules of section 7.5 say what the next place is: they need headers only. A byte range owns the places in it, and
//! a place where something is wrong is the begin of a lost region. So the ranges of a file together give what one
//! pass gives, if each finds the first place in it.
//!
//! A range finds that place from the last block header before it. Whatever lies in front of an intact block header,
//! reading can leave it in three ways at most: within the chunk that it belongs to, behind that chunk, or in search
//! of the next block header. If all of them lead to the same place, that is the one; otherwise more of the blocks
//! before are looked at, up to the begin of the file.
//!
//! One thing is done differently from the reference implementation, which passes over block headers in padding, and
//! between a block header that was found and the chunk that it points to, without a look. There, an intact header
//! that belongs to another chunk is taken for what it is: otherwise a single forged number could hide any part of
//! the file, and where a range begins would depend on all that comes before.

use std::collections::BTreeMap;
use std::sync::Arc;

use recordfusion_core::{RecordFile, Result, ScanCounters, ShortReads};

use crate::fault::Fault;
use crate::header::{BlockHeader, Chunk, ChunkKind};
use crate::position::{BLOCK, BLOCK_HEADER, CHUNK_HEADER, is_chunk_boundary, remaining};

/// Block headers that are remembered.
const REMEMBERED: usize = 1024;

/// Finds places to go on at, from headers alone.
pub(crate) struct Resync {
    blocks: ShortReads,
    chunks: ShortReads,
    size: u64,
    /// Block headers by their place; none if the hash is wrong.
    known: BTreeMap<u64, Option<BlockHeader>>,
}

/// Where a chunk lies by a block header in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    begin: Option<u64>,
    end: u64,
}

impl Extent {
    fn of(block: u64, header: BlockHeader) -> Self {
        let begin = block.checked_sub(header.previous_chunk);
        Self { begin, end: block.saturating_add(header.next_chunk) }
    }
}

/// The first block boundary at or behind `position`.
fn round_up(position: u64) -> u64 {
    position.saturating_add(remaining(position))
}

impl Resync {
    /// Knows nothing yet.
    pub fn new(file: RecordFile, counters: Arc<ScanCounters>) -> Self {
        let size = file.size;
        let chunks = ShortReads::new(file.clone(), Arc::clone(&counters));
        Self { blocks: ShortReads::new(file, counters), chunks, size, known: BTreeMap::new() }
    }

    /// The chunk that begins at `begin`, or what is wrong with it before its data are looked at.
    pub async fn check(&mut self, begin: u64) -> Result<std::result::Result<Chunk, Fault>> {
        let chunk = match self.chunk(begin).await? {
            Ok(chunk) => chunk,
            Err(fault) => return Ok(Err(fault)),
        };
        if begin == 0 && chunk.header.kind() != Ok(ChunkKind::Signature) {
            return Ok(Err(Fault::NoSignature));
        }
        // A block header that interrupts the chunk header was checked with it.
        let mut block = round_up(begin.saturating_add(CHUNK_HEADER));
        while block < chunk.data_end().min(self.size.saturating_sub(BLOCK_HEADER).saturating_add(1)) {
            let check = match self.block_header(block).await? {
                None => Err(Fault::BlockHeaderHash { block }),
                Some(header) => {
                    header.check_begin(block, begin).and_then(|()| header.check_end(block, chunk.end))
                }
            };
            if let Err(fault) = check {
                return Ok(Err(fault));
            }
            block = block.saturating_add(BLOCK);
        }
        Ok(match chunk.end.checked_sub(self.size) {
            None | Some(0) => Ok(chunk),
            Some(missing) => Err(Fault::TruncatedChunk { missing }),
        })
    }

    /// Where reading goes on behind the chunk at `begin`, of which `fault` is the first fault: a place behind `begin`,
    /// at most the end of the file.
    pub async fn behind(&mut self, begin: u64, fault: &Fault) -> Result<u64> {
        let next = match *fault {
            Fault::PreviousChunk { block, next_chunk } if next_chunk <= BLOCK => {
                self.have(block.saturating_add(next_chunk)).await?
            }
            Fault::BlockHeaderHash { block }
            | Fault::PreviousChunk { block, .. }
            | Fault::NextChunk { block } => self.find(block.saturating_add(BLOCK_HEADER)).await?,
            Fault::ChunkHeaderHash | Fault::ChunkExtent { .. } | Fault::NoSignature => {
                let header_end = Chunk::header_end(begin, self.size).unwrap_or(self.size);
                self.find(header_end).await?
            }
            Fault::TruncatedHeader | Fault::TruncatedChunk { .. } => self.size,
            Fault::DataHash | Fault::Chunk(_) => match self.chunk(begin).await? {
                Ok(chunk) => self.behind_chunk(&chunk).await?,
                Err(_) => self.size,
            },
        };
        if next > begin { Ok(next) } else { self.find(begin.saturating_add(1)).await }
    }

    /// Where reading goes on behind a chunk whose block headers are right: at its end, unless block headers in its
    /// padding belong to another chunk.
    pub async fn behind_chunk(&mut self, chunk: &Chunk) -> Result<u64> {
        let extent = Extent { begin: Some(chunk.begin), end: chunk.end };
        self.pass(extent, round_up(chunk.data_end())).await
    }

    /// The first place at or behind `target` that reading from the begin of the file comes by, at most the end of
    /// the file.
    pub async fn first_at_or_behind(&mut self, target: u64) -> Result<u64> {
        let target = target.min(self.size);
        let before = target.saturating_sub(1);
        let last = before.saturating_sub(before % BLOCK);
        let mut back = 0;
        loop {
            let block = last.saturating_sub(back);
            if block == 0 {
                return self.walk(0, target).await;
            }
            if let Some(header) = self.block_header(block).await?
                && let Some(place) = self.agreed(block, header, target).await?
            {
                return Ok(place);
            }
            back = back.saturating_mul(2).max(BLOCK);
        }
    }

    /// The first place at or behind `target`, if all ways to leave the intact block header at `block` lead there.
    async fn agreed(&mut self, block: u64, header: BlockHeader, target: u64) -> Result<Option<u64>> {
        let mut place = self.find(block.saturating_add(BLOCK_HEADER)).await?;
        place = self.walk(place, target).await?;
        let extent = Extent::of(block, header);
        let behind = match header.previous_chunk {
            0 => self.have(extent.end).await?,
            _ => self.find(block).await?,
        };
        if self.walk(behind, target).await? != place {
            return Ok(None);
        }
        let within = match extent.begin {
            Some(begin) if begin == block => Some(block),
            Some(begin) => {
                self.chunk(begin).await?.ok().filter(|chunk| chunk.end == extent.end).map(|_| begin)
            }
            None => None,
        };
        match within {
            Some(begin) if self.walk(begin, target).await? != place => Ok(None),
            _ => Ok(Some(place)),
        }
    }

    /// Goes from place to place, up to the first one at or behind `target`.
    async fn walk(&mut self, place: u64, target: u64) -> Result<u64> {
        let mut place = place;
        while place < target {
            place = match self.check(place).await? {
                Ok(chunk) => self.behind_chunk(&chunk).await?,
                Err(fault) => self.behind(place, &fault).await?,
            };
        }
        Ok(place)
    }

    /// FIND of section 7.5: where the first intact block header at or behind `position` says that a chunk begins.
    async fn find(&mut self, position: u64) -> Result<u64> {
        let mut block = round_up(position);
        while block.saturating_add(BLOCK_HEADER) <= self.size {
            let header = self.block_header(block).await?;
            block = match header {
                None => block.saturating_add(BLOCK),
                Some(header) if header.previous_chunk == 0 => return Ok(block),
                Some(header) => {
                    let extent = Extent::of(block, header);
                    let next = block.saturating_add(BLOCK);
                    match self.contradiction(extent, next).await? {
                        Some(other) => other,
                        None if is_chunk_boundary(extent.end) => return Ok(extent.end.min(self.size)),
                        None => round_up(extent.end),
                    }
                }
            };
        }
        Ok(block.min(self.size))
    }

    /// HAVE of section 7.5: a chunk begins at `position`, if that is possible.
    async fn have(&mut self, position: u64) -> Result<u64> {
        match is_chunk_boundary(position) {
            true => Ok(position.min(self.size)),
            false => self.find(position).await,
        }
    }

    /// Passes over the blocks from `block` to the end of a chunk.
    async fn pass(&mut self, extent: Extent, block: u64) -> Result<u64> {
        match self.contradiction(extent, block).await? {
            Some(other) => self.find(other).await,
            None => self.have(extent.end).await,
        }
    }

    /// The first block from `block` on, and before the end of a chunk, whose header is intact and belongs to another
    /// chunk.
    async fn contradiction(&mut self, extent: Extent, block: u64) -> Result<Option<u64>> {
        let mut block = block;
        while block < extent.end && block.saturating_add(BLOCK_HEADER) <= self.size {
            let header = self.block_header(block).await?;
            if header.is_some_and(|header| Extent::of(block, header) != extent) {
                return Ok(Some(block));
            }
            block = block.saturating_add(BLOCK);
        }
        Ok(None)
    }

    /// The header at `block`, if it is there and intact.
    async fn block_header(&mut self, block: u64) -> Result<Option<BlockHeader>> {
        if block.saturating_add(BLOCK_HEADER) > self.size {
            return Ok(None);
        }
        if let Some(known) = self.known.get(&block) {
            return Ok(*known);
        }
        let bytes = self.blocks.bytes(block, block.saturating_add(BLOCK_HEADER)).await?;
        let header = BlockHeader::parse(block, &bytes).ok();
        if self.known.len() == REMEMBERED {
            self.known.pop_first();
        }
        self.known.insert(block, header);
        Ok(header)
    }

    /// The chunk whose header stands at `begin`, wherever the chunk ends.
    async fn chunk(&mut self, begin: u64) -> Result<std::result::Result<Chunk, Fault>> {
        match Chunk::header_end(begin, self.size) {
            Ok(end) => {
                let bytes = self.chunks.bytes(begin, end).await?;
                let chunk = Chunk::parse_header(begin, &bytes);
                if let Ok(chunk) = &chunk {
                    self.chunks.expect_step(chunk.end.saturating_sub(begin));
                }
                Ok(chunk)
            }
            Err(fault) => self.cut_header(begin, fault).await.map(Err),
        }
    }

    /// What is wrong with a chunk header that the file ends in: a block header in it may be whole and wrong.
    async fn cut_header(&mut self, begin: u64, fault: Fault) -> Result<Fault> {
        let block = round_up(begin);
        if block.saturating_add(BLOCK_HEADER) > self.size {
            return Ok(fault);
        }
        let check = match self.block_header(block).await? {
            None => Err(Fault::BlockHeaderHash { block }),
            Some(header) => header.check_begin(block, begin),
        };
        Ok(check.err().unwrap_or(fault))
    }
}
