//! The records of a range as the row groups of a scan.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use futures::stream::BoxStream;
use recordfusion_core::{
    ColumnBounds, RecordBlock, RestOfRows, Result, RowGroup, RowGroups, ScanCounters, ScanRequest,
};
use recordfusion_protobuf::{BatchDecoder, DecodedBatch};

use crate::coalesce::{CoalescedItems, ScanItem};

/// A chunk whose columns may be had without putting its records together.
pub trait ColumnChunk: Send {
    /// What takes the columns of one projection from chunks; it keeps its memory from chunk to chunk.
    type Reader: Send;

    /// All its rows, with the columns of `decoder`; `None` if they have to be decoded from its records.
    fn columns(&mut self, reader: &mut Self::Reader, decoder: &mut BatchDecoder) -> Option<RecordBatch>;

    /// Bounds of one of the decoder's columns, by its index in the schema of the batches. Little is read for it.
    fn bounds(
        &mut self,
        reader: &mut Self::Reader,
        decoder: &BatchDecoder,
        column: usize,
    ) -> Option<ColumnBounds>;

    /// Its records; `None` if it is lost to damage that is passed over.
    ///
    /// # Errors
    /// Those of the format.
    fn records(&mut self, reader: &mut Self::Reader) -> Result<Option<RecordBlock>>;
}

/// The chunks of formats whose columns are had from records only: there are none.
#[derive(Debug, Clone, Copy)]
pub enum NoColumnChunk {}

impl ColumnChunk for NoColumnChunk {
    type Reader = ();

    fn columns(&mut self, (): &mut (), _: &mut BatchDecoder) -> Option<RecordBatch> {
        match *self {}
    }

    fn bounds(&mut self, (): &mut (), _: &BatchDecoder, _: usize) -> Option<ColumnBounds> {
        match *self {}
    }

    fn records(&mut self, (): &mut ()) -> Result<Option<RecordBlock>> {
        match *self {}
    }
}

/// What a range has for a scan, in file order.
pub type ItemStream<C> = BoxStream<'static, Result<ScanItem<C>>>;

/// Decodes the columns of one projection.
#[derive(Debug)]
pub struct RecordColumns<R> {
    /// From records.
    pub decoder: BatchDecoder,
    /// From chunks.
    pub reader: R,
}

/// The records of a range: blocks worth a batch, and chunks that become columns.
pub(crate) struct RecordGroups<C> {
    items: CoalescedItems<C>,
    source: Source,
}

/// The file, for messages, and where to count.
#[derive(Clone)]
struct Source {
    file: Arc<str>,
    counters: Arc<ScanCounters>,
}

impl<C: ColumnChunk> RecordGroups<C> {
    pub(crate) fn new(items: ItemStream<C>, request: &ScanRequest) -> Self {
        let source =
            Source { file: request.file.name.as_str().into(), counters: Arc::clone(&request.counters) };
        Self { items: CoalescedItems::new(items), source }
    }
}

impl<C: ColumnChunk> RowGroups for RecordGroups<C> {
    type Group = RecordGroup<C>;

    async fn next(&mut self, rows: usize) -> Result<Option<RecordGroup<C>>> {
        let rows = match self.items.next(rows).await? {
            None => return Ok(None),
            Some(ScanItem::Records(block)) => Rows::Records(UnreadRecords::new(block)),
            Some(ScanItem::Chunk(chunk)) => Rows::Chunk(chunk),
        };
        Ok(Some(RecordGroup { rows, source: self.source.clone() }))
    }
}

/// One block of records, or one chunk.
pub(crate) struct RecordGroup<C> {
    rows: Rows<C>,
    source: Source,
}

/// Where the rows of a group are.
///
/// ```text
///   Chunk ── columns ──► GivenChunk ── rest: columns, or those of its records
///     │ they need its records
///     ▼
///   Records ── a batch at a time ──► Records …
/// ```
enum Rows<C> {
    /// Not looked at yet.
    Chunk(C),
    /// All given out.
    GivenChunk(C),
    Records(UnreadRecords),
    /// Lost to damage that is passed over.
    Lost,
}

/// Records, some of which are decoded.
struct UnreadRecords {
    block: RecordBlock,
    /// Those that were decoded last; those behind them come next.
    last: Range<usize>,
}

