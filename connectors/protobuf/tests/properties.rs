//! Properties over random message types and random messages.

mod generate;
mod lockstep;
pub mod oracle;

use proptest::prelude::*;
use recordfusion_core::{ColumnProjection, Projection, ScanCounters, Selection};
use serde_json::{Map, Value};

use crate::support::{block, decode, decoder, fixture_decoder, row};
use generate::{Schema, messages, schema};
use oracle::Oracle;

/// Message types with records of them.
pub fn schema_and_records() -> impl Strategy<Value = (Schema, Vec<Vec<u8>>)> {
    schema().prop_flat_map(|schema| {
        let records = messages(&schema, 1..8, 3);
        (Just(schema), records)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn values_are_those_of_another_implementation((schema, records) in schema_and_records()) {
        let source = schema.source();
        let batch = decode(&decoder(&source), &records).expect("valid");
        let oracle = Oracle::new(&source);
        for (index, record) in records.iter().enumerate() {
            let found = sort_maps(row(&batch, index));
            prop_assert_eq!(found, sort_maps(oracle.row(record)), "{} {:02x?}", source, record);
        }
    }

    #[test]
    fn a_projection_shows_what_all_columns_show(
        (schema, records) in schema_and_records(),
        picks in proptest::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 1..6),
    ) {
        let decoder = decoder(&schema.source());
        let all = decode(&decoder, &records).expect("valid");
        let columns: Vec<ColumnProjection> = picks
            .iter()
            .map(|(index, whole)| {
                let mut selection = Selection::none();
                selection.add(if *whole { &[] } else { &["f1"] });
                ColumnProjection { index: index.index(all.num_columns()), selection }
            })
            .collect();
        let mut unique = columns.clone();
        unique.sort_by_key(|column| column.index);
        unique.dedup_by_key(|column| column.index);
        let mut scan = decoder.scan(&Projection { columns: unique.clone() }).expect("a plan");
        let counters = ScanCounters::default();
        let some = scan.decode("f", &block(&records), 0..records.len(), &counters).expect("valid").batch;
        for (at, column) in unique.iter().enumerate() {
            prop_assert_eq!(some.column(at).data_type(), all.column(column.index).data_type());
            for record in 0..records.len() {
                let whole = crate::support::value(all.column(column.index), record);
                let part = crate::support::value(some.column(at), record);
                prop_assert_eq!(part, mask(whole, &column.selection));
            }
        }
    }

    #[test]
    fn batches_do_not_change_rows((schema, records) in schema_and_records(), cut in any::<prop::sample::Index>()) {
        let decoder = decoder(&schema.source());
        let all = decode(&decoder, &records).expect("valid");
        let cut = cut.index(records.len() + 1);
        let mut scan = decoder.scan(&Projection::all(all.num_columns())).expect("a plan");
        let block = block(&records);
        let counters = ScanCounters::default();
        for rows in [0..cut, cut..records.len(), 0..records.len()] {
            let batch = scan.decode("f", &block, rows.clone(), &counters).expect("valid").batch;
            for (at, record) in rows.enumerate() {
                prop_assert_eq!(row(&batch, at), row(&all, record));
            }
        }
    }

    #[test]
    fn damaged_records_give_rows_or_errors(
        (schema, mut records) in schema_and_records(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let decoder = decoder(&schema.source());
        for record in records.iter_mut().filter(|record| !record.is_empty()) {
            for (place, byte) in &damage {
                let place = place.index(record.len());
                record[place] = *byte;
            }
        }
        // A scan that met an error goes on with the next batch as if nothing had been.
        let mut scan = decoder.scan(&Projection::all(decoder.schema().fields().len())).expect("a plan");
        let counters = ScanCounters::default();
        let result = scan.decode("f", &block(&records), 0..records.len(), &counters);
        let alone: Vec<_> = records.iter().map(|record| decode(&decoder, &[record])).collect();
        prop_assert_eq!(result.is_ok(), alone.iter().all(Result::is_ok));
        for (record, alone) in records.iter().zip(alone) {
            let again = scan.decode("f", &block(&[record]), 0..1, &counters);
            match (again, alone) {
                (Ok(again), Ok(alone)) => prop_assert_eq!(row(&again.batch, 0), row(&alone, 0)),
                (again, alone) => prop_assert_eq!(again.is_ok(), alone.is_ok()),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(
        records in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 1..16)
    ) {
        for (decoder, _) in FIXTURES.iter() {
            let mut scan = decoder.scan(&Projection::all(decoder.schema().fields().len())).expect("a plan");
            let _ = scan.decode("f", &block(&records), 0..records.len(), &ScanCounters::default());
        }
    }
}

static FIXTURES: std::sync::LazyLock<Vec<(recordfusion_protobuf::RecordDecoder, &str)>> =
    std::sync::LazyLock::new(|| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/conformance/");
        let fixture = |(file, message)| {
            let set = std::fs::read(format!("{folder}{file}")).expect(file);
            (fixture_decoder(&set, message), message)
        };
        [
            ("proto3.fds", "protobuf_test_messages.proto3.TestAllTypesProto3"),
            ("proto2.fds", "protobuf_test_messages.proto2.TestAllTypesProto2"),
        ]
        .map(fixture)
        .into()
    });

/// The value with NULL in place of what is not selected.
fn mask(value: Value, selection: &Selection) -> Value {
    let Selection::Fields(_) = selection else { return value };
    match value {
        Value::Array(items) => items.into_iter().map(|item| mask(item, selection)).collect(),
        Value::Object(entry) if entry.len() == 2 && entry.contains_key("key") => {
            let masked = |(name, part): (String, Value)| {
                let part = if name == "key" { part } else { mask(part, selection) };
                (name, part)
            };
            Value::Object(entry.into_iter().map(masked).collect())
        }
        Value::Object(fields) => {
            let masked = |(name, part): (String, Value)| {
                let part = selection.field(&name).map_or(Value::Null, |selection| mask(part, selection));
                (name, part)
            };
            Value::Object(fields.into_iter().map(masked).collect::<Map<_, _>>())
        }
        other => other,
    }
}

/// The other implementation keeps maps without an order.
pub fn sort_maps(value: Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<Value> = items.into_iter().map(sort_maps).collect();
            if items.first().is_some_and(|item| item.get("key").is_some()) {
                items.sort_by_key(|entry| entry["key"].to_string());
            }
            Value::Array(items)
        }
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, sort_maps(value))).collect(),
        other => other,
    }
}
