//! The acceptance cases of section 7 of the mapping.

use recordfusion_core::{Error, ScanCounters};
use recordfusion_protobuf::RecordDecoder;
use recordfusion_protobuf::counters::{FIELDS_PROJECTED, TIMESTAMPS_TRUNCATED, WIRE_TYPE_MISMATCHES};
use serde_json::{Value, json};

use crate::support::{decode, decode_counted, decoder, hex, row};

const M: &str = "syntax = 'proto3';
    enum E { A = 0; B = 1; C = 2; }
    message Sub { int32 a = 1; string b = 2; }
    message M {
        int32 i = 1; optional int32 oi = 2; string s = 3; uint64 u = 5; E c = 6; repeated E rc = 8; Sub sub = 9;
        repeated int32 ri = 10; map<string, int32> m = 11;
        oneof one { int32 ki = 13; string ks = 14; Sub km = 15; }
        map<string, Sub> mm = 16; repeated Sub rs = 17; }";

const TIMES: &str = "syntax = 'proto3';
    import 'google/protobuf/timestamp.proto'; import 'google/protobuf/wrappers.proto';
    message M { google.protobuf.Timestamp t = 1; google.protobuf.Int64Value w = 2; }";

/// The row of the empty record with some columns changed.
fn with(changes: &Value) -> Value {
    let mut row = json!({"i": 0, "oi": null, "s": "", "u": 0, "c": "A", "rc": [], "sub": null, "ri": [], "m": [],
        "ki": null, "ks": null, "km": null, "mm": [], "rs": []});
    for (column, value) in changes.as_object().expect("an object") {
        row[column] = value.clone();
    }
    row
}

fn check(decoder: &RecordDecoder, cases: &[(&str, Value)]) {
    for (record, expected) in cases {
        let batch = decode(decoder, &[hex(record)]).expect(record);
        assert_eq!(&row(&batch, 0), expected, "{record}");
    }
}

#[test]
fn values() {
    let cases = [
        ("", json!({})),
        ("30 63", json!({"c": "99"})),
        ("30 ff ff ff ff ff ff ff ff ff 01", json!({"c": "-1"})),
        ("68 05 72 01 78", json!({"ks": "x"})),
        ("4a 02 08 01 4a 03 12 01 71", json!({"sub": {"a": 1, "b": "q"}})),
        ("4a 02 08 01 08 07 4a 03 12 01 71", json!({"i": 7, "sub": {"a": 1, "b": "q"}})),
        ("5a 05 0a 01 6b 10 01 5a 05 0a 01 6b 10 02", json!({"m": [{"key": "k", "value": 2}]})),
        ("5a 00", json!({"m": [{"key": "", "value": 0}]})),
        ("82 01 03 0a 01 6b", json!({"mm": [{"key": "k", "value": {"a": 0, "b": ""}}]})),
        ("0a 03 61 62 63", json!({})),
        ("08 85 80 80 80 20", json!({"i": 5})),
        ("52 02 01 02 50 03", json!({"ri": [1, 2, 3]})),
        ("98 06 03 08 04", json!({"i": 4})),
        ("28 ff ff ff ff ff ff ff ff ff 01", json!({"u": u64::MAX})),
        ("8a 01 00 8a 01 02 08 05", json!({"rs": [{"a": 0, "b": ""}, {"a": 5, "b": ""}]})),
    ];
    let cases = cases.map(|(record, changes)| (record, with(&changes)));
    check(&decoder(M), &cases);
}

#[test]
fn other_wire_types_are_counted() {
    let counters = ScanCounters::default();
    decode_counted(&decoder(M), &[hex("0a 03 61 62 63"), vec![]], &counters).expect("valid");
    assert_eq!(counters.value(&WIRE_TYPE_MISMATCHES), 1);
    assert_eq!(counters.records_decoded.value(), 2);
    assert_eq!(counters.value(&FIELDS_PROJECTED), 20);
}

#[test]
fn bad_records_say_where_and_what() {
    let cases = [
        ("1a 02 ff fe", "file: record at position 101: message M, field s: the text is not valid UTF-8"),
        (
            "1a 05 61",
            "file: record at position 101: message M, field s: a length reaches beyond the end of the message",
        ),
        (
            "4a 03 12 01 ff",
            "file: record at position 101: message M, field sub.b: the text is not valid UTF-8",
        ),
        ("4a 01 08", "file: record at position 101: message M, field sub.a: the bytes end within a value"),
        (
            "8a 01 03 12 01 ff",
            "file: record at position 101: message M, field rs.b: the text is not valid UTF-8",
        ),
        (
            "5a 03 0a 01 ff",
            "file: record at position 101: message M, field m.key: the text is not valid UTF-8",
        ),
        ("00 00", "file: record at position 101: message M: a tag has the field number 0"),
        ("72 01 ff 68 05", "file: record at position 101: message M, field ki: the text is not valid UTF-8"),
    ];
    for (record, expected) in cases {
        let error = decode(&decoder(M), &[vec![], hex(record), hex("0f")]).expect_err(record);
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn closed_enums_do_not_count_unknown_numbers() {
    let source =
        "syntax = 'proto2'; enum E { A = 1; B = 2; } message M { optional E c = 3; repeated E rc = 6; }";
    let cases = [
        ("18 09 30 09 30 02", json!({"c": null, "rc": ["B"]})),
        ("18 02 18 09", json!({"c": "B", "rc": []})),
        ("32 03 01 09 02", json!({"c": null, "rc": ["A", "B"]})),
    ];
    check(&decoder(source), &cases);
}

#[test]
fn times_and_wrappers() {
    let both = |t: &str| json!({"t": t, "w": null});
    let cases = [
        ("0a 0d 08 ff 82 d1 ff af 07 10 ff 93 eb dc 03", both("9999-12-31T23:59:59.999999Z")),
        ("0a 0b 08 80 92 b8 c3 98 fe ff ff ff 01", both("0001-01-01T00:00:00.000000Z")),
        ("0a 11 08 ff ff ff ff ff ff ff ff ff 01 10 80 ca b5 ee 01", both("1969-12-31T23:59:59.500000Z")),
        ("0a 08 08 01 10 80 a8 d6 b9 07", both("1970-01-01T00:00:03.000000Z")),
        ("0a 02 08 05 0a 03 10 e8 07", both("1970-01-01T00:00:05.000001Z")),
        ("12 00", json!({"t": null, "w": 0})),
        ("12 02 08 05 12 00", json!({"t": null, "w": 5})),
        ("", json!({"t": null, "w": null})),
    ];
    let decoder = decoder(TIMES);
    check(&decoder, &cases);
    let counters = ScanCounters::default();
    decode_counted(&decoder, &cases.clone().map(|(record, _)| hex(record)), &counters).expect("valid");
    assert_eq!(counters.value(&TIMESTAMPS_TRUNCATED), 1);
}

#[test]
fn a_time_beyond_64_bits_is_a_bad_value() {
    let error = decode(&decoder(TIMES), &[hex("0a 0a 08 80 80 80 80 80 80 80 80 10")]).expect_err("2^60 s");
    assert!(
        matches!(&error, Error::BadRecord { position: 100, fault, .. } if fault.contains("field t")),
        "{error}"
    );
}
