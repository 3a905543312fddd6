//! proto2 and proto3 descriptors mean the same to prost-reflect.

use prost::Message as _;
use prost_reflect::{DescriptorPool, FieldDescriptor, Kind as Theirs, Syntax};

use super::super::testing::{compiled, fixture};
use super::super::wire::FileDescriptorSet;
use super::super::*;

fn kind(descriptors: &Descriptors, kind: Kind, group: bool) -> (String, bool) {
    let name = match kind {
        Kind::Message(id) | Kind::Group(id) => descriptors.message(id).full_name.clone(),
        Kind::Enum(id) => descriptors.enumeration(id).full_name.clone(),
        scalar => format!("{scalar:?}").to_lowercase(),
    };
    (name, group)
}

fn their_kind(field: &FieldDescriptor) -> (String, bool) {
    let name = match field.kind() {
        Theirs::Message(message) => message.full_name().to_string(),
        Theirs::Enum(enumeration) => enumeration.full_name().to_string(),
        scalar => format!("{scalar:?}").to_lowercase(),
    };
    (name, field.is_group())
}

fn check_field(descriptors: &Descriptors, ours: &Field, theirs: &FieldDescriptor) {
    let name = theirs.full_name();
    assert_eq!(ours.name, theirs.name(), "{name}");
    assert_eq!(ours.json_name, theirs.json_name(), "{name}");
    assert_eq!(ours.number, theirs.number(), "{name}");
    let group = matches!(ours.kind, Kind::Group(_));
    assert_eq!(kind(descriptors, ours.kind, group), their_kind(theirs), "{name}");
    let repeated = theirs.is_list() || theirs.is_map();
    assert_eq!(ours.cardinality == Cardinality::Repeated, repeated, "{name}");
    assert_eq!(ours.packed, theirs.is_packed(), "{name}");
    assert_eq!(ours.presence == Presence::Required, theirs.is_required(), "{name}");
    assert_eq!(!repeated && ours.presence != Presence::Implicit, theirs.supports_presence(), "{name}");
    let proto3 = theirs.parent_file().syntax() == Syntax::Proto3;
    assert_eq!(ours.validate_utf8, proto3 && ours.kind == Kind::String, "{name}");
    let default = theirs.field_descriptor_proto().default_value.is_some();
    assert_eq!(ours.default.is_some(), default, "{name}");
    if let Some(default) = &ours.default {
        assert_eq!(default_text(default), format!("{:?}", theirs.default_value()), "{name}");
    }
}

fn default_text(value: &Value) -> String {
    use prost_reflect::Value as Theirs;
    let theirs = match value {
        Value::Double(value) => Theirs::F64(*value),
        Value::Float(value) => Theirs::F32(*value),
        Value::Int(value) => match i32::try_from(*value) {
            Ok(value) => Theirs::I32(value),
            Err(_) => Theirs::I64(*value),
        },
        Value::Uint(value) => match u32::try_from(*value) {
            Ok(value) => Theirs::U32(value),
            Err(_) => Theirs::U64(*value),
        },
        Value::Bool(value) => Theirs::Bool(*value),
        Value::String(value) => Theirs::String(value.clone()),
        Value::Bytes(value) => Theirs::Bytes(value.clone().into()),
        Value::Enum(value) => Theirs::EnumNumber(*value),
    };
    format!("{theirs:?}")
}

