//! Text that compiles to the descriptors it was printed from.

use prost::Message;

use super::*;
use crate::descriptor::testing::{compiled, fixture};
use crate::descriptor::wire::{DescriptorProto, FileDescriptorSet};

fn printed(file: &FileDescriptorProto, among: &[FileDescriptorProto]) -> String {
    printer::file_text(file, &Names::new(among))
}

/// Prints `files`, compiles the texts, and compares.
fn check_round_trip(files: &[FileDescriptorProto]) {
    let own: Vec<_> = files.iter().filter(|file| !builtin::comes_with_compilers(file.name())).collect();
    let texts: Vec<_> = own.iter().map(|file| (file.name(), printed(file, files))).collect();
    let sources: Vec<_> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let again = compiled(&sources);
    for file in own {
        let found = again.iter().find(|again| again.name() == file.name());
        let mut found = found.expect("the file is compiled").clone();
        let mut file = file.clone();
        found.message_type.iter_mut().for_each(plain_floats);
        file.message_type.iter_mut().for_each(plain_floats);
        assert!(found == file, "{}", printed(&file, files));
    }
}

/// Compilers write the defaults of floating point fields in different ways.
fn plain_floats(message: &mut DescriptorProto) {
    for field in message.field.iter_mut().filter(|field| [1, 2].contains(&field.r#type())) {
        field.default_value = field
            .default_value
            .as_ref()
            .and_then(|text| text.parse::<f64>().ok())
            .map(|value| value.to_string());
    }
    message.nested_type.iter_mut().for_each(plain_floats);
}

const PROTO2: &str = r#"
syntax = "proto2";
package a.b;
option java_package = "x\"y";
option optimize_for = CODE_SIZE;
option java_multiple_files = true;
message M {
  option deprecated = true;
  enum E { option allow_alias = true; A = 1; B = 1 [deprecated = true]; C = -5; reserved 7, 9 to 12, 100 to max; reserved "D"; }
  optional double d = 1 [default = -inf];
  optional float f = 2 [default = nan];
  optional int64 i = 3 [default = -9223372036854775808];
  optional string s = 4 [default = "a\"\n\\ü\001"];
  optional bytes y = 5 [default = "\000\xff\"'z"];
  optional E e = 6 [default = C];
  optional bool t = 7 [default = true, deprecated = true];
  repeated int32 p = 8 [packed = true];
  map<string, Inner> inners = 9;
  message Inner { required string x = 1 [json_name = "y x", ctype = CORD]; }
  oneof choice {
    int32 one = 10;
    group Two = 11 { optional M m = 1; }
    string three = 12 [jstype = JS_NORMAL];
    group Four = 13 {}
  }
  optional group Last = 14 { repeated group Deep = 1 { optional E e = 1; } }
  extensions 100 to 199, 300, 1000 to max;
  reserved 20, 30 to 40;
  reserved "gone", "lost";
  extend N { repeated M again = 101; optional group InExtend = 102 { optional Inner i = 1; } }
}
message N { extensions 100 to 200; }
message Set { option message_set_wire_format = true; extensions 4 to max; }
extend M { optional group AtTop = 150 { optional int32 x = 1; } }
extend N { optional int32 n = 150; }
extend M { optional int32 other = 151; }
message After { optional M.Inner inner = 1; optional a.b.M.Two two = 2; }
"#;

/// The inner `a` hides the package of the same name.
const SHADOWS: &str = r#"
syntax = "proto3";
package a.b;
message M { optional string s = 1; map<int32, M> m = 2; .a.b.a.M q = 3; optional M n = 4; message M {} }
message a { .a.b.M m = 1; message M { .a.b.M outer = 1; .a.b.a.M me = 2; } enum b { ZERO = 0; } }
"#;

#[test]
fn text_compiles_to_the_same_descriptors() {
    for source in [PROTO2, SHADOWS, "", "syntax = 'proto3';", "package lone;"] {
        check_round_trip(&compiled(&[("t.proto", source)]));
    }
    let public = [
        ("c.proto", "package c; message C {}"),
        ("b.proto", "import public 'c.proto'; message B { optional c.C c = 1; }"),
        (
            "a.proto",
            "import weak 'b.proto'; import 'google/type/datetime.proto';
         message A { optional c.C c = 1; optional google.type.DateTime t = 2; }",
        ),
    ];
    check_round_trip(&compiled(&public));
}

#[test]
fn fixtures_survive_the_round_trip() {
    let files = ["riegeli/protos/kitchen", "riegeli/protos/legacy", "riegeli/protos/weblog"];
    for file in files.into_iter().chain(["conformance/proto2", "conformance/proto3"]) {
        let set = fixture(&format!("{file}.fds"));
        check_round_trip(&FileDescriptorSet::decode(set.as_slice()).expect(file).file);
    }
}

#[test]
fn names_are_as_short_as_they_can_be() {
    let files = compiled(&[("t.proto", SHADOWS)]);
    let names = Names::new(&files);
    for (scope, name, short) in [
        ("a.b", ".a.b.M", "M"),
        ("a.b.a", ".a.b.M", ".a.b.M"),
        ("a.b.M", ".a.b.M.M", "M"),
        ("a.b.M", ".a.b.M", "b.M"),
        ("a.b.M", ".a.b.a.M", "a.M"),
        ("", ".a.b.M", "a.b.M"),
        ("a.b", ".x.Unknown", ".x.Unknown"),
    ] {
        assert_eq!(names.shortest(scope, name), short, "{name} in {scope}");
    }
}

#[test]
fn editions_print_their_features() {
    let set = fixture("riegeli/protos/edition.fds");
    let files = FileSet::decode_set(&set).expect("a set");
    let expected = r#"edition = "2023";

package fx;

option features.field_presence = EXPLICIT;

message Modern {
  enum Open {
    ZERO = 0;
    ONE = 1;
    NINE = 9;
  }
  enum Closed {
    option features.enum_type = CLOSED;
    RED = 2;
    BLUE = 4;
  }
  message Part {
    string label = 1;
    int32 count = 2;
  }
  int64 id = 1 [features.field_presence = LEGACY_REQUIRED];
  string name = 2;
  uint32 implicit = 3 [features.field_presence = IMPLICIT];
  repeated int32 packed = 4;
  repeated int32 expanded = 5 [features.repeated_field_encoding = EXPANDED];
  Part delimited = 6 [features.message_encoding = DELIMITED];
  repeated Part delimited_list = 7 [features.message_encoding = DELIMITED];
  Part prefixed = 8;
  Open open = 9;
  Closed closed = 10;
  string loose_text = 11 [features.utf8_validation = NONE];
  map<string, Part> parts = 12;
  double preset = 13 [default = 2.5];
}
"#;
    assert_eq!(files_text(&files, "fx/edition.proto"), expected);
}

#[test]
fn editions_print_by_name() {
    for (number, name) in [(1000, "2023"), (1001, "2024"), (1002, "2026"), (1700, "2026"), (9999, "UNSTABLE")]
    {
        let syntax = Some("editions".to_string());
        let file = FileDescriptorProto { syntax, edition: Some(number), ..FileDescriptorProto::default() };
        assert_eq!(printed(&file, &[]), format!("edition = \"{name}\";\n"));
    }
}

#[test]
fn several_files_come_dependencies_first_and_named() {
    let files = FileSet::decode_set(&fixture("riegeli/protos/kitchen.fds")).expect("a set");
    let text = files_text(&files, "fx/kitchen.proto");
    let headings: Vec<_> = text.lines().filter(|line| line.starts_with("// file: ")).collect();
    assert_eq!(headings, ["// file: fx/shared_types.proto", "// file: fx/kitchen.proto"]);
    assert!(text.contains("\n\n// file: fx/kitchen.proto\nsyntax = \"proto3\";\n"), "{text}");
}

#[test]
fn differences_are_lines() {
    let file = |source| compiled(&[("t.proto", source)]).remove(0);
    let first = file("message M { optional int32 x = 1; }");
    assert_eq!(first_difference(&first, &first.clone()), None);
    let other = file("message M { optional string x = 1; }");
    let lines = ("'optional int32 x = 1;'".to_string(), "'optional string x = 1;'".to_string());
    assert_eq!(first_difference(&first, &other), Some(lines));
    let longer = file("message M { optional int32 x = 1; } message N {}");
    assert_eq!(first_difference(&first, &longer), Some(("nothing".to_string(), "'message N {'".to_string())));
}
