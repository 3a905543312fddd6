use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use prost::Message;
use recordfusion_core::{ColumnProjection, Options, Projection, Selection};
use recordfusion_protobuf::{FileDescriptors, ProtobufOptions, RecordDecoder};

use super::*;
use crate::cursor::Cursor;
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
    let fields: [Vec<u8>; 20] = [
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
        // Fields that the schema does not have.
        vec![0x70, 0x80 | index, 0x01],
        delimited(14, text.as_bytes()),
        vec![0x79, 1, 2, 3, 4, 5, 6, 7, index],
        delimited(15, &sub(4)),
    ];
    let start = usize::from(index) % fields.len();
    (0..14).flat_map(|step| fields[(start + step * 7) % fields.len()].clone()).collect()
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

type Reads = (Result<RecordBatch, String>, Result<RecordBatch, Unfit>);

/// The rows of a chunk by way of its records, if it has any, and its columns straight.
fn read(header: &ChunkHeader, data: &[u8]) -> Reads {
    let decoder = decoder();
    let projection = Projection::all(decoder.schema().fields().len());
    read_of(header, data, &decoder, &projection)
}

fn read_of(header: &ChunkHeader, data: &[u8], decoder: &RecordDecoder, projection: &Projection) -> Reads {
    let data = Bytes::copy_from_slice(data);
    let mut rows = decoder.scan(projection).expect("a plan");
    let counters = ScanCounters::default();
    let block = ChunkDecoder::default().decode(header, 64, &data).map_err(|fault| fault.to_string());
    let rows = block.and_then(|block| {
        let block = block.expect("a chunk of records");
        let decoded = rows.decode("f", &block, 0..block.len(), &counters);
        decoded.map(|decoded| decoded.batch).map_err(|error| error.to_string())
    });
    let mut columns = decoder.scan(projection).expect("a plan");
    let mut reader = ColumnReader::new(&columns).expect("all is wanted as columns");
    let mut decompressor = Decompressor::default();
    let columns = reader.read((header, 64, &data, None), &mut columns, "f", &mut decompressor, &counters);
    (rows, columns)
}

#[test]
fn every_kind_of_field_is_taken_straight() {
    let records: Vec<Vec<u8>> = (0..120).map(record).collect();
    let (header, data) = chunk(&records);
    let (rows, columns) = read(&header, &data);
    assert_eq!(columns, Ok(rows.expect("valid records")));
}

/// A field with a length.
fn field(number: u8, value: &[u8]) -> Vec<u8> {
    let len = crate::transposed::header::Literal::varint(value.len() as u32);
    [&[number << 3 | 2][..], &len.bytes[8 - usize::from(len.len)..], value].concat()
}

#[test]
fn records_with_long_messages_have_their_size() {
    let text = |len: usize| field(2, &vec![b'~'; len]);
    let sub = |len: usize| [&[0x08, 1][..], &text(len)].concat();
    let nested = |len: usize| [sub(3), field(4, &sub(len))].concat();
    // Fields that the schema does not have, a message among them.
    let unknown =
        |len: usize| [sub(len), vec![0x48, 0x83, 0x01], field(9, &sub(len)), field(9, &text(5))].concat();
    let numbers = |count: usize| [vec![0x1a, count as u8], vec![2; count], sub(1)].concat();
    type Case<'a> = (&'a str, &'a dyn Fn(usize) -> Vec<u8>);
    let cases: [Case<'_>; 9] = [
        ("one", &|len| field(3, &sub(len))),
        ("nested", &|len| field(3, &nested(len))),
        ("items", &|len| [field(5, &sub(len)), field(5, &nested(len)), field(5, &[])].concat()),
        ("a string twice", &|len| field(3, &[sub(len), text(len)].concat())),
        ("packed numbers", &|len| [field(5, &numbers(len.min(120))), field(3, &numbers(9))].concat()),
        ("unknown fields", &|len| [field(5, &unknown(len)), field(3, &unknown(len))].concat()),
        ("a member of a oneof", &|len| [field(11, &nested(len)), field(9, b"~~")].concat()),
        ("a map", &|len| field(12, &[field(1, &vec![b'~'; len]), vec![0x10, 1]].concat())),
        ("a group", &|len| [vec![0x43], text(len), field(3, &sub(len)), vec![0x44]].concat()),
    ];
    for (name, case) in cases {
        let records: Vec<Vec<u8>> = (0..200).chain([130, 20_000]).map(case).collect();
        let (mut header, data) = chunk(&records);
        let (rows, columns) = read(&header, &data);
        assert_eq!(columns, Ok(rows.expect("valid records")), "{name}");
        for size in [-1, 1] {
            let size = header.decoded_data_size.wrapping_add_signed(size);
            let other = ChunkHeader { decoded_data_size: size, ..header };
            assert_eq!(read(&other, &data).1, Err(Unfit), "{name}");
        }
        header.num_records += 1;
        assert_eq!(read(&header, &data).1, Err(Unfit), "{name}");
    }
}

