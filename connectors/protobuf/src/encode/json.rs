//! JSON text as the bytes of `google.protobuf.Struct`, `Value` and `ListValue`.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::well_known::JsonKind;
use crate::wire::{MAX_DEPTH, tag_of, to_varint, wire_type};

/// The serialized message of a JSON text, for a message `depth` below the record.
///
/// # Errors
/// What is wrong with the text: no JSON, another kind of value, an integer that no double is, or more levels
/// than a record may have.
pub(super) fn serialize(kind: JsonKind, text: &str, depth: u32) -> Result<Vec<u8>, String> {
    // The levels are counted from a `Value`.
    let depth = if kind == JsonKind::Value { depth } else { depth.saturating_sub(1) };
    let mut reader = serde_json::Deserializer::from_str(text);
    let json = Level(depth).deserialize(&mut reader).and_then(|json| reader.end().map(|()| json));
    match (kind, json.map_err(|error| format!("the text is not JSON for it: {error}"))?) {
        (JsonKind::Struct, Json::Object(fields)) => Ok(fields),
        (JsonKind::Struct, _) => Err("the JSON text is not an object".to_string()),
        (JsonKind::List, Json::List(values)) => Ok(values),
        (JsonKind::List, _) => Err("the JSON text is not a list".to_string()),
        (_, json) => Ok(json.into_value()),
    }
}

/// A JSON value as bytes.
enum Json {
    /// A `Value`.
    Scalar(Vec<u8>),
    /// A `ListValue`.
    List(Vec<u8>),
    /// A `Struct`.
    Object(Vec<u8>),
}

impl Json {
    fn into_value(self) -> Vec<u8> {
        match self {
            Self::Scalar(value) => value,
            Self::Object(fields) => delimited(5, &fields),
            Self::List(values) => delimited(6, &values),
        }
    }
}

fn delimited(number: u32, bytes: &[u8]) -> Vec<u8> {
    [tag(number, wire_type::LENGTH_DELIMITED), to_varint(bytes.len() as u64), bytes.to_vec()].concat()
}

fn tag(number: u32, wire_type: u32) -> Vec<u8> {
    to_varint(u64::from(tag_of(number, wire_type)))
}

/// Reads a `Value` at this depth.
#[derive(Clone, Copy)]
struct Level(u32);

impl Level {
    fn below<E: serde::de::Error>(self, levels: u32) -> Result<Self, E> {
        let level = self.0.saturating_add(levels);
        if level > MAX_DEPTH {
            return Err(E::custom(format!("it is nested more than {MAX_DEPTH} messages deep")));
        }
        Ok(Self(level))
    }
}

impl<'de> DeserializeSeed<'de> for Level {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Scalar([tag(1, wire_type::VARINT), vec![0]].concat()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json, E> {
        Ok(Json::Scalar([tag(2, wire_type::FIXED64), number.to_le_bytes().to_vec()].concat()))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Json, E> {
        let double = number as f64;
        if double as i128 != i128::from(number) {
            return Err(E::custom(format!("no double is the number {number}")));
        }
        self.visit_f64(double)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Json, E> {
        let double = number as f64;
        if double as i128 != i128::from(number) {
            return Err(E::custom(format!("no double is the number {number}")));
        }
        self.visit_f64(double)
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Scalar(delimited(3, text.as_bytes())))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Json, E> {
        Ok(Json::Scalar([tag(4, wire_type::VARINT), vec![u8::from(flag)]].concat()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        // A `ListValue`, and the `Value`s in it.
        let level = self.below::<A::Error>(2)?;
        let mut values = Vec::new();
        while let Some(item) = items.next_element_seed(level)? {
            values.extend(delimited(1, &item.into_value()));
        }
        Ok(Json::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        // A `Struct`, its entries, and the `Value`s in them.
        let level = self.below::<A::Error>(3)?;
        let mut fields = Vec::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(level)?;
            let entry = [delimited(1, key.as_bytes()), delimited(2, &value.into_value())].concat();
            fields.extend(delimited(1, &entry));
        }
        Ok(Json::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::compile::compile_text;
    use crate::descriptor::resolve::resolve;
    use crate::descriptor::symbols::Symbols;
    use crate::options::Mapping;
    use crate::proto_json::JsonTexts;

    #[test]
    fn texts_come_back() {
        let cases = [
            (JsonKind::Struct, r#"{"b":1,"a":[null,true,"é\n",{"x":{}}],"c":-1.5e300}"#),
            (JsonKind::Struct, "{}"),
            (JsonKind::List, r#"[[],[[1]],"x",0]"#),
            (JsonKind::Value, "null"),
            (JsonKind::Value, r#"{"k":[1,2]}"#),
            (JsonKind::Value, r#""text""#),
        ];
        let source = "syntax = 'proto3'; import 'google/protobuf/struct.proto';
            message M { google.protobuf.Struct s = 1; }";
        let files = compile_text("t.proto", source).expect("it compiles");
        let symbols = Symbols::new(&files).expect("names");
        let (descriptors, mapping) = (resolve(&symbols, ["M"]).expect("it resolves"), Mapping::default());
        for (kind, text) in cases {
            let name = match kind {
                JsonKind::Struct => "google.protobuf.Struct",
                JsonKind::List => "google.protobuf.ListValue",
                JsonKind::Value => "google.protobuf.Value",
            };
            let bytes = serialize(kind, text, 1).expect(text);
            let found =
                JsonTexts::new(&descriptors, &mapping).text(descriptors.find(name).expect(name), &bytes);
            assert_eq!(found.expect(text), text);
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let deep = "[".repeat(60) + &"]".repeat(60);
        let cases = [
            (JsonKind::Struct, "[]", "the JSON text is not an object"),
            (JsonKind::List, "{}", "the JSON text is not a list"),
            (JsonKind::Value, "{", "EOF while parsing"),
            (JsonKind::Value, "1 2", "trailing characters"),
            (JsonKind::Value, "9007199254740993", "no double is the number 9007199254740993"),
            (JsonKind::Value, &deep, "nested more than 100 messages deep"),
        ];
        for (kind, text, part) in cases {
            let error = serialize(kind, text, 1).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
