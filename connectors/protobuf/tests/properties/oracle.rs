//! Rows as another implementation of protobuf reads them.

use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, MapKey, MessageDescriptor, ReflectMessage,
    Value as Dynamic,
};
use serde_json::{Value, json};

use crate::support::{base64, compile};

/// The message type `M` of a .proto text.
pub struct Oracle(MessageDescriptor);

impl Oracle {
    /// Reads the text.
    pub fn new(source: &str) -> Self {
        let pool = DescriptorPool::from_file_descriptor_set(compile(source)).expect("a pool");
        Self(pool.get_message_by_name("M").expect("M"))
    }

    /// The row of a record.
    pub fn row(&self, record: &[u8]) -> Value {
        message(&DynamicMessage::decode(self.0.clone(), record).expect("valid"))
    }
}

fn message(dynamic: &DynamicMessage) -> Value {
    let fields = dynamic.descriptor();
    fields.fields().map(|field| (field.name().to_string(), field_value(dynamic, &field))).collect()
}

fn field_value(dynamic: &DynamicMessage, field: &FieldDescriptor) -> Value {
    if field.supports_presence() && !dynamic.has_field(field) {
        return Value::Null;
    }
    value(field, &dynamic.get_field(field))
}

fn value(field: &FieldDescriptor, dynamic: &Dynamic) -> Value {
    match dynamic {
        Dynamic::Bool(value) => json!(value),
        Dynamic::I32(value) => json!(value),
        Dynamic::I64(value) => json!(value),
        Dynamic::U32(value) => json!(value),
        Dynamic::U64(value) => json!(value),
        Dynamic::F32(value) => float(f64::from(*value)),
        Dynamic::F64(value) => float(*value),
        Dynamic::String(value) => json!(value),
        Dynamic::Bytes(value) => json!(base64(value)),
        Dynamic::EnumNumber(number) => enum_name(field, *number),
        Dynamic::Message(value) => message(value),
        Dynamic::List(items) => items.iter().map(|item| value(field, item)).collect(),
        Dynamic::Map(entries) => {
            let kind = field.kind();
            let entry = kind.as_message().expect("an entry");
            let part = entry.map_entry_value_field();
            entries
                .iter()
                .map(|(key, dynamic)| json!({"key": map_key(key), "value": value(&part, dynamic)}))
                .collect()
        }
    }
}

fn map_key(key: &MapKey) -> Value {
    match key {
        MapKey::I32(key) => json!(key),
        other => json!(format!("{other:?}")),
    }
}

fn enum_name(field: &FieldDescriptor, number: i32) -> Value {
    let kind = field.kind();
    let known = kind.as_enum().and_then(|enumeration| enumeration.get_value(number));
    known.map_or(json!(number.to_string()), |known| json!(known.name()))
}

fn float(value: f64) -> Value {
    match value {
        value if value.is_nan() => json!("NaN"),
        f64::INFINITY => json!("Infinity"),
        f64::NEG_INFINITY => json!("-Infinity"),
        value => json!(value),
    }
}
