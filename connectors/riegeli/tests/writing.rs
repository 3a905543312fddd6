//! Files written in memory.

use bytes::Bytes;
use recordfusion_riegeli::decoder::ChunkDecoder;
use recordfusion_riegeli::header::{Chunk, ChunkKind};
use recordfusion_riegeli::position::distance;
use recordfusion_riegeli::write::{
    ArrayRecordOptions, ArrayRecordWriter, ChunkEncoder, ChunkRecords, FileWriter, WriterOptions,
};

/// Writes the chunks of `records`.
pub fn write_records<R: AsRef<[u8]>>(
    records: &[R],
    options: &WriterOptions,
    writer: &mut FileWriter,
    out: &mut Vec<u8>,
) {
    let mut encoder = ChunkEncoder::new(options).expect("valid options");
    let mut chunk = ChunkRecords::default();
    let mut write = |chunk: &mut ChunkRecords| {
        let encoded = encoder.encode(chunk).expect("encodes");
        writer.write(&encoded, out).expect("short");
        chunk.clear();
    };
    for record in records.iter().map(AsRef::as_ref) {
        if !chunk.fits(record.len(), options.chunk_size()) {
            write(&mut chunk);
        }
        chunk.push(record).expect("short");
        if chunk.is_full(options.chunk_size()) {
            write(&mut chunk);
        }
    }
    if !chunk.is_empty() {
        write(&mut chunk);
    }
}

/// A whole file.
pub fn write_file<R: AsRef<[u8]>>(
    records: &[R],
    options: &WriterOptions,
    metadata: Option<&[u8]>,
) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = FileWriter::create(options, &mut out);
    if let Some(metadata) = metadata {
        let mut encoder = ChunkEncoder::new(options).expect("valid options");
        writer.write(&encoder.encode_metadata(metadata).expect("encodes"), &mut out).expect("short");
    }
    write_records(records, options, &mut writer, &mut out);
    writer.pad(&mut out).expect("short");
    out
}

/// A whole ArrayRecord file.
pub fn write_array_record<R: AsRef<[u8]>>(records: &[R], options: &ArrayRecordOptions) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = options.encoder().expect("valid options");
    let mut writer = ArrayRecordWriter::create(options.clone(), &mut out);
    let mut chunk = ChunkRecords::default();
    for (index, record) in records.iter().enumerate() {
        chunk.push(record.as_ref()).expect("short");
        if options.is_full(&chunk) || index + 1 == records.len() {
            writer.write(&encoder.encode(&chunk).expect("encodes"), &mut out).expect("short");
            chunk.clear();
        }
    }
    writer.finish(&mut out).expect("short");
    out
}

/// The serialized metadata of a file, which lie in its first block.
pub fn metadata_of(file: &[u8]) -> Option<Bytes> {
    let header = file.get(64..104)?;
    let chunk = Chunk::parse(64, header, file.len() as u64).ok()?;
    if chunk.header.kind() != Ok(ChunkKind::Metadata) {
        return None;
    }
    assert_eq!(distance(64, chunk.end), chunk.end - 64, "the metadata lie in one block");
    let data = &file[104..][..chunk.header.data_size as usize];
    let mut decoder = ChunkDecoder::default();
    let message = decoder.decode_metadata(&chunk.header, data).expect("valid metadata");
    assert!(!decoder.has_leftovers());
    Some(message)
}
