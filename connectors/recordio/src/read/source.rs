//! Intact chunks: tested where one should begin, or searched for.

use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use recordfusion_core::{Limits, ReadAhead, RecordBlock, RecordFile, Result, ScanCounters, SearchBudget};

use crate::checksum::{Checksum, RunningChecksum};
use crate::fault::Fault;
use crate::header::{ChunkHeader, Codec, HEADER_LEN, Layout, MAGIC};
use crate::payload::{self, Places};

/// Bytes that a search reads at a time.
const SEARCH_STEP: u64 = 64 << 10;
/// Bytes that are summed at a time.
const SUM_STEP: u64 = 256 << 10;
/// Bytes of a payload from which on a search remembers checksums.
const LARGE: u64 = 64 << 10;

/// A chunk whose checksum is right, so that it is certain where it ends.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// Offset of its first byte.
    pub begin: u64,
    /// The header.
    pub header: ChunkHeader,
    /// Layout and codec.
    pub reading: (Layout, Codec),
    /// Header and payload as they are stored.
    pub bytes: Bytes,
    /// Where its records were found while it was read.
    places: Option<Places>,
}

impl Chunk {
    /// Offset of the first byte behind it.
    pub fn end(&self) -> u64 {
        self.begin.saturating_add(self.header.chunk_len())
    }

    /// The records, and their counters.
    pub fn decode(
        &mut self,
        limits: &Limits,
        counters: &ScanCounters,
    ) -> std::result::Result<RecordBlock, Fault> {
        let payload = self.bytes.slice(HEADER_LEN.min(self.bytes.len())..);
        let places = self.places.take();
        let decode = || payload::decode(&self.header, self.reading, self.begin, &payload, places, limits);
        let block = counters.decompress_time.time(decode)?;
        counters.bytes_decompressed.add(block.data().len() as u64);
        counters.chunks_read.add(1);
        Ok(block)
    }
}

/// The bytes of a file from some place on, as far as they are needed, and the chunks in them.
pub(crate) struct ChunkSource {
    source: ReadAhead,
    limits: Limits,
    counters: Arc<ScanCounters>,
    /// Offset of the first of `bytes`, which end where `source` goes on.
    begin: u64,
    bytes: BytesMut,
    /// What a search knows of the checksums of `bytes`.
    sums: Vec<(Checksum, RunningChecksum)>,
    /// Whether a search that costs much more than its bytes is an error.
    bounded: bool,
    /// Bytes that the last test of a candidate summed.
    summed: u64,
}

impl ChunkSource {
    /// Reads from `position` on. Nothing at or behind `end` is read ahead.
    pub fn new(
        file: RecordFile,
        position: u64,
        end: u64,
        limits: Limits,
        counters: Arc<ScanCounters>,
    ) -> Self {
        let source = ReadAhead::new(file, position, end, Arc::clone(&counters));
        let (bytes, sums) = (BytesMut::new(), Vec::new());
        Self { source, limits, counters, begin: position, bytes, sums, bounded: false, summed: 0 }
    }

    /// The same, but a search in which failed attempts cost much more than the bytes searched is an error.
    pub fn bounded(self) -> Self {
        Self { bounded: true, ..self }
    }

    /// The file.
    pub fn file(&self) -> &RecordFile {
        self.source.file()
    }

    /// The chunk that begins at `position`, or why none does.
    pub async fn chunk_at(&mut self, position: u64) -> Result<std::result::Result<Chunk, Fault>> {
        self.test(position, false).await
    }

    /// The next chunk that begins at or behind `from`, and before `until`.
    pub async fn find(&mut self, from: u64, until: u64) -> Result<Option<Chunk>> {
        let mut budget = SearchBudget::new(from, self.limits.chunk);
        let mut from = from;
        while let Some(magic) = self.next_magic(from, until).await? {
            let have = self.have();
            if let Ok(chunk) = self.test(magic, true).await? {
                return Ok(Some(chunk));
            }
            let cost = self.have().saturating_sub(have).saturating_add(self.summed);
            if self.bounded && !budget.spend(magic, cost) {
                return Err(self.file().search_too_long(magic));
            }
            from = magic.saturating_add(MAGIC.len() as u64);
        }
        Ok(None)
    }

