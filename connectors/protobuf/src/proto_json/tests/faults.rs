//! What has no text, and bytes that are no message.

use super::types::{PROTO2, PROTO3};
use super::{hex, json};
use crate::descriptor::testing::proto;

#[test]
fn values_without_a_text_are_refused() {
    let descriptors = proto(PROTO3);
    let cases = [
        ("Known", "0a 07 08 8083d1ffaf07", "field timestamp", "253402300800 s"),
        ("Known", "0a 0b 08 ff91b8c398feffffff01", "field timestamp", "-62135596801 s"),
        ("Known", "0a 06 10 8094ebdc03", "field timestamp", "1000000000 ns"),
        ("Known", "0a 0b 10 ffffffffffffffffff01", "field timestamp", "-1 ns"),
        ("Known", "0a 0b 08 80808080808080808001", "field timestamp", "-9223372036854775808 s"),
        ("Known", "12 07 08 81bcaece9709", "field duration", "315576000001 s"),
        ("Known", "12 06 10 8094ebdc03", "field duration", "1000000000 ns"),
        ("Known", "12 0d 08 01 10 ffffffffffffffffff01", "field duration", "1 s and -1 ns"),
        ("Known", "1a 04 0a02 6142", "field mask", "'aB'"),
        ("Known", "1a 05 0a03 615f31", "field mask", "'a_1'"),
        ("Known", "1a 05 0a03 5f5f61", "field mask", "'__a'"),
        ("Known", "1a 04 0a02 615f", "field mask", "'a_'"),
        ("Plain", "12 09 11 000000000000f07f", "field value", "no number inf"),
        ("Plain", "1a 0b 0a09 11 000000000000f87f", "field list", "no number NaN"),
        ("Holder", "0a05 0a03 782f59", "field any", "'Y'"),
        ("Holder", "0a04 1202 0801", "field any", "''"),
        ("Holder", "0a08 0a03 782f4d 1201 08", "field any.value", "end within a value"),
        ("Many", "4a 0b 0805 1207 08 8083d1ffaf07", "field times", "253402300800 s"),
    ];
    for (message, digits, place, reason) in cases {
        let fault = json(&descriptors, message, &hex(digits)).expect_err(digits).describe(message);
        assert!(fault.contains(place) && fault.contains(reason), "{message} {digits}: {fault}");
    }
}

#[test]
fn bytes_of_an_any_that_are_no_message_are_a_bad_value() {
    let descriptors = proto(PROTO3);
    let fault = json(&descriptors, "Holder", &hex("0a08 0a03 782f4d 1201 08")).expect_err("no message");
    assert!(matches!(fault.kind(), crate::fault::FaultKind::BadValue(_)), "{fault:?}");
    let fault = json(&descriptors, "Holder", &hex("0a08 0a03 782f4d 1202 08")).expect_err("no record");
    assert!(matches!(fault.kind(), crate::fault::FaultKind::Wire(_)), "{fault:?}");
}

#[test]
fn malformed_bytes_are_refused() {
    let (proto3, proto2) = (proto(PROTO3), proto(PROTO2));
    let cases = [
        ("Scalars", "08", "end within a value"),
        ("Scalars", "3d0000", "end within a value"),
        ("Scalars", "7202 61", "beyond the end"),
        ("Scalars", "00 00", "field number 0"),
        ("Scalars", "0e", "wire type 6"),
        ("Scalars", "0c", "ends that has not begun"),
        ("Scalars", "f3060801", "has no end"),
        ("Scalars", "08ffffffffffffffffffff01", "longer than ten bytes"),
        ("Many", "2a 05 0000000000", "packed values end within"),
        ("Many", "0a 01 80", "end within a value"),
        // Also where another member of the oneof follows, or an equal key.
        ("M", "4a0108 3801", "message.foo_bar: the bytes end within a value"),
        ("Many", "3a03 120108 3a00", "by_number.value.foo_bar: the bytes end within a value"),
        ("p.Two", "2b 0801", "grp: a group has no end"),
        ("p.Two", "2b 0801 3c", "ends that has not begun"),
    ];
    for (message, digits, reason) in cases {
        let descriptors = if message == "p.Two" { &proto2 } else { &proto3 };
        let fault = json(descriptors, message, &hex(digits)).expect_err(digits).describe(message);
        assert!(fault.contains(reason), "{digits}: {fault}");
    }
}

#[test]
fn messages_nest_to_the_limit() {
    let (proto3, proto2) = (proto(PROTO3), proto(PROTO2));
    let nested = |depth: usize, tag: u8| {
        (0..depth).fold(Vec::new(), |inner, _| {
            let mut bytes = vec![tag];
            prost::encoding::encode_varint(inner.len() as u64, &mut bytes);
            [bytes, inner].concat()
        })
    };
    let text = json(&proto3, "M", &nested(100, 0x32)).expect("100 are allowed");
    assert_eq!(text, format!("{}{{}}{}", "{\"child\":".repeat(100), "}".repeat(100)));
    let fault = json(&proto3, "M", &nested(101, 0x32)).expect_err("101 are not");
    assert!(fault.describe("M").contains("more than 100 deep"));

    let groups = |depth| [vec![0x0b; depth], vec![0x0c; depth]].concat();
    assert!(json(&proto2, "p.Two", &groups(100)).is_ok());
    assert!(json(&proto2, "p.Two", &groups(101)).is_err());
    // What an Any holds counts as one message more.
    let any = |depth: usize| {
        (0..depth).fold(Vec::new(), |inner, _| {
            let mut bytes = [&[0x0a, 0x15], b"x/google.protobuf.Any".as_slice(), &[0x12]].concat();
            prost::encoding::encode_varint(inner.len() as u64, &mut bytes);
            [bytes, inner].concat()
        })
    };
    assert!(json(&proto3, "google.protobuf.Any", &any(100)).is_ok());
    assert!(json(&proto3, "google.protobuf.Any", &any(101)).is_err());
}
