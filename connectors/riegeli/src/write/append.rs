//! Appending to a file: what must be known of its end (section 8.2).
//!
//! [`FileWriter::append`](crate::write::FileWriter::append) needs the size of the file only. That a chunk
//! ends there, so that readers find what is appended, shows in the last block: read [`tail`] and [`check`] it.
//! A file with an index at its end, an ArrayRecord file, is not to be appended to.

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

use std::ops::Range;

use crate::fault::Fault;
use crate::header::{BlockHeader, Chunk, SIGNATURE};
use crate::position::{BLOCK, BLOCK_HEADER};

/// The bytes of a file of `size` bytes that [`check`] needs: its last block.
pub fn tail(size: u64) -> Range<u64> {
    let last = size.saturating_sub(1);
    last.saturating_sub(last % BLOCK)..size
}

/// Checks that a file of `size` bytes, of which `bytes` are the [`tail`], ends with a whole chunk. Chunk
/// data are not verified. A file without bytes is good.
///
/// # Errors
/// [`Fault::TruncatedHeader`] or [`Fault::TruncatedChunk`] if the file ends within a chunk; other faults of
/// headers if they are damaged or there is no file signature.
pub fn check(size: u64, bytes: &[u8]) -> Result<(), Fault> {
    let block = tail(size).start;
    if size == 0 {
        return Ok(());
    }
    if block == 0 && !bytes.starts_with(&SIGNATURE) {
        return Err(if SIGNATURE.starts_with(bytes) {
            Fault::TruncatedHeader
        } else {
            Fault::ChunkHeaderHash
        });
    }
    let header = bytes.get(..BLOCK_HEADER as usize).ok_or(Fault::TruncatedHeader)?;
    let header = BlockHeader::parse(block, header)?;
    let mut begin = header.first_chunk(block).ok_or(Fault::NextChunk { block })?;
    if let Some(missing) = begin.checked_sub(size).filter(|&missing| missing > 0) {
        return Err(Fault::TruncatedChunk { missing });
    }
    while begin < size {
        let header_end = Chunk::header_end(begin, size)?;
        let header = begin.saturating_sub(block) as usize..header_end.saturating_sub(block) as usize;
        let header = bytes.get(header).ok_or(Fault::TruncatedHeader)?;
        begin = Chunk::parse(begin, header, size)?.end;
    }
    Ok(())
}
