//! Results that are written, read again, and are the same (section 8.5 of the mapping).

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::*;
use serde_json::{Value, json};

use recordfusion_core::Options;
use recordfusion_protobuf::{FileDescriptors, ProtobufOptions, RecordDecoder, schema_hint};

use super::{batch, derive_and_encode, reread, reread_hinted};
use crate::support::{decode, decoder, row};

fn same(given: &RecordBatch, options: &[(&str, &str)]) {
    let found = reread_hinted(given, options);
    assert_eq!(found.schema(), given.schema());
    assert_eq!(&found, given);
}

fn rows(given: &RecordBatch) -> Vec<Value> {
    let found = reread(given, &[]);
    (0..found.num_rows()).map(|at| row(&found, at)).collect()
}

fn scalars() -> RecordBatch {
    let half = Float32Array::from(vec![Some(-65_504.0), Some(f32::NEG_INFINITY), None]);
    let half = cast(&half, &DataType::Float16).expect("halves");
    let fixed = [Some([0u8, 1]), Some([2, 3]), None].into_iter();
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed, 2).expect("two bytes");
    batch(vec![
        ("bool", Arc::new(BooleanArray::from(vec![Some(false), Some(true), None]))),
        ("i8", Arc::new(Int8Array::from(vec![Some(i8::MIN), Some(i8::MAX), None]))),
        ("i16", Arc::new(Int16Array::from(vec![Some(i16::MIN), Some(i16::MAX), None]))),
        ("i32", Arc::new(Int32Array::from(vec![Some(i32::MIN), Some(i32::MAX), None]))),
        ("i64", Arc::new(Int64Array::from(vec![Some(i64::MIN), Some(i64::MAX), None]))),
        ("u8", Arc::new(UInt8Array::from(vec![Some(0), Some(u8::MAX), None]))),
        ("u16", Arc::new(UInt16Array::from(vec![Some(0), Some(u16::MAX), None]))),
        ("u32", Arc::new(UInt32Array::from(vec![Some(0), Some(u32::MAX), None]))),
        ("u64", Arc::new(UInt64Array::from(vec![Some(0), Some(u64::MAX), None]))),
        ("f16", half),
        ("f32", Arc::new(Float32Array::from(vec![Some(-0.0), Some(f32::NAN), None]))),
        ("f64", Arc::new(Float64Array::from(vec![Some(f64::INFINITY), Some(-0.0), None]))),
        ("utf8", Arc::new(StringArray::from(vec![Some(""), Some("é"), None]))),
        ("large_utf8", Arc::new(LargeStringArray::from(vec![Some(""), Some("é"), None]))),
        (
            "utf8_view",
            Arc::new(StringViewArray::from(vec![Some(""), Some("a text longer than a view"), None])),
        ),
        ("binary", Arc::new(BinaryArray::from(vec![Some(b"\xff".as_slice()), Some(b""), None]))),
        ("large_binary", Arc::new(LargeBinaryArray::from(vec![Some(b"\xff".as_slice()), Some(b""), None]))),
        ("fixed", Arc::new(fixed)),
        ("null", Arc::new(NullArray::new(3))),
    ])
}

#[test]
fn scalars_of_every_type() {
    same(&scalars(), &[]);
    let bits = |batch: &RecordBatch, column: usize| batch.column(column).to_data();
    let found = reread_hinted(&scalars(), &[]);
    for column in 9..12 {
        assert_eq!(bits(&found, column), bits(&scalars(), column));
    }
    same(&scalars().slice(1, 1), &[]);
    same(&scalars().slice(0, 0), &[]);
}

#[test]
fn not_null_columns() {
    let fields = ["a", "b"].map(|name| Field::new(name, DataType::Int32, false));
    let column = || Arc::new(Int32Array::from(vec![0, 1])) as ArrayRef;
    let given =
        RecordBatch::try_new(Arc::new(Schema::new(fields.to_vec())), vec![column(), column()]).expect("ok");
    same(&given, &[]);
    assert_eq!(derive_and_encode(&given, &[]).0, [vec![], vec![8, 1, 16, 1]]);
}

