//! The `DataSink`: what a query gives as record files.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::datasource::file_format::write::get_writer_schema;
use datafusion::datasource::sink::DataSink;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};
use futures::FutureExt;
use recordfusion_core::{Options, RecordFile, Writer};

use super::destination::{Destination, count};
use super::files::describe_location;
use super::{RecordFormat, external};
use crate::write::{Mode, Statement, Written, write_file};

/// Writes the files of one statement. None of them is seen before all are complete.
#[derive(Debug)]
pub(super) struct RecordSink {
    destination: Destination,
    writer: Arc<dyn Writer>,
    /// The file whose type the writer is of, if rows go behind it.
    known: Option<RecordFile>,
    format: RecordFormat,
    /// Of writing.
    options: Options,
    metrics: ExecutionPlanMetricsSet,
}

impl RecordSink {
    pub(super) fn new(
        destination: Destination,
        writer: Arc<dyn Writer>,
        format: RecordFormat,
        options: Options,
    ) -> Self {
        let metrics = ExecutionPlanMetricsSet::new();
        Self { destination, writer, known: None, format, options, metrics }
    }

    /// The writer was made for this file.
    pub(super) fn with_known(self, file: RecordFile) -> Self {
        Self { known: Some(file), ..self }
    }

    /// The writer of the file that rows go behind: others may have replaced it since the statement was planned.
    async fn writer_of(&self, statement: &Statement) -> Result<Arc<dyn Writer>> {
        let Some(file) = statement.existing() else { return Ok(Arc::clone(&self.writer)) };
        let is_known = |known: &RecordFile| known.size == file.size && known.e_tag == file.e_tag;
        if file.e_tag.is_some() && self.known.as_ref().is_some_and(is_known) {
            return Ok(Arc::clone(&self.writer));
        }
        let config = &self.destination.config;
        let name = describe_location(&config.object_store_url, &file.location);
        let store = Arc::clone(self.destination.place.store());
        let file = RecordFile::of_object(store, file.clone(), name);
        let schema = get_writer_schema(config);
        self.format.writer_behind(file, &schema, &self.options).await.map_err(external)
    }
}

impl DisplayAs for RecordSink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let append = if self.destination.mode == Mode::Append { ", append" } else { "" };
        write!(f, "RecordSink: format={}{append}", self.format.connector().name())
    }
}

#[async_trait]
impl DataSink for RecordSink {
    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn schema(&self) -> &SchemaRef {
        self.destination.config.output_schema()
    }

    async fn write_all(&self, data: SendableRecordBatchStream, context: &Arc<TaskContext>) -> Result<u64> {
        let statement = Statement::begin(&self.destination.place, self.destination.mode).await?;
        let writer = self.writer_of(&statement).await?;
        let workers = context.session_config().target_partitions();
        let written = Arc::new(Written::default());
        let write = |upload, batches| {
            let (writer, written) = (Arc::clone(&writer), Arc::clone(&written));
            async move { write_file(writer.as_ref(), batches, upload, workers, &written).await }.boxed()
        };
        let files = self.destination.write(statement, data, context, write).await?;
        count(&self.metrics, &written, files);
        Ok(written.rows.load(Ordering::Relaxed))
    }
}
