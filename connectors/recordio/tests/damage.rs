//! Damaged files with the damage passed over: what survives, what is lost, and the same for any ranges.

use crate::support::*;
use recordfusion_recordio::header::{Codec, MAGIC};
use recordfusion_recordio::write::{ChunkRecords, WriterOptions};

#[test]
fn intact_chunks_survive_and_lost_ranges_are_reported() {
    for fixture in fixtures() {
        let options = fixture.options().with("on_corruption", "skip");
        let found = read(&fixture.bytes(), &options);
        assert!(found.error.is_none(), "{}: {:?}", fixture.name, found.error);
        assert!(found.told() == fixture.records(), "{}", fixture.name);
        assert_eq!(found.lost_ranges(), fixture.lost_ranges(), "{}", fixture.name);
        assert!(
            found.lost.iter().all(|region| !region.reason.is_empty()),
            "{}: {:?}",
            fixture.name,
            found.lost
        );
        let file = memory_file(&fixture.bytes());
        assert_eq!(
            count(&file, 0..file.size, &options).expect("skips"),
            found.records.len(),
            "{}",
            fixture.name
        );
    }
}

#[test]
fn any_ranges_give_the_same_survivors_and_losses() {
    for fixture in fixtures() {
        let options = fixture.options().with("on_corruption", "skip");
        let file = memory_file(&fixture.bytes());
        let mut all: Vec<Vec<u64>> =
            [2, 3, 7].map(|parts| (0..=parts).map(|at| at * file.size / parts).collect()).into();
        let least = if file.size > 20_000 {
            1000
        } else if file.size > 1000 {
            7
        } else {
            1
        };
        all.extend(
            [1, 7, 64, 1000].into_iter().filter(|width| *width >= least).map(|width| cuts(file.size, width)),
        );
        for cuts in all {
            let found = read_parts(&file, &cuts, &options);
            assert!(found.error.is_none(), "{}: {:?}", fixture.name, found.error);
            assert!(found.told() == fixture.records(), "{} in {} ranges", fixture.name, cuts.len() - 1);
            assert_eq!(
                found.lost_ranges(),
                fixture.lost_ranges(),
                "{} in {} ranges",
                fixture.name,
                cuts.len() - 1
            );
        }
    }
}

#[test]
fn lost_regions_have_the_reason_at_their_first_byte() {
    for (name, reasons) in [
        ("two-adjacent-bad", &["wrong checksum of the payload"][..]),
        (
            "garbage-tail",
            &["no chunk begins here: found \"\\x00\\x00\\x00\\x00\" instead of \"\\x04\\x03\\x02\\x01\""],
        ),
        ("tail-cut-header", &["truncated: the file ends inside a chunk header"]),
        ("mal-count-low", &["10 bytes are left over behind the last record"]),
        ("fuzz-01-snappy", &["wrong checksum of the payload", "wrong checksum of the payload"]),
    ] {
        let found = read(&fixture(&format!("{name}.recordio")), &skip());
        let found: Vec<&str> = found.lost.iter().map(|region| region.reason.as_str()).collect();
        assert_eq!(found, reasons, "{name}");
    }
}

/// A wrong size that leads to a later chunk swallows those before it, unless its checksum is looked at.
#[test]
fn a_size_that_leads_to_a_later_chunk_costs_one_chunk() {
    let records: Vec<[u8; 8]> = (0..20u8).map(|at| [at; 8]).collect();
    let mut bytes = write(&records, &options(&[("compressor", "none"), ("max_chunk_bytes", "8")]));
    let chunk = 20 + 4 + 8;
    assert_eq!(bytes.len(), 20 * chunk);
    bytes[5 * chunk + 12..][..4].copy_from_slice(&(3 * chunk as u32 - 20).to_le_bytes());
    let survivors: Records =
        records.iter().enumerate().filter(|(at, _)| *at != 5).map(|(_, record)| record.to_vec()).collect();
    let file = memory_file(&bytes);
    for width in [1, 7, 31, 32, 33, 64, 100, 1000] {
        let found = read_parts(&file, &cuts(file.size, width), &skip());
        assert!(found.records == survivors, "ranges of {width}");
        assert_eq!(found.lost_ranges(), [(5 * chunk as u64, 6 * chunk as u64)], "ranges of {width}");
        let strict = read_parts(&file, &cuts(file.size, width), &Default::default());
        assert!(strict.error.is_some(), "ranges of {width}");
    }
}

/// Every four bytes a header that claims half of the file: the search must not read it again and again.
#[test]
fn many_forged_headers_cost_little() {
    let size = 4_000_000u32;
    let mut bytes = Vec::new();
    while bytes.len() < size as usize {
        bytes.extend(MAGIC);
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend((size / 2).to_le_bytes());
        bytes.extend([1, 0, 0, 0]);
    }
    let mut last = ChunkRecords::default();
    last.push(b"the only record").expect("short");
    let (header, payload) =
        last.encode(&WriterOptions { codec: Codec::None, ..WriterOptions::default() }).expect("encodes");
    let end = bytes.len() as u64;
    bytes.extend(header);
    bytes.extend(payload);
    let start = std::time::Instant::now();
    let found = read(&bytes, &skip());
    assert_eq!(found.records, [b"the only record"]);
    assert_eq!(found.lost_ranges(), [(0, end)]);
    assert_eq!(found.counters.bytes_scanned.value(), bytes.len() as u64);
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}
