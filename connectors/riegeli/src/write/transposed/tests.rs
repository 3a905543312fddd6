use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::decoder::ChunkDecoder;
use crate::write::{ChunkEncoder, Compression, Layout};

fn encode_as<R: AsRef<[u8]>>(records: &[R], bucket_size: u64, compression: Compression) -> Vec<u8> {
    let mut chunk = ChunkRecords::default();
    for record in records {
        chunk.push(record.as_ref()).expect("short");
    }
    let layout = Layout::Transposed { bucket_size };
    let mut encoder = ChunkEncoder::with_layout(layout, compression).expect("valid options");
    let encoded = encoder.encode(&chunk).expect("encodes");
    let data = Bytes::from(encoded.data);
    let mut decoder = ChunkDecoder::default();
    let found = decoder.decode(&encoded.header, 64, &data).expect("decodes");
    assert!(!decoder.has_leftovers());
    let found = found.expect("a chunk of records");
    assert_eq!(found.len(), records.len());
    for (found, record) in found.records().zip(records) {
        assert_eq!(found, record.as_ref());
    }
    data.to_vec()
}

/// A message of `count` fields, each with another tag.
fn of_many_fields(count: u64) -> Vec<u8> {
    let mut message = Vec::new();
    for number in 1..=count {
        varint::put(&mut message, number << 3);
        message.push(1);
    }
    message
}

#[test]
fn records_of_too_many_fields_for_a_reader_are_kept_whole() {
    // Groups in groups, of which each is another place for fields.
    let groups = |depth: usize| [vec![0x0b; depth], vec![0x0c; depth]].concat();
    for record in [of_many_fields(140_000), groups(80_000)] {
        let data = encode(&[&record, &b"\x08\x01".to_vec()]);
        assert!(data.len() < record.len() + 100, "{}", data.len());
    }
    for record in [of_many_fields(100_000), groups(60_000)] {
        encode(&[record]);
    }
}

fn encode<R: AsRef<[u8]>>(records: &[R]) -> Vec<u8> {
    encode_as(records, u64::MAX, Compression::None)
}

#[test]
fn chunks_of_the_specification_are_written_byte_for_byte() {
    let records: [&[u8]; 3] = [
        &[0x08, 0x01, 0x12, 0x02, 0x6f, 0x6b],
        &[0x08, 0xac, 0x02, 0x12, 0x02, 0x6e, 0x6f, 0x1a, 0x02, 0x08, 0x05],
        &[0xff],
    ];
    let expected = [
        0x00, 0x24, 0x04, 0x05, 0x03, 0x06, 0x01, 0x01, 0x01, 0x02, 0x06, 0x01, 0x01, 0x08, 0x08, 0x08, 0x08,
        0x02, 0x1e, 0x03, 0x12, 0x01, 0x0d, 0x0d, 0x0b, 0x0e, 0x0a, 0x06, 0x00, 0x0c, 0x0b, 0x01, 0x00, 0x01,
        0x00, 0x02, 0x03, 0x07, 0x05, 0x2c, 0x02, 0x02, 0x6e, 0x6f, 0x02, 0x6f, 0x6b, 0xff, 0x01, 0x06,
    ];
    assert_eq!(encode(&records), expected);
    assert_eq!(encode(&[b""]), [0, 6, 0, 0, 1, 3, 0, 0]);
    assert_eq!(encode::<&[u8]>(&[]), [0, 6, 0, 0, 1, 0, 0, 0]);
    let four = [5, 6, 7, 8].map(|value| [8, value]);
    assert_eq!(encode(&four), [0, 12, 1, 1, 4, 4, 2, 8, 3, 3, 0, 0, 0, 0, 8, 7, 6, 5, 2]);
}

#[test]
fn texts_that_look_like_messages_are_cut() {
    // A submessage end, field 13 inside it, a submessage start, and the record.
    let data = encode(&[[0x12, 0x02, b'h', b'i']]);
    assert_eq!(data[2..5], [1, 1, 1], "one bucket with one buffer of one byte");
    assert!(data.windows(4).any(|codes| codes.contains(&0x16) && codes.contains(&0x68)), "{data:02x?}");
}

