//! Small blocks of records coalesced, so that a batch does not refer to a buffer for each of many chunks.

use futures::stream::{BoxStream, StreamExt, TryStreamExt};

use recordfusion_core::{BlockStream, RecordBlock, RecordBlockBuilder, RecordFile, Result};

/// Bytes of a block from which on it is used as it is.
pub const LARGE_BLOCK: usize = 256 << 10;
/// Bytes of small blocks that are coalesced at most.
const COALESCED: usize = 1 << 20;

/// What a chunk has for a scan.
#[derive(Debug)]
pub enum ScanItem<C> {
    /// Its records.
    Records(RecordBlock),
    /// Itself, to be decoded in another way.
    Chunk(C),
}

/// The items of a stream, records in blocks worth a batch.
pub struct CoalescedItems<C> {
    items: BoxStream<'static, Result<ScanItem<C>>>,
    builder: RecordBlockBuilder,
    next: Option<Result<ScanItem<C>>>,
}

impl<C> CoalescedItems<C> {
    /// Coalesces the blocks among `items`.
    pub fn new(items: BoxStream<'static, Result<ScanItem<C>>>) -> Self {
        Self { items, builder: RecordBlockBuilder::default(), next: None }
    }

    /// The next records, or the next chunk; at least `rows` records if there are as many together, unless they
    /// are many bytes. What was read before an error comes before it.
    ///
    /// # Errors
    /// Those of the stream; nothing comes after one.
    pub async fn next(&mut self, rows: usize) -> Result<Option<ScanItem<C>>> {
        loop {
            let next = match self.next.take() {
                Some(next) => Some(next),
                None => self.items.next().await,
            };
            match next {
                Some(Ok(ScanItem::Records(block))) if self.is_small(&block, rows) => {
                    self.builder.append(&block);
                    if self.builder.rows() >= rows || self.builder.bytes() >= COALESCED {
                        return Ok(Some(ScanItem::Records(self.builder.finish())));
                    }
                }
                next if self.builder.rows() > 0 => {
                    self.next = next;
                    return Ok(Some(ScanItem::Records(self.builder.finish())));
                }
                next => return next.transpose(),
            }
        }
    }

    fn is_small(&self, block: &RecordBlock, rows: usize) -> bool {
        block.len() < rows && block.data().len() < LARGE_BLOCK && self.builder.fits(block)
    }
}

/// The first records of `files` together: at least `wanted`, if they have so many, up to the end of a block.
///
/// # Errors
/// Those of the streams that `records` opens.
pub async fn first_blocks(
    files: &[RecordFile],
    wanted: usize,
    records: impl Fn(&RecordFile) -> BlockStream,
) -> Result<Vec<RecordBlock>> {
    let mut first: Vec<RecordBlock> = Vec::new();
    let mut left = wanted;
    for file in files {
        if left == 0 {
            break;
        }
        let mut blocks = records(file);
        while left > 0
            && let Some(block) = blocks.try_next().await?
        {
            left = left.saturating_sub(block.len());
            first.push(block);
        }
    }
    Ok(first)
}

#[cfg(test)]
mod tests {
    use arrow::buffer::Buffer;
    use futures::executor::block_on;
    use futures::stream;

    use super::*;
    use recordfusion_core::Error;

    /// A block of `records` records of `len` bytes.
    fn block(records: u32, len: u32) -> Result<RecordBlock> {
        let data = Buffer::from(vec![7u8; (records * len) as usize]);
        let places = (0..records).map(|at| (at * len, (at + 1) * len)).collect();
        Ok(RecordBlock::new(data, places, 0).expect("places lie inside"))
    }

    /// The records of each block that `rows` rows are asked of, and whether it ends with an error.
    fn coalesced(blocks: Vec<Result<RecordBlock>>, rows: usize) -> (Vec<usize>, bool) {
        let mut blocks = CoalescedItems::<()>::new(stream::iter(blocks).map_ok(ScanItem::Records).boxed());
        let mut lens = Vec::new();
        loop {
            match block_on(blocks.next(rows)) {
                Ok(Some(ScanItem::Records(block))) => lens.push(block.len()),
                end => return (lens, end.is_err()),
            }
        }
    }

    #[test]
    fn small_blocks_are_joined_and_large_ones_are_not() {
        assert_eq!(coalesced(vec![block(3, 5), block(4, 5), block(5, 5)], 7), (vec![7, 5], false));
        assert_eq!(coalesced(vec![block(3, 5), block(100, 1), block(1, 5)], 10), (vec![3, 100, 1], false));
        assert_eq!(coalesced(vec![block(1, 5), block(2, 200_000), block(1, 5)], 10), (vec![1, 2, 1], false));
        assert_eq!(coalesced((0..12).map(|_| block(1, 200_000)).collect(), 100), (vec![6, 6], false));
        assert_eq!(coalesced(vec![], 10), (vec![], false));
    }

    #[test]
    fn what_was_read_comes_before_the_error() {
        let broken = || Err(Error::Schema("broken".to_string()));
        assert_eq!(coalesced(vec![block(3, 5), broken()], 10), (vec![3], true));
        assert_eq!(coalesced(vec![broken()], 10), (vec![], true));
    }
}
