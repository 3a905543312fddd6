//! The connector as the engine uses it.

use std::sync::Arc;

use arrow::array::{Array, RecordBatch};
use futures::executor::block_on;
use recordfusion_core::{Connector, Error, Options, Verifying};
use recordfusion_riegeli::RiegeliConnector;

use crate::support::*;

#[test]
fn only_the_whole_signature_is_recognised() {
    let file = fixture("riegeli/one_record.riegeli");
    assert_eq!(RiegeliConnector::default().signature_len(), 64);
    assert!(RiegeliConnector::default().recognises(&file[..64]));
    assert!(!RiegeliConnector::default().recognises(&file[..63]));
    assert!(!RiegeliConnector::default().recognises(b""));
    for at in 0..64 {
        let mut other = file[..64].to_vec();
        other[at] ^= 1;
        assert!(!RiegeliConnector::default().recognises(&other), "byte {at}");
    }
}

#[test]
fn unknown_options_are_refused() {
    let file = memory_file(&fixture("riegeli/one_record.riegeli"));
    let options = Options::new().with("mesage_type", "a.B");
    let outcome = block_on(RiegeliConnector::default().open(&[file], &options));
    assert!(matches!(outcome, Err(Error::UnknownOption { .. })), "{outcome:?}");
}

/// The values of the only column.
fn values(batches: &[RecordBatch]) -> Records {
    let mut values = Vec::new();
    for batch in batches {
        let column = arrow::array::AsArray::as_binary_view(batch.column(0));
        values.extend((0..column.len()).map(|row| column.value(row).to_vec()));
    }
    values
}

#[test]
fn batch_size_and_limit_do_not_change_the_rows() {
    for name in [
        "riegeli/simple_brotli.riegeli",
        "riegeli/nonproto_transposed_zstd.riegeli",
        "array_record/default.array_record",
    ] {
        let file = memory_file(&fixture(name));
        let (records, _) = read_range(&file, 0..file.size);
        let table = open(&file).expect("valid file");
        for batch_size in [1, 7, 100, 8192] {
            for limit in [None, Some(0), Some(1), Some(20), Some(1_000_000)] {
                let mut wanted = request(&file, 0..file.size, 1);
                (wanted.batch_size, wanted.limit) = (batch_size, limit);
                let mut counted = wanted.clone();
                counted.projection.columns.clear();
                let rows = records.len().min(limit.unwrap_or(usize::MAX));

                let (batches, error) = scan(table.as_ref(), wanted);
                assert!(error.is_none(), "{name}: {error:?}");
                assert!(batches.iter().all(|batch| (1..=batch_size).contains(&batch.num_rows())), "{name}");
                assert!(values(&batches) == records[..rows], "{name} {batch_size} {limit:?}");

                let (batches, error) = scan(table.as_ref(), counted);
                assert!(error.is_none(), "{name}: {error:?}");
                assert!(batches.iter().all(|batch| (1..=batch_size).contains(&batch.num_rows())), "{name}");
                assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), rows, "{name}");
            }
        }
    }
}

#[test]
fn small_chunks_are_gathered_into_batches() {
    let file = memory_file(&fixture("array_record/group1_uncompressed.array_record"));
    let table = open(&file).expect("valid file");
    for columns in [0, 1] {
        let (batches, _) = scan(table.as_ref(), request(&file, 0..file.size, columns));
        assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [25]);
    }
}

#[test]
fn rows_before_damage_come_before_the_error() {
    let file = memory_file(&fixture("riegeli/corrupt/chunk_header_flip.riegeli"));
    let table = open(&file).expect("the damage is further back");
    for columns in [0, 1] {
        let (batches, error) = scan(table.as_ref(), request(&file, 0..file.size, columns));
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 55);
        assert!(matches!(error, Some(Error::Corrupt { offset: 11_997, .. })), "{error:?}");
    }
}

#[test]
fn a_file_of_no_bytes_has_no_records() {
    let file = memory_file(b"");
    let table = open(&file).expect("an empty file is valid");
    for columns in [0, 1] {
        let (batches, error) = scan(table.as_ref(), request(&file, 0..0, columns));
        assert!(batches.is_empty() && error.is_none());
    }
    assert!(block_on(RiegeliConnector::default().inspect(&file)).expect("valid").chunks.is_empty());
    assert_eq!(
        block_on(RiegeliConnector::default().verify(&file, &Options::new())).expect("valid"),
        Default::default()
    );
}