#[test]
fn names_that_are_no_identifiers() {
    let one = || Arc::new(Int64Array::from(vec![1])) as ArrayRef;
    let names = ["count(*)", "a b", "a_b", "1", "a.b", "aB", "select", "Größe"];
    let given = batch(names.iter().map(|name| (*name, one())).collect());
    same(&given, &[]);
    let found = reread(&given, &[]);
    let found = found.schema();
    let found: Vec<_> = found.fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(found, ["count___", "a_b_3", "a_b", "f1", "a_b_4", "aB_2", "select", "Gr__e"]);
}

#[test]
fn dictionaries_and_runs() {
    let text: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None, Some("y"), Some("x")]));
    let dictionary = |keys: DataType, values: DataType| {
        cast(&text, &DataType::Dictionary(Box::new(keys), Box::new(values))).expect("a dictionary")
    };
    let numbers: DictionaryArray<Int32Type> = DictionaryArray::new(
        Int32Array::from(vec![Some(1), None, Some(0), Some(2)]),
        Arc::new(Int64Array::from(vec![Some(7), Some(-7), None])),
    );
    let given = batch(vec![
        ("text", dictionary(DataType::Int32, DataType::Utf8)),
        ("large", dictionary(DataType::Int64, DataType::LargeUtf8)),
    ]);
    same(&given, &[]);
    let small =
        batch(vec![("small", dictionary(DataType::Int8, DataType::Utf8)), ("numbers", Arc::new(numbers))]);
    assert_eq!(
        rows(&small),
        [
            json!({"small": "x", "numbers": -7}),
            json!({"small": null, "numbers": null}),
            json!({"small": "y", "numbers": 7}),
            json!({"small": "x", "numbers": null})
        ]
    );
    let runs = Int32RunArray::try_new(
        &Int32Array::from(vec![1, 3, 4]),
        &StringArray::from(vec![Some("a"), None, Some("b")]),
    )
    .expect("runs");
    let runs = batch(vec![("runs", Arc::new(runs))]);
    assert_eq!(
        rows(&runs),
        ["a", "", "", "b"].map(|text| json!({"runs": (!text.is_empty()).then_some(text)}))
    );
}

#[test]
fn decimals_of_every_width() {
    let given = batch(vec![
        (
            "d32",
            Arc::new(
                Decimal32Array::from(vec![Some(-123), None]).with_precision_and_scale(9, 2).expect("fits"),
            ),
        ),
        (
            "d64",
            Arc::new(
                Decimal64Array::from(vec![Some(1), None]).with_precision_and_scale(18, 18).expect("fits"),
            ),
        ),
        (
            "d128",
            Arc::new(
                Decimal128Array::from(vec![Some(-12_345_678_901_234_567_890_123_456_789_012_345_678), None])
                    .with_precision_and_scale(38, 10)
                    .expect("fits"),
            ),
        ),
        (
            "d256",
            Arc::new(
                Decimal256Array::from(vec![Some(i256::from_i128(7)), None])
                    .with_precision_and_scale(76, 3)
                    .expect("fits"),
            ),
        ),
    ]);
    same(&given, &[]);
    assert_eq!(
        rows(&given)[0],
        json!({"d32": "-1.23", "d64": "0.000000000000000001", "d128": "-1234567890123456789012345678.9012345678", "d256": "0.007"})
    );
}

#[test]
fn times_of_every_unit() {
    let (first, last) = (-62_135_596_800, 253_402_300_799);
    let given = batch(vec![
        ("s", Arc::new(TimestampSecondArray::from(vec![Some(first), Some(last), None]))),
        (
            "ms",
            Arc::new(
                TimestampMillisecondArray::from(vec![Some(first * 1000), Some(last * 1000 + 999), None])
                    .with_timezone("Europe/Berlin"),
            ),
        ),
        (
            "us",
            Arc::new(
                TimestampMicrosecondArray::from(vec![Some(-1), Some(last * 1_000_000 + 999_999), None])
                    .with_timezone("UTC"),
            ),
        ),
        ("day", Arc::new(Date32Array::from(vec![Some(-719_162), Some(2_932_896), None]))),
        ("day64", Arc::new(Date64Array::from(vec![Some(-86_400_000), Some(0), None]))),
        ("clock32", Arc::new(Time32SecondArray::from(vec![Some(0), Some(86_399), None]))),
        ("clock64", Arc::new(Time64MicrosecondArray::from(vec![Some(1), Some(86_399_999_999), None]))),
        ("clock_nanos", Arc::new(Time64NanosecondArray::from(vec![Some(1), Some(86_399_999_999_999), None]))),
        ("span", Arc::new(DurationMillisecondArray::from(vec![Some(-1), Some(315_576_000_000_000), None]))),
    ]);
    same(&given, &[]);
    let nanos = |values: Vec<Option<i64>>| Arc::new(TimestampNanosecondArray::from(values)) as ArrayRef;
    let given = batch(vec![("ns", nanos(vec![Some(-1), Some(i64::MAX), None]))]);
    same(&given, &[]);
    let mixed = batch(vec![
        ("ns", nanos(vec![Some(-1), Some(i64::MIN), None])),
        ("s", Arc::new(TimestampSecondArray::from(vec![Some(first), Some(last), None]))),
        ("span", Arc::new(DurationNanosecondArray::from(vec![Some(-1), Some(i64::MIN), None]))),
    ]);
    same(&mixed, &[]);
}

