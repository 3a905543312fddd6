//! `Struct`, `Value` and `ListValue` as JSON text.
//!
//! The bytes were checked when they were gathered: their nesting is bounded. Several occurrences of a field
//! lie one after the other, which is their merge.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::fault::{FaultKind, Result};
use crate::wire::{self, wire_type};

/// Which of the three message types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonKind {
    Struct,
    Value,
    List,
}

/// The JSON text of a serialized message. Keys stand in wire order, and a later entry replaces the value of
/// an earlier one in its place. A `Value` without a kind is `null`.
///
/// # Errors
/// [`FaultKind::BadValue`] for a number that JSON cannot say.
pub(crate) fn json_text(kind: JsonKind, bytes: &[u8]) -> Result<String> {
    let mut value = match kind {
        JsonKind::Struct => Json::Object(Vec::new()),
        JsonKind::Value => Json::Null,
        JsonKind::List => Json::List(Vec::new()),
    };
    match &mut value {
        Json::Object(entries) => read_struct(bytes, entries)?,
        Json::List(items) => read_list(bytes, items)?,
        value => read_value(bytes, value)?,
    }
    let mut text = String::new();
    write_value(&value, &mut text)?;
    Ok(text)
}

enum Json<'a> {
    Null,
    Bool(bool),
    Number(f64),
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

/// Calls `known` for each field of a message that has a wire type a JSON message can use.
fn each_field<'a>(bytes: &'a [u8], mut known: impl FnMut(u32, Payload<'a>) -> Result<()>) -> Result<()> {
    let mut at = 0;
    while at < bytes.len() {
        let tag = wire::tag(bytes, &mut at)?;
        match tag & 7 {
            wire_type::VARINT => known(tag >> 3, Payload::Varint(wire::varint(bytes, &mut at)?))?,
            wire_type::FIXED64 => known(tag >> 3, Payload::Fixed64(wire::fixed64(bytes, &mut at)?))?,
            wire_type::LENGTH_DELIMITED => {
                let end = wire::length(bytes, &mut at)?;
                known(tag >> 3, Payload::Bytes(bytes.get(at..end).unwrap_or_default()))?;
                at = end;
            }
            _ => wire::skip(bytes, &mut at, tag, 0)?,
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Payload<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
}

fn read_struct<'a>(bytes: &'a [u8], entries: &mut Vec<(Cow<'a, str>, Json<'a>)>) -> Result<()> {
    each_field(bytes, |number, payload| {
        let (1, Payload::Bytes(entry)) = (number, payload) else { return Ok(()) };
        let (mut key, mut value) = (Cow::default(), Json::Null);
        each_field(entry, |number, payload| {
            match (number, payload) {
                (1, Payload::Bytes(text)) => key = String::from_utf8_lossy(text),
                (2, Payload::Bytes(bytes)) => read_value(bytes, &mut value)?,
                _ => {}
            }
            Ok(())
        })?;
        entries.push((key, value));
        Ok(())
    })
}

fn read_list<'a>(bytes: &'a [u8], items: &mut Vec<Json<'a>>) -> Result<()> {
    each_field(bytes, |number, payload| {
        if let (1, Payload::Bytes(item)) = (number, payload) {
            let mut value = Json::Null;
            read_value(item, &mut value)?;
            items.push(value);
        }
        Ok(())
    })
}

/// Merges a serialized `Value` into `value`.
fn read_value<'a>(bytes: &'a [u8], value: &mut Json<'a>) -> Result<()> {
    each_field(bytes, |number, payload| {
        match (number, payload) {
            (1, Payload::Varint(_)) => *value = Json::Null,
            (2, Payload::Fixed64(bits)) => *value = Json::Number(f64::from_bits(bits)),
            (3, Payload::Bytes(text)) => *value = Json::Text(String::from_utf8_lossy(text)),
            (4, Payload::Varint(flag)) => *value = Json::Bool(flag != 0),
            (5, Payload::Bytes(bytes)) => {
                if !matches!(value, Json::Object(_)) {
                    *value = Json::Object(Vec::new());
                }
                if let Json::Object(entries) = value {
                    read_struct(bytes, entries)?;
                }
            }
            (6, Payload::Bytes(bytes)) => {
                if !matches!(value, Json::List(_)) {
                    *value = Json::List(Vec::new());
                }
                if let Json::List(items) = value {
                    read_list(bytes, items)?;
                }
            }
            _ => {}
        }
        Ok(())
    })
}

fn write_value(value: &Json<'_>, text: &mut String) -> Result<()> {
    match value {
        Json::Null => text.push_str("null"),
        Json::Bool(flag) => text.push_str(if *flag { "true" } else { "false" }),
        Json::Number(number) => write_number(*number, text)?,
        Json::Text(string) => write_string(string, text),
        Json::List(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { "," });
                write_value(item, text)?;
            }
            text.push(']');
        }
        Json::Object(entries) => write_object(entries, text)?,
    }
    Ok(())
}

fn write_object(entries: &[(Cow<'_, str>, Json<'_>)], text: &mut String) -> Result<()> {
    let mut unwritten: HashMap<&str, &Json<'_>> =
        entries.iter().map(|(key, value)| (key.as_ref(), value)).collect();
    text.push('{');
    let mut separator = "";
    for (key, _) in entries {
        if let Some(value) = unwritten.remove(key.as_ref()) {
            text.push_str(separator);
            write_string(key, text);
            text.push(':');
            write_value(value, text)?;
            separator = ",";
        }
    }
    text.push('}');
    Ok(())
}

/// Writes a number in its shortest digits.
///
/// # Errors
/// [`FaultKind::BadValue`] for a number that JSON cannot say.
pub(crate) fn write_number(number: f64, text: &mut String) -> Result<()> {
    if !number.is_finite() {
        return Err(FaultKind::BadValue(format!("JSON has no number {number}")).into());
    }
    // Integers that a double holds exactly are written without a fraction.
    if number.trunc() == number && number.abs() < 9_007_199_254_740_992.0 {
        text.push_str(&format!("{number:.0}"));
    } else {
        text.push_str(&format!("{number:?}"));
    }
    Ok(())
}

/// Writes a string in quotes, with the escapes that JSON asks for.
pub(crate) fn write_string(string: &str, text: &mut String) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            control if control < ' ' => text.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => text.push(other),
        }
    }
    text.push('"');
}
