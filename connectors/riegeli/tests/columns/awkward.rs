//! Records that are valid, for the most part, and odd: fields in any order, repeated, of another wire type, strings
//! that look like messages, packed and unpacked numbers, groups, and what no field number stands for.

use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::Records;

/// Strings that a writer takes for messages, and others.
const TEXTS: [&str; 14] = [
    "", "hi", "00", "P1", "123456789", "51234", "x", "xyz", "\u{e9}t\u{e9}", "a text longer than twelve bytes",
    "zzzzzzzzzzzz", "\x08\x01", "\x0a\x00", "\x12\x02hi",
];

/// Field numbers of the record's own fields; of messages inside it mostly the first.
const MOST_FIELDS: u32 = 50;

/// Some records.
pub fn records(count: Range<usize>) -> impl Strategy<Value = Records> {
    let odd = prop_oneof![
        200 => Just(None),
        1 => Just(Some(vec![0x08, 0x81, 0x00])),
        1 => Just(Some(b"not a message".to_vec())),
    ];
    vec((fields(3, MOST_FIELDS, 0..12), odd), count)
        .prop_map(|records| records.into_iter().map(|(record, odd)| odd.unwrap_or(record)).collect())
}

/// The fields of a message, one after the other.
fn fields(depth: u32, most: u32, count: Range<usize>) -> BoxedStrategy<Vec<u8>> {
    let any_field = (1..=most, 0..6u32).prop_flat_map(move |(number, wire)| field(number, wire, depth));
    let fitting = (1..=most).prop_flat_map(move |number| {
        let wires = prop_oneof![20 => Just(usual_wire_type(number, depth)), 1 => 0..6u32];
        wires.prop_flat_map(move |wire| field(number, wire, depth))
    });
    let repeated = (1..=most, 2..4usize).prop_flat_map(move |(number, times)| {
        vec(field(number, usual_wire_type(number, depth), depth), times).prop_map(|fields| fields.concat())
    });
    vec(prop_oneof![1 => any_field, 12 => fitting, 3 => repeated], count).prop_map(|parts| parts.concat()).boxed()
}

/// A wire type that the field of this number has in one of the schemas.
fn usual_wire_type(number: u32, depth: u32) -> u32 {
    match (depth, number) {
        (3, 1..=8 | 16 | 27) => 0,
        (3, 9 | 11) => 5,
        (3, 10 | 12 | 19 | 24) => 1,
        (3, 18 | 30) => 3,
        (3, _) => 2,
        (_, 1 | 5) => 0,
        _ => 2,
    }
}

fn field(number: u32, wire: u32, depth: u32) -> BoxedStrategy<Vec<u8>> {
    let tagged = move |value: Vec<u8>| [varint(u64::from(number << 3 | wire)), value].concat();
    match wire {
        0 => number_value().prop_map(varint).prop_map(tagged).boxed(),
        1 => any::<u64>().prop_map(|bits| bits.to_le_bytes().to_vec()).prop_map(tagged).boxed(),
        5 => any::<u32>().prop_map(|bits| bits.to_le_bytes().to_vec()).prop_map(tagged).boxed(),
        3 if depth > 0 => fields(depth - 1, 6, 0..5)
            .prop_map(move |inner| [tagged(inner), varint(u64::from(number << 3 | 4))].concat())
            .boxed(),
        2 => delimited(depth).prop_map(|value| [varint(value.len() as u64), value].concat()).prop_map(tagged).boxed(),
        _ => Just(Vec::new()).boxed(),
    }
}

fn number_value() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0..5u64,
        2 => 0..400u64,
        2 => (any::<u64>(), 0..64u32).prop_map(|(bits, shift)| bits >> shift),
        1 => any::<i32>().prop_map(|number| i64::from(number) as u64),
    ]
}

/// What stands behind a length.
fn delimited(depth: u32) -> BoxedStrategy<Vec<u8>> {
    let text = proptest::sample::select(TEXTS.to_vec()).prop_map(|text| text.as_bytes().to_vec());
    let packed = vec(number_value().prop_map(varint), 0..6).prop_map(|values| values.concat());
    let fixed = (vec(any::<u64>(), 0..4)).prop_map(|values| {
        values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>()
    });
    let bytes = vec(any::<u8>(), 0..20);
    let padded = Just(vec![0x08, 0x80, 0x00]);
    if depth == 0 {
        return prop_oneof![8 => text, 3 => packed, 1 => fixed].boxed();
    }
    let message = fields(depth - 1, 11, 0..6);
    prop_oneof![80 => message, 60 => text, 20 => packed, 10 => fixed, 1 => bytes, 1 => padded].boxed()
}

fn varint(value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    prost::encoding::encode_varint(value, &mut bytes);
    bytes
}
