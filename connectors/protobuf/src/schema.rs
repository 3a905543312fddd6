//! Arrow types and fields of columns (sections 1 to 5 of the mapping).

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field as ArrowField, FieldRef, TimeUnit};

use crate::column_tree::{Form, Node, Shape, Storage};
use crate::descriptor::{Cardinality, Descriptors, Enum, Field, Kind};
use crate::options::{
    DurationForm, EnumForm, MapForm, MapKeys, Mapping, MetadataColumn, StringType, TimeOfDayForm,
    TimestampForm, Unsigned,
};

/// Metadata key of the field number; Parquet writers keep it.
pub(crate) const FIELD_ID: &str = "PARQUET:field_id";
/// Metadata key of the protobuf type: a scalar's keyword, `enum`, `message`, `group` or `map`.
pub(crate) const PROTO_TYPE: &str = "proto.type";
/// Metadata key of a message type's full name.
pub(crate) const PROTO_MESSAGE: &str = "proto.message";
/// Metadata key of an enum type's full name.
pub(crate) const PROTO_ENUM: &str = "proto.enum";
/// Metadata key of an enum type's values: `NAME=number`, separated by commas, in declaration order.
pub(crate) const PROTO_ENUM_VALUES: &str = "proto.enum_values";

/// The longest [`PROTO_ENUM_VALUES`], in bytes: the values of larger enums are left out.
const MAX_ENUM_VALUES: usize = 1 << 16;

/// A metadata column of a table.
pub(crate) fn metadata_column(column: MetadataColumn) -> ArrowField {
    let (name, data_type) = match column {
        MetadataColumn::File => ("_file", DataType::Utf8View),
        MetadataColumn::Position => ("_position", DataType::UInt64),
        MetadataColumn::Record => ("_record", DataType::BinaryView),
        MetadataColumn::Unknown => ("_unknown", DataType::Binary),
    };
    ArrowField::new(name, data_type, true)
}

/// The Arrow field `name` of a protobuf field: nullable, with number and protobuf type as metadata.
pub(crate) fn field(descriptors: &Descriptors, field: &Field, name: String, data_type: DataType) -> FieldRef {
    let mut metadata = HashMap::from([(FIELD_ID.to_string(), field.number.to_string())]);
    let mut set = |key: &str, value: &str| metadata.insert(key.to_string(), value.to_string());
    set(PROTO_TYPE, keyword(field.kind));
    match field.kind {
        Kind::Enum(id) => {
            let enumeration = descriptors.enumeration(id);
            set(PROTO_ENUM, &enumeration.full_name);
            let values = enum_values(enumeration);
            if values.len() <= MAX_ENUM_VALUES {
                set(PROTO_ENUM_VALUES, &values);
            }
        }
        Kind::Message(id) if is_map(descriptors, field) => {
            set(PROTO_TYPE, "map");
            set(PROTO_MESSAGE, &descriptors.message(id).full_name);
        }
        Kind::Message(id) | Kind::Group(id) => {
            set(PROTO_MESSAGE, &descriptors.message(id).full_name);
        }
        _ => {}
    }
    Arc::new(ArrowField::new(name, data_type, true).with_metadata(metadata))
}

fn enum_values(enumeration: &Enum) -> String {
    let values = enumeration.values.iter().map(|value| format!("{}={}", value.name, value.number));
    values.collect::<Vec<_>>().join(",")
}

fn is_map(descriptors: &Descriptors, field: &Field) -> bool {
    let entry = |id| descriptors.message(id).map_entry;
    field.cardinality == Cardinality::Repeated && matches!(field.kind, Kind::Message(id) if entry(id))
}

/// The item of a list: the list itself carries the metadata.
pub(crate) fn item(value: &ArrowField) -> FieldRef {
    Arc::new(ArrowField::new("item", value.data_type().clone(), true))
}

/// The key of a map: not NULL, and by default of a type that `map[key]` works with in SQL.
pub(crate) fn map_key(key: &ArrowField, mapping: &Mapping) -> FieldRef {
    let data_type = match key.data_type() {
        DataType::Int32 | DataType::UInt32 if mapping.map_keys == MapKeys::Sql => DataType::Int64,
        other => other.clone(),
    };
    Arc::new(key.clone().with_data_type(data_type).with_nullable(false))
}

/// The column that names the member of a oneof.
pub(crate) fn case(name: &str) -> FieldRef {
    Arc::new(ArrowField::new(name, enum_names(), true))
}

