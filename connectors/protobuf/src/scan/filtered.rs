//! A scan that gives out only the rows that its filter keeps.
//!
//! The columns of the filter are decoded first, and the others only of records, or of chunks, that have rows left.
//! Where that saves little, since most rows or most chunks are kept, all columns are decoded at once.

use std::ops::Range;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::datatypes::Schema;
use recordfusion_core::{GatheredBlocks, Piece, RecordBlock, Result, ScanRequest};

use super::output::Output;
use super::plan::{Filter, Late};
use super::{ColumnChunk, PieceStream, Stage};
use crate::batch::{BatchDecoder, DecodedBatch};

pub(super) struct FilteredScan {
    pieces: GatheredBlocks<Box<dyn ColumnChunk>>,
    request: ScanRequest,
    all: BatchDecoder,
    filter: Filter,
    /// Rows that the limit still allows.
    left: usize,
    /// Records, and how many of them were looked at.
    current: Option<(RecordBlock, usize)>,
    ended: bool,
    output: Output,
    rows: Saving,
    chunks: Saving,
}

/// How much of what came of late was left out: the part of the rows, or of the chunks.
#[derive(Debug, Clone, Copy)]
struct Saving(f64);

impl Saving {
    /// The part that has to be left out for two steps to be worth more than they cost.
    const WORTH: f64 = 0.4;
    /// What the next one counts against those before it.
    const WEIGHT: f64 = 0.2;

    fn is_worth_it(self) -> bool {
        self.0 >= Self::WORTH
    }

    fn add(&mut self, left_out: f64) {
        self.0 += Self::WEIGHT * (left_out - self.0);
    }
}

impl FilteredScan {
    pub fn new(pieces: PieceStream, all: BatchDecoder, filter: Filter, request: ScanRequest) -> Self {
        let wanted = request.projection.columns.len();
        let fields: Vec<_> = all.schema().fields().iter().take(wanted).cloned().collect();
        let schema = Schema::new_with_metadata(fields, all.schema().metadata().clone());
        Self {
            pieces: GatheredBlocks::new(pieces),
            output: Output::new(schema.into(), request.batch_size),
            left: request.limit.unwrap_or(usize::MAX),
            all,
            filter,
            request,
            current: None,
            ended: false,
            rows: Saving(1.0),
            chunks: Saving(1.0),
        }
    }

    #[expect(clippy::arithmetic_side_effects, reason = "no batch has more rows than are left")]
    pub async fn next(&mut self) -> Result<Option<RecordBatch>> {
        while self.left > 0 {
            if let Some(batch) = self.output.next(self.ended, self.left)? {
                self.left -= batch.num_rows();
                return Ok(Some(batch));
            }
            if self.ended {
                break;
            }
            match self.current.take() {
                Some((block, begin)) => self.records(block, begin)?,
                None => match self.pieces.next(self.request.batch_size).await? {
                    Some(Piece::Records(block)) => self.current = Some((block, 0)),
                    Some(Piece::Chunk(chunk)) => self.chunk(chunk)?,
                    None => self.ended = true,
                },
            }
        }
        Ok(None)
    }

    /// Looks at the next records of a block; the others are for later.
    #[expect(clippy::arithmetic_side_effects, reason = "no more records are consumed than the block has")]
    fn records(&mut self, block: RecordBlock, begin: usize) -> Result<()> {
        let rows = begin..block.len().min(begin.saturating_add(self.request.batch_size));
        let late = self.rows.is_worth_it() && self.filter.late.is_some();
        let decoder = match &mut self.filter.late {
            Some(late) if self.rows.is_worth_it() => &mut late.first,
            _ => &mut self.all,
        };
        let DecodedBatch { batch, consumed } = decode(decoder, &self.request, &block, rows)?;
        if late {
            let keep = self.keep(&batch)?;
            self.rows.add(left_out(&keep));
            self.rest_of_records(&block, begin, &batch, &keep)?;
        } else {
            let keep = self.push_all(&batch)?;
            self.rows.add(left_out(&keep));
        }
        if begin + consumed < block.len() {
            self.current = Some((block, begin + consumed));
        }
        Ok(())
    }

