//! Files of the reference implementation: records, positions, chunk lists and metadata.

use futures::executor::block_on;
use recordfusion_core::{Connector, Inspection, Options, RecordBlock, Verifying};
use recordfusion_riegeli::RiegeliConnector;
use serde_json::Value;

use crate::support::*;

fn manifest() -> Vec<Value> {
    json("riegeli/manifest.json")["files"].as_array().expect("a list").clone()
}

fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry[key].as_str().unwrap_or_else(|| panic!("{key} of {entry} is a text"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a number"))
}

fn expected_records(entry: &Value, bytes: &[u8]) -> Records {
    let sources = entry["source"].as_array().expect("a list");
    let part = |source: &Value| match source.as_str().expect("a text") {
        "(no records)" => vec![],
        "(1000 empty records)" => vec![vec![]; 1000],
        "(5000 empty records)" => vec![vec![]; 5000],
        "(65482 empty records, then `after`)" => [vec![vec![]; 65_482], vec![b"after".to_vec()]].concat(),
        "(one record: `x`)" => vec![b"x".to_vec()],
        "big" | "big_field" | "(records of 65407, 7, 65437, 7, 65377, 7 bytes)" => by_other_reader(bytes),
        stored => records_of(&fixture(&format!("riegeli/sources/{stored}.bin"))),
    };
    sources.iter().flat_map(part).collect()
}

/// Checks that the positions of the blocks' records are chunk begin + index.
fn check_positions(name: &str, blocks: &[RecordBlock], inspection: &Inspection) {
    let chunks = inspection.chunks.iter().filter(|chunk| chunk.records > 0);
    let begins: Vec<u64> = chunks.map(|chunk| chunk.begin).collect();
    assert_eq!(blocks.iter().map(|block| block.position(0)).collect::<Vec<_>>(), begins, "{name}");
    for block in blocks {
        let last = block.len() - 1;
        assert_eq!(block.position(last), block.position(0) + last as u64, "{name}");
    }
}

#[test]
fn every_file_gives_its_records() {
    let files = manifest();
    assert_eq!(files.len(), 77);
    for entry in files {
        let name = text(&entry, "file");
        let bytes = fixture(&format!("riegeli/{name}"));
        let file = memory_file(&bytes);
        let (blocks, error) = read_blocks(&file, 0..file.size);
        assert!(error.is_none(), "{name}: {error:?}");
        let records: Records = blocks.iter().flat_map(RecordBlock::records).map(<[u8]>::to_vec).collect();
        let expected = expected_records(&entry, &bytes);
        assert_eq!(records.len() as u64, number(&entry["records"]), "{name}");
        assert!(records == expected, "{name}");

        let inspection = block_on(RiegeliConnector::default().inspect(&file)).expect("valid file");
        check_positions(name, &blocks, &inspection);
        let verification =
            block_on(RiegeliConnector::default().verify(&file, &Options::new())).expect("valid file");
        assert_eq!(verification.records, inspection.records, "{name}");
        assert_eq!(verification.chunks, inspection.chunks.len() as u64, "{name}");
        assert_eq!(verification.decoded_size, number(&entry["decoded_record_bytes"]), "{name}");
        assert!(verification.faults.is_empty(), "{name}: {:?}", verification.faults);
    }
}

#[test]
fn chunk_lists_are_those_of_the_manifest() {
    for entry in manifest() {
        let name = text(&entry, "file");
        let file = memory_file(&fixture(&format!("riegeli/{name}")));
        let inspection = block_on(RiegeliConnector::default().inspect(&file)).expect("valid file");
        assert_eq!(inspection.kind, "Riegeli/records");
        assert_eq!((inspection.size, inspection.records), (file.size, number(&entry["records"])), "{name}");
        assert_eq!(inspection.decoded_size, number(&entry["decoded_record_bytes"]), "{name}");
        let expected = entry["chunks"].as_array().expect("a list");
        assert_eq!(inspection.chunks.len(), expected.len(), "{name}");
        for (chunk, expected) in inspection.chunks.iter().zip(expected) {
            let kind = match expected[2].as_str() {
                Some("s") => "signature",
                Some("m") => "metadata",
                Some("p") => "padding",
                Some("r") => "simple",
                Some("t") => "transposed",
                other => panic!("{name}: chunk type {other:?}"),
            };
            assert_eq!(
                (chunk.kind.as_str(), chunk.codec.as_str()),
                (kind, expected[6].as_str().unwrap_or("-"))
            );
            let found = [chunk.begin, chunk.end, chunk.data_size, chunk.records, chunk.decoded_size];
            assert_eq!(found, [0, 1, 3, 4, 5].map(|column| number(&expected[column])), "{name}");
        }
    }
}

#[test]
fn metadata_are_shown() {
    let cases: [(&str, &[(&str, &str)]); 6] = [
        (
            "simple_zstd",
            &[
                ("message type", "fx.Weblog"),
                ("comment", "fixture written by the C++ reference"),
                ("descriptor files", "2"),
                ("claimed records", "240"),
            ],
        ),
        ("metadata_type_only", &[("message type", "fx.Weblog")]),
        ("metadata_comment_only", &[("comment", "hello")]),
        ("metadata_empty", &[]),
        ("empty", &[]),
        ("corrupt/valid_hash_metadata_garbage", &[("metadata", "damaged: ")]),
    ];
    for (name, expected) in cases {
        let file = memory_file(&fixture(&format!("riegeli/{name}.riegeli")));
        let inspection = block_on(RiegeliConnector::default().inspect(&file)).expect("valid headers");
        assert_eq!(inspection.metadata.len(), expected.len(), "{name}: {:?}", inspection.metadata);
        for ((key, value), expected) in inspection.metadata.iter().zip(expected) {
            assert!(key == expected.0 && value.starts_with(expected.1), "{name}: {key} = {value}");
        }
    }
}

/// File, its records, data chunks, and a part of its options.
const ARRAY_RECORDS: [(&str, &str, usize, &str); 18] = [
    ("default", "examples25", 25, "group_size:1,transpose:false,pad_to_block_boundary:false,zstd:3"),
    ("group1_uncompressed", "examples25", 25, "uncompressed"),
    ("group64_zstd", "examples500", 8, "group_size:64"),
    ("group64_brotli", "examples500", 8, "brotli:6"),
    ("group64_snappy", "examples500", 8, "snappy"),
    ("group64_uncompressed", "examples500", 8, "uncompressed"),
    ("transpose_zstd", "examples500", 4, "transpose:true"),
    ("transpose_brotli_bucket4k", "examples500", 4, "transpose_bucket_size:4096"),
    ("transpose_snappy", "examples500", 4, "snappy"),
    ("transpose_uncompressed", "examples500", 4, "uncompressed"),
    ("wire_transpose_zstd", "wire300", 1, "group_size:300"),
    ("wire_transpose_uncompressed", "wire300", 3, "group_size:100"),
    ("wire_simple", "wire300", 3, "window_log:12"),
    ("mixed_transpose_zstd", "mixed120", 3, "group_size:50"),
    ("mixed_transpose_uncompressed", "mixed120", 3, "group_size:50"),
    ("empty", "none", 0, "zstd:3"),
    ("big_records_uncompressed", "big3", 3, "uncompressed"),
    ("pad_to_block", "pad6", 2, "pad_to_block_boundary:true"),
];

#[test]
fn array_record_files_end_at_their_footer() {
    for (name, source, data_chunks, options) in ARRAY_RECORDS {
        let file = memory_file(&fixture(&format!("array_record/{name}.array_record")));
        let (records, error) = read_range(&file, 0..file.size);
        assert!(error.is_none(), "{name}: {error:?}");
        assert!(records == records_of(&fixture(&format!("array_record/records_{source}.bin"))), "{name}");

        let inspection = block_on(RiegeliConnector::default().inspect(&file)).expect("valid file");
        assert_eq!((inspection.kind.as_str(), inspection.records), ("ArrayRecord", records.len() as u64));
        let kinds = |kind: &str| inspection.chunks.iter().filter(|chunk| chunk.kind == kind).count();
        assert_eq!(kinds("simple") + kinds("transposed"), data_chunks, "{name}");
        assert_eq!((kinds("footer"), kinds("postscript")), (1, 1), "{name}");
        let last = inspection.metadata.last().expect("options");
        assert!(last.0 == "ArrayRecord options" && last.1.contains(options), "{name}: {last:?}");

        let verification =
            block_on(RiegeliConnector::default().verify(&file, &Options::new())).expect("valid file");
        assert_eq!(verification.records, records.len() as u64, "{name}");
        assert_eq!(verification.chunks, inspection.chunks.len() as u64, "{name}");
        assert!(verification.faults.is_empty(), "{name}: {:?}", verification.faults);
    }
}

#[test]
fn a_damaged_array_record_index_is_no_obstacle() {
    let bytes = fixture("array_record/group64_zstd.array_record");
    let expected = records_of(&fixture("array_record/records_examples500.bin"));
    let whole = memory_file(&bytes);
    let inspection = block_on(RiegeliConnector::default().inspect(&whole)).expect("valid file");
    let footer = inspection.chunks.iter().find(|chunk| chunk.kind == "footer").expect("a footer");

    for at in [footer.begin + 3, footer.begin + 45] {
        let mut damaged = bytes.clone();
        damaged[at as usize] ^= 1;
        let file = memory_file(&damaged);
        assert!(open(&file).is_ok());
        let (records, error) = read_range(&file, 0..file.size);
        assert!(error.is_none() && records == expected, "footer byte {at}: {error:?}");
        let verification = block_on(RiegeliConnector::default().verify(&file, &Options::new()))
            .expect("most of it is whole");
        assert!(!verification.faults.is_empty(), "footer byte {at}");
        assert_eq!(verification.records as usize, expected.len(), "footer byte {at}");
    }

    let mut damaged = bytes.clone();
    let postscript = bytes.len() - 65_536;
    damaged[postscript + 70] ^= 1;
    let file = memory_file(&damaged);
    assert!(open(&file).is_ok());
    let (records, error) = read_range(&file, 0..file.size);
    assert!(records.starts_with(&expected), "read as a plain file");
    assert!(error.expect("the postscript is damaged").to_string().contains(&format!("byte {postscript}")));
}
