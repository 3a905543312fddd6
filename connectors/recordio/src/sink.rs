//! Byte records to RecordIO files: the writer that the engine drives.

use std::sync::Arc;

use bytes::Bytes;
use recordfusion_core::{Assembler, ChunkJob, EncodedChunk, Error, OptionInfo, Options, Result};
use recordfusion_records::{ContainerWriter, OpenChunk};

use crate::header::{Codec, Layout};
use crate::write::{ChunkRecords, MAX_PAYLOAD, WriteError, WriterOptions};

/// The options of writing that say how records become a file.
pub(crate) const OPTIONS: &[OptionInfo] = &[
    OptionInfo::new("layout", "go | fluid | elastic", "Layout of chunk headers, by the writer that has it"),
    OptionInfo::new("compressor", "snappy | gzip | none", "Compression of chunks; gzip:9 sets a level"),
    OptionInfo::new("max_chunk_bytes", "SIZE", "Bytes of records of a chunk, by default 32M"),
    OptionInfo::new("max_chunk_records", "NUMBER", "Records of a chunk; by default 1000 in the fluid layout"),
];

/// Checks the values of options.
///
/// # Errors
/// [`Error::Option`] for one that its option cannot have.
pub(crate) fn check_options(options: &Options) -> Result<()> {
    writer_options(options).map(drop)
}

/// Plans the writing of files.
///
/// # Errors
/// As [`check_options`].
pub(crate) fn writer(options: &Options) -> Result<Arc<dyn ContainerWriter>> {
    Ok(Arc::new(RecordioWriter { options: writer_options(options)? }))
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

/// Writes files of chunks, back to back.
#[derive(Debug)]
struct RecordioWriter {
    options: WriterOptions,
}

impl ContainerWriter for RecordioWriter {
    fn open_chunk(&self) -> Result<Box<dyn OpenChunk>> {
        Ok(Box::new(RecordChunk { records: ChunkRecords::default(), options: self.options.clone() }))
    }

    fn assembler(&self) -> Result<Box<dyn Assembler>> {
        Ok(Box::new(RecordioAssembler))
    }

    /// Chunks stand for themselves: they can follow any others.
    fn appender(&self, _size: u64, _tail: &Bytes) -> Result<Box<dyn Assembler>> {
        self.assembler()
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
            Ok(EncodedChunk { header: header.to_vec(), data, rows, footer: Vec::new() })
        })
    }
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
