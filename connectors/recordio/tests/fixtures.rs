//! Files of other writers, whole: their records and chunks, and where and why damaged ones stop a strict reader.

use futures::executor::block_on;
use recordfusion_core::{Connector, Error, Options, Verifying};
use recordfusion_recordio::RecordioConnector;

use crate::support::*;

#[test]
fn valid_files_give_their_records_in_both_policies() {
    for fixture in fixtures().into_iter().filter(Fixture::is_valid) {
        for options in [fixture.options(), skip()] {
            let found = read(&fixture.bytes(), &options);
            assert!(found.error.is_none(), "{}: {:?}", fixture.name, found.error);
            assert!(found.told() == fixture.records(), "{}", fixture.name);
            assert!(found.lost.is_empty(), "{}: {:?}", fixture.name, found.lost);
        }
    }
}

#[test]
fn valid_files_are_described_and_verified() {
    for fixture in fixtures().into_iter().filter(Fixture::is_valid) {
        let file = memory_file(&fixture.bytes());
        let inspection = block_on(RecordioConnector::default().inspect(&file)).expect("valid file");
        let described = inspection.chunks.iter().map(|chunk| {
            let codes = if chunk.kind == "elastic" {
                ["", "none", "snappy", "gzip"]
            } else {
                ["none", "snappy", "gzip", ""]
            };
            let code = codes.iter().position(|code| *code == chunk.codec).expect("a codec") as u64;
            (chunk.begin, chunk.end - chunk.begin, chunk.kind.clone(), code, chunk.records)
        });
        assert_eq!(described.collect::<Vec<_>>(), fixture.chunks(), "{}", fixture.name);
        let bytes: u64 =
            read(&fixture.bytes(), &fixture.options()).records.iter().map(|record| record.len() as u64).sum();
        let records = fixture.records().len() as u64;
        assert_eq!((inspection.records, inspection.decoded_size), (records, bytes), "{}", fixture.name);
        let verification =
            block_on(RecordioConnector::default().verify(&file, &Options::new())).expect("valid file");
        assert_eq!(
            (verification.chunks, verification.records, verification.decoded_size),
            (fixture.chunks().len() as u64, records, bytes),
            "{}",
            fixture.name
        );
    }
}

/// Words of the error for a reason of the manifest.
fn words(reason: &str) -> &str {
    match reason {
        "crc" => "wrong checksum of the payload",
        "magic" => "no chunk begins here",
        "header cut" => "truncated: the file ends inside a chunk header",
        "payload cut" => "truncated: the last",
        "count" | "count zero" => "records in",
        "size limit" => "'max_chunk_size'",
        "size too small" => "too short for a record",
        "record cut" | "record length cut" => "does not fit into the payload",
        "trailing bytes in chunk" => "left over behind the last record",
        "limit" => "'max_decoded_chunk_size'",
        "codec" => "compressor",
        gzip if gzip.starts_with("gzip") => "cannot be decompressed with gzip",
        snappy if snappy.starts_with("snappy") => "cannot be decompressed with snappy",
        other => panic!("{other}"),
    }
}

#[test]
fn damaged_files_stop_a_strict_reader_with_place_and_reason() {
    let mut checked = 0;
    for fixture in fixtures().into_iter().filter(|fixture| !fixture.is_valid()) {
        let (offset, reason) = fixture.strict_error().expect("damaged files have one");
        let found = read(&fixture.bytes(), &fixture.options());
        let before: u64 = fixture.chunks().iter().filter(|chunk| chunk.0 < offset).map(|chunk| chunk.4).sum();
        assert!(found.told() == fixture.records()[..before as usize], "{}", fixture.name);
        let error = found.error.unwrap_or_else(|| panic!("{} has no error", fixture.name));
        let message = error.to_string();
        let expected = words(&reason);
        assert!(message.contains(expected), "{}: {message}", fixture.name);
        assert!(message.starts_with("dir/file.recordio"), "{message}");
        assert!(message.contains(&format!("at byte {offset}")), "{}: {message}", fixture.name);
        match (&error, expected) {
            (Error::Corrupt { offset: found, .. }, _) => assert_eq!(*found, offset, "{}", fixture.name),
            (Error::Unsupported(_), limit) if limit.starts_with('\'') => {}
            (Error::WrongFormat { .. }, _) if offset == 0 && reason == "magic" => {}
            other => panic!("{}: {other:?}", fixture.name),
        }
        checked += 1;
    }
    assert_eq!(checked, 49);
}

#[test]
fn verify_finds_all_faults() {
    for fixture in fixtures() {
        if fixture.name == "mal-gzip-bomb.recordio" {
            continue;
        }
        let bytes = fixture.bytes();
        let skipped = read(&bytes, &skip());
        match block_on(RecordioConnector::default().verify(&memory_file(&bytes), &Options::new())) {
            Ok(verification) => {
                assert_eq!(verification.faults, skipped.lost, "{}", fixture.name);
                assert_eq!(verification.records as usize, skipped.records.len(), "{}", fixture.name);
                assert_eq!(verification.faults.is_empty(), fixture.is_valid(), "{}", fixture.name);
            }
            Err(error) => {
                assert!(matches!(error, Error::WrongFormat { .. }), "{}: {error}", fixture.name);
                assert!(skipped.records.is_empty() && !fixture.is_valid(), "{}", fixture.name);
            }
        }
    }
}

#[test]
fn messages_are_those_of_the_user() {
    for (name, expected) in [
        ("bad-data-none", "dir/file.recordio: damaged at byte 1704: wrong checksum of the payload"),
        (
            "tail-cut-payload",
            "dir/file.recordio: damaged at byte 4944: truncated: the last 9 bytes of the chunk are missing",
        ),
        (
            "all-bad",
            "dir/file.recordio is not a RecordIO file: at byte 0 no chunk begins here: found \"\\x04\\x03\\xfd\\x01\" instead \
             of \"\\x04\\x03\\x02\\x01\" (on_corruption = 'skip' would look for chunks behind)",
        ),
        (
            "mal-codec-huge",
            "dir/file.recordio: damaged at byte 40: the compressor word 0x01000000 has bits that this reader does not know",
        ),
        (
            "bad-size-huge",
            "dir/file.recordio: in the chunk at byte 2276, a payload of 2147483647 bytes is more than the 268435456 \
             bytes that the option 'max_chunk_size' allows",
        ),
    ] {
        let error = read(&fixture(&format!("{name}.recordio")), &Options::new()).error;
        assert_eq!(error.expect("damaged").to_string(), expected);
    }
}
