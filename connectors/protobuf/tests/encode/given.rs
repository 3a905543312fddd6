//! Columns as records of a given message type (section 8.4 of the mapping).

use std::sync::Arc;

use arrow::array::*;
use arrow::datatypes::{DataType, Field, Int32Type};
use recordfusion_protobuf::{EncodeCounts, Target};

use super::{batch, encode, message};
use crate::support::hex;

fn ints(values: &[Option<i32>]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

fn longs(values: &[Option<i64>]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn texts(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn list(values: Vec<Option<Vec<Option<i32>>>>) -> ArrayRef {
    Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(values))
}

fn structs(name: &str, child: ArrayRef) -> ArrayRef {
    let field = Arc::new(Field::new(name, child.data_type().clone(), true));
    Arc::new(StructArray::from(vec![(field, child)]))
}

/// The fields of `M`, one column, and the records of its rows in hexadecimal digits.
type Case = (&'static str, &'static str, ArrayRef, &'static [&'static str]);

#[test]
fn values_are_written_as_the_field_says() {
    let decimal =
        Decimal128Array::from(vec![u64::MAX as i128]).with_precision_and_scale(20, 0).expect("fits");
    let price = Decimal128Array::from(vec![-150]).with_precision_and_scale(9, 2).expect("fits");
    let cases: Vec<Case> = vec![
        ("int32 x = 1;", "x", ints(&[Some(0), Some(-1)]), &["", "08 ffffffffffffffffff01"]),
        ("sint32 x = 1;", "x", ints(&[Some(-1), Some(i32::MIN)]), &["08 01", "08 ffffffff0f"]),
        ("sint64 x = 1;", "x", ints(&[Some(-1)]), &["08 01"]),
        ("optional int32 x = 1;", "x", ints(&[Some(0), None]), &["08 00", ""]),
        ("fixed32 x = 1;", "x", longs(&[Some(1)]), &["0d 01000000"]),
        ("sfixed64 x = 16;", "x", ints(&[Some(-2)]), &["8101 feffffffffffffff"]),
        ("uint64 x = 1;", "x", Arc::new(decimal), &["08 ffffffffffffffffff01"]),
        ("string x = 1;", "x", Arc::new(price), &["0a 05 2d312e3530"]),
        ("double x = 1;", "x", Arc::new(Float64Array::from(vec![0.0, -0.0])), &["", "09 0000000000000080"]),
        ("float x = 1;", "x", Arc::new(Float64Array::from(vec![0.5])), &["0d 0000003f"]),
        ("double x = 1;", "x", longs(&[Some(1 << 60)]), &["09 000000000000b043"]),
        ("bool x = 1;", "x", Arc::new(BooleanArray::from(vec![true, false])), &["08 01", ""]),
        ("bytes x = 1;", "x", texts(&[Some("é"), Some("")]), &["0a 02 c3a9", ""]),
        ("E x = 1;", "x", texts(&[Some("B"), Some("7"), Some("A")]), &["08 01", "08 07", ""]),
        ("E x = 1;", "x", longs(&[Some(-1)]), &["08 ffffffffffffffffff01"]),
        (
            "repeated int32 x = 1;",
            "x",
            list(vec![Some(vec![Some(1), Some(0)]), Some(vec![]), None]),
            &["0a 02 01 00", "", ""],
        ),
        (
            "repeated int32 x = 1 [packed = false];",
            "x",
            list(vec![Some(vec![Some(1), Some(0)])]),
            &["08 01 08 00"],
        ),
        ("Sub x = 3;", "x", structs("a", ints(&[Some(5), Some(0)])), &["1a 02 08 05", "1a 00"]),
        ("Sub x = 3;", "x", Arc::new(BinaryArray::from(vec![b"\x08\x05".as_slice()])), &["1a 02 08 05"]),
        ("Nothing x = 1;", "x", Arc::new(BooleanArray::from(vec![Some(true), None])), &["0a 00", ""]),
        (
            "google.protobuf.Int64Value x = 1;",
            "x",
            ints(&[Some(0), Some(2), None]),
            &["0a 00", "0a 02 08 02", ""],
        ),
        (
            "google.protobuf.Timestamp x = 1;",
            "x",
            Arc::new(TimestampMillisecondArray::from(vec![-1, 0])),
            &["0a 11 08 ffffffffffffffffff01 10 c08faedc03", "0a 00"],
        ),
        (
            "google.protobuf.Duration x = 1;",
            "x",
            Arc::new(DurationMillisecondArray::from(vec![-1500])),
            &["0a 16 08 ffffffffffffffffff01 10 80b6ca91feffffffff01"],
        ),
        (
            "google.type.Date x = 1;",
            "x",
            Arc::new(Date32Array::from(vec![0])),
            &["0a 07 08 b20f 10 01 18 01"],
        ),
        (
            "google.type.TimeOfDay x = 1;",
            "x",
            Arc::new(Time32SecondArray::from(vec![3661])),
            &["0a 06 08 01 10 01 18 01"],
        ),
        (
            "google.protobuf.Struct x = 1;",
            "x",
            texts(&[Some("{\"k\":true}")]),
            &["0a 09 0a 07 0a 01 6b 12 02 20 01"],
        ),
        (
            "google.protobuf.FieldMask x = 1;",
            "x",
            Arc::new({
                let mut paths = ListBuilder::new(StringBuilder::new());
                paths.append_value([Some("a")]);
                paths.finish()
            }),
            &["0a 03 0a 01 61"],
        ),
        ("int32 fooBar = 1;", "foobar", ints(&[Some(1)]), &["08 01"]),
        ("int32 foo_bar = 1;", "fooBar", ints(&[Some(1)]), &["08 01"]),
        ("int32 x = 1;", "x", Arc::new(NullArray::new(0)), &[]),
    ];
    for (fields, name, column, expected) in cases {
        let expected: Vec<_> = expected.iter().map(|record| hex(record)).collect();
        let given = batch(vec![(name, column)]);
        let (records, _) = encode(&given, Target::Given(message(&source(fields))), &[]).expect(fields);
        assert_eq!(records, expected, "{fields}");
    }
}

fn source(fields: &str) -> String {
    format!(
        "syntax = 'proto3';
         import 'google/protobuf/timestamp.proto'; import 'google/protobuf/duration.proto';
         import 'google/protobuf/wrappers.proto'; import 'google/protobuf/struct.proto';
         import 'google/protobuf/field_mask.proto';
         import 'google/type/date.proto'; import 'google/type/timeofday.proto';
         enum E {{ A = 0; B = 1; }} message Sub {{ int32 a = 1; }} message Nothing {{}} message M {{ {fields} }}"
    )
}

#[test]
fn fields_stand_by_number_and_unknown_ones_last() {
    let source = "syntax = 'proto3'; message M { int32 b = 2; int32 a = 1; repeated int32 l = 3; }";
    let given = batch(vec![
        ("b", ints(&[Some(2)])),
        ("_unknown", Arc::new(BinaryArray::from(vec![b"\x78\x01".as_slice()]))),
        ("l", list(vec![Some(vec![Some(3)])])),
        ("a", ints(&[Some(1)])),
    ]);
    let (records, _) = encode(&given, Target::Given(message(source)), &[]).expect("records");
    assert_eq!(records, [hex("08 01 10 02 1a 01 03 78 01")]);
}

#[test]
fn whole_records_are_written_unchanged() {
    let records: [&[u8]; 3] = [b"\x08\x01", b"", b"no message"];
    let given = batch(vec![("_record", Arc::new(BinaryViewArray::from(records.to_vec())))]);
    for target in
        [Target::Derived("t.Row"), Target::Given(message("syntax = 'proto3'; message M { int32 x = 1; }"))]
    {
        assert_eq!(encode(&given, target, &[]).expect("records").0, records);
    }
}

#[test]
fn groups_and_required_fields() {
    let source = "syntax = 'proto2'; message M {
        required int32 r = 1; optional group G = 2 { optional int32 a = 1; } repeated group H = 3 { optional int32 b = 1; }
        optional bytes x = 4; repeated sint32 l = 5; extensions 100; }
        extend M { optional int32 e = 100; }";
    let item = structs("b", ints(&[Some(1), Some(2)]));
    let item_field = Arc::new(Field::new_list_field(item.data_type().clone(), true));
    let groups = ListArray::new(item_field, arrow::buffer::OffsetBuffer::from_lengths([2]), item, None);
    let given = batch(vec![
        ("r", ints(&[Some(0)])),
        ("g", structs("a", ints(&[Some(7)]))),
        ("h", Arc::new(groups)),
        ("l", list(vec![Some(vec![Some(-1), Some(1)])])),
        ("[e]", ints(&[Some(9)])),
    ]);
    let (records, _) = encode(&given, Target::Given(message(source)), &[]).expect("records");
    assert_eq!(records, [hex("08 00 13 08 07 14 1b 08 01 1c 1b 08 02 1c 28 01 28 02 a006 09")]);
}

