//! The `DataSink`: what a query gives as record files.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::internal_err;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::datasource::physical_plan::FileSinkConfig;
use datafusion::datasource::sink::DataSink;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};
use futures::{FutureExt, StreamExt, stream};
use recordfusion_core::Writer;
use tokio::sync::mpsc::Receiver;

use super::demux::{Part, write_parts};
use super::files::describe_location;
use crate::write::{Mode, Upload, Written, publish, write_file};

/// Writes the files of one statement. None of them is seen before all are complete.
#[derive(Debug)]
pub(super) struct RecordSink {
    config: FileSinkConfig,
    writer: Arc<dyn Writer>,
    /// The format's name.
    format: &'static str,
    /// What becomes of files that are there already.
    mode: Mode,
    metrics: ExecutionPlanMetricsSet,
}

impl RecordSink {
    pub(super) fn new(config: FileSinkConfig, writer: Arc<dyn Writer>, format: &'static str) -> Self {
        Self { config, writer, format, mode: Mode::Create, metrics: ExecutionPlanMetricsSet::new() }
    }

    /// Writes rows behind those of a file that is there already.
    pub(super) fn appending(self) -> Self {
        Self { mode: Mode::Append, ..self }
    }

    fn is_single_file(&self, target: &ListingTableUrl) -> bool {
        self.config.table_partition_cols.is_empty() && self.config.file_output_mode.single_file_output(target)
    }

    fn count(&self, written: &Written, files: usize) {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let all = [
            ("rows_written", value(&written.rows)),
            ("bytes_written", value(&written.bytes)),
            ("files_written", files as u64),
        ];
        for (name, value) in all.into_iter().chain(written.losses()) {
            let value = usize::try_from(value).unwrap_or(usize::MAX);
            MetricBuilder::new(&self.metrics).global_counter(name).add(value);
        }
    }
}

impl DisplayAs for RecordSink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let append = if self.mode == Mode::Append { ", append" } else { "" };
        write!(f, "RecordSink: format={}{append}", self.format)
    }
}

#[async_trait]
impl DataSink for RecordSink {
    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn schema(&self) -> &SchemaRef {
        self.config.output_schema()
    }

    /// The rows of a query that fails, or the first cause for which they cannot be written, is the error.
    async fn write_all(&self, data: SendableRecordBatchStream, context: &Arc<TaskContext>) -> Result<u64> {
        let store = context.runtime_env().object_store(&self.config.object_store_url)?;
        let Some(target) = self.config.table_paths.first() else {
            return internal_err!("rows are written to no place");
        };
        let workers = context.session_config().target_partitions();
        let written = Arc::new(Written::default());
        let id = statement_id();
        let is_file = self.is_single_file(target);
        let write = |part: Part, mut batches: Receiver<RecordBatch>| {
            let path = match is_file {
                true => target.prefix().clone(),
                false => part.location(target.prefix(), &id, &self.config.file_extension),
            };
            let name = describe_location(&self.config.object_store_url, &path);
            let upload = Upload::new(Arc::clone(&store), path, name);
            let (writer, written, mode) = (Arc::clone(&self.writer), Arc::clone(&written), self.mode);
            let file = async move {
                let batches = stream::poll_fn(|context| batches.poll_recv(context)).map(Ok);
                write_file(writer.as_ref(), batches, upload, mode, workers, &written).await
            };
            Ok(file.boxed())
        };
        let (files, failed) = write_parts(&self.config, context, data, write).await;
        let count = files.len();
        publish(files, failed).await?;
        self.count(&written, count);
        Ok(written.rows.load(Ordering::Relaxed))
    }
}

/// What names of files begin with, so that no two executions write the same file.
fn statement_id() -> String {
    format!("{:016x}", RandomState::new().hash_one(0))
}