    /// The other columns of the records from `begin` on that are kept; those of the filter are known.
    #[expect(clippy::arithmetic_side_effects, reason = "no more records are consumed than are kept")]
    fn rest_of_records(
        &mut self,
        block: &RecordBlock,
        begin: usize,
        first: &RecordBatch,
        keep: &BooleanArray,
    ) -> Result<()> {
        let Some(late) = &mut self.filter.late else { return Ok(()) };
        if keep.true_count() == 0 {
            return Ok(());
        }
        let kept = block.select(begin, keep.values().iter());
        let first = arrow::compute::filter_record_batch(first, keep)?;
        let mut at = 0;
        while at < kept.len() {
            let DecodedBatch { batch, consumed } =
                decode(&mut late.rest, &self.request, &kept, at..kept.len())?;
            let columns = late.join(&first.slice(at, consumed), &batch);
            self.output.push(columns, &all_of(consumed))?;
            at += consumed;
        }
        Ok(())
    }

    /// Looks at the rows of a chunk.
    fn chunk(&mut self, mut chunk: Box<dyn ColumnChunk>) -> Result<()> {
        let Filter { predicate, late, .. } = &mut self.filter;
        let Some(late) = late else { return self.whole_chunk(chunk) };
        if !predicate.may_keep(&mut |column| chunk.bounds(&late.first, column)) {
            self.request.counters.chunks_pruned.add(1);
            return Ok(());
        }
        if !self.chunks.is_worth_it() {
            return self.whole_chunk(chunk);
        }
        let Some(first) = chunk.columns(Stage::First, &mut late.first) else {
            return self.rebuilt(chunk.as_mut());
        };
        let keep = self.keep(&first)?;
        self.chunks.add(chunk_left_out(&keep));
        match keep.true_count() {
            0 => Ok(()),
            _ => self.rest_of_chunk(chunk, &first, &keep),
        }
    }

    fn rest_of_chunk(
        &mut self,
        mut chunk: Box<dyn ColumnChunk>,
        first: &RecordBatch,
        keep: &BooleanArray,
    ) -> Result<()> {
        let Some(late) = &mut self.filter.late else { return Ok(()) };
        if late.needs_no_rest() {
            return self.output.push(late.join(first, first), keep);
        }
        if let Some(rest) = chunk.columns(Stage::Rest, &mut late.rest) {
            return self.output.push(late.join(first, &rest), keep);
        }
        match chunk.records()? {
            Some(block) => self.rest_of_records(&block, 0, first, keep),
            None => Ok(()),
        }
    }

    /// All columns of a chunk at once.
    fn whole_chunk(&mut self, mut chunk: Box<dyn ColumnChunk>) -> Result<()> {
        let Some(batch) = chunk.columns(Stage::All, &mut self.all) else {
            return self.rebuilt(chunk.as_mut());
        };
        let keep = self.push_all(&batch)?;
        self.chunks.add(chunk_left_out(&keep));
        Ok(())
    }

    /// A chunk that has to be put together.
    fn rebuilt(&mut self, chunk: &mut dyn ColumnChunk) -> Result<()> {
        self.current = chunk.records()?.map(|block| (block, 0));
        Ok(())
    }

    /// Gives out the rows of a batch of all columns that are kept.
    fn push_all(&mut self, batch: &RecordBatch) -> Result<BooleanArray> {
        let keep = self.keep(&batch.project(&self.filter.among_all)?)?;
        let wanted = self.request.projection.columns.len();
        self.output.push(batch.columns().iter().take(wanted).cloned().collect(), &keep)?;
        Ok(keep)
    }

    #[expect(clippy::arithmetic_side_effects, reason = "no more rows are kept than there are")]
    fn keep(&self, columns: &RecordBatch) -> Result<BooleanArray> {
        let keep = self.filter.predicate.keep(columns)?;
        self.request.counters.rows_filtered.add((keep.len() - keep.true_count()) as u64);
        Ok(keep)
    }
}

impl Late {
    /// Whether all wanted columns are the filter's.
    fn needs_no_rest(&self) -> bool {
        self.rest.schema().fields().is_empty()
    }
}

fn decode(
    decoder: &mut BatchDecoder,
    request: &ScanRequest,
    block: &RecordBlock,
    rows: Range<usize>,
) -> Result<DecodedBatch> {
    let (file, counters) = (&request.file, &request.counters);
    counters.decode_time.time(|| decoder.decode(&file.name, block, rows, counters))
}

fn all_of(rows: usize) -> BooleanArray {
    BooleanArray::new(arrow::buffer::BooleanBuffer::new_set(rows), None)
}

/// The part of the rows that is left out.
fn left_out(keep: &BooleanArray) -> f64 {
    1.0 - keep.true_count() as f64 / keep.len().max(1) as f64
}

/// Whether a chunk is left out.
fn chunk_left_out(keep: &BooleanArray) -> f64 {
    if keep.true_count() == 0 { 1.0 } else { 0.0 }
}
