//! Features: the defaults of every syntax and edition, inheritance, exceptions.

use super::super::files::FileSet;
use super::super::symbols::Symbols;
use super::super::wire::*;
use super::super::{resolve::resolve, *};

fn element(name: &str, number: i32, r#type: i32) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.to_string()),
        number: Some(number),
        r#type: Some(r#type),
        type_name: match r#type {
            field_type::ENUM => Some(".E".to_string()),
            field_type::MESSAGE => Some(".M".to_string()),
            _ => None,
        },
        ..FieldDescriptorProto::default()
    }
}

/// `M` with a number, a text, a message, a repeated number and an enum.
fn file(syntax: &str, edition: Option<i32>) -> FileDescriptorProto {
    let repeated =
        FieldDescriptorProto { label: Some(label::REPEATED), ..element("r", 4, field_type::INT32) };
    FileDescriptorProto {
        name: Some("f.proto".to_string()),
        syntax: Some(syntax.to_string()),
        edition,
        message_type: vec![DescriptorProto {
            name: Some("M".to_string()),
            field: vec![
                element("n", 1, field_type::INT32),
                element("s", 2, field_type::STRING),
                element("m", 3, field_type::MESSAGE),
                repeated,
                element("e", 5, field_type::ENUM),
            ],
            ..DescriptorProto::default()
        }],
        enum_type: vec![EnumDescriptorProto {
            name: Some("E".to_string()),
            value: vec![EnumValueDescriptorProto { name: Some("ZERO".to_string()), ..Default::default() }],
            ..EnumDescriptorProto::default()
        }],
        ..FileDescriptorProto::default()
    }
}

/// Presence of the number, UTF-8 checked, group, packed, closed.
fn meaning(file: FileDescriptorProto) -> Result<(Presence, bool, bool, bool, bool), DescriptorError> {
    let files = FileSet::new(vec![file])?;
    let descriptors = resolve(&Symbols::new(&files)?, ["M"])?;
    let [n, s, m, r, e] = descriptors.message(MessageId(0)).fields.as_slice() else { panic!("five fields") };
    let Kind::Enum(e) = e.kind else { panic!("e is an enum") };
    let group = matches!(m.kind, Kind::Group(_));
    assert_eq!((m.presence, r.presence), (Presence::Explicit, Presence::Implicit));
    Ok((n.presence, s.validate_utf8, group, r.packed, descriptors.enumeration(e).closed))
}

#[test]
fn defaults_of_every_syntax_and_edition() {
    let proto2 = (Presence::Explicit, false, false, false, true);
    let proto3 = (Presence::Implicit, true, false, true, false);
    let editions = (Presence::Explicit, true, false, true, false);
    for (syntax, edition, expected) in [
        ("", None, proto2),
        ("proto2", None, proto2),
        ("proto3", None, proto3),
        ("editions", Some(998), proto2),
        ("editions", Some(999), proto3),
        ("editions", Some(1000), editions),
        ("editions", Some(1001), editions),
        ("editions", Some(1002), editions),
        ("editions", Some(9999), editions),
        ("editions", Some(i32::MAX), editions),
    ] {
        assert_eq!(meaning(file(syntax, edition)), Ok(expected), "{syntax} {edition:?}");
    }
    for (syntax, edition, text) in [
        ("proto4", None, "f.proto has the unknown syntax 'proto4' (edition none)"),
        ("editions", None, "f.proto has the unknown syntax 'editions' (edition none)"),
        ("editions", Some(7), "f.proto has the unknown syntax 'editions' (edition 7)"),
        ("editions", Some(-1), "f.proto has the unknown syntax 'editions' (edition -1)"),
    ] {
        assert_eq!(meaning(file(syntax, edition)).unwrap_err().to_string(), text);
    }
}

fn all_set() -> FeatureSet {
    FeatureSet {
        field_presence: Some(2),
        enum_type: Some(2),
        repeated_field_encoding: Some(2),
        utf8_validation: Some(3),
        message_encoding: Some(2),
        ..FeatureSet::default()
    }
}

