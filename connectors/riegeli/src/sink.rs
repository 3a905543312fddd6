//! Byte records to Riegeli and ArrayRecord files: the writer that the engine drives.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use recordfusion_core::{Assembler, ChunkJob, EncodedChunk, Error, OptionInfo, Options, Result};
use recordfusion_records::{ContainerWriter, FileDescription, OpenChunk};

use crate::header::ChunkHeader;
use crate::metadata::RecordsMetadata;
use crate::read::index::ends_with_index;
use crate::write::{
    self, ArrayRecordOptions, ArrayRecordWriter, ChunkEncoder, ChunkRecords, FileWriter, WriteError,
    WriterOptions, append, descriptor_files,
};

/// The extensions of ArrayRecord files.
const ARRAY_RECORD: [&str; 2] = ["array_record", "arrayrecord"];

/// The options of writing that say how records become a file.
pub(crate) const OPTIONS: &[OptionInfo] = &[
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

/// Writes files of one kind of records.
#[derive(Debug)]
struct RiegeliWriter {
    container: FileOptions,
    /// The metadata message; none for ArrayRecord files.
    metadata: Vec<u8>,
}

/// How records become a file.
#[derive(Debug, Clone)]
enum FileOptions {
    Riegeli(WriterOptions),
    ArrayRecord(ArrayRecordOptions),
}

/// Whether files of this extension are ArrayRecord files.
pub(crate) fn is_array_record(extension: &str) -> bool {
    ARRAY_RECORD.contains(&extension)
}

/// Plans the writing of files whose records are as in `description`.
///
/// # Errors
/// Wrong options; descriptors that lack one of another file.
pub(crate) fn writer(
    extension: &str,
    options: &Options,
    description: FileDescription,
) -> Result<Arc<dyn ContainerWriter>> {
    let container = container(extension, options)?;
    let metadata = match &container {
        FileOptions::Riegeli(writer_options) => {
            let comment = options.get("file_comment").map(str::to_string);
            metadata(description, comment, writer_options)?.encode().to_vec()
        }
        FileOptions::ArrayRecord(_) => Vec::new(),
    };
    Ok(Arc::new(RiegeliWriter { container, metadata }))
}

/// What the metadata say of the records (section 6.1).
fn metadata(
    description: FileDescription,
    comment: Option<String>,
    writer_options: &WriterOptions,
) -> Result<RecordsMetadata> {
    let FileDescription { message_type, descriptors, arrow_schema, inherited, verbatim } = description;
    let file_descriptors = match verbatim {
        true => descriptors,
        false => descriptor_files(&descriptors, message_type.as_deref().unwrap_or_default())
            .map_err(|fault| encode_error(&fault))?,
    };
    Ok(RecordsMetadata {
        file_comment: comment.or_else(|| inherited.comment()),
        record_type_name: message_type,
        file_descriptors,
        record_writer_options: Some(writer_options.to_string()),
        arrow_schema,
        extensions: inherited.extensions.concat().into(),
        ..RecordsMetadata::default()
    })
}

/// Checks the values of options that are meant for files of either kind.
///
/// # Errors
/// Values that neither accepts; the error is that of Riegeli files.
pub(crate) fn check_options(options: &Options) -> Result<()> {
    let [riegeli, array_record] = ["riegeli", "array_record"].map(|kind| container(kind, options));
    if array_record.is_ok() { Ok(()) } else { riegeli.map(drop) }
}

fn container(extension: &str, options: &Options) -> Result<FileOptions> {
    let text = container_text(options);
    let bad = |error: write::OptionsError| Error::Schema(error.to_string());
    if is_array_record(extension) {
        return text.parse().map(FileOptions::ArrayRecord).map_err(bad);
    }
    text.parse().map(FileOptions::Riegeli).map_err(bad)
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

fn encode_error(error: &dyn std::error::Error) -> Error {
    Error::Encode { format: "riegeli", reason: error.to_string() }
}

impl ContainerWriter for RiegeliWriter {
    fn open_chunk(&self) -> Result<Box<dyn OpenChunk>> {
        let encoders = Encoders { container: self.container.clone(), idle: Arc::default() };
        Ok(Box::new(RecordChunk { records: ChunkRecords::default(), encoders }))
    }

    fn assembler(&self) -> Result<Box<dyn Assembler>> {
        Ok(match &self.container {
            FileOptions::Riegeli(options) => {
                let begin = Begin::New { metadata: self.metadata.clone() };
                Box::new(RiegeliAssembler { options: options.clone(), begin, file: None })
            }
            FileOptions::ArrayRecord(options) => {
                Box::new(ArrayRecordAssembler { options: options.clone(), file: None })
            }
        })
    }

    fn tail(&self, size: u64) -> Range<u64> {
        append::tail(size)
    }

    fn appender(&self, size: u64, tail: &Bytes) -> Result<Box<dyn Assembler>> {
        let options = match &self.container {
            FileOptions::Riegeli(options) if !ends_with_index(size, tail) => options,
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
            FileOptions::Riegeli(options) => {
                usize::try_from(options.parallelism).ok().filter(|&most| most > 0)
            }
            FileOptions::ArrayRecord(_) => None,
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

impl FileOptions {
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
    container: FileOptions,
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
        Ok(EncodedChunk { header, data: encoded.data, rows, footer: Vec::new() })
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