#[test]
fn what_is_lost_is_counted() {
    let source = "syntax = 'proto3'; message M { int32 x = 1; repeated int32 l = 2; repeated int32 n = 3; }";
    let given = batch(vec![
        ("x", ints(&[None, Some(1)])),
        ("l", list(vec![Some(vec![None, Some(1), None]), Some(vec![None])])),
        ("n", list(vec![None, Some(vec![])])),
    ]);
    let options = [("null_to_default", "true"), ("null_items", "drop")];
    let (records, encoder) = encode(&given, Target::Given(message(source)), &options).expect("records");
    assert_eq!(records, [hex("12 01 01"), hex("08 01")]);
    assert_eq!(encoder.counts(), EncodeCounts { null_lists: 1, null_items: 3, null_values: 1 });
}

#[test]
fn extra_columns_may_be_left_out() {
    let source = "syntax = 'proto3'; message M { int32 x = 1; }";
    let given = batch(vec![("y", ints(&[Some(5)])), ("x", ints(&[Some(1)]))]);
    let (records, _) =
        encode(&given, Target::Given(message(source)), &[("extra_columns", "ignore")]).expect("records");
    assert_eq!(records, [hex("08 01")]);
}

#[test]
fn maps_from_maps_and_from_lists_of_entries() {
    let source = "syntax = 'proto3'; message M { map<string, int32> m = 1; }";
    let mut maps = MapBuilder::new(None, StringViewBuilder::new(), Int64Builder::new());
    maps.keys().append_value("k");
    maps.values().append_value(0);
    maps.append(true).expect("an entry");
    let map = maps.finish();
    let entries: ArrayRef = Arc::new(map.entries().clone());
    let item = Arc::new(Field::new_list_field(entries.data_type().clone(), true));
    let listed = ListArray::new(item, map.offsets().clone(), entries, None);
    for column in [Arc::new(map) as ArrayRef, Arc::new(listed)] {
        let given = batch(vec![("m", column)]);
        let (records, _) = encode(&given, Target::Given(message(source)), &[]).expect("records");
        assert_eq!(records, [hex("0a 05 0a 01 6b 10 00")]);
    }
}

#[test]
fn one_of_a_oneof_is_written() {
    let source = "syntax = 'proto3'; message M { oneof o { int32 a = 1; string b = 2; } }";
    let given = batch(vec![("a", ints(&[Some(0), None, None])), ("b", texts(&[None, Some(""), None]))]);
    let (records, _) = encode(&given, Target::Given(message(source)), &[]).expect("records");
    assert_eq!(records, [hex("08 00"), hex("12 00"), vec![]]);
    assert_eq!(given.schema().field(0).data_type(), &DataType::Int32);
}
