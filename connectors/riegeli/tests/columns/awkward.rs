//! Records that are valid, for the most part, and odd: fields in any order, repeated, of another wire type, strings
//! that look like messages, packed and unpacked numbers, groups, and what no field number stands for.

use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::Records;

/// What a field holds in one of the schemas.
#[derive(Debug, Clone, Copy)]
enum Holds {
    Varint,
    Fixed32,
    Fixed64,
    Text,
    Bytes,
    Packed,
    PackedFixed,
    Message(&'static [(u32, Holds)]),
    Group(&'static [(u32, Holds)]),
}

use Holds::{Bytes, Fixed32, Fixed64, Group, Message, Packed, PackedFixed, Text, Varint};

/// The fields of `M`, in both schemas.
const RECORD: &[(u32, Holds)] = &[
    (1, Varint),
    (2, Varint),
    (3, Varint),
    (4, Varint),
    (5, Varint),
    (6, Varint),
    (7, Varint),
    (8, Varint),
    (9, Fixed32),
    (10, Fixed64),
    (11, Fixed32),
    (12, Fixed64),
    (13, Text),
    (14, Bytes),
    (15, Message(SUB)),
    (16, Varint),
    (17, Text),
    (18, Group(GROUP)),
    (18, Varint),
    (19, Fixed64),
    (20, Packed),
    (20, Varint),
    (21, Text),
    (22, Message(SUB)),
    (23, Packed),
    (23, Varint),
    (24, PackedFixed),
    (24, Fixed64),
    (25, Bytes),
    (26, Packed),
    (26, Varint),
    (27, Varint),
    (28, Text),
    (29, Message(SUB)),
    (30, Varint),
    (30, Group(&[(1, Varint)])),
    (31, Bytes),
    (32, Message(&[(1, Text), (2, Varint)])),
    (33, Message(&[(1, Varint), (2, Message(SUB))])),
    (34, Message(&[(1, Varint), (2, Text)])),
    (35, Message(&[(1, Varint), (2, Varint)])),
    (36, Message(TIME)),
    (37, Message(TIME)),
    (38, Message(&[(1, Varint)])),
    (39, Message(&[(1, Text)])),
    (40, Message(STRUCT)),
    (41, Message(VALUE)),
    (42, Message(&[(1, Text), (2, Bytes)])),
    (42, Group(&[(1, Varint), (2, Message(LEAF)), (3, Text)])),
    (43, Message(&[(1, Text)])),
    (43, Varint),
    (44, Message(&[])),
    (45, Message(SELF)),
    (46, Varint),
    (46, Message(LEAF)),
    (47, Message(TIME)),
    (48, Text),
    (49, Message(SUB)),
    (50, Varint),
];

/// Some fields of the record, in a record inside it.
const SELF: &[(u32, Holds)] = &[
    (1, Varint),
    (13, Text),
    (20, Packed),
    (29, Message(SUB)),
    (28, Text),
    (45, Message(&[(2, Varint), (45, Text)])),
];

const SUB: &[(u32, Holds)] = &[
    (1, Varint),
    (2, Text),
    (3, Packed),
    (3, Varint),
    (4, Text),
    (5, Varint),
    (6, Message(LEAF)),
    (7, Message(LEAF)),
    (8, Message(LEAF)),
    (9, Message(&[(1, Text), (2, Varint)])),
    (10, Bytes),
    (11, Varint),
];

const LEAF: &[(u32, Holds)] = &[(1, Fixed32), (2, Text), (3, PackedFixed), (3, Fixed64), (4, Message(BACK))];

const BACK: &[(u32, Holds)] =
    &[(1, Varint), (13, Text), (15, Message(&[(1, Varint), (2, Text), (6, Message(&[(2, Text)]))]))];

const GROUP: &[(u32, Holds)] = &[(1, Varint), (2, Text), (3, Group(&[(2, Text)])), (7, Varint)];

const TIME: &[(u32, Holds)] = &[(1, Fixed64), (2, Varint)];

const STRUCT: &[(u32, Holds)] = &[(1, Message(&[(1, Text), (2, Message(VALUE))]))];

const VALUE: &[(u32, Holds)] = &[
    (1, Varint),
    (2, Fixed64),
    (3, Text),
    (4, Varint),
    (5, Message(&[])),
    (6, Message(&[(1, Message(&[(3, Text)]))])),
];

/// Strings that a writer takes for messages, and others.
const TEXTS: [&str; 14] = [
    "",
    "hi",
    "00",
    "P1",
    "123456789",
    "51234",
    "x",
    "xyz",
    "\u{e9}t\u{e9}",
    "a text longer than twelve bytes",
    "zzzzzzzzzzzz",
    "\x08\x01",
    "\x0a\x00",
    "\x12\x02hi",
];

/// How much of a thousand is not as the fields want it.
type Oddness = u32;

/// Some records.
pub fn records(count: Range<usize>) -> impl Strategy<Value = Records> {
    select(vec![0, 0, 0, 0, 1, 3, 30]).prop_flat_map(move |oddness: Oddness| {
        let odd = prop_oneof![Just(vec![0x08, 0x81, 0x00]), Just(b"not a message".to_vec())];
        let record = fields(RECORD, oddness, 0..12);
        vec(prop_oneof![1000 => record, oddness / 2 => odd], count.clone())
    })
}

/// The fields of a message, one after the other.
fn fields(known: &'static [(u32, Holds)], oddness: Oddness, count: Range<usize>) -> BoxedStrategy<Vec<u8>> {
    let unknown = (51..60u32, select(vec![Varint, Fixed32, Bytes, Group(&[(1, Varint)])]));
    let any_field =
        (1..48u32, select(vec![Varint, Fixed32, Fixed64, Text, Bytes, Message(SUB), Group(LEAF)]));
    let one = |strategy: BoxedStrategy<(u32, Holds)>| {
        strategy.prop_flat_map(move |(number, holds)| field(number, holds, oddness)).boxed()
    };
    let (unknown, any_field) = (one(unknown.boxed()), one(any_field.boxed()));
    if known.is_empty() {
        return vec(unknown, 0..2).prop_map(|parts| parts.concat()).boxed();
    }
    let fitting = one(select(known.to_vec()).boxed());
    let repeated = select(known.to_vec()).prop_flat_map(move |(number, holds)| {
        vec(field(number, holds, oddness), 2..4).prop_map(|fields| fields.concat())
    });
    let part = prop_oneof![20 => unknown, oddness => any_field, 800 => fitting, 200 => repeated];
    vec(part, count).prop_map(|parts| parts.concat()).boxed()
}

fn field(number: u32, holds: Holds, oddness: Oddness) -> BoxedStrategy<Vec<u8>> {
    let text = select(TEXTS.to_vec()).prop_map(|text| text.as_bytes().to_vec());
    let bytes = vec(any::<u8>(), 0..20);
    let delimited = |value: BoxedStrategy<Vec<u8>>| {
        (Just(2), value.prop_map(|value| [varint(value.len() as u64), value].concat())).boxed()
    };
    let value = match holds {
        Varint => (Just(0), number_value().prop_map(varint)).boxed(),
        Fixed64 => (Just(1), any::<u64>().prop_map(|bits| bits.to_le_bytes().to_vec())).boxed(),
        Fixed32 => (Just(5), any::<u32>().prop_map(|bits| bits.to_le_bytes().to_vec())).boxed(),
        Text => delimited(prop_oneof![1000 => text, oddness => bytes].boxed()),
        Bytes => delimited(prop_oneof![text, bytes].boxed()),
        Packed => {
            let packed = vec(number_value().prop_map(varint), 0..6).prop_map(|values| values.concat());
            delimited(prop_oneof![1000 => packed, oddness => text].boxed())
        }
        PackedFixed => {
            let values = vec(any::<u64>(), 0..4);
            let packed =
                values.prop_map(|values| values.iter().flat_map(|value| value.to_le_bytes()).collect());
            delimited(prop_oneof![1000 => packed, oddness => text].boxed())
        }
        Message(known) => {
            let message = fields(known, oddness, 0..5);
            delimited(
                prop_oneof![1000 => message, oddness => text, oddness => Just(vec![0x08, 0x80, 0x00])]
                    .boxed(),
            )
        }
        Group(known) => {
            let end = varint(u64::from(number << 3 | 4));
            (Just(3), fields(known, oddness, 0..5).prop_map(move |inner| [inner, end.clone()].concat()))
                .boxed()
        }
    };
    value.prop_map(move |(wire, value)| [varint(u64::from(number << 3 | wire)), value].concat()).boxed()
}

fn number_value() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0..5u64,
        2 => 0..400u64,
        2 => (any::<u64>(), 0..64u32).prop_map(|(bits, shift)| bits >> shift),
        1 => any::<i32>().prop_map(|number| i64::from(number) as u64),
    ]
}

fn varint(value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    prost::encoding::encode_varint(value, &mut bytes);
    bytes
}
