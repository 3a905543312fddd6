//! From header to header, without the payloads in between (section 5, walk rule).

use std::future::poll_fn;
use std::ops::Range;
use std::sync::Arc;
use std::task::Poll;

use recordfusion_core::{Limits, RecordFile, ScanCounters, ShortReads, Split};

use super::{ReadError, ReadResult};
use crate::fault::Fault;
use crate::header::{ChunkHeader, HEADER_LEN};

/// Most headers that are read to find the first chunk of a range, unless all may be.
const MOST_HOPS: u64 = 4096;

/// How many headers are read to find the first chunk of a range.
pub(crate) fn most_hops(split: Split, limit: Option<usize>) -> u64 {
    // A query with a limit may end before the range that would notice that this one begins wrongly.
    match (split, limit) {
        (Split::Auto, None) => MOST_HOPS,
        _ => u64::MAX,
    }
}

/// How far hops from the begin of the file on have come. Whoever looks for the begin of a range makes the same hops, and
/// gives up at the same place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hops {
    /// Length of the file.
    size: u64,
    /// Most hops.
    most: u64,
    /// How many there were.
    count: u64,
    /// Offset of the next chunk.
    position: u64,
    /// Begin of the chunk before it, if there is one.
    before: Option<u64>,
    /// Whether the length of the first chunk shows that there are too many to hop over.
    many: bool,
}

impl Hops {
    fn new(size: u64, most: u64) -> Self {
        Self { size, most, count: 0, position: 0, before: None, many: false }
    }

    fn may_go_on(&self) -> bool {
        !self.many && self.count < self.most
    }

    fn hop(&mut self, len: u64) {
        if self.count == 0 {
            self.many = self.size.checked_div(len).is_some_and(|chunks| chunks > self.most);
        }
        self.count = self.count.saturating_add(1);
        self.before = Some(self.position);
        self.position = self.position.saturating_add(len);
    }

    /// Goes on over a chunk of `len` bytes at `begin` that was read, if hops come there.
    pub fn follow(&mut self, begin: u64, len: u64) {
        if self.position == begin && self.may_go_on() {
            self.hop(len);
        }
    }

    /// Whether they come to a range that begins at `target`, if they followed all chunks before it.
    pub fn reach(&self, target: u64) -> bool {
        self.position >= target
    }
}

/// Where the first chunk of a range begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Start {
    /// There, or at the end of the file.
    At {
        /// The place.
        position: u64,
        /// The last chunk that begins before the range.
        before: Option<Range<u64>>,
    },
    /// There are too many chunks before it.
    Far,
}

impl Start {
    /// There is no chunk before `end`.
    pub fn none(end: u64) -> Self {
        Self::At { position: end, before: None }
    }
}

/// Reads headers from the begin of the file on. That they are followed by the payloads they claim is not checked.
pub(crate) struct HeaderWalk {
    headers: ShortReads,
    limits: Limits,
    hops: Hops,
}

impl HeaderWalk {
    /// Stands at the begin of the file, to go to `end`; [`Self::seek`] makes at most `most` hops.
    pub fn new(file: RecordFile, end: u64, limits: Limits, most: u64, counters: Arc<ScanCounters>) -> Self {
        let hops = Hops::new(file.size, most);
        Self { headers: ShortReads::new(file, counters).until(end), limits, hops }
    }

    /// Offset of the next chunk.
    pub fn position(&self) -> u64 {
        self.hops.position
    }

    /// How far it came.
    pub fn hops(&self) -> Hops {
        self.hops
    }

    /// Headers that were read.
    pub fn count(&self) -> u64 {
        self.hops.count
    }

    /// Goes on over a chunk that was read, if the next one is that.
    pub fn follow(&mut self, begin: u64, len: u64) {
        self.hops.follow(begin, len);
    }

    /// Hops to the first chunk that begins at or behind `target`.
    pub async fn seek(&mut self, target: u64) -> ReadResult<Start> {
        /// Hops after which others may run.
        const TURN: u64 = 1024;
        let target = target.min(self.hops.size);
        while self.position() < target {
            if !self.hops.may_go_on() {
                return Ok(Start::Far);
            }
            self.read().await?;
            if self.hops.count.is_multiple_of(TURN) {
                pending_once().await;
            }
        }
        let before = self.hops.before.map(|begin| begin..self.position());
        Ok(Start::At { position: self.position(), before })
    }

    /// Place and header of the next chunk that begins before `end`.
    pub async fn next(&mut self, end: u64) -> ReadResult<Option<(u64, ChunkHeader)>> {
        let begin = self.position();
        if begin >= end.min(self.hops.size) {
            return Ok(None);
        }
        Ok(Some((begin, self.read().await?)))
    }

    async fn read(&mut self) -> ReadResult<ChunkHeader> {
        let begin = self.position();
        let left = self.hops.size.saturating_sub(begin);
        let bytes = self.headers.bytes(begin, begin.saturating_add(left.min(HEADER_LEN as u64))).await?;
        let header = match bytes.first_chunk() {
            Some(bytes) => ChunkHeader::parse(bytes, &self.limits),
            None => Err(super::source::cut_header(&bytes)),
        };
        let header = header.map_err(ReadError::at(begin))?;
        let len = header.chunk_len();
        if len > left {
            return Err(ReadError::at(begin)(Fault::PayloadCut { missing: len.saturating_sub(left) }));
        }
        self.headers.expect_step(len);
        self.hops.hop(len);
        Ok(header)
    }
}

/// Lets other tasks run: a walk through a file on a disk never waits, so that it could not be cancelled.
async fn pending_once() {
    let mut waited = false;
    poll_fn(|context| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