#[test]
fn a_limit_reads_no_further_than_needed() {
    let records: Records = (0..40u8).map(|byte| vec![byte; 400_000]).collect();
    let file = memory_file(&write(&records, riegeli::WriterOptions::new().chunk_size(1)));
    let table = open(&file).expect("valid file");
    let mut limited = request(&file, 0..file.size, 1);
    limited.limit = Some(2);
    let counters = Arc::clone(&limited.counters);
    let (batches, _) = scan(table.as_ref(), limited);
    assert!(values(&batches) == records[..2]);
    assert_eq!(counters.chunks_read.value(), 2);
    assert!(counters.bytes_scanned.value() < file.size / 4, "{}", counters.bytes_scanned.value());
}

#[test]
fn descriptors_in_the_file_make_typed_columns() {
    for name in
        ["simple_zstd", "transposed_brotli", "kitchen_transposed_many_buckets", "legacy_transposed_none"]
    {
        let file = memory_file(&fixture(&format!("riegeli/{name}.riegeli")));
        let table = open(&file).expect("valid file");
        let columns = table.schema().fields().len();
        assert!(columns > 3 && table.messages().is_some(), "{name}: {columns} columns");
        let (records, _) = read_range(&file, 0..file.size);
        let (batches, error) = scan(table.as_ref(), request(&file, 0..file.size, columns));
        assert!(error.is_none(), "{name}: {error:?}");
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), records.len(), "{name}");
        assert!(batches.iter().all(|batch| batch.schema().fields() == table.schema().fields()), "{name}");
    }
}

#[test]
fn files_that_cannot_be_decoded_to_metadata_are_read_as_bytes() {
    let file = memory_file(&fixture("riegeli/corrupt/valid_hash_metadata_garbage.riegeli"));
    let table = open(&file).expect("the records are sound");
    let (batches, error) = scan(table.as_ref(), request(&file, 0..file.size, 1));
    assert!(error.is_none() && table.messages().is_none());
    assert_eq!(values(&batches).len(), 80);
}

#[test]
fn files_of_one_type_make_one_table() {
    let names =
        ["simple_zstd", "transposed_zstd", "simple_zstd", "metadata_type_only", "many_chunks_simple_zstd"];
    let files = names.map(|name| memory_file(&fixture(&format!("riegeli/{name}.riegeli"))));
    let table = block_on(RiegeliConnector::default().open(&files, &Options::new())).expect("the same type");
    assert_eq!(table.schema(), open(&files[0]).expect("valid file").schema());
}

#[test]
fn a_limit_names_its_option() {
    let file = memory_file(&write(&[vec![7u8; 1000], vec![8; 10]], riegeli::WriterOptions::new()));
    for (option, too_little, enough) in [
        ("max_chunk_size", "5", "1K"),
        ("max_decoded_chunk_size", "1009", "1010"),
        ("max_record_size", "999", "1000"),
    ] {
        for columns in [0, 1] {
            let table = open_with(&file, &options(&[(option, too_little)])).expect("good options");
            let (batches, error) = scan(table.as_ref(), request(&file, 0..file.size, columns));
            if (option, columns) == ("max_record_size", 0) {
                assert!(error.is_none(), "records are not looked at to count them");
                continue;
            }
            let error = error.expect("too large");
            let message = error.to_string();
            assert!(matches!(error, Error::Unsupported(_)) && batches.is_empty(), "{message}");
            assert!(
                message.starts_with("file: in the chunk at byte 64, ") && message.contains(option),
                "{message}"
            );
            let table = open_with(&file, &options(&[(option, enough)])).expect("good options");
            assert!(scan(table.as_ref(), request(&file, 0..file.size, columns)).1.is_none());
        }
        let skipping = options(&[(option, too_little), ("on_corruption", "skip")]);
        let found = scan_range(&file, 0..file.size, &skipping);
        assert!(found.records.is_empty() && found.lost[0].reason.contains(option), "{:?}", found.lost);
    }
    let wrong = RiegeliConnector::default().check_options(&options(&[("max_chunk_size", "2G")]));
    assert!(wrong.expect_err("too much").to_string().contains("from 1 to 1073741824"));
}
