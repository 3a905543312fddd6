//! Values that other readers of protobuf messages get wrong, through every way to read them.

use std::fs;

use prost::Message;
use riegeli::{CompressionType, WriterOptions};

use crate::support::{compiled, data, metadata_of, riegeli_bytes};
use crate::surfaces::{Converted, answer, files, hex, lines, message_files};

#[tokio::test]
async fn zeros_are_zeros_and_only_fields_with_presence_are_null() {
    let proto = "enum E { ZERO = 0; ONE = 1; } message M { int32 n = 1; string s = 2; E e = 3; optional int32 o = 4; }";
    let files = message_files(proto, &[vec![]]);
    let all = lines(&[r#"{"n":0,"s":"","e":"ZERO","o":null}"#]);
    let counts = "SELECT count(n) AS n, count(s) AS s, count(e) AS e, count(o) AS o FROM t";
    let counted = lines(&[r#"{"n":1,"s":1,"e":1,"o":0}"#]);
    assert_eq!(answer(&files, &[], "SELECT * FROM t").await, all);
    assert_eq!(answer(&files, &[], counts).await, counted);
    for file in &files {
        let converted = Converted::new(file, &[]);
        assert_eq!(Ok(converted.rows("SELECT * FROM t").await), all);
        assert_eq!(Ok(converted.rows(counts).await), counted);
    }
}

#[tokio::test]
async fn dynamic_values_are_json_and_leave_other_columns_alone() {
    let proto = r#"import "google/protobuf/struct.proto";
        message M { map<string, google.protobuf.ListValue> data = 1; int32 x = 2; google.protobuf.Struct s = 3; }"#;
    let list = "0a 09 11 00 00 00 00 00 00 f0 3f 0a 03 1a 01 32 0a 02 08 00";
    let records = [
        hex(&format!("0a 1a 0a 02 64 31 12 14 {list} 10 05")),
        hex("10 06"),
        hex("10 07 1a 0d 0a 0b 0a 01 6b 12 06 2a 04 0a 02 0a 00"),
    ];
    let files = message_files(proto, &records);
    let query = "SELECT data['d1'] AS d, data['d2'] AS none, x FROM t WHERE x < 7";
    let expected = lines(&[r#"{"d":"[1,\"2\",null]","none":null,"x":5}"#, r#"{"d":null,"none":null,"x":6}"#]);
    assert_eq!(answer(&files, &[], query).await, expected);
    assert_eq!(answer(&files, &[], "SELECT sum(x) AS x FROM t").await, lines(&[r#"{"x":18}"#]));
    let nested = lines(&[r#"{"s":"{\"k\":{\"\":null}}"}"#]);
    assert_eq!(answer(&files, &[], "SELECT s FROM t WHERE x = 7").await, nested);
    for file in &message_files(proto, &records[..2]) {
        let converted = Converted::new(file, &[]);
        assert_eq!(
            Ok(converted.rows("SELECT data['d1'] AS d, data['d2'] AS none, x FROM t").await),
            expected
        );
    }
}

#[tokio::test]
async fn numbers_that_an_open_enum_does_not_name_are_their_digits() {
    let proto = "enum E { A = 0; B = 1; } message M { E e = 1; }";
    let minus_one = hex("08 ff ff ff ff ff ff ff ff ff 01");
    let files = message_files(proto, &[hex("08 01"), hex("08 07"), minus_one.clone(), minus_one]);
    let column = |values: [&str; 4]| Ok(values.map(|value| format!("{{\"e\":{value}}}")).to_vec());
    let names = || column(["\"B\"", "\"7\"", "\"-1\"", "\"-1\""]);
    for (options, expected) in [
        (&[][..], names()),
        (&[("enum", "string")], names()),
        (&[("enum", "number")], column(["1", "7", "-1", "-1"])),
    ] {
        assert_eq!(answer(&files, options, "SELECT e FROM t").await, expected, "{options:?}");
        let converted = Converted::new(&files[0], options);
        assert_eq!(Ok(converted.rows("SELECT e FROM t").await), expected, "{options:?}");
    }
    let grouped = "SELECT e, count(*) AS n FROM t GROUP BY e ORDER BY e";
    let expected = lines(&[r#"{"e":"-1","n":2}"#, r#"{"e":"7","n":1}"#, r#"{"e":"B","n":1}"#]);
    assert_eq!(answer(&files, &[], grouped).await, expected);
}

#[tokio::test]
async fn messages_without_fields_go_to_parquet_and_back() {
    let proto = r#"import "google/protobuf/empty.proto"; message Stub {}
        message M { google.protobuf.Empty a = 1; Stub b = 2; int32 x = 3; repeated Stub r = 4; }"#;
    let files =
        message_files(proto, &[hex("0a 00 18 01"), hex("12 00 18 02"), hex("18 03"), hex("22 00 22 00")]);
    let query = "SELECT a IS NOT NULL AS a, b IS NOT NULL AS b, x, array_length(r) AS r FROM t";
    let expected = lines(&[
        r#"{"a":true,"b":false,"x":1,"r":0}"#,
        r#"{"a":false,"b":true,"x":2,"r":0}"#,
        r#"{"a":false,"b":false,"x":3,"r":0}"#,
        r#"{"a":false,"b":false,"x":0,"r":2}"#,
    ]);
    assert_eq!(answer(&files, &[], query).await, expected);
    for file in &files {
        assert_eq!(Ok(Converted::new(file, &[]).rows(query).await), expected);
    }
}

#[tokio::test]
async fn the_last_member_of_a_oneof_is_the_one_that_is_set() {
    let proto = "message Sub { int32 x = 1; repeated string l = 2; }
        message M { oneof one { int32 a = 1; string b = 2; Sub c = 3; } }";
    let records = ["08 05 12 01 78", "12 01 78 08 05", "1a 02 08 01 08 05 1a 02 12 00", ""].map(hex);
    let files = message_files(proto, &records);
    let query = "SELECT a, b, c FROM t";
    let expected = lines(&[
        r#"{"a":null,"b":"x","c":null}"#,
        r#"{"a":5,"b":null,"c":null}"#,
        r#"{"a":null,"b":null,"c":{"x":0,"l":[""]}}"#,
        r#"{"a":null,"b":null,"c":null}"#,
    ]);
    assert_eq!(answer(&files, &[], query).await, expected);
    assert_eq!(Ok(Converted::new(&files[1], &[]).rows(query).await), expected);
    let a = lines(&[r#"{"a":null}"#, r#"{"a":5}"#, r#"{"a":null}"#, r#"{"a":null}"#]);
    assert_eq!(answer(&files, &[], "SELECT a FROM t").await, a, "also where the others are not wanted");
    let cases =
        lines(&[r#"{"one_case":"b"}"#, r#"{"one_case":"a"}"#, r#"{"one_case":"c"}"#, r#"{"one_case":null}"#]);
    assert_eq!(answer(&files, &[("oneof_case", "true")], "SELECT one_case FROM t").await, cases);
    let counts = "SELECT one_case, count(*) AS n FROM t WHERE a IS NULL GROUP BY 1 ORDER BY 1 NULLS LAST";
    let grouped =
        lines(&[r#"{"one_case":"b","n":1}"#, r#"{"one_case":"c","n":1}"#, r#"{"one_case":null,"n":1}"#]);
    assert_eq!(answer(&files, &[("oneof_case", "true")], counts).await, grouped);
}

#[derive(Clone, PartialEq, Message)]
struct Time {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

#[derive(Clone, PartialEq, Message)]
struct Timed {
    #[prost(message, optional, tag = "1")]
    t: Option<Time>,
}

/// The year 1, the last instant of the year 9999, half a second before 1970, and an instant with nanoseconds.
const TIMES: [(i64, i32); 4] =
    [(-62_135_596_800, 0), (253_402_300_799, 999_999_999), (-1, 500_000_000), (1_700_000_000, 123_456_789)];

#[tokio::test]
async fn timestamps_keep_their_range_and_digits_or_say_what_is_lost() {
    let proto = r#"import "google/protobuf/timestamp.proto"; message M { google.protobuf.Timestamp t = 1; }"#;
    let record = |&(seconds, nanos): &(i64, i32)| Timed { t: Some(Time { seconds, nanos }) }.encode_to_vec();
    let files = message_files(proto, &TIMES.iter().map(record).collect::<Vec<_>>());
    let micros = lines(&[
        r#"{"t":"0001-01-01T00:00:00Z"}"#,
        r#"{"t":"9999-12-31T23:59:59.999999Z"}"#,
        r#"{"t":"1969-12-31T23:59:59.500Z"}"#,
        r#"{"t":"2023-11-14T22:13:20.123456Z"}"#,
    ]);
    assert_eq!(answer(&files, &[], "SELECT t FROM t").await, micros);
    let converted = Converted::new(&files[0], &[]);
    assert!(converted.line.ends_with(" s, 2 timestamps truncated\n"), "{}", converted.line);
    assert_eq!(Ok(converted.rows("SELECT t FROM t").await), micros);

    let message = answer(&files, &[("timestamp", "ns")], "SELECT t FROM t").await.expect_err("out of range");
    assert!(message.starts_with("t.riegeli: record at position "), "{message}");
    assert!(message.contains("message t.M, field t: the value has no form in a column"), "{message}");
    assert!(message.contains("-62135596800 s"), "{message}");
    let nanos = [("timestamp", "ns"), ("on_bad_value", "null")];
    let expected = lines(&[
        r#"{"t":null}"#,
        r#"{"t":null}"#,
        r#"{"t":"1969-12-31T23:59:59.500Z"}"#,
        r#"{"t":"2023-11-14T22:13:20.123456789Z"}"#,
    ]);
    assert_eq!(answer(&files, &nanos, "SELECT t FROM t").await, expected);
    let converted = Converted::new(&files[1], &nanos);
    assert!(converted.line.ends_with(" s, 2 values nulled\n"), "{}", converted.line);
    assert_eq!(Ok(converted.rows("SELECT t FROM t").await), expected);

    let parts = "SELECT t['seconds'] AS s, t['nanos'] AS n FROM t";
    let exact: Vec<String> = TIMES.iter().map(|(s, n)| format!("{{\"s\":{s},\"n\":{n}}}")).collect();
    assert_eq!(answer(&files, &[("timestamp", "struct")], parts).await, Ok(exact.clone()));
    assert_eq!(Converted::new(&files[0], &[("timestamp", "struct")]).rows(parts).await, exact);
}

#[tokio::test]
async fn maps_as_lists_are_lists_of_key_and_value_in_parquet() {
    let proto = "message V { int32 x = 1; } message M { map<string, int32> m = 1; map<int32, V> v = 2; }";
    let records = [hex("0a 05 0a 01 6b 10 01 0a 03 0a 01 6c 12 06 08 05 12 02 08 07"), vec![]];
    let files = message_files(proto, &records);
    let options = [("map", "list")];
    let all = lines(&[
        r#"{"m":[{"key":"k","value":1},{"key":"l","value":0}],"v":[{"key":5,"value":{"x":7}}]}"#,
        r#"{"m":[],"v":[]}"#,
    ]);
    assert_eq!(answer(&files, &options, "SELECT * FROM t").await, all);
    for (part, expected) in [
        ("m[2]['key'] AS p", r#"{"p":"l"}"#),
        ("m[1]['value'] AS p", r#"{"p":1}"#),
        ("v[1]['key'] AS p", r#"{"p":5}"#),
        ("v[1]['value'] AS p", r#"{"p":{"x":7}}"#),
        ("v[1]['value']['x'] AS p", r#"{"p":7}"#),
        ("v[1]['value']['x'] AS p, v[1]['key'] AS k", r#"{"p":7,"k":5}"#),
        ("v[1] AS p", r#"{"p":{"key":5,"value":{"x":7}}}"#),
    ] {
        let query = format!("SELECT {part} FROM t LIMIT 1");
        assert_eq!(answer(&files, &options, &query).await, lines(&[expected]), "{part}");
    }
    for file in &files {
        let converted = Converted::new(file, &options);
        assert_eq!(Ok(converted.rows("SELECT * FROM t").await), all);
        let schema = converted.schema();
        assert!(schema.contains("group m [1] (LIST)") && schema.contains("group v [2] (LIST)"), "{schema}");
        assert!(
            schema.contains("BYTE_ARRAY key [1] (STRING); OPTIONAL INT32 value") && !schema.contains("(MAP)"),
            "{schema}"
        );
        let as_map = Converted::new(file, &[]).schema();
        assert!(as_map.contains("group m [1] (MAP)") && !as_map.contains("(LIST)"), "{as_map}");
    }
}

#[tokio::test]
async fn well_known_imports_are_supplied_and_others_are_named() {
    let known = r#"syntax = "proto3"; package t; import "google/protobuf/timestamp.proto";
        import "google/protobuf/wrappers.proto"; import "google/protobuf/struct.proto";
        import "google/protobuf/empty.proto";
        message M { google.protobuf.Timestamp t = 1; google.protobuf.Int64Value w = 2; google.protobuf.Struct s = 3;
            google.protobuf.Empty e = 4; }"#;
    let own = |all: Vec<(String, Vec<u8>)>, name: &str| -> Vec<u8> {
        all.into_iter().find(|(file, _)| file == name).expect(name).1
    };
    let record = hex("0a 02 08 05 12 02 08 07 1a 0b 0a 09 0a 01 6b 12 04 1a 02 68 69 22 00");
    let file = own(compiled(&[("t.proto", known)]), "t.proto");
    let expected = lines(&[r#"{"t":"1970-01-01T00:00:05Z","w":7,"s":"{\"k\":\"hi\"}","e":true}"#]);
    let inside = files(std::slice::from_ref(&record), &metadata_of("t.M", vec![file.clone()]));
    assert_eq!(answer(&inside, &[], "SELECT * FROM t").await, expected);
    // The same descriptors as a FileDescriptorSet: one file in field 1.
    let folder = tempfile::tempdir().expect("a folder");
    let set = folder.path().join("t.fds");
    let as_set = |file: &Vec<u8>| {
        let mut bytes = vec![];
        prost::encoding::bytes::encode(1, file, &mut bytes);
        bytes
    };
    fs::write(&set, as_set(&file)).expect("written");
    let set = set.display().to_string();
    let outside = [riegeli_bytes([&record], WriterOptions::new())];
    let options = [("descriptor_set", set.as_str()), ("message_type", "t.M")];
    assert_eq!(answer(&outside, &options, "SELECT * FROM t").await, expected);

    let other = [
        ("t.proto", r#"syntax = "proto3"; package t; import "other.proto"; message M { o.Other o = 1; }"#),
        ("other.proto", r#"syntax = "proto3"; package o; message Other { int32 x = 1; }"#),
    ];
    let file = own(compiled(&other), "t.proto");
    fs::write(folder.path().join("t.fds"), as_set(&file)).expect("written");
    let inside = files(&[record], &metadata_of("t.M", vec![file]));
    for (files, options) in [(&inside[..], &[][..]), (&outside[..], &options[..])] {
        let message = answer(files, options, "SELECT * FROM t").await.expect_err("an import is missing");
        assert!(message.contains("other.proto"), "{message}");
    }
}

#[tokio::test]
async fn editions_are_read_by_their_features() {
    let set = data("riegeli/protos/edition.fds").display().to_string();
    let records = [
        // Groups and prefixed messages, packed and expanded numbers, each also in the other's encoding.
        hex("08 01 18 00 22 02 01 02 28 03 28 04 33 0a 01 67 10 05 34 3b 10 06 3c 42 02 10 07 48 09 50 02"),
        hex("08 02 20 01 2a 02 03 04 48 05"),
    ];
    let options = [("descriptor_set", set.as_str()), ("message_type", "fx.Modern")];
    let files = [false, true].map(|transpose| {
        riegeli_bytes(&records, WriterOptions::new().compression(CompressionType::None).transpose(transpose))
    });
    let query =
        "SELECT id, name, implicit, packed, expanded, delimited, delimited_list, prefixed, open, closed,
        loose_text, preset FROM t";
    let expected = lines(&[
        r#"{"id":1,"name":null,"implicit":0,"packed":[1,2],"expanded":[3,4],"delimited":{"label":"g","count":5},"delimited_list":[{"label":null,"count":6}],"prefixed":{"label":null,"count":7},"open":"NINE","closed":"RED","loose_text":null,"preset":null}"#,
        r#"{"id":2,"name":null,"implicit":0,"packed":[1],"expanded":[3,4],"delimited":null,"delimited_list":[],"prefixed":null,"open":"5","closed":null,"loose_text":null,"preset":null}"#,
    ]);
    assert_eq!(answer(&files, &options, query).await, expected);
}

#[tokio::test]
async fn a_field_of_an_absent_message_is_null_at_every_depth() {
    let proto = "message In { int32 b = 1; } message Sub { int32 a = 1; In in = 2; } message M { int32 id = 1; Sub sub = 2; }";
    let records = [hex("08 01 12 02 08 05"), hex("08 02"), hex("08 03 12 04 12 02 08 07")];
    let files = message_files(proto, &records);
    let rows = lines(&[
        r#"{"id":1,"a":false,"b":true,"i":true}"#,
        r#"{"id":2,"a":true,"b":true,"i":true}"#,
        r#"{"id":3,"a":false,"b":false,"i":false}"#,
    ]);
    let each = "SELECT id, sub['a'] IS NULL AS a, sub['in']['b'] IS NULL AS b, sub['in'] IS NULL AS i FROM t";
    assert_eq!(answer(&files, &[], each).await, rows);
    let counts = "SELECT count(sub['a']) AS a, sum(sub['a']) AS s, count(sub) AS sub, count(sub['in']['b']) AS b, sum(sub['in']['b']) AS t FROM t";
    assert_eq!(answer(&files, &[], counts).await, lines(&[r#"{"a":2,"s":5,"sub":2,"b":1,"t":7}"#]));
    let filtered = "SELECT id FROM t WHERE sub['a'] IS NULL";
    assert_eq!(answer(&files, &[], filtered).await, lines(&[r#"{"id":2}"#]));
    let converted = Converted::new(&files[1], &[]);
    assert_eq!(Ok(converted.rows(each).await), rows);
    assert_eq!(converted.rows(counts).await, [r#"{"a":2,"s":5,"sub":2,"b":1,"t":7}"#]);
}

#[tokio::test]
async fn presence_is_that_of_the_value_as_it_is_shown() {
    let proto =
        "message M { int32 id = 1; optional string s = 2; optional int64 n = 3; repeated string tags = 4;
        map<string, string> m = 5; map<string, int32> counts = 6; oneof one { int32 a = 7; string b = 8; } }";
    let records = [
        hex("08 01 12 01 ff 18 00"),
        hex("08 02 22 01 78 2a 06 0a 01 6b 12 01 76 32 05 0a 01 6b 10 05"),
        hex("08 03 12 02 34 32 38 05 42 01 62"),
    ];
    let files = message_files(proto, &records);
    let query = "SELECT id, s IS NULL AS s, n IS NULL AS n, tags[1] IS NULL AS t, m['k'] IS NULL AS m,
        counts['k'] IS NULL AS c, a IS NULL AS a, b IS NOT NULL AS b FROM t";
    let rows = |s: bool| {
        lines(&[
            &format!(r#"{{"id":1,"s":{s},"n":false,"t":true,"m":true,"c":true,"a":true,"b":false}}"#),
            r#"{"id":2,"s":true,"n":true,"t":false,"m":false,"c":false,"a":true,"b":false}"#,
            r#"{"id":3,"s":false,"n":true,"t":true,"m":true,"c":true,"a":true,"b":true}"#,
        ])
    };
    assert_eq!(answer(&files, &[("invalid_utf8", "replace")], query).await, rows(false));
    assert_eq!(
        answer(&files, &[("invalid_utf8", "null")], query).await,
        rows(true),
        "an invalid string is NULL"
    );
}
