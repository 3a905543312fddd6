//! Where the records of an ArrayRecord file end and its index begins.

use std::sync::Arc;

use recordfusion_core::{RecordFile, Result, ScanCounters};

use crate::array_record::{footer_offset, postscript_offset};
use crate::compression::Decompressor;
use crate::hash::hash;
use crate::header::{Chunk, ChunkKind};
use crate::position::{BLOCK_HEADER, CHUNK_HEADER};
use crate::simple;

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
        let bytes = file.read(offset..offset + POSTSCRIPT_READ).await?;
        counters.bytes_scanned.add(bytes.len() as u64);
        part.size = footer_of(&bytes, offset, file.size).unwrap_or(file.size);
    }
    Ok(part)
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
