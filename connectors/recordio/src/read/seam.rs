//! Where one range ends and the next one begins, in files that have too many chunks to hop to it.
//!
//! The next range searches for its first chunk. It finds the one behind the last chunk of this range if that is
//! intact, and if no chunk lies inside the last chunk of this range. So this range checks both; damage and chunks
//! inside of records are then errors, whatever the ranges are.

use super::{ChunkSource, ReadError, ReadResult};
use crate::fault::Fault;

/// The end of a range, after its last chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seam {
    /// End of the range.
    pub range_end: u64,
    /// Begin of the last chunk of the range.
    pub last: u64,
    /// End of it.
    pub position: u64,
}

impl Seam {
    /// Checks that a range that begins at the end of this one finds the chunk behind the last one first.
    pub async fn check(self, chunks: &mut ChunkSource) -> ReadResult<()> {
        let Self { range_end, last, position } = self;
        let size = chunks.file().size;
        match chunks.find(range_end, size.min(position.saturating_add(1))).await? {
            Some(found) if found.begin == position => Ok(()),
            Some(found) => Err(ReadError::at(last)(Fault::Nested { inner: found.begin })),
            None if position >= size => Ok(()),
            None => {
                let chunk = chunks.chunk_at(position).await?;
                chunk.map(drop).map_err(ReadError::at(position))
            }
        }
    }
}
