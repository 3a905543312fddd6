//! Which record type a table gets, and the words when it gets none.

use prost::Message as _;

use super::*;
use crate::descriptor::Kind;
use crate::descriptor::testing::{compiled, fixture};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/riegeli/protos");

fn says(file: &str, message_type: Option<&str>, sources: &[(&str, &str)]) -> FileDescriptors {
    let descriptors = compiled(sources).iter().map(|file| file.encode_to_vec().into()).collect();
    FileDescriptors {
        file: file.to_string(),
        message_type: message_type.map(str::to_string),
        descriptors,
        arrow_schema: None,
    }
}

const SOURCE: &str = "syntax = 'proto3'; message M { int32 x = 1; } message Many { repeated M m = 1; }";

fn typed(file: &str) -> FileDescriptors {
    says(file, Some("M"), &[("m.proto", SOURCE)])
}

fn silent(file: &str) -> FileDescriptors {
    says(file, None, &[])
}

fn named(file: &str, name: &str) -> FileDescriptors {
    says(file, Some(name), &[])
}

fn message_type(name: &str) -> ProtobufOptions {
    ProtobufOptions { message_type: Some(name.to_string()), ..ProtobufOptions::default() }
}

fn descriptor_set(file: &str, message_type: Option<&str>) -> ProtobufOptions {
    ProtobufOptions {
        descriptor_set: Some(format!("{DATA}/{file}").into()),
        message_type: message_type.map(str::to_string),
        ..ProtobufOptions::default()
    }
}

fn proto(file: &str, message_type: Option<&str>) -> ProtobufOptions {
    ProtobufOptions {
        proto: Some(format!("{DATA}/{file}").into()),
        proto_path: vec![DATA.into()],
        message_type: message_type.map(str::to_string),
        ..ProtobufOptions::default()
    }
}

fn name(record_type: &RecordType) -> &str {
    &record_type.descriptors.message(record_type.message).full_name
}

#[test]
fn who_decides() {
    let unnamed = says("a", None, &[("m.proto", SOURCE)]);
    for (files, options, expected) in [
        (vec![], ProtobufOptions::default(), None),
        (vec![silent("a")], ProtobufOptions::default(), None),
        (vec![named("a", "M")], ProtobufOptions::default(), None),
        (vec![unnamed.clone()], ProtobufOptions::default(), None),
        (vec![typed("a")], ProtobufOptions::default(), Some("M")),
        (vec![silent("a"), typed("b"), named("c", "M")], ProtobufOptions::default(), Some("M")),
        (vec![unnamed, typed("b")], ProtobufOptions::default(), Some("M")),
        (
            vec![says("a", None, &[("o.proto", "message O {}")]), typed("b")],
            ProtobufOptions::default(),
            Some("M"),
        ),
        (vec![typed("a")], message_type("Many"), Some("Many")),
        (vec![typed("a"), says("b", Some("Many"), &[("m.proto", SOURCE)])], message_type("M"), Some("M")),
        (vec![typed("a")], descriptor_set("weblog.fds", Some("fx.Weblog.Client")), Some("fx.Weblog.Client")),
        (vec![named("a", "fx.Tree")], descriptor_set("kitchen.fds", None), Some("fx.Tree")),
        (vec![silent("a")], descriptor_set("weblog.fds", None), Some("fx.Weblog")),
        (vec![], descriptor_set("kitchen.fds", None), Some("fx.Kitchen")),
        (vec![], descriptor_set("edition.fds", None), Some("fx.Modern")),
        (vec![], proto("fx/kitchen.proto", None), Some("fx.Kitchen")),
        (vec![silent("a")], proto("fx/kitchen.proto", Some("fx.Wrapper")), Some("fx.Wrapper")),
    ] {
        let found = record_descriptors(&files, &options).expect("it works out");
        assert_eq!(found.as_ref().map(name), expected, "{files:?} {options:?}");
    }
}

