//! Crafted and broken descriptors: a clear error each, never a panic.

use proptest::prelude::*;
use prost::Message as _;

use super::super::files::FileSet;
use super::super::limits::MAX_ELEMENTS;
use super::super::symbols::Symbols;
use super::super::testing::fixture;
use super::super::text::files_text;
use super::super::wire::*;
use super::super::{resolve::resolve, *};

fn field(name: &str, number: i32) -> FieldDescriptorProto {
    let (name, number) = (Some(name.to_string()), Some(number));
    FieldDescriptorProto { name, number, r#type: Some(field_type::INT32), ..FieldDescriptorProto::default() }
}

fn linked(name: &str, number: i32, type_name: &str) -> FieldDescriptorProto {
    FieldDescriptorProto { r#type: None, type_name: Some(type_name.to_string()), ..field(name, number) }
}

fn message(name: &str, field: Vec<FieldDescriptorProto>) -> DescriptorProto {
    DescriptorProto { name: Some(name.to_string()), field, ..DescriptorProto::default() }
}

fn map_entry(field: Vec<FieldDescriptorProto>) -> DescriptorProto {
    let options = Some(MessageOptions { map_entry: Some(true), ..MessageOptions::default() });
    DescriptorProto { options, ..message("Entry", field) }
}

fn file(name: &str, message_type: Vec<DescriptorProto>) -> FileDescriptorProto {
    FileDescriptorProto {
        name: Some(name.to_string()),
        package: Some("p".to_string()),
        message_type,
        ..FileDescriptorProto::default()
    }
}

fn importing(file: FileDescriptorProto, dependency: &[&str]) -> FileDescriptorProto {
    FileDescriptorProto { dependency: dependency.iter().map(ToString::to_string).collect(), ..file }
}

fn resolved(files: Vec<FileDescriptorProto>, root: &str) -> Result<Descriptors, DescriptorError> {
    let files = FileSet::new(files)?;
    resolve(&Symbols::new(&files)?, [root])
}

/// The error of `p.M` in one file with these messages.
fn fault(messages: Vec<DescriptorProto>) -> String {
    resolved(vec![file("a.proto", messages)], "p.M").unwrap_err().to_string()
}

#[test]
fn every_fault_has_its_words() {
    let m = |field| message("M", vec![field]);
    let repeated = |field| FieldDescriptorProto { label: Some(label::REPEATED), ..field };
    let typed = |r#type, field| FieldDescriptorProto { r#type: Some(r#type), ..field };
    let defaulted = |r#type, text: &str| {
        m(FieldDescriptorProto { default_value: Some(text.to_string()), ..typed(r#type, field("x", 1)) })
    };
    let in_oneof = |index, field| FieldDescriptorProto { oneof_index: Some(index), ..field };
    let empty = EnumDescriptorProto { name: Some("E".to_string()), ..EnumDescriptorProto::default() };
    let uses_map = || m(repeated(linked("x", 1, ".p.Entry")));
    let of_enum = DescriptorProto { enum_type: vec![empty], ..m(linked("x", 1, ".p.M.E")) };
    let long = "x".repeat(600);
    for (messages, text) in [
        (vec![m(field("x", 0))], "field p.M.x has the number 0, which is not between 1 and 536870911"),
        (vec![m(field("x", -4))], "field p.M.x has the number -4, which is not between 1 and 536870911"),
        (
            vec![m(field("x", 536_870_912))],
            "field p.M.x has the number 536870912, which is not between 1 and 536870911",
        ),
        (
            vec![message("M", vec![field("x", 1), field("y", 1)])],
            "fields x and y of p.M both have the number 1",
        ),
        (vec![message("M", vec![field("x", 1), field("x", 2)])], "p.M has two fields x"),
        (vec![m(field("", 1))], "a.proto: '' is no valid name"),
        (vec![m(field("a b", 1))], "a.proto: 'a b' is no valid name"),
        (vec![message("M", vec![]), message("1", vec![])], "a.proto: '1' is no valid name"),
        (vec![message(&long, vec![])], &format!("a.proto: '{}' is no valid name", "x".repeat(80))),
        (vec![m(typed(99, field("x", 1)))], "field p.M.x has no type"),
        (vec![m(linked("x", 1, ".p.N"))], "p.M.x needs p.N, which no file defines"),
        (
            vec![m(typed(field_type::ENUM, linked("x", 1, ".p.M")))],
            "field p.M.x has the type 14, but p.M is another kind",
        ),
        (vec![of_enum], "enum p.M.E has no values"),
        (
            vec![m(in_oneof(0, field("x", 1)))],
            "field p.M.x belongs to the oneof of index 0, which does not exist",
        ),
        (
            vec![m(in_oneof(-1, field("x", 1)))],
            "field p.M.x belongs to the oneof of index -1, which does not exist",
        ),
        (
            vec![DescriptorProto {
                oneof_decl: vec![OneofDescriptorProto { name: Some("o".to_string()), options: None }],
                ..m(in_oneof(0, repeated(field("x", 1))))
            }],
            "field p.M.x is repeated inside a oneof",
        ),
        (
            vec![defaulted(field_type::INT32, "2147483648")],
            "field p.M.x has the default '2147483648', which its type does not have",
        ),
        (
            vec![defaulted(field_type::UINT64, "-1")],
            "field p.M.x has the default '-1', which its type does not have",
        ),
        (
            vec![defaulted(field_type::BYTES, "\\400")],
            "field p.M.x has the default '\\400', which its type does not have",
        ),
        (
            vec![defaulted(field_type::BYTES, "\\")],
            "field p.M.x has the default '\\', which its type does not have",
        ),
        (vec![uses_map(), map_entry(vec![])], "p.Entry is marked as a map entry, but has not two fields"),
        (
            vec![uses_map(), map_entry(vec![field("key", 1), field("value", 3)])],
            "p.Entry is marked as a map entry, but its fields do not have the numbers 1 and 2",
        ),
        (
            vec![uses_map(), map_entry(vec![field("key", 1), repeated(field("value", 2))])],
            "p.Entry is marked as a map entry, but its key or value is repeated",
        ),
        (
            vec![uses_map(), map_entry(vec![linked("key", 1, ".p.M"), field("value", 2)])],
            "p.Entry is marked as a map entry, but its key is of a kind that no key has",
        ),
        (
            vec![m(linked("x", 1, ".p.Entry")), map_entry(vec![field("key", 1), field("value", 2)])],
            "field p.M.x uses a map entry, but is no map",
        ),
        (vec![message("M", vec![]), message("M", vec![])], "p.M is defined twice, in a.proto and in a.proto"),
    ] {
        assert_eq!(fault(messages), text);
    }
}

/// Wherever a name stands that .proto text shows without quotes.
#[test]
fn names_are_checked_in_every_place() {
    let evil = "X = 0; }\nmessage Injected {";
    let shown = "a.proto: 'X = 0; }\\nmessage Injected {' is no valid name";
    let text = || Some(evil.to_string());
    let value = |name: &str| EnumValueDescriptorProto {
        name: Some(name.to_string()),
        number: Some(0),
        ..EnumValueDescriptorProto::default()
    };
    let enumeration =
        EnumDescriptorProto { name: Some("E".to_string()), value: vec![value("ZERO")], ..Default::default() };
    let of_enum = |enumeration| FileDescriptorProto {
        enum_type: vec![enumeration],
        ..file("a.proto", vec![message("M", vec![])])
    };
    // The message is not the one that is asked for: its text is shown all the same.
    let of_message = |other| file("a.proto", vec![message("M", vec![]), other]);
    let of_field = |field| of_message(message("Other", vec![field]));
    let extension =
        |field| FileDescriptorProto { extension: vec![field], ..of_message(message("Other", vec![])) };
    let extending = |name: &str| FieldDescriptorProto { extendee: Some(name.to_string()), ..field("x", 100) };
    let editions = |file| FileDescriptorProto {
        syntax: Some("editions".to_string()),
        edition: Some(edition::E2023),
        ..file
    };
    let cases = [
        of_enum(EnumDescriptorProto { value: vec![value("ZERO"), value(evil)], ..enumeration.clone() }),
        of_enum(EnumDescriptorProto { name: text(), ..enumeration.clone() }),
        editions(of_enum(EnumDescriptorProto { reserved_name: vec![evil.to_string()], ..enumeration })),
        of_message(message(evil, vec![])),
        of_message(DescriptorProto {
            oneof_decl: vec![OneofDescriptorProto { name: text(), options: None }],
            ..message("Other", vec![])
        }),
        editions(of_message(DescriptorProto {
            reserved_name: vec![evil.to_string()],
            ..message("Other", vec![])
        })),
        of_field(field(evil, 1)),
        of_field(linked("x", 1, evil)),
        of_field(linked("x", 1, &format!(".{evil}")).clone()),
        of_field(FieldDescriptorProto { default_value: text(), ..field("x", 1) }),
        extension(extending(evil)),
        extension(FieldDescriptorProto { name: text(), ..extending(".p.M") }),
        FileDescriptorProto { package: text(), ..file("a.proto", vec![message("M", vec![])]) },
    ];
    for (case, file) in cases.into_iter().enumerate() {
        let error = resolved(vec![file], "p.M").unwrap_err().to_string();
        assert_eq!(error.replace("'.X", "'X"), shown, "case {case}");
    }
    let error = resolved(vec![file("a\nb.proto", vec![message("M", vec![])])], "p.M").unwrap_err();
    assert_eq!(error.to_string(), "a\\nb.proto: 'a\\nb.proto' is no valid name");
}

#[test]
fn the_same_file_twice() {
    let first = file("a.proto", vec![message("M", vec![field("x", 1)])]);
    assert!(resolved(vec![first.clone(), first.clone()], "p.M").is_ok());
    let mut same_text = first.clone();
    same_text.message_type[0].field[0].json_name = Some("x".to_string());
    assert!(resolved(vec![first.clone(), same_text], "p.M").is_ok());
    let other = file("a.proto", vec![message("M", vec![field("x", 2)])]);
    assert_eq!(
        resolved(vec![first.clone(), other], "p.M").unwrap_err().to_string(),
        "a.proto is there twice with different contents: 'optional int32 x = 1;' in one, \
         'optional int32 x = 2;' in the other"
    );
    let elsewhere = FileDescriptorProto { name: Some("b.proto".to_string()), ..first.clone() };
    assert_eq!(
        resolved(vec![first, elsewhere], "p.M").unwrap_err().to_string(),
        "p.M is defined twice, in a.proto and in b.proto"
    );
}

#[test]
fn only_what_is_needed_has_to_be_there() {
    let needy = || {
        importing(
            file("a.proto", vec![message("M", vec![linked("x", 1, ".q.N")])]),
            &["q/n.proto", "b.proto"],
        )
    };
    let b = importing(file("b.proto", vec![message("Free", vec![field("x", 1)])]), &["c.proto"]);
    let set = || vec![needy(), b.clone()];
    assert!(resolved(set(), "p.Free").is_ok());
    let text = resolved(set(), "p.M").unwrap_err().to_string();
    assert_eq!(
        text,
        "p.M.x needs q.N, but 'q/n.proto', which a.proto imports, is missing, \
         and 'c.proto', which b.proto imports, is missing"
    );
    let mut extended = file("e.proto", vec![message("Free2", vec![])]);
    extended.extension =
        vec![FieldDescriptorProto { extendee: Some(".p.Free".to_string()), ..linked("gone", 7, ".q.N") }];
    let descriptors = resolved(vec![b, extended], "p.Free").expect("no message needs its extensions");
    assert!(descriptors.message(MessageId(0)).extensions.is_empty());
}

#[test]
fn files_come_in_any_order_and_in_circles() {
    let a = importing(file("a.proto", vec![message("M", vec![linked("n", 1, ".p.N")])]), &["b.proto"]);
    let b = importing(file("b.proto", vec![message("N", vec![linked("m", 1, ".p.M")])]), &["a.proto"]);
    for files in [vec![a.clone(), b.clone()], vec![b, a]] {
        let set = FileSet::new(files).expect("two files");
        let descriptors = resolve(&Symbols::new(&set).expect("names"), ["p.M"]).expect("it resolves");
        assert_eq!(descriptors.messages().count(), 2);
        let text = files_text(&set, "a.proto");
        assert_eq!(text.matches("// file: ").count(), 2, "{text}");
    }
}

#[test]
fn well_known_files_are_supplied() {
    let types = [
        ("google/protobuf/timestamp.proto", ".google.protobuf.Timestamp"),
        ("google/protobuf/wrappers.proto", ".google.protobuf.Int64Value"),
        ("google/protobuf/struct.proto", ".google.protobuf.Struct"),
        ("google/protobuf/any.proto", ".google.protobuf.Any"),
        ("google/protobuf/duration.proto", ".google.protobuf.Duration"),
        ("google/protobuf/empty.proto", ".google.protobuf.Empty"),
        ("google/protobuf/field_mask.proto", ".google.protobuf.FieldMask"),
        ("google/protobuf/descriptor.proto", ".google.protobuf.FileDescriptorSet"),
        ("google/type/date.proto", ".google.type.Date"),
        ("google/type/timeofday.proto", ".google.type.TimeOfDay"),
        ("google/type/datetime.proto", ".google.type.DateTime"),
        ("google/type/money.proto", ".google.type.Money"),
        ("google/type/latlng.proto", ".google.type.LatLng"),
        ("google/type/decimal.proto", ".google.type.Decimal"),
        ("google/type/interval.proto", ".google.type.Interval"),
        ("google/type/dayofweek.proto", ".google.type.DayOfWeek"),
        ("google/type/month.proto", ".google.type.Month"),
    ];
    for (import, type_name) in types {
        let m = message("M", vec![linked("x", 1, type_name)]);
        let descriptors =
            resolved(vec![importing(file("a.proto", vec![m]), &[import])], "p.M").expect(import);
        let field = &descriptors.message(MessageId(0)).fields[0];
        assert_eq!(
            matches!(field.kind, Kind::Enum(_)),
            import.contains("day") && import.contains("week") || import.contains("month")
        );
    }
    let own = FileDescriptorProto {
        package: Some("google.protobuf".to_string()),
        ..file("time.proto", vec![message("Timestamp", vec![field("mine", 1)])])
    };
    let m = message("M", vec![linked("x", 1, ".google.protobuf.Timestamp")]);
    let files = vec![importing(file("a.proto", vec![m]), &["google/protobuf/timestamp.proto"]), own];
    let descriptors = resolved(files, "p.M").expect("the given type is taken");
    assert_eq!(descriptors.message(MessageId(1)).fields[0].name, "mine");
}

#[test]
fn relative_type_names_mean_the_innermost_type() {
    let inner = message("N", vec![field("inner", 1)]);
    let m = DescriptorProto {
        nested_type: vec![inner],
        ..message("M", vec![linked("a", 1, "N"), linked("b", 2, "p.N"), linked("c", 3, "M.N")])
    };
    let descriptors =
        resolved(vec![file("a.proto", vec![m, message("N", vec![])])], "p.M").expect("all found");
    let names = descriptors.message(MessageId(0)).fields.iter().map(|field| match field.kind {
        Kind::Message(id) => descriptors.message(id).full_name.as_str(),
        _ => panic!("a message"),
    });
    assert_eq!(names.collect::<Vec<_>>(), ["p.M.N", "p.N", "p.M.N"]);
}

#[test]
fn deep_and_large_descriptors_are_refused() {
    let mut deep = message("M", vec![]);
    for _ in 0..150 {
        deep = DescriptorProto { nested_type: vec![deep], ..message("M", vec![]) };
    }
    let set = FileDescriptorSet { file: vec![file("a.proto", vec![deep])] }.encode_to_vec();
    let text = Descriptors::from_set(&set).unwrap_err().to_string();
    assert_eq!(text, "the descriptors cannot be read: message types are nested too deep");

    let fields = 0x12_u16.to_le_bytes().repeat(MAX_ELEMENTS + 1);
    let mut bytes = vec![0x22];
    prost::encoding::encode_varint(fields.len() as u64, &mut bytes);
    bytes.extend(fields);
    let text = FileSet::decode(&[bytes]).unwrap_err().to_string();
    assert_eq!(text, "the descriptors hold more than 1000000 elements");
}

#[test]
fn truncated_descriptors_are_errors() {
    let set = fixture("riegeli/protos/kitchen.fds");
    let file = FileDescriptorSet::decode(set.as_slice()).expect("a set").file.remove(0).encode_to_vec();
    for len in 0..file.len() {
        let _ = FileSet::decode(&[&file[..len]]).and_then(|files| Symbols::new(&files).map(drop));
    }
    assert!(FileSet::decode(&[&file[..file.len() - 1]]).is_err());
}

/// Whatever is made of the bytes, nothing panics: not the names, the types, the text, nor a second version.
fn try_everything(original: &merge::Version, set: &[u8]) {
    let Ok(files) = FileSet::decode_set(set) else { return };
    for file in files.given() {
        let _ = files_text(&files, file.name());
    }
    let Ok(symbols) = Symbols::new(&files) else { return };
    let _ = resolve(&symbols, symbols.messages());
    if let Ok(version) = merge::Version::new("a file", files.clone(), "fx.Legacy") {
        let _ = merge::merge(original, std::slice::from_ref(&version));
        let _ = merge::merge(&version, std::slice::from_ref(original));
    }
}

fn legacy() -> merge::Version {
    let files = FileSet::decode_set(&fixture("riegeli/protos/legacy.fds")).expect("a set");
    merge::Version::new("legacy", files, "fx.Legacy").expect("it resolves")
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        try_everything(&legacy(), &bytes);
    }

    #[test]
    fn mutated_descriptors_never_panic(
        file in prop::sample::select(vec!["edition", "kitchen", "legacy", "weblog"]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut set = fixture(&format!("riegeli/protos/{file}.fds"));
        for (at, value) in changes {
            let at = at.index(set.len());
            set[at] = value;
        }
        try_everything(&legacy(), &set);
    }
}

/// Every byte of the proto2 fixture, with bits of the wire type, the number and the value flipped.
#[test]
fn flipped_bits_never_panic() {
    let set = fixture("riegeli/protos/legacy.fds");
    let original = legacy();
    for at in 0..set.len() {
        for bit in [0, 1, 3, 6] {
            let mut set = set.clone();
            set[at] ^= 1 << bit;
            try_everything(&original, &set);
        }
    }
}
