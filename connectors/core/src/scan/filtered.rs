//! A scan that gives out only the rows that its filter keeps.
//!
//! The columns of the filter are decoded first, and the others only of rows, or of row groups, that have rows left.
//! Where that saves little, since most rows or most row groups are kept, all columns are decoded at once.

use arrow::array::{BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;

use super::output::Output;
use super::plan::{Filter, Late};
use super::{RestOfRows, RowGroup, RowGroups};
use crate::{Result, ScanRequest};

/// What decodes the columns of the row groups `G`.
type Columns<G> = <<G as RowGroups>::Group as RowGroup>::Columns;

pub(super) struct FilteredScan<G: RowGroups> {
    groups: G,
    request: ScanRequest,
    all: Columns<G>,
    filter: Filter<Columns<G>>,
    /// Rows that the limit still allows.
    left: usize,
    /// The row group whose rows come next.
    group: Option<G::Group>,
    ended: bool,
    output: Output,
    savings: Savings,
}

/// What was saved of late, where rows can be decoded one by one and where they cannot.
struct Savings {
    rows: Saving,
    groups: Saving,
}

/// The part of the rows, or of the row groups, that was left out of late.
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

impl Savings {
    fn of(&mut self, single_rows: bool) -> &mut Saving {
        if single_rows { &mut self.rows } else { &mut self.groups }
    }

    /// Takes note of what a filter kept.
    fn add(&mut self, single_rows: bool, keep: &BooleanArray) {
        let kept = keep.true_count();
        let left_out = match single_rows {
            true => 1.0 - kept as f64 / keep.len().max(1) as f64,
            false if kept == 0 => 1.0,
            false => 0.0,
        };
        self.of(single_rows).add(left_out);
    }
}

impl<G: RowGroups> FilteredScan<G> {
    pub fn new(
        groups: G,
        all: Columns<G>,
        filter: Filter<Columns<G>>,
        schema: SchemaRef,
        request: ScanRequest,
    ) -> Self {
        Self {
            groups,
            output: Output::new(schema, request.batch_size),
            left: request.limit.unwrap_or(usize::MAX),
            all,
            filter,
            request,
            group: None,
            ended: false,
            savings: Savings { rows: Saving(1.0), groups: Saving(1.0) },
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
            match self.group.take() {
                Some(group) => self.rows_of(group).await?,
                None => match self.groups.next(self.request.batch_size).await? {
                    Some(group) => self.begin(group),
                    None => self.ended = true,
                },
            }
        }
        Ok(None)
    }

    /// Goes on with a row group, unless none of its rows can be wanted.
    fn begin(&mut self, mut group: G::Group) {
        let Filter { predicate, late, .. } = &mut self.filter;
        if let Some(late) = late
            && !predicate.may_keep(&mut |column| group.bounds(&mut late.first, column))
        {
            self.request.counters.chunks_pruned.add(1);
            return;
        }
        self.group = Some(group);
    }

    /// Looks at the next rows of a row group; the others are for later.
    async fn rows_of(&mut self, mut group: G::Group) -> Result<()> {
        let single_rows = group.decodes_single_rows();
        let late = self.savings.of(single_rows).is_worth_it();
        let batch_size = self.request.batch_size;
        let (columns, late) = match &mut self.filter.late {
            Some(late_columns) if late => (&mut late_columns.first, true),
            _ => (&mut self.all, false),
        };
        let Some(batch) = group.next(columns, batch_size).await? else { return Ok(()) };
        // What the row group is may have changed: a chunk whose records had to be put together after all.
        let single_rows = group.decodes_single_rows();
        let keep = if late {
            let keep = self.keep(&batch)?;
            self.push_late(&mut group, &batch, &keep).await?;
            keep
        } else {
            self.push_all(&batch)?
        };
        self.savings.add(single_rows, &keep);
        self.group = Some(group);
        Ok(())
    }

    /// Gives out the rows that are kept: the columns of the filter are known, the others are decoded now.
    async fn push_late(
        &mut self,
        group: &mut G::Group,
        first: &RecordBatch,
        keep: &BooleanArray,
    ) -> Result<()> {
        let Some(late) = &mut self.filter.late else { return Ok(()) };
        if keep.true_count() == 0 {
            return Ok(());
        }
        if late.needs_no_rest {
            return self.output.push(late.join(first, first), keep);
        }
        match group.rest(&mut late.rest, keep).await? {
            RestOfRows::All(rest) => self.output.push(late.join(first, &rest), keep),
            RestOfRows::Kept(parts) => push_parts(&mut self.output, late, first, keep, &parts),
        }
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

/// Gives out rows of which some columns come from `first` and the others, already without the rows that are left out,
/// from `parts`.
#[expect(clippy::arithmetic_side_effects, reason = "the parts have no more rows than are kept")]
fn push_parts<C>(
    output: &mut Output,
    late: &Late<C>,
    first: &RecordBatch,
    keep: &BooleanArray,
    parts: &[RecordBatch],
) -> Result<()> {
    let first = filter_record_batch(first, keep)?;
    let mut at = 0;
    for rest in parts {
        let count = rest.num_rows();
        output.push(late.join(&first.slice(at, count), rest), &all_of(count))?;
        at += count;
    }
    Ok(())
}

fn all_of(rows: usize) -> BooleanArray {
    BooleanArray::new(BooleanBuffer::new_set(rows), None)
}
