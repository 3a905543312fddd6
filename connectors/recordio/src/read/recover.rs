//! The records of a range, with damage passed over (section 6).

use std::ops::Range;
use std::sync::Arc;

use recordfusion_core::{LostRegion, OnTruncated, RangeEnd, RecordBlock, RecordFile, Result, ScanCounters};
use recordfusion_records::ContainerOptions;

use super::range_end;
use super::{Chunk, ChunkSource, HeaderWalk, ReadError, Start};
use crate::fault::Fault;

/// Reads the intact chunks that begin in a range, and reports what is lost behind each of them.
///
/// What lies between two intact chunks is lost. The range of the first one reports it, and the range from the begin
/// of the file on what is lost before the first chunk of all; they look on behind their own end for that.
///
/// The chunks are those of one reader that goes through the whole file: behind a chunk whose checksum is right it goes
/// on where that ends, whether it can be decoded or not, and elsewhere at the next place where an intact chunk begins.
/// So a sound file is read as it is, whatever its records hold. A range begins elsewhere, and is checked by the one
/// before it: see [`range_end`].
pub(crate) struct RecoveringReader {
    chunks: ChunkSource,
    file: RecordFile,
    options: ContainerOptions,
    counters: Arc<ScanCounters>,
    range: Range<u64>,
    /// Where to look for the next chunk.
    position: u64,
    /// The end of the last intact chunk, or the begin of the file: what is lost begins there.
    reached: Option<u64>,
    /// What is wrong there.
    reason: Option<Fault>,
    /// Whether chunks come behind it, although they cannot be decoded.
    is_followed: bool,
    /// A chunk with the right checksum that is larger than the options allow, since this was last asked.
    over_limit: Option<(u64, Fault)>,
    /// Hops to where the ranges begin.
    walk: HeaderWalk,
    /// What the headers say of a chunk that the range begins inside of.
    cover: Option<Range<u64>>,
    /// Where a chunk of the file begins for certain, if the file goes on: behind the last intact chunk.
    anchor: Option<u64>,
    /// The last chunk of the range that ends for certain: its checksum is right.
    last: Option<Range<u64>>,
    /// Whether the range is a part of the file, and its end was not checked yet.
    is_unchecked: bool,
}

impl RecoveringReader {
    /// Looks for the first chunk that begins in `range`, with at most `most_hops` headers before it.
    pub async fn open(
        file: RecordFile,
        range: Range<u64>,
        options: ContainerOptions,
        most_hops: u64,
        counters: Arc<ScanCounters>,
    ) -> Result<Self> {
        let limits = options.limits;
        let size = file.size;
        let range = range.start..range.end.min(size);
        let mut walk = HeaderWalk::new(file.clone(), range.end, limits, most_hops, Arc::clone(&counters));
        let cover = cover(&mut walk, range.start).await?;
        let chunks = ChunkSource::new(file.clone(), range.start, range.end, limits, Arc::clone(&counters));
        let is_part = range.start > 0 || range.end < size;
        let chunks = if is_part { chunks.bounded() } else { chunks };
        Ok(Self {
            options,
            counters,
            position: range.start,
            reached: (range.start == 0 && range.end > 0).then_some(0),
            reason: None,
            is_followed: false,
            over_limit: None,
            walk,
            cover,
            anchor: (range.start == 0).then_some(0),
            last: None,
            is_unchecked: range.end < size,
            chunks,
            file,
            range,
        })
    }

    /// The next chunk, and its records.
    pub async fn next(&mut self) -> Result<Option<(Chunk, RecordBlock)>> {
        while let Some(mut chunk) = self.find().await? {
            if let Some(cover) = self.intact_cover(&chunk).await? {
                self.position = cover.end;
                self.anchor = Some(cover.end);
                self.last = Some(cover);
                continue;
            }
            self.position = chunk.end();
            self.anchor = Some(chunk.end());
            self.pass(&chunk).await?;
            match chunk.decode(&self.options.limits, &self.counters) {
                Ok(block) => {
                    self.lose_up_to(chunk.begin);
                    if chunk.begin >= self.range.end {
                        self.finish();
                        return Ok(None);
                    }
                    self.reached = Some(chunk.end());
                    return Ok(Some((chunk, block)));
                }
                Err(fault) => self.pass_over(&chunk, fault),
            }
        }
        self.check_end().await?;
        if !self.is_unfinished() {
            self.lose_up_to(self.file.size);
        }
        self.finish();
        Ok(None)
    }

    /// A chunk that the last call of [`Self::next`] passed over because it is too large.
    pub fn take_over_limit(&mut self) -> Option<(u64, Fault)> {
        self.over_limit.take()
    }

