//! Blocks of records to batches of columns.

use arrow::array::RecordBatch;
use futures::stream::{self, StreamExt};
use recordfusion_core::{BatchStream, BlockStream, GatheredBlocks, RecordBlock, Result, ScanRequest};

use crate::batch::{BatchDecoder, DecodedBatch};

/// The records of `blocks`, which are those of the request's range, as the batches of the request. Small blocks are
/// put together; a block is read when the batch before it is taken.
pub fn scan_batches(blocks: BlockStream, decoder: BatchDecoder, request: ScanRequest) -> BatchStream {
    let scan = BatchScan {
        blocks: GatheredBlocks::new(blocks),
        decoder,
        left: request.limit.unwrap_or(usize::MAX),
        current: None,
        request,
    };
    stream::try_unfold(scan, |mut scan| async move { Ok(scan.next().await?.map(|batch| (batch, scan))) })
        .boxed()
}

struct BatchScan {
    blocks: GatheredBlocks,
    decoder: BatchDecoder,
    request: ScanRequest,
    /// Rows that the limit still allows.
    left: usize,
    /// Records that were read, and how many of them were decoded.
    current: Option<(RecordBlock, usize)>,
}

impl BatchScan {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let wanted = self.request.batch_size.min(self.left);
        if wanted == 0 {
            return Ok(None);
        }
        let (block, begin) = match self.current.take() {
            Some(current) => current,
            None => match self.blocks.next(wanted).await? {
                Some(block) => (block, 0),
                None => return Ok(None),
            },
        };
        let end = block.len().min(begin + wanted);
        let (file, counters) = (&self.request.file, &self.request.counters);
        let decode = || self.decoder.decode(&file.name, &block, begin..end, counters);
        let DecodedBatch { batch, consumed } = counters.decode_time.time(decode)?;
        self.left -= batch.num_rows();
        if begin + consumed < block.len() {
            self.current = Some((block, begin + consumed));
        }
        Ok(Some(batch))
    }
}
