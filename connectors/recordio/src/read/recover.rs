//! The records of a range, with damage passed over (section 6).

use std::ops::Range;
use std::sync::Arc;

use recordfusion_core::{Limits, LostRegion, OnTruncated, RecordBlock, RecordFile, Result, ScanCounters};
use recordfusion_records::ContainerOptions;

use super::{Chunk, ChunkSource, HeaderWalk, ReadError, Start};
use crate::fault::Fault;

/// Reads the intact chunks that begin in a range, and reports what is lost behind each of them.
///
/// What lies between two intact chunks is lost. The range of the first one reports it, and the range from the begin
/// of the file on what is lost before the first chunk of all; they look on behind their own end for that.
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
    /// What the headers say of a chunk that the range begins inside of.
    cover: Option<Range<u64>>,
}

impl RecoveringReader {
    /// Looks for the first chunk that begins in `range`.
    pub async fn open(
        file: RecordFile,
        range: Range<u64>,
        options: ContainerOptions,
        counters: Arc<ScanCounters>,
    ) -> Result<Self> {
        let limits = options.limits;
        let range = range.start..range.end.min(file.size);
        let cover = cover(&file, range.start, limits, &counters).await?;
        let chunks = ChunkSource::new(file.clone(), range.start, range.end, limits, Arc::clone(&counters));
        Ok(Self {
            chunks,
            file,
            options,
            counters,
            position: range.start,
            reached: (range.start == 0 && range.end > 0).then_some(0),
            reason: None,
            is_followed: false,
            over_limit: None,
            cover,
            range,
        })
    }

    /// The next chunk, and its records.
    pub async fn next(&mut self) -> Result<Option<(Chunk, RecordBlock)>> {
        while let Some(mut chunk) = self.find().await? {
            if let Some(end) = self.end_of_cover(&chunk).await? {
                self.position = end;
                continue;
            }
            self.position = chunk.end();
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
        if self.reached != Some(self.position) {
            return self.chunks.find(self.position, until).await;
        }
        let (chunk, fault) = self.chunks.find_or_fault(self.position, until).await?;
        self.reason = fault;
        Ok(chunk)
    }

    /// Where to go on if `chunk` lies inside of the chunk that the range begins inside of: it is a record, or a part
    /// of one, if that one is intact.
    async fn end_of_cover(&mut self, chunk: &Chunk) -> Result<Option<u64>> {
        let Some(cover) = self.cover.take() else { return Ok(None) };
        if chunk.begin >= cover.end {
            return Ok(None);
        }
        let (file, counters) = (self.file.clone(), Arc::clone(&self.counters));
        let mut source = ChunkSource::new(file, cover.start, cover.end, self.options.limits, counters);
        Ok(source.chunk_at(cover.start).await?.is_ok().then_some(cover.end))
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

/// The chunk that the range from `begin` on begins inside of, by the headers before it; none if they are damaged or
/// too many.
async fn cover(
    file: &RecordFile,
    begin: u64,
    limits: Limits,
    counters: &Arc<ScanCounters>,
) -> Result<Option<Range<u64>>> {
    let mut walk = HeaderWalk::new(file.clone(), limits, Arc::clone(counters));
    match walk.seek(begin).await {
        Ok(Start::At { before, .. }) => Ok(before.filter(|chunk| chunk.end > begin)),
        Ok(Start::Far) | Err(ReadError::Damage { .. }) => Ok(None),
        Err(ReadError::Other(error)) => Err(error),
    }
}
