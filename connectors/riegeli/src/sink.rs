//! Rows to Riegeli and ArrayRecord files: the writer that the engine drives.

use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use arrow::datatypes::{Schema, SchemaRef};
use bytes::Bytes;
use recordfusion_core::{
    Assembler, ChunkJob, Chunker, EncodedChunk, Error, OptionInfo, Options, Result, Writer,
};
use recordfusion_protobuf::{
    ArrowSchemaHint, FileDescriptors, OpenChunk, ProtobufOptions, RecordChunker, RecordEncoder, RecordType,
    Target, WriteOptions, arrow_schema_to_keep, record_descriptors,
};

use crate::header::ChunkHeader;
use crate::metadata::{RecordsMetadata, Remarks};
use crate::read::index::ends_with_index;
use crate::write::{
    self, ArrayRecordOptions, ArrayRecordWriter, ChunkEncoder, ChunkRecords, FileWriter, WriteError,
    WriterOptions, append, descriptor_files,
};

/// The extensions of ArrayRecord files.
const ARRAY_RECORD: [&str; 2] = ["array_record", "arrayrecord"];
/// Name of a column of whole records.
const RECORD: &str = "_record";
/// Full name of message types that are made for columns.
const DERIVED_TYPE: &str = "riegeli.Row";

/// The options of writing that say how records become a file.
const CONTAINER: &[OptionInfo] = &[
    OptionInfo::new(
        "writer_options",
        "TEXT",
        "Options in Riegeli's own text form, such as transpose,zstd:5,chunk_size:1M",
    ),
    OptionInfo::new(
        "transpose",
        "false | true",
        "Cut records into fields, so that fields can be read by themselves",
    ),
    OptionInfo::new(
        "compression",
        "brotli | zstd | snappy | uncompressed",
        "Codec of chunks; brotli:9 and zstd:5 set a level",
    ),
    OptionInfo::new("window_log", "10 to 30", "Window of brotli and zstd, as a power of two"),
    OptionInfo::new("chunk_size", "SIZE", "Bytes of records of a chunk, such as 1M"),
    OptionInfo::new("bucket_fraction", "0 to 1", "Part of a transposed chunk that is compressed together"),
    OptionInfo::new(
        "padding",
        "SIZE",
        "Begin and end files at multiples of this, such as 64K, to be joined later",
    ),
    OptionInfo::new("initial_padding", "SIZE", "Begin what is added to a file at a multiple of this"),
    OptionInfo::new("final_padding", "SIZE", "End files at multiples of this"),
    OptionInfo::new("parallelism", "NUMBER", "Chunks to encode at a time, instead of one for each partition"),
    OptionInfo::new("group_size", "NUMBER", "Records of a chunk of an ArrayRecord file"),
    OptionInfo::new("file_comment", "TEXT", "A comment for the file's metadata"),
];

/// The options of writing: those of the container, of the message type, then of the records.
pub(crate) static OPTIONS: LazyLock<Vec<OptionInfo>> =
    LazyLock::new(|| [CONTAINER, ProtobufOptions::TARGET, WriteOptions::OPTIONS].concat());

/// Writes files of one message type.
#[derive(Debug)]
struct RiegeliWriter {
    schema: SchemaRef,
    target: Option<RecordType>,
    records: WriteOptions,
    container: Container,
    /// The metadata message; none for ArrayRecord files.
    metadata: Vec<u8>,
}

/// How records become a file.
#[derive(Debug, Clone)]
enum Container {
    Riegeli(WriterOptions),
    ArrayRecord(ArrayRecordOptions),
}

/// Plans the writing of rows of `schema`, as messages of `table_type` if the options name no other type, and of
/// a type made for the columns if there is neither.
///
/// # Errors
/// Wrong options; columns that the message type has no field for, or that no message can hold.
pub(crate) fn writer(
    schema: &SchemaRef,
    extension: &str,
    options: &Options,
    table_type: Option<&RecordType>,
    remarks: &Remarks,
) -> Result<Arc<dyn Writer>> {
    let records = WriteOptions::from_options(options)?;
    let target = record_descriptors(&[], &ProtobufOptions::from_options(options)?)?;
    let target = target.or_else(|| table_type.cloned());
    let container = container(extension, options)?;
    let encoder = record_encoder(schema, target.as_ref(), &records)?;
    let metadata =
        container.metadata(options, metadata(schema, &encoder, target.as_ref(), &records)?, remarks);
    Ok(Arc::new(RiegeliWriter { schema: Arc::clone(schema), target, records, container, metadata }))
}

