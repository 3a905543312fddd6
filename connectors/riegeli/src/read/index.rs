//! Where the records of an ArrayRecord file end and its index begins.

use std::sync::Arc;

use recordfusion_core::{RecordFile, Result, ScanCounters};

use super::ChunkReader;
use super::resync::Resync;
use crate::array_record::{Footer, footer_offset, postscript_offset};
use crate::compression::Decompressor;
use crate::fault::LIMITS;
use crate::hash::hash;
use crate::header::{Chunk, ChunkKind};
use crate::position::{BLOCK, BLOCK_HEADER, CHUNK_HEADER};
use crate::simple;

/// How the names of ArrayRecord files end.
const EXTENSIONS: [&str; 2] = [".array_record", ".arrayrecord"];

/// Bytes read of the last block. The data of a postscript chunk are 44 bytes long.
const POSTSCRIPT_READ: u64 = 256;
/// Bytes of block header and chunk header.
const HEADERS: usize = (BLOCK_HEADER + CHUNK_HEADER) as usize;

/// The part of the file in front of the index of an ArrayRecord file, or else the whole file.
///
/// A postscript with the right hashes is believed, whatever the state of the footer that it points to.
pub(crate) async fn data_part(file: &RecordFile, counters: &Arc<ScanCounters>) -> Result<RecordFile> {
    let mut part = file.clone();
    if let Some(offset) = postscript_offset(file.size) {
        let bytes = file.read(offset..offset.saturating_add(POSTSCRIPT_READ)).await?;
        counters.bytes_scanned.add(bytes.len() as u64);
        part.size = footer_of(&bytes, offset, file.size).unwrap_or(file.size);
    }
    Ok(part)
}

/// The same of a file that may be damaged. If it has no postscript any more but once had one, by its length or its
/// name, the index begins with the last chunk of records, provided that this is a footer: nobody takes it for records.
pub(crate) async fn data_part_of_damaged(
    file: &RecordFile,
    counters: &Arc<ScanCounters>,
) -> Result<RecordFile> {
    let mut part = data_part(file, counters).await?;
    let has_name = EXTENSIONS.iter().any(|extension| file.name.ends_with(extension));
    if part.size == file.size && (has_name || postscript_offset(file.size).is_some()) {
        part.size = damaged_index(file, counters).await?.unwrap_or(file.size);
    }
    Ok(part)
}

/// Where the index begins, by the last intact chunk of the layout that it has.
async fn damaged_index(file: &RecordFile, counters: &Arc<ScanCounters>) -> Result<Option<u64>> {
    let mut resync = Resync::new(file.clone(), Arc::clone(counters));
    let mut back = BLOCK;
    loop {
        let begin = file.size.saturating_sub(back);
        for chunk in simple_chunks(&mut resync, begin, file.size).await?.iter().rev() {
            let end = chunk.begin.saturating_add(1);
            let mut chunks = ChunkReader::at(file.clone(), chunk.begin, end, Arc::clone(counters));
            let Ok(Some(chunk)) = chunks.next_chunk().await else { continue };
            if let Ok(data) = chunks.read_data(&chunk).await {
                return Ok(index_of(&chunk, &data));
            }
        }
        if begin == 0 {
            return Ok(None);
        }
        back = back.saturating_mul(2);
    }
}

/// The simple chunks from `begin` on, by their headers.
async fn simple_chunks(resync: &mut Resync, begin: u64, end: u64) -> Result<Vec<Chunk>> {
    let (mut place, mut found) = (resync.first_at_or_behind(begin).await?, Vec::new());
    while place < end {
        place = match resync.check(place).await? {
            Ok(chunk) => {
                let is_simple = chunk.header.kind() == Ok(ChunkKind::Simple);
                if is_simple && chunk.header.check_limits(&LIMITS).is_ok() {
                    found.push(chunk);
                }
                resync.behind_chunk(&chunk).await?
            }
            Err(fault) => resync.behind(place, &fault).await?,
        };
    }
    Ok(found)
}

/// The offset of the footer, if a chunk is one, or a postscript.
fn index_of(chunk: &Chunk, data: &bytes::Bytes) -> Option<u64> {
    let records = simple::decode(&chunk.header, chunk.begin, data, &mut Decompressor::default()).ok()?;
    let footer = Footer::parse(&records, chunk.begin).ok().map(|_| chunk.begin);
    footer.or_else(|| footer_offset(records.record(0)?, chunk.begin))
}

/// Whether a file of `size` bytes is an ArrayRecord file, by its last block `tail`.
pub(crate) fn ends_with_index(size: u64, tail: &bytes::Bytes) -> bool {
    postscript_offset(size).is_some_and(|offset| footer_of(tail, offset, size).is_some())
}

/// The offset of the footer, if the bytes at `offset` are a postscript.
fn footer_of(bytes: &bytes::Bytes, offset: u64, file_size: u64) -> Option<u64> {
    let chunk = Chunk::parse(offset, bytes.get(..HEADERS)?, file_size).ok()?;
    let data_end = HEADERS.checked_add(usize::try_from(chunk.header.data_size).ok()?)?;
    let data = bytes.slice_ref(bytes.get(HEADERS..data_end)?);
    if chunk.header.kind() != Ok(ChunkKind::Simple) || hash(&data) != chunk.header.data_hash {
        return None;
    }
    let records = simple::decode(&chunk.header, offset, &data, &mut Decompressor::default()).ok()?;
    footer_offset(records.record(0)?, offset)
}
