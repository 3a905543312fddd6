//! Properties that hold whatever the options are.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use proptest::prelude::*;
use proptest::sample::{Index, subsequence};
use recordfusion_core::{ColumnProjection, Projection, ScanCounters, Selection};
use recordfusion_protobuf::RecordDecoder;
use recordfusion_protobuf::counters::RECORDS_SKIPPED;
use serde_json::Value;

use crate::properties::schema_and_records;
use crate::support::{block, decode, decode_counted, decoder_with, row, value};

/// Option values that are not the default, but for those that depend on each other.
const CHANGES: [(&str, &str); 17] = [
    ("string_type", "utf8"),
    ("enum", "number"),
    ("closed_enum", "open"),
    ("unsigned", "widen"),
    ("implicit", "null"),
    ("absent", "default"),
    ("required", "strict"),
    ("empty_list", "null"),
    ("map", "list"),
    ("map_keys", "exact"),
    ("empty_message", "struct"),
    ("names", "json"),
    ("nullability", "proto"),
    ("oneof_case", "true"),
    ("invalid_utf8", "replace"),
    ("on_bad_record", "skip"),
    ("metadata_columns", "position,record,unknown"),
];

fn options() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    subsequence(CHANGES.to_vec(), 0..=6)
}

/// Whether all below a NULL is NULL.
fn nulls_reach_down(array: &ArrayRef) -> bool {
    match array.data_type() {
        DataType::Struct(_) => array.as_struct().columns().iter().all(|column| {
            let covered = |row| array.is_valid(row) || column.is_null(row);
            (0..array.len()).all(covered) && nulls_reach_down(column)
        }),
        DataType::List(_) => nulls_reach_down(array.as_list::<i32>().values()),
        DataType::Map(..) => nulls_reach_down(array.as_map().values()),
        _ => true,
    }
}