    /// The end of the chunk at `position` if that is intact but for being larger than the limits allow.
    pub async fn end_of_large_chunk(&mut self, position: u64) -> Result<Option<u64>> {
        let size = self.file().size;
        let begin = position.saturating_add(HEADER_LEN as u64);
        if begin > size {
            return Ok(None);
        }
        self.go_to(position);
        self.fill(begin).await?;
        let parsed = self
            .slice(position, begin)
            .first_chunk()
            .map(|bytes| ChunkHeader::parse(bytes, &Limits::same(u64::MAX)).ok());
        let Some(header) = parsed.flatten() else { return Ok(None) };
        let end = position.saturating_add(header.chunk_len());
        if end > size {
            return Ok(None);
        }
        self.source.extend_limit(end);
        let mut sums: Vec<(Checksum, u32)> = header.checksums().map(|kind| (kind, 0)).collect();
        let mut at = begin;
        while at < end {
            let next = end.min(at.saturating_add(SUM_STEP));
            self.go_to(at);
            self.fill(next).await?;
            let part = self.slice(at, next);
            sums.iter_mut().for_each(|(kind, sum)| *sum = kind.append(*sum, part));
            at = next;
        }
        let sum = |kind| sums.iter().find(|(known, _)| *known == kind).map_or(0, |(_, sum)| *sum);
        Ok(header.reading(sum).is_ok().then_some(end))
    }

    /// The place of the next magic that begins at or behind `from`, and before `until`.
    async fn next_magic(&mut self, from: u64, until: u64) -> Result<Option<u64>> {
        /// Bytes of a magic that the end of a step may cut off.
        const OVERLAP: u64 = MAGIC.len() as u64 - 1;
        let end = until.saturating_add(OVERLAP).min(self.file().size);
        let mut from = from;
        while from.saturating_add(OVERLAP) < end {
            self.go_to(from);
            let upto = self.have().max(from.saturating_add(SEARCH_STEP)).min(end);
            self.fill(upto).await?;
            let searched = self.slice(from, upto);
            if let Some(at) = memchr::memmem::find(searched, &MAGIC) {
                return Ok(Some(from.saturating_add(at as u64)));
            }
            from = upto.saturating_sub(OVERLAP);
            if upto == end {
                break;
            }
        }
        Ok(None)
    }

    async fn test(&mut self, position: u64, searching: bool) -> Result<std::result::Result<Chunk, Fault>> {
        self.go_to(position);
        self.summed = 0;
        let left = self.file().size.saturating_sub(position);
        let header_end = position.saturating_add(left.min(HEADER_LEN as u64));
        self.fill(header_end).await?;
        let bytes = self.slice(position, header_end);
        let parsed = match bytes.first_chunk() {
            Some(bytes) => ChunkHeader::parse(bytes, &self.limits),
            None => Err(cut_header(bytes)),
        };
        let header = match parsed {
            Ok(header) if header.chunk_len() > left => {
                return Ok(Err(Fault::PayloadCut { missing: header.chunk_len().saturating_sub(left) }));
            }
            Ok(header) => header,
            Err(fault) => return Ok(Err(fault)),
        };
        let (begin, end) = (header_end, position.saturating_add(header.chunk_len()));
        self.summed = u64::from(header.size).min(LARGE);
        self.source.extend_limit(end);
        let counters = Arc::clone(&self.counters);
        let (reading, places) = if searching {
            self.fill(end).await?;
            let sum = |kind| self.searched_sum(kind, begin, end);
            (counters.decompress_time.time(|| header.reading(sum)), None)
        } else {
            let (sums, places) = self.fill_and_sum(begin, end, &header).await?;
            let sum = |kind| sums.iter().find(|(known, _)| *known == kind).map_or(0, |(_, sum)| *sum);
            (header.reading(sum), places)
        };
        Ok(reading.map(|reading| {
            let bytes = self.take(position, end);
            Chunk { begin: position, header, reading, bytes, places }
        }))
    }

