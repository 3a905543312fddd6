//! The message types that columns get (section 8.2 of the mapping), and hints that do not fit them.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array};
use arrow::datatypes::{DataType, Field, Fields, Schema, TimeUnit};
use recordfusion_protobuf::{apply_hint, derive, schema_hint};

use super::{batch, reread, write_options};

fn text(fields: Vec<Field>, options: &[(&str, &str)]) -> String {
    let derived = derive(&Schema::new(fields), &write_options(options), "riegeli.Row").expect("a type");
    derived.record.proto_text()
}

fn item(data_type: DataType) -> Arc<Field> {
    Arc::new(Field::new_list_field(data_type, true))
}

fn map(key: DataType, value: DataType) -> DataType {
    let entries = Fields::from(vec![Field::new("key", key, false), Field::new("value", value, true)]);
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false)
}

#[test]
fn types_become_types() {
    use DataType::*;
    let ints = || List(item(Int32));
    let cases: Vec<(DataType, &[&str])> = vec![
        (Boolean, &["optional bool x = 1;"]),
        (Int8, &["optional int32 x = 1;"]),
        (UInt16, &["optional uint32 x = 1;"]),
        (UInt64, &["optional uint64 x = 1;"]),
        (Float16, &["optional float x = 1;"]),
        (Float64, &["optional double x = 1;"]),
        (LargeUtf8, &["optional string x = 1;"]),
        (FixedSizeBinary(16), &["optional bytes x = 1;"]),
        (Dictionary(Box::new(Int8), Box::new(Int64)), &["optional int64 x = 1;"]),
        (Decimal256(40, 2), &["optional string x = 1;"]),
        (Date64, &["import \"google/type/date.proto\";", "google.type.Date x = 1;"]),
        (Time32(TimeUnit::Second), &["google.type.TimeOfDay x = 1;"]),
        (Timestamp(TimeUnit::Second, None), &["google.protobuf.Timestamp x = 1;"]),
        (Duration(TimeUnit::Second), &["google.protobuf.Duration x = 1;"]),
        (Null, &["google.protobuf.Empty x = 1;"]),
        (Struct(Fields::empty()), &["google.protobuf.Empty x = 1;"]),
        (ints(), &["repeated int32 x = 1;"]),
        (List(item(ints())), &["repeated X x = 1;", "message X {", "repeated int32 item = 1;"]),
        (map(Utf8, Int32), &["map<string, int32> x = 1;"]),
        (map(Int16, ints()), &["map<int32, X> x = 1;", "repeated int32 item = 1;"]),
        (map(Float32, Int32), &["repeated X x = 1;", "optional int32 value = 2;"]),
        (map(Utf8, List(item(ints()))), &["repeated X x = 1;", "repeated Value value = 2;"]),
        (Struct(vec![Field::new("y", Int32, false)].into()), &["X x = 1;", "int32 y = 1;"]),
    ];
    for (data_type, expected) in cases {
        let found = text(vec![Field::new("x", data_type, true)], &[]);
        for line in expected {
            assert!(found.contains(line), "{line} in {found}");
        }
    }
    let found = text(vec![Field::new("x", ints(), true)], &[("null_items", "wrap"), ("null_list", "wrap")]);
    let found = found.lines().map(str::trim).collect::<String>();
    let expected =
        "message Row {message X {message Item {optional int32 value = 1;}repeated Item item = 1;}X x = 1;}";
    assert!(found.ends_with(expected), "{found}");
}

/// Names of fields, types, and values of enums share the scope of a message.
#[test]
fn names_in_a_message_differ() {
    let coded = |name: &str, values: &str| {
        let metadata = [("proto.type", "enum"), ("proto.enum", "a.Level"), ("proto.enum_values", values)];
        let metadata = metadata.map(|(key, value)| (key.to_string(), value.to_string())).into();
        Field::new(name, DataType::Utf8, true).with_metadata(metadata)
    };
    let child = DataType::Struct(vec![Field::new("x", DataType::Int32, true)].into());
    let fields = vec![
        Field::new("Sub", DataType::Int32, true),
        Field::new("sub_", child, true),
        coded("first", "LOW=0,HIGH=1"),
        coded("same", "LOW=0,HIGH=1"),
        coded("other", "LOW=0,TOP=2"),
        coded("broken", "LOW"),
    ];
    let schema = Schema::new(fields.clone());
    let derived = derive(&schema, &write_options(&[]), "riegeli.Row").expect("a type");
    let mut pool = prost_reflect::DescriptorPool::new();
    for file in &derived.descriptors {
        pool.decode_file_descriptor_proto(file.clone()).expect("another implementation takes it");
    }
    let found = text(fields, &[]);
    for line in [
        "optional Level first = 3;",
        "optional Level same = 4;",
        "optional Level_2Scope.Level_2 other = 5;",
        "optional string broken = 6;",
    ] {
        assert!(found.contains(line), "{line} in {found}");
    }
}

#[test]
fn hints_that_do_not_fit_are_not_used() {
    let column = || Arc::new(Int32Array::from(vec![1])) as ArrayRef;
    let given = batch(vec![("a", column()), ("b", column())]);
    let decoded = reread(&given, &[]).schema();
    let hint = |names: &[&str], data_type: DataType| {
        let fields: Vec<_> = names.iter().map(|name| Field::new(*name, data_type.clone(), true)).collect();
        schema_hint(&Schema::new(fields))
    };
    assert!(apply_hint(&decoded, &hint(&["a", "b"], DataType::Int8)).is_some());
    for (names, data_type) in [
        (&["a", "c"][..], DataType::Int32),
        (&["a"], DataType::Int32),
        (&["b", "a"], DataType::Int32),
        (&["a", "b"], DataType::Utf8),
        (&["a", "b"], DataType::List(item(DataType::Int32))),
    ] {
        assert!(apply_hint(&decoded, &hint(names, data_type.clone())).is_none(), "{names:?} {data_type}");
    }
}

#[test]
fn broken_hints_do_no_harm() {
    let given = batch(vec![("a", Arc::new(Int32Array::from(vec![1])) as ArrayRef)]);
    let decoded = reread(&given, &[]).schema();
    let fields = vec![
        Field::new("a", DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)), true),
        Field::new("b", DataType::Decimal128(20, 3), true),
        Field::new("c", map(DataType::Int64, DataType::Timestamp(TimeUnit::Second, None)), true),
        Field::new("d", DataType::Time32(TimeUnit::Second), true),
        Field::new("e", DataType::FixedSizeList(item(DataType::Float64), 3), true),
    ];
    let hint = schema_hint(&Schema::new(fields));
    for end in 0..hint.len() {
        assert!(apply_hint(&decoded, &hint[..end]).is_none());
    }
    for at in 0..hint.len() {
        for bit in 0..8 {
            let mut flipped = hint.clone();
            flipped[at] ^= 1 << bit;
            let _ = apply_hint(&decoded, &flipped);
        }
    }
}
