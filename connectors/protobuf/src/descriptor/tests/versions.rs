//! Versions of one message type: joined where they fit, refused with the first difference where not.

use super::super::files::FileSet;
use super::super::merge::{Version, merge};
use super::super::testing::compiled;
use super::super::text::files_text;
use super::super::*;

fn version(origin: &str, source: &str) -> Version {
    let files = FileSet::new(compiled(&[("m.proto", source)])).expect("a set");
    Version::new(origin, files, "M").expect("M resolves")
}

fn merged(first: &str, second: &str) -> Result<Version, String> {
    merge(&version("a", first), &[version("b", second)]).map_err(|error| error.to_string())
}

/// Text of what is joined, without its first line and blank ones.
fn joined(first: &str, second: &str) -> String {
    let version = merged(first, second).expect("they fit");
    let text = files_text(&version.files, "m.proto");
    let again = Version::new("again", FileSet::new(compiled(&[("m.proto", &text)])).expect("a set"), "M");
    assert_eq!(again.expect("the text resolves").descriptors, version.descriptors, "{text}");
    let lines: Vec<_> = text.lines().skip(1).map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join(" ")
}

#[test]
fn versions_are_joined_by_number() {
    for (first, second, text) in [
        // The first one's names win.
        (
            "message M { optional int32 x = 1; }",
            "message M { optional int32 y = 1; }",
            "message M { optional int32 x = 1; }",
        ),
        (
            "message M { optional int32 b = 2; }",
            "message M { optional int32 a = 1; optional int32 b = 2; optional int32 c = 3; }",
            "message M { optional int32 b = 2; optional int32 a = 1; optional int32 c = 3; }",
        ),
        // Types come along, nested and not.
        (
            "message M {}",
            "message M { optional N n = 1; map<string, E> e = 2; optional group G = 3 { optional M m = 1; }
             message In { optional N n = 1; } optional In in = 4; } message N {} enum E { A = 0; }",
            "enum E { A = 0; } message M { optional N n = 1; map<string, E> e = 2; \
             optional group G = 3 { optional M m = 1; } message In { optional N n = 1; } optional In in = 4; } \
             message N { }",
        ),
        // So do the fields and values of types that both have.
        (
            "message M { optional N n = 1; enum E { A = 1; reserved 2, 5; reserved 'B'; } optional E e = 2; } message N {}",
            "message M { optional N n = 1; enum E { A = 1; B = 2; } optional E e = 2; } message N { optional M m = 7; }",
            "message M { enum E { A = 1; B = 2; reserved 5; } optional N n = 1; optional E e = 2; } \
             message N { optional M m = 7; }",
        ),
        // A name that was given up is taken again.
        (
            "message M { reserved 1, 4; reserved 'x', 'z'; }",
            "message M { optional int32 x = 1; }",
            "message M { optional int32 x = 1; reserved 4; reserved \"z\"; }",
        ),
        // Required only if both say so.
        (
            "message M { required int32 x = 1; required int32 y = 2; }",
            "message M { required int32 x = 1; optional int32 y = 2; required int32 z = 3; }",
            "message M { required int32 x = 1; optional int32 y = 2; optional int32 z = 3; }",
        ),
        // Oneofs: new members, new oneofs, a field that was alone.
        (
            "message M { oneof o { int32 a = 1; } }",
            "message M { oneof p { int32 a = 1; int32 b = 2; } oneof q { int32 c = 3; } }",
            "message M { oneof o { int32 a = 1; int32 b = 2; } oneof q { int32 c = 3; } }",
        ),
        (
            "message M { optional int32 a = 1; }",
            "message M { oneof o { int32 a = 1; } optional int32 b = 2; }",
            "message M { optional int32 a = 1; optional int32 b = 2; }",
        ),
        // Extensions.
        (
            "message M { extensions 10 to 20; } extend M { optional int32 a = 10; }",
            "message M { extensions 10 to 20; } extend M { optional int32 a = 10; optional int32 b = 11; }",
            "message M { extensions 10 to 20; } extend M { optional int32 a = 10; optional int32 b = 11; }",
        ),
    ] {
        assert_eq!(joined(first, second), text);
    }
}

