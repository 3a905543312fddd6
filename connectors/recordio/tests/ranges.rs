//! Byte ranges of intact files: any partition gives each record exactly once, and costs little.

use std::sync::Arc;

use proptest::prelude::*;
use recordfusion_core::{Error, Options, RecordFile};

use crate::support::*;

/// Reads and counts the ranges between the cuts, and compares them with the whole.
fn check_cuts(name: &str, file: &RecordFile, whole: &Records, cuts: &[u64]) {
    let mut records = Vec::new();
    for pair in cuts.windows(2) {
        let part = read_range(file, pair[0]..pair[1], &Options::new());
        assert!(part.error.is_none(), "{name} {pair:?}: {:?}", part.error);
        for trust in ["true", "false"] {
            let counted = count(file, pair[0]..pair[1], &options(&[("trust_headers", trust)]));
            assert_eq!(counted.expect("intact"), part.records.len(), "{name} {pair:?} {trust}");
        }
        records.extend(part.records);
    }
    assert!(records == *whole, "{name} {cuts:?}");
}

/// Files with a whole file inside a record are among them: they are exact too.
#[test]
fn ranges_of_any_width_give_each_record_once() {
    for fixture in fixtures().into_iter().filter(Fixture::is_valid) {
        let file = memory_file(&fixture.bytes());
        let whole = read(&fixture.bytes(), &Options::new()).records;
        let least = if file.size > 20_000 {
            1000
        } else if file.size > 2000 {
            64
        } else {
            1
        };
        for width in [1, 7, 64, 1000].into_iter().filter(|width| *width >= least) {
            check_cuts(&fixture.name, &file, &whole, &cuts(file.size, width));
        }
    }
}

#[test]
fn each_range_owns_the_chunks_that_begin_in_it() {
    let mut checked = 0;
    for fixture in fixtures().into_iter().filter(|fixture| fixture.is_valid() && fixture.is_scan_safe()) {
        let file = memory_file(&fixture.bytes());
        for parts in [2, 3, 7] {
            for (range, records) in fixture.split(parts) {
                let found = read_range(&file, range.clone(), &Options::new());
                assert_eq!(found.records.len(), records, "{} {range:?}", fixture.name);
                checked += 1;
            }
        }
    }
    assert!(checked > 300);
}

/// A file of more chunks than a range hops over.
fn many_chunks() -> (Vec<u8>, Records) {
    let records: Records = (0..6000u32).map(|at| at.to_le_bytes().repeat(1 + at as usize % 3)).collect();
    let bytes = write(&records, &options(&[("compressor", "none"), ("max_chunk_bytes", "0")]));
    (bytes, records)
}

#[test]
fn files_of_many_chunks_are_searched_and_exact() {
    let (bytes, records) = many_chunks();
    let file = memory_file(&bytes);
    let mut all: Vec<Vec<u64>> =
        [2, 3, 7].map(|parts| (0..=parts).map(|at| at * file.size / parts).collect()).into();
    all.push(cuts(file.size, 999));
    all.push(vec![0, 10, 11, 12, 30, 31, 100_000, 100_001, file.size]);
    for cuts in all {
        check_cuts("many chunks", &file, &records, &cuts);
        let skipped = read_parts(&file, &cuts, &skip());
        assert!(skipped.records == records && skipped.lost.is_empty());
    }
}

/// The first chunk is long, so that the number of chunks is known only on the way.
#[test]
fn files_that_have_many_chunks_behind_a_long_one_are_exact() {
    let (many, mut records) = many_chunks();
    records.insert(0, vec![1; 1_000_000]);
    let bytes = [
        write(&records[..1], &Options::new()),
        write(&records[..1], &options(&[("compressor", "none")])),
        many,
    ]
    .concat();
    records.insert(0, vec![1; 1_000_000]);
    let file = memory_file(&bytes);
    for parts in [2, 13, 200] {
        let cuts: Vec<u64> = (0..=parts).map(|at| at * file.size / parts).collect();
        check_cuts("a long chunk first", &file, &records, &cuts);
    }
}

/// Where no range hops to its begin, damage at the seam of two ranges is still an error of one of them.
#[test]
fn no_damage_hides_between_ranges_of_many_chunks() {
    let (bytes, records) = many_chunks();
    let middle = bytes.len() as u64 / 2;
    for at in (middle as usize - 60..middle as usize + 60).step_by(13) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        let file = memory_file(&damaged);
        for cut in (middle - 30..middle + 30).step_by(7) {
            let found = read_parts(&file, &[0, cut, file.size], &Options::new());
            assert!(found.error.is_some(), "byte {at}, cut at {cut}");
            assert!(found.records.iter().all(|record| records.contains(record)), "byte {at}, cut at {cut}");
        }
    }
}

