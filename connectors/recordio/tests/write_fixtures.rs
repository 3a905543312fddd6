//! Files written again from their records: byte for byte those of their writers where nothing is compressed.

use std::collections::BTreeMap;

use recordfusion_core::Options;

use crate::support::*;

/// Writers' options by file.
fn rewritten() -> BTreeMap<&'static str, Options> {
    let go = |compressor: &str, max_chunk_bytes: &str| {
        options(&[("compressor", compressor), ("max_chunk_bytes", max_chunk_bytes)])
    };
    BTreeMap::from([
        ("go-none-chunks", go("none", "512")),
        ("go-snappy-chunks", go("snappy", "512")),
        ("go-gzip-chunks", go("gzip", "512")),
        ("go-default", Options::new()),
        ("go-none-empty-records", go("none", "32")),
        ("go-snappy-empty-records", go("snappy", "32")),
        ("go-gzip-empty-records", go("gzip", "32")),
        ("go-none-only-empty", go("none", "")),
        ("go-snappy-big", go("snappy", "65536")),
        ("go-gzip-big", go("gzip", "65536")),
        ("go-none-big", go("none", "1000")),
        ("go-none-max0", go("none", "0")),
        ("go-zero", Options::new()),
        ("go-none-proto", go("none", "4096")),
        ("go-snappy-proto", go("snappy", "4096")),
        ("go-gzip-proto", go("gzip:9", "8000")),
        ("go-none-false-magic", go("none", "64")),
        ("go-none-nested", go("none", "")),
        ("pypi-recordio-016", Options::new()),
        ("worked-go-none", go("none", "")),
        ("worked-go-snappy", go("snappy", "")),
        ("worked-go-gzip", go("gzip", "")),
        ("fluid-none", options(&[("layout", "fluid"), ("compressor", "none"), ("max_chunk_records", "20")])),
        ("fluid-snappy", options(&[("layout", "fluid"), ("max_chunk_records", "20")])),
        ("worked-fluid-none", options(&[("layout", "fluid"), ("compressor", "none")])),
        ("worked-fluid-snappy", options(&[("layout", "fluid"), ("compressor", "snappy")])),
        ("worked-elastic-none", options(&[("layout", "elastic"), ("compressor", "none")])),
        ("worked-elastic-snappy", options(&[("layout", "elastic"), ("compressor", "snappy")])),
    ])
}

/// Layout, codec word, number of records and their bytes, of each chunk.
fn shape(bytes: &[u8]) -> Vec<(String, String, u64, u64)> {
    use futures::executor::block_on;
    use recordfusion_core::Connector;
    let inspection =
        block_on(recordfusion_recordio::RecordioConnector::default().inspect(&memory_file(bytes)))
            .expect("valid");
    inspection
        .chunks
        .into_iter()
        .map(|chunk| (chunk.kind, chunk.codec, chunk.records, chunk.decoded_size))
        .collect()
}

#[test]
fn files_written_again_are_those_of_their_writers() {
    for (name, options) in rewritten() {
        let original = fixture(&format!("{name}.recordio"));
        let records = read(&original, &Options::new()).records;
        let written = write(&records, &options);
        assert_eq!(shape(&written), shape(&original), "{name}");
        assert!(read(&written, &Options::new()).records == records, "{name}");
        if name.contains("none") {
            assert!(written == original, "{name}");
        }
    }
}