#[test]
fn the_nearest_element_decides() {
    let set = (Presence::Implicit, false, true, false, true);
    let mut from_file = file("editions", Some(1000));
    from_file.options = Some(FileOptions { features: Some(all_set()), ..FileOptions::default() });
    assert_eq!(meaning(from_file.clone()), Ok(set));

    let mut from_message = file("editions", Some(1000));
    from_message.message_type[0].options =
        Some(MessageOptions { features: Some(all_set()), ..MessageOptions::default() });
    assert_eq!(meaning(from_message), Ok((Presence::Implicit, false, true, false, false)));

    let plain = FeatureSet {
        field_presence: Some(1),
        repeated_field_encoding: Some(1),
        utf8_validation: Some(2),
        message_encoding: Some(1),
        ..FeatureSet::default()
    };
    for field in &mut from_file.message_type[0].field {
        field.options = Some(FieldOptions { features: Some(plain.clone()), ..FieldOptions::default() });
    }
    let open = FeatureSet { enum_type: Some(1), ..FeatureSet::default() };
    from_file.enum_type[0].options = Some(EnumOptions { features: Some(open), ..EnumOptions::default() });
    assert_eq!(meaning(from_file), Ok((Presence::Explicit, true, false, true, false)));
}

#[test]
fn values_of_later_editions_change_nothing() {
    let mut file = file("editions", Some(1000));
    let unknown = FeatureSet {
        field_presence: Some(0),
        enum_type: Some(77),
        repeated_field_encoding: Some(-1),
        utf8_validation: Some(1),
        message_encoding: Some(9),
        ..FeatureSet::default()
    };
    file.options = Some(FileOptions { features: Some(unknown), ..FileOptions::default() });
    assert_eq!(meaning(file), Ok((Presence::Explicit, true, false, true, false)));
}

/// Oneof members inherit from the oneof, are explicit whatever it says, and map entries are never groups.
#[test]
fn exceptions() {
    let mut file = file("editions", Some(1000));
    file.options = Some(FileOptions { features: Some(all_set()), ..FileOptions::default() });
    let message = &mut file.message_type[0];
    let prefixed = FeatureSet { message_encoding: Some(1), field_presence: Some(3), ..FeatureSet::default() };
    message.oneof_decl.push(OneofDescriptorProto {
        name: Some("o".to_string()),
        options: Some(OneofOptions { features: Some(prefixed) }),
    });
    for (name, number, r#type) in [("on", 6, field_type::INT32), ("om", 7, field_type::MESSAGE)] {
        message.field.push(FieldDescriptorProto { oneof_index: Some(0), ..element(name, number, r#type) });
    }
    message.field.push(FieldDescriptorProto {
        label: Some(label::REPEATED),
        type_name: Some(".M.MapEntry".to_string()),
        ..element("map", 8, field_type::MESSAGE)
    });
    message.nested_type.push(DescriptorProto {
        name: Some("MapEntry".to_string()),
        field: vec![element("key", 1, field_type::STRING), element("value", 2, field_type::MESSAGE)],
        options: Some(MessageOptions { map_entry: Some(true), ..MessageOptions::default() }),
        ..DescriptorProto::default()
    });
    let set = FileDescriptorSet { file: vec![file] };
    let descriptors = Descriptors::from_set(&prost::Message::encode_to_vec(&set)).expect("it resolves");
    let field = |message, name| super::field(&descriptors, message, name);
    assert_eq!(field("M", "on").presence, Presence::Explicit);
    assert_eq!(field("M", "om").presence, Presence::Explicit);
    assert!(matches!(field("M", "om").kind, Kind::Message(_)), "the oneof decides");
    assert!(matches!(field("M", "m").kind, Kind::Group(_)));
    assert!(matches!(field("M", "map").kind, Kind::Message(_)));
    assert!(matches!(field("M.MapEntry", "value").kind, Kind::Message(_)));
}

#[test]
fn pinned_features_hold_anywhere() {
    use super::super::features::Features;
    let all = ["proto2", "proto3"].map(|syntax| Features::of_file(&file(syntax, None)).expect(syntax));
    let [proto2, proto3] = all;
    for (here, there) in [(proto2, proto3), (proto3, proto2), (proto2.with(Some(&all_set())), proto3)] {
        assert_eq!(there.with(Some(&here.pinned(there))), here);
        assert_eq!(here.pinned(here), FeatureSet::default());
    }
}
