//! The format that stands for one of DataFusion's where files are written.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::ipc::CompressionType;
use datafusion::catalog::Session;
use datafusion::common::config::{CsvOptions, TableParquetOptions};
use datafusion::common::file_options::csv_writer::CsvWriterOptions;
use datafusion::common::parsers::CompressionTypeVariant;
use datafusion::common::{GetExt, Statistics};
use datafusion::datasource::file_format::arrow::ArrowFormat;
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::json::JsonFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::file_format::write::get_writer_schema;
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory};
use datafusion::datasource::physical_plan::{FileScanConfig, FileSinkConfig, FileSource};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::parquet::file::metadata::SortingColumn;
use datafusion::physical_expr::LexRequirement;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use object_store::{ObjectMeta, ObjectStore};
use recordfusion_core::Options;

use super::super::destination::Destination;
use super::super::settings::NAMESPACE;
use super::sink::OutputSink;
use crate::encode::{Encoding, FileEncoder, ParquetEncoding};
use crate::write::OVERWRITE;

/// Stands for a factory of DataFusion in a `COPY`, and makes [`OutputFormat`]s.
#[derive(Debug)]
pub struct OutputFormatFactory {
    inner: Arc<dyn FileFormatFactory>,
}

impl OutputFormatFactory {
    /// Stands for `inner`, a factory of Parquet, CSV, JSON or Arrow.
    pub(super) fn new(inner: Arc<dyn FileFormatFactory>) -> Self {
        Self { inner }
    }

    /// The factory that it stands for: codecs of plans look at its type.
    pub fn inner(&self) -> &Arc<dyn FileFormatFactory> {
        &self.inner
    }
}

impl GetExt for OutputFormatFactory {
    fn get_ext(&self) -> String {
        self.inner.get_ext()
    }
}

impl FileFormatFactory for OutputFormatFactory {
    /// Options of writing that DataFusion does not know are taken out before.
    fn create(&self, state: &dyn Session, given: &HashMap<String, String>) -> Result<Arc<dyn FileFormat>> {
        let (mut options, mut others) = (Options::new(), HashMap::new());
        for (key, value) in given {
            match key.split_once('.') {
                Some(("format" | NAMESPACE, name)) if name == OVERWRITE.name => {
                    options = options.with(name, value);
                }
                _ => {
                    others.insert(key.clone(), value.clone());
                }
            }
        }
        let inner = self.inner.create(state, &others)?;
        Ok(Arc::new(OutputFormat { inner, options }))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        Arc::new(OutputFormat::new(self.inner.default()))
    }
}

/// One of DataFusion's formats, whose files are written whole or not at all.
///
/// Encrypted Parquet, content-defined chunks and a `compression_level` are left to DataFusion's own writers.
#[derive(Debug)]
pub struct OutputFormat {
    inner: Arc<dyn FileFormat>,
    /// Of the statement, besides those of the format.
    options: Options,
}

impl OutputFormat {
    pub(super) fn new(inner: Arc<dyn FileFormat>) -> Self {
        Self { inner, options: Options::new() }
    }

    /// The format that it stands for.
    pub fn inner(&self) -> &Arc<dyn FileFormat> {
        &self.inner
    }

    /// How files are encoded and compressed; `None` is DataFusion's own way.
    fn encoding(
        &self,
        session: &dyn Session,
        config: &FileSinkConfig,
        order: Option<&LexRequirement>,
    ) -> Result<Option<(Encoding, FileCompressionType)>> {
        if let Some(format) = self.inner.downcast_ref::<ParquetFormat>() {
            let options = format.options();
            if needs_other_writer(options) {
                return Ok(None);
            }
            let sorting = order.map(|order| sorting_columns(order, config)).filter(|all| !all.is_empty());
            let encoding = ParquetEncoding::of_options(options, sorting)?;
            return Ok(Some((Encoding::Parquet(Arc::new(encoding)), FileCompressionType::UNCOMPRESSED)));
        }
        if let Some(format) = self.inner.downcast_ref::<CsvFormat>() {
            let options = csv_options(format.options(), session);
            let options = CsvWriterOptions::try_from(&options)?;
            let compression = compression(options.compression, options.compression_level);
            return Ok(compression.map(|compression| (Encoding::Csv(options.writer_options), compression)));
        }
        if let Some(format) = self.inner.downcast_ref::<JsonFormat>() {
            let options = format.options();
            let compression = compression(options.compression, options.compression_level);
            return Ok(compression.map(|compression| (Encoding::Ndjson, compression)));
        }
        if self.inner.is::<ArrowFormat>() {
            let encoding = Encoding::Arrow(Some(CompressionType::LZ4_FRAME));
            return Ok(Some((encoding, FileCompressionType::UNCOMPRESSED)));
        }
        Ok(None)
    }
}