    /// Reads up to the offset `end`, and gives the checksums of the bytes from `begin` on, and the places of records
    /// if nothing is compressed: each part is looked at while it is in the processor's cache.
    async fn fill_and_sum(
        &mut self,
        begin: u64,
        end: u64,
        header: &ChunkHeader,
    ) -> Result<(Vec<(Checksum, u32)>, Option<Places>)> {
        let missing = end.saturating_sub(self.have());
        self.bytes.reserve(missing as usize);
        let mut sums: Vec<(Checksum, u32)> = header.checksums().map(|kind| (kind, 0)).collect();
        let plain = header.certain_reading().is_some_and(|(_, codec)| codec == Codec::None);
        let mut places = plain.then(|| Places::new(header.count, header.size.into()).ok()).flatten();
        let counters = Arc::clone(&self.counters);
        let mut position = begin;
        while position < end {
            let next = end.min(position.saturating_add(SUM_STEP));
            self.fill(next).await?;
            let part = self.slice(position, next);
            counters.decompress_time.time(|| {
                sums.iter_mut().for_each(|(kind, sum)| *sum = kind.append(*sum, part));
                places.iter_mut().for_each(|places| places.advance(self.slice(begin, next)));
            });
            position = next;
        }
        Ok((sums, places))
    }

    /// The checksum of the bytes between two offsets, all of which are here, where many may be asked for.
    fn searched_sum(&mut self, kind: Checksum, from: u64, to: u64) -> u32 {
        if to.saturating_sub(from) < LARGE {
            return kind.of(self.slice(from, to));
        }
        let known = self.sums.iter().position(|(known, _)| *known == kind);
        let index = known.unwrap_or_else(|| {
            self.sums.push((kind, RunningChecksum::new(kind, from)));
            self.sums.len().saturating_sub(1)
        });
        let part = self.sums.get_mut(index).and_then(|(_, sum)| sum.part(self.begin, &self.bytes, from, to));
        part.unwrap_or_else(|| kind.of(self.slice(from, to)))
    }

    /// Offset behind the last byte that is here.
    fn have(&self) -> u64 {
        self.begin.saturating_add(self.bytes.len() as u64)
    }

    /// The bytes between two offsets, as far as they are here.
    fn slice(&self, from: u64, to: u64) -> &[u8] {
        let index = |at: u64| (at.saturating_sub(self.begin) as usize).min(self.bytes.len());
        self.bytes.get(index(from)..index(to)).unwrap_or_default()
    }

    /// Says that nothing before `position` is needed any more.
    fn go_to(&mut self, position: u64) {
        let have = self.begin..=self.have();
        if !have.contains(&position) {
            self.bytes.clear();
            self.sums.clear();
            self.source.seek(position);
            self.begin = position;
            return;
        }
        self.sums.retain_mut(|(_, sum)| sum.forget(position).is_some());
        let needed = self.sums.iter_mut().filter_map(|(_, sum)| sum.forget(position));
        let first = needed.min().unwrap_or(position).clamp(self.begin, position);
        self.bytes.advance(first.saturating_sub(self.begin) as usize);
        self.begin = first;
    }

    /// Reads up to the offset `end`, which lies in the file.
    async fn fill(&mut self, end: u64) -> Result<()> {
        match end.checked_sub(self.have()) {
            Some(missing) if missing > 0 => self.source.take_into(missing, &mut self.bytes).await,
            _ => Ok(()),
        }
    }

    /// The bytes between two offsets, which are here; all before `to` is gone then.
    fn take(&mut self, from: u64, to: u64) -> Bytes {
        self.sums.clear();
        self.bytes.advance(from.saturating_sub(self.begin) as usize);
        self.begin = to;
        self.bytes.split_to(to.saturating_sub(from) as usize).freeze()
    }
}

/// What is wrong with the last bytes of a file, which are too few for a header.
pub(super) fn cut_header(bytes: &[u8]) -> Fault {
    let magic = bytes.get(..MAGIC.len()).unwrap_or(bytes);
    if MAGIC.starts_with(magic) { Fault::HeaderCut } else { Fault::Magic(magic.to_vec()) }
}
