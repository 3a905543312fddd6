//! What a scan decodes, and when: all columns at once, or those of its filter first.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Schema, SchemaRef};

use crate::{ColumnProjection, Projection, Result, RowFilter, ScanRequest, Selection};

/// The columns of one scan, compiled: `C` decodes those of one projection.
#[derive(Debug)]
pub struct ScanPlan<C> {
    /// The wanted columns, as they are given out.
    pub(super) schema: SchemaRef,
    /// The wanted columns, and behind them those that only the filter looks at.
    pub(super) all: C,
    pub(super) filter: Option<Filter<C>>,
}

/// How rows are filtered.
#[derive(Debug)]
pub(super) struct Filter<C> {
    pub predicate: Arc<dyn RowFilter>,
    /// The filter's columns among all columns.
    pub among_all: Vec<usize>,
    pub late: Option<Late<C>>,
}

/// Late materialisation: the columns of the filter first, then the others of the rows that it keeps.
#[derive(Debug)]
pub(super) struct Late<C> {
    pub first: C,
    pub rest: C,
    /// Where each wanted column comes from.
    sources: Vec<ColumnSource>,
    /// Whether all wanted columns are the filter's.
    pub needs_no_rest: bool,
}

/// Where a wanted column comes from, and its index there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnSource {
    First(usize),
    Rest(usize),
}

impl<C> ScanPlan<C> {
    /// Plans the scan of `request`, of a table of these columns; `compile` makes the decoder of a projection. Where `every_record_is_a_row` does not
    /// hold, columns that a filter does not look at may make a record none, so that all are decoded at once.
    ///
    /// # Errors
    /// Those of `compile`; [`crate::Error::Arrow`] for a column that there is not.
    pub fn new(
        table: &Schema,
        request: &ScanRequest,
        every_record_is_a_row: bool,
        mut compile: impl FnMut(&Projection) -> Result<C>,
    ) -> Result<Self> {
        let wanted = &request.projection;
        let indices: Vec<usize> = wanted.columns.iter().map(|column| column.index).collect();
        let schema = Arc::new(table.project(&indices)?);
        let Some(predicate) = &request.filter else {
            return Ok(Self { schema, all: compile(wanted)?, filter: None });
        };
        let filter = predicate.columns();
        let all = union(wanted, filter);
        let position = |column: &ColumnProjection| all.columns.iter().position(|c| c.index == column.index);
        let among_all = filter.columns.iter().filter_map(position).collect();
        let late = match every_record_is_a_row {
            true => Some(Late::new(wanted, filter, &mut compile)?),
            false => None,
        };
        let filter = Filter { predicate: Arc::clone(predicate), among_all, late };
        Ok(Self { schema, all: compile(&all)?, filter: Some(filter) })
    }
}

impl<C> Late<C> {
    fn new(
        wanted: &Projection,
        filter: &Projection,
        compile: &mut impl FnMut(&Projection) -> Result<C>,
    ) -> Result<Self> {
        let (mut rest, mut sources) = (Projection::default(), Vec::new());
        for column in &wanted.columns {
            let known = filter.columns.iter().position(|first| {
                first.index == column.index
                    && (first.selection == Selection::All || first.selection == column.selection)
            });
            sources.push(known.map_or(ColumnSource::Rest(rest.columns.len()), ColumnSource::First));
            if known.is_none() {
                rest.columns.push(column.clone());
            }
        }
        let needs_no_rest = rest.columns.is_empty();
        Ok(Self { first: compile(filter)?, rest: compile(&rest)?, sources, needs_no_rest })
    }

    /// The wanted columns of rows, from those of the filter and the others.
    pub fn join(&self, first: &RecordBatch, rest: &RecordBatch) -> Vec<ArrayRef> {
        let column = |source: &ColumnSource| match *source {
            ColumnSource::First(index) => Arc::clone(first.column(index)),
            ColumnSource::Rest(index) => Arc::clone(rest.column(index)),
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
