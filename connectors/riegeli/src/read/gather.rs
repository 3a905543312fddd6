//! Small blocks put together, so that a batch does not refer to a buffer for each of many chunks.

use recordfusion_core::{RecordBlock, RecordBlockBuilder};

use super::{BlockReader, Large, Piece, ReadError, ReadResult};

/// Bytes of a block from which on it is used as it is.
const LARGE: usize = 256 << 10;
/// Bytes of small blocks that are gathered at most.
const GATHERED: usize = 1 << 20;

/// The records of a range, in blocks worth a batch.
pub(crate) struct GatheredBlocks {
    pub blocks: BlockReader,
    builder: RecordBlockBuilder,
    next: Option<Result<Piece, ReadError>>,
}

impl GatheredBlocks {
    /// Gathers the blocks of `blocks`.
    pub fn new(blocks: BlockReader) -> Self {
        Self { blocks, builder: RecordBlockBuilder::default(), next: None }
    }

    /// Hands out transposed chunks that would not be gathered as they are, or none.
    pub fn keep_transposed(&mut self, keep: bool, rows: usize) {
        self.blocks.keep_large(keep.then_some(Large { rows, bytes: LARGE }));
    }

    /// The next records; at least `rows` if there are as many, unless they are many bytes. What was read
    /// before a fault comes before it.
    pub async fn next(&mut self, rows: usize) -> ReadResult<Option<Piece>> {
        loop {
            let next = match self.next.take() {
                Some(next) => Some(next),
                None => self.blocks.next().await.transpose(),
            };
            match next {
                Some(Ok(Piece::Records(block))) if self.is_small(&block, rows) => {
                    self.builder.append(&block);
                    if self.builder.rows() >= rows || self.builder.bytes() >= GATHERED {
                        return Ok(Some(Piece::Records(self.builder.finish())));
                    }
                }
                next if self.builder.rows() > 0 => {
                    self.next = next;
                    return Ok(Some(Piece::Records(self.builder.finish())));
                }
                next => return next.transpose(),
            }
        }
    }

    fn is_small(&self, block: &RecordBlock, rows: usize) -> bool {
        block.len() < rows && block.data().len() < LARGE && self.builder.fits(block)
    }
}
