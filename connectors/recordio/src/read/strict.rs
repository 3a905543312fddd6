//! The chunks of a range, up to the first fault.

use std::ops::Range;
use std::sync::Arc;

use recordfusion_core::{Limits, RangeEnd, RecordFile, Result, ScanCounters};

use super::walk::Hops;
use super::{Chunk, ChunkSource, HeaderWalk, ReadError, ReadResult, Start, check_strictly};
use crate::fault::Fault;

/// Reads the chunks that begin in a range. Every byte of the file has to belong to an intact chunk: a fault is an
/// error of at least one of the ranges that make up a file.
pub(crate) struct StrictReader {
    chunks: ChunkSource,
    end: u64,
    /// Where the next chunk has to begin.
    position: u64,
    /// How far those come who hop to the ranges behind.
    hops: Hops,
    /// A chunk that was found already.
    found: Option<Chunk>,
    /// Whether there was a chunk, so that the end of the range has to be checked.
    any: bool,
    /// Whether the first chunk was searched for, so that the range before this one has to find that it is right.
    is_searched: bool,
}

impl StrictReader {
    /// Stands at the first chunk that begins in `range`, which is `most_hops` chunks or less behind the begin of the
    /// file, or searched for.
    pub async fn open(
        file: RecordFile,
        range: Range<u64>,
        limits: Limits,
        most_hops: u64,
        counters: Arc<ScanCounters>,
    ) -> ReadResult<Self> {
        let end = range.end.min(file.size);
        let mut walk = HeaderWalk::new(file.clone(), range.start, limits, most_hops, Arc::clone(&counters));
        let start = if range.start < end { walk.seek(range.start).await? } else { Start::none(end) };
        counters.chunks_skipped_by_range.add(walk.count());
        let from = match start {
            Start::At { position, .. } => position,
            Start::Far => range.start,
        };
        let mut chunks = ChunkSource::new(file, from, end, limits, counters).bounded();
        let is_searched = start == Start::Far;
        let found = if is_searched { chunks.find(from, end).await? } else { None };
        let position = match &found {
            Some(chunk) => chunk.begin,
            None if is_searched => end,
            None => from,
        };
        Ok(Self { chunks, end, position, hops: walk.hops(), found, any: false, is_searched })
    }

    /// Whether the first chunk was searched for: what is wrong then may be that it is none.
    pub fn is_searched(&self) -> bool {
        self.is_searched
    }

    /// The next chunk that begins in the range.
    pub async fn next(&mut self) -> ReadResult<Option<Chunk>> {
        if self.position >= self.end {
            if std::mem::take(&mut self.any) && !self.hops.reach(self.end) {
                let end = RangeEnd { search: self.end, next: self.position };
                check_strictly(end, &mut self.chunks).await?;
            }
            return Ok(None);
        }
        let begin = self.position;
        let chunk = match self.found.take() {
            Some(chunk) => chunk,
            None => self.chunks.chunk_at(begin).await?.map_err(ReadError::at(begin))?,
        };
        self.position = chunk.end();
        self.any = true;
        self.hops.follow(begin, chunk.header.chunk_len());
        Ok(Some(chunk))
    }
}

/// Whether the file ends with the chunk at `begin`, in which a fault was found, so that it may still be written: no
/// intact chunk comes behind.
pub(crate) async fn is_unfinished(
    file: &RecordFile,
    begin: u64,
    fault: &Fault,
    limits: Limits,
    counters: &Arc<ScanCounters>,
) -> Result<bool> {
    if !fault.is_cut() {
        return Ok(false);
    }
    let behind = begin.saturating_add(1);
    let mut chunks = ChunkSource::new(file.clone(), behind, file.size, limits, Arc::clone(counters));
    Ok(chunks.find(behind, file.size).await?.is_none())
}
