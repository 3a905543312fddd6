//! The `FileSink`: what a query gives as record files.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::runtime::{JoinSet, SpawnedTask};
use datafusion::datasource::file_format::write::demux::DemuxedStreamReceiver;
use datafusion::datasource::file_format::write::get_writer_schema;
use datafusion::datasource::physical_plan::{FileSink, FileSinkConfig};
use datafusion::datasource::sink::DataSink;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};
use futures::{StreamExt, TryStreamExt, stream};
use object_store::ObjectStore;
use recordfusion_core::{Options, RecordFile, Writer};

use super::files::describe_location;
use super::{RecordFormat, external};
use crate::write::{Mode, OpenFile, Place, Statement, UnfinishedFile, Written, write_file};

/// Writes the files of one statement. None of them is seen before all are complete.
#[derive(Debug)]
pub(super) struct RecordSink {
    config: FileSinkConfig,
    place: Place,
    mode: Mode,
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
        config: FileSinkConfig,
        place: Place,
        mode: Mode,
        writer: Arc<dyn Writer>,
        format: RecordFormat,
        options: Options,
    ) -> Self {
        let metrics = ExecutionPlanMetricsSet::new();
        Self { config, place, mode, writer, known: None, format, options, metrics }
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
        let file = RecordFile {
            store: Arc::clone(self.place.store()),
            location: file.location.clone(),
            size: file.size,
            name: describe_location(&self.config.object_store_url, &file.location),
            e_tag: file.e_tag.clone(),
        };
        let schema = get_writer_schema(&self.config);
        self.format.writer_behind(file, &schema, &self.options).await.map_err(external)
    }

    async fn write_one(
        &self,
        data: SendableRecordBatchStream,
        statement: &Statement,
        workers: usize,
        written: &Written,
    ) -> Result<UnfinishedFile> {
        let writer = self.writer_of(statement).await?;
        let upload = statement.upload(self.place.location())?;
        write_file(writer.as_ref(), data, upload, workers, written).await
    }

    /// Writes the rows to several files of a folder at the same time, a batch to each in turn. All that is complete goes
    /// to `complete`, even after an error.
    async fn write_several(
        &self,
        mut data: SendableRecordBatchStream,
        context: &TaskContext,
        statement: &Statement,
        written: &Arc<Written>,
        complete: &mut Vec<UnfinishedFile>,
    ) -> Result<()> {
        let options = &context.session_config().options().execution;
        let workers = context.session_config().target_partitions();
        let (most_files, most_rows) =
            (options.minimum_parallel_output_files.get(), options.soft_max_rows_per_output_file.get());
        let mut begun = 0;
        let mut begin = || {
            let name = format!("{}_{begun}.{}", statement.id(), self.config.file_extension);
            begun += 1;
            let upload = statement.upload(&statement.location(&name))?;
            Ok::<_, DataFusionError>(OpenFile::begin(
                Arc::clone(&self.writer),
                upload,
                workers,
                Arc::clone(written),
            ))
        };
        let mut open: VecDeque<(OpenFile, usize)> = VecDeque::new();
        let mut outcome = async {
            while let Some(batch) = data.try_next().await? {
                let next = if open.len() < most_files { None } else { open.pop_front() };
                let (mut file, rows) = match next {
                    Some((file, rows)) if rows >= most_rows => {
                        complete.push(file.close().await?);
                        (begin()?, 0)
                    }
                    Some(next) => next,
                    None => (begin()?, 0),
                };
                let rows = rows + batch.num_rows();
                file.send(batch).await?;
                open.push_back((file, rows));
            }
            Ok(())
        }
        .await;
        for (file, _) in open {
            match file.close().await {
                Ok(file) => complete.push(file),
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome
    }

    async fn publish(
        &self,
        statement: Statement,
        files: Vec<UnfinishedFile>,
        failed: Option<DataFusionError>,
        written: &Written,
    ) -> Result<u64> {
        let count = files.len();
        statement.publish(files, failed).await?;
        self.count(written, count);
        Ok(written.rows.load(Ordering::Relaxed))
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
        write!(f, "RecordSink: format={}{append}", self.format.connector().name())
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
        if !self.config.table_partition_cols.is_empty() {
            return FileSink::write_all(self, data, context).await;
        }
        let statement = Statement::begin(&self.place, self.mode).await?;
        let written = Arc::new(Written::default());
        let mut complete = Vec::new();
        let outcome = if self.place.is_folder() {
            self.write_several(data, context, &statement, &written, &mut complete).await
        } else {
            let workers = context.session_config().target_partitions();
            let file = Box::pin(self.write_one(data, &statement, workers, &written)).await;
            file.map(|file| complete.push(file))
        };
        self.publish(statement, complete, outcome.err(), &written).await
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
        _: Arc<dyn ObjectStore>,
    ) -> Result<u64> {
        let statement = Statement::begin(&self.place, self.mode).await?;
        let workers = context.session_config().target_partitions();
        let written = Arc::new(Written::default());
        let mut writing = JoinSet::new();
        let mut failed = None;
        while let Some((path, mut batches)) = files.recv().await {
            let upload = match statement.upload(&path) {
                Ok(upload) => upload,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            };
            let (writer, written) = (Arc::clone(&self.writer), Arc::clone(&written));
            writing.spawn(async move {
                let batches = stream::poll_fn(|context| batches.poll_recv(context)).map(Ok);
                write_file(writer.as_ref(), batches, upload, workers, &written).await
            });
        }
        drop(files);
        let mut complete = Vec::new();
        while let Some(file) = writing.join_next().await {
            match file.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error))).flatten() {
                Ok(file) => complete.push(file),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        // A file that fails takes no more rows, which the demultiplexer then fails with: the file's error says why.
        let demuxed = demux.join_unwind().await;
        let outcome = demuxed.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error))).flatten();
        self.publish(statement, complete, failed.or(outcome.err()), &written).await
    }
}
