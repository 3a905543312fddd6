//! Files written here: read back, joined, refused.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, FixedSizeBinaryArray, Int64Array, LargeStringArray, RecordBatch, StringArray,
    StringViewArray,
};
use proptest::prelude::*;
use recordfusion_core::{Options, Writing};
use recordfusion_recordio::RecordioConnector;

use crate::support::*;

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}

/// The file of a batch, and the descriptors that belong beside it.
fn written(batch: &RecordBatch, options: &Options) -> recordfusion_core::Result<(Vec<u8>, Option<Vec<u8>>)> {
    let writer = RecordioConnector::default().writer(&batch.schema(), "recordio", options, None)?;
    Ok((
        write_batches(writer.as_ref(), std::slice::from_ref(batch))?,
        writer.message_type().map(|message| message.descriptor_set()),
    ))
}

#[test]
fn a_single_column_of_bytes_or_text_is_the_records() {
    let texts = ["one", "", "three"];
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(texts.to_vec())),
        Arc::new(LargeStringArray::from(texts.to_vec())),
        Arc::new(StringViewArray::from(texts.to_vec())),
        Arc::new(BinaryArray::from_iter_values(texts)),
    ];
    for column in columns {
        for name in ["record", "_record"] {
            let (file, descriptors) =
                written(&batch(vec![(name, Arc::clone(&column))]), &Options::new()).expect("writes");
            assert_eq!(read(&file, &Options::new()).records, texts.map(|text| text.as_bytes().to_vec()));
            assert_eq!(descriptors, None);
        }
    }
    let fixed = FixedSizeBinaryArray::try_from_iter([b"ab", b"cd"].into_iter()).expect("two bytes each");
    let (file, _) = written(&batch(vec![("record", Arc::new(fixed))]), &Options::new()).expect("writes");
    assert_eq!(read(&file, &Options::new()).records, [b"ab", b"cd"]);
}

#[test]
fn a_record_that_is_null_is_refused() {
    let writer = {
        let column = StringArray::from(vec!["a"; 3]);
        RecordioConnector::default().writer(
            &batch(vec![("record", Arc::new(column))]).schema(),
            "recordio",
            &Options::new(),
            None,
        )
    };
    let good = batch(vec![("record", Arc::new(StringArray::from(vec!["a"; 3])))]);
    let bad = batch(vec![("record", Arc::new(StringArray::from(vec![Some("a"), None])))]);
    let error = write_batches(writer.expect("good options").as_ref(), &[good, bad]).expect_err("NULL");
    assert_eq!(error.to_string(), "column 'record', row 4: it is NULL, and a record cannot be");
}

#[test]
fn columns_become_messages_that_their_descriptors_read_back() {
    let columns = batch(vec![
        ("id", Arc::new(Int64Array::from(vec![Some(1), None, Some(0)]))),
        ("name", Arc::new(StringViewArray::from(vec![Some("x"), Some(""), None]))),
    ]);
    let (file, descriptors) = written(&columns, &Options::new()).expect("writes");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("row.fds");
    std::fs::write(&path, descriptors.expect("messages have some")).expect("writes");
    let path = path.display().to_string();
    for options in [
        Options::new().with("descriptor_set", path.clone()),
        Options::new().with("descriptor_set", path).with("message_type", "recordio.Row"),
    ] {
        let file = memory_file(&file);
        let table = open(&file, &options).expect("the descriptors are complete");
        let (batches, error) = scan(table.as_ref(), request(&file, 0..file.size, 2));
        assert!(error.is_none());
        assert_eq!(batches[0].columns(), columns.columns());
    }
}

#[test]
fn messages_of_a_given_type_are_written() {
    let file = memory_file(&fixture("go-none-proto.recordio"));
    let path = fixture_path("events.fds.bin").display().to_string();
    let given = Options::new().with("message_type", "demo.shop.v1.Event").with("descriptor_set", path);
    let table = open(&file, &given).expect("good options");
    let columns = table.schema().fields().len();
    let (batches, error) = scan(table.as_ref(), request(&file, 0..file.size, columns));
    assert!(error.is_none());
    let by_options = RecordioConnector::default().writer(table.schema(), "recordio", &given, None);
    let by_table =
        table.writing().expect("can be written").writer(table.schema(), "recordio", &Options::new());
    for writer in [by_options, by_table] {
        let writer = writer.expect("the columns fit the type");
        let written = memory_file(&write_batches(writer.as_ref(), &batches).expect("writes"));
        let again = open(&written, &given).expect("good options");
        let (found, error) = scan(again.as_ref(), request(&written, 0..written.size, columns));
        assert!(error.is_none());
        let rows =
            |batches: &[RecordBatch]| arrow::compute::concat_batches(table.schema(), batches).expect("alike");
        assert_eq!(rows(&found), rows(&batches));
    }
}

