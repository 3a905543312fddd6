//! One file: the units that can be encoded beside each other, and what puts them together.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::ipc::writer::{FileWriter, IpcWriteOptions};
use datafusion::arrow::ipc::{CompressionType, MetadataVersion};
use datafusion::error::Result;
use datafusion::parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory,
};
use datafusion::parquet::file::writer::SerializedFileWriter;

use super::parquet::{ColumnsJob, ParquetEncoding, RowGroup, Schemas};
use super::pieces::{columnar_pieces, text_pieces};
use super::plain::{arrow_schema, cast_batch};
use crate::json;

/// Bytes of a piece of text.
const TEXT_BYTES: usize = 1 << 20;
/// What parts of an Arrow file are padded to. With more, its first message does not follow the magic number at once, and
/// DataFusion does not find the schema of a file on a store.
const IPC_ALIGNMENT: usize = 8;

/// How the files of one output are encoded.
#[derive(Debug, Clone)]
pub(crate) enum Encoding {
    /// Apache Parquet.
    Parquet(Arc<ParquetEncoding>),
    /// Comma-separated values; nested columns are JSON text.
    Csv(csv::WriterBuilder),
    /// One JSON object a line.
    Ndjson,
    /// Arrow IPC file; dictionary columns are written as their values.
    Arrow(Option<CompressionType>),
}

impl Encoding {
    /// Cuts a batch so that what its pieces become stays small.
    ///
    /// # Errors
    /// A row that is too large for any output.
    pub(crate) fn pieces(&self, batch: &RecordBatch) -> Result<Vec<RecordBatch>> {
        match self {
            Self::Parquet(_) | Self::Arrow(_) => columnar_pieces(batch),
            Self::Csv(_) | Self::Ndjson => text_pieces(batch),
        }
    }
}

/// A row group, a piece of text or batches, encoded.
pub(crate) struct Encoded {
    /// Rows.
    pub(crate) rows: u64,
    content: Content,
}

enum Content {
    RowGroup(Vec<ArrowColumnChunk>),
    Text(Vec<u8>),
    Batches(Vec<RecordBatch>),
}

/// What batches are being encoded into, beside others.
pub(crate) struct Unit {
    rows: usize,
    encoding: Arc<Encoding>,
    open: Open,
}

enum Open {
    RowGroup(RowGroup),
    Csv(Vec<u8>),
    Ndjson(Vec<u8>),
    Batches { schema: SchemaRef, batches: Vec<RecordBatch> },
}

/// Makes an empty unit.
pub(crate) type NewUnit = Arc<dyn Fn() -> Result<Unit> + Send + Sync>;

impl Unit {
    /// Cuts a batch into what [`push`](Self::push) takes.
    ///
    /// # Errors
    /// A row that is too large for any output.
    pub(crate) fn pieces(&self, batch: &RecordBatch) -> Result<Vec<RecordBatch>> {
        self.encoding.pieces(batch)
    }

    /// Encodes the rows of a piece.
    ///
    /// # Errors
    /// A value that the format does not have.
    pub(crate) fn push(&mut self, piece: &RecordBatch) -> Result<()> {
        self.rows += piece.num_rows();
        match &mut self.open {
            Open::RowGroup(group) => group.push(piece)?,
            Open::Csv(text) => {
                let Encoding::Csv(builder) = self.encoding.as_ref() else { return Ok(()) };
                builder.clone().with_header(false).build(text).write(&json::flatten(piece)?)?;
            }
            Open::Ndjson(text) => {
                let mut writer = json::lines(text);
                writer.write(piece)?;
                writer.finish()?;
            }
            Open::Batches { schema, batches } => batches.push(cast_batch(piece, schema)?),
        }
        Ok(())
    }

    /// Rows that it can have still, if its format counts them.
    pub(super) fn room(&self) -> usize {
        match &self.open {
            Open::RowGroup(group) => group.room(),
            _ => usize::MAX,
        }
    }

    /// Cuts the encoding of a piece into jobs that can run beside each other; what they give is to be
    /// [joined](Self::join) in their order.
    pub(super) fn split(&mut self, piece: &RecordBatch, jobs: usize) -> Result<Vec<ColumnsJob>> {
        match &mut self.open {
            Open::RowGroup(group) => {
                self.rows += piece.num_rows();
                group.split(piece, jobs)
            }
            _ => self.push(piece).map(|()| vec![]),
        }
    }

    /// Takes what a job gave.
    pub(super) fn join(&mut self, columns: Vec<ArrowColumnWriter>) {
        if let Open::RowGroup(group) = &mut self.open {
            group.join(columns);
        }
    }

    /// Bytes that it holds.
    pub(super) fn memory_size(&self) -> usize {
        match &self.open {
            Open::RowGroup(group) => group.memory_size(),
            Open::Csv(text) | Open::Ndjson(text) => text.len(),
            Open::Batches { batches, .. } => batches.iter().map(RecordBatch::get_array_memory_size).sum(),
        }
    }

