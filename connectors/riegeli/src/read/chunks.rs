//! Whole chunks, read ahead.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use recordfusion_core::{ReadAhead, RecordFile, ScanCounters};

use super::{Damage, HeaderWalk, ReadResult, SIGNATURE_LEN, check_signature};
use crate::decoder::ChunkDecoder;
use crate::fault::{ChunkFault, Fault};
use crate::hash::Hasher;
use crate::header::{BlockHeader, Chunk, ChunkKind};
use crate::metadata::RecordsMetadata;
use crate::position::{BLOCK, BLOCK_HEADER, remaining};

/// Bytes requested to find the metadata, before it is known how long they are.
const METADATA_READ: u64 = 1 << 16;

/// Reads the chunks that begin in a range.
pub(crate) struct ChunkReader {
    source: ReadAhead,
    counters: Arc<ScanCounters>,
    end: u64,
}

impl ChunkReader {
    /// Stands at the first chunk that begins in `range`. A range from 0 on has to begin with the signature.
    pub async fn open(file: RecordFile, range: Range<u64>, counters: Arc<ScanCounters>) -> ReadResult<Self> {
        let end = range.end.min(file.size);
        let begin = match range.start {
            0 => 0,
            _ => HeaderWalk::start(file.clone(), range, Arc::clone(&counters)).await?.position(),
        };
        let mut chunks = Self::at(file, begin, end, counters);
        if begin == 0 && end > 0 {
            let prefix = chunks.source.take(SIGNATURE_LEN.min(chunks.source.file().size)).await?;
            check_signature(chunks.source.file(), &prefix)?;
            chunks.go_to(0);
        }
        Ok(chunks)
    }

    /// Stands at `position`, where a chunk should begin.
    pub fn at(file: RecordFile, position: u64, end: u64, counters: Arc<ScanCounters>) -> Self {
        let end = end.min(file.size);
        let source = ReadAhead::new(file, position, end, Arc::clone(&counters));
        Self { source, counters, end }
    }

    /// Goes on at `position`.
    pub fn go_to(&mut self, position: u64) {
        self.source.seek(position);
    }

    /// The header of the next chunk that begins in the range. Its data have to be read or checked next.
    pub async fn next_chunk(&mut self) -> ReadResult<Option<Chunk>> {
        let begin = self.source.position();
        if begin >= self.end {
            return Ok(None);
        }
        let size = self.source.file().size;
        let header_end = Chunk::header_end(begin, size).map_err(Damage::at(begin))?;
        let bytes = self.source.take(header_end.saturating_sub(begin)).await?;
        let chunk = Chunk::parse(begin, &bytes, size).map_err(Damage::at::<Fault>(begin))?;
        if begin == 0 && chunk.header.kind() != Ok(ChunkKind::Signature) {
            return Err(Damage::at(begin)(Fault::NoSignature));
        }
        Ok(Some(chunk))
    }

    /// The data of the chunk just met, with its hash verified. The caller has bounded its size.
    pub async fn read_data(&mut self, chunk: &Chunk) -> ReadResult<Bytes> {
        self.source.extend_limit(chunk.end);
        let size = chunk.header.data_size;
        let counters = Arc::clone(&self.counters);
        let mut hasher = Hasher::default();
        let first = self.next_part(chunk, size).await?;
        counters.decompress_time.time(|| hasher.update(&first));
        let data = if first.len() as u64 == size {
            first
        } else {
            let mut data = Vec::with_capacity(size as usize);
            data.extend_from_slice(&first);
            while (data.len() as u64) < size {
                let part = self.next_part(chunk, size.saturating_sub(data.len() as u64)).await?;
                counters.decompress_time.time(|| hasher.update(&part));
                data.extend_from_slice(&part);
            }
            Bytes::from(data)
        };
        self.leave(chunk, hasher)?;
        Ok(data)
    }

    /// Verifies the hash of the data of the chunk just met, of any size.
    pub async fn check_data(&mut self, chunk: &Chunk) -> ReadResult<()> {
        let mut hasher = Hasher::default();
        let mut left = chunk.header.data_size;
        while left > 0 {
            let part = self.next_part(chunk, left).await?;
            hasher.update(&part);
            left = left.saturating_sub(part.len() as u64);
        }
        self.leave(chunk, hasher)
    }