impl UnreadRecords {
    fn new(block: RecordBlock) -> Self {
        Self { block, last: 0..0 }
    }
}

impl<C: ColumnChunk> RowGroup for RecordGroup<C> {
    type Columns = RecordColumns<C::Reader>;

    fn decodes_single_rows(&self) -> bool {
        matches!(self.rows, Rows::Records(_))
    }

    fn bounds(&mut self, columns: &mut Self::Columns, column: usize) -> Option<ColumnBounds> {
        match &mut self.rows {
            Rows::Chunk(chunk) => chunk.bounds(&mut columns.reader, &columns.decoder, column),
            _ => None,
        }
    }

    async fn next(&mut self, columns: &mut Self::Columns, rows: usize) -> Result<Option<RecordBatch>> {
        if let Some(batch) = self.columns_of_chunk(columns)? {
            return Ok(Some(batch));
        }
        match &mut self.rows {
            Rows::Records(records) => self.source.next_records(records, columns, rows),
            _ => Ok(None),
        }
    }

    async fn rest(&mut self, columns: &mut Self::Columns, keep: &BooleanArray) -> Result<RestOfRows> {
        let (block, first) = match &mut self.rows {
            Rows::GivenChunk(chunk) => {
                if let Some(batch) = chunk.columns(&mut columns.reader, &mut columns.decoder) {
                    return Ok(RestOfRows::All(batch));
                }
                match chunk.records(&mut columns.reader)? {
                    Some(block) => (block, 0),
                    None => return Ok(RestOfRows::Kept(Vec::new())),
                }
            }
            Rows::Records(UnreadRecords { block, last }) => (block.clone(), last.start),
            Rows::Chunk(_) | Rows::Lost => return Ok(RestOfRows::Kept(Vec::new())),
        };
        let kept = block.select(first, keep.values().iter());
        self.source.all_records(&kept, columns).map(RestOfRows::Kept)
    }
}

impl<C: ColumnChunk> RecordGroup<C> {
    /// All rows of a chunk that was not looked at yet; none if they have to be decoded from its records.
    fn columns_of_chunk(&mut self, columns: &mut RecordColumns<C::Reader>) -> Result<Option<RecordBatch>> {
        let mut chunk = match std::mem::replace(&mut self.rows, Rows::Lost) {
            Rows::Chunk(chunk) => chunk,
            others => {
                self.rows = others;
                return Ok(None);
            }
        };
        if let Some(batch) = chunk.columns(&mut columns.reader, &mut columns.decoder) {
            self.rows = Rows::GivenChunk(chunk);
            return Ok(Some(batch));
        }
        if let Some(block) = chunk.records(&mut columns.reader)? {
            self.rows = Rows::Records(UnreadRecords::new(block));
        }
        Ok(None)
    }
}

impl Source {
    /// The columns of the next records, about `rows` of them.
    fn next_records<R>(
        &self,
        records: &mut UnreadRecords,
        columns: &mut RecordColumns<R>,
        rows: usize,
    ) -> Result<Option<RecordBatch>> {
        let begin = records.last.end;
        if begin >= records.block.len() {
            return Ok(None);
        }
        let end = records.block.len().min(begin.saturating_add(rows));
        let DecodedBatch { batch, consumed } = self.decode(columns, &records.block, begin..end)?;
        records.last = begin..begin.saturating_add(consumed);
        Ok(Some(batch))
    }

    /// The columns of all records of a block, in as many batches as they need.
    fn all_records<R>(
        &self,
        block: &RecordBlock,
        columns: &mut RecordColumns<R>,
    ) -> Result<Vec<RecordBatch>> {
        let (mut batches, mut at) = (Vec::new(), 0);
        while at < block.len() {
            let DecodedBatch { batch, consumed } = self.decode(columns, block, at..block.len())?;
            batches.push(batch);
            at = at.saturating_add(consumed);
        }
        Ok(batches)
    }

    fn decode<R>(
        &self,
        columns: &mut RecordColumns<R>,
        block: &RecordBlock,
        rows: Range<usize>,
    ) -> Result<DecodedBatch> {
        let decode = || columns.decoder.decode(&self.file, block, rows, &self.counters);
        self.counters.decode_time.time(decode)
    }
}

#[cfg(test)]
mod tests;
