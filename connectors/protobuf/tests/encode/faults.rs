//! What cannot be written, in words.

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field, Fields, Int32Type, Schema, UnionFields};
use recordfusion_core::Error;
use recordfusion_protobuf::{EncodedRecords, RecordEncoder, Target, derive};

use super::{batch, encode, message, write_options};

fn source(fields: &str) -> String {
    format!(
        "syntax = 'proto3';
         import 'google/protobuf/timestamp.proto'; import 'google/protobuf/duration.proto';
         import 'google/protobuf/struct.proto'; import 'google/type/date.proto';
         enum Level {{ DEBUG = 0; ERROR = 1; }} message Sub {{ int32 a = 1; }} message Nothing {{}}
         message M {{ {fields} }}"
    )
}

fn ints(values: &[Option<i32>]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn list(values: Vec<Option<Vec<Option<i32>>>>) -> ArrayRef {
    Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(values))
}

fn structs(name: &str, child: ArrayRef) -> ArrayRef {
    Arc::new(StructArray::from(vec![(Arc::new(Field::new(name, child.data_type().clone(), true)), child)]))
}

fn text_map() -> ArrayRef {
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    maps.keys().append_value("k");
    maps.values().append_null();
    maps.append(true).expect("an entry");
    Arc::new(maps.finish())
}

fn fault(source: &str, columns: Vec<(&str, ArrayRef)>, options: &[(&str, &str)]) -> String {
    encode(&batch(columns), Target::Given(message(source)), options).expect_err(source).to_string()
}

#[test]
fn values_that_cannot_be_written_name_column_row_and_reason() {
    let long: ArrayRef = Arc::new(Int64Array::from(vec![1, 1 << 31, -1 << 31]));
    let exact = "is not exactly a value of";
    let cases: Vec<(&str, ArrayRef, String)> = vec![
        ("int32 x = 1;", Arc::clone(&long), format!("row 1: 2147483648 {exact} int32")),
        ("fixed32 x = 1;", long, format!("row 2: -2147483648 {exact} fixed32")),
        ("int64 x = 1;", Arc::new(UInt64Array::from(vec![u64::MAX])), format!("row 0: 18446744073709551615 {exact} int64")),
        ("float x = 1;", Arc::new(Float64Array::from(vec![f64::NAN, 0.1])), format!("row 1: 0.1 {exact} float; a cast in SQL rounds it")),
        ("double x = 1;", Arc::new(Int64Array::from(vec![(1 << 53) + 1])), format!("row 0: 9007199254740993 {exact} double")),
        ("Level x = 1;", texts(&["ERROR", "EROR"]), "row 1: 'EROR' is no value of the enum Level; did you mean 'ERROR'?".into()),
        ("Level x = 1;", texts(&["01"]), "row 0: '01' is no value of the enum Level".into()),
        ("int32 x = 1;", ints(&[Some(1), None]), "row 1: it is NULL, but field 'x' has no presence (the option null_to_default = true writes the default)".into()),
        ("repeated int32 x = 1;", list(vec![Some(vec![Some(1), None])]), "[1]', row 0: an item of the list is NULL, which a message cannot say (the option null_items = drop leaves such out)".into()),
        ("map<string, int32> x = 1;", text_map(), "[0]', row 0: a value of the map is NULL, which a message cannot say (the option null_items = drop leaves such out)".into()),
        ("google.protobuf.Timestamp x = 1;", Arc::new(TimestampSecondArray::from(vec![0, 253_402_300_800])), "row 1: +10000-01-01T00:00:00 is not a time of the years 1 to 9999".into()),
        ("google.protobuf.Duration x = 1;", Arc::new(DurationSecondArray::from(vec![315_576_000_001])), "is more than 10,000 years".into()),
        ("google.type.Date x = 1;", Arc::new(Date64Array::from(vec![1])), "is not a day of the years 1 to 9999".into()),
        ("google.protobuf.Struct x = 1;", texts(&["{}", "[1]"]), "row 1: the JSON text is not an object".into()),
        ("Nothing x = 1;", Arc::new(BooleanArray::from(vec![false])), "row 0: it is false, but a message without fields is there (true) or not (NULL)".into()),
        ("Sub x = 1;", Arc::new(BinaryArray::from(vec![b"\x08".as_slice()])), "row 0: the bytes are not a serialized message".into()),
        ("Sub x = 1;", structs("a", ints(&[None])), "column 'x.a', row 0: it is NULL, but field 'a' has no presence (the option null_to_default = true writes the default)".into()),
    ];
    for (fields, column, expected) in cases {
        let error = fault(&source(fields), vec![("x", column)], &[]);
        assert!(error.starts_with("column 'x") && error.ends_with(&expected), "{error}, not {expected}");
    }
    let error =
        fault(&source("repeated int32 x = 1;"), vec![("x", list(vec![None]))], &[("null_list", "error")]);
    assert!(error.starts_with("column 'x', row 0: the list is NULL"), "{error}");
    let records = Arc::new(BinaryArray::from(vec![Some(b"".as_slice()), None])) as ArrayRef;
    let error = fault(&source(""), vec![("_record", records)], &[]);
    assert_eq!(error, "column '_record', row 1: it is NULL, and a record cannot be");
}