/// A varint field.
fn field(number: u32, value: u64) -> Vec<u8> {
    let mut message = Vec::new();
    varint::put_varint_field(&mut message, number, value);
    message
}

#[test]
fn state_machines_of_all_sizes_are_walked() {
    for fields in [1, 2, 62, 63, 64, 65, 66, 127, 128, 129, 4096, 5000] {
        let ascending: Vec<_> = (1..=fields).map(|number| field(number, u64::from(number))).collect();
        let descending: Vec<_> = ascending.iter().rev().cloned().collect();
        encode(&ascending);
        encode(&[ascending.concat(), descending.concat(), ascending.concat()]);
        let pairs = (0..3 * fields).map(|index| {
            let other = index.wrapping_mul(2_654_435_761) >> 7;
            [field(index % fields + 1, 300), field(other % fields + 1, 2)].concat()
        });
        encode(&pairs.collect::<Vec<_>>());
    }
}

#[test]
fn frequent_successors_of_one_symbol_get_lists_of_their_own() {
    // Each of 200 fields follows field 1 from 1 to 20 times.
    let records = (0..200).flat_map(|number| {
        let record = [field(1, 1000), field(number + 2, 1000)].concat();
        std::iter::repeat_n(record, number as usize % 20 + 1)
    });
    encode(&records.collect::<Vec<_>>());
}

#[test]
fn nesting_is_cut_to_its_limit_only() {
    let nested = |depth| {
        (0..depth).fold(vec![0x08, 0x64], |inner: Vec<u8>, _| {
            let mut outer = Vec::new();
            varint::put_bytes_field(&mut outer, 1, &inner);
            outer
        })
    };
    let starts = |data: &[u8]| data.iter().filter(|&&byte| byte == 0x0e).count();
    assert_eq!([99, 100, 101, 103].map(|depth| starts(&encode(&[nested(depth)]))), [99, 100, 100, 100]);
    encode(&[nested(1000)]);
    let groups = |depth| [vec![0x0b; depth], vec![0x12, 0x02, 0x08, 0x05], vec![0x0c; depth]].concat();
    let cut = |depth| encode(&[groups(depth)]).contains(&0x16);
    assert_eq!([99, 100, 101].map(cut), [true, false, false]);
    encode(&[groups(1000)]);
}

/// Messages of all wire types, nested, with groups.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![4 => 1..6u32, 1 => 1..(1u32 << 29)];
    let value = prop_oneof![0..5u64, any::<u64>()];
    let tagged = |number: u32, wire_type, rest: &[u8]| {
        let mut field = Vec::new();
        varint::put(&mut field, u64::from(number) << 3 | wire_type);
        field.extend_from_slice(rest);
        field
    };
    let leaf = prop_oneof![
        (number.clone(), value).prop_map(|(number, value)| field(number, value)),
        (number.clone(), any::<[u8; 4]>()).prop_map(move |(number, value)| tagged(number, 5, &value)),
        (number.clone(), any::<[u8; 8]>()).prop_map(move |(number, value)| tagged(number, 1, &value)),
        (number.clone(), prop::collection::vec(any::<u8>(), 0..20)).prop_map(|(number, value)| {
            let mut field = Vec::new();
            varint::put_bytes_field(&mut field, number, &value);
            field
        }),
    ];
    let fields = prop::collection::vec(leaf, 0..6).prop_map(|fields| fields.concat());
    fields.prop_recursive(4, 60, 5, move |inner| {
        let part = (number.clone(), any::<bool>(), inner).prop_map(move |(number, group, inner)| {
            if group {
                return [tagged(number, 3, &inner), tagged(number, 4, &[])].concat();
            }
            let mut field = Vec::new();
            varint::put_bytes_field(&mut field, number, &inner);
            field
        });
        prop::collection::vec(part, 0..5).prop_map(|fields| fields.concat())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_records_come_back(
        records in prop::collection::vec(
            prop_oneof![3 => message(), 1 => prop::collection::vec(any::<u8>(), 0..30)], 0..40),
        bucket_size in prop_oneof![Just(1), 1..1000u64, Just(u64::MAX)],
    ) {
        encode_as(&records, bucket_size, Compression::None);
        encode_as(&records, bucket_size, Compression::Snappy);
    }
}
