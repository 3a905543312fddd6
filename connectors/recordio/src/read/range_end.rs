//! Where one range ends and the next one begins.
//!
//! The next range hops to its first chunk where chunks are few, and searches for it elsewhere; it must come to the
//! chunk behind the last one of this range. How it begins depends on bytes of the file alone, so that this range can
//! tell: see [`RangeEnd`].

use recordfusion_core::{RangeEnd, Result};

use super::{ChunkSource, ReadError, ReadResult};

/// Checks that nothing that looks like a chunk misleads the next range.
pub(super) async fn check(end: RangeEnd, chunks: &mut ChunkSource) -> Result<()> {
    let Some(disputed) = end.disputed() else { return Ok(()) };
    match chunks.find(disputed.start, disputed.end).await? {
        Some(inner) => Err(chunks.file().inner_chunk(inner.begin)),
        None => Ok(()),
    }
}

/// The same where damage is an error, behind a range to whose end hops do not come: the next range searches, and must
/// not pass over a chunk that is not intact.
pub(crate) async fn check_strictly(end: RangeEnd, chunks: &mut ChunkSource) -> ReadResult<()> {
    check(end, chunks).await?;
    if end.next >= chunks.file().size {
        return Ok(());
    }
    let chunk = chunks.chunk_at(end.next).await?;
    chunk.map(drop).map_err(ReadError::at(end.next))
}