    /// Remembers a chunk of the range; behind the range, checks its end.
    async fn pass(&mut self, chunk: &Chunk) -> Result<()> {
        if chunk.begin >= self.range.end {
            return self.check_end().await;
        }
        self.walk.follow(chunk.begin, chunk.header.chunk_len());
        self.last = Some(chunk.begin..chunk.end());
        Ok(())
    }

    /// Checks that the next range goes on as this one does. A range without any chunk changes nothing for it.
    async fn check_end(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.is_unchecked) {
            return Ok(());
        }
        let Some(last) = self.last.clone() else { return Ok(()) };
        let end = self.range.end;
        let search = match cover(&mut self.walk, end).await? {
            Some(cover) if cover == last || self.is_intact(&cover).await? => cover.end,
            _ => end,
        };
        let mut chunks = self.source_at(end).bounded();
        range_end::check(RangeEnd { search, next: last.end.max(end) }, &mut chunks).await
    }

    fn source_at(&self, begin: u64) -> ChunkSource {
        let counters = Arc::clone(&self.counters);
        ChunkSource::new(self.file.clone(), begin, begin, self.options.limits, counters)
    }

    async fn is_intact(&mut self, chunk: &Range<u64>) -> Result<bool> {
        let mut chunks = self.source_at(chunk.start);
        Ok(chunks.chunk_at(chunk.start).await?.is_ok())
    }

    fn pass_over(&mut self, chunk: &Chunk, fault: Fault) {
        if matches!(fault, Fault::Limit { .. }) {
            self.over_limit = Some((chunk.begin, fault.clone()));
        }
        if self.reached == Some(chunk.begin) {
            self.reason = Some(fault);
        } else {
            self.is_followed = true;
        }
    }

    /// Whether nothing but a chunk that is still being written comes behind the last one.
    fn is_unfinished(&self) -> bool {
        let is_cut = self.reason.as_ref().is_some_and(Fault::is_cut);
        self.options.on_truncated == OnTruncated::End && is_cut && !self.is_followed
    }

    /// The next chunk with the right checksum: one of the range, or one behind it where something is lost, or may
    /// be, from the last chunk of the range on.
    async fn find(&mut self) -> Result<Option<Chunk>> {
        let until = if self.reached.is_some() { self.file.size } else { self.range.end };
        if self.position >= until {
            return Ok(None);
        }
        if self.anchor != Some(self.position) {
            return self.chunks.find(self.position, until).await;
        }
        let is_first_behind = self.reached == Some(self.position);
        loop {
            let fault = match self.chunks.chunk_at(self.position).await? {
                Ok(chunk) => return Ok(Some(chunk)),
                Err(fault) => fault,
            };
            if is_first_behind {
                self.reason.get_or_insert(fault.clone());
            }
            let end = match fault {
                Fault::Limit { .. } => self.chunks.end_of_large_chunk(self.position).await?,
                _ => None,
            };
            let Some(end) = end else {
                return self.chunks.find(self.position.saturating_add(1), until).await;
            };
            self.over_limit = Some((self.position, fault));
            self.last = Some(self.position..end);
            self.position = end;
            if end >= until {
                return Ok(None);
            }
        }
    }

    /// The chunk that the range begins inside of, if `chunk` lies in it: that is a record, or a part of one, if the
    /// other is intact.
    async fn intact_cover(&mut self, chunk: &Chunk) -> Result<Option<Range<u64>>> {
        let Some(cover) = self.cover.take().filter(|cover| chunk.begin < cover.end) else { return Ok(None) };
        Ok(self.is_intact(&cover).await?.then_some(cover))
    }

    /// Reports what is lost before `end`, if it is known where that begins.
    fn lose_up_to(&mut self, end: u64) {
        self.is_followed = false;
        let reason = self.reason.take();
        if let Some(begin) = self.reached.filter(|begin| *begin < end) {
            let reason = reason.map_or_else(String::new, |fault| fault.to_string());
            self.counters.lose(&self.file, LostRegion { begin, end, reason });
        }
    }

    fn finish(&mut self) {
        self.reached = None;
        self.position = self.range.end;
    }
}

/// The chunk that a range from `begin` on begins inside of, by the headers before it; none if they are damaged or too
/// many.
async fn cover(walk: &mut HeaderWalk, begin: u64) -> Result<Option<Range<u64>>> {
    match walk.seek(begin).await {
        Ok(Start::At { before, .. }) => Ok(before.filter(|chunk| chunk.end > begin)),
        Ok(Start::Far) | Err(ReadError::Damage { .. }) => Ok(None),
        Err(ReadError::Other(error)) => Err(error),
    }
}
