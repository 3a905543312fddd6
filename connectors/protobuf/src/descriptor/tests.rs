//! The resolved model against the fixtures.

use super::testing::{fixture, proto};
use super::*;

#[test]
fn every_fixture_resolves() {
    for (file, messages) in [("edition", 3), ("kitchen", 29), ("legacy", 6), ("weblog", 5)] {
        let descriptors = Descriptors::from_set(&fixture(&format!("riegeli/protos/{file}.fds"))).expect(file);
        assert_eq!(descriptors.messages().count(), messages, "{file}");
    }
}

#[test]
fn source_resolves() {
    let descriptors = proto("syntax = 'proto3'; message M { int32 i = 1; }");
    assert!(descriptors.find("M").is_some());
}