/// Plans the writing of records as they are. The file says of them what was `said`, but for a message type that the
/// options name.
///
/// # Errors
/// Wrong options.
pub(crate) fn record_writer(
    schema: &SchemaRef,
    extension: &str,
    options: &Options,
    said: &FileDescriptors,
    remarks: &Remarks,
) -> Result<Arc<dyn Writer>> {
    let records = WriteOptions::from_options(options)?;
    let said = match record_descriptors(&[], &ProtobufOptions::from_options(options)?)? {
        Some(target) => RecordsMetadata {
            record_type_name: Some(target.full_name().to_string()),
            file_descriptors: needed_files(&target.file_descriptors(), target.full_name())?,
            ..RecordsMetadata::default()
        },
        None => RecordsMetadata {
            record_type_name: said.message_type.clone(),
            file_descriptors: said.descriptors.clone(),
            arrow_schema: said.arrow_schema.clone(),
            ..RecordsMetadata::default()
        },
    };
    let container = container(extension, options)?;
    let metadata = container.metadata(options, said, remarks);
    Ok(Arc::new(RiegeliWriter { schema: Arc::clone(schema), target: None, records, container, metadata }))
}

/// Whether the only column is whole records.
pub(crate) fn is_record(schema: &Schema) -> bool {
    matches!(&schema.fields()[..], [column] if column.name() == RECORD)
}

/// Checks the values of options that are meant for files of either kind.
///
/// # Errors
/// Values that neither accepts; the error is that of Riegeli files.
pub(crate) fn check_options(options: &Options) -> Result<()> {
    WriteOptions::from_options(options)?;
    let [riegeli, array_record] = ["riegeli", "array_record"].map(|kind| container(kind, options));
    if array_record.is_ok() { Ok(()) } else { riegeli.map(drop) }
}

fn container(extension: &str, options: &Options) -> Result<Container> {
    let text = container_text(options);
    let bad = |error: write::OptionsError| Error::Schema(error.to_string());
    if ARRAY_RECORD.contains(&extension) {
        return text.parse().map(Container::ArrayRecord).map_err(bad);
    }
    text.parse().map(Container::Riegeli).map_err(bad)
}

/// The single options behind those in text form, in text form.
fn container_text(options: &Options) -> String {
    const NAMED: [&str; 9] = [
        "transpose",
        "window_log",
        "chunk_size",
        "bucket_fraction",
        "padding",
        "initial_padding",
        "final_padding",
        "parallelism",
        "group_size",
    ];
    let given = |name: &'static str| options.get(name).filter(|value| !value.is_empty());
    let named = |name: &'static str| given(name).map(|value| format!("{name}:{value}"));
    let text = given("writer_options").map(str::to_string);
    let compression = given("compression").map(str::to_string);
    let items = text.into_iter().chain(compression).chain(NAMED.into_iter().filter_map(named));
    items.collect::<Vec<_>>().join(",")
}

fn record_encoder(
    schema: &SchemaRef,
    target: Option<&RecordType>,
    options: &WriteOptions,
) -> Result<RecordEncoder> {
    let target = target.map_or(Target::Derived(DERIVED_TYPE), |target| Target::Given(target.clone()));
    RecordEncoder::new(Arc::clone(schema), target, options)
}

/// What the metadata say of the records (section 6.1).
fn metadata(
    schema: &SchemaRef,
    encoder: &RecordEncoder,
    target: Option<&RecordType>,
    records: &WriteOptions,
) -> Result<RecordsMetadata> {
    let name = encoder.message().map(RecordType::full_name);
    let files = match (encoder.derived(), target) {
        (Some(derived), _) => derived.descriptors.clone(),
        (None, Some(target)) => target.file_descriptors(),
        (None, None) => Vec::new(),
    };
    let with_schema = records.arrow_schema_hint == ArrowSchemaHint::Write && !encoder.takes_whole_records();
    Ok(RecordsMetadata {
        record_type_name: name.map(str::to_string),
        file_descriptors: needed_files(&files, name.unwrap_or_default())?,
        arrow_schema: if with_schema { arrow_schema_to_keep(encoder, schema)? } else { None },
        ..RecordsMetadata::default()
    })
}

