//! Opens one byte range of one file.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileOpenFuture, FileOpener};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_adapter::{BatchAdapter, BatchAdapterFactory};
use futures::{FutureExt, StreamExt, future, stream};
use object_store::ObjectStore;
use recordfusion_core::{ColumnProjection, Projection, RecordFile, ScanRequest, Selection};

use super::files::describe_location;
use super::filter::ScanFilter;
use super::limit::RowCount;
use super::metrics::ScanMetrics;
use super::{RecordFormat, external};

/// Opens files for one partition of a scan.
#[derive(Debug, Clone)]
pub(super) struct RecordOpener {
    pub(super) format: RecordFormat,
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) store_url: ObjectStoreUrl,
    /// The columns to give out.
    pub(super) columns: FileColumns,
    /// What rows to give out, and the columns that it looks at.
    pub(super) filter: Option<(Arc<dyn PhysicalExpr>, FileColumns)>,
    /// The most rows to give out, and how many all partitions gave.
    pub(super) limit: Option<(usize, Arc<RowCount>)>,
    pub(super) batch_size: usize,
    pub(super) metrics: ScanMetrics,
}

/// Columns of the files as the table has them, and what is needed of each.
#[derive(Debug, Clone)]
pub(super) struct FileColumns {
    pub(super) schema: SchemaRef,
    pub(super) selections: Vec<Selection>,
}

impl FileOpener for RecordOpener {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        if self.limit.as_ref().is_some_and(|(_, given)| given.is_enough()) {
            return Ok(future::ready(Ok(stream::empty().boxed())).boxed());
        }
        let opener = self.clone();
        let range = match &file.range {
            Some(range) => {
                let bound = |at: i64| u64::try_from(at).unwrap_or(0).min(file.object_meta.size);
                bound(range.start)..bound(range.end)
            }
            None => 0..file.object_meta.size,
        };
        let name = describe_location(&self.store_url, &file.object_meta.location);
        let record_file = RecordFile::of_object(Arc::clone(&self.store), file.object_meta, name);
        Ok(async move { opener.scan(record_file, range).await }.boxed())
    }
}

impl RecordOpener {
    async fn scan(
        self,
        file: RecordFile,
        range: std::ops::Range<u64>,
    ) -> Result<stream::BoxStream<'static, Result<RecordBatch>>> {
        let table = self.format.table_of(&file).await.map_err(external)?;
        let (projection, adapter) = self.columns.of_file(table.schema(), &file.name)?;
        let filter = match &self.filter {
            Some((filter, columns)) => {
                let (projection, adapter) = columns.of_file(table.schema(), &file.name)?;
                let filter = ScanFilter::new(filter, Arc::clone(&columns.schema), projection, adapter)?;
                Some(Arc::new(filter) as _)
            }
            None => None,
        };
        let request = ScanRequest {
            file,
            range,
            projection,
            filter,
            limit: self.limit.as_ref().map(|(limit, _)| *limit),
            batch_size: self.batch_size.max(1),
            counters: Arc::clone(self.metrics.counters()),
        };
        let metrics = PublishedAtLast(self.metrics);
        let batches = table.scan(request).map(move |batch| {
            metrics.0.publish();
            let batch = batch.map_err(external)?;
            match &adapter {
                Some(adapter) => adapter.adapt(&batch),
                None => Ok(batch),
            }
        });
        Ok(match self.limit {
            Some((_, given)) => given.limited(batches.boxed()),
            None => batches.boxed(),
        })
    }
}

/// Metrics that are up to date when the stream ends, too.
struct PublishedAtLast(ScanMetrics);

impl Drop for PublishedAtLast {
    fn drop(&mut self) {
        self.0.publish();
    }
}

impl FileColumns {
    /// The columns by their place in the file's own, which are known by name, and what makes them the table's
    /// if they are others. A column that the file lacks was declared by the user: it reads as NULL.
    fn of_file(&self, file: &Schema, name: &str) -> Result<(Projection, Option<FileAdapter>)> {
        let column = |(field, selection): (&Arc<Field>, &Selection)| {
            let (index, found) = file.fields().find(field.name())?;
            // A cast may make NULL of a value, or an error: it has to see it.
            let is_cast = found.data_type() != field.data_type() && !found.data_type().is_nested();
            let selection = if is_cast { Selection::All } else { selection.clone() };
            Some(ColumnProjection { index, selection })
        };
        let columns: Vec<_> = self.schema.fields().iter().zip(&self.selections).filter_map(column).collect();
        let fields: Vec<Field> = columns.iter().map(|column| file.field(column.index).clone()).collect();
        let found = Arc::new(Schema::new(fields));
        let adapter = match same_types(&found, &self.schema) {
            true => None,
            false => {
                let adapter = BatchAdapterFactory::new(Arc::clone(&self.schema)).make_adapter(&found)?;
                Some(FileAdapter { adapter, file: name.to_string() })
            }
        };
        Ok((Projection { columns }, adapter))
    }
}

/// Makes the columns of a file those that were declared.
#[derive(Debug)]
pub(super) struct FileAdapter {
    adapter: BatchAdapter,
    file: String,
}

impl FileAdapter {
    /// # Errors
    /// A value that does not fit the declared type.
    pub(super) fn adapt(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        self.adapter.adapt_batch(batch).map_err(|error| {
            let (file, reason) = (&self.file, crate::error_message(&error));
            DataFusionError::Execution(format!(
                "{file}: a value does not fit the declared type of its column: {reason}"
            ))
        })
    }
}

fn same_types(a: &Schema, b: &Schema) -> bool {
    let columns =
        |schema: &Schema| schema.fields().iter().map(|field| field.data_type().clone()).collect::<Vec<_>>();
    columns(a) == columns(b)
}
