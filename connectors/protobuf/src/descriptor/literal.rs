//! Default values and text literals of .proto files.

use super::Value;

/// What kind of default value a field has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DefaultKind {
    Double,
    Float,
    /// Signed, of this many bits.
    Int(u32),
    /// Unsigned, of this many bits.
    Uint(u32),
    Bool,
    String,
    Bytes,
}

/// Reads a `default_value` as descriptors write it: numbers in decimal, bytes escaped, strings plain.
pub(crate) fn parse_default(kind: DefaultKind, text: &str) -> Option<Value> {
    match kind {
        DefaultKind::Double => text.parse().ok().map(Value::Double),
        DefaultKind::Float => text.parse().ok().map(Value::Float),
        DefaultKind::Int(32) => text.parse::<i32>().ok().map(|value| Value::Int(value.into())),
        DefaultKind::Int(_) => text.parse().ok().map(Value::Int),
        DefaultKind::Uint(32) => text.parse::<u32>().ok().map(|value| Value::Uint(value.into())),
        DefaultKind::Uint(_) => text.parse().ok().map(Value::Uint),
        DefaultKind::Bool => text.parse().ok().map(Value::Bool),
        DefaultKind::String => Some(Value::String(text.to_string())),
        DefaultKind::Bytes => unescape(text).map(Value::Bytes),
    }
}

/// Undoes the escapes of a text literal: `\n`, `\001`, `\xff` and the like.
pub(crate) fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut rest = text.as_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let (&escape, after) = rest.split_first()?;
        rest = after;
        bytes.push(match escape {
            b'a' => 0x07,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            b'\\' | b'\'' | b'"' | b'?' => escape,
            b'x' | b'X' => number(&mut rest, 16, 2)?,
            b'0'..=b'7' => {
                rest = text.as_bytes().get(text.len().checked_sub(rest.len())?.checked_sub(1)?..)?;
                number(&mut rest, 8, 3)?
            }
            _ => return None,
        });
    }
    Some(bytes)
}

/// Up to `most` digits, at least one, as a byte.
fn number(rest: &mut &[u8], radix: u32, most: usize) -> Option<u8> {
    let digits = rest.iter().take(most).take_while(|byte| char::from(**byte).is_digit(radix)).count();
    let (digits, after) = rest.split_at_checked(digits)?;
    *rest = after;
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}

/// A quoted text literal of these bytes. Text that is UTF-8 stays readable.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let mut literal = String::with_capacity(bytes.len().saturating_add(2));
    literal.push('"');
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' | '\\' => literal.extend(['\\', character]),
                '\n' => literal.push_str("\\n"),
                '\r' => literal.push_str("\\r"),
                '\t' => literal.push_str("\\t"),
                _ if character.is_control() => {
                    character.to_string().bytes().for_each(|byte| literal.push_str(&octal(byte)));
                }
                _ => literal.push(character),
            }
        }
        chunk.invalid().iter().for_each(|byte| literal.push_str(&octal(*byte)));
    }
    literal.push('"');
    literal
}

fn octal(byte: u8) -> String {
    format!("\\{byte:03o}")
}

/// The JSON name that a field has unless it says otherwise: `lower_case` becomes `lowerCase`.
pub(crate) fn json_name(name: &str) -> String {
    let mut json = String::with_capacity(name.len());
    let mut upper = false;
    for character in name.chars() {
        if character == '_' {
            upper = true;
        } else {
            json.push(if upper { character.to_ascii_uppercase() } else { character });
            upper = false;
        }
    }
    json
}
