//! Small blocks put together, so that a batch does not refer to a buffer for each of many chunks.

use recordfusion_core::{RecordBlock, RecordBlockBuilder};

use super::{BlockReader, ReadError, ReadResult};

/// Bytes of a block from which on it is used as it is.
const LARGE: usize = 256 << 10;
/// Bytes of small blocks that are gathered at most.
const GATHERED: usize = 1 << 20;

/// The records of a range, in blocks worth a batch.
pub(crate) struct GatheredBlocks {
    blocks: BlockReader,
    builder: RecordBlockBuilder,
    next: Option<Result<RecordBlock, ReadError>>,
}

impl GatheredBlocks {
    /// Gathers the blocks of `blocks`.
    pub fn new(blocks: BlockReader) -> Self {
        Self { blocks, builder: RecordBlockBuilder::default(), next: None }
    }

    /// The next records; at least `rows` if there are as many, unless they are many bytes. What was read
    /// before a fault comes before it.
    pub async fn next(&mut self, rows: usize) -> ReadResult<Option<RecordBlock>> {
        loop {
            let next = match self.next.take() {
                Some(next) => Some(next),
                None => self.blocks.next().await.transpose(),
            };
            match next {
                Some(Ok(block)) if self.is_small(&block, rows) => {
                    self.builder.append(&block);
                    if self.builder.rows() >= rows || self.builder.bytes() >= GATHERED {
                        return Ok(Some(self.builder.finish()));
                    }
                }
                next if self.builder.rows() > 0 => {
                    self.next = next;
                    return Ok(Some(self.builder.finish()));
                }
                next => return next.transpose(),
            }
        }
    }

    fn is_small(&self, block: &RecordBlock, rows: usize) -> bool {
        block.len() < rows && block.data().len() < LARGE && self.builder.fits(block)
    }
}
