//! What a scan decodes, and when: all columns at once, or those of its filter first.

use std::sync::Arc;

use arrow::array::RecordBatch;
use recordfusion_core::{ColumnProjection, Projection, Result, RowFilter, ScanRequest, Selection};

use crate::batch::BatchDecoder;
use crate::record::RecordDecoder;

/// The decoders of one scan.
#[derive(Debug)]
pub struct ScanPlan {
    /// The wanted columns, and behind them those that only the filter looks at.
    pub(super) all: BatchDecoder,
    pub(super) filter: Option<Filter>,
}

/// How rows are filtered.
#[derive(Debug)]
pub(super) struct Filter {
    pub predicate: Arc<dyn RowFilter>,
    /// The filter's columns among all columns.
    pub among_all: Vec<usize>,
    pub late: Option<Late>,
}

/// The other order: the columns of the filter first, then the others of the rows that it keeps.
#[derive(Debug)]
pub(super) struct Late {
    pub first: BatchDecoder,
    pub rest: BatchDecoder,
    /// Where each wanted column comes from.
    pub sources: Vec<Source>,
}

/// Where a wanted column comes from, and its index there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    First(usize),
    Rest(usize),
}

/// The decoders of a plan, as [`super::ColumnChunk::columns`] knows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// All columns.
    All,
    /// Those of the filter.
    First,
    /// The others.
    Rest,
}

impl ScanPlan {
    /// Plans the scan of `request`.
    ///
    /// # Errors
    /// [`recordfusion_core::Error::Schema`] if the request names a column that there is not.
    pub fn new(decoder: &RecordDecoder, request: &ScanRequest) -> Result<Self> {
        let Some(predicate) = &request.filter else {
            return Ok(Self { all: decoder.scan(&request.projection)?, filter: None });
        };
        let filter = predicate.columns();
        let all = union(&request.projection, filter);
        let position = |column: &ColumnProjection| all.columns.iter().position(|c| c.index == column.index);
        let among_all = filter.columns.iter().filter_map(position).collect();
        // What the filter does not look at may make a record none, so that there is no row to look at.
        let late = match decoder.every_record_is_a_row() {
            true => Some(Late::new(decoder, &request.projection, filter)?),
            false => None,
        };
        let filter = Filter { predicate: Arc::clone(predicate), among_all, late };
        Ok(Self { all: decoder.scan(&all)?, filter: Some(filter) })
    }

    /// The decoders, with their names.
    pub fn decoders(&self) -> impl Iterator<Item = (Stage, &BatchDecoder)> {
        let late = self.filter.iter().flat_map(|filter| &filter.late);
        let late = late.flat_map(|late| [(Stage::First, &late.first), (Stage::Rest, &late.rest)]);
        std::iter::once((Stage::All, &self.all)).chain(late)
    }
}

impl Late {
    fn new(decoder: &RecordDecoder, wanted: &Projection, filter: &Projection) -> Result<Self> {
        let (mut rest, mut sources) = (Projection::default(), Vec::new());
        for column in &wanted.columns {
            let known = filter.columns.iter().position(|first| {
                first.index == column.index
                    && (first.selection == Selection::All || first.selection == column.selection)
            });
            sources.push(known.map_or(Source::Rest(rest.columns.len()), Source::First));
            if known.is_none() {
                rest.columns.push(column.clone());
            }
        }
        Ok(Self { first: decoder.scan(filter)?, rest: decoder.scan(&rest)?, sources })
    }

    /// The wanted columns of rows, from those of the filter and the others.
    pub fn join(&self, first: &RecordBatch, rest: &RecordBatch) -> Vec<arrow::array::ArrayRef> {
        let column = |source: &Source| match *source {
            Source::First(index) => Arc::clone(first.column(index)),
            Source::Rest(index) => Arc::clone(rest.column(index)),
        };
        self.sources.iter().map(column).collect()
    }
}

/// The columns of `wanted` in their order, and behind them those that only `filter` has.
fn union(wanted: &Projection, filter: &Projection) -> Projection {
    let mut all = wanted.clone();
    for column in &filter.columns {
        match all.columns.iter_mut().find(|known| known.index == column.index) {
            Some(known) => known.selection.merge(&column.selection),
            None => all.columns.push(column.clone()),
        }
    }
    all
}
