//! Filters inside the scan: which are taken, and how they are applied to the rows of a file.

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, RecordBatch, UInt64Array, new_null_array,
};
use datafusion::arrow::compute::prep_null_mask_filter;
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_expr_common::physical_expr::{is_volatile, snapshot_generation};
use datafusion::physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder};
use recordfusion_core::{ColumnBounds, Error, Nulls, Projection, RowFilter};

use super::opener::FileAdapter;

/// Whether a scan of files with these columns can apply `filter` to their rows. Columns behind those of the files
/// are partition columns.
pub(super) fn is_applicable(filter: &Arc<dyn PhysicalExpr>, file_schema: &Schema) -> bool {
    let of_file = |index: usize| index < file_schema.fields().len();
    collect_columns(filter).iter().all(|column| of_file(column.index())) && !is_volatile(filter)
}

/// The indices of the file columns that `filter` looks at.
pub(super) fn columns(filter: &Arc<dyn PhysicalExpr>) -> Vec<usize> {
    let mut indices: Vec<usize> = collect_columns(filter).iter().map(|column| column.index()).collect();
    indices.sort_unstable();
    indices.dedup();
    indices
}

/// A predicate over the rows of one file.
#[derive(Debug)]
pub(super) struct ScanFilter {
    predicate: Arc<dyn PhysicalExpr>,
    schema: SchemaRef,
    columns: Projection,
    adapter: Option<FileAdapter>,
    pruning: Mutex<Pruning>,
}

/// The predicate for whole chunks, of the state of a predicate that changes.
#[derive(Debug)]
struct Pruning {
    generation: u64,
    predicate: Option<Arc<PruningPredicate>>,
}

impl ScanFilter {
    /// `filter` over rows with the columns of `schema`, which `columns` of the file become by the adapter.
    ///
    /// # Errors
    /// A filter that looks at other columns.
    pub(super) fn new(
        filter: &Arc<dyn PhysicalExpr>,
        schema: SchemaRef,
        columns: Projection,
        adapter: Option<FileAdapter>,
    ) -> Result<Self> {
        let predicate = reassign_expr_columns(Arc::clone(filter), &schema)?;
        let pruning = Mutex::new(Pruning::new(&predicate, &schema));
        Ok(Self { predicate, schema, columns, adapter, pruning })
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let adapted = self.adapter.as_ref().map(|adapter| adapter.adapt(batch)).transpose()?;
        let batch = adapted.as_ref().unwrap_or(batch);
        let keep = self.predicate.evaluate(batch)?.into_array(batch.num_rows())?;
        let Some(keep) = keep.as_boolean_opt() else {
            return plan_err!("the filter {} gives {}, not truth values", self.predicate, keep.data_type());
        };
        Ok(if keep.null_count() > 0 { prep_null_mask_filter(keep) } else { keep.clone() })
    }
}

impl RowFilter for ScanFilter {
    fn columns(&self) -> &Projection {
        &self.columns
    }

    fn keep(&self, batch: &RecordBatch) -> recordfusion_core::Result<BooleanArray> {
        self.evaluate(batch).map_err(|error| {
            Error::Arrow(match error {
                DataFusionError::ArrowError(error, _) => *error,
                other => ArrowError::ExternalError(Box::new(other)),
            })
        })
    }

    fn may_keep(&self, bounds: &mut dyn FnMut(usize) -> Option<ColumnBounds>) -> bool {
        if self.adapter.is_some() {
            return true;
        }
        let mut pruning = self.pruning.lock().unwrap_or_else(PoisonError::into_inner);
        if pruning.generation != snapshot_generation(&self.predicate) {
            *pruning = Pruning::new(&self.predicate, &self.schema);
        }
        let Some(predicate) = &pruning.predicate else { return true };
        let needed = collect_columns(predicate.orig_expr());
        let known =
            needed.iter().filter_map(|column| Some((column.index(), bounds(column.index())?))).collect();
        let chunk = ChunkBounds { schema: Arc::clone(&self.schema), known };
        // Where the bounds say nothing that can be computed, the rows have the last word.
        predicate.prune(&chunk).map_or(true, |kept| kept.iter().any(|kept| *kept))
    }
}

impl Pruning {
    fn new(predicate: &Arc<dyn PhysicalExpr>, schema: &SchemaRef) -> Self {
        let generation = snapshot_generation(predicate);
        let builder = PruningPredicateBuilder::new().with_file_schema(Arc::clone(schema));
        Self { generation, predicate: builder.build(Arc::clone(predicate)) }
    }
}

/// What is known of a chunk, as the statistics of one container.
struct ChunkBounds {
    schema: SchemaRef,
    known: Vec<(usize, ColumnBounds)>,
}

impl ChunkBounds {
    fn of(&self, column: &Column) -> Option<(&DataType, &ColumnBounds)> {
        let (index, field) = self.schema.column_with_name(&column.name)?;
        let (_, bounds) = self.known.iter().find(|(known, _)| *known == index)?;
        Some((field.data_type(), bounds))
    }

    fn bound(&self, column: &Column, of: impl Fn(&ColumnBounds) -> &Option<ArrayRef>) -> Option<ArrayRef> {
        let (data_type, bounds) = self.of(column)?;
        Some(of(bounds).clone().unwrap_or_else(|| new_null_array(data_type, 1)))
    }
}

impl PruningStatistics for ChunkBounds {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bound(column, |bounds| &bounds.low)
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bound(column, |bounds| &bounds.high)
    }

    fn num_containers(&self) -> usize {
        1
    }

    /// As if there were one row.
    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        let (_, bounds) = self.of(column)?;
        let count = match bounds.nulls {
            Nulls::All => Some(1),
            Nulls::None => Some(0),
            Nulls::Some => None,
        };
        Some(Arc::new(UInt64Array::from(vec![count])))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        Some(Arc::new(UInt64Array::from(vec![1])))
    }

    fn contained(
        &self,
        _column: &Column,
        _values: &std::collections::HashSet<datafusion::common::ScalarValue>,
    ) -> Option<BooleanArray> {
        None
    }
}
