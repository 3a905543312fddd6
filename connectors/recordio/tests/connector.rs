//! The connector as the engine uses it.

use arrow::array::RecordBatch;
use futures::TryStreamExt;
use futures::executor::block_on;
use recordfusion_core::{ByteRecords, Connector, Error, Options};
use recordfusion_recordio::RecordioConnector;

use crate::support::*;

#[test]
fn possible_headers_are_recognised() {
    assert_eq!(RecordioConnector::default().signature_len(), 20);
    for fixture in
        fixtures().into_iter().filter(|fixture| fixture.is_valid() && fixture.name != "go-zero.recordio")
    {
        assert!(RecordioConnector::default().recognises(&fixture.bytes()[..20]), "{}", fixture.name);
    }
    let header = fixture("worked-go-none.recordio")[..20].to_vec();
    for at in 0..4 {
        let mut other = header.clone();
        other[at] ^= 1;
        assert!(!RecordioConnector::default().recognises(&other), "byte {at}");
    }
    assert!(!RecordioConnector::default().recognises(&header[..19]));
    assert!(!RecordioConnector::default().recognises(b""));
    assert!(
        !RecordioConnector::default()
            .recognises(&[4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    );
}

#[test]
fn options_are_checked() {
    for (pairs, expected) in [
        (&[("on_coruption", "skip")][..], "unknown option 'on_coruption'; did you mean 'on_corruption'?"),
        (&[("on_corruption", "ignore")], "option 'on_corruption': 'ignore' is not one of error, skip"),
        (&[("trust_headers", "no")], "option 'trust_headers': 'no' is not one of true, false"),
        (
            &[("max_chunk_size", "5G")],
            "option 'max_chunk_size': '5G' is not a number of bytes from 4 to 4294967295, such as 64K or 1M",
        ),
        (&[("payload", "json")], "option 'payload': 'json' is not one of bytes, text"),
    ] {
        let error = RecordioConnector::default().check_options(&options(pairs)).expect_err("wrong option");
        assert_eq!(error.to_string(), expected);
    }
    for option in RecordioConnector::default().options() {
        assert!(
            RecordioConnector::default().check_options(&Options::new().with(option.name, "")).is_ok(),
            "{}",
            option.name
        );
    }
}

#[test]
fn batch_size_and_limit_do_not_change_the_rows() {
    for name in ["go-none-chunks", "go-default", "mixed-variants", "go-zero"] {
        let file = memory_file(&fixture(&format!("{name}.recordio")));
        let records = read_range(&file, 0..file.size, &Options::new()).records;
        for options in [Options::new(), skip(), options(&[("trust_headers", "false")])] {
            let table = open(&file, &options).expect("good options");
            for batch_size in [1, 7, 100, 8192] {
                for limit in [None, Some(0), Some(1), Some(20), Some(1_000_000)] {
                    let mut wanted = request(&file, 0..file.size, 1);
                    (wanted.batch_size, wanted.limit) = (batch_size, limit);
                    let mut counted = wanted.clone();
                    counted.projection.columns.clear();
                    let rows = records.len().min(limit.unwrap_or(usize::MAX));
                    let (batches, error) = scan(table.as_ref(), wanted);
                    assert!(error.is_none());
                    assert_eq!(values(&batches), records[..rows], "{name} {batch_size} {limit:?}");
                    assert!(batches.iter().all(|batch| batch.num_rows() <= batch_size));
                    let (batches, error) = scan(table.as_ref(), counted);
                    assert!(error.is_none());
                    let counted: usize = batches.iter().map(RecordBatch::num_rows).sum();
                    assert_eq!(counted, rows, "{name} {batch_size} {limit:?}");
                }
            }
        }
    }
}

#[test]
fn records_come_as_bytes_with_their_positions() {
    let file = memory_file(&fixture("go-concat-mixed.recordio"));
    let blocks =
        RecordioConnector::default().records(&file, 0..file.size, &Options::new(), Default::default());
    let blocks: Vec<_> = block_on(blocks.try_collect()).expect("valid file");
    assert_eq!(blocks.len(), 12);
    let mut begins = Vec::new();
    for block in &blocks {
        begins.push(block.position(0));
        assert!((0..block.len()).all(|row| block.position(row) == block.position(0) + row as u64));
    }
    let fixture = fixtures().into_iter().find(|fixture| fixture.name == "go-concat-mixed.recordio");
    let expected: Vec<u64> = fixture.expect("it is there").chunks().iter().map(|chunk| chunk.0).collect();
    assert_eq!(begins, expected);
}

#[test]
fn an_empty_file_has_no_rows() {
    for options in [Options::new(), skip()] {
        let found = read(b"", &options);
        assert!(found.records.is_empty() && found.error.is_none() && found.lost.is_empty());
        assert_eq!(count(&memory_file(b""), 0..0, &options).expect("no rows"), 0);
    }
    let table = block_on(RecordioConnector::default().open(&[], &Options::new())).expect("no file is needed");
    assert_eq!(table.schema().fields().len(), 1);
}

#[test]
fn a_file_that_became_shorter_is_an_error() {
    let bytes = fixture("go-none-chunks.recordio");
    let mut file = memory_file(&bytes);
    file.size += 1000;
    for options in [Options::new(), skip()] {
        let found = read_range(&file, 0..file.size, &options);
        let message = found.error.expect("the store has less").to_string();
        assert!(
            message.contains("has changed while it was read") || message.starts_with("dir/file"),
            "{message}"
        );
        assert!(!matches!(found.lost.first(), Some(region) if region.begin == 0));
    }
}

#[test]
fn a_limit_names_its_option() {
    let bytes = fixture("go-gzip-big.recordio");
    for (option, value) in
        [("max_chunk_size", "40000"), ("max_decoded_chunk_size", "65536"), ("max_record_size", "100")]
    {
        let found = read(&bytes, &options(&[(option, value)]));
        let error = found.error.expect("too large");
        assert!(matches!(error, Error::Unsupported(_)), "{error:?}");
        assert!(error.to_string().contains(&format!("'{option}'")), "{error}");
        let skipped = read(&bytes, &skip().with(option, value));
        assert!(skipped.error.is_none() && !skipped.lost.is_empty());
        assert!(skipped.lost[0].reason.contains(option), "{:?}", skipped.lost);
    }
}
