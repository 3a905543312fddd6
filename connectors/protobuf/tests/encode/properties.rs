//! Properties of encoding over random columns and random messages.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use proptest::prelude::*;
use prost_reflect::DescriptorPool;
use recordfusion_protobuf::{RecordEncoder, Target};

use super::generate::{Dice, array, columns};
use super::{encode, message, reread_hinted, write_options};
use crate::properties::{oracle::Oracle, schema_and_records, sort_maps};
use crate::support::{decode, decoder};

const WRAP: &[(&str, &str)] = &[("null_items", "wrap"), ("null_list", "wrap")];

fn random_batch(seed: u64) -> RecordBatch {
    let mut dice = Dice(seed);
    let schema = Schema::new(columns(&mut dice, 3));
    let fields = schema.fields().clone();
    let rows = (seed % 6) as usize;
    let columns = fields.iter().map(|field| array(&mut dice, field.data_type(), rows, true)).collect();
    let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(schema), columns, &options).expect("columns")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_columns_come_back(seed in any::<u64>()) {
        let given = random_batch(seed);
        let found = reread_hinted(&given, WRAP);
        prop_assert_eq!(found.schema(), given.schema());
        prop_assert_eq!(&found, &given);
    }

    #[test]
    fn a_part_of_a_batch_gives_its_records(seed in any::<u64>(), cut in any::<prop::sample::Index>()) {
        let given = random_batch(seed);
        let (all, _) = encode(&given, Target::Derived("t.Row"), WRAP).expect("records");
        let cut = cut.index(given.num_rows() + 1);
        let (begin, end) = (given.slice(0, cut), given.slice(cut, given.num_rows() - cut));
        let mut parts = encode(&begin, Target::Derived("t.Row"), WRAP).expect("records").0;
        parts.extend(encode(&end, Target::Derived("t.Row"), WRAP).expect("records").0);
        prop_assert_eq!(parts, all);
    }

    #[test]
    fn derived_types_are_valid_and_the_same_each_time(seed in any::<u64>(), wrap in any::<bool>()) {
        let given = random_batch(seed);
        let options = write_options(if wrap { WRAP } else { &[] });
        let files = || {
            let encoder = RecordEncoder::new(given.schema(), Target::Derived("t.Row"), &options);
            encoder.expect("a type").derived().expect("derived").descriptors.clone()
        };
        let (files, again) = (files(), files());
        prop_assert_eq!(&files, &again);
        let mut pool = DescriptorPool::new();
        for file in &files {
            pool.decode_file_descriptor_proto(file.clone()).expect("another implementation takes it");
        }
        prop_assert!(pool.get_message_by_name("t.Row").is_some());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn records_of_a_given_type_mean_the_same((schema, records) in schema_and_records()) {
        let source = schema.source();
        let table = decode(&decoder(&source), &records).expect("valid");
        let (written, _) = encode(&table, Target::Given(message(&source)), &[]).expect("records");
        prop_assert_eq!(&decode(&decoder(&source), &written).expect("valid"), &table);
        let oracle = Oracle::new(&source);
        for (first, second) in records.iter().zip(&written) {
            prop_assert_eq!(sort_maps(oracle.row(first)), sort_maps(oracle.row(second)), "{} {:02x?}", source, first);
        }
    }

    #[test]
    fn tables_of_records_are_derived_and_come_back((schema, records) in schema_and_records()) {
        let table = decode(&decoder(&schema.source()), &records).expect("valid");
        prop_assert_eq!(&reread_hinted(&table, &[]), &table);
    }
}

#[test]
fn no_columns_are_records_without_bytes() {
    let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(3));
    let none =
        RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options).expect("rows");
    assert_eq!(encode(&none, Target::Derived("t.Row"), &[]).expect("records").0, [[0u8; 0]; 3]);
}