fn list<T: ArrowPrimitiveType>(rows: Vec<Option<Vec<Option<T::Native>>>>) -> ListArray {
    ListArray::from_iter_primitive::<T, _, _>(rows)
}

#[test]
fn lists_of_every_kind() {
    let plain = list::<Int32Type>(vec![Some(vec![Some(1), Some(2)]), Some(vec![]), Some(vec![Some(0)])]);
    let plain: ArrayRef = Arc::new(plain);
    let item = Arc::new(Field::new("element", DataType::Int32, true));
    let to = |data_type| cast(&plain, &data_type).expect("a list");
    let fixed = FixedSizeListArray::try_new(
        Arc::clone(&item),
        2,
        Arc::new(Int32Array::from(vec![1, 2, 0, 0, 3, 4])),
        Some(NullBuffer::from(vec![true, false, true])),
    );
    let given = batch(vec![
        ("list", Arc::clone(&plain)),
        ("large", to(DataType::LargeList(Arc::clone(&item)))),
        ("view", to(DataType::ListView(Arc::clone(&item)))),
        ("large_view", to(DataType::LargeListView(item))),
        ("fixed", Arc::new(fixed.expect("a list"))),
    ]);
    same(&given, &[]);
    same(&given.slice(1, 2), &[]);
}

/// `[[[1], []], [], [[2, 3]]]`
fn nested() -> ArrayRef {
    let inner = list::<Int32Type>(vec![Some(vec![Some(1)]), Some(vec![]), Some(vec![Some(2), Some(3)])]);
    let item = Arc::new(Field::new_list_field(inner.data_type().clone(), true));
    Arc::new(ListArray::new(item, OffsetBuffer::from_lengths([2, 0, 1]), Arc::new(inner), None))
}

#[test]
fn lists_in_lists() {
    let given = batch(vec![("lists", nested())]);
    same(&given, &[]);
    assert_eq!(rows(&given)[0], json!({"lists": [{"item": [1]}, {"item": []}]}));
}

#[test]
fn lists_with_nulls_in_wraps() {
    let nulls = list::<Int32Type>(vec![None, Some(vec![None, Some(0), Some(1)]), Some(vec![])]);
    let inner = list::<Int32Type>(vec![None, Some(vec![None]), Some(vec![])]);
    let item = Arc::new(Field::new_list_field(inner.data_type().clone(), true));
    let lists = ListArray::new(
        item,
        OffsetBuffer::from_lengths([2, 0, 1]),
        Arc::new(inner),
        Some(NullBuffer::from(vec![true, false, true])),
    );
    let given = batch(vec![("list", Arc::new(nulls)), ("lists", Arc::new(lists))]);
    same(&given, &[("null_items", "wrap"), ("null_list", "wrap")]);
}

fn map(keys: ArrayRef, values: ArrayRef, lengths: [usize; 2]) -> ArrayRef {
    let fields = vec![
        Field::new("keys", keys.data_type().clone(), false),
        Field::new("values", values.data_type().clone(), true),
    ];
    let entries = StructArray::new(fields.clone().into(), vec![keys, values], None);
    let entries_field = Arc::new(Field::new("entries", DataType::Struct(fields.into()), false));
    Arc::new(MapArray::new(entries_field, OffsetBuffer::from_lengths(lengths), entries, None, false))
}