#[test]
fn contradictions_name_both_files_and_the_difference() {
    for (first, second, difference) in [
        (
            "message M { optional int32 x = 1; }",
            "message M { optional string y = 1; }",
            "field 1 of M is 'int32 x' in the first, 'string y' in the second",
        ),
        (
            "message M { optional int32 x = 1; }",
            "message M { repeated int32 x = 1; }",
            "field 1 of M is 'int32 x' in the first, 'repeated int32 x' in the second",
        ),
        (
            "message M { optional int32 x = 1; }",
            "message M { optional int32 x = 2; }",
            "field x of M has the number 1 in the first, 2 in the second",
        ),
        (
            "message M { optional A x = 1; } message A {}",
            "message M { optional B x = 1; } message B {}",
            "field 1 of M is 'A x' in the first, 'B x' in the second",
        ),
        (
            "message M { optional group X = 1 {} }",
            "message M { optional X x = 1; message X {} }",
            "field 1 of M is 'group M.X x' in the first, 'M.X x' in the second",
        ),
        (
            "message M { map<string, int32> x = 1; }",
            "message M { map<string, int64> x = 1; }",
            "field 2 of M.XEntry is 'int32 value' in the first, 'int64 value' in the second",
        ),
        (
            "message M { map<string, int32> x = 1; }",
            "message M { repeated X x = 1; message X {} }",
            "field 1 of M is 'map x' in the first, 'repeated M.X x' in the second",
        ),
        (
            "message M { optional N n = 1; } message N { optional N n = 1; optional bool b = 2; }",
            "message M { optional N n = 1; } message N { optional N n = 1; optional bytes b = 2; }",
            "field 2 of N is 'bool b' in the first, 'bytes b' in the second",
        ),
        (
            "message M { optional E e = 1; } enum E { A = 1; }",
            "message M { optional E e = 1; } enum E { A = 2; }",
            "A of enum E is 1 in the first, 2 in the second",
        ),
        (
            "message M { optional E e = 1; } enum E { A = 0; }",
            "syntax = 'proto3'; message M { E e = 1; } enum E { A = 0; }",
            "enum E is closed in the first, open in the second",
        ),
        (
            "message M { optional int32 a = 1; optional int32 b = 2; }",
            "message M { oneof o { int32 a = 1; int32 b = 2; } }",
            "field 1 (a) of M is in no oneof in the first, in the oneof o in the second",
        ),
        (
            "message M { oneof o { int32 a = 1; int32 b = 2; } }",
            "message M { oneof o { int32 a = 1; } oneof p { int32 b = 2; } }",
            "field 2 (b) of M is in the oneof o in the first, in the oneof p in the second",
        ),
    ] {
        let text = merged(first, second).unwrap_err();
        assert_eq!(text, format!("a and b hold different messages: {difference}"));
    }
}

#[test]
fn the_files_that_contradict_each_other_are_named() {
    let versions = [
        version("b", "message M { optional int32 x = 1; optional int32 y = 2; }"),
        version("c", "message M { optional int32 x = 1; optional string y = 2; }"),
    ];
    let error = merge(&version("a", "message M { optional int32 x = 1; }"), &versions).unwrap_err();
    assert_eq!(
        error.to_string(),
        "b and c hold different messages: field 2 of M is 'int32 y' in the first, 'string y' in the second"
    );
}

/// What is not reachable from the message type may contradict itself.
#[test]
fn other_messages_do_not_count() {
    let first = "message M { optional int32 x = 1; } message Other { optional int32 x = 1; }";
    let second =
        "message M { optional int32 x = 1; optional int32 z = 2; } message Other { optional string y = 1; }";
    assert_eq!(
        joined(first, second),
        "message M { optional int32 x = 1; optional int32 z = 2; } message Other { optional int32 x = 1; }"
    );
}

/// A field keeps its meaning in a file of another syntax.
#[test]
fn fields_keep_their_features_among_others() {
    let proto2 = "message M { optional string x = 1; repeated int32 p = 2; }";
    let proto3 =
        "syntax = 'proto3'; message M { string x = 1; string y = 3; repeated int32 q = 4; optional N n = 5; }
                  message N { bool b = 1; E e = 2; } enum E { A = 0; }";
    let facts = |version: &Version, message: &str, name: &str| {
        let field = super::field(&version.descriptors, message, name);
        (field.presence, field.packed, field.validate_utf8)
    };
    let to_proto2 = merged(proto2, proto3).expect("they fit");
    use Presence::{Explicit, Implicit};
    for (message, name, expected) in [
        ("M", "x", (Explicit, false, false)),
        ("M", "p", (Implicit, false, false)),
        ("M", "y", (Implicit, false, true)),
        ("M", "q", (Implicit, true, false)),
        ("N", "b", (Implicit, false, false)),
    ] {
        assert_eq!(facts(&to_proto2, message, name), expected, "{name}");
    }
    assert!(to_proto2.descriptors.enums.iter().all(|enumeration| !enumeration.closed));
    let to_proto3 = merged(proto3, proto2).expect("they fit");
    assert_eq!(facts(&to_proto3, "M", "x"), (Implicit, false, true));
    assert_eq!(facts(&to_proto3, "M", "p"), (Implicit, false, false));
}

/// A type that moved to another file is the same type.
#[test]
fn types_move_between_files() {
    let set = |sources: &[(&str, &str)]| FileSet::new(compiled(sources)).expect("a set");
    let first = set(&[("m.proto", "message M { optional N n = 1; } message N { optional int32 a = 1; }")]);
    let second = set(&[
        ("n.proto", "message N { optional int32 a = 1; optional O o = 2; } message O {}"),
        ("m.proto", "import 'n.proto'; message M { optional N n = 1; optional O o = 2; }"),
    ]);
    let version = |origin, files| Version::new(origin, files, "M").expect("M resolves");
    let merged = merge(&version("a", first), &[version("b", second)]).expect("they fit");
    let text = files_text(&merged.files, "m.proto");
    assert_eq!(
        text,
        "// file: n.proto\nsyntax = \"proto2\";\n\nmessage O {\n}\n\n// file: m.proto\nsyntax = \"proto2\";\n\n\
         import \"n.proto\";\n\nmessage M {\n  optional N n = 1;\n  optional O o = 2;\n}\n\nmessage N {\n  \
         optional int32 a = 1;\n  optional O o = 2;\n}\n"
    );
}