fn check(set: &[u8]) {
    let pool = DescriptorPool::decode(set).expect("prost-reflect reads it");
    let descriptors = Descriptors::from_set(set).expect("it resolves");
    assert_eq!(descriptors.messages().count(), pool.all_messages().count());
    for theirs in pool.all_messages() {
        let ours = descriptors.message(descriptors.find(theirs.full_name()).expect("the message is there"));
        assert_eq!(ours.map_entry, theirs.is_map_entry());
        assert_eq!(ours.fields.len(), theirs.fields().len(), "{}", ours.full_name);
        for ours in &ours.fields {
            check_field(&descriptors, ours, &theirs.get_field(ours.number).expect("the field is there"));
        }
        let oneofs: Vec<_> = theirs
            .oneofs()
            .filter(|oneof| !oneof.is_synthetic())
            .map(|oneof| oneof.name().to_string())
            .collect();
        assert_eq!(ours.oneofs, oneofs);
        for ours_field in &ours.fields {
            let theirs = theirs.get_field(ours_field.number).expect("the field is there").containing_oneof();
            let theirs = theirs.filter(|oneof| !oneof.is_synthetic()).map(|oneof| oneof.name().to_string());
            assert_eq!(ours_field.oneof.map(|oneof| ours.oneofs[oneof].clone()), theirs);
        }
        for theirs in theirs.extensions() {
            let ours = ours.extensions.iter().find(|field| field.number == theirs.number());
            let ours = ours.expect("the extension is there");
            assert_eq!(ours.name, theirs.full_name());
            assert_eq!(ours.packed, theirs.is_packed(), "{}", ours.name);
            assert_eq!(matches!(ours.kind, Kind::Group(_)), theirs.is_group(), "{}", ours.name);
            assert_eq!(ours.cardinality == Cardinality::Repeated, theirs.is_list(), "{}", ours.name);
        }
        assert_eq!(ours.extensions.len(), theirs.extensions().count());
    }
    for ours in &descriptors.enums {
        let theirs = pool.get_enum_by_name(&ours.full_name).expect("the enum is there");
        assert_eq!(ours.closed, theirs.parent_file().syntax() == Syntax::Proto2, "{}", ours.full_name);
        let mut values: Vec<_> =
            theirs.values().map(|value| (value.number(), value.name().to_string())).collect();
        let mut sorted: Vec<_> = ours.values.iter().map(|value| (value.number, value.name.clone())).collect();
        sorted.sort();
        values.sort();
        assert_eq!(sorted, values);
    }
}

#[test]
fn fixtures_and_odd_sources_mean_the_same() {
    for file in ["kitchen", "legacy", "weblog"] {
        check(&fixture(&format!("riegeli/protos/{file}.fds")));
    }
    for file in ["proto2", "proto3"] {
        check(&fixture(&format!("conformance/{file}.fds")));
    }
    let mixed = [
        (
            "two.proto",
            "syntax = 'proto2'; package p; enum E { A = 1; B = 2; } message Two { repeated E e = 1 [packed = true]; \
          optional fixed64 f = 2 [default = 18446744073709551615]; optional sint64 s = 3 [default = -9223372036854775808]; \
          optional float fl = 4 [default = 1.5e10]; optional bytes b = 5 [default = 'a\\000\\xffb\\n\\\\']; extensions 10 to 20; \
          required group G = 6 { optional string t_u__v = 1; } oneof o { group H = 7 {} string i = 8; } }",
        ),
        (
            "three.proto",
            "syntax = 'proto3'; package p; import 'two.proto'; message Three { Two two = 1; map<int32, Two> m = 3; \
          optional Three t = 4; repeated double d = 5 [packed = false]; } message Extends { extend Two { int32 x = 12; } }",
        ),
    ];
    check(&FileDescriptorSet { file: compiled(&mixed) }.encode_to_vec());
}

/// The conformance suite has its messages in proto2 and proto3 and, with the same meaning, in editions.
#[test]
fn editions_mean_the_same_as_the_syntax_they_replace() {
    for syntax in ["proto2", "proto3"] {
        let descriptors =
            |file: &str| Descriptors::from_set(&fixture(&format!("conformance/{file}.fds"))).expect(file);
        let (older, newer) = (descriptors(syntax), descriptors(&format!("editions_{syntax}")));
        let package = format!("protobuf_test_messages.editions.{syntax}");
        let renamed = |name: &str| name.replace(&package, &format!("protobuf_test_messages.{syntax}"));
        assert_eq!(older.messages().count(), newer.messages().count());
        for (_, newer_message) in newer.messages() {
            let id = older.find(&renamed(&newer_message.full_name)).expect("it has a twin");
            let older_message = older.message(id);
            assert_eq!(newer_message.oneofs, older_message.oneofs);
            let facts = |descriptors: &Descriptors, message: &Message| -> Vec<_> {
                let fields = message.fields.iter().chain(&message.extensions);
                let fact = |field: &Field| {
                    let (kind, _) = kind(descriptors, field.kind, false);
                    let plain = Field { kind: Kind::Bool, name: renamed(&field.name), ..field.clone() };
                    (renamed(&kind), matches!(field.kind, Kind::Group(_)), plain)
                };
                fields.map(fact).collect()
            };
            assert_eq!(
                facts(&newer, newer_message),
                facts(&older, older_message),
                "{}",
                older_message.full_name
            );
        }
        for newer_enum in &newer.enums {
            let name = renamed(&newer_enum.full_name);
            let older_enum = older.enums.iter().find(|older| older.full_name == name).expect("it has a twin");
            assert_eq!(
                (&newer_enum.values, newer_enum.closed),
                (&older_enum.values, older_enum.closed),
                "{name}"
            );
        }
    }
}
