//! Arrow types and fields of columns (sections 1 to 5 of the mapping).

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field as ArrowField, FieldRef, Fields, Schema, SchemaRef, TimeUnit};

use crate::column_tree::{Form, Node, Shape, Storage};
use crate::descriptor::{Cardinality, Descriptors, Field, Kind};

/// Metadata key of the field number; Parquet writers keep it.
const FIELD_ID: &str = "PARQUET:field_id";
/// Metadata key of the protobuf type: a scalar's keyword, `enum`, `message`, `group` or `map`.
const PROTO_TYPE: &str = "proto.type";
/// Metadata key of a message type's full name.
const PROTO_MESSAGE: &str = "proto.message";
/// Metadata key of an enum type's full name.
const PROTO_ENUM: &str = "proto.enum";

/// The schema of a table of these columns.
pub(crate) fn schema(columns: &[Node]) -> SchemaRef {
    Arc::new(Schema::new(columns.iter().map(|column| Arc::clone(&column.field)).collect::<Fields>()))
}

/// The Arrow field of a protobuf field: nullable, with number and protobuf type as metadata.
pub(crate) fn field(descriptors: &Descriptors, field: &Field, data_type: DataType) -> FieldRef {
    let mut metadata = HashMap::from([(FIELD_ID.to_string(), field.number.to_string())]);
    let mut set = |key: &str, value: &str| metadata.insert(key.to_string(), value.to_string());
    set(PROTO_TYPE, keyword(field.kind));
    match field.kind {
        Kind::Enum(id) => {
            set(PROTO_ENUM, &descriptors.enumeration(id).full_name);
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
    Arc::new(ArrowField::new(&field.name, data_type, true).with_metadata(metadata))
}

fn is_map(descriptors: &Descriptors, field: &Field) -> bool {
    let entry = |id| descriptors.message(id).map_entry;
    field.cardinality == Cardinality::Repeated && matches!(field.kind, Kind::Message(id) if entry(id))
}

/// The item of a list: the list itself carries the metadata.
pub(crate) fn item(value: &ArrowField) -> FieldRef {
    Arc::new(ArrowField::new("item", value.data_type().clone(), true))
}

/// The key of a map: not NULL, and of a type that `map[key]` works with in SQL.
pub(crate) fn map_key(key: &ArrowField) -> FieldRef {
    let data_type = match key.data_type() {
        DataType::Int32 | DataType::UInt32 => DataType::Int64,
        other => other.clone(),
    };
    Arc::new(key.clone().with_data_type(data_type).with_nullable(false))
}

/// The Arrow type of a form.
pub(crate) fn data_type(form: &Form) -> DataType {
    match form {
        Form::Number(kind) => number(*kind),
        Form::Text { storage: Storage::Shared, .. } | Form::Serialized { json: Some(_), .. } => {
            DataType::Utf8View
        }
        Form::Text { storage: Storage::Owned, .. } => DataType::Utf8,
        Form::Bytes(Storage::Shared) => DataType::BinaryView,
        Form::Bytes(Storage::Owned) | Form::Serialized { json: None, .. } => DataType::Binary,
        Form::Enum { .. } => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        Form::Message { shape, fields, .. } => message(*shape, fields),
        Form::List(item) => DataType::List(Arc::clone(&item.field)),
        Form::Map { key, value, .. } => {
            let entry = struct_type([key.as_ref(), value.as_ref()]);
            DataType::Map(Arc::new(ArrowField::new("entries", entry, false)), false)
        }
    }
}

fn message(shape: Shape, fields: &[Node]) -> DataType {
    match (shape, fields) {
        (Shape::Present, _) => DataType::Boolean,
        (Shape::Only, [only]) => only.field.data_type().clone(),
        (Shape::Struct | Shape::Only, _) => struct_type(fields),
        (Shape::Timestamp, _) => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        (Shape::Duration, _) => DataType::Duration(TimeUnit::Microsecond),
        (Shape::Date, _) => DataType::Date32,
        (Shape::TimeOfDay, _) => DataType::Time64(TimeUnit::Microsecond),
    }
}

fn struct_type<'a>(fields: impl IntoIterator<Item = &'a Node>) -> DataType {
    DataType::Struct(fields.into_iter().map(|node| Arc::clone(&node.field)).collect())
}

fn number(kind: Kind) -> DataType {
    match kind {
        Kind::Double => DataType::Float64,
        Kind::Float => DataType::Float32,
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => DataType::Int64,
        Kind::Uint32 | Kind::Fixed32 => DataType::UInt32,
        Kind::Uint64 | Kind::Fixed64 => DataType::UInt64,
        Kind::Bool => DataType::Boolean,
        _ => DataType::Int32,
    }
}

fn keyword(kind: Kind) -> &'static str {
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