    /// Whether nothing was pushed yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Whether the unit is large enough to be finished.
    pub(crate) fn is_full(&self) -> bool {
        match &self.open {
            Open::RowGroup(group) => group.is_full(),
            Open::Csv(text) | Open::Ndjson(text) => text.len() >= TEXT_BYTES,
            Open::Batches { .. } => true,
        }
    }

    /// What the unit has become.
    ///
    /// # Errors
    /// Whatever the codec of the format fails with.
    pub(crate) fn finish(self) -> Result<Encoded> {
        let content = match self.open {
            Open::RowGroup(group) => Content::RowGroup(group.finish()?),
            Open::Csv(text) | Open::Ndjson(text) => Content::Text(text),
            Open::Batches { batches, .. } => Content::Batches(batches),
        };
        Ok(Encoded { rows: self.rows as u64, content })
    }
}

/// One file being encoded.
pub(crate) struct FileEncoder {
    encoding: Arc<Encoding>,
    state: State,
}

enum State {
    Parquet {
        writer: Box<SerializedFileWriter<Buffer>>,
        factory: Arc<ArrowRowGroupWriterFactory>,
        parquet: Arc<ParquetEncoding>,
        schemas: Schemas,
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
    /// A file of rows of this schema.
    ///
    /// # Errors
    /// A column that the format does not have.
    pub(crate) fn new(encoding: &Arc<Encoding>, schema: &SchemaRef) -> Result<Self> {
        let buffer = Buffer::default();
        let state = match encoding.as_ref() {
            Encoding::Parquet(parquet) => {
                let (schemas, writer) = parquet.open(schema, buffer.clone())?;
                let (writer, factory) = writer.into_serialized_writer()?;
                let (writer, factory) = (Box::new(writer), Arc::new(factory));
                State::Parquet { writer, factory, parquet: Arc::clone(parquet), schemas, buffer }
            }
            Encoding::Csv(builder) => {
                let header = if builder.header() { csv_header(builder, schema)? } else { vec![] };
                State::Csv { header: Some(header) }
            }
            Encoding::Ndjson => State::Ndjson,
            Encoding::Arrow(compression) => {
                let schema = arrow_schema(schema);
                let options = IpcWriteOptions::try_new(IPC_ALIGNMENT, false, MetadataVersion::V5)?;
                let options = options.try_with_compression(*compression)?;
                let writer = FileWriter::try_new_with_options(buffer.clone(), &schema, options)?;
                State::Arrow { writer: Box::new(writer), schema, buffer }
            }
        };
        Ok(Self { encoding: Arc::clone(encoding), state })
    }

    /// Makes units for this file.
    pub(crate) fn new_unit(&self) -> NewUnit {
        let encoding = Arc::clone(&self.encoding);
        let unit = move |open| Unit { rows: 0, encoding: Arc::clone(&encoding), open };
        match &self.state {
            State::Parquet { factory, schemas, parquet, .. } => {
                let (factory, schemas) = (Arc::clone(factory), schemas.clone());
                let parquet = Arc::clone(parquet);
                Arc::new(move || Ok(unit(Open::RowGroup(RowGroup::new(&factory, &schemas, &parquet)?))))
            }
            State::Csv { .. } => Arc::new(move || Ok(unit(Open::Csv(vec![])))),
            State::Ndjson => Arc::new(move || Ok(unit(Open::Ndjson(vec![])))),
            State::Arrow { schema, .. } => {
                let schema = Arc::clone(schema);
                Arc::new(move || Ok(unit(Open::Batches { schema: Arc::clone(&schema), batches: vec![] })))
            }
        }
    }

    /// Appends a unit and gives the bytes that the file grew by.
    ///
    /// # Errors
    /// None for units of this file.
    pub(crate) fn append(&mut self, unit: Encoded) -> Result<Vec<u8>> {
        match (&mut self.state, unit.content) {
            (State::Parquet { writer, buffer, .. }, Content::RowGroup(columns)) => {
                let mut group = writer.next_row_group()?;
                for column in columns {
                    column.append_to_row_group(&mut group)?;
                }
                group.close()?;
                Ok(buffer.take())
            }
            (State::Arrow { writer, buffer, .. }, Content::Batches(batches)) => {
                for batch in &batches {
                    writer.write(batch)?;
                }
                Ok(buffer.take())
            }
            (State::Csv { header }, Content::Text(text)) => Ok(match header.take() {
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
    ///
    /// # Errors
    /// None for files whose units were all appended.
    pub(crate) fn finish(self) -> Result<Vec<u8>> {
        Ok(match self.state {
            State::Parquet { writer, buffer, .. } => {
                writer.close()?;
                buffer.take()
            }
            State::Arrow { mut writer, buffer, .. } => {
                writer.finish()?;
                buffer.take()
            }
            State::Csv { header } => header.unwrap_or_default(),
            State::Ndjson => vec![],
        })
    }
}

fn csv_header(builder: &csv::WriterBuilder, schema: &SchemaRef) -> Result<Vec<u8>> {
    let mut text = vec![];
    let no_rows = json::flatten(&RecordBatch::new_empty(Arc::clone(schema)))?;
    builder.clone().build(&mut text).write(&no_rows)?;
    Ok(text)
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
