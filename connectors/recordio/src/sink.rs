//! Rows to RecordIO files: the writer that the engine drives.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, AsArray, BinaryViewArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use bytes::Bytes;
use recordfusion_core::{
    Assembler, ChunkJob, Chunker, EncodedChunk, Error, MessageType, OptionInfo, Options, Result, Writer,
};
use recordfusion_protobuf::{
    DerivedType, OpenChunk, ProtobufOptions, RecordChunker, RecordEncoder, RecordType, Target, WriteOptions,
    push_records, record_descriptors,
};

use crate::header::{Codec, Layout};
use crate::write::{ChunkRecords, MAX_PAYLOAD, WriteError, WriterOptions};

/// Full name of message types that are made for columns.
const DERIVED_TYPE: &str = "recordio.Row";
/// Names of a column of whole records.
const RECORD: [&str; 2] = ["record", "_record"];

/// The options of writing that say how records become a file.
const CONTAINER: &[OptionInfo] = &[
    OptionInfo::new("layout", "go | fluid | elastic", "Layout of chunk headers, by the writer that has it"),
    OptionInfo::new("compressor", "snappy | gzip | none", "Compression of chunks; gzip:9 sets a level"),
    OptionInfo::new("max_chunk_bytes", "SIZE", "Bytes of records of a chunk, by default 32M"),
    OptionInfo::new("max_chunk_records", "NUMBER", "Records of a chunk; by default 1000 in the fluid layout"),
];

/// The options of writing: those of the container, of the message type, then of the records.
pub(crate) static OPTIONS: LazyLock<Vec<OptionInfo>> =
    LazyLock::new(|| [CONTAINER, ProtobufOptions::TARGET, WriteOptions::OPTIONS].concat());

/// Checks the values of options.
///
/// # Errors
/// [`Error::Option`] for one that its option cannot have.
pub(crate) fn check_options(options: &Options) -> Result<()> {
    WriteOptions::from_options(options)?;
    writer_options(options).map(drop)
}

/// Plans the writing of rows of `schema`: as messages of the type that the options name, else of `table_type`. If
/// there is neither, a single column `record` of bytes or text is the records, and other columns become messages of
/// a type made for them.
///
/// # Errors
/// Wrong options; columns that the message type has no field for, or that no message can hold.
pub(crate) fn writer(
    schema: &SchemaRef,
    options: &Options,
    table_type: Option<&RecordType>,
) -> Result<Arc<dyn Writer>> {
    let container = writer_options(options)?;
    let records = WriteOptions::from_options(options)?;
    let target = record_descriptors(&[], &ProtobufOptions::from_options(options)?)?;
    let target = target.or_else(|| table_type.cloned());
    if target.is_none() && is_record(schema) {
        return Ok(Arc::new(RecordioWriter { rows: Rows::Records, container, message_type: None }));
    }
    let rows = Rows::Messages { schema: Arc::clone(schema), target, options: records };
    let message_type = rows.encoder()?.and_then(|encoder| message_type(&encoder));
    Ok(Arc::new(RecordioWriter { rows, container, message_type }))
}

/// Plans the writing of records as they are, which are messages of the type that the options name, else of
/// `records`.
///
/// # Errors
/// Wrong options.
pub(crate) fn record_writer(options: &Options, records: Option<&MessageType>) -> Result<Arc<dyn Writer>> {
    let container = writer_options(options)?;
    WriteOptions::from_options(options)?;
    let target = record_descriptors(&[], &ProtobufOptions::from_options(options)?)?;
    let message_type = match &target {
        Some(target) => Some(target.message_type()),
        None => records.filter(|records| !records.descriptors.is_empty()).cloned(),
    };
    Ok(Arc::new(RecordioWriter { rows: Rows::Records, container, message_type }))
}

/// Whether the only column is whole records.
pub(crate) fn is_record(schema: &Schema) -> bool {
    use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary, LargeUtf8, Utf8, Utf8View};
    let [column] = &schema.fields()[..] else { return false };
    let is_bytes = matches!(
        column.data_type(),
        Binary | BinaryView | FixedSizeBinary(_) | LargeBinary | LargeUtf8 | Utf8 | Utf8View
    );
    is_bytes && RECORD.contains(&column.name().as_str())
}

fn writer_options(options: &Options) -> Result<WriterOptions> {
    let layouts = Layout::ALL.map(|layout| (layout.name(), layout));
    let layout = options.choose("layout", &layouts)?.unwrap_or(Layout::Go);
    let mut writer = WriterOptions::new(layout);
    if let Some((codec, level)) = compressor(options)? {
        (writer.codec, writer.gzip_level) = (codec, level.unwrap_or(writer.gzip_level));
    }
    if layout.code(writer.codec).is_none() {
        return Err(option_error("compressor", WriteError::NoCodec(layout, writer.codec).to_string()));
    }
    if let Some(bytes) = options.size("max_chunk_bytes", 0..=MAX_PAYLOAD)? {
        writer.max_chunk_bytes = bytes;
    }
    if let Some(text) = options.get("max_chunk_records").map(str::trim).filter(|text| !text.is_empty()) {
        let records = text.parse().ok().filter(|records| *records > 0);
        let bad = || option_error("max_chunk_records", format!("'{text}' is not a whole number from 1 on"));
        writer.max_chunk_records = Some(records.ok_or_else(bad)?);
    }
    Ok(writer)
}

