//! Values as the mapping has them: presence, well-known types, oneofs, editions, NULL below NULL, schema.

use std::collections::BTreeMap;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, TimeUnit};
use recordfusion_core::{ColumnProjection, Projection, ScanCounters, Selection};
use recordfusion_protobuf::counters::{INVALID_UTF8_REPLACED, RECORDS_INCOMPLETE};
use recordfusion_protobuf::{ProtobufOptions, RecordDecoder};
use serde_json::{Value, json};

use crate::support::{block, decode, decode_counted, decoder, hex, open, row};

fn check(source: &str, cases: &[(&str, Value)]) {
    let decoder = decoder(source);
    for (record, expected) in cases {
        let batch = decode(&decoder, &[hex(record)]).expect(record);
        assert_eq!(&row(&batch, 0), expected, "{record}");
    }
}

#[test]
fn absent_fields_show_their_presence() {
    let source = "syntax = 'proto3'; enum E { ZERO = 0; }
        message M { int32 n = 1; string s = 2; E e = 3; optional int32 o = 4; }";
    check(source, &[("", json!({"n": 0, "s": "", "e": "ZERO", "o": null}))]);
    let source = "syntax = 'proto2'; enum E { FIVE = 5; ZERO = 0; }
        message M { optional int32 n = 1 [default = 7]; map<string, E> m = 2; }";
    let entry = json!([{"key": "", "value": "FIVE"}]);
    check(source, &[("", json!({"n": null, "m": []})), ("12 00", json!({"n": null, "m": entry}))]);
}

#[test]
fn open_enums_keep_unknown_numbers() {
    let decoder = decoder("syntax = 'proto3'; enum E { A = 0; B = 1; } message M { E e = 1; }");
    let records =
        [hex("08 01"), hex("08 07"), hex("08 ff ff ff ff ff ff ff ff ff 01"), hex("08 82 80 80 80 10")];
    let batch = decode(&decoder, &records).expect("valid");
    let names: Vec<_> = (0..4).map(|at| row(&batch, at)["e"].clone()).collect();
    assert_eq!(names, ["B", "7", "-1", "2"]);
}