#[test]
fn maps_of_every_kind() {
    let three = || Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef;
    let structs = StructArray::from(vec![(Arc::new(Field::new("x", DataType::Int64, true)), three())]);
    let given = batch(vec![
        ("long", map(three(), three(), [2, 1])),
        ("int", map(Arc::new(Int32Array::from(vec![1, 2, 3])), three(), [2, 1])),
        ("text", map(Arc::new(StringViewArray::from(vec!["a", "b", "c"])), three(), [3, 0])),
        ("float", map(Arc::new(Float64Array::from(vec![0.5, 1.5, 2.5])), three(), [2, 1])),
        ("structs", map(three(), Arc::new(structs), [0, 3])),
        (
            "lists",
            map(
                three(),
                Arc::new(list::<Int32Type>(vec![Some(vec![Some(1)]), Some(vec![]), Some(vec![])])),
                [1, 2],
            ),
        ),
        ("nested", map(three(), nested(), [1, 2])),
    ]);
    same(&given, &[]);
}

#[test]
fn structs_that_are_null_or_hold_nulls() {
    let leaf: ArrayRef = Arc::new(Int32Array::from(vec![None, None, None, None, Some(0)]));
    let wrap = |child: ArrayRef, valid: [bool; 5]| {
        let field = Field::new("s", child.data_type().clone(), true);
        Arc::new(StructArray::new(vec![field].into(), vec![child], Some(NullBuffer::from(valid.to_vec()))))
            as ArrayRef
    };
    let one = wrap(leaf, [false, false, false, true, true]);
    let two = wrap(one, [false, false, true, true, true]);
    let given = batch(vec![("three", wrap(two, [false, true, true, true, true]))]);
    same(&given, &[]);
    let empty = StructArray::new_empty_fields(2, Some(NullBuffer::from(vec![true, false])));
    same(&batch(vec![("empty", Arc::new(empty))]), &[]);
}

#[test]
fn three_hundred_columns() {
    let names: Vec<String> = (0..300).map(|index| format!("c{index}")).collect();
    let column = |index: usize| Arc::new(Int32Array::from(vec![Some(index as i32), None])) as ArrayRef;
    let given = batch(names.iter().enumerate().map(|(index, name)| (name.as_str(), column(index))).collect());
    same(&given, &[]);
    let id = |number: &str| HashMap::from([("PARQUET:field_id".to_string(), number.to_string())]);
    let far: Vec<Field> = [15, 16, 2047, 2048, 536_870_911]
        .iter()
        .map(|number| {
            Field::new(format!("f{number}"), DataType::Int32, true).with_metadata(id(&number.to_string()))
        })
        .collect();
    let columns = (1..6).map(column).collect();
    let far = RecordBatch::try_new(Arc::new(Schema::new(far)), columns).expect("columns");
    same(&far, &[]);
}

const TABLE: &str = "syntax = 'proto3';
    import 'google/protobuf/timestamp.proto'; import 'google/protobuf/duration.proto';
    import 'google/protobuf/wrappers.proto'; import 'google/protobuf/struct.proto';
    import 'google/protobuf/any.proto'; import 'google/protobuf/field_mask.proto';
    import 'google/protobuf/empty.proto'; import 'google/type/date.proto'; import 'google/type/timeofday.proto';
    message M {
      enum Color { RED = 0; GREEN = 1; TEAL = -2; }
      enum Other { OTHER_RED = 0; RED_ALSO = 5; }
      sint32 zig = 3; fixed64 fix = 2; uint64 plain = 100; Color color = 7; repeated Color colors = 8;
      optional Other other = 9;
      google.protobuf.Timestamp time = 20; google.protobuf.Duration span = 21;
      google.protobuf.Int32Value wrapped = 22; google.protobuf.BytesValue wrapped_bytes = 23;
      google.protobuf.Struct json = 24; google.protobuf.Any any = 25; google.protobuf.FieldMask mask = 26;
      google.protobuf.Empty empty = 27; google.type.Date day = 28; google.type.TimeOfDay clock = 29;
      M child = 30; map<sint32, Color> map = 31; repeated google.protobuf.StringValue texts = 32;
      repeated google.protobuf.FieldMask masks = 33; repeated google.protobuf.Value values = 34;
    }";

