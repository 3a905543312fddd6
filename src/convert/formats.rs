//! The output formats: how a unit is encoded, and how encoded units become a file.

use std::io::Write;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::cast;
use datafusion::arrow::csv;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use datafusion::arrow::ipc::writer::FileWriter;
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use datafusion::parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::parquet::file::writer::SerializedFileWriter;

use super::compact::compact;
use crate::{json, registry};

/// Rows of a Parquet row group: as many as make good statistics, few enough to encode several at a time.
const ROW_GROUP_ROWS: usize = 122_880;
/// Encoded bytes of a row group at most, as far as a batch allows it.
const ROW_GROUP_BYTES: usize = 64 << 20;
/// Bytes of a piece of text.
const PIECE_BYTES: usize = 1 << 20;

/// The format of a converted file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// Apache Parquet.
    Parquet,
    /// Comma-separated values with a header line; nested columns are JSON text.
    Csv,
    /// One JSON object a line.
    Ndjson,
    /// Arrow IPC file; dictionary columns are written as their values.
    Arrow,
    /// Record files with this extension, one of a connector's.
    Records(&'static str),
}

impl OutputFormat {
    /// All names, for messages.
    pub fn names() -> String {
        let records = registry::connectors().iter().flat_map(|connector| registry::names(connector.as_ref()));
        ["parquet", "csv", "ndjson", "arrow"].into_iter().chain(records).collect::<Vec<_>>().join(", ")
    }

    /// The format that the extension of `path` names.
    pub fn by_extension(path: &str) -> Option<Self> {
        let (_, extension) = path.rsplit_once('.')?;
        match extension.to_ascii_lowercase().as_str() {
            "json" | "jsonl" => Some(Self::Ndjson),
            "feather" | "ipc" => Some(Self::Arrow),
            "pq" => Some(Self::Parquet),
            extension => extension.parse().ok(),
        }
    }

    /// The usual extension, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
            Self::Arrow => "arrow",
            Self::Records(extension) => extension,
        }
    }
}

impl FromStr for OutputFormat {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        let all = [Self::Parquet, Self::Csv, Self::Ndjson, Self::Arrow];
        let found = all.into_iter().find(|format| format.extension() == name);
        let records = registry::connectors().iter().flat_map(|connector| registry::names(connector.as_ref()));
        let records = || records.into_iter().find(|known| *known == name).map(Self::Records);
        found.or_else(records).ok_or_else(|| format!("'{name}' is none of {}", Self::names()))
    }
}

/// Checks that Parquet has a form for all columns.
fn check_parquet(schema: &Schema) -> Result<()> {
    if schema.fields().is_empty() {
        return plan_err!("a Parquet file needs a column, but the rows have none");
    }
    match schema.fields().iter().find(|field| has_empty_struct(field.data_type())) {
        None => Ok(()),
        Some(field) => plan_err!(
            "column '{}' holds a struct without fields, which Parquet does not have; with the option \
             empty_message=bool a message without fields is a boolean",
            field.name()
        ),
    }
}

fn has_empty_struct(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) => {
            fields.is_empty() || fields.iter().any(|field| has_empty_struct(field.data_type()))
        }
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
            has_empty_struct(item.data_type())
        }
        _ => false,
    }
}

/// The codec of a Parquet file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParquetCompression(Compression);

impl Default for ParquetCompression {
    fn default() -> Self {
        Self(Compression::ZSTD(ZstdLevel::default()))
    }
}

impl FromStr for ParquetCompression {
    type Err = String;

    /// A codec's name, and for zstd, gzip and brotli a level: `zstd`, `zstd:9`, `snappy`, `none`.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (name, level) = match text.split_once(':') {
            Some((name, level)) => {
                let level: i32 = level.parse().map_err(|_| format!("'{level}' is no compression level"))?;
                (name, Some(level))
            }
            None => (text, None),
        };
        let unsigned = |level: i32| u32::try_from(level).unwrap_or(u32::MAX);
        let wrong = |error: datafusion::parquet::errors::ParquetError| error.to_string();
        let codec = match (name.to_ascii_lowercase().as_str(), level) {
            ("none" | "uncompressed", None) => Compression::UNCOMPRESSED,
            ("snappy", None) => Compression::SNAPPY,
            ("lz4" | "lz4_raw", None) => Compression::LZ4_RAW,
            ("zstd", level) => {
                Compression::ZSTD(level.map_or(Ok(ZstdLevel::default()), ZstdLevel::try_new).map_err(wrong)?)
            }
            ("gzip", level) => Compression::GZIP(
                level
                    .map_or(Ok(GzipLevel::default()), |level| GzipLevel::try_new(unsigned(level)))
                    .map_err(wrong)?,
            ),
            ("brotli", level) => Compression::BROTLI(
                level
                    .map_or(Ok(BrotliLevel::default()), |level| BrotliLevel::try_new(unsigned(level)))
                    .map_err(wrong)?,
            ),
            _ => {
                return Err(format!(
                    "'{text}' is none of zstd, snappy, lz4, gzip, brotli, none (zstd:9 sets a level)"
                ));
            }
        };
        Ok(Self(codec))
    }
}

