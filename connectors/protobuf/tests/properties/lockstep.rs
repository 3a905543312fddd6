//! Batches of many records show what each record shows alone: the former are decoded field by field for all of them,
//! the latter one after the other.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use recordfusion_core::{Projection, ScanCounters};
use recordfusion_protobuf::RecordDecoder;

use super::generate::{Field, Label, Schema, messages, occurrence, schema};
use crate::support::{block, row};

/// What a record may have that the others do not.
#[derive(Debug, Clone)]
enum Oddity {
    /// All fields of another record behind its own.
    Merged(Vec<u8>),
    /// An end somewhere.
    Cut(Index),
    /// Another byte somewhere.
    Byte(Index, u8),
}

impl Oddity {
    fn apply(&self, record: &mut Vec<u8>) {
        match self {
            Self::Merged(other) => record.extend_from_slice(other),
            Self::Cut(at) => record.truncate(at.index(record.len() + 1)),
            Self::Byte(at, byte) if !record.is_empty() => {
                let at = at.index(record.len());
                record[at] = *byte;
            }
            Self::Byte(..) => {}
        }
    }
}

fn oddity(schema: &Schema) -> impl Strategy<Value = Oddity> + use<> {
    prop_oneof![
        2 => messages(schema, 1..2, 3).prop_map(|mut records| Oddity::Merged(records.remove(0))),
        1 => any::<Index>().prop_map(Oddity::Cut),
        1 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Oddity::Byte(at, byte)),
    ]
}

/// Random messages of type `M` as writers make them: fields in the order of their numbers, single ones at most once,
/// and of a oneof one member.
fn ordered_messages(schema: &Schema) -> impl Strategy<Value = Vec<Vec<u8>>> + use<> {
    let sub = ordered_message(&schema.sub, &Just(Vec::new()).boxed());
    vec(ordered_message(&schema.message, &sub), 40..200)
}

fn ordered_message(fields: &[Field], sub: &BoxedStrategy<Vec<u8>>) -> BoxedStrategy<Vec<u8>> {
    let members = fields.iter().filter(|field| field.label == Label::Member).count();
    let parts: Vec<_> = fields
        .iter()
        .map(|field| {
            let most = if matches!(field.label, Label::Repeated | Label::Map) { 4 } else { 2 };
            let values = vec(occurrence(field, sub.clone(), 0), 0..most);
            (Just(field.label == Label::Member), values.prop_map(|values| values.concat()))
        })
        .collect();
    (parts, 0..=members)
        .prop_map(|(parts, set)| {
            let mut member = 0;
            let kept = parts.into_iter().filter(|(is_member, _)| {
                member += usize::from(*is_member);
                !is_member || member == set
            });
            kept.flat_map(|(_, value)| value).collect()
        })
        .boxed()
}

/// Records as writers make them, and where which of them are odd.
fn records() -> impl Strategy<Value = (Schema, Vec<Vec<u8>>, Vec<(Index, Oddity)>)> {
    schema().prop_flat_map(|schema| {
        let records = ordered_messages(&schema);
        let oddities = vec((any::<Index>(), oddity(&schema)), 0..3);
        (Just(schema), records, oddities)
    })
}

/// Decodes the batches with one scan, and compares each with its records alone.
fn check(decoder: &RecordDecoder, batches: &[&[Vec<u8>]]) -> Result<(), TestCaseError> {
    let all = Projection::all(decoder.schema().fields().len());
    let mut scan = decoder.scan(&all).expect("a plan");
    let mut each = decoder.scan(&all).expect("a plan");
    let counters = ScanCounters::default();
    for records in batches {
        let block = block(records);
        let mut alone =
            (0..records.len()).map(|index| each.decode("file", &block, index..index + 1, &counters));
        match scan.decode("file", &block, 0..records.len(), &counters) {
            Ok(decoded) => {
                for (index, alone) in alone.enumerate() {
                    let alone = alone.map(|alone| row(&alone.batch, 0)).map_err(|fault| fault.to_string());
                    prop_assert_eq!(Ok(row(&decoded.batch, index)), alone);
                }
            }
            Err(_) => prop_assert!(alone.any(|alone| alone.is_err())),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn many_records_show_what_each_shows_alone((schema, mut records, oddities) in records()) {
        let plain = records.clone();
        for (index, oddity) in &oddities {
            let at = index.index(records.len());
            oddity.apply(&mut records[at]);
        }
        let half = records.len() / 2;
        check(&crate::support::decoder(&schema.source()), &[&plain[..half], &records, &plain, &plain])?;
    }
}