/// In a file of many chunks, a range cannot know that it begins inside of a record that is a file.
#[test]
fn nested_files_are_an_error_where_they_cannot_be_told() {
    let inner = write(&[b"inner", b"other"], &options(&[("compressor", "none"), ("max_chunk_bytes", "0")]));
    let (mut records, none) = (many_chunks().1, options(&[("compressor", "none"), ("max_chunk_bytes", "0")]));
    records[3000] = inner.clone();
    let bytes = write(&records, &none);
    let file = memory_file(&bytes);
    let begin = bytes.windows(inner.len()).position(|window| window == inner).expect("it is there") as u64;
    for cut in begin - 24..begin + inner.len() as u64 + 5 {
        let found = read_parts(&file, &[0, cut, file.size], &Options::new());
        let last_inner = begin + inner.len() as u64 / 2;
        if (begin - 23..=last_inner).contains(&cut) {
            let message = found.error.expect("cannot be told").to_string();
            assert!(
                message.contains("the option split = 'never' reads it in one piece"),
                "cut at {cut}: {message}"
            );
        } else {
            assert!(found.error.is_none() && found.records == records, "cut at {cut}: {:?}", found.error);
        }
    }
    let whole = read(&bytes, &Options::new());
    assert!(whole.error.is_none() && whole.records == records);
}

/// Four chunks of four megabytes, in records of a thousand bytes.
fn long_chunks() -> RecordFile {
    let records: Records = (0..16_000u32).map(|at| vec![at as u8; 1000]).collect();
    memory_file(&write(&records, &options(&[("compressor", "none"), ("max_chunk_bytes", "4000000")])))
}

#[test]
fn a_range_costs_the_chunks_that_it_owns() {
    let file = long_chunks();
    let chunk = file.size / 4;
    for (range, chunks) in
        [(1..1000, 0), (chunk / 2..chunk - 1, 0), (chunk - 5..chunk + 1, 1), (3 * chunk - 1..file.size, 1)]
    {
        let found = read_range(&file, range.clone(), &Options::new());
        assert_eq!(found.records.len(), 4000 * chunks as usize, "{range:?}");
        let most = chunks * chunk + chunks * (2 << 20) + 4 * 128;
        assert!(
            found.counters.bytes_scanned.value() <= most,
            "{range:?}: {}",
            found.counters.bytes_scanned.value()
        );
    }
}

#[test]
fn counting_reads_headers_and_reading_reads_all_once() {
    let file = long_chunks();
    let table = open(&file, &Options::new()).expect("good options");
    let counting = request(&file, 0..file.size, 0);
    let counters = Arc::clone(&counting.counters);
    let (batches, error) = scan(table.as_ref(), counting);
    assert!(error.is_none());
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 16_000);
    assert_eq!((counters.chunks_counted.value(), counters.chunks_read.value()), (4, 0));
    assert_eq!(counters.bytes_scanned.value(), 4 * 128);

    for options in [Options::new(), skip()] {
        let found = read_range(&file, 0..file.size, &options);
        assert_eq!(found.records.len(), 16_000);
        let counters = found.counters;
        assert_eq!(counters.bytes_scanned.value(), file.size);
        assert_eq!((counters.chunks_read.value(), counters.records_decoded.value()), (4, 16_000));
        assert_eq!(counters.bytes_decompressed.value(), 16_000 * 1004);
    }
}

#[test]
fn headers_are_hardly_read_behind_the_end_of_a_range() {
    let records: Records = (0..16_000u32).map(|at| vec![at as u8; 1000]).collect();
    let file =
        memory_file(&write(&records, &options(&[("compressor", "none"), ("max_chunk_bytes", "8000")])));
    let table = open(&file, &Options::new()).expect("good options");
    let mut rows = 0;
    for quarter in 0..4 {
        let range = file.size * quarter / 4..file.size * (quarter + 1) / 4;
        let counting = request(&file, range.clone(), 0);
        let counters = Arc::clone(&counting.counters);
        let (batches, error) = scan(table.as_ref(), counting);
        assert!(error.is_none());
        rows += batches.iter().map(|batch| batch.num_rows()).sum::<usize>();
        let scanned = counters.bytes_scanned.value();
        assert!(scanned <= range.end + (64 << 10) + 128, "{range:?}: {scanned}");
        let (found, end) = (read_range(&file, range.clone(), &Options::new()), range.end);
        let most = end + (range.end - range.start) + (1 << 20);
        assert!(found.counters.bytes_scanned.value() <= most, "{range:?}");
    }
    assert_eq!(rows, 16_000);
}

/// A count in a header is not guarded: whoever does not trust it reads.
#[test]
fn a_wrong_count_is_found_by_reading() {
    let file = memory_file(&fixture("bad-count-none.recordio"));
    assert_eq!(count(&file, 0..file.size, &Options::new()).expect("headers are possible"), 121);
    let read = count(&file, 0..file.size, &options(&[("trust_headers", "false")]));
    assert!(matches!(read, Err(Error::Corrupt { offset: 2276, .. })), "{read:?}");
    assert_eq!(count(&file, 0..file.size, &skip()).expect("skips"), 108);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn random_cuts_give_each_record_once(
        name in prop::sample::select(vec!["mixed-variants", "go-concat-mixed", "go-none-nested", "go-gzip-proto"]),
        mut cuts in prop::collection::vec(0.0..1.0, 1..12),
    ) {
        let bytes = fixture(&format!("{name}.recordio"));
        let file = memory_file(&bytes);
        let whole = read(&bytes, &Options::new()).records;
        cuts.sort_by(f64::total_cmp);
        let inner = cuts.iter().map(|cut| (cut * file.size as f64) as u64);
        let cuts: Vec<u64> = [0].into_iter().chain(inner).chain([file.size]).collect();
        check_cuts(name, &file, &whole, &cuts);
    }
}