/// A row group or a piece of text, encoded.
pub(super) struct Encoded {
    pub(super) rows: u64,
    content: Content,
}

enum Content {
    RowGroup(Vec<ArrowColumnChunk>),
    Text(Vec<u8>),
    Batches(Vec<RecordBatch>),
}

/// A row group or a piece of text that batches are being encoded into, beside others.
pub(super) struct Unit {
    rows: usize,
    open: Open,
}

enum Open {
    RowGroup(Vec<ArrowColumnWriter>),
    Csv(Vec<u8>),
    Ndjson(Vec<u8>),
    Batches { schema: SchemaRef, batches: Vec<RecordBatch> },
}

/// Makes an empty unit.
pub(super) type NewUnit = Arc<dyn Fn() -> Result<Unit> + Send + Sync>;

impl Unit {
    /// Encodes the rows of `batch`.
    pub(super) fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        self.rows += batch.num_rows();
        match &mut self.open {
            Open::RowGroup(writers) => write_columns(writers, batch)?,
            Open::Csv(text) => {
                csv::WriterBuilder::new().with_header(false).build(text).write(&json::flatten(batch)?)?
            }
            Open::Ndjson(text) => {
                let mut writer = json::lines(text);
                writer.write(batch)?;
                writer.finish()?;
            }
            Open::Batches { schema, batches } => batches.push(cast_batch(batch, schema)?),
        }
        Ok(())
    }

    /// Whether the unit is large enough to be finished.
    pub(super) fn is_full(&self) -> bool {
        match &self.open {
            Open::RowGroup(writers) => {
                let bytes: usize = writers.iter().map(ArrowColumnWriter::get_estimated_total_bytes).sum();
                self.rows >= ROW_GROUP_ROWS || bytes >= ROW_GROUP_BYTES
            }
            Open::Csv(text) | Open::Ndjson(text) => text.len() >= PIECE_BYTES,
            Open::Batches { .. } => true,
        }
    }

    /// What the unit has become.
    pub(super) fn finish(self) -> Result<Encoded> {
        let content = match self.open {
            Open::RowGroup(writers) => {
                let columns = writers.into_iter().map(ArrowColumnWriter::close);
                Content::RowGroup(columns.collect::<std::result::Result<_, _>>()?)
            }
            Open::Csv(text) | Open::Ndjson(text) => Content::Text(text),
            Open::Batches { batches, .. } => Content::Batches(batches),
        };
        Ok(Encoded { rows: self.rows as u64, content })
    }
}

/// One file being encoded.
pub(super) enum FileEncoder {
    Parquet {
        writer: Box<SerializedFileWriter<Buffer>>,
        factory: Arc<ArrowRowGroupWriterFactory>,
        buffer: Buffer,
    },
    Csv {
        header: Option<Vec<u8>>,
    },
    Ndjson,
    Arrow {
        writer: Box<FileWriter<Buffer>>,
        schema: SchemaRef,
        buffer: Buffer,
    },
}

impl FileEncoder {
    pub(super) fn new(
        format: OutputFormat,
        schema: &SchemaRef,
        compression: ParquetCompression,
    ) -> Result<Self> {
        let buffer = Buffer::default();
        Ok(match format {
            OutputFormat::Parquet => {
                check_parquet(schema)?;
                let properties = WriterProperties::builder().set_compression(compression.0).build();
                let writer = ArrowWriter::try_new(buffer.clone(), Arc::clone(schema), Some(properties))?;
                let (writer, factory) = writer.into_serialized_writer()?;
                Self::Parquet { writer: Box::new(writer), factory: Arc::new(factory), buffer }
            }
            OutputFormat::Records(name) => return plan_err!("{name} files are not written in units"),
            OutputFormat::Csv => Self::Csv { header: Some(csv_header(schema)?) },
            OutputFormat::Ndjson => Self::Ndjson,
            OutputFormat::Arrow => {
                let schema = Arc::new(without_dictionaries(schema));
                let writer = Box::new(FileWriter::try_new(buffer.clone(), &schema)?);
                Self::Arrow { writer, schema, buffer }
            }
        })
    }

