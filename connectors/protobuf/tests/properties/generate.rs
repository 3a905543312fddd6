//! Random message types, and messages of them in odd but valid encodings.

use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;

/// The types of fields; `E` and `Sub` are declared beside the message.
const TYPES: [&str; 17] = [
    "int32", "int64", "uint32", "uint64", "sint32", "sint64", "bool", "E", "fixed32", "sfixed32", "float",
    "fixed64", "sfixed64", "double", "string", "bytes", "Sub",
];

/// How a field is declared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Label {
    Implicit,
    Optional,
    Repeated,
    Member,
    Map,
}

/// A field of a message.
#[derive(Debug, Clone)]
pub struct Field {
    number: u32,
    type_name: &'static str,
    pub label: Label,
}

/// The messages `M` and `Sub`.
#[derive(Debug, Clone)]
pub struct Schema {
    pub message: Vec<Field>,
    pub sub: Vec<Field>,
}

fn fields(types: usize) -> impl Strategy<Value = Vec<Field>> {
    let labels = [Label::Implicit, Label::Optional, Label::Repeated, Label::Member, Label::Map];
    let field =
        (0..types, proptest::sample::select(labels.to_vec()), prop_oneof![9 => 1..4u32, 1 => 1..1500u32]);
    vec(field, 1..12).prop_map(|fields| {
        let mut number = 0;
        let field = |(type_name, label, gap)| {
            number += gap;
            Field { number, type_name: TYPES[type_name], label }
        };
        fields.into_iter().map(field).collect()
    })
}

/// Random message types.
pub fn schema() -> impl Strategy<Value = Schema> {
    (fields(TYPES.len()), fields(TYPES.len() - 1)).prop_map(|(message, sub)| Schema { message, sub })
}

impl Schema {
    /// The .proto text.
    pub fn source(&self) -> String {
        let [message, sub] = [&self.message, &self.sub].map(|fields| declarations(fields));
        format!(
            "syntax = 'proto3'; enum E {{ A = 0; B = 1; C = 2; }} message Sub {{ {sub} }} message M {{ {message} }}"
        )
    }
}

fn declarations(fields: &[Field]) -> String {
    let mut text = String::new();
    let mut members = String::new();
    for (index, field) in fields.iter().enumerate() {
        let declared = format!("{} f{index} = {};", field.type_name, field.number);
        match field.label {
            Label::Implicit => text += &declared,
            Label::Optional => text += &format!("optional {declared}"),
            Label::Repeated => text += &format!("repeated {declared}"),
            Label::Member => members += &declared,
            Label::Map => text += &format!("map<sint32, {}> f{index} = {};", field.type_name, field.number),
        }
    }
    if !members.is_empty() {
        text += &format!("oneof one {{ {members} }}");
    }
    text
}

/// Random messages of type `M`. Numbers are spelled with up to `padding` bytes more than they need.
pub fn messages(
    schema: &Schema,
    count: Range<usize>,
    padding: usize,
) -> impl Strategy<Value = Vec<Vec<u8>>> + use<> {
    let sub = message(schema.sub.clone(), Just(Vec::new()).boxed(), padding);
    vec(message(schema.message.clone(), sub, padding), count)
}

/// Fields in any order, repeated or not, with unknown ones among them.
fn message(fields: Vec<Field>, sub: BoxedStrategy<Vec<u8>>, padding: usize) -> BoxedStrategy<Vec<u8>> {
    let numbers: Vec<u32> = fields.iter().map(|field| field.number).collect();
    let known =
        proptest::sample::select(fields).prop_flat_map(move |field| occurrence(&field, sub.clone(), padding));
    let unknown = (0..4u32, any::<u64>()).prop_map(move |(gap, value)| {
        let number = numbers.iter().max().copied().unwrap_or(0) + 1 + gap;
        match gap {
            0 => [tag(number, 0), varint(value, 0)].concat(),
            1 => [tag(number, 3), tag(number, 4)].concat(),
            2 => [tag(number, 2), varint(2, 0), vec![0xff, 0xff]].concat(),
            _ => [tag(number, 1), value.to_le_bytes().to_vec()].concat(),
        }
    });
    vec(prop_oneof![9 => known, 1 => unknown], 0..14).prop_map(|parts| parts.concat()).boxed()
}

