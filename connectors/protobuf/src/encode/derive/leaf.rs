//! The protobuf types of columns that are neither lists nor structs.

use arrow::datatypes::DataType;
use recordfusion_core::Result;

use super::message::{Builder, Declared};
use crate::descriptor::wire::field_type;
use crate::encode::origin::{Origin, is_binary, is_text, list_item, plain};

impl Builder<'_> {
    /// The type of a value that is no list and has no fields.
    pub(super) fn leaf(&mut self, data_type: &DataType, origin: Origin<'_>) -> Result<Declared> {
        if let Some(declared) = self.enumeration(data_type, origin) {
            return Ok(declared);
        }
        let number = match data_type {
            DataType::Boolean => field_type::BOOL,
            DataType::Int8 | DataType::Int16 | DataType::Int32 => kept(origin, INT32),
            DataType::Int64 => kept(origin, INT64),
            DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => kept(origin, UINT32),
            DataType::UInt64 => kept(origin, UINT64),
            DataType::Decimal128(20, 0) if matches!(origin.kind, Some("uint64" | "fixed64")) => {
                kept(origin, UINT64)
            }
            DataType::Float16 | DataType::Float32 => field_type::FLOAT,
            DataType::Float64 => field_type::DOUBLE,
            text if is_text(text) || text.is_decimal() => field_type::STRING,
            binary if is_binary(binary) => field_type::BYTES,
            DataType::Timestamp(..) => return Ok(self.google("protobuf.Timestamp")),
            DataType::Duration(_) => return Ok(self.google("protobuf.Duration")),
            DataType::Date32 | DataType::Date64 => return Ok(self.google("type.Date")),
            DataType::Time32(_) | DataType::Time64(_) => return Ok(self.google("type.TimeOfDay")),
            DataType::Null | DataType::Struct(_) => return Ok(self.google("protobuf.Empty")),
            DataType::Interval(_) => {
                return Err(
                    self.error("is an Interval, which no message holds; cast it to text or to a Duration")
                );
            }
            DataType::Union(..) => {
                return Err(self.error("is a Union, which no message holds; select its members one by one"));
            }
            other => return Err(self.error(&format!("has the type {other}, which no message holds"))),
        };
        Ok(Declared::scalar(number))
    }

    /// The well-known message type that the column came from, if its values still are of that form.
    pub(super) fn google_type(&mut self, data_type: &DataType, origin: Origin<'_>) -> Option<Declared> {
        let fits = |(known, fits): &&GoogleType| origin.google() == Some(*known) && fits(data_type);
        if let Some((name, _)) = GOOGLE_TYPES.iter().find(fits) {
            return Some(self.google(name));
        }
        // Messages without fields show as booleans.
        (*data_type == DataType::Boolean && origin.is_message()).then(|| self.google("protobuf.Empty"))
    }

    /// The message type `google.<name>`.
    fn google(&mut self, name: &str) -> Declared {
        self.imports.insert(match name {
            "protobuf.Any" => "google/protobuf/any.proto",
            "protobuf.Duration" => "google/protobuf/duration.proto",
            "protobuf.Empty" => "google/protobuf/empty.proto",
            "protobuf.FieldMask" => "google/protobuf/field_mask.proto",
            "protobuf.Struct" | "protobuf.Value" | "protobuf.ListValue" => "google/protobuf/struct.proto",
            "protobuf.Timestamp" => "google/protobuf/timestamp.proto",
            "type.Date" => "google/type/date.proto",
            "type.TimeOfDay" => "google/type/timeofday.proto",
            _ => "google/protobuf/wrappers.proto",
        });
        Declared::message(&format!("google.{name}"))
    }
}

/// Kinds that a column may have come from, by keyword; the first is what others become.
type Kinds = &'static [(&'static str, i32)];

const INT32: Kinds =
    &[("int32", field_type::INT32), ("sint32", field_type::SINT32), ("sfixed32", field_type::SFIXED32)];
/// 32-bit kinds read as Int64 for the option `unsigned` and as keys of maps.
const INT64: Kinds = &[
    ("int64", field_type::INT64),
    ("sint64", field_type::SINT64),
    ("sfixed64", field_type::SFIXED64),
    ("uint32", field_type::UINT32),
    ("fixed32", field_type::FIXED32),
    ("int32", field_type::INT32),
    ("sint32", field_type::SINT32),
    ("sfixed32", field_type::SFIXED32),
];
const UINT32: Kinds = &[("uint32", field_type::UINT32), ("fixed32", field_type::FIXED32)];
const UINT64: Kinds = &[("uint64", field_type::UINT64), ("fixed64", field_type::FIXED64)];

fn kept(origin: Origin<'_>, kinds: Kinds) -> i32 {
    let own = kinds.iter().find(|(keyword, _)| origin.kind == Some(keyword));
    own.or(kinds.first()).map_or(field_type::STRING, |(_, number)| *number)
}

/// A message type's name, and whether values can be of it.
type GoogleType = (&'static str, fn(&DataType) -> bool);

/// Message types that columns keep, by their name behind `google.`, and the forms that values have then.
const GOOGLE_TYPES: &[GoogleType] = &[
    ("protobuf.Any", |data_type| has_fields(data_type, &["type_url", "value"])),
    ("protobuf.BoolValue", |data_type| *data_type == DataType::Boolean),
    ("protobuf.BytesValue", is_binary),
    ("protobuf.DoubleValue", |data_type| *data_type == DataType::Float64),
    ("protobuf.Duration", |data_type| *data_type == DataType::Int64 || has_fields(data_type, TIME)),
    ("protobuf.FieldMask", |data_type| {
        list_item(data_type).is_some_and(|item| is_text(plain(item.data_type())))
    }),
    ("protobuf.FloatValue", |data_type| *data_type == DataType::Float32),
    ("protobuf.Int32Value", |data_type| *data_type == DataType::Int32),
    ("protobuf.Int64Value", |data_type| *data_type == DataType::Int64),
    ("protobuf.ListValue", is_text),
    ("protobuf.StringValue", is_text),
    ("protobuf.Struct", is_text),
    ("protobuf.Timestamp", |data_type| has_fields(data_type, TIME)),
    ("protobuf.UInt32Value", |data_type| matches!(data_type, DataType::UInt32 | DataType::Int64)),
    ("protobuf.UInt64Value", |data_type| matches!(data_type, DataType::UInt64 | DataType::Decimal128(20, 0))),
    ("protobuf.Value", is_text),
];

const TIME: &[&str] = &["seconds", "nanos"];

fn has_fields(data_type: &DataType, names: &[&str]) -> bool {
    match data_type {
        DataType::Struct(fields) => {
            fields.iter().map(|field| field.name().as_str()).eq(names.iter().copied())
        }
        _ => false,
    }
}
