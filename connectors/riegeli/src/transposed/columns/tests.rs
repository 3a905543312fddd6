use proptest::prelude::*;
use prost::Message;
use recordfusion_core::{Options, Projection};
use recordfusion_protobuf::{FileDescriptors, ProtobufOptions, RecordDecoder};

use super::*;
use crate::decoder::ChunkDecoder;
use crate::write::{ChunkEncoder, ChunkRecords, Compression, Layout as ChunkLayout};

const SCHEMA: &str = "syntax = 'proto2';
    enum E { A = 0; B = 1; }
    message Sub { optional int32 a = 1; optional string b = 2; repeated sint64 c = 3; optional Sub d = 4; }
    message M {
        optional int32 i = 1; optional string s = 2; optional Sub sub = 3; repeated int32 r = 4; repeated Sub rs = 5;
        optional fixed32 f = 6; repeated double d = 7; optional group G = 8 { optional bool t = 1; repeated string u = 2; }
        oneof o { string x = 9; E e = 10; Sub m = 11; } map<string, E> map = 12; optional bytes b = 13;
    }";

fn decoder() -> RecordDecoder {
    let file = protox::file::File::from_source("test.proto", SCHEMA).expect("it parses");
    let descriptors = vec![file.file_descriptor_proto().encode_to_vec().into()];
    let message_type = Some("M".to_string());
    let file = FileDescriptors { file: "f".to_string(), message_type, descriptors, arrow_schema: None };
    let options = ProtobufOptions::from_options(&Options::new()).expect("no options");
    RecordDecoder::open(&[file], &options, &[]).expect("a table")
}

/// Records with something in every field, one of them odd in a way that depends on `index`.
fn record(index: u8) -> Vec<u8> {
    let text = ["hi", "a text longer than twelve bytes", "", "51234", "xyz"][usize::from(index) % 5];
    let delimited = |number: u8, value: &[u8]| [&[number << 3 | 2, value.len() as u8], value].concat();
    let sub = |depth: u8| {
        let inner = delimited(4, &[0x08, depth]);
        [&[0x08, index][..], &delimited(2, text.as_bytes()), &delimited(3, &[1, 2, index % 100]), &inner]
            .concat()
    };
    let fields: [Vec<u8>; 16] = [
        vec![0x08, 0x80 | index, 0x01],
        delimited(2, text.as_bytes()),
        delimited(3, &sub(1)),
        delimited(4, &[0x08, 0x01]),
        vec![0x20, index % 5],
        delimited(5, &sub(2)),
        delimited(5, b""),
        vec![0x35, 1, 2, 3, index],
        vec![0x39, 1, 2, 3, 4, 5, 6, 7, index],
        [&[0x43, 0x08, 1][..], &delimited(2, text.as_bytes()), &[0x44]].concat(),
        delimited(9, text.as_bytes()),
        vec![0x50, index % 3],
        delimited(11, &sub(3)),
        delimited(12, &[&delimited(1, text.as_bytes())[..], &[0x10, index % 3]].concat()),
        delimited(13, &[0xff, index]),
        vec![0x12, 0, 0xa5, 0x01, 1, 2, 3, 4],
    ];
    let start = usize::from(index) % fields.len();
    (0..12).flat_map(|step| fields[(start + step * 5) % fields.len()].clone()).collect()
}

/// The chunk of some records, uncompressed.
fn chunk(records: &[Vec<u8>]) -> (ChunkHeader, Vec<u8>) {
    let layout = ChunkLayout::Transposed { bucket_size: u64::MAX };
    let mut encoder = ChunkEncoder::with_layout(layout, Compression::None).expect("valid options");
    let mut chunk = ChunkRecords::default();
    records.iter().for_each(|record| chunk.push(record).expect("it is small"));
    let chunk = encoder.encode(&chunk).expect("they are few");
    (chunk.header, chunk.data)
}

/// The rows of a chunk by way of its records, if it has any, and its columns straight.
fn read(header: &ChunkHeader, data: &[u8]) -> (Result<RecordBatch, String>, Result<RecordBatch, Unfit>) {
    let decoder = decoder();
    let projection = Projection::all(decoder.schema().fields().len());
    let data = Bytes::copy_from_slice(data);
    let mut rows = decoder.scan(&projection).expect("a plan");
    let counters = ScanCounters::default();
    let block = ChunkDecoder::default().decode(header, 64, &data).map_err(|fault| fault.to_string());
    let rows = block.and_then(|block| {
        let block = block.expect("a chunk of records");
        let decoded = rows.decode("f", &block, 0..block.len(), &counters);
        decoded.map(|decoded| decoded.batch).map_err(|error| error.to_string())
    });
    let mut columns = decoder.scan(&projection).expect("a plan");
    let mut reader = ColumnReader::new(&columns).expect("all is wanted as columns");
    let mut decompressor = Decompressor::default();
    let columns = reader.read((header, 64, &data), &mut columns, "f", &mut decompressor, &counters);
    (rows, columns)
}

#[test]
fn every_kind_of_field_is_taken_straight() {
    let records: Vec<Vec<u8>> = (0..120).map(record).collect();
    let (header, data) = chunk(&records);
    let (rows, columns) = read(&header, &data);
    assert_eq!(columns, Ok(rows.expect("valid records")));
}

#[test]
fn what_is_not_as_writers_write_it_is_left_to_the_records() {
    let cases: [&[u8]; 4] = [
        b"not a message",
        // A message that is not canonical, inside a record that is.
        &[0x1a, 0x03, 0x08, 0x81, 0x00],
        // Bytes that a message cannot be, and a string that is not UTF-8 but does not have to be.
        &[0x1a, 0x01, 0x08],
        &[0x08, 0x81, 0x00],
    ];
    for odd in cases {
        let (header, data) = chunk(&[record(1), odd.to_vec(), record(2)]);
        assert_eq!(read(&header, &data).1, Err(Unfit), "{odd:02x?}");
    }
}

#[test]
fn long_walks_are_cut_off() {
    let (header, mut data) = chunk(&[Vec::new()]);
    // One node, the begin of a record, and as many transitions as it takes.
    data.extend([3; 5000]);
    assert_eq!(read(&header, &data).1, Err(Unfit));
}

/// Why the records of a chunk may be refused whose columns are not: how long the records are, and what the buffers of
/// fields hold that nobody wants, is not looked at.
const NOT_SEEN: [&str; 4] = ["add up to", "more bytes than", "decoded data size", "the state machine reads"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Chunks with wrong bytes never make wrong rows, whatever the table of nodes then says.
    #[test]
    fn damaged_chunks_give_the_rows_of_their_records(
        first in any::<u8>(),
        count in 1..6u8,
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let records: Vec<Vec<u8>> = (0..count).map(|index| record(first.wrapping_add(index) % 128)).collect();
        let (header, mut data) = chunk(&records);
        for (place, byte) in damage {
            let place = place.index(data.len());
            data[place] = byte;
        }
        match read(&header, &data) {
            (Ok(rows), Ok(columns)) => prop_assert_eq!(columns, rows),
            (Err(fault), Ok(_)) => prop_assert!(NOT_SEEN.iter().any(|part| fault.contains(part)), "{}", fault),
            (_, Err(Unfit)) => {}
        }
    }
}
