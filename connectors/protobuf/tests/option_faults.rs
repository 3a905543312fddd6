//! Options that meet odd records and odd message types.

use recordfusion_core::{Error, ScanCounters};
use recordfusion_protobuf::counters::{INVALID_UTF8_REPLACED, RECORDS_SKIPPED, VALUES_NULLED};
use serde_json::json;

use crate::support::{compile, decode, decode_counted, decoder_with, hex, open_with, row};
use prost::Message;

/// The error of opening a table of the message type `M`.
fn refusal(source: &str, options: &[(&str, &str)]) -> String {
    let files = compile(source).file;
    let files = files.iter().map(|file| file.encode_to_vec().into()).collect();
    open_with(files, "M", &options.iter().copied().collect()).expect_err("refused").to_string()
}

const TREE: &str =
    "syntax = 'proto3'; message M { int32 v = 1; M next = 2; string s = 3; repeated M all = 4; }";

#[test]
fn what_is_dropped_is_checked_like_anything_else() {
    // The record itself, one level below, and what recursion cuts.
    let records =
        ["08 01", "12 02 08 02", "12 05 12 03 1a 01 ff", "22 05 22 03 1a 01 ff", "12 05 12 03 1a 05 61"];
    let records = records.map(hex);
    for recursion in ["binary", "json", "drop"] {
        let skip = decoder_with(TREE, &[("recursion", recursion), ("on_bad_record", "skip")]);
        let counters = ScanCounters::default();
        let batch = decode_counted(&skip, &records, &counters).expect("bad ones are left out");
        assert_eq!((batch.num_rows(), counters.value(&RECORDS_SKIPPED)), (2, 3), "{recursion}");
    }
    let options = [("recursion", "drop"), ("recursion_depth", "0"), ("metadata_columns", "unknown")];
    let batch = decode(&decoder_with(TREE, &options), &[hex("08 01 12 02 08 02 28 07")]).expect("valid");
    assert_eq!(row(&batch, 0), json!({"v": 1, "s": "", "_unknown": "KAc="}));
}

#[test]
fn map_entries_of_unknown_closed_enum_values_are_unknown_fields() {
    let source = "syntax = 'proto2'; enum C { P = 1; Q = 5; } message M { optional int32 i = 1; map<string, C> m = 7; }";
    let record = hex("08 01 3a 05 0a 01 6b 10 58 3a 05 0a 01 6a 10 05");
    let batch = decode(&decoder_with(source, &[("metadata_columns", "unknown")]), &[record]).expect("valid");
    let map = json!([{"key": "j", "value": "Q"}]);
    assert_eq!(row(&batch, 0), json!({"i": 1, "m": map, "_unknown": "OgUKAWsQWA=="}));
}

#[test]
fn text_inside_of_json_is_checked_like_other_text() {
    let source = "syntax = 'proto3'; import 'google/protobuf/any.proto';
        message Sub { string b = 1; } message M { google.protobuf.Any any = 1; }";
    // An Any that holds a Sub with the text 0xff.
    let inner = [b"\x0a\x05x/Sub".as_slice(), b"\x12\x03\x0a\x01\xff"].concat();
    let record = [&[0x0a, inner.len() as u8], inner.as_slice()].concat();
    for (policy, expected) in [
        ("auto", None),
        ("error", None),
        ("replace", Some(("{\"@type\":\"x/Sub\",\"b\":\"\u{fffd}\"}", 1, 0))),
        ("null", Some(("{\"@type\":\"x/Sub\",\"b\":null}", 0, 1))),
    ] {
        let decoder = decoder_with(source, &[("any", "json"), ("invalid_utf8", policy)]);
        let counters = ScanCounters::default();
        let outcome = decode_counted(&decoder, &[&record], &counters);
        let counted = (counters.value(&INVALID_UTF8_REPLACED), counters.value(&VALUES_NULLED));
        match (outcome, expected) {
            (Err(Error::BadRecord { fault, .. }), None) => assert!(fault.contains("UTF-8"), "{fault}"),
            (Ok(batch), Some((text, mended, nulled))) => {
                assert_eq!(row(&batch, 0), json!({"any": text}));
                assert_eq!(counted, (mended, nulled), "{policy}");
            }
            (outcome, _) => panic!("{policy}: {outcome:?}"),
        }
    }
}

#[test]
fn refusals_name_the_option_that_helps() {
    let many: String = (1..=10_001).map(|number| format!("int32 f{number} = {number};")).collect();
    let wide = format!("syntax = 'proto3'; message M {{ {many} }}");
    let oneof = "syntax = 'proto3'; message M { oneof k { int32 a = 1; } int32 k_case = 2; }";
    for (source, options, expected) in [
        ("syntax = 'proto3'; message M {}", &[][..], "message type M has no fields that could be columns"),
        (wide.as_str(), &[], "a .proto with some of its fields, given by option 'proto'"),
        (TREE, &[("recursion_depth", "16")], "option 'recursion_depth'"),
        (TREE, &[("recursion", "error")], "the option 'recursion'"),
        (oneof, &[("oneof_case", "true")], "option 'oneof_case' adds one of them"),
    ] {
        let error = refusal(source, options);
        assert!(error.contains(expected), "{error}");
    }
    let metadata = decoder_with("syntax = 'proto3'; message M {}", &[("metadata_columns", "record")]);
    assert_eq!(row(&decode(&metadata, &[[8u8, 1]]).expect("valid"), 0), json!({"_record": "CAE="}));
}