#[test]
fn two_members_of_a_oneof() {
    let source = "syntax = 'proto3'; message M { oneof o { int32 a = 1; int32 b = 2; int32 c = 3; } }";
    let columns =
        vec![("a", ints(&[None, None])), ("b", ints(&[None, Some(0)])), ("c", ints(&[Some(1), Some(2)]))];
    let expected = "column 'c', row 1: it is set, and so is 'b', but only one member of the oneof 'o' can be";
    assert_eq!(fault(source, columns, &[]), expected);
}

#[test]
fn closed_enums_and_required_fields() {
    let source = "syntax = 'proto2'; enum E { A = 1; } message M { optional E e = 1; required int32 r = 2; }";
    let required = ("r", ints(&[Some(1)]));
    for (column, expected) in [(texts(&["5"]), "'5'"), (ints(&[Some(0)]), "'0'")] {
        let error = fault(source, vec![("e", column), required.clone()], &[]);
        assert_eq!(error, format!("column 'e', row 0: {expected} is no value of the enum E"));
    }
    let error = fault(source, vec![("r", ints(&[None]))], &[]);
    assert_eq!(error, "column 'r', row 0: it is NULL, but field 'r' is required");
    assert_eq!(
        fault(source, vec![("e", texts(&["A"]))], &[]),
        "message type M requires 'r', which no column fills"
    );
}

#[test]
fn columns_that_fit_no_field_are_all_named() {
    let source = source("int32 level = 1; string name = 2; Sub sub = 3;");
    let one = || ints(&[Some(1)]);
    let cases: Vec<(Vec<(&str, ArrayRef)>, &str)> = vec![
        (
            vec![("levl", one()), ("level", one()), ("qqq", one())],
            "message type M has no field for the columns 'levl' (nearest: 'level'), 'qqq'; the option extra_columns = \
             ignore leaves columns out",
        ),
        (
            vec![("sub", structs("b", one()))],
            "message type Sub has no field for the column 'sub.b'; the option extra_columns = ignore leaves columns out",
        ),
        (
            vec![("level", one()), ("LEVEL", one())],
            "the columns 'level' and 'LEVEL' are both for the field 'level'",
        ),
        (
            vec![("name", one())],
            "column 'name' of type Int32 does not fit field 'name' of type string; cast it in SQL",
        ),
        (
            vec![("level", list(vec![]))],
            "column 'level' of type List(Int32) does not fit field 'level' of type int32; cast it in SQL",
        ),
        (
            vec![("sub", one())],
            "column 'sub' of type Int32 does not fit field 'sub' of type Sub; cast it in SQL",
        ),
        (
            vec![("sub", structs("a", texts(&["1"])))],
            "column 'sub.a' of type Utf8 does not fit field 'a' of type int32; cast it in SQL",
        ),
    ];
    for (columns, expected) in cases {
        assert_eq!(fault(&source, columns, &[]), expected);
    }
}

