//! The chunks of a range, read as the options say.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use recordfusion_core::{
    LostRegion, OnCorruption, OnTruncated, RecordBlock, RecordFile, Result, ScanCounters,
};
use recordfusion_records::ContainerOptions;

use super::resync::Resync;
use super::{ChunkReader, Damage, ReadError, ReadResult};
use crate::decoder::ChunkDecoder;
use crate::fault::{ChunkFault, Fault};
use crate::header::{Chunk, ChunkKind};

/// A chunk that is not yet decoded.
pub(crate) struct ChunkData {
    /// Place and header.
    pub chunk: Chunk,
    /// What the chunk is for.
    pub kind: ChunkKind,
    /// Its data, with their hash verified, if they were asked for.
    pub data: Bytes,
}

impl ChunkData {
    /// The records of the chunk; `None` if it is of a kind without records.
    pub fn decode(
        &self,
        decoder: &mut ChunkDecoder,
        counters: &ScanCounters,
    ) -> std::result::Result<Option<RecordBlock>, ChunkFault> {
        let decode = || decoder.decode(&self.chunk.header, self.chunk.begin, &self.data);
        let block = counters.decompress_time.time(decode)?;
        counters.bytes_decompressed.add(decoder.take_decompressed_bytes());
        Ok(block)
    }

    /// The records of the chunk; none if it cannot be decoded and damage is passed over.
    pub fn records(
        &self,
        decoder: &mut ChunkDecoder,
        on_corruption: OnCorruption,
        file: &RecordFile,
        counters: &ScanCounters,
    ) -> ReadResult<Option<RecordBlock>> {
        match (self.decode(decoder, counters), on_corruption) {
            (Ok(block), _) => Ok(block),
            (Err(fault), OnCorruption::Error) => Err(Damage::at(self.chunk.begin)(fault)),
            (Err(fault), OnCorruption::Skip) => {
                self.lose(&fault, file, counters);
                Ok(None)
            }
        }
    }

    /// Counts the chunk as lost.
    pub fn lose(&self, fault: &ChunkFault, file: &RecordFile, counters: &ScanCounters) {
        let Chunk { begin, end, .. } = self.chunk;
        counters.lose(file, LostRegion { begin, end, reason: fault.to_string() });
    }
}

/// Which chunks are handed out with their data. Of the others only the hash is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Those with records.
    Records,
    /// All but padding.
    All,
}

/// Reads the chunks that begin in a range.
pub(crate) struct ChunkScan {
    file: RecordFile,
    range: Range<u64>,
    options: ContainerOptions,
    counters: Arc<ScanCounters>,
    wanted: Wanted,
    firm_limits: bool,
    chunks: Option<ChunkReader>,
    resync: Resync,
}

impl ChunkScan {
    /// Reads nothing yet.
    pub fn new(
        file: RecordFile,
        range: Range<u64>,
        options: ContainerOptions,
        counters: Arc<ScanCounters>,
    ) -> Self {
        let range = range.start..range.end.min(file.size);
        let resync = Resync::new(file.clone(), Arc::clone(&counters));
        let wanted = Wanted::Records;
        Self { file, range, options, counters, wanted, firm_limits: false, chunks: None, resync }
    }

    /// Hands out the data of all chunks but padding.
    pub fn with_all_data(self) -> Self {
        Self { wanted: Wanted::All, ..self }
    }

    /// Makes an error of a chunk that is larger than the options allow, also where damage is passed over.
    pub fn with_firm_limits(self) -> Self {
        Self { firm_limits: true, ..self }
    }

    /// The next chunk.
    pub async fn next(&mut self) -> ReadResult<Option<ChunkData>> {
        loop {
            match self.read().await {
                Err(ReadError::Damage(damage)) => {
                    if !self.pass_over(damage).await? {
                        return Ok(None);
                    }
                }
                other => return other,
            }
        }
    }

