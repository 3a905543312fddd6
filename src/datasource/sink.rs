//! The `FileSink`: what a query gives as record files.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::runtime::{JoinSet, SpawnedTask};
use datafusion::datasource::file_format::write::demux::DemuxedStreamReceiver;
use datafusion::datasource::physical_plan::{FileSink, FileSinkConfig};
use datafusion::datasource::sink::DataSink;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};
use futures::{StreamExt, stream};
use object_store::ObjectStore;
use recordfusion_core::Writer;

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

    async fn write_all(&self, data: SendableRecordBatchStream, context: &Arc<TaskContext>) -> Result<u64> {
        FileSink::write_all(self, data, context).await
    }
}

#[async_trait]
impl FileSink for RecordSink {
    fn config(&self) -> &FileSinkConfig {
        &self.config
    }

    async fn spawn_writer_tasks_and_join(
        &self,
        context: &Arc<TaskContext>,
        demux: SpawnedTask<Result<()>>,
        mut files: DemuxedStreamReceiver,
        store: Arc<dyn ObjectStore>,
    ) -> Result<u64> {
        let workers = context.session_config().target_partitions();
        let written = Arc::new(Written::default());
        let mut writing = JoinSet::new();
        while let Some((path, mut batches)) = files.recv().await {
            let name = describe_location(&self.config.object_store_url, &path);
            let upload = Upload::new(Arc::clone(&store), path, name);
            let (writer, written) = (Arc::clone(&self.writer), Arc::clone(&written));
            let mode = self.mode;
            writing.spawn(async move {
                let batches = stream::poll_fn(|context| batches.poll_recv(context)).map(Ok);
                write_file(writer.as_ref(), batches, upload, mode, workers, &written).await
            });
        }
        let (mut complete, mut failed) = (Vec::new(), None);
        while let Some(file) = writing.join_next().await {
            match file.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error))).flatten() {
                Ok(file) => complete.push(file),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        // A query that failed ends the files too early: its error comes first.
        let demuxed = demux.join_unwind().await;
        let outcome = demuxed.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error))).flatten();
        let files = complete.len();
        publish(complete, outcome.err().or(failed)).await?;
        self.count(&written, files);
        Ok(written.rows.load(Ordering::Relaxed))
    }
}