#[test]
fn dynamic_values_are_json() {
    let source = "syntax = 'proto3'; import 'google/protobuf/struct.proto';
        message M { map<string, google.protobuf.ListValue> data = 1; google.protobuf.Value v = 2; int32 x = 3;
            google.protobuf.Struct s = 4; }";
    let list = "0a 09 11 00 00 00 00 00 00 f0 3f 0a 03 1a 01 32 0a 02 08 00";
    let data = format!("0a 1a 0a 02 64 31 12 14 {list} 18 05");
    let entry = json!([{"key": "d1", "value": "[1,\"2\",null]"}]);
    let with = |column: &str, value: Value| {
        let mut row = json!({"data": [], "v": null, "x": 0, "s": null});
        row[column] = value;
        row
    };
    let cases = [
        (data.as_str(), json!({"data": entry, "v": null, "x": 5, "s": null})),
        ("", with("x", json!(0))),
        ("12 02 08 00", with("v", json!("null"))),
        ("12 00", with("v", json!("null"))),
        ("12 07 1a 05 61 22 5c 0a 01", with("v", json!(r#""a\"\\\n\u0001""#))),
        ("12 09 11 00 00 00 00 00 00 00 80", with("v", json!("-0"))),
        ("12 09 11 9c 75 00 88 3c e4 37 7e", with("v", json!("1e300"))),
    ];
    check(source, &cases);
    let keys = "22 08 0a 06 0a 01 62 12 01 00";
    assert!(decode(&decoder(source), &[hex(keys)]).is_err(), "a Value with field number 0");
    let twice =
        "22 10 0a 05 0a 01 62 12 00 0a 07 0a 01 61 12 02 20 01 22 0b 0a 09 0a 01 62 12 04 1a 02 68 69";
    check(source, &[(twice, with("s", json!(r#"{"b":"hi","a":true}"#)))]);
    let infinite =
        decode(&decoder(source), &[hex("12 09 11 00 00 00 00 00 00 f0 7f")]).expect_err("infinity");
    assert!(infinite.to_string().contains("field v: the value has no form in a column"), "{infinite}");
}

#[test]
fn empty_messages_are_booleans() {
    let source = "syntax = 'proto3'; import 'google/protobuf/empty.proto';
        message Stub {} message M { google.protobuf.Empty a = 1; Stub b = 2; int32 x = 3; repeated Stub r = 4; }";
    let cases = [
        ("0a 00", json!({"a": true, "b": null, "x": 0, "r": []})),
        ("12 02 08 05", json!({"a": null, "b": true, "x": 0, "r": []})),
        ("22 00 22 00", json!({"a": null, "b": null, "x": 0, "r": [true, true]})),
    ];
    check(source, &cases);
}

#[test]
fn the_last_member_of_a_oneof_stays() {
    let source =
        "syntax = 'proto3'; message Sub { int32 x = 1; repeated string l = 2; map<int32, Sub> m = 3; }
        message M { oneof one { int32 a = 1; string b = 2; Sub c = 3; } }";
    let sub = |x: i32| json!({"x": x, "l": [], "m": []});
    let cases = [
        ("08 05 12 01 78", json!({"a": null, "b": "x", "c": null})),
        ("12 01 78 08 05", json!({"a": 5, "b": null, "c": null})),
        ("1a 02 08 01 08 05 1a 02 12 00", json!({"a": null, "b": null, "c": {"x": 0, "l": [""], "m": []}})),
        ("1a 05 12 01 71 1a 00 08 05 1a 02 08 09", json!({"a": null, "b": null, "c": sub(9)})),
        ("1a 02 08 01 1a 03 12 01 71", json!({"a": null, "b": null, "c": {"x": 1, "l": ["q"], "m": []}})),
    ];
    check(source, &cases);
    // Also where only one member is wanted.
    let decoder = decoder(source);
    let records: Vec<Vec<u8>> = cases.iter().map(|(record, _)| hex(record)).collect();
    for index in 0..3 {
        let all = decode(&decoder, &records).expect("valid");
        let one = Projection { columns: vec![ColumnProjection { index, selection: Selection::All }] };
        let mut scan = decoder.scan(&one).expect("a plan");
        let batch = scan
            .decode("f", &block(&records), 0..records.len(), &ScanCounters::default())
            .expect("valid")
            .batch;
        assert_eq!(batch.column(0), all.column(index));
    }
}

#[test]
fn calendar_types_and_masks() {
    let source = "syntax = 'proto3'; import 'google/type/date.proto'; import 'google/type/timeofday.proto';
        import 'google/protobuf/duration.proto'; import 'google/protobuf/field_mask.proto';
        message M { google.type.Date d = 1; google.type.TimeOfDay t = 2; google.protobuf.Duration u = 3;
            google.protobuf.FieldMask f = 4; }";
    let with = |column: &str, value: &str| {
        let mut row = json!({"d": null, "t": null, "u": null, "f": null});
        row[column] = json!(value);
        row
    };
    let cases = [
        ("0a 07 08 e8 0f 10 02 18 1d", with("d", "2024-02-29")),
        ("12 0a 08 17 10 3b 18 3b 20 cf 8f 03", with("t", "23:59:59.000051")),
        ("1a 0b 10 ff ff ff ff ff ff ff ff ff 01", with("u", "-0.000001s")),
        ("22 03 0a 01 61 22 05 0a 03 62 2e 63", json!({"d": null, "t": null, "u": null, "f": ["a", "b.c"]})),
        ("22 00", json!({"d": null, "t": null, "u": null, "f": []})),
        // A partial date.
        ("0a 05 08 e8 0f 10 02", json!({"d": null, "t": null, "u": null, "f": null})),
    ];
    check(source, &cases);
    for bad in ["0a 07 08 e8 0f 10 02 18 1e", "12 02 08 18", "12 04 08 01 18 3c"] {
        assert!(decode(&decoder(source), &[hex(bad)]).is_err(), "{bad}");
    }
}

#[test]
fn editions_are_read_by_their_features() {
    use prost::encoding::{bytes, string, uint32};
    // The descriptor of: edition 2023, field_presence IMPLICIT, a DELIMITED message, an EXPANDED repeated.
    let message = |number, parts: &[Vec<u8>]| {
        let mut out = Vec::new();
        bytes::encode(number, &parts.concat(), &mut out);
        out
    };
    let text = |number, value: &str| {
        let mut out = Vec::new();
        string::encode(number, &value.to_string(), &mut out);
        out
    };
    let int = |number, value| {
        let mut out = Vec::new();
        uint32::encode(number, &value, &mut out);
        out
    };
    let field = |name, number, label, kind, rest: &[Vec<u8>]| {
        let head = [text(1, name), int(3, number), int(4, label), int(5, kind)];
        message(2, &[&head, rest].concat())
    };
    let features = |feature, value| message(8, &[message(21, &[int(feature, value)])]);
    let sub = message(4, &[text(1, "Sub"), field("x", 1, 1, 5, &[])]);
    let m = message(
        4,
        &[
            text(1, "M"),
            field("plain", 1, 1, 5, &[features(1, 2)]),
            field("known", 2, 1, 5, &[]),
            field("sub", 3, 1, 11, &[text(6, ".Sub"), features(5, 2)]),
            field("list", 4, 3, 5, &[features(3, 2)]),
        ],
    );
    let file = [text(1, "e.proto"), sub, m, text(12, "editions"), int(14, 1000)].concat();
    let decoder = open(vec![file.into()], "M").expect("a table");
    let cases = [
        ("", json!({"plain": 0, "known": null, "sub": null, "list": []})),
        (
            "1b 08 05 1c 20 01 22 02 02 03",
            json!({"plain": 0, "known": null, "sub": {"x": 5}, "list": [1, 2, 3]}),
        ),
        ("1a 02 08 05", json!({"plain": 0, "known": null, "sub": null, "list": []})),
    ];
    for (record, expected) in cases {
        let batch = decode(&decoder, &[hex(record)]).expect(record);
        assert_eq!(row(&batch, 0), expected, "{record}");
    }
}

#[test]
fn everything_below_a_null_is_null() {
    let source = "syntax = 'proto3'; import 'google/protobuf/wrappers.proto';
        message In { int32 a = 1; string s = 2; repeated int32 l = 3; map<string, In> m = 4;
            google.protobuf.Int32Value w = 5; oneof o { int32 p = 6; In q = 7; } }
        message Out { In in = 1; repeated In list = 2; map<int32, In> map = 3; bool flag = 4; }
        message M { Out out = 1; In in = 2; repeated Out outs = 3; map<string, Out> map = 4; }";
    let decoder = decoder(source);
    let records = [
        "",
        "0a 00",
        "0a 04 0a 02 08 01",
        "12 00",
        "1a 00 1a 04 12 02 08 01",
        "22 04 12 02 12 00",
        "0a 06 12 04 3a 02 08 01",
        "0a 0a 12 08 3a 02 08 01 30 05 1a 00",
    ];
    let batch = decode(&decoder, &records.map(hex)).expect("valid");
    for column in batch.columns() {
        assert_null_below(column);
    }
    let sub = batch.column(0).as_struct().column(0);
    assert_eq!(sub.null_count(), 7, "out.in is there in the third record only");
}

/// A row that is NULL in a struct is NULL in each of its fields, at every depth.
fn assert_null_below(array: &ArrayRef) {
    match array.data_type() {
        DataType::Struct(fields) => {
            for (field, child) in fields.iter().zip(array.as_struct().columns()) {
                for row in (0..array.len()).filter(|&row| array.is_null(row)) {
                    assert!(child.is_null(row), "{} in row {row}", field.name());
                }
                assert_null_below(child);
            }
        }
        DataType::List(_) => assert_null_below(array.as_list::<i32>().values()),
        DataType::Map(..) => assert_null_below(array.as_map().values()),
        _ => {}
    }
}

#[test]
fn parts_that_are_not_wanted_are_null() {
    let source = "syntax = 'proto3'; message Sub { int32 a = 1; string b = 2; Sub c = 3; }
        message M { Sub s = 1; repeated Sub l = 2; map<string, Sub> m = 3; int32 i = 4; }";
    let decoder = decoder(source);
    let sub = "08 05 12 01 78 1a 02 08 06";
    let record = hex(&format!("0a 09 {sub} 12 09 {sub} 12 00 1a 0e 0a 01 6b 12 09 {sub} 20 07"));
    let mut selection = Selection::none();
    selection.add(&["c", "a"]);
    let columns = [2, 0, 1].map(|index| ColumnProjection { index, selection: selection.clone() });
    let mut scan = decoder.scan(&Projection { columns: columns.to_vec() }).expect("a plan");
    let batch = scan.decode("f", &block(&[record]), 0..1, &ScanCounters::default()).expect("valid").batch;
    let wanted = json!({"a": null, "b": null, "c": {"a": 6, "b": null, "c": null}});
    let absent = json!({"a": null, "b": null, "c": null});
    let expected = json!({"m": [{"key": "k", "value": wanted}], "s": wanted, "l": [wanted, absent]});
    assert_eq!(row(&batch, 0), expected);
    for (at, index) in [2, 0, 1].into_iter().enumerate() {
        assert_eq!(batch.schema().field(at), decoder.schema().field(index));
    }
}

#[test]
fn no_columns_give_rows_only() {
    let decoder = decoder("syntax = 'proto3'; message M { int32 a = 1; }");
    let mut scan = decoder.scan(&Projection::default()).expect("a plan");
    let batch = scan
        .decode("f", &block(&[[8, 1], [8, 2], [8, 3]]), 1..3, &ScanCounters::default())
        .expect("valid")
        .batch;
    assert_eq!((batch.num_rows(), batch.num_columns()), (2, 0));
}

#[test]
fn records_without_descriptors_are_bytes() {
    let decoder = RecordDecoder::open(&[], &ProtobufOptions::default(), &[]).expect("a table");
    let batch = decode(&decoder, &["short", "a longer record than a view holds"]).expect("bytes");
    let texts: Vec<_> = batch.column(0).as_binary_view().iter().flatten().collect();
    assert_eq!(texts, [b"short".as_slice(), b"a longer record than a view holds"]);
    assert_eq!(decoder.schema().field(0).name(), "record");
}

#[test]
fn records_that_lack_required_fields_are_counted() {
    let source = "syntax = 'proto2'; message Sub { required int32 a = 1; optional int32 b = 2; }
        message M { required int32 r = 1; optional Sub s = 2; repeated Sub l = 3; }";
    let cases = [
        ("08 01", 0),
        ("", 1),
        ("08 01 12 00", 1),
        ("08 01 12 02 08 01 1a 00", 1),
        ("08 01 12 02 10 01 12 02 08 01", 0),
        ("08 01 1a 02 08 01 1a 02 08 02", 0),
        ("12 00 1a 00", 1),
    ];
    let decoder = decoder(source);
    for (record, expected) in cases {
        let counters = ScanCounters::default();
        decode_counted(&decoder, &[hex(record)], &counters).expect("valid");
        assert_eq!(counters.value(&RECORDS_INCOMPLETE), expected, "{record}");
    }
    let counters = ScanCounters::default();
    decode_counted(&decoder, &cases.map(|(record, _)| hex(record)), &counters).expect("valid");
    assert_eq!(counters.value(&RECORDS_INCOMPLETE), 4);
}

#[test]
fn invalid_utf8_without_verification_is_mended() {
    let source = "syntax = 'proto2'; message M { optional string s = 1; map<string, int32> m = 2; }";
    let counters = ScanCounters::default();
    let records = [hex("0a 04 61 ff fe 62"), hex("0a 01 78"), hex("12 03 0a 01 ff"), vec![]];
    let batch = decode_counted(&decoder(source), &records, &counters).expect("mended");
    assert_eq!(row(&batch, 0)["s"], "a\u{fffd}\u{fffd}b");
    assert_eq!(row(&batch, 1)["s"], "x");
    assert_eq!(row(&batch, 2)["m"][0]["key"], "\u{fffd}");
    assert_eq!(row(&batch, 3)["s"], Value::Null);
    assert_eq!(counters.value(&INVALID_UTF8_REPLACED), 2);
}

#[test]
fn columns_have_the_types_of_the_mapping() {
    let source = "syntax = 'proto2'; import 'google/protobuf/any.proto'; import 'google/protobuf/timestamp.proto';
        package p; enum E { A = 0; } message Timestamp { optional int64 seconds = 1; }
        message M { optional sint32 z = 9; optional string s = 2; optional bytes b = 3; optional E e = 4;
            map<sint32, fixed32> m = 5; optional M r = 6; optional google.protobuf.Any any = 7;
            optional google.protobuf.Timestamp t = 8; optional Timestamp mine = 1; repeated group G = 10 { } }";
    let files = crate::support::compile(source).file;
    let files = files.iter().map(|file| prost::Message::encode_to_vec(file).into()).collect();
    let decoder = open(files, "p.M").expect("a table");
    let schema = decoder.schema();
    let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["z", "s", "b", "e", "m", "r", "any", "t", "mine", "g"]);
    let metadata = |name: &str| {
        let metadata = schema.field_with_name(name).expect(name).metadata().clone();
        metadata.into_iter().collect::<BTreeMap<_, _>>()
    };
    let expect = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
    };
    assert_eq!(metadata("z"), expect(&[("PARQUET:field_id", "9"), ("proto.type", "sint32")]));
    assert_eq!(
        metadata("e"),
        expect(&[
            ("PARQUET:field_id", "4"),
            ("proto.type", "enum"),
            ("proto.enum", "p.E"),
            ("proto.enum_values", "A=0")
        ])
    );
    assert_eq!(metadata("g")["proto.type"], "group");
    assert_eq!(metadata("t")["proto.message"], "google.protobuf.Timestamp");
    let column = |name: &str| schema.field_with_name(name).expect(name).data_type().clone();
    assert_eq!(column("t"), DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())));
    let DataType::List(item) = column("g") else { panic!("a list") };
    assert_eq!(item.data_type(), &DataType::Boolean);
    let DataType::Map(entries, false) = column("m") else { panic!("a map") };
    let DataType::Struct(entry) = entries.data_type() else { panic!("entries") };
    assert_eq!((entry[0].data_type(), entry[0].is_nullable()), (&DataType::Int64, false));
    assert_eq!((entry[1].data_type(), entry[1].is_nullable()), (&DataType::UInt32, true));
    assert_eq!(entry[0].metadata()["proto.type"], "sint32");
    let DataType::Struct(inner) = column("r") else { panic!("expanded once") };
    assert_eq!(inner.find("r").expect("r.r").1.data_type(), &DataType::Binary);
    let DataType::Struct(any) = column("any") else { panic!("a struct") };
    assert_eq!((any[0].data_type(), any[1].data_type()), (&DataType::Utf8View, &DataType::Binary));
    assert!(matches!(column("mine"), DataType::Struct(_)));
}

#[test]
fn too_many_leaves_are_refused() {
    let fields: Vec<_> = (1..=30).map(|at| format!("T{} f{at} = {at};", at % 6)).collect();
    let types: Vec<_> = (0..6).map(|at| format!("message T{at} {{ {} }}", fields.join(" "))).collect();
    let source = format!("syntax = 'proto3'; {} message M {{ T0 t = 1; }}", types.join(" "));
    let files = crate::support::compile(&source).file;
    let error =
        open(files.iter().map(|file| prost::Message::encode_to_vec(file).into()).collect(), "M").unwrap_err();
    assert!(error.to_string().contains("more than 10000 leaf columns"), "{error}");
}
