//! Records encoded by hand, their rows, and the words when there are none.

mod inference;
mod oracle;

use arrow::array::ArrayRef;
use arrow::buffer::Buffer;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use recordfusion_core::{RecordBlock, RecordBlockBuilder};

use super::*;
use crate::options::{EmptyList, Mapping, Names, OnBadValue, StringType};

/// A length-delimited field.
fn field(number: u32, body: impl AsRef<[u8]>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let body = body.as_ref();
    prost::encoding::encode_varint(u64::from(number << 3 | 2), &mut bytes);
    prost::encoding::encode_varint(body.len() as u64, &mut bytes);
    bytes.extend(body);
    bytes
}

fn varints(values: &[i64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    values.iter().for_each(|value| prost::encoding::encode_varint(*value as u64, &mut bytes));
    bytes
}

/// A `Feature` of 64-bit integers.
fn int64s(values: &[i64]) -> Vec<u8> {
    field(3, field(1, varints(values)))
}

/// A `Feature` of floats.
fn floats(values: &[f32]) -> Vec<u8> {
    field(2, field(1, values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>()))
}

/// A `Feature` of byte strings.
fn byte_strings(values: &[&[u8]]) -> Vec<u8> {
    field(1, values.iter().flat_map(|value| field(1, value)).collect::<Vec<u8>>())
}

/// An entry of the map, with its tag and length.
fn entry(name: impl AsRef<[u8]>, feature: impl AsRef<[u8]>) -> Vec<u8> {
    field(1, [field(1, name), field(2, feature)].concat())
}

/// An `Example` of entries.
fn example(entries: &[Vec<u8>]) -> Vec<u8> {
    field(1, entries.concat())
}

/// Records at the positions 100, 101, ...
fn block(records: &[impl AsRef<[u8]>]) -> RecordBlock {
    let mut builder = RecordBlockBuilder::default();
    for (position, record) in (100..).zip(records) {
        let record = record.as_ref();
        let one = RecordBlock::new(Buffer::from(record), vec![(0, record.len() as u32)], position);
        builder.append(&one.expect("the record is the buffer"));
    }
    builder.finish()
}

fn columns(text: &str) -> Vec<FeatureColumn> {
    match text.parse() {
        Ok(Features::Given(columns)) => columns,
        other => panic!("'{text}' gives {other:?}"),
    }
}

fn policy(on_bad_value: OnBadValue) -> Mapping {
    Mapping { on_bad_value, ..Mapping::default() }
}

fn decoder(text: &str, on_bad_value: OnBadValue) -> ExampleDecoder {
    let columns = columns(text);
    ExampleDecoder::new(&columns, &(0..columns.len()).collect::<Vec<_>>(), &policy(on_bad_value))
}

/// The rows of a batch: the values of each, with bars between them.
fn rows(arrays: &[ArrayRef]) -> Vec<String> {
    let options = FormatOptions::new().with_null("NULL");
    let columns: Vec<_> =
        arrays.iter().map(|array| ArrayFormatter::try_new(array, &options).expect("it has a form")).collect();
    let row = |row| columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join("|");
    (0..arrays.first().map_or(0, |array| array.len())).map(row).collect()
}

/// All rows, or the first fault in words.
fn decode(decoder: &mut ExampleDecoder, records: &[impl AsRef<[u8]>]) -> Result<Vec<String>, String> {
    let arrays = decoder.decode(&block(records), 0..records.len());
    arrays.map(|arrays| rows(&arrays.columns)).map_err(|fault| fault.describe(MESSAGE))
}

#[test]
fn columns_have_the_types_of_their_kinds() {
    let fields = columns("i:int64, f:float, b:bytes, s:string, l:float[]");
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    let expected = [
        ("i", DataType::Int64),
        ("f", DataType::Float32),
        ("b", DataType::BinaryView),
        ("s", DataType::Utf8View),
        ("l", DataType::List(item)),
    ];
    let expected = expected.map(|(name, data_type)| Field::new(name, data_type, true));
    assert_eq!(fields.iter().map(|column| column.field(&Mapping::default())).collect::<Vec<_>>(), expected);
    let arrays = decoder("i:int64, f:float, b:bytes, s:string, l:float[]", OnBadValue::Error)
        .decode(&block(&[b""]), 0..1)
        .expect("an empty record");
    for (array, field) in arrays.columns.iter().zip(expected) {
        assert_eq!((array.data_type(), array.null_count()), (field.data_type(), 1));
    }
}

#[test]
fn features_become_values() {
    const ALL: &str = "i:int64, f:float, b:bytes, s:string, li:int64[], lf:float[], lb:bytes[], ls:string[]";
    let long = "more than twelve bytes";
    let full = [
        entry("i", int64s(&[i64::MIN])),
        entry("f", floats(&[-1.5])),
        entry("b", byte_strings(&[&[0, 255]])),
        entry("s", byte_strings(&["\u{fc}".as_bytes()])),
        entry("other", int64s(&[1, 2])),
        entry("li", int64s(&[1, -1, 300])),
        entry("lf", floats(&[0.5, 2.0])),
        entry("lb", byte_strings(&[b"", b"\xff"])),
        entry("ls", byte_strings(&[b"a", long.as_bytes()])),
    ];
    let reversed: Vec<_> = full.iter().rev().cloned().collect();
    let values = format!("-9223372036854775808|-1.5|00ff|\u{fc}|[1, -1, 300]|[0.5, 2.0]|[, ff]|[a, {long}]");
    let kindless = ["i", "s", "li", "ls"].map(|name| entry(name, []));
    let empty = [
        entry("i", int64s(&[])),
        entry("s", byte_strings(&[])),
        entry("li", field(3, [])),
        entry("ls", byte_strings(&[])),
    ];
    let nothing = "NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL";
    let records =
        [vec![], example(&full), field(1, []), example(&reversed), example(&kindless), example(&empty)];
    let expected = [nothing, &values, nothing, &values, nothing, "NULL|NULL|NULL|NULL|[]|NULL|NULL|[]"];
    assert_eq!(decode(&mut decoder(ALL, OnBadValue::Error), &records).expect("valid"), expected);
}

#[test]
fn messages_in_parts_are_joined_as_protobuf_does() {
    let list = |values: &[i64]| field(1, varints(values));
    let (one, two) = (int64s(&[1]), int64s(&[2, 3]));
    for (what, record, expected) in [
        (
            "features in two parts",
            [example(&[entry("x", &one)]), example(&[entry("y", &two)])].concat(),
            "[1]|[2, 3]",
        ),
        ("a later entry replaces an earlier one", example(&[entry("x", &two), entry("x", &one)]), "[1]|NULL"),
        (
            "also from another part, and with others between",
            [example(&[entry("x", &one), entry("y", &one)]), example(&[entry("x", &two)])].concat(),
            "[2, 3]|[1]",
        ),
        ("one without a kind too", example(&[entry("x", &two), entry("x", [])]), "NULL|NULL"),
        ("one without a value too", example(&[entry("x", &two), field(1, field(1, "x"))]), "NULL|NULL"),
        (
            "what is replaced may not fit",
            example(&[entry("x", floats(&[1.0])), entry("x", &one)]),
            "[1]|NULL",
        ),
        (
            "the value before the name",
            example(&[field(1, [field(2, &two), field(1, "x")].concat())]),
            "[2, 3]|NULL",
        ),
        (
            "the last name counts",
            example(&[field(1, [field(1, "x"), field(2, &one), field(1, "y")].concat())]),
            "NULL|[1]",
        ),
        (
            "parts of a value are joined",
            example(&[field(1, [field(2, &one), field(1, "x"), field(2, &two)].concat())]),
            "[1, 2, 3]|NULL",
        ),
        ("the same member goes on", example(&[entry("x", [&two[..], &one].concat())]), "[2, 3, 1]|NULL"),
        (
            "another member replaces",
            example(&[entry("x", [&two[..], &floats(&[1.0]), &one].concat())]),
            "[1]|NULL",
        ),
        (
            "another member replaces, empty",
            example(&[entry("x", [&floats(&[1.0])[..], &field(3, [])].concat())]),
            "[]|NULL",
        ),
        (
            "packed, not packed, packed",
            example(&[entry(
                "x",
                field(3, [&list(&[1, 2])[..], &[0x08, 3], &list(&[]), &list(&[4])].concat()),
            )]),
            "[1, 2, 3, 4]|NULL",
        ),
        ("a varint longer than its value", example(&[entry("x", field(3, [0x08, 0x81, 0x00]))]), "[1]|NULL"),
    ] {
        let found = decode(&mut decoder("x:int64[], y:int64[]", OnBadValue::Error), &[record]);
        assert_eq!(found, Ok(vec![expected.to_string()]), "{what}");
    }
    let mixed = [floats(&[1.0])[2..].to_vec(), vec![0x0d, 0, 0, 0, 0x40], floats(&[3.0])[2..].to_vec()];
    let record = example(&[entry("x", field(2, mixed.concat()))]);
    let found = decode(&mut decoder("x:float[]", OnBadValue::Error), &[record]);
    assert_eq!(found, Ok(vec!["[1.0, 2.0, 3.0]".to_string()]), "packed, not packed, packed");
}

#[test]
fn fields_of_other_numbers_and_wire_types_are_passed_over() {
    let unknown: [&[u8]; 6] = [
        &[0x78, 0x96, 0x01],
        &[0x79, 1, 2, 3, 4, 5, 6, 7, 8],
        &[0x7a, 2, 0xff, 0xff],
        &[0x7b, 0x0a, 1, 0, 0x7c],
        &[0x7d, 1, 2, 3, 4],
        // Field 1 as a number of 64 bits, which no level has.
        &[0x09, 1, 2, 3, 4, 5, 6, 7, 8],
    ];
    for unknown in unknown {
        let around = |number, body: Vec<u8>| [unknown, &field(number, body), unknown].concat();
        let inside = |number, body: Vec<u8>| field(number, [unknown, &body, unknown].concat());
        let feature = [unknown, &inside(3, field(1, varints(&[7, 8])))].concat();
        let entry = [field(1, "x"), inside(2, feature)].concat();
        let record = around(1, around(1, [unknown, &entry].concat()));
        let found = decode(&mut decoder("x:int64[]", OnBadValue::Error), &[record]);
        assert_eq!(found, Ok(vec!["[7, 8]".to_string()]), "{unknown:x?}");
    }
}

#[test]
fn what_does_not_fit_its_column_is_an_error_or_null() {
    let fault = |text: &str| {
        format!("message tensorflow.Example, field x: the value has no form in a column: {text}")
    };
    for (column, feature, expected) in [
        (
            "x:int64",
            int64s(&[1, 2, 3]),
            "it has 3 int64 values, the column one int64 value; write x:int64[] in option features",
        ),
        (
            "x:string",
            byte_strings(&[b"a", b"b"]),
            "it has 2 string values, the column one string value; write x:string[] in option features",
        ),
        (
            "x:int64",
            floats(&[1.0]),
            "it has one float value, the column one int64 value; write x:float[] in option features",
        ),
        (
            "x:float[]",
            int64s(&[1, 2]),
            "it has 2 int64 values, the column a list of float values; write x:int64[] in option features",
        ),
        (
            "x:int64[]",
            byte_strings(&[b"a"]),
            "it has one bytes value, the column a list of int64 values; write x:bytes[] in option features",
        ),
        (
            "x:bytes",
            floats(&[]),
            "it has 0 float values, the column one bytes value; write x:float[] in option features",
        ),
    ] {
        let text = format!("{column}, y:int64");
        let others = [entry("y", int64s(&[5]))];
        let records =
            [example(&others), example(&[entry("x", &feature), others[0].clone()]), example(&others)];
        assert_eq!(
            decode(&mut decoder(&text, OnBadValue::Error), &records),
            Err(fault(expected)),
            "{column}"
        );
        let mut lenient = decoder(&text, OnBadValue::Null);
        for (records, expected, nulled) in [(&records[..], 3, 1), (&records[..1], 1, 0)] {
            let arrays = lenient.decode(&block(records), 0..records.len()).expect("NULL is allowed");
            assert_eq!(rows(&arrays.columns), vec!["NULL|5"; expected], "{column}");
            assert_eq!(arrays.tally.nulled, nulled);
        }
    }
}

#[test]
fn only_what_is_shown_must_be_utf8() {
    let refused =
        |name: &str| Err(format!("message tensorflow.Example, field {name}: the text is not valid UTF-8"));
    let shown = |row: &str| Ok(vec![row.to_string()]);
    let (broken, long) = (b"\xff".as_slice(), [b'a', 0xff].repeat(10));
    for (text, features, expected) in [
        ("x:string", vec![byte_strings(&[broken])], refused("x")),
        ("x:string", vec![byte_strings(&[&long])], refused("x")),
        ("x:string[]", vec![byte_strings(&[b"a", broken])], refused("x")),
        ("x:bytes", vec![byte_strings(&[broken])], shown("ff")),
        ("x:bytes[]", vec![byte_strings(&[b"a", broken])], shown("[61, ff]")),
        ("x:string", vec![byte_strings(&[broken]), byte_strings(&[b"a"])], shown("a")),
        ("x:string", vec![byte_strings(&[broken]), vec![]], shown("NULL")),
        ("x:string[]", vec![byte_strings(&[broken]), byte_strings(&[b"a"])], shown("[a]")),
        ("x:string", vec![byte_strings(&[broken, broken])], shown("NULL")),
    ] {
        let record = example(&features.iter().map(|feature| entry("x", feature)).collect::<Vec<_>>());
        assert_eq!(decode(&mut decoder(text, OnBadValue::Null), &[record]), expected, "{text}");
    }
}

#[test]
fn malformed_messages_are_faults_where_they_are_looked_into() {
    let fault = |text: &str| Err(format!("message tensorflow.Example{text}"));
    let beyond = ": a length reaches beyond the end of the message";
    for (what, record, expected) in [
        ("features", vec![0x0a, 1], fault(beyond)),
        ("an entry", field(1, [0x0a, 1]), fault(beyond)),
        ("a name", example(&[field(1, [0x0a, 1])]), fault(beyond)),
        ("a feature", example(&[entry("x", [0x1a, 1])]), fault(&format!(", field x{beyond}"))),
        ("a list", example(&[entry("x", field(3, [0x0a, 1]))]), fault(&format!(", field x{beyond}"))),
        (
            "packed integers",
            example(&[entry("x", field(3, field(1, [0x80])))]),
            fault(", field x: the bytes end within a value"),
        ),
        (
            "packed floats",
            example(&[entry("x", field(2, field(1, [0; 5])))]),
            fault(", field x: packed values end within a value"),
        ),
        ("another feature", example(&[entry("other", [0x1a, 1])]), Ok(vec!["NULL".to_string()])),
        ("a feature that is not wanted", example(&[entry("y", [0x1a, 1])]), Ok(vec!["NULL".to_string()])),
    ] {
        let mut decoder = ExampleDecoder::new(&columns("x:int64, y:int64"), &[0], &policy(OnBadValue::Error));
        assert_eq!(decode(&mut decoder, &[record]), expected, "{what}");
        let next = example(&[entry("x", int64s(&[1]))]);
        assert_eq!(decode(&mut decoder, &[vec![], next]).expect("valid"), ["NULL", "1"], "after {what}");
    }
}

#[test]
fn groups_count_with_the_messages_around_them() {
    for (depth, fits) in [(96, true), (97, false)] {
        let group = [vec![0x7b; depth], vec![0x7c; depth]].concat();
        let record = example(&[entry("x", field(3, group))]);
        assert_eq!(decode(&mut decoder("x:int64[]", OnBadValue::Error), &[record]).is_ok(), fits, "{depth}");
    }
}

#[test]
fn wanted_columns_come_in_their_order() {
    let record = |value| {
        example(&[
            entry("a", int64s(&[value])),
            entry("b", int64s(&[value + 1])),
            entry("c", int64s(&[value + 2])),
        ])
    };
    let records = [record(10), record(20), record(30)];
    let mut decoder =
        ExampleDecoder::new(&columns("a:int64, b:int64, c:int64"), &[2, 0], &policy(OnBadValue::Error));
    for (range, expected) in [(0..3, vec!["12|10", "22|20", "32|30"]), (1..2, vec!["22|20"]), (3..3, vec![])]
    {
        let arrays = decoder.decode(&block(&records), range.clone()).expect("valid");
        assert_eq!(rows(&arrays.columns), expected, "{range:?}");
    }
}

#[test]
fn names_types_and_empty_lists_are_as_the_options_say() {
    let columns = columns("Big:int64[], S:string, b:bytes[]");
    let mapping = Mapping {
        names: Names::Lower,
        string_type: StringType::Utf8,
        empty_list: EmptyList::Null,
        ..Mapping::default()
    };
    let fields: Vec<Field> = columns.iter().map(|column| column.field(&mapping)).collect();
    assert_eq!(fields.iter().map(|field| field.name().as_str()).collect::<Vec<_>>(), ["big", "s", "b"]);
    let record = example(&[
        entry("Big", int64s(&[])),
        entry("S", byte_strings(&[b"x"])),
        entry("b", byte_strings(&[b"y"])),
    ]);
    let mut decoder = ExampleDecoder::new(&columns, &[0, 1, 2], &mapping);
    let arrays = decoder.decode(&block(&[record]), 0..1).expect("valid").columns;
    assert_eq!(rows(&arrays), ["NULL|x|[79]"]);
    for (array, field) in arrays.iter().zip(&fields) {
        assert_eq!(array.data_type(), field.data_type());
    }
    assert_eq!(arrays[1].data_type(), &DataType::Utf8);
}
