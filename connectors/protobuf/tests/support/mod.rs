//! Decoders from .proto text, blocks of records, and rows as JSON.

mod render;

use bytes::Bytes;
use prost::Message;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};
use recordfusion_core::{Error, Options, Projection, RecordBlock, RecordBlockBuilder, ScanCounters};
use recordfusion_protobuf::{FileDescriptors, ProtobufOptions, RecordDecoder};

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;

pub use render::{base64, row, value};

/// The files of `google/type` that tests use.
const GOOGLE_TYPE: [(&str, &str); 2] = [
    (
        "google/type/date.proto",
        "syntax = 'proto3'; package google.type; message Date { int32 year = 1; int32 month = 2; int32 day = 3; }",
    ),
    (
        "google/type/timeofday.proto",
        "syntax = 'proto3'; package google.type;
         message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }",
    ),
];

struct Sources(Vec<(String, String)>);

impl FileResolver for Sources {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match self.0.iter().find(|(known, _)| known == name) {
            Some((_, source)) => File::from_source(name, source),
            None => Err(protox::Error::file_not_found(name)),
        }
    }
}

/// The file descriptors of a .proto text and of what it imports.
pub fn compile(source: &str) -> prost_types::FileDescriptorSet {
    let own = [("test.proto", source)].into_iter().chain(GOOGLE_TYPE);
    let mut resolver = ChainFileResolver::new();
    resolver.add(Sources(own.map(|(name, text)| (name.to_string(), text.to_string())).collect()));
    resolver.add(GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.include_imports(true);
    compiler.open_file("test.proto").expect("the source compiles");
    compiler.file_descriptor_set()
}

/// The decoder of a message type of file descriptors.
pub fn open(descriptors: Vec<Bytes>, message: &str) -> Result<RecordDecoder, Error> {
    open_with(descriptors, message, &Options::new())
}

/// The decoder of a message type of file descriptors, with options.
pub fn open_with(descriptors: Vec<Bytes>, message: &str, options: &Options) -> Result<RecordDecoder, Error> {
    let file = FileDescriptors {
        file: "t".into(),
        message_type: Some(message.into()),
        descriptors,
        arrow_schema: None,
    };
    RecordDecoder::open(&[file], &ProtobufOptions::from_options(options)?, &[])
}

/// The decoder of the message type `M` of a .proto text.
pub fn decoder(source: &str) -> RecordDecoder {
    let files = compile(source).file;
    open(files.iter().map(|file| file.encode_to_vec().into()).collect(), "M").expect("a table")
}

/// The decoder of the message type `M` of a .proto text, with options.
pub fn decoder_with(source: &str, options: &[(&str, &str)]) -> RecordDecoder {
    let files = compile(source).file;
    let descriptors = files.iter().map(|file| file.encode_to_vec().into()).collect();
    open_with(descriptors, "M", &options.iter().copied().collect()).expect("a table")
}

/// The decoder of a fixture's serialized `FileDescriptorSet`, which may be of any edition.
pub fn fixture_decoder(set: &[u8], message: &str) -> RecordDecoder {
    open(files_of(set), message).expect("a table")
}

/// The files of a serialized `FileDescriptorSet`.
pub fn files_of(set: &[u8]) -> Vec<Bytes> {
    let mut files = Vec::new();
    let mut rest = set;
    while !rest.is_empty() {
        let tag = prost::encoding::decode_varint(&mut rest).expect("a tag");
        assert_eq!(tag, 0x0a, "field 1, length-delimited");
        let len = prost::encoding::decode_varint(&mut rest).expect("a length") as usize;
        let (file, behind) = rest.split_at(len);
        files.push(Bytes::copy_from_slice(file));
        rest = behind;
    }
    files
}

/// The bytes behind hexadecimal digits; spaces do not count.
pub fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|byte| *byte != b' ').collect();
    let byte =
        |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("digits");
    digits.chunks(2).map(byte).collect()
}

/// A block of these records, at the positions 100, 101, ...
pub fn block(records: &[impl AsRef<[u8]>]) -> RecordBlock {
    let mut builder = RecordBlockBuilder::default();
    for (index, record) in records.iter().enumerate() {
        let record = record.as_ref();
        let data = Buffer::from(record);
        let one = RecordBlock::new(data, vec![(0, record.len() as u32)], 100 + index as u64);
        builder.append(&one.expect("the record is the buffer"));
    }
    builder.finish()
}

/// All columns of these records.
pub fn decode(decoder: &RecordDecoder, records: &[impl AsRef<[u8]>]) -> Result<RecordBatch, Error> {
    decode_counted(decoder, records, &ScanCounters::default())
}

/// All columns of these records, counted.
pub fn decode_counted(
    decoder: &RecordDecoder,
    records: &[impl AsRef<[u8]>],
    counters: &ScanCounters,
) -> Result<RecordBatch, Error> {
    let mut scan = decoder.scan(&Projection::all(decoder.schema().fields().len()))?;
    let decoded = scan.decode("file", &block(records), 0..records.len(), counters)?;
    assert_eq!(decoded.consumed, records.len());
    Ok(decoded.batch)
}
