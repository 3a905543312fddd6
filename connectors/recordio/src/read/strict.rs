//! The chunks of a range, up to the first fault.

use std::ops::Range;
use std::sync::Arc;

use recordfusion_core::{Limits, RecordFile, Result, ScanCounters};

use super::walk::{MOST_HOPS, is_many};
use super::{Chunk, ChunkSource, HeaderWalk, ReadError, ReadResult, Seam, Start};
use crate::fault::Fault;

/// Reads the chunks that begin in a range. Every byte of the file has to belong to an intact chunk: a fault is an
/// error of at least one of the ranges that make up a file.
pub(crate) struct StrictReader {
    chunks: ChunkSource,
    end: u64,
    /// Where the next chunk has to begin.
    position: u64,
    /// How many chunks stand before it, if ranges behind can hop to it.
    index: Option<u64>,
    /// A chunk that was found already.
    found: Option<Chunk>,
    /// The seam behind the last chunk, if it has to be checked.
    seam: Option<Seam>,
}

impl StrictReader {
    /// Stands at the first chunk that begins in `range`.
    pub async fn open(
        file: RecordFile,
        range: Range<u64>,
        limits: Limits,
        counters: Arc<ScanCounters>,
    ) -> ReadResult<Self> {
        let end = range.end.min(file.size);
        let mut walk = HeaderWalk::new(file.clone(), limits, Arc::clone(&counters));
        let start = if range.start < end { walk.seek(range.start).await? } else { Start::none(end) };
        counters.chunks_skipped_by_range.add(walk.hops());
        match start {
            Start::At { position, .. } => {
                let chunks = ChunkSource::new(file, position, end, limits, counters);
                Ok(Self { chunks, end, position, index: walk.index(), found: None, seam: None })
            }
            Start::Far => {
                let mut chunks = ChunkSource::new(file, range.start, end, limits, counters);
                let found = chunks.find(range.start, end).await?;
                let position = found.as_ref().map_or(end, |chunk| chunk.begin);
                Ok(Self { chunks, end, position, index: None, found, seam: None })
            }
        }
    }

    /// The next chunk that begins in the range.
    pub async fn next(&mut self) -> ReadResult<Option<Chunk>> {
        if self.position >= self.end {
            if let Some(seam) = self.seam.take() {
                seam.check(&mut self.chunks).await?;
            }
            return Ok(None);
        }
        let begin = self.position;
        let chunk = match self.found.take() {
            Some(chunk) => chunk,
            None => self.chunks.chunk_at(begin).await?.map_err(ReadError::at(begin))?,
        };
        self.position = chunk.end();
        self.index = self.index_behind(&chunk);
        let seam = Seam { range_end: self.end, last: begin, position: self.position };
        self.seam = self.index.is_none().then_some(seam);
        Ok(Some(chunk))
    }

    fn index_behind(&self, chunk: &Chunk) -> Option<u64> {
        let many = chunk.begin == 0 && is_many(self.chunks.file().size, chunk.header.chunk_len());
        self.index.map(|index| index.saturating_add(1)).filter(|index| !many && *index <= MOST_HOPS)
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
