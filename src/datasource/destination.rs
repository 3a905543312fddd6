//! Where the rows of a statement go, and how they become files there: all of them, or none.

use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::arrow::array::RecordBatch;
use datafusion::catalog::Session;
use datafusion::common::not_impl_err;
use datafusion::datasource::physical_plan::{FileOutputMode, FileSinkConfig};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use recordfusion_core::Options;
use tokio::sync::mpsc::Receiver;

use super::demux::{Part, write_parts};
use super::partitions::check_columns;
use super::settings::overwrite_setting;
use crate::write::{Mode, Place, Statement, UnfinishedFile, Upload, Written};

/// Where the rows of a statement go.
#[derive(Debug)]
pub(super) struct Destination {
    pub(super) config: FileSinkConfig,
    pub(super) place: Place,
    pub(super) mode: Mode,
}

impl Destination {
    /// Where a `COPY` writes, or an `INSERT` into a table of DataFusion's own. `options` may ask to overwrite.
    ///
    /// # Errors
    /// A place that cannot be written; columns that make no partitions.
    pub(super) fn of_statement(
        session: &dyn Session,
        config: FileSinkConfig,
        options: &Options,
    ) -> Result<Self> {
        let [url] = config.table_paths.as_slice() else {
            return not_impl_err!(
                "rows can be inserted into a table that is one folder, not into one of several"
            );
        };
        if config.original_url.is_empty() {
            let place = Place::of(session, url, url.as_str())?.as_folder(session)?;
            return Self::new(config, place, Mode::Add);
        }
        let place = Place::parse(session, &config.original_url)?;
        let is_file = place.is_file_or_stream() || config.file_output_mode.single_file_output(place.url());
        if is_file && config.table_partition_cols.is_empty() {
            return Self::new(config, place, Mode::Replace);
        }
        let mode = match overwrite_setting(session, options)? {
            true => Mode::Overwrite,
            false => Mode::NewFolder,
        };
        let folder = place.as_folder(session)?;
        Self::new(config, folder, mode)
    }

    /// This place.
    ///
    /// # Errors
    /// Columns that make no partitions.
    pub(super) fn new(config: FileSinkConfig, place: Place, mode: Mode) -> Result<Self> {
        check_columns(config.output_schema(), &config.table_partition_cols)?;
        let config = FileSinkConfig {
            object_store_url: place.url().object_store(),
            table_paths: vec![place.url().clone()],
            file_output_mode: match place.is_folder() {
                true => FileOutputMode::Directory,
                false => FileOutputMode::SingleFile,
            },
            ..config
        };
        Ok(Self { config, place, mode })
    }

    /// Writes the files of one execution, none of which is seen before all are complete, and counts them. `write`
    /// gives what writes a file.
    ///
    /// # Errors
    /// That of a query that fails, or the first cause for which its rows cannot be written. All is as it was then.
    pub(super) async fn write(
        &self,
        statement: Statement,
        data: SendableRecordBatchStream,
        context: &TaskContext,
        mut write: impl FnMut(
            Upload,
            BoxStream<'static, Result<RecordBatch>>,
        ) -> BoxFuture<'static, Result<UnfinishedFile>>
        + Send,
    ) -> Result<usize> {
        let folder = self.place.location();
        let begin = |part: Part, mut batches: Receiver<RecordBatch>| {
            let location = match self.place.is_folder() {
                true => part.location(folder, statement.id(), &self.config.file_extension),
                false => folder.clone(),
            };
            let upload = statement.upload(&location)?;
            let batches = stream::poll_fn(move |context| batches.poll_recv(context)).map(Ok).boxed();
            Ok(write(upload, batches))
        };
        let (files, failed) = write_parts(&self.config, context, data, begin).await;
        let count = files.len();
        statement.publish(files, failed).await?;
        Ok(count)
    }
}

/// Shows what was written in `EXPLAIN ANALYZE`.
pub(super) fn count(metrics: &ExecutionPlanMetricsSet, written: &Written, files: usize) {
    let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let all = [
        ("rows_written", value(&written.rows)),
        ("bytes_written", value(&written.bytes)),
        ("files_written", files as u64),
    ];
    for (name, value) in all.into_iter().chain(written.losses()) {
        let value = usize::try_from(value).unwrap_or(usize::MAX);
        MetricBuilder::new(metrics).global_counter(name).add(value);
    }
}