fn needs_other_writer(options: &TableParquetOptions) -> bool {
    options.crypto.file_encryption.is_some()
        || options.crypto.factory_id.is_some()
        || options.global.content_defined_chunking.enabled
}

/// The header is a setting of the session too.
fn csv_options(options: &CsvOptions, session: &dyn Session) -> CsvOptions {
    let has_header = options.has_header.unwrap_or(session.config_options().catalog.has_header);
    options.clone().with_has_header(has_header)
}

/// `None` if the level cannot be set here.
fn compression(variant: CompressionTypeVariant, level: Option<u32>) -> Option<FileCompressionType> {
    let compression = FileCompressionType::from(variant);
    (level.is_none() || !compression.is_compressed()).then_some(compression)
}

/// The first columns of the order that are columns of the files. Parquet counts leaves: a column behind a nested one
/// is left out with all that follow.
fn sorting_columns(order: &LexRequirement, config: &FileSinkConfig) -> Vec<SortingColumn> {
    let (input, written) = (config.output_schema(), get_writer_schema(config));
    let mut sorting = vec![];
    for requirement in order.iter() {
        let column = requirement.expr.downcast_ref::<Column>();
        let Some(field) = column.and_then(|column| input.fields().get(column.index())) else { break };
        let Ok(index) = written.index_of(field.name()) else { continue };
        let (Some(options), Ok(column_idx)) = (requirement.options, i32::try_from(index)) else { break };
        if is_behind_nested(&written, index) {
            break;
        }
        let (descending, nulls_first) = (options.descending, options.nulls_first);
        sorting.push(SortingColumn { column_idx, descending, nulls_first });
    }
    sorting
}

fn is_behind_nested(schema: &Schema, index: usize) -> bool {
    schema.fields().iter().take(index + 1).any(|field| field.data_type().is_nested())
}

#[async_trait]
impl FileFormat for OutputFormat {
    fn get_ext(&self) -> String {
        self.inner.get_ext()
    }

    fn get_ext_with_compression(&self, compression: &FileCompressionType) -> Result<String> {
        self.inner.get_ext_with_compression(compression)
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        self.inner.compression_type()
    }

    async fn infer_schema(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        objects: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        self.inner.infer_schema(state, store, objects).await
    }

    async fn infer_stats(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table_schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Statistics> {
        self.inner.infer_stats(state, store, table_schema, object).await
    }

    async fn create_physical_plan(
        &self,
        state: &dyn Session,
        config: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.inner.create_physical_plan(state, config).await
    }

    /// All that can be wrong without looking at rows is found here, before there is a file.
    async fn create_writer_physical_plan(
        &self,
        input: Arc<dyn ExecutionPlan>,
        state: &dyn Session,
        config: FileSinkConfig,
        order: Option<LexRequirement>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let encoding = match config.insert_op {
            InsertOp::Append => self.encoding(state, &config, order.as_ref())?,
            InsertOp::Overwrite | InsertOp::Replace => None,
        };
        let Some((encoding, compression)) = encoding else {
            return self.inner.create_writer_physical_plan(input, state, config, order).await;
        };
        let encoding = Arc::new(encoding);
        FileEncoder::new(&encoding, &get_writer_schema(&config))?;
        let destination = Destination::of_statement(state, config, &self.options)?;
        let sink = OutputSink::new(destination, encoding, compression, self.get_ext());
        Ok(Arc::new(DataSinkExec::new(input, Arc::new(sink), order)))
    }

    fn file_source(&self, table_schema: TableSchema) -> Arc<dyn FileSource> {
        self.inner.file_source(table_schema)
    }
}
