//! The tree of fields as JSON text.

use std::borrow::Cow;
use std::collections::HashMap;

use super::Notes;
use super::forms::{base64, camel_case, duration, timestamp, write_number, write_string};
use super::read::{self, Record, Value};
use super::types::Types;
use crate::column_tree::utf8_policy;
use crate::descriptor::{Field, Kind, Presence};
use crate::fault::{FaultKind, Result};
use crate::options::Mapping;
use crate::text::Utf8;
use crate::well_known::{JsonKind, WellKnown};

/// Writes a message.
pub(super) struct Printer<'t, 'a> {
    types: &'t mut Types<'a>,
    mapping: &'t Mapping,
    notes: &'t mut Notes,
    text: String,
}

impl<'t, 'a> Printer<'t, 'a> {
    pub(super) fn new(types: &'t mut Types<'a>, mapping: &'t Mapping, notes: &'t mut Notes) -> Self {
        Self { types, mapping, notes, text: String::new() }
    }

    /// The text of a message.
    ///
    /// # Errors
    /// [`FaultKind::BadValue`] for a value that has no text; in an `Any`, also what its bytes are not.
    pub(super) fn print(mut self, record: &Record<'a>) -> Result<String> {
        self.message(record)?;
        Ok(self.text)
    }

    fn message(&mut self, record: &Record<'a>) -> Result<()> {
        let Some(form) = record.of.form else {
            self.text.push('{');
            self.fields(record, "")?;
            return self.raw("}");
        };
        match form {
            WellKnown::Any => self.any(record),
            WellKnown::Timestamp => {
                self.string(&timestamp(record.number(1) as i64, record.number(2) as i32)?)
            }
            WellKnown::Duration => self.string(&duration(record.number(1) as i64, record.number(2) as i32)?),
            WellKnown::FieldMask => self.field_mask(record),
            WellKnown::Json(JsonKind::Struct) => self.only_field(record, "{}"),
            WellKnown::Json(JsonKind::List) => self.only_field(record, "[]"),
            WellKnown::Json(JsonKind::Value) => self.json_value(record),
            _ => self.only_field(record, "null"),
        }
    }

    /// The fields that show, each behind a comma but the first, which is behind `separator`.
    fn fields(&mut self, record: &Record<'a>, mut separator: &str) -> Result<()> {
        for ((extension, _), field, value) in record.fields() {
            if field.presence == Presence::Implicit && matches!(value, Value::Number(0) | Value::Bytes([])) {
                continue;
            }
            self.text.push_str(separator);
            separator = ",";
            let name = if extension { &format!("[{}]", field.name) } else { &field.json_name };
            write_string(name, &mut self.text);
            self.text.push(':');
            self.value(field, value).map_err(|fault| fault.within(&field.name))?;
        }
        Ok(())
    }

    /// A field with all its values.
    fn value(&mut self, field: &Field, value: &Value<'a>) -> Result<()> {
        let Value::List(items) = value else { return self.single(field, value) };
        if let Kind::Message(id) = field.kind
            && self.types.descriptors.message(id).map_entry
        {
            return self.map(items);
        }
        let mut opening = '[';
        for item in items {
            self.text.push(opening);
            opening = ',';
            self.single(field, item)?;
        }
        self.raw("]")
    }

