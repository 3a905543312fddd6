//! Options beside an embedded Arrow schema: what an option is about follows the option, everything else the schema.

use std::sync::Arc;

use arrow::array::*;
use arrow::compute::cast;
use arrow::datatypes::*;

use super::batch;
use super::types::{open, written};
use crate::support::decode;

/// A column of each kind of hinted types.
fn given() -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None]));
    let text: ArrayRef = Arc::new(StringArray::from(vec![Some("7"), None]));
    let of = |array: &ArrayRef, data_type: &DataType| cast(array, data_type).expect("a cast");
    let decimals = of(&numbers, &DataType::Decimal128(10, 2));
    let times = of(&numbers, &DataType::Timestamp(TimeUnit::Second, Some("Europe/Berlin".into())));
    let parts: ArrayRef = Arc::new(StructArray::from(vec![
        (Arc::new(Field::new("price", decimals.data_type().clone(), true)), Arc::clone(&decimals)),
        (Arc::new(Field::new("at", times.data_type().clone(), true)), Arc::clone(&times)),
        (Arc::new(Field::new("word", DataType::LargeUtf8, true)), of(&text, &DataType::LargeUtf8)),
    ]));
    let entries = Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", decimals.data_type().clone(), true),
    ]);
    let one = StructArray::new(entries.clone(), vec![text.slice(0, 1), decimals.slice(0, 1)], None);
    let field = Arc::new(Field::new("entries", DataType::Struct(entries), false));
    let map = MapArray::new(field, arrow::buffer::OffsetBuffer::from_lengths([1, 0]), one, None, false);
    let list = ListArray::new(
        Arc::new(Field::new_list_field(decimals.data_type().clone(), true)),
        arrow::buffer::OffsetBuffer::from_lengths([1, 0]),
        decimals.slice(0, 1),
        None,
    );
    let words = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    batch(vec![
        ("price", decimals),
        ("hundreds", of(&Int64Array::from(vec![Some(700), None]).into_array(), &DataType::Decimal64(9, -2))),
        ("small_number", of(&numbers, &DataType::Int8)),
        ("unsigned", of(&numbers, &DataType::UInt16)),
        ("large", of(&numbers, &DataType::UInt64)),
        ("half", of(&numbers, &DataType::Float16)),
        ("word", of(&text, &DataType::LargeUtf8)),
        ("code", of(&text, &words)),
        ("bytes", of(&of(&text, &DataType::Binary), &DataType::FixedSizeBinary(1))),
        ("at", times),
        (
            "clock",
            of(
                &numbers.as_primitive::<Int64Type>().unary::<_, Int32Type>(|n| n as i32).into_array(),
                &DataType::Time32(TimeUnit::Second),
            ),
        ),
        ("span", of(&numbers, &DataType::Duration(TimeUnit::Millisecond))),
        ("parts", parts),
        ("list", Arc::new(list)),
        ("map", Arc::new(map)),
    ])
}

trait IntoArray {
    fn into_array(self) -> ArrayRef;
}

impl<T: Array + 'static> IntoArray for T {
    fn into_array(self) -> ArrayRef {
        Arc::new(self)
    }
}

/// An option, its value, and the columns that it is about with the beginning of the types that they have then.
type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const CASES: &[Case] = &[
    ("string_type", "utf8", &[("word", "Utf8"), ("parts", ""), ("map", "")]),
    ("string_type", "large_utf8", &[("map", "")]),
    ("enum", "number", &[]),
    ("enum", "string", &[]),
    ("closed_enum", "open", &[]),
    ("unsigned", "widen", &[("unsigned", "Int64"), ("large", "Decimal128(20, 0)")]),
    ("implicit", "null", &[]),
    ("absent", "null", &[]),
    ("required", "strict", &[]),
    ("map", "list", &[("map", "List(Struct(\"key\": Utf8")]),
    ("map_keys", "exact", &[("map", "Map")]),
    ("extensions", "columns", &[]),
    ("empty_message", "struct", &[]),
    ("timestamp", "ms", &[("at", "Timestamp(ms, \"Europe/Berlin\")"), ("parts", "Struct")]),
    ("timestamp", "ns", &[("at", "Timestamp(ns, \"Europe/Berlin\")"), ("parts", "Struct")]),
    ("timestamp", "struct", &[("at", "Struct"), ("parts", "Struct")]),
    ("duration", "ns", &[("span", "Duration(ns)")]),
    ("duration", "int64", &[("span", "Int64")]),
    ("duration", "struct", &[("span", "Struct")]),
    ("time_of_day", "ns", &[("clock", "Time64(ns)")]),
    ("any", "json", &[]),
    ("recursion", "json", &[]),
    ("recursion_depth", "3", &[]),
    ("names", "json", &[]),
    ("names", "lower", &[]),
    ("oneof_case", "true", &[]),
    ("invalid_utf8", "null", &[]),
    ("on_bad_record", "skip", &[]),
    ("on_bad_value", "null", &[]),
];

#[test]
fn options_change_the_columns_that_they_are_about() {
    let given = given();
    let (records, file) = written(&given).expect("columns");
    for &(option, value, about) in CASES {
        let what = format!("{option} = {value}");
        let decoder = open(&file, &[(option, value)]).unwrap_or_else(|error| panic!("{what}: {error}"));
        let found = decode(&decoder, &records).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(found.num_columns(), given.num_columns(), "{what}");
        for (at, field) in given.schema().fields().iter().enumerate() {
            let (column, expected) = (found.column(at), given.column(at));
            match about.iter().find(|(name, _)| name == field.name()) {
                None => assert_eq!(column, expected, "{what}: {field}"),
                Some((_, start)) => {
                    let data_type = column.data_type().to_string();
                    assert!(data_type.starts_with(start), "{what}: {} is {data_type}", field.name());
                    assert_eq!(column.is_null(1), expected.is_null(1), "{what}: {field}");
                    // What is inside and no text, time or map keeps its type.
                    if ["parts", "map"].contains(&field.name().as_str()) {
                        assert!(
                            data_type.contains("Decimal128(10, 2)"),
                            "{what}: {} is {data_type}",
                            field.name()
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn names_follow_the_option_in_columns_and_below() {
    let (records, file) = written(&given()).expect("columns");
    let decoder = open(&file, &[("names", "json"), ("map", "list"), ("timestamp", "ms")]).expect("opens");
    let found = decode(&decoder, &records).expect("rows");
    assert_eq!(found.schema().field(2).name(), "smallNumber");
    assert_eq!(*found.column(2).data_type(), DataType::Int8);
    assert_eq!(*found.column(0).data_type(), DataType::Decimal128(10, 2));
}

#[test]
fn the_schema_can_be_left_out() {
    let (_, file) = written(&given()).expect("columns");
    let decoder = open(&file, &[("arrow_schema", "ignore")]).expect("opens");
    assert_eq!(*decoder.schema().field(0).data_type(), DataType::Utf8View);
}