/// Those of `files` that the message type `name` needs.
fn needed_files(files: &[Bytes], name: &str) -> Result<Vec<Bytes>> {
    descriptor_files(files, name).map_err(|fault| encode_error(&fault))
}

fn encode_error(error: &dyn std::error::Error) -> Error {
    Error::Encode { format: "riegeli", reason: error.to_string() }
}

impl Writer for RiegeliWriter {
    fn chunker(&self) -> Result<Box<dyn Chunker>> {
        let encoder = record_encoder(&self.schema, self.target.as_ref(), &self.records)?;
        let encoders = Encoders { container: self.container.clone(), idle: Arc::default() };
        Ok(Box::new(RecordChunker::new(encoder, RecordChunk { records: ChunkRecords::default(), encoders })))
    }

    fn assembler(&self) -> Result<Box<dyn Assembler>> {
        Ok(match &self.container {
            Container::Riegeli(options) => {
                let begin = Begin::New { metadata: self.metadata.clone() };
                Box::new(RiegeliAssembler { options: options.clone(), begin, file: None })
            }
            Container::ArrayRecord(options) => {
                Box::new(ArrayRecordAssembler { options: options.clone(), file: None })
            }
        })
    }

    fn tail(&self, size: u64) -> Range<u64> {
        append::tail(size)
    }

    fn appender(&self, size: u64, tail: &Bytes) -> Result<Box<dyn Assembler>> {
        let options = match &self.container {
            Container::Riegeli(options) if !ends_with_index(size, tail) => options,
            _ => {
                let reason = "an ArrayRecord file ends with an index, so that nothing can be added to it";
                return Err(Error::Unsupported(reason.to_string()));
            }
        };
        append::check(size, tail).map_err(|fault| encode_error(&fault))?;
        let begin = Begin::Behind { size };
        Ok(Box::new(RiegeliAssembler { options: options.clone(), begin, file: None }))
    }

    fn parallelism(&self) -> Option<usize> {
        match &self.container {
            Container::Riegeli(options) => usize::try_from(options.parallelism).ok().filter(|&most| most > 0),
            Container::ArrayRecord(_) => None,
        }
    }
}

/// The open chunk of a file.
struct RecordChunk {
    records: ChunkRecords,
    encoders: Encoders,
}

impl OpenChunk for RecordChunk {
    fn has_room(&self, len: usize) -> bool {
        self.encoders.container.has_room(&self.records, len)
    }

    fn push(&mut self, record: &[u8]) -> Result<()> {
        self.records.push(record).map_err(|error| encode_error(&error))
    }

    fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    fn close(&mut self) -> ChunkJob {
        let encoders = self.encoders.clone();
        let records = std::mem::replace(&mut self.records, encoders.empty_chunk());
        Box::new(move || encoders.encode(records))
    }
}

impl Container {
    /// The metadata message of a file whose records are as `said`; none for ArrayRecord files.
    fn metadata(&self, options: &Options, said: RecordsMetadata, remarks: &Remarks) -> Vec<u8> {
        let Self::Riegeli(writer_options) = self else { return Vec::new() };
        let metadata = RecordsMetadata {
            file_comment: options.get("file_comment").map(str::to_string).or_else(|| remarks.comment()),
            record_writer_options: Some(writer_options.to_string()),
            extensions: remarks.extensions(),
            ..said
        };
        metadata.encode().to_vec()
    }

    fn has_room(&self, chunk: &ChunkRecords, len: usize) -> bool {
        match self {
            Self::Riegeli(options) => chunk.fits(len, options.chunk_size()),
            Self::ArrayRecord(options) => !options.is_full(chunk),
        }
    }

    fn encoder(&self) -> std::result::Result<ChunkEncoder, WriteError> {
        Ok(match self {
            Self::Riegeli(options) => ChunkEncoder::new(options)?,
            Self::ArrayRecord(options) => options.encoder()?,
        })
    }
}

/// Encoders of chunks, as many as work at a time; what is idle is used again.
#[derive(Clone)]
struct Encoders {
    container: Container,
    idle: Arc<Mutex<Idle>>,
}