    /// The entries of a map. A later one replaces the value of an earlier one in its place.
    fn map(&mut self, entries: &[Value<'a>]) -> Result<()> {
        let entries: Vec<_> = entries.iter().filter_map(key_and_value).collect();
        let mut unwritten: HashMap<&str, (&Field, &Value<'a>)> =
            entries.iter().map(|(key, value)| (key.as_ref(), *value)).collect();
        let mut opening = '{';
        for (key, _) in &entries {
            if let Some((field, value)) = unwritten.remove(key.as_ref()) {
                self.text.push(opening);
                opening = ',';
                write_string(key, &mut self.text);
                self.text.push(':');
                self.single(field, value)?;
            }
        }
        self.raw("}")
    }

    fn single(&mut self, field: &Field, value: &Value<'a>) -> Result<()> {
        let kind = field.kind;
        match value {
            Value::Message(message) => self.message(message),
            Value::Bytes(bytes) if kind == Kind::Bytes => self.string(&base64(bytes)),
            Value::Bytes(bytes) => self.text_of(field, bytes),
            Value::Number(bits) => self.number(kind, *bits),
            Value::List(_) => Ok(()),
        }
    }

    /// A string, checked or mended as the options say.
    fn text_of(&mut self, field: &Field, bytes: &[u8]) -> Result<()> {
        if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
            return self.string(text);
        }
        match utf8_policy(self.mapping, field) {
            Utf8::Strict => Err(FaultKind::InvalidUtf8.into()),
            Utf8::Replace => {
                self.notes.mended = self.notes.mended.saturating_add(1);
                self.string(&String::from_utf8_lossy(bytes))
            }
            Utf8::Null => {
                self.notes.nulled = self.notes.nulled.saturating_add(1);
                self.raw("null")
            }
        }
    }

    fn number(&mut self, kind: Kind, bits: u64) -> Result<()> {
        match kind {
            Kind::Double => self.float(f64::from_bits(bits)),
            Kind::Float => self.float(widen(f32::from_bits(bits as u32))),
            Kind::Enum(id) => {
                let enumeration = self.types.enumeration(id);
                match enumeration.name(bits as i32) {
                    _ if enumeration.null => self.raw("null"),
                    Some(name) => self.string(name),
                    None => self.raw(&plain(kind, bits)),
                }
            }
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 | Kind::Uint64 | Kind::Fixed64 => {
                self.string(&plain(kind, bits))
            }
            _ => self.raw(&plain(kind, bits)),
        }
    }

    fn float(&mut self, number: f64) -> Result<()> {
        match number {
            f64::INFINITY => self.string("Infinity"),
            f64::NEG_INFINITY => self.string("-Infinity"),
            _ if number.is_nan() => self.string("NaN"),
            _ => write_number(number, &mut self.text),
        }
    }

    fn string(&mut self, string: &str) -> Result<()> {
        write_string(string, &mut self.text);
        Ok(())
    }

    fn raw(&mut self, text: &str) -> Result<()> {
        self.text.push_str(text);
        Ok(())
    }

    /// A message that shows as its one field.
    fn only_field(&mut self, record: &Record<'a>, absent: &str) -> Result<()> {
        match record.field(1) {
            Some((field, value)) => self.value(field, value),
            None => self.raw(absent),
        }
    }

    fn json_value(&mut self, record: &Record<'a>) -> Result<()> {
        match record.fields().next() {
            None => self.raw("null"),
            // Here, numbers that JSON lacks must not turn into strings.
            Some((_, field, Value::Number(bits))) if field.kind == Kind::Double => {
                write_number(f64::from_bits(*bits), &mut self.text)
            }
            Some((_, field, value)) => self.value(field, value),
        }
    }

    fn field_mask(&mut self, record: &Record<'a>) -> Result<()> {
        let mut paths = Vec::new();
        for path in record.items(1) {
            if let Value::Bytes(path) = path {
                paths.push(camel_case(&String::from_utf8_lossy(path))?);
            }
        }
        self.string(&paths.join(","))
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "no message is read deeper than MAX_DEPTH, and the empty value of a map entry is one below"
    )]
    fn any(&mut self, record: &Record<'a>) -> Result<()> {
        let (url, bytes) = (String::from_utf8_lossy(record.bytes(1)), record.bytes(2));
        if url.is_empty() && bytes.is_empty() {
            return self.raw("{}");
        }
        let name = url.rsplit('/').next().unwrap_or_default();
        let Some(id) = self.types.descriptors.find(name) else {
            let reason = format!("an Any holds a '{name}', which the descriptors do not have");
            return Err(FaultKind::BadValue(reason).into());
        };
        // The record is valid whatever the bytes of the Any are.
        let inner = read::record(self.types, id, bytes, record.depth + 1)
            .map_err(|fault| fault.within("value").of_carried(name))?;
        self.text.push_str("{\"@type\":");
        write_string(&url, &mut self.text);
        let printed = if inner.of.form.is_some() {
            self.text.push_str(",\"value\":");
            self.message(&inner)
        } else {
            self.fields(&inner, ",")
        };
        printed.map_err(|fault| fault.of_carried(name))?;
        self.raw("}")
    }
}

/// A map entry as the text of its key, and its value with the field that it is of.
fn key_and_value<'r, 'a>(entry: &'r Value<'a>) -> Option<(Cow<'a, str>, (&'a Field, &'r Value<'a>))> {
    let Value::Message(entry) = entry else { return None };
    let key = match entry.field(1)? {
        (_, Value::Bytes(bytes)) => String::from_utf8_lossy(bytes),
        (field, Value::Number(bits)) => plain(field.kind, *bits).into(),
        _ => return None,
    };
    Some((key, entry.field(2)?))
}

/// The digits of an integer; `true` or `false`.
fn plain(kind: Kind, bits: u64) -> String {
    match kind {
        Kind::Bool => (bits != 0).to_string(),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => (bits as i64).to_string(),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 | Kind::Enum(_) => (bits as i32).to_string(),
        _ => bits.to_string(),
    }
}

/// The double whose shortest digits are those of the float.
pub(super) fn widen(number: f32) -> f64 {
    number.to_string().parse().unwrap_or_else(|_| f64::from(number))
}
