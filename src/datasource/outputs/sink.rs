//! The `DataSink`: what a query gives as files of one of DataFusion's formats.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::write::get_writer_schema;
use datafusion::datasource::sink::DataSink;
use datafusion::error::Result;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, TryStreamExt};

use super::super::destination::{Destination, count};
use crate::encode::{Encoding, Piece, encode_stream};
use crate::write::{Statement, UnfinishedFile, Upload, Written};

/// Writes the files of one statement. None of them is seen before all are complete.
#[derive(Debug)]
pub(super) struct OutputSink {
    destination: Destination,
    encoding: Arc<Encoding>,
    compression: FileCompressionType,
    /// The format's name.
    format: String,
    metrics: ExecutionPlanMetricsSet,
}

impl OutputSink {
    pub(super) fn new(
        destination: Destination,
        encoding: Arc<Encoding>,
        compression: FileCompressionType,
        format: String,
    ) -> Self {
        Self { destination, encoding, compression, format, metrics: ExecutionPlanMetricsSet::new() }
    }
}

impl DisplayAs for OutputSink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OutputSink: format={}", self.format)
    }
}

#[async_trait]
impl DataSink for OutputSink {
    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn schema(&self) -> &SchemaRef {
        self.destination.config.output_schema()
    }

    async fn write_all(&self, data: SendableRecordBatchStream, context: &Arc<TaskContext>) -> Result<u64> {
        let statement = Statement::begin(&self.destination.place, self.destination.mode).await?;
        let schema = get_writer_schema(&self.destination.config);
        let written = Arc::new(Written::default());
        let write = |upload, batches: BoxStream<'static, Result<RecordBatch>>| {
            let (encoding, schema) = (Arc::clone(&self.encoding), Arc::clone(&schema));
            let (context, written) = (Arc::clone(context), Arc::clone(&written));
            let compression = self.compression;
            async move {
                let workers = context.session_config().target_partitions();
                let memory = MemoryConsumer::new("OutputSink").register(context.memory_pool());
                let encoded = encode_stream(&encoding, &schema, batches, workers, memory);
                write_pieces(encoded, compression, upload, written).await
            }
            .boxed()
        };
        let files = self.destination.write(statement, data, context, write).await?;
        count(&self.metrics, &written, files);
        Ok(written.rows.load(Ordering::Relaxed))
    }
}

/// Writes the bytes of a file.
async fn write_pieces(
    encoded: Result<BoxStream<'static, Result<Piece>>>,
    compression: FileCompressionType,
    mut upload: Upload,
    written: Arc<Written>,
) -> Result<UnfinishedFile> {
    let outcome = async {
        let count = Arc::clone(&written);
        let bytes = encoded?.map_ok(move |piece| {
            count.rows.fetch_add(piece.rows, Ordering::Relaxed);
            Bytes::from(piece.bytes)
        });
        let mut bytes = compression.convert_to_compress_stream(bytes.boxed())?;
        while let Some(bytes) = bytes.try_next().await? {
            written.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            upload.write(bytes).await?;
        }
        Ok(())
    };
    let outcome = outcome.await;
    UnfinishedFile::new(upload, outcome).await
}