    /// As many of the next `len` bytes of the chunk as its block holds, behind the block header if one comes.
    async fn next_part(&mut self, chunk: &Chunk, len: u64) -> ReadResult<Bytes> {
        let mut position = self.source.position();
        if len > 0 && remaining(position) == 0 {
            let bytes = self.source.take(BLOCK_HEADER).await?;
            let check = BlockHeader::parse(position, &bytes).and_then(|header| {
                header.check_begin(position, chunk.begin)?;
                header.check_end(position, chunk.end)
            });
            check.map_err(Damage::at(chunk.begin))?;
            position = position.saturating_add(BLOCK_HEADER);
        }
        Ok(self.source.take(len.min(BLOCK.saturating_sub(position % BLOCK))).await?)
    }

    fn leave(&mut self, chunk: &Chunk, hasher: Hasher) -> ReadResult<()> {
        self.source.seek(chunk.end);
        if hasher.finish() == chunk.header.data_hash {
            Ok(())
        } else {
            Err(Damage::at(chunk.begin)(Fault::DataHash))
        }
    }
}

/// The metadata of a file: those of its second chunk, or empty ones if that is of another kind.
///
/// The inner fault is that of metadata that are intact but cannot be decoded: the records can still be read.
pub(crate) async fn read_metadata(
    file: RecordFile,
    counters: Arc<ScanCounters>,
) -> ReadResult<Result<RecordsMetadata, ChunkFault>> {
    let size = file.size;
    let mut chunks = ChunkReader::open(file, 0..size.min(METADATA_READ), counters).await?;
    let Some(signature) = chunks.next_chunk().await? else { return Ok(Ok(RecordsMetadata::default())) };
    chunks.check_data(&signature).await?;
    Ok(match next_metadata(&mut chunks).await? {
        Some((chunk, data)) => parse_metadata(&chunk, &data),
        None => Ok(RecordsMetadata::default()),
    })
}

/// Where the metadata of a file of `size` bytes end, as far as `head`, its first bytes, shows.
pub(crate) fn metadata_end(head: &[u8], size: u64) -> u64 {
    let Ok(header_end) = Chunk::header_end(SIGNATURE_LEN, size) else { return size };
    let header = head.get(SIGNATURE_LEN as usize..header_end as usize);
    match header.map(|bytes| Chunk::parse(SIGNATURE_LEN, bytes, size)) {
        Some(Ok(chunk)) if chunk.header.kind() == Ok(ChunkKind::Metadata) => chunk.end,
        _ => header_end,
    }
}

/// The metadata of a file whose signature is damaged, if they are whole.
pub(crate) async fn read_metadata_alone(file: RecordFile, counters: Arc<ScanCounters>) -> RecordsMetadata {
    match metadata_chunk(file, counters).await {
        Ok(Some((chunk, data))) => parse_metadata(&chunk, &data).unwrap_or_default(),
        Ok(None) | Err(_) => RecordsMetadata::default(),
    }
}

/// The metadata chunk behind where the signature is, or was, with its data.
pub(crate) async fn metadata_chunk(
    file: RecordFile,
    counters: Arc<ScanCounters>,
) -> ReadResult<Option<(Chunk, Bytes)>> {
    let end = SIGNATURE_LEN.saturating_add(1).min(file.size);
    next_metadata(&mut ChunkReader::at(file, SIGNATURE_LEN, end, counters)).await
}

async fn next_metadata(chunks: &mut ChunkReader) -> ReadResult<Option<(Chunk, Bytes)>> {
    let Some(chunk) = chunks.next_chunk().await? else { return Ok(None) };
    match chunk.header.kind().map_err(Damage::at(chunk.begin))? {
        ChunkKind::Metadata => {
            let data = chunks.read_data(&chunk).await?;
            Ok(Some((chunk, data)))
        }
        _ => Ok(None),
    }
}

fn parse_metadata(chunk: &Chunk, data: &Bytes) -> Result<RecordsMetadata, ChunkFault> {
    let message = ChunkDecoder::default().decode_metadata(&chunk.header, data)?;
    RecordsMetadata::parse(&message)
}