/// A field with a value.
pub fn occurrence(field: &Field, sub: BoxedStrategy<Vec<u8>>, padding: usize) -> BoxedStrategy<Vec<u8>> {
    let number = field.number;
    let wire_type = wire_type(field.type_name);
    let value = value(field.type_name, sub, padding);
    match field.label {
        Label::Repeated if wire_type != 2 => {
            let packed = vec(value.clone(), 0..6).prop_map(move |values| delimited(number, &values.concat()));
            let single = value.prop_map(move |value| [tag(number, wire_type), value].concat());
            prop_oneof![packed, single].boxed()
        }
        Label::Map => {
            let key = (0..4u64).prop_map(|key| [tag(1, 0), varint(key, 0)].concat());
            let value = value.prop_map(move |value| [tag(2, wire_type), value].concat());
            let parts = (proptest::option::of(key), proptest::option::of(value), any::<bool>());
            let entry = parts.prop_map(|(key, value, swap)| {
                let (key, value) = (key.unwrap_or_default(), value.unwrap_or_default());
                if swap { [value, key].concat() } else { [key, value].concat() }
            });
            entry.prop_map(move |entry| delimited(number, &entry)).boxed()
        }
        _ => value.prop_map(move |value| [tag(number, wire_type), value].concat()).boxed(),
    }
}

fn wire_type(type_name: &str) -> u32 {
    match type_name {
        "fixed64" | "sfixed64" | "double" => 1,
        "fixed32" | "sfixed32" | "float" => 5,
        "string" | "bytes" | "Sub" => 2,
        _ => 0,
    }
}

/// A value as it stands behind its tag.
fn value(type_name: &str, sub: BoxedStrategy<Vec<u8>>, padding: usize) -> BoxedStrategy<Vec<u8>> {
    let with_length = |bytes: Vec<u8>| [varint(bytes.len() as u64, 0), bytes].concat();
    match type_name {
        "string" => "[a-zé\u{10000}]{0,16}".prop_map(move |text| with_length(text.into_bytes())).boxed(),
        "bytes" => vec(any::<u8>(), 0..20).prop_map(with_length).boxed(),
        "Sub" => sub.prop_map(with_length).boxed(),
        "E" => (0..6u64, 0..=padding.min(2)).prop_map(|(value, padding)| varint(value, padding)).boxed(),
        other => match wire_type(other) {
            1 => any::<u64>().prop_map(|value| value.to_le_bytes().to_vec()).boxed(),
            5 => any::<u32>().prop_map(|value| value.to_le_bytes().to_vec()).boxed(),
            _ => (any::<u64>(), 0..64u32, 0..=padding)
                .prop_map(|(value, shift, padding)| varint(value >> shift, padding))
                .boxed(),
        },
    }
}

fn delimited(number: u32, bytes: &[u8]) -> Vec<u8> {
    [tag(number, 2), varint(bytes.len() as u64, 0), bytes.to_vec()].concat()
}

fn tag(number: u32, wire_type: u32) -> Vec<u8> {
    varint(u64::from(number << 3 | wire_type), 0)
}

/// A varint with `padding` bytes more than it needs, as far as ten bytes allow.
fn varint(value: u64, padding: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    prost::encoding::encode_varint(value, &mut bytes);
    let padding = padding.min(10 - bytes.len());
    for _ in 0..padding {
        if let Some(last) = bytes.last_mut() {
            *last |= 0x80;
        }
        bytes.push(0);
    }
    bytes
}
