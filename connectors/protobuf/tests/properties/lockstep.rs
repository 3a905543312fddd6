//! Batches of many records show what each record shows alone: the former are decoded field by field for all of them,
//! the latter one after the other.

use proptest::prelude::*;
use proptest::sample::Index;
use recordfusion_core::{Projection, ScanCounters};
use recordfusion_protobuf::RecordDecoder;

use super::{Schema, messages, ordered_messages, schema};
use crate::support::{block, decode, row};

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

/// Records as writers make them, and where which of them are odd.
fn records() -> impl Strategy<Value = (Schema, Vec<Vec<u8>>, Vec<(Index, Oddity)>)> {
    schema().prop_flat_map(|schema| {
        let records = ordered_messages(&schema, 40..200);
        let oddities = proptest::collection::vec((any::<Index>(), oddity(&schema)), 0..3);
        (Just(schema), records, oddities)
    })
}

/// Decodes the batches with one scan, and compares each with its records alone.
fn check(decoder: &RecordDecoder, batches: &[&[Vec<u8>]]) -> Result<(), TestCaseError> {
    let mut scan = decoder.scan(&Projection::all(decoder.schema().fields().len())).expect("a plan");
    for records in batches {
        let alone: Vec<_> = records.iter().map(|record| decode(decoder, &[record])).collect();
        match scan.decode("file", &block(records), 0..records.len(), &ScanCounters::default()) {
            Ok(decoded) => {
                for (index, alone) in alone.iter().enumerate() {
                    let alone = alone.as_ref().map(|alone| row(alone, 0));
                    prop_assert_eq!(Ok(row(&decoded.batch, index)), alone.map_err(ToString::to_string));
                }
            }
            Err(_) => prop_assert!(alone.iter().any(Result::is_err)),
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
