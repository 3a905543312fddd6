//! Messages as hexadecimal digits against the text stated for them.

mod faults;
mod oracle;
mod types;

use std::collections::HashMap;

use serde_json::Value;

use super::JsonTexts;
use crate::descriptor::Descriptors;
use crate::descriptor::testing::{fixture, proto};
use crate::fault::Result;
use crate::options::{InvalidUtf8, Mapping};
use types::{PROTO2, PROTO3};

/// The bytes behind hexadecimal digits; spaces do not count.
fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u32> = digits.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

fn replacing() -> Mapping {
    Mapping { invalid_utf8: InvalidUtf8::Replace, ..Mapping::default() }
}

fn json(descriptors: &Descriptors, message: &str, bytes: &[u8]) -> Result<String> {
    JsonTexts::new(descriptors, &replacing()).text(descriptors.find(message).expect(message), bytes)
}

fn check(source: &str, cases: &[(&str, &str, &str)]) {
    let descriptors = proto(source);
    for (message, digits, expected) in cases {
        let text = json(&descriptors, message, &hex(digits)).map_err(|fault| fault.describe(message));
        assert_eq!(text.as_deref(), Ok(*expected), "{message} {digits}");
    }
}

#[test]
fn scalars() {
    check(
        PROTO3,
        &[
            ("Scalars", "", "{}"),
            ("Scalars", "0801", r#"{"int32":1}"#),
            ("Scalars", "08 ffffffffffffffffff01", r#"{"int32":-1}"#),
            ("Scalars", "08 ffffffff0f", r#"{"int32":-1}"#),
            ("Scalars", "10 ffffffffffffffffff01", r#"{"int64":"-1"}"#),
            ("Scalars", "18 ffffffff0f", r#"{"uint32":4294967295}"#),
            ("Scalars", "20 ffffffffffffffffff01", r#"{"uint64":"18446744073709551615"}"#),
            ("Scalars", "2803", r#"{"sint32":-2}"#),
            ("Scalars", "30 ffffffffffffffffff01", r#"{"sint64":"-9223372036854775808"}"#),
            ("Scalars", "3d ffffffff", r#"{"fixed32":4294967295}"#),
            ("Scalars", "41 ffffffffffffffff", r#"{"fixed64":"18446744073709551615"}"#),
            ("Scalars", "4d ffffffff", r#"{"sfixed32":-1}"#),
            ("Scalars", "51 feffffffffffffff", r#"{"sfixed64":"-2"}"#),
            ("Scalars", "6805", r#"{"bool":true}"#),
            ("Scalars", "72 04 22 5c 0a 01", r#"{"string":"\"\\\n\u0001"}"#),
            ("Scalars", "72 06 c3a9 f09f9880", "{\"string\":\"é😀\"}"),
            ("Scalars", "72 03 61ff62", "{\"string\":\"a\u{fffd}b\"}"),
            ("Scalars", "7a 01 fb", r#"{"bytes":"+w=="}"#),
            ("Scalars", "7a 02 fbff", r#"{"bytes":"+/8="}"#),
            ("Scalars", "7a 03 fbfffe", r#"{"bytes":"+//+"}"#),
            // Defaults are not told from absence: int32, float, bool, string, bytes.
            ("Scalars", "0800 5d00000000 6800 7200 7a00", "{}"),
            ("Scalars", "08808080808010", "{}"),
            // Fields stand in the order of their numbers, whatever their order on the wire.
            ("Scalars", "6801 0801", r#"{"int32":1,"bool":true}"#),
            ("Scalars", "0801 0802", r#"{"int32":2}"#),
            ("Scalars", "0801 0800", "{}"),
        ],
    );
}

#[test]
fn floats_are_the_shortest_that_read_back() {
    check(
        PROTO3,
        &[
            ("Scalars", "5d cdcccc3d", r#"{"float":0.1}"#),
            ("Scalars", "5d 0000803f", r#"{"float":1}"#),
            ("Scalars", "5d 00000080", r#"{"float":-0}"#),
            ("Scalars", "5d ffff7f7f", r#"{"float":3.4028235e38}"#),
            ("Scalars", "5d 01000000", r#"{"float":1e-45}"#),
            ("Scalars", "5d 0000807f", r#"{"float":"Infinity"}"#),
            ("Scalars", "5d 000080ff", r#"{"float":"-Infinity"}"#),
            ("Scalars", "5d 0000c07f", r#"{"float":"NaN"}"#),
            ("Scalars", "61 9a9999999999b93f", r#"{"double":0.1}"#),
            ("Scalars", "61 000000000000f8bf", r#"{"double":-1.5}"#),
            ("Scalars", "61 ffffffffffffef7f", r#"{"double":1.7976931348623157e308}"#),
            ("Scalars", "61 000000000000f07f", r#"{"double":"Infinity"}"#),
            ("Scalars", "61 000000000000f0ff", r#"{"double":"-Infinity"}"#),
            ("Scalars", "61 000000000000f8ff", r#"{"double":"NaN"}"#),
        ],
    );
}

#[test]
fn names_presence_and_nesting() {
    check(
        PROTO3,
        &[
            ("M", "0801", r#"{"fooBar":1}"#),
            ("M", "1001", r#"{"renamed one":1}"#),
            ("M", "1801", r#"{"FieldName3":1}"#),
            ("M", "2000", r#"{"maybe":0}"#),
            ("M", "2800", "{}"),
            ("M", "2801", r#"{"color":"RED"}"#),
            ("M", "2807", r#"{"color":7}"#),
            ("M", "28 ffffffffffffffffff01", r#"{"color":-1}"#),
            ("M", "3200", r#"{"child":{}}"#),
            ("M", "32 02 0801 32 02 1001", r#"{"child":{"fooBar":1,"renamed one":1}}"#),
            ("M", "32 04 3202 0801", r#"{"child":{"child":{"fooBar":1}}}"#),
            // The last member of a oneof clears the others; a member that goes on merges.
            ("M", "3801 4200", r#"{"text":""}"#),
            ("M", "4200 3800", r#"{"number":0}"#),
            ("M", "4a020801 4a021001", r#"{"message":{"fooBar":1,"renamed one":1}}"#),
            ("M", "4a020801 3801 4a021001", r#"{"message":{"renamed one":1}}"#),
            ("M", "5000", r#"{"nothing":null}"#),
            // Unknown fields, of every wire type, and known ones with another wire type.
            ("M", "f80601 fa060161 fb06 fc06 0801", r#"{"fooBar":1}"#),
            ("M", "0a0101 0d00000000 0b0c 0801", r#"{"fooBar":1}"#),
        ],
    );
}

#[test]
fn lists_and_maps() {
    check(
        PROTO3,
        &[
            ("Many", "0a 03 01 02 03", r#"{"ints":[1,2,3]}"#),
            ("Many", "08 00 0a 00 0a 01 02", r#"{"ints":[0,2]}"#),
            ("Many", "0a00", "{}"),
            ("Many", "1200 120161", r#"{"texts":["","a"]}"#),
            ("Many", "1a00 1a020801", r#"{"messages":[{},{"fooBar":1}]}"#),
            ("Many", "22 03 00 01 09", r#"{"colors":["NONE","RED",9]}"#),
            ("Many", "2a10 0000803f0000c07f 0000807f0000803e", r#"{"floats":[1,"NaN","Infinity",0.25]}"#),
            ("Many", "32 05 0a0161 1001", r#"{"byText":{"a":1}}"#),
            ("Many", "3200", r#"{"byText":{"":0}}"#),
            ("Many", "32 05 1001 0a0161", r#"{"byText":{"a":1}}"#),
            ("Many", "32050a01611001 32050a01621002 32050a01611003", r#"{"byText":{"a":3,"b":2}}"#),
            ("Many", "3a 06 08 01 12 02 0801 3a020801", r#"{"byNumber":{"-1":{}}}"#),
            ("Many", "3a 0a 0803 1202 0801 1202 1001", r#"{"byNumber":{"-2":{"fooBar":1,"renamed one":1}}}"#),
            ("Many", "42 04 0801 1000 42021001", r#"{"byBool":{"true":"NONE","false":"RED"}}"#),
            ("Many", "4a 06 0802 1202 0805", r#"{"times":{"2":"1970-01-01T00:00:05Z"}}"#),
            ("Many", "4a00", r#"{"times":{"0":"1970-01-01T00:00:00Z"}}"#),
            ("Many", "5200", r#"{"values":{"0":null}}"#),
            ("Many", "5a00", r#"{"wrappers":{"0":"0"}}"#),
            ("Many", "62 02 0802 62 00", r#"{"wrapperList":["2","0"]}"#),
        ],
    );
}

#[test]
fn times_masks_and_wrappers() {
    check(
        PROTO3,
        &[
            ("Known", "0a00", r#"{"timestamp":"1970-01-01T00:00:00Z"}"#),
            ("Known", "0a 08 08 01 10 80cab5ee01", r#"{"timestamp":"1970-01-01T00:00:01.500Z"}"#),
            ("Known", "0a 02 10 01", r#"{"timestamp":"1970-01-01T00:00:00.000000001Z"}"#),
            ("Known", "0a 03 10 e807", r#"{"timestamp":"1970-01-01T00:00:00.000001Z"}"#),
            ("Known", "0a 0b 08 ffffffffffffffffff01", r#"{"timestamp":"1969-12-31T23:59:59Z"}"#),
            ("Known", "0a 0b 08 8092b8c398feffffff01", r#"{"timestamp":"0001-01-01T00:00:00Z"}"#),
            ("Known", "0a 07 08 ff82d1ffaf07", r#"{"timestamp":"9999-12-31T23:59:59Z"}"#),
            ("Known", "1200", r#"{"duration":"0s"}"#),
            ("Known", "12 08 08 01 10 80cab5ee01", r#"{"duration":"1.500s"}"#),
            ("Known", "12 0b 10 ffffffffffffffffff01", r#"{"duration":"-0.000000001s"}"#),
            ("Known", "12 0b 08 fdffffffffffffffff01", r#"{"duration":"-3s"}"#),
            ("Known", "12 07 08 80bcaece9709", r#"{"duration":"315576000000s"}"#),
            ("Known", "1a00", r#"{"mask":""}"#),
            ("Known", "1a 0c 0a07666f6f5f626172 0a0161", r#"{"mask":"fooBar,a"}"#),
            ("Known", "1a 07 0a05 612e625f63", r#"{"mask":"a.bC"}"#),
            ("Known", "2200", r#"{"boolValue":false}"#),
            ("Known", "2a00 2a020805", r#"{"int64Value":"5"}"#),
            ("Known", "3200", r#"{"stringValue":""}"#),
            ("Known", "3a 03 0a01fb", r#"{"bytesValue":"+w=="}"#),
            ("Known", "42 05 0d 0000c07f", r#"{"floatValue":"NaN"}"#),
            ("Known", "42 05 0d cdcccc3d", r#"{"floatValue":0.1}"#),
            ("Known", "4a00", r#"{"empty":{}}"#),
            ("google.protobuf.Int32Value", "", "0"),
            ("google.protobuf.Timestamp", "", r#""1970-01-01T00:00:00Z""#),
        ],
    );
}

#[test]
fn plain_json() {
    check(
        PROTO3,
        &[
            ("Plain", "0a00", r#"{"struct":{}}"#),
            ("Plain", "1200", r#"{"value":null}"#),
            ("Plain", "12020800", r#"{"value":null}"#),
            ("Plain", "12 09 11 000000000000f83f", r#"{"value":1.5}"#),
            ("Plain", "12 03 1a0161", r#"{"value":"a"}"#),
            ("Plain", "12 02 2001", r#"{"value":true}"#),
            ("Plain", "12 02 2a00", r#"{"value":{}}"#),
            ("Plain", "12 02 3200", r#"{"value":[]}"#),
            ("Plain", "1a00", r#"{"list":[]}"#),
            ("Plain", "1a 06 0a022001 0a00", r#"{"list":[true,null]}"#),
            ("Plain", "0a 0b 0a09 0a0161 1204 1a02 6263", r#"{"struct":{"a":"bc"}}"#),
            // Occurrences merge, and another kind replaces what was there.
            ("Plain", "1a040a022001 1a040a022000", r#"{"list":[true,false]}"#),
            ("Plain", "12022001 12031a0161", r#"{"value":"a"}"#),
        ],
    );
}

#[test]
fn any_message() {
    check(
        PROTO3,
        &[
            ("Holder", "0a00", r#"{"any":{}}"#),
            // type.x/M
            ("Holder", "0a0a 0a08 747970652e782f4d", r#"{"any":{"@type":"type.x/M"}}"#),
            ("Holder", "0a0e 0a08 747970652e782f4d 1202 0801", r#"{"any":{"@type":"type.x/M","fooBar":1}}"#),
            // x/google.protobuf.Duration
            (
                "Holder",
                "0a20 0a1a 782f676f6f676c652e70726f746f6275662e4475726174696f6e 1202 0801",
                r#"{"any":{"@type":"x/google.protobuf.Duration","value":"1s"}}"#,
            ),
            // x/google.protobuf.Empty
            (
                "Holder",
                "0a19 0a17 782f676f6f676c652e70726f746f6275662e456d707479",
                r#"{"any":{"@type":"x/google.protobuf.Empty"}}"#,
            ),
            // x/google.protobuf.Any, which holds an x/M
            (
                "Holder",
                "0a22 0a15 782f676f6f676c652e70726f746f6275662e416e79 1209 0a03 782f4d 1202 0801",
                r#"{"any":{"@type":"x/google.protobuf.Any","value":{"@type":"x/M","fooBar":1}}}"#,
            ),
        ],
    );
}

#[test]
fn proto2() {
    check(
        PROTO2,
        &[
            ("p.Two", "0800", r#"{"number":0}"#),
            ("p.Two", "1005", r#"{"color":"GREEN"}"#),
            // Numbers that a closed enum does not have are unknown fields.
            ("p.Two", "1007", "{}"),
            ("p.Two", "1005 1007", r#"{"color":"GREEN"}"#),
            ("p.Two", "1805 1807 1804", r#"{"colors":["GREEN","RED"]}"#),
            ("p.Two", "1a03 050704", r#"{"colors":["GREEN","RED"]}"#),
            ("p.Two", "22020801 220408021007", r#"{"byNumber":{"1":"BLUE"}}"#),
            ("p.Two", "2001", "{}"),
            // Groups, one of them in two parts.
            ("p.Two", "2b 0801 2c 2b 1001 2c", r#"{"grp":{"aB":1,"b":1}}"#),
            ("p.Two", "3b 3c 3b 0801 3c", r#"{"many":[{},{"a":1}]}"#),
            ("p.Two", "2a020801", "{}"),
            // Extensions are behind all fields.
            ("p.Two", "a00601 0801", r#"{"number":1,"[p.e_one]":1}"#),
            ("p.Two", "aa06020801 5001", r#"{"last":1,"[p.Scope.e_two]":{"number":1}}"#),
            ("p.Two", "b00601 b00602", r#"{"[p.e_many]":[1,2]}"#),
            // An alias shows as the first name.
            ("p.Two", "5804", r#"{"alias":"FIRST"}"#),
            // The member is not set, and the other one stays.
            ("p.Two", "6001 6807", r#"{"one":1}"#),
            ("p.Two", "6001 6804", r#"{"two":"RED"}"#),
        ],
    );
}

/// Each case of protobuf's conformance suite that is a message has a text, unless that test is about a value
/// without one; the others are refused, unless it is for their UTF-8.
#[test]
fn conformance_cases() {
    let types: Value = serde_json::from_slice(&fixture("conformance/types.json")).expect("JSON");
    let lines = String::from_utf8(fixture("conformance/cases.jsonl")).expect("UTF-8");
    let mut sets = HashMap::new();
    for line in lines.lines() {
        let case: Value = serde_json::from_str(line).expect("JSON");
        let [file, test, digits] = ["file", "test", "hex"].map(|key| case[key].as_str().expect(key));
        let file = file.trim_end_matches("_own");
        let set = sets.entry(file.to_string()).or_insert_with(|| {
            Descriptors::from_set(&fixture(&format!("conformance/{file}.fds"))).expect("a set")
        });
        let message = types[file]["message"].as_str().expect("a name");
        let text = json(set, message, &hex(digits)).map_err(|fault| fault.describe(message));
        match text {
            Ok(text) => {
                assert!(case["outcome"] == "row" || test.contains("Utf8"), "{test}: {text}");
                serde_json::from_str::<Value>(&text).expect(&text);
            }
            Err(fault) if case["outcome"] == "row" => {
                let no_text = test.ends_with(".JsonOutput") || NO_TEXT.contains(&test);
                assert!(no_text && fault.contains("has no form"), "{test}: {fault}");
            }
            Err(_) => {}
        }
    }
}

/// A duration with two signs, and an `Any` of a type that is not there.
const NO_TEXT: [&str; 2] = ["Own.Merge.DurationTwoParts", "Own.Merge.Any"];