fn scan_rows(
    decoder: &RecordDecoder,
    projection: &Projection,
    records: &[Vec<u8>],
    cut: usize,
) -> Vec<Value> {
    let mut scan = decoder.scan(projection).expect("a plan");
    let (block, counters) = (block(records), ScanCounters::default());
    let mut rows = Vec::new();
    for range in [0..cut, cut..records.len()] {
        let batch = scan.decode("f", &block, range, &counters).expect("valid").batch;
        rows.extend((0..batch.num_rows()).map(|index| row(&batch, index)));
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_depend_on_neither_batches_nor_projection(
        (schema, records) in schema_and_records(),
        options in options(),
        cut in any::<Index>(),
        picks in proptest::collection::vec(any::<Index>(), 0..5),
    ) {
        let decoder = decoder_with(&schema.source(), &options);
        let columns = decoder.schema().fields().len();
        let all = decode(&decoder, &records).expect("valid");
        let cut = cut.index(records.len() + 1);
        let whole: Vec<Value> = (0..all.num_rows()).map(|index| row(&all, index)).collect();
        prop_assert_eq!(&scan_rows(&decoder, &Projection::all(columns), &records, cut), &whole);

        let mut picks: Vec<usize> = picks.iter().map(|pick| pick.index(columns)).collect();
        picks.sort_unstable();
        picks.dedup();
        let column = |index: &usize| ColumnProjection { index: *index, selection: Selection::All };
        let projection = Projection { columns: picks.iter().map(column).collect() };
        let some = scan_rows(&decoder, &projection, &records, cut);
        for (index, found) in some.iter().enumerate() {
            for pick in &picks {
                prop_assert_eq!(&found[all.schema().field(*pick).name()], &value(all.column(*pick), index));
            }
        }
        prop_assert_eq!(some.len(), whole.len());
    }

    #[test]
    fn everything_below_a_null_is_null(
        (schema, records) in schema_and_records(),
        options in options(),
        nothing in any::<bool>(),
    ) {
        let decoder = decoder_with(&schema.source(), &options);
        let columns = (0..decoder.schema().fields().len()).map(|index| ColumnProjection {
            index,
            selection: if nothing { Selection::none() } else { Selection::All },
        });
        let mut scan = decoder.scan(&Projection { columns: columns.collect() }).expect("a plan");
        let batch =
            scan.decode("f", &block(&records), 0..records.len(), &ScanCounters::default()).expect("valid").batch;
        prop_assert!(batch.columns().iter().all(nulls_reach_down));
    }

    #[test]
    fn presence_alone_is_that_of_the_values((schema, records) in schema_and_records(), options in options()) {
        let decoder = decoder_with(&schema.source(), &options);
        let rows = |selection: Selection| {
            let columns = (0..decoder.schema().fields().len())
                .map(|index| ColumnProjection { index, selection: selection.clone() });
            let mut scan = decoder.scan(&Projection { columns: columns.collect() }).expect("a plan");
            scan.decode("f", &block(&records), 0..records.len(), &ScanCounters::default()).expect("valid").batch
        };
        let (presence, whole) = (rows(Selection::none()), rows(Selection::All));
        for (presence, whole) in presence.columns().iter().zip(whole.columns()) {
            for row in 0..records.len() {
                prop_assert_eq!(presence.is_null(row), whole.is_null(row), "{:?} {}", options, whole.data_type());
            }
        }
    }

    #[test]
    fn bad_records_take_nothing_with_them(
        (schema, mut records) in schema_and_records(),
        options in options(),
        damage in proptest::collection::vec((any::<Index>(), any::<Index>(), any::<u8>()), 0..6),
        picks in proptest::collection::vec(any::<Index>(), 0..3),
    ) {
        for (record, place, byte) in damage {
            let record = record.index(records.len());
            let record: &mut Vec<u8> = &mut records[record];
            if !record.is_empty() {
                let place = place.index(record.len());
                record[place] = byte;
            }
        }
        let rest: Vec<_> = options.into_iter().filter(|(name, _)| *name != "on_bad_record" && *name != "nullability").collect();
        let with = |policy| decoder_with(&schema.source(), &[rest.as_slice(), &[("on_bad_record", policy)]].concat());
        let [strict, skip, null] = ["error", "skip", "null"].map(with);
        let alone: Vec<Option<Value>> = records
            .iter()
            .map(|record| decode(&strict, &[record]).ok().map(|batch| row(&batch, 0)))
            .collect();
        let forget_positions = |mut row: Value| {
            if let Some(row) = row.as_object_mut() {
                row.remove("_position");
            }
            row
        };
        let counters = ScanCounters::default();
        let skipped = decode_counted(&skip, &records, &counters).expect("bad ones are left out");
        let found: Vec<Value> = (0..skipped.num_rows()).map(|index| forget_positions(row(&skipped, index))).collect();
        let good: Vec<Value> = alone.iter().flatten().cloned().map(forget_positions).collect();
        prop_assert_eq!(found, good);
        let bad = alone.iter().filter(|row| row.is_none()).count();
        prop_assert_eq!(counters.value(&RECORDS_SKIPPED), bad as u64);

        let nulled = decode(&null, &records).expect("bad ones are NULL");
        prop_assert_eq!(nulled.num_rows(), records.len());
        for (index, alone) in alone.iter().enumerate() {
            match alone {
                Some(alone) => prop_assert_eq!(
                    forget_positions(row(&nulled, index)), forget_positions(alone.clone())
                ),
                None => for (field, column) in nulled.schema().fields().iter().zip(nulled.columns()) {
                    let known = ["_position", "_record"].contains(&field.name().as_str());
                    prop_assert_eq!(column.is_valid(index), known);
                },
            }
        }

        let columns = skip.schema().fields().len();
        let column = |pick: &Index| ColumnProjection { index: pick.index(columns), selection: Selection::All };
        let projection = Projection { columns: picks.iter().map(column).collect() };
        let mut scan = skip.scan(&projection).expect("a plan");
        let some = scan.decode("f", &block(&records), 0..records.len(), &counters).expect("no bad ones").batch;
        prop_assert_eq!(some.num_rows(), skipped.num_rows());
    }
}