#[test]
fn wrong_options_are_refused() {
    let schema = batch(vec![("record", Arc::new(StringArray::from(vec!["a"])))]).schema();
    for (pairs, expected) in [
        (&[("layout", "rust")][..], "option 'layout': 'rust' is not one of go, fluid, elastic"),
        (
            &[("compressor", "zip")],
            "option 'compressor': 'zip' is not one of snappy, none, gzip, gzip:0 to gzip:9",
        ),
        (
            &[("compressor", "gzip:10")],
            "option 'compressor': 'gzip:10' is not one of snappy, none, gzip, gzip:0 to gzip:9",
        ),
        (
            &[("compressor", "snappy:1")],
            "option 'compressor': 'snappy:1' is not one of snappy, none, gzip, gzip:0 to gzip:9",
        ),
        (
            &[("layout", "fluid"), ("compressor", "gzip")],
            "option 'compressor': the fluid layout has no compression with gzip",
        ),
        (
            &[("max_chunk_bytes", "1G")],
            "option 'max_chunk_bytes': '1G' is not a number of bytes from 0 to 268435456, such as 64K or 1M",
        ),
        (&[("max_chunk_records", "0")], "option 'max_chunk_records': '0' is not a whole number from 1 on"),
        (&[("null_items", "maybe")], "option 'null_items': 'maybe' is not one of error, drop, wrap"),
    ] {
        let error = RecordioConnector::default()
            .writer(&schema, "recordio", &options(pairs), None)
            .expect_err("wrong option");
        assert_eq!(error.to_string(), expected);
    }
}

fn any_options() -> impl Strategy<Value = Options> {
    let compressor = prop::sample::select(vec!["none", "snappy", "gzip", "gzip:0"]);
    let layout = prop::sample::select(vec!["go", "fluid", "elastic"]);
    let bytes = prop::sample::select(vec!["", "0", "1", "100", "1K", "1M"]);
    let records = prop::sample::select(vec!["", "1", "3", "1000"]);
    (layout, compressor, bytes, records).prop_map(|(layout, compressor, bytes, records)| {
        let compressor =
            if layout == "fluid" && compressor.starts_with("gzip") { "snappy" } else { compressor };
        options(&[
            ("layout", layout),
            ("compressor", compressor),
            ("max_chunk_bytes", bytes),
            ("max_chunk_records", records),
        ])
    })
}

/// Short, empty and long records, random and repeating, some of them with magics.
fn any_record() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..40),
        2 => Just(vec![]),
        1 => (any::<u8>(), 0usize..200_000).prop_map(|(byte, len)| vec![byte; len]),
        1 => prop::collection::vec(any::<u8>(), 60_000..70_000),
        1 => (0usize..100).prop_map(|times| [4, 3, 2, 1].repeat(times)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn what_is_written_is_read(
        parts in prop::collection::vec((prop::collection::vec(any_record(), 0..20), any_options()), 1..4),
        cut in 0.0..1.0,
    ) {
        let records: Records = parts.iter().flat_map(|(records, _)| records.clone()).collect();
        let file: Vec<u8> = parts.iter().flat_map(|(records, options)| write(records, options)).collect();
        let file = memory_file(&file);
        let cut = (cut * file.size as f64) as u64;
        for policy in [Options::new(), skip()] {
            let whole = read_range(&file, 0..file.size, &policy);
            prop_assert!(whole.error.is_none() && whole.lost.is_empty());
            prop_assert!(whole.records == records);
            let halves = read_parts(&file, &[0, cut, file.size], &policy);
            prop_assert!(halves.error.is_none() && halves.lost.is_empty());
            prop_assert!(halves.records == records);
        }
        prop_assert_eq!(count(&file, 0..file.size, &Options::new()).expect("intact"), records.len());
    }
}