#[test]
fn merged_messages_are_taken_as_long_as_their_size_is_known() {
    let sub = |len: usize| [&[0x08, 1][..], &field(2, &vec![b'~'; len])].concat();
    // The fields of the merged ones have 12 bytes more, and 128 are too many.
    for (lens, is_known) in [([0, 0], true), ([50, 65], true), ([50, 66], false), ([60, 200], false)] {
        let [first, second] = lens.map(|len| field(3, &field(4, &sub(len))));
        let records = [record(1), [first, second].concat(), record(2)];
        let (mut header, data) = chunk(&records);
        let (rows, columns) = read(&header, &data);
        assert_eq!(columns.is_ok(), is_known, "{lens:?}");
        assert!(columns.is_err() || columns == Ok(rows.expect("valid records")), "{lens:?}");
        header.decoded_data_size += 1;
        assert_eq!(read(&header, &data).1, Err(Unfit), "{lens:?}");
    }
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

/// Why records may be refused of which some columns are not: how long they are, and what buffers hold that nobody
/// wants, is not looked at.
const NOT_SEEN: [&str; 4] = ["add up to", "more bytes than", "decoded data size", "the state machine reads"];

/// Where the state machine's header lies in the data of an uncompressed chunk.
fn table(data: &[u8]) -> std::ops::Range<usize> {
    let mut cursor = Cursor(&data[1..]);
    let len = cursor.varint64().expect("a length") as usize;
    let begin = data.len() - cursor.0.len();
    begin..begin + len
}

/// What is done to a byte.
fn damage() -> impl Strategy<Value = (prop::sample::Index, u8)> {
    let bits = prop_oneof![any::<u8>(), (0..8u32).prop_map(|bit| 1 << bit), Just(1), Just(3), Just(0xff)];
    (any::<prop::sample::Index>(), bits)
}

/// The records of a damaged chunk and its columns straight: these are the same as from the records, or left to them.
fn check(header: &ChunkHeader, data: &[u8]) -> Result<(), TestCaseError> {
    match read(header, data) {
        (Ok(rows), Ok(columns)) => prop_assert_eq!(columns, rows),
        (Err(fault), Ok(_)) => prop_assert!(false, "{}", fault),
        (_, Err(Unfit)) => {}
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Chunks with wrong bytes never make rows that their records do not make, whatever the table of nodes then says.
    #[test]
    fn damaged_chunks_give_the_rows_of_their_records(
        first in any::<u8>(),
        count in 1..6u8,
        in_table in any::<bool>(),
        damage in proptest::collection::vec(damage(), 1..4),
        sizes in (select(vec![0, 0, 0, 0, 1, -1, 2]), select(vec![0, 0, 0, 1])),
    ) {
        let records: Vec<Vec<u8>> = (0..count).map(|index| record(first.wrapping_add(index) % 128)).collect();
        let (mut header, mut data) = chunk(&records);
        let places = if in_table { table(&data) } else { 0..data.len() };
        for (place, byte) in damage {
            let place = places.start + place.index(places.len());
            data[place] = data[place].wrapping_add(byte);
        }
        header.decoded_data_size = header.decoded_data_size.wrapping_add_signed(sizes.0);
        header.num_records += sizes.1;
        check(&header, &data)?;
    }

    /// A scan of some columns sees less of the damage, but no other values.
    #[test]
    fn damaged_chunks_give_no_other_columns(
        first in any::<u8>(),
        count in 1..6u8,
        in_table in any::<bool>(),
        damage in proptest::collection::vec(damage(), 1..4),
        wanted in proptest::sample::subsequence((0..13).collect::<Vec<usize>>(), 1..4),
    ) {
        let records: Vec<Vec<u8>> = (0..count).map(|index| record(first.wrapping_add(index) % 128)).collect();
        let (header, mut data) = chunk(&records);
        let places = if in_table { table(&data) } else { 0..data.len() };
        for (place, byte) in damage {
            let place = places.start + place.index(places.len());
            data[place] = data[place].wrapping_add(byte);
        }
        let column = |index| ColumnProjection { index, selection: Selection::All };
        let projection = Projection { columns: wanted.into_iter().map(column).collect() };
        match read_of(&header, &data, &decoder(), &projection) {
            (Ok(rows), Ok(columns)) => prop_assert_eq!(columns, rows),
            (Err(fault), Ok(_)) => prop_assert!(NOT_SEEN.iter().any(|part| fault.contains(part)), "{}", fault),
            (_, Err(Unfit)) => {}
        }
    }

    /// A scan of all columns gives none if no more than the size of the records is not as the chunk header says.
    #[test]
    fn records_of_another_size_are_left_to_rebuilding(first in any::<u8>(), count in 1..6u8, size in -40..40i64) {
        let records: Vec<Vec<u8>> = (0..count).map(|index| record(first.wrapping_add(index) % 128)).collect();
        let (mut header, data) = chunk(&records);
        header.decoded_data_size = header.decoded_data_size.wrapping_add_signed(size);
        prop_assert_eq!(read(&header, &data).1.is_ok(), size == 0);
    }
}