    async fn read(&mut self) -> ReadResult<Option<ChunkData>> {
        let skips = self.skips();
        let (wanted, limits) = (self.wanted, self.options.limits);
        let chunks = self.open().await?;
        let Some(chunk) = chunks.next_chunk().await? else { return Ok(None) };
        let kind = chunk.header.kind();
        let fits = match kind {
            Ok(kind) if wanted.has(kind) => chunk.header.check_limits(&limits),
            _ => Ok(()),
        };
        let data = match (&kind, &fits) {
            (Ok(kind), Ok(())) if wanted.has(*kind) => chunks.read_data(&chunk).await?,
            // Its block headers come first: where reading goes on depends on them.
            (Ok(_), Ok(())) => chunks.check_data(&chunk).await.map(|()| Bytes::new())?,
            _ if skips => chunks.check_data(&chunk).await.map(|()| Bytes::new())?,
            _ => Bytes::new(),
        };
        let kind = kind.map_err(Damage::at(chunk.begin))?;
        fits.map_err(Damage::at(chunk.begin))?;
        if skips && chunk.data_end() < chunk.end {
            self.pass_padding(&chunk).await?;
        }
        Ok(Some(ChunkData { chunk, kind, data }))
    }

    /// The reader; it stands at the first chunk of the range, or the first place where something is wrong.
    async fn open(&mut self) -> ReadResult<&mut ChunkReader> {
        let chunks = match self.chunks.take() {
            Some(chunks) => chunks,
            None => {
                let (file, counters) = (self.file.clone(), Arc::clone(&self.counters));
                if self.skips() {
                    let begin = self.resync.first_at_or_behind(self.range.start).await?;
                    ChunkReader::at(file, begin, self.range.end, counters)
                } else {
                    ChunkReader::open(file, self.range.clone(), counters).await?
                }
            }
        };
        Ok(self.chunks.insert(chunks))
    }

    fn skips(&self) -> bool {
        self.options.on_corruption == OnCorruption::Skip
    }

    /// Goes on behind damage; `false` if it is the end of what there is.
    async fn pass_over(&mut self, damage: Damage) -> ReadResult<bool> {
        let Damage { begin, fault } = damage;
        let fault = first_fault(&mut self.resync, begin, fault).await?;
        if fault.is_truncation() && self.options.on_truncated == OnTruncated::End {
            self.go_to(self.file.size);
            return Ok(false);
        }
        let is_limit = matches!(fault, Fault::Chunk(ChunkFault::Limit { .. }));
        if !self.skips() || (self.firm_limits && is_limit) {
            return Err(Damage::at(begin)(fault));
        }
        let end = self.resync.behind(begin, &fault).await?;
        self.counters.lose(&self.file, LostRegion { begin, end, reason: fault.to_string() });
        self.go_to(end);
        Ok(true)
    }

    /// Goes on behind a chunk whose padding may hold blocks of other chunks.
    async fn pass_padding(&mut self, chunk: &Chunk) -> ReadResult<()> {
        let next = self.resync.behind_chunk(chunk).await?;
        if next > chunk.end {
            let reason = "a block header in the padding belongs to a chunk that begins elsewhere".to_string();
            self.counters.lose(&self.file, LostRegion { begin: chunk.end, end: next, reason });
        }
        self.go_to(next);
        Ok(())
    }

    fn go_to(&mut self, position: u64) {
        match &mut self.chunks {
            Some(chunks) => chunks.go_to(position),
            none => {
                let (file, counters) = (self.file.clone(), Arc::clone(&self.counters));
                *none = Some(ChunkReader::at(file, position, self.range.end, counters));
            }
        }
    }
}

impl Wanted {
    fn has(self, kind: ChunkKind) -> bool {
        match kind {
            ChunkKind::Simple | ChunkKind::Transposed => true,
            ChunkKind::Metadata | ChunkKind::Unknown | ChunkKind::Signature => self == Self::All,
            ChunkKind::Padding => false,
        }
    }
}

/// What is wrong with the chunk at `begin`. Of one that the file ends in, block headers may show that its length is
/// wrong.
async fn first_fault(resync: &mut Resync, begin: u64, fault: Fault) -> Result<Fault> {
    match fault.is_truncation() {
        true => Ok(resync.check(begin).await?.err().unwrap_or(fault)),
        false => Ok(fault),
    }
}

/// Whether the file ends with the chunk that was found damaged, so that it may still be written.
pub(crate) async fn is_unfinished(
    file: &RecordFile,
    damage: &Damage,
    counters: &Arc<ScanCounters>,
) -> Result<bool> {
    let mut resync = Resync::new(file.clone(), Arc::clone(counters));
    Ok(first_fault(&mut resync, damage.begin, damage.fault.clone()).await?.is_truncation())
}