/// A codec, and a level if one is given.
fn compressor(options: &Options) -> Result<Option<(Codec, Option<u32>)>> {
    let text = options.get("compressor").unwrap_or_default().trim();
    if text.is_empty() {
        return Ok(None);
    }
    let (name, level) = match text.split_once(':') {
        Some((name, level)) => (name.trim(), Some(level.trim().parse().ok().filter(|level| *level <= 9))),
        None => (text, None),
    };
    let codec = Codec::ALL.into_iter().find(|codec| codec.name().eq_ignore_ascii_case(name));
    match (codec, level) {
        (Some(codec), None) => Ok(Some((codec, None))),
        (Some(Codec::Gzip), Some(level @ Some(_))) => Ok(Some((Codec::Gzip, level))),
        _ => Err(option_error(
            "compressor",
            format!("'{text}' is not one of snappy, none, gzip, gzip:0 to gzip:9"),
        )),
    }
}

fn option_error(name: &str, reason: String) -> Error {
    Error::Option { name: name.to_string(), reason }
}

fn encode_error(error: &WriteError) -> Error {
    Error::Encode { format: "recordio", reason: error.to_string() }
}

/// The message type of the records.
fn message_type(encoder: &RecordEncoder) -> Option<MessageType> {
    match encoder.derived() {
        Some(DerivedType { record, descriptors, .. }) => {
            Some(MessageType { name: record.full_name().to_string(), descriptors: descriptors.clone() })
        }
        None => encoder.message().map(RecordType::message_type),
    }
}

/// What rows are written as.
#[derive(Debug)]
enum Rows {
    /// As they are.
    Records,
    /// As messages of the given type, or of one made for the columns.
    Messages { schema: SchemaRef, target: Option<RecordType>, options: WriteOptions },
}

impl Rows {
    fn encoder(&self) -> Result<Option<RecordEncoder>> {
        let Self::Messages { schema, target, options } = self else { return Ok(None) };
        let target =
            target.as_ref().map_or(Target::Derived(DERIVED_TYPE), |target| Target::Given(target.clone()));
        RecordEncoder::new(Arc::clone(schema), target, options).map(Some)
    }
}

/// Writes files of one kind of records.
#[derive(Debug)]
struct RecordioWriter {
    rows: Rows,
    container: WriterOptions,
    message_type: Option<MessageType>,
}

impl Writer for RecordioWriter {
    fn chunker(&self) -> Result<Box<dyn Chunker>> {
        let chunk = RecordChunk { records: ChunkRecords::default(), options: self.container.clone() };
        Ok(match self.rows.encoder()? {
            Some(encoder) => Box::new(RecordChunker::new(encoder, chunk)),
            None => Box::new(PlainChunker { chunk, rows: 0 }),
        })
    }

    fn assembler(&self) -> Result<Box<dyn Assembler>> {
        Ok(Box::new(RecordioAssembler))
    }

    /// Chunks stand for themselves: they can follow any others.
    fn appender(&self, _size: u64, _tail: &Bytes) -> Result<Box<dyn Assembler>> {
        self.assembler()
    }

    fn message_type(&self) -> Option<MessageType> {
        self.message_type.clone()
    }
}

/// The open chunk of a file.
struct RecordChunk {
    records: ChunkRecords,
    options: WriterOptions,
}

impl OpenChunk for RecordChunk {
    fn has_room(&self, len: usize) -> bool {
        self.records.has_room(len, &self.options)
    }

    fn push(&mut self, record: &[u8]) -> Result<()> {
        self.records.push(record).map_err(|error| encode_error(&error))
    }

    fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    fn close(&mut self) -> ChunkJob {
        let (records, options) = (self.records.take(), self.options.clone());
        Box::new(move || {
            let rows = u64::from(records.count());
            let (header, data) = records.encode(&options).map_err(|error| encode_error(&error))?;
            Ok(EncodedChunk { header: header.to_vec(), data, rows })
        })
    }
}

/// Gathers records that are rows of one column of bytes or text.
struct PlainChunker {
    chunk: RecordChunk,
    /// Rows before the batch.
    rows: u64,
}

impl Chunker for PlainChunker {
    fn push(&mut self, batch: &RecordBatch) -> Result<Vec<ChunkJob>> {
        let records = records_of(batch)?;
        if let Some(row) = (0..records.len()).find(|&row| records.is_null(row)) {
            let column = batch.schema_ref().field(0).name().clone();
            let reason = "it is NULL, and a record cannot be".to_string();
            return Err(Error::BadValue { column, row: self.rows.saturating_add(row as u64), reason });
        }
        self.rows = self.rows.saturating_add(batch.num_rows() as u64);
        push_records(records.iter().flatten(), &mut self.chunk)
    }

    fn finish(&mut self) -> Result<Vec<ChunkJob>> {
        Ok(if self.chunk.is_empty() { Vec::new() } else { vec![self.chunk.close()] })
    }
}

/// The only column of a batch as bytes.
fn records_of(batch: &RecordBatch) -> Result<BinaryViewArray> {
    let [column] = batch.columns() else {
        return Err(Error::Schema("the batch has other columns than the writer was made for".to_string()));
    };
    let column = match column.data_type() {
        DataType::FixedSizeBinary(_) => cast(column, &DataType::Binary)?,
        DataType::Utf8 | DataType::LargeUtf8 => cast(column, &DataType::Utf8View)?,
        _ => Arc::clone(column),
    };
    Ok(cast(&column, &DataType::BinaryView)?.as_binary_view().clone())
}

/// Puts a file together: chunks, back to back.
struct RecordioAssembler;

impl Assembler for RecordioAssembler {
    fn begin(&mut self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn append(&mut self, chunk: EncodedChunk) -> Result<Vec<u8>> {
        Ok([chunk.header, chunk.data].concat())
    }

    fn finish(&mut self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }
}