/// The Arrow type of a form.
pub(crate) fn data_type(form: &Form, mapping: &Mapping) -> DataType {
    match form {
        Form::Number(kind) => number(*kind, mapping.unsigned),
        Form::Text { storage, .. } => text(*storage),
        Form::Serialized { json: true, .. } => made_text(mapping),
        Form::Serialized { json: false, .. } => DataType::Binary,
        Form::Bytes(Storage::Shared) => DataType::BinaryView,
        Form::Bytes(Storage::Owned) => DataType::Binary,
        Form::Bytes(Storage::OwnedLarge) => DataType::LargeBinary,
        Form::Enum { shown: EnumForm::Number, .. } => DataType::Int32,
        Form::Enum { shown: EnumForm::String, .. } => made_text(mapping),
        Form::Enum { shown: EnumForm::Name, .. } | Form::Case { .. } => enum_names(),
        Form::Message { shape, fields, .. } => message(*shape, fields, mapping),
        Form::List(item) => DataType::List(Arc::clone(&item.field)),
        Form::Map { key, value, .. } => map([key.as_ref(), value.as_ref()], mapping.map),
    }
}

fn text(storage: Storage) -> DataType {
    match storage {
        Storage::Shared => DataType::Utf8View,
        Storage::Owned => DataType::Utf8,
        Storage::OwnedLarge => DataType::LargeUtf8,
    }
}

/// The type of text that no record holds.
fn made_text(mapping: &Mapping) -> DataType {
    match mapping.string_type {
        StringType::Utf8View => DataType::Utf8View,
        StringType::Utf8 => DataType::Utf8,
        StringType::LargeUtf8 => DataType::LargeUtf8,
    }
}

fn enum_names() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

fn map(parts: [&Node; 2], form: MapForm) -> DataType {
    let entry = struct_type(parts);
    match form {
        MapForm::Map => DataType::Map(Arc::new(ArrowField::new("entries", entry, false)), false),
        MapForm::List => DataType::List(Arc::new(ArrowField::new("item", entry, true))),
    }
}

fn message(shape: Shape, fields: &[Node], mapping: &Mapping) -> DataType {
    match (shape, fields) {
        (Shape::Present, _) => DataType::Boolean,
        (Shape::Only, [only]) => only.field.data_type().clone(),
        (Shape::Struct | Shape::Only, _) => struct_type(fields),
        (Shape::Timestamp, _) => {
            let unit = match mapping.timestamp {
                TimestampForm::Microseconds | TimestampForm::Struct => TimeUnit::Microsecond,
                TimestampForm::Nanoseconds => TimeUnit::Nanosecond,
                TimestampForm::Milliseconds => TimeUnit::Millisecond,
                TimestampForm::Seconds => TimeUnit::Second,
            };
            DataType::Timestamp(unit, Some("UTC".into()))
        }
        (Shape::Duration, _) => match mapping.duration {
            DurationForm::Microseconds | DurationForm::Struct => DataType::Duration(TimeUnit::Microsecond),
            DurationForm::Nanoseconds => DataType::Duration(TimeUnit::Nanosecond),
            DurationForm::Int64 => DataType::Int64,
        },
        (Shape::Date, _) => DataType::Date32,
        (Shape::TimeOfDay, _) => DataType::Time64(match mapping.time_of_day {
            TimeOfDayForm::Microseconds => TimeUnit::Microsecond,
            TimeOfDayForm::Nanoseconds => TimeUnit::Nanosecond,
        }),
    }
}

fn struct_type<'a>(fields: impl IntoIterator<Item = &'a Node>) -> DataType {
    let shown = fields.into_iter().filter(|node| node.shown);
    DataType::Struct(shown.map(|node| Arc::clone(&node.field)).collect())
}

fn number(kind: Kind, unsigned: Unsigned) -> DataType {
    match kind {
        Kind::Double => DataType::Float64,
        Kind::Float => DataType::Float32,
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => DataType::Int64,
        Kind::Uint32 | Kind::Fixed32 => match unsigned {
            Unsigned::Native => DataType::UInt32,
            Unsigned::Widen => DataType::Int64,
        },
        Kind::Uint64 | Kind::Fixed64 => match unsigned {
            Unsigned::Native => DataType::UInt64,
            Unsigned::Widen => DataType::Decimal128(20, 0),
        },
        Kind::Bool => DataType::Boolean,
        _ => DataType::Int32,
    }
}

/// The keyword of a kind in .proto text.
pub(crate) fn keyword(kind: Kind) -> &'static str {
    match kind {
        Kind::Double => "double",
        Kind::Float => "float",
        Kind::Int32 => "int32",
        Kind::Int64 => "int64",
        Kind::Uint32 => "uint32",
        Kind::Uint64 => "uint64",
        Kind::Sint32 => "sint32",
        Kind::Sint64 => "sint64",
        Kind::Fixed32 => "fixed32",
        Kind::Fixed64 => "fixed64",
        Kind::Sfixed32 => "sfixed32",
        Kind::Sfixed64 => "sfixed64",
        Kind::Bool => "bool",
        Kind::String => "string",
        Kind::Bytes => "bytes",
        Kind::Enum(_) => "enum",
        Kind::Message(_) => "message",
        Kind::Group(_) => "group",
    }
}
