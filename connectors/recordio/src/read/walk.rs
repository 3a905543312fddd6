//! From header to header, without the payloads in between (section 5, walk rule).

use std::ops::Range;
use std::sync::Arc;

use recordfusion_core::{Limits, RecordFile, ScanCounters, ShortReads};

use super::{ReadError, ReadResult};
use crate::fault::Fault;
use crate::header::{ChunkHeader, HEADER_LEN};

/// Most headers that are read to find the first chunk of a range.
pub(crate) const MOST_HOPS: u64 = 4096;

/// Reads headers from the begin of the file on. That they are followed by the payloads they claim is not checked.
pub(crate) struct HeaderWalk {
    headers: ShortReads,
    limits: Limits,
    /// Offset of the next chunk.
    position: u64,
    /// Headers that were read.
    hops: u64,
    /// Whether the length of the first chunk shows that there are too many to hop over.
    many: bool,
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

impl HeaderWalk {
    /// Stands at the begin of the file.
    pub fn new(file: RecordFile, limits: Limits, counters: Arc<ScanCounters>) -> Self {
        Self { headers: ShortReads::new(file, counters), limits, position: 0, hops: 0, many: false }
    }

    /// Offset of the next chunk.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Headers that were read.
    pub fn hops(&self) -> u64 {
        self.hops
    }

    /// How many chunks stand before the next one, unless there are so many that ranges behind do not hop to it.
    pub fn index(&self) -> Option<u64> {
        (!self.many && self.hops <= MOST_HOPS).then_some(self.hops)
    }

    /// Hops to the first chunk that begins at or behind `target`.
    pub async fn seek(&mut self, target: u64) -> ReadResult<Start> {
        let target = target.min(self.headers.file().size);
        let mut before = None;
        while self.position < target {
            if self.hops == MOST_HOPS || self.many {
                return Ok(Start::Far);
            }
            let begin = self.position;
            self.read().await?;
            before = Some(begin..self.position);
        }
        Ok(Start::At { position: self.position, before })
    }

    /// Place and header of the next chunk that begins before `end`.
    pub async fn next(&mut self, end: u64) -> ReadResult<Option<(u64, ChunkHeader)>> {
        let begin = self.position;
        if begin >= end.min(self.headers.file().size) {
            return Ok(None);
        }
        Ok(Some((begin, self.read().await?)))
    }

    async fn read(&mut self) -> ReadResult<ChunkHeader> {
        let begin = self.position;
        let size = self.headers.file().size;
        let left = size.saturating_sub(begin);
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
        if self.hops == 0 {
            self.many = is_many(size, len);
        }
        self.headers.expect_step(len);
        self.position = begin.saturating_add(len);
        self.hops = self.hops.saturating_add(1);
        Ok(header)
    }
}

/// Whether a file is likely to have more chunks than a range hops over, if its first one has `first_len` bytes.
pub(crate) fn is_many(size: u64, first_len: u64) -> bool {
    size.checked_div(first_len).is_some_and(|chunks| chunks > MOST_HOPS)
}