#[derive(Default)]
struct Idle {
    encoders: Vec<ChunkEncoder>,
    /// Chunks without records, which keep their memory.
    chunks: Vec<ChunkRecords>,
}

impl Encoders {
    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn empty_chunk(&self) -> ChunkRecords {
        self.idle().chunks.pop().unwrap_or_default()
    }

    fn encode(&self, mut chunk: ChunkRecords) -> Result<EncodedChunk> {
        let idle = self.idle().encoders.pop();
        let mut encoder = match idle {
            Some(encoder) => encoder,
            None => self.container.encoder().map_err(|error| encode_error(&error))?,
        };
        let encoded = encoder.encode(&chunk).map_err(|error| encode_error(&error))?;
        chunk.clear();
        let mut idle = self.idle();
        idle.encoders.push(encoder);
        idle.chunks.push(chunk);
        drop(idle);
        let (header, rows) = (encoded.header.encode().to_vec(), encoded.header.num_records);
        Ok(EncodedChunk { header, data: encoded.data, rows })
    }
}

/// The chunk as the file writers take it.
fn chunk_of(chunk: EncodedChunk) -> Result<write::EncodedChunk> {
    let header = ChunkHeader::parse(&chunk.header).map_err(|fault| encode_error(&fault))?;
    Ok(write::EncodedChunk { header, data: chunk.data })
}

fn not_begun() -> Error {
    Error::Encode { format: "riegeli", reason: "the file was not begun, or is finished".to_string() }
}

/// Puts a Riegeli file together.
struct RiegeliAssembler {
    options: WriterOptions,
    begin: Begin,
    file: Option<FileWriter>,
}

/// How a file begins.
enum Begin {
    /// With the signature and this metadata message.
    New { metadata: Vec<u8> },
    /// Behind the bytes that are there.
    Behind { size: u64 },
}

impl RiegeliAssembler {
    fn begin_file(&mut self) -> std::result::Result<Vec<u8>, WriteError> {
        let mut out = Vec::new();
        self.file = Some(match &self.begin {
            Begin::New { metadata } => {
                let mut file = FileWriter::create(&self.options, &mut out);
                let metadata = ChunkEncoder::new(&self.options)?.encode_metadata(metadata)?;
                file.write(&metadata, &mut out)?;
                file
            }
            Begin::Behind { size } => FileWriter::begin_append(*size, &self.options, &mut out)?,
        });
        Ok(out)
    }
}

impl Assembler for RiegeliAssembler {
    fn begin(&mut self) -> Result<Vec<u8>> {
        self.begin_file().map_err(|error| encode_error(&error))
    }

    fn append(&mut self, chunk: EncodedChunk) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let file = self.file.as_mut().ok_or_else(not_begun)?;
        file.write(&chunk_of(chunk)?, &mut out).map_err(|error| encode_error(&error))?;
        Ok(out)
    }

    fn finish(&mut self) -> Result<Vec<u8>> {
        let file = self.file.as_mut().ok_or_else(not_begun)?;
        file.begin_final_padding().map_err(|error| encode_error(&error))?;
        Ok(Vec::new())
    }

    fn more(&mut self) -> Result<Option<Vec<u8>>> {
        let mut out = Vec::new();
        let file = self.file.as_mut().ok_or_else(not_begun)?;
        let any = file.put_padding(&mut out).map_err(|error| encode_error(&error))?;
        Ok(any.then_some(out))
    }
}

/// Puts an ArrayRecord file together: its index comes last.
struct ArrayRecordAssembler {
    options: ArrayRecordOptions,
    file: Option<ArrayRecordWriter>,
}

impl Assembler for ArrayRecordAssembler {
    fn begin(&mut self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.file = Some(ArrayRecordWriter::create(self.options.clone(), &mut out));
        Ok(out)
    }

    fn append(&mut self, chunk: EncodedChunk) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let file = self.file.as_mut().ok_or_else(not_begun)?;
        file.write(&chunk_of(chunk)?, &mut out).map_err(|error| encode_error(&error))?;
        Ok(out)
    }

    fn finish(&mut self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let file = self.file.take().ok_or_else(not_begun)?;
        file.finish(&mut out).map_err(|error| encode_error(&error))?;
        Ok(out)
    }
}
