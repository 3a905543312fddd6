//! Files of the reference implementation, written again from their records: the same bytes where the format
//! leaves no choice, and as dense where only the compression differs.

use futures::executor::block_on;
use recordfusion_core::{Connector, Options, Verifying};
use recordfusion_riegeli::RiegeliConnector;
use recordfusion_riegeli::write::{ArrayRecordOptions, Compression, WriterOptions};

use crate::support::*;
use crate::writing::*;

/// A fixture whose records were written at once, without a flush in between.
fn written_at_once(name: &str, sources: usize) -> bool {
    let flushed = ["padded_flushes.riegeli", "many_chunks_mixed_flush.riegeli", "ignorable_chunks.riegeli"];
    sources == 1 && !flushed.contains(&name)
}

/// Kind, records and decoded size of each chunk.
fn chunks(bytes: &[u8]) -> Vec<(String, u64, u64)> {
    let file = memory_file(bytes);
    let inspection = block_on(RiegeliConnector::default().inspect(&file)).expect("valid file");
    inspection.chunks.into_iter().map(|chunk| (chunk.kind, chunk.records, chunk.decoded_size)).collect()
}

#[test]
fn fixtures_are_written_alike() {
    let mut checked = 0;
    for entry in json("riegeli/manifest.json")["files"].as_array().expect("a list") {
        let name = entry["file"].as_str().expect("a text");
        if !written_at_once(name, entry["source"].as_array().expect("a list").len()) {
            continue;
        }
        let text = entry["options"][0].as_str().expect("a text");
        let options: WriterOptions = text.parse().expect("valid options");
        let reference = fixture(&format!("riegeli/{name}"));
        let (records, error) = read(&reference);
        assert!(error.is_none(), "{name}");
        let written = write_file(&records, &options, metadata_of(&reference).as_deref());
        assert_eq!(chunks(&written), chunks(&reference), "{name}");
        let (found, error) = read(&written);
        assert!(error.is_none() && found == records, "{name}: {error:?}");
        let density = written.len() as f64 / reference.len() as f64;
        assert!(density <= 1.02, "{name}: {density} of the size");
        assert!(options.compression != Compression::None || written == reference, "{name}");
        checked += 1;
    }
    assert_eq!(checked, 68);
}

/// File, its records, and options; without compression, the bytes must be the same.
const ARRAY_RECORDS: [(&str, &str, &str); 18] = [
    ("default", "examples25", ""),
    ("group1_uncompressed", "examples25", "group_size:1,uncompressed"),
    ("group64_zstd", "examples500", "group_size:64,zstd:3"),
    ("group64_brotli", "examples500", "group_size:64,brotli:6"),
    ("group64_snappy", "examples500", "group_size:64,snappy"),
    ("group64_uncompressed", "examples500", "group_size:64,uncompressed"),
    ("transpose_zstd", "examples500", "group_size:128,transpose:true,zstd:5"),
    (
        "transpose_brotli_bucket4k",
        "examples500",
        "group_size:128,transpose,transpose_bucket_size:4K,brotli:9",
    ),
    ("transpose_snappy", "examples500", "group_size:128,transpose,snappy"),
    ("transpose_uncompressed", "examples500", "group_size:128,transpose,uncompressed"),
    ("wire_transpose_zstd", "wire300", "group_size:300,transpose,transpose_bucket_size:64,zstd"),
    ("wire_transpose_uncompressed", "wire300", "group_size:100,transpose,uncompressed"),
    ("wire_simple", "wire300", "group_size:100,zstd,window_log:12"),
    ("mixed_transpose_zstd", "mixed120", "group_size:50,transpose,zstd"),
    ("mixed_transpose_uncompressed", "mixed120", "group_size:50,transpose,uncompressed"),
    ("empty", "none", ""),
    ("big_records_uncompressed", "big3", "group_size:1,uncompressed"),
    ("pad_to_block", "pad6", "group_size:3,pad_to_block_boundary:true,zstd"),
];

#[test]
fn array_record_fixtures_are_written_alike() {
    for (name, source, text) in ARRAY_RECORDS {
        let options: ArrayRecordOptions = text.parse().expect("valid options");
        let reference = fixture(&format!("array_record/{name}.array_record"));
        let records = records_of(&fixture(&format!("array_record/records_{source}.bin")));
        let written = write_array_record(&records, &options);
        assert_eq!(chunks(&written), chunks(&reference), "{name}");
        assert_eq!(written.len(), reference.len(), "{name}");
        assert!(options.compression != Compression::None || written == reference, "{name}");
        let data_size = |file| chunk_data_size(file) as f64;
        let density = data_size(&written) / data_size(&reference);
        assert!(density <= 1.02, "{name}: {density} of the size");

        let file = memory_file(&written);
        let (found, error) = read(&written);
        assert!(error.is_none() && found == records, "{name}: {error:?}");
        let inspection = block_on(RiegeliConnector::default().inspect(&file)).expect("valid file");
        assert_eq!(inspection.kind, "ArrayRecord", "{name}");
        let stored = ("ArrayRecord options".to_string(), options.to_string());
        assert_eq!(inspection.metadata.last(), Some(&stored), "{name}");
        let verification =
            block_on(RiegeliConnector::default().verify(&file, &Options::new())).expect("valid file");
        assert_eq!(verification.records, records.len() as u64, "{name}");
    }
}

/// Bytes of all chunks but padding.
fn chunk_data_size(bytes: &[u8]) -> u64 {
    let inspection = block_on(RiegeliConnector::default().inspect(&memory_file(bytes))).expect("valid file");
    inspection.chunks.iter().filter(|chunk| chunk.kind != "padding").map(|chunk| chunk.data_size).sum()
}
