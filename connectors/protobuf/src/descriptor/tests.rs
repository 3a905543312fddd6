//! The resolved model: features of every syntax and edition, the fixtures, faults, an oracle, and mutated
//! bytes.

mod faults;
mod features;
mod oracle;
mod versions;

use super::testing::{fixture, proto};
use super::*;

#[test]
fn every_fixture_resolves() {
    for (file, messages) in [("edition", 3), ("kitchen", 29), ("legacy", 6), ("weblog", 5)] {
        let descriptors = Descriptors::from_set(&fixture(&format!("riegeli/protos/{file}.fds"))).expect(file);
        assert_eq!(descriptors.messages().count(), messages, "{file}");
    }
}

fn field<'a>(descriptors: &'a Descriptors, message: &str, name: &str) -> &'a Field {
    let message = descriptors.message(descriptors.find(message).expect(message));
    message.fields.iter().chain(&message.extensions).find(|field| field.name == name).expect(name)
}

#[test]
fn the_editions_fixture_means_what_its_source_says() {
    let descriptors = Descriptors::from_set(&fixture("riegeli/protos/edition.fds")).expect("a set");
    let modern = |name| field(&descriptors, "fx.Modern", name);
    let presence = ["id", "name", "implicit", "delimited", "packed"].map(|name| modern(name).presence);
    use Presence::{Explicit, Implicit, Required};
    assert_eq!(presence, [Required, Explicit, Implicit, Explicit, Implicit]);
    assert_eq!(["packed", "expanded", "parts"].map(|name| modern(name).packed), [true, false, false]);
    assert_eq!(["name", "loose_text", "id"].map(|name| modern(name).validate_utf8), [true, false, false]);
    let part = descriptors.find("fx.Modern.Part").expect("Part");
    assert_eq!(
        ["delimited", "delimited_list", "prefixed"].map(|name| modern(name).kind),
        [Kind::Group(part), Kind::Group(part), Kind::Message(part)]
    );
    assert!(matches!(modern("parts").kind, Kind::Message(entry) if descriptors.message(entry).map_entry));
    let closed = ["open", "closed"].map(|name| match modern(name).kind {
        Kind::Enum(id) => descriptors.enumeration(id).closed,
        _ => panic!("{name} is an enum"),
    });
    assert_eq!(closed, [false, true]);
    assert_eq!(modern("preset").default, Some(Value::Double(2.5)));
}

#[test]
fn the_proto2_fixture_means_what_its_source_says() {
    let descriptors = Descriptors::from_set(&fixture("riegeli/protos/legacy.fds")).expect("a set");
    let legacy = |name| field(&descriptors, "fx.Legacy", name);
    let defaults =
        ["size", "note", "kind", "open", "ratio", "raw", "id"].map(|name| legacy(name).default.clone());
    let expected = [
        Some(Value::Int(42)),
        Some(Value::String("none \"given\"".to_string())),
        Some(Value::Enum(5)),
        Some(Value::Bool(true)),
        Some(Value::Double(f64::NEG_INFINITY)),
        Some(Value::Bytes(vec![1, 255])),
        None,
    ];
    assert_eq!(defaults, expected);
    assert_eq!(legacy("id").presence, Presence::Required);
    assert!(matches!(legacy("header").kind, Kind::Group(_)));
    assert_eq!(["loose", "tight"].map(|name| legacy(name).packed), [false, true]);
    let message = descriptors.message(descriptors.find("fx.Legacy").expect("Legacy"));
    let extensions: Vec<_> =
        message.extensions.iter().map(|field| (field.number, field.name.as_str())).collect();
    let expected = [
        (100, "fx.ext_number"),
        (101, "fx.ext_words"),
        (102, "fx.ext_packed"),
        (103, "fx.Badge.badge"),
        (104, "fx.extgroup"),
        (5000, "fx.ext_kind"),
    ];
    assert_eq!(extensions, expected);
}

#[test]
fn oneofs_made_by_proto3_optional_are_no_oneofs() {
    let descriptors = proto(
        "syntax = 'proto3';
         message M { optional int32 a = 1; oneof x { int32 b = 2; string c = 3; } optional M d = 4; oneof y { M e = 5; } }",
    );
    let message = descriptors.message(descriptors.find("M").expect("M"));
    assert_eq!(message.oneofs, ["x", "y"]);
    let oneofs: Vec<_> = message.fields.iter().map(|field| field.oneof).collect();
    assert_eq!(oneofs, [None, Some(0), Some(0), None, Some(1)]);
    assert!(message.fields.iter().all(|field| field.presence == Presence::Explicit));
}