#[test]
fn types_that_no_message_holds() {
    let interval = DataType::Interval(arrow::datatypes::IntervalUnit::DayTime);
    let union = DataType::Union(UnionFields::empty(), arrow::datatypes::UnionMode::Dense);
    let inside = |data_type| DataType::Struct(Fields::from(vec![Field::new("i", data_type, true)]));
    let deep = (0..101).fold(DataType::Int32, |inner, _| inside(inner));
    let no_interval = "is an Interval, which no message holds; cast it to text or to a Duration";
    let cases = [
        (interval.clone(), format!("column 'x' {no_interval}")),
        (inside(interval), format!("column 'x.i' {no_interval}")),
        (union, "column 'x' is a Union, which no message holds; select its members one by one".to_string()),
    ];
    let refused = |data_type| {
        let schema = Schema::new(vec![Field::new("x", data_type, true)]);
        derive(&schema, &write_options(&[]), "t.Row").expect_err("no type").to_string()
    };
    for (data_type, expected) in cases {
        assert_eq!(refused(data_type), expected);
    }
    assert!(refused(deep).ends_with("is nested more than 100 deep"));
    let twice =
        Schema::new(vec![Field::new("x", DataType::Int32, true), Field::new("x", DataType::Utf8, true)]);
    let error = derive(&twice, &write_options(&[]), "t.Row").expect_err("no type");
    assert_eq!(error.to_string(), "two columns are called 'x'; give them aliases");
}

#[test]
fn names_of_message_types() {
    for (name, expected) in [
        ("a..B", "option 'message': 'a..B' is not the full name of a message type, such as 'logs.Row'"),
        ("google.X", "option 'message': 'google.X' is a name of protobuf's own"),
    ] {
        let error =
            derive(&Schema::empty(), &write_options(&[("message", name)]), "t.Row").expect_err("no name");
        assert_eq!(error.to_string(), expected);
    }
    let named = derive(&Schema::empty(), &write_options(&[("message", "Row")]), "t.Row").expect("a name");
    assert_eq!(named.record.proto_text(), "syntax = \"proto3\";\n\nmessage Row {\n}\n");
}

#[test]
fn rows_are_counted_over_batches_and_a_fault_leaves_no_records() {
    let good = batch(vec![("x", ints(&[Some(1), Some(2)]))]);
    let bad = batch(vec![("x", ints(&[Some(1), None, Some(2), None]))]);
    let target = Target::Given(message(&source("int32 x = 1;")));
    let mut encoder = RecordEncoder::new(good.schema(), target, &write_options(&[])).expect("a plan");
    let mut records = EncodedRecords::default();
    encoder.encode(&good, &mut records).expect("records");
    let before = records.clone();
    let error = encoder.encode(&bad, &mut records).expect_err("NULL");
    assert!(matches!(&error, Error::BadValue { column, row: 3, .. } if column == "x"), "{error}");
    assert_eq!(records, before);
    let other = batch(vec![("x", texts(&["a"]))]);
    let error = encoder.encode(&other, &mut records).expect_err("another column");
    assert_eq!(error.to_string(), "the columns of the batch are not those that the encoder was made for");
}

/// Values that no row reaches to are no faults: under a NULL struct, and outside of lists.
#[test]
fn values_out_of_sight_are_not_looked_at() {
    let source = source("Sub s = 1; repeated int32 l = 2;");
    let stale: ArrayRef = Arc::new(Int64Array::from(vec![1 << 40, 7]));
    let field = Arc::new(Field::new("a", DataType::Int64, true));
    let hidden = StructArray::new(vec![field].into(), vec![stale], Some(NullBuffer::from(vec![false, true])));
    let values: ArrayRef = Arc::new(Int64Array::from(vec![1 << 40, 1, 1 << 40]));
    let offsets = OffsetBuffer::new(ScalarBuffer::from(vec![1, 2, 2]));
    let item = Arc::new(Field::new_list_field(DataType::Int64, true));
    let given =
        batch(vec![("s", Arc::new(hidden)), ("l", Arc::new(ListArray::new(item, offsets, values, None)))]);
    let (records, _) = encode(&given, Target::Given(message(&source)), &[]).expect("records");
    assert_eq!(records, [vec![0x12, 1, 1], vec![0x0a, 2, 8, 7]]);
}