const RECORDS: [&str; 4] = [
    "",
    "18 03 11 0100000000000000 a006 05 38 01 42 0c 01 00 feffffffffffffffff01 48 05",
    "38 63 a2 01 04 08 01 10 01 aa 01 04 08 01 10 00 b2 01 00 ba 01 03 0a 01 ff c2 01 00 ca 01 05 0a 03 78 2f 79
     d2 01 03 0a 01 61 da 01 00 e2 01 07 08 e8 0f 10 01 18 02 ea 01 02 08 03 f2 01 09 f2 01 06 f2 01 03 f2 01 00",
    "fa 01 04 08 03 10 01 82 02 03 0a 01 71 8a 02 03 0a 01 62 92 02 0b 32 09 0a 07 3a 05 0a 03 08 00 00",
];

/// A table that came from protobuf is derived, written and read again, with other options of the mapping.
#[test]
fn columns_keep_what_they_came_from() {
    let records: Vec<_> =
        RECORDS[..3].iter().map(|record| crate::support::hex(&record.replace('\n', ""))).collect();
    let options: [&[(&str, &str)]; 4] = [
        &[],
        &[("enum", "string"), ("unsigned", "widen"), ("string_type", "utf8")],
        &[("duration", "int64"), ("map_keys", "exact"), ("recursion_depth", "0"), ("oneof_case", "true")],
        &[("string_type", "large_utf8"), ("empty_message", "struct")],
    ];
    for options in options {
        let decoder = crate::support::decoder_with(TABLE, options);
        let table = decode(&decoder, &records).expect("valid");
        assert_eq!(&reread_hinted(&table, &[]), &table, "{options:?}");
    }
    let table = decode(&decoder(TABLE), &records).expect("valid");
    let (again, encoder) = derive_and_encode(&table, &[]);
    let text = encoder.message().expect("a type").proto_text();
    for declared in [
        "optional sint32 zig = 3;",
        "optional fixed64 fix = 2;",
        "optional Color color = 7;",
        "repeated Color colors = 8;",
        "optional Other other = 9;",
        "TEAL = -2;",
        "google.protobuf.BytesValue wrapped_bytes = 23;",
        "google.protobuf.Struct json = 24;",
        "google.protobuf.Any any = 25;",
        "google.protobuf.FieldMask mask = 26;",
        "google.protobuf.Empty empty = 27;",
        "map<sint32, Color> map = 31;",
        "repeated google.protobuf.FieldMask masks = 33;",
        "optional bytes child = 30;",
    ] {
        assert!(text.contains(declared), "{declared} in {text}");
    }
    // The records say the same to those who know the first message type.
    let found = decode(&decoder(TABLE), &again).expect("valid");
    assert_eq!(found, table);
}

#[test]
fn options_about_data_keep_the_types() {
    let decimals = Decimal128Array::from(vec![900, 5000]).with_precision_and_scale(10, 2).expect("fits");
    let schema = Schema::new(vec![Field::new("d", decimals.data_type().clone(), false)]);
    let given = RecordBatch::try_new(Arc::new(schema), vec![Arc::new(decimals)]).expect("a column");
    let (records, encoder) = derive_and_encode(&given, &[]);
    let file = FileDescriptors {
        file: "t".into(),
        message_type: Some("t.Row".into()),
        descriptors: encoder.derived().expect("derived").descriptors.clone(),
        arrow_schema: Some(schema_hint(&given.schema()).into()),
    };
    for (name, value, rows) in [
        ("on_bad_record", "error", 2),
        ("on_bad_record", "skip", 2),
        ("on_bad_record", "null", 3),
        ("on_bad_value", "null", 2),
        ("invalid_utf8", "error", 2),
        ("invalid_utf8", "replace", 2),
        ("invalid_utf8", "null", 2),
        ("required", "strict", 2),
        ("closed_enum", "open", 2),
    ] {
        let options = ProtobufOptions::from_options(&Options::new().with(name, value)).expect("options");
        let decoder = RecordDecoder::open(std::slice::from_ref(&file), &options, &[]).expect("a table");
        let bad = (rows == 3).then(|| vec![0xff]);
        let records: Vec<_> = records.iter().cloned().chain(bad).collect();
        let found = decode(&decoder, &records).expect("rows");
        assert_eq!(found.num_rows(), rows, "{name} = {value}");
        assert_eq!(found.column(0).slice(0, 2).as_ref(), given.column(0).as_ref(), "{name} = {value}");
        assert_eq!(found.column(0).null_count(), rows - 2, "{name} = {value}");
    }
}