#[test]
fn every_error_says_what_to_do() {
    let no_options = ProtobufOptions::default();
    let broken = FileDescriptors { descriptors: vec![b"\x0a\x05a".to_vec().into()], ..typed("a") };
    let incomplete = {
        let sources =
            [("n.proto", "message N {}"), ("m.proto", "import 'n.proto'; message M { optional N n = 1; }")];
        let mut file = says("a", Some("M"), &sources);
        file.descriptors.remove(0);
        file
    };
    let other = says("b", Some("M"), &[("m.proto", "message M { optional string x = 1; }")]);
    for (files, options, text) in [
        (
            vec![typed("a"), says("b", Some("Many"), &[])],
            no_options.clone(),
            "a holds records of type M, b of type Many; the option message_type would read both as one type",
        ),
        (
            vec![says("a", Some("Mani"), &[("m.proto", SOURCE)])],
            no_options.clone(),
            "a: there is no message type Mani; did you mean 'Many'?",
        ),
        (
            vec![says("a", Some("Else"), &[("m.proto", SOURCE)])],
            no_options.clone(),
            "a: there is no message type Else; the message types are M, Many",
        ),
        (
            vec![says("a", None, &[("m.proto", SOURCE)]), says("b", Some("Else"), &[("m.proto", SOURCE)])],
            no_options.clone(),
            "b: there is no message type Else; the message types are M, Many",
        ),
        (
            vec![typed("a")],
            message_type("Mani"),
            "option 'message_type': a: there is no message type Mani; did you mean 'Many'?",
        ),
        (
            vec![silent("a"), named("b", "M")],
            message_type("M"),
            "option 'message_type': no file holds descriptors; the option descriptor_set or proto can give them",
        ),
        (vec![broken], no_options.clone(), "a: the descriptors cannot be read: they end too early"),
        (
            vec![incomplete],
            no_options.clone(),
            "a: M.n needs N, but 'n.proto', which m.proto imports, is missing; \
             the option descriptor_set can give all descriptors",
        ),
        (
            vec![typed("a"), other],
            no_options,
            "a and b hold different messages: field 1 of M is 'int32 x' in the first, 'string x' in the second",
        ),
        (
            vec![],
            descriptor_set("legacy.fds", None),
            "option 'message_type': the name of the records' message type is needed; \
             the message types are fx.Legacy, fx.Badge, fx.ExtGroup",
        ),
        (
            vec![],
            descriptor_set("legacy.fds", Some("fx.legacy")),
            "option 'message_type': there is no message type fx.legacy; \
             did you mean 'fx.Legacy' or 'fx.Legacy.Line' or 'fx.Legacy.Header'?",
        ),
        (
            vec![named("a", "fx.Legacies")],
            descriptor_set("legacy.fds", None),
            "option 'descriptor_set': there is no message type fx.Legacies; \
             did you mean 'fx.Legacy.Line' or 'fx.Legacy' or 'fx.Legacy.Header'?",
        ),
        (
            vec![],
            descriptor_set("none.fds", None),
            "option 'descriptor_set': DATA/none.fds: No such file or directory (os error 2)",
        ),
        (
            vec![],
            descriptor_set("fx/weblog.proto", None),
            "option 'descriptor_set': DATA/fx/weblog.proto: the descriptors cannot be read: invalid wire type value: 7",
        ),
        (
            vec![],
            proto("fx/none.proto", None),
            "option 'proto': cannot compile DATA/fx/none.proto: file 'DATA/fx/none.proto' is not in any include \
             path; is its folder among the include folders?",
        ),
    ] {
        let error = record_descriptors(&files, &options).unwrap_err();
        assert_eq!(error.to_string().replace(DATA, "DATA"), text);
    }
}

#[test]
fn equal_descriptors_of_many_files_are_resolved_once() {
    let set = fixture("riegeli/protos/kitchen.fds");
    let set = prost_types::FileDescriptorSet::decode(set.as_slice()).expect("a set");
    let descriptors: Vec<Bytes> = set.file.iter().map(|file| file.encode_to_vec().into()).collect();
    let file = |at| FileDescriptors {
        file: format!("{at}.riegeli"),
        message_type: Some("fx.Kitchen".to_string()),
        descriptors: descriptors.iter().map(|bytes| Bytes::copy_from_slice(bytes)).collect(),
        arrow_schema: None,
    };
    let mut files: Vec<_> = (0..100).map(file).collect();
    files[50].descriptors.reverse();
    let versions = distinct_versions(files.iter(), "fx.Kitchen", false).expect("they resolve");
    let origins: Vec<_> = versions.iter().map(|version| version.origin.as_str()).collect();
    assert_eq!(origins, ["0.riegeli", "50.riegeli"]);
    let record_type = record_descriptors(&files, &ProtobufOptions::default()).expect("it works out");
    assert_eq!(record_type.as_ref().map(name), Some("fx.Kitchen"));
}

#[test]
fn versions_of_files_become_one_type_and_text() {
    let newer = says(
        "b",
        Some("M"),
        &[("m.proto", "syntax = 'proto3'; message M { int32 renamed = 1; string y = 2; }")],
    );
    let record_type = record_descriptors(&[typed("a"), newer], &ProtobufOptions::default());
    let record_type = record_type.expect("they fit").expect("a type");
    assert_eq!(
        record_type.proto_text(),
        "syntax = \"proto3\";\n\nmessage M {\n  int32 x = 1;\n  string y = 2;\n}\n\n\
         message Many {\n  repeated M m = 1;\n}\n"
    );
}

#[test]
fn well_known_types_need_not_be_in_the_file() {
    let source = "syntax = 'proto3'; import 'google/protobuf/timestamp.proto'; message M { google.protobuf.Timestamp t = 1; }";
    let mut file = says("a", Some("M"), &[("m.proto", source)]);
    file.descriptors.remove(0);
    let record_type =
        record_descriptors(&[file], &ProtobufOptions::default()).expect("it works out").expect("a type");
    let field = &record_type.descriptors.message(record_type.message).fields[0];
    assert!(matches!(field.kind, Kind::Message(id) if record_type.descriptors.message(id).fields.len() == 2));
    assert!(!record_type.proto_text().contains("message Timestamp"));
}

#[cfg(unix)]
#[test]
fn files_without_end_are_refused() {
    let options = ProtobufOptions { descriptor_set: Some("/dev/zero".into()), ..ProtobufOptions::default() };
    let error = record_descriptors(&[], &options).unwrap_err().to_string();
    assert_eq!(error, "option 'descriptor_set': /dev/zero: it has more than 64 MiB");
    let options = ProtobufOptions { proto: Some("/dev/zero".into()), ..ProtobufOptions::default() };
    let error = record_descriptors(&[], &options).unwrap_err().to_string();
    assert!(error.contains("/dev/zero") && error.contains("it has more than 64 MiB"), "{error}");
}
