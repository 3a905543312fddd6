//! Blocks of records, and chunks that can do without them, to batches of columns.

mod filtered;
mod output;
mod plan;

use arrow::array::RecordBatch;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use recordfusion_core::{
    BatchStream, BlockStream, ColumnBounds, GatheredBlocks, Piece, RecordBlock, Result, ScanRequest, compact,
};

use crate::batch::{BatchDecoder, DecodedBatch};
use filtered::FilteredScan;
pub use plan::{ScanPlan, Stage};

/// A chunk whose columns may be had without putting its records together.
pub trait ColumnChunk: Send {
    /// All its rows, with the columns of the plan's decoder `stage`; `None` if they have to be decoded from its
    /// records.
    fn columns(&mut self, stage: Stage, decoder: &mut BatchDecoder) -> Option<RecordBatch>;

    /// Bounds of one of the decoder's columns, by its index in the schema of the batches. Little is read for it.
    fn bounds(&mut self, decoder: &BatchDecoder, column: usize) -> Option<ColumnBounds> {
        let _ = (decoder, column);
        None
    }

    /// Its records, if it has some.
    ///
    /// # Errors
    /// Those of the format.
    fn records(&mut self) -> Result<Option<RecordBlock>>;
}

/// The chunks of a range, in order.
pub type PieceStream = BoxStream<'static, Result<Piece<Box<dyn ColumnChunk>>>>;

/// The records of `blocks`, which are those of the request's range, as the batches of the request. Small blocks are
/// put together; a block is read when the batch before it is taken.
pub fn scan_batches(blocks: BlockStream, plan: ScanPlan, request: ScanRequest) -> BatchStream {
    scan_pieces(blocks.map_ok(Piece::Records).boxed(), plan, request)
}

/// Like [`scan_batches`]; chunks that are no records yet become columns if they can.
pub fn scan_pieces(pieces: PieceStream, plan: ScanPlan, request: ScanRequest) -> BatchStream {
    let ScanPlan { all, filter } = plan;
    if let Some(filter) = filter {
        let scan = FilteredScan::new(pieces, all, filter, request);
        return stream::try_unfold(scan, |mut scan| async move {
            Ok(scan.next().await?.map(|batch| (batch, scan)))
        })
        .boxed();
    }
    let scan = BatchScan {
        pieces: GatheredBlocks::new(pieces),
        decoder: all,
        left: request.limit.unwrap_or(usize::MAX),
        current: None,
        request,
    };
    stream::try_unfold(scan, |mut scan| async move { Ok(scan.next().await?.map(|batch| (batch, scan))) })
        .boxed()
}

struct BatchScan {
    pieces: GatheredBlocks<Box<dyn ColumnChunk>>,
    decoder: BatchDecoder,
    request: ScanRequest,
    /// Rows that the limit still allows.
    left: usize,
    /// What was read and not yet handed out.
    current: Option<Current>,
}

/// What the next batches come from.
enum Current {
    /// Records, and how many of them were decoded.
    Records(RecordBlock, usize),
    /// Rows that are decoded.
    Rows(RecordBatch),
}

impl BatchScan {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let wanted = self.request.batch_size.min(self.left);
        if wanted == 0 {
            return Ok(None);
        }
        let current = match self.current.take() {
            Some(current) => current,
            None => match self.read(wanted).await? {
                Some(current) => current,
                None => return Ok(None),
            },
        };
        match current {
            Current::Records(block, begin) => self.decode(block, begin, wanted).map(Some),
            Current::Rows(rows) => self.slice(&rows, wanted).map(Some),
        }
    }

    /// The next records, or the rows of the next chunk.
    async fn read(&mut self, wanted: usize) -> Result<Option<Current>> {
        while let Some(piece) = self.pieces.next(wanted).await? {
            let mut chunk = match piece {
                Piece::Records(block) => return Ok(Some(Current::Records(block, 0))),
                Piece::Chunk(chunk) => chunk,
            };
            if let Some(rows) = chunk.columns(Stage::All, &mut self.decoder) {
                return Ok(Some(Current::Rows(rows)));
            }
            if let Some(block) = chunk.records()? {
                return Ok(Some(Current::Records(block, 0)));
            }
        }
        Ok(None)
    }

    /// Decodes up to `wanted` records; the others are for later.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "no more records are consumed than the block has, nor are there more rows than are left"
    )]
    fn decode(&mut self, block: RecordBlock, begin: usize, wanted: usize) -> Result<RecordBatch> {
        let end = block.len().min(begin.saturating_add(wanted));
        let (file, counters) = (&self.request.file, &self.request.counters);
        let decode = || self.decoder.decode(&file.name, &block, begin..end, counters);
        let DecodedBatch { batch, consumed } = counters.decode_time.time(decode)?;
        self.left -= batch.num_rows();
        if begin + consumed < block.len() {
            self.current = Some(Current::Records(block, begin + consumed));
        }
        Ok(batch)
    }

    /// The first `wanted` rows; the others are for later.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "a part has no more rows than the whole, nor than are left"
    )]
    fn slice(&mut self, rows: &RecordBatch, wanted: usize) -> Result<RecordBatch> {
        let len = wanted.min(rows.num_rows());
        self.left -= len;
        if len < rows.num_rows() {
            self.current = Some(Current::Rows(rows.slice(len, rows.num_rows() - len)));
        }
        compact(&rows.slice(0, len))
    }
}