    /// Makes units for this file.
    pub(super) fn new_unit(&self) -> NewUnit {
        match self {
            Self::Parquet { factory, .. } => {
                let factory = Arc::clone(factory);
                Arc::new(move || {
                    Ok(Unit { rows: 0, open: Open::RowGroup(factory.create_column_writers(0)?) })
                })
            }
            Self::Csv { .. } => Arc::new(|| Ok(Unit { rows: 0, open: Open::Csv(vec![]) })),
            Self::Ndjson => Arc::new(|| Ok(Unit { rows: 0, open: Open::Ndjson(vec![]) })),
            Self::Arrow { schema, .. } => {
                let schema = Arc::clone(schema);
                Arc::new(move || {
                    let open = Open::Batches { schema: Arc::clone(&schema), batches: vec![] };
                    Ok(Unit { rows: 0, open })
                })
            }
        }
    }

    /// Appends a unit and gives the bytes that the file grew by.
    pub(super) fn append(&mut self, unit: Encoded) -> Result<Vec<u8>> {
        match (self, unit.content) {
            (Self::Parquet { writer, buffer, .. }, Content::RowGroup(columns)) => {
                let mut group = writer.next_row_group()?;
                for column in columns {
                    column.append_to_row_group(&mut group)?;
                }
                group.close()?;
                Ok(buffer.take())
            }
            (Self::Arrow { writer, buffer, .. }, Content::Batches(batches)) => {
                for batch in &batches {
                    writer.write(batch)?;
                }
                Ok(buffer.take())
            }
            (Self::Csv { header }, Content::Text(text)) => Ok(match header.take() {
                Some(mut header) => {
                    header.extend_from_slice(&text);
                    header
                }
                None => text,
            }),
            (_, Content::Text(text)) => Ok(text),
            (_, Content::RowGroup(_) | Content::Batches(_)) => Ok(vec![]),
        }
    }

    /// The last bytes of the file.
    pub(super) fn finish(self) -> Result<Vec<u8>> {
        Ok(match self {
            Self::Parquet { writer, buffer, .. } => {
                writer.close()?;
                buffer.take()
            }
            Self::Arrow { mut writer, buffer, .. } => {
                writer.finish()?;
                buffer.take()
            }
            Self::Csv { header } => header.unwrap_or_default(),
            Self::Ndjson => vec![],
        })
    }
}

fn write_columns(writers: &mut [ArrowColumnWriter], batch: &RecordBatch) -> Result<()> {
    let mut writers = writers.iter_mut();
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        for (leaf, writer) in compute_leaves(field, column)?.iter().zip(writers.by_ref()) {
            writer.write(leaf)?;
        }
    }
    Ok(())
}

fn csv_header(schema: &SchemaRef) -> Result<Vec<u8>> {
    let mut text = vec![];
    csv::WriterBuilder::new()
        .build(&mut text)
        .write(&json::flatten(&RecordBatch::new_empty(Arc::clone(schema)))?)?;
    Ok(text)
}

fn cast_batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns =
        batch.columns().iter().zip(schema.fields()).map(|(column, field)| match column.data_type() {
            kind if kind == field.data_type() => compact(column),
            _ => compact(&cast(column, field.data_type())?),
        });
    Ok(RecordBatch::try_new(Arc::clone(schema), columns.collect::<Result<_>>()?)?)
}

fn without_dictionaries(schema: &Schema) -> Schema {
    Schema::new_with_metadata(plain_fields(schema.fields()), schema.metadata().clone())
}

fn plain_fields(fields: &Fields) -> Fields {
    fields.iter().map(plain_field).collect()
}

fn plain_field(field: &FieldRef) -> FieldRef {
    let kind = match field.data_type() {
        DataType::Dictionary(_, value) => value.as_ref().clone(),
        DataType::Struct(fields) => DataType::Struct(plain_fields(fields)),
        DataType::List(item) => DataType::List(plain_field(item)),
        DataType::Map(entries, sorted) => DataType::Map(plain_field(entries), *sorted),
        kind => kind.clone(),
    };
    Arc::new(Field::clone(field).with_data_type(kind))
}

/// What a format's writer wrote since it was last asked.
#[derive(Clone, Default)]
pub(super) struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
