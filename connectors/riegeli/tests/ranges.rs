//! Byte ranges: any partition of a file gives each record exactly once, and costs little.

use std::sync::Arc;

use futures::executor::block_on;
use proptest::prelude::*;
use recordfusion_core::{Connector, RecordFile, Table};
use recordfusion_riegeli::RiegeliConnector;

use crate::support::*;

const FILES: [&str; 10] = [
    "riegeli/many_chunks_simple_none.riegeli",
    "riegeli/many_chunks_transposed_zstd.riegeli",
    "riegeli/many_chunks_mixed_flush.riegeli",
    "riegeli/boundary.riegeli",
    "riegeli/padded_flushes.riegeli",
    "riegeli/ignorable_chunks.riegeli",
    "riegeli/empty_records_to_boundary.riegeli",
    "riegeli/appended_initial_padding.riegeli",
    "array_record/pad_to_block.array_record",
    "array_record/default.array_record",
];

/// Reads and counts the ranges between the cuts, and compares them with the whole.
fn check_cuts(name: &str, file: &RecordFile, table: &dyn Table, whole: &Records, cuts: &[u64]) {
    let mut records = Vec::new();
    for pair in cuts.windows(2) {
        let (part, error) = read_range(file, pair[0]..pair[1]);
        assert!(error.is_none(), "{name} {pair:?}: {error:?}");
        let counted = count(table, file, pair[0]..pair[1]).expect("sound headers");
        assert_eq!(counted, part.len(), "{name} {pair:?}");
        records.extend(part);
    }
    assert!(records == *whole, "{name} {cuts:?}");
}

#[test]
fn two_cuts_anywhere_give_each_record_once() {
    for name in FILES {
        let file = memory_file(&fixture(name));
        let table = open(&file).expect("valid file");
        let (whole, _) = read_range(&file, 0..file.size);
        let blocks = (0..=file.size / 65_536).flat_map(|block| [0, 1, 24, 25].map(|at| block * 65_536 + at));
        let coarse = (0..file.size).step_by(file.size as usize / 12 + 1);
        let mut cuts: Vec<u64> = blocks.chain(coarse).filter(|&cut| cut <= file.size).collect();
        cuts.sort_unstable();
        for (index, &first) in cuts.iter().enumerate() {
            for &second in &cuts[index..] {
                check_cuts(name, &file, table.as_ref(), &whole, &[0, first, second, file.size]);
            }
        }
    }
}

#[test]
fn ranges_of_any_width_give_each_record_once() {
    for name in ["riegeli/many_chunks_mixed_flush.riegeli", "riegeli/boundary.riegeli"] {
        let file = memory_file(&fixture(name));
        let table = open(&file).expect("valid file");
        let (whole, _) = read_range(&file, 0..file.size);
        for step in [97, 1000, 65_535, 65_536, 65_537] {
            let mut cuts: Vec<u64> = (0..file.size).step_by(step).collect();
            cuts.push(file.size);
            check_cuts(name, &file, table.as_ref(), &whole, &cuts);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn random_cuts_give_each_record_once(
        name in prop::sample::select(&FILES[..]),
        mut cuts in prop::collection::vec(0.0..1.0, 1..12),
    ) {
        let file = memory_file(&fixture(name));
        let table = open(&file).expect("valid file");
        let (whole, _) = read_range(&file, 0..file.size);
        cuts.sort_by(f64::total_cmp);
        let inner = cuts.iter().map(|cut| (cut * file.size as f64) as u64);
        let cuts: Vec<u64> = [0].into_iter().chain(inner).chain([file.size]).collect();
        check_cuts(name, &file, table.as_ref(), &whole, &cuts);
    }
}

#[test]
fn a_damaged_block_header_in_padding_is_no_obstacle() {
    let options =
        riegeli::WriterOptions::new().compression(riegeli::CompressionType::Brotli).chunk_size(8 * 200_000);
    let records = [vec![vec![]; 200_000], vec![b"after".to_vec()]].concat();
    let mut bytes = write(&records, options);
    bytes[2 * 65_536 + 3] ^= 1;
    let file = memory_file(&bytes);
    let table = open(&file).expect("valid file");
    let (whole, error) = read_range(&file, 0..file.size);
    assert!(error.is_none() && whole == records, "{error:?}");
    for cut in [2 * 65_536 - 1, 2 * 65_536, 2 * 65_536 + 100, 3 * 65_536] {
        check_cuts("padding", &file, table.as_ref(), &whole, &[0, cut, file.size]);
    }
}

#[test]
fn a_long_tail_of_garbage_is_an_error_that_costs_little() {
    let mut bytes = fixture("riegeli/many_chunks_simple_none.riegeli");
    bytes.resize(100 * 65_536, 0);
    let file = memory_file(&bytes);
    let table = open(&file).expect("the damage is further back");
    for begin in [60 * 65_536, 99 * 65_536 + 1] {
        for columns in [0, 1] {
            let request = request(&file, begin..file.size, columns);
            let counters = Arc::clone(&request.counters);
            let (batches, error) = scan(table.as_ref(), request);
            assert!(batches.is_empty());
            let message = error.expect("no chunk can be found").to_string();
            assert!(message.contains("wrong hash of the block header at byte"), "{message}");
            assert!(counters.bytes_scanned.value() < 1000, "{}", counters.bytes_scanned.value());
        }
    }
}

/// A file of long chunks: 40 records of 100,000 bytes, a chunk each.
fn long_chunks() -> (RecordFile, Records) {
    let records: Records = (0..40u8).map(|byte| vec![byte; 100_000]).collect();
    (memory_file(&write(&records, riegeli::WriterOptions::new().chunk_size(1))), records)
}

#[test]
fn a_range_without_a_chunk_costs_one_block_header() {
    let (file, _) = long_chunks();
    let empty: Vec<u64> = (1..60)
        .map(|block| block * 65_536)
        .filter(|&begin| read_range(&file, begin..begin + 20_000).0.is_empty())
        .collect();
    assert!(empty.len() > 10);
    let table = open(&file).expect("valid file");
    for begin in empty {
        for columns in [0, 1] {
            let request = request(&file, begin..begin + 20_000, columns);
            let counters = Arc::clone(&request.counters);
            assert!(scan(table.as_ref(), request).0.is_empty());
            assert_eq!(counters.bytes_scanned.value(), 24, "range from {begin}");
        }
    }
}

#[test]
fn counting_reads_no_data_and_reading_reads_all_once() {
    let (file, records) = long_chunks();
    let table = open(&file).expect("valid file");

    let counting = request(&file, 0..file.size, 0);
    let counters = Arc::clone(&counting.counters);
    let (batches, error) = scan(table.as_ref(), counting);
    assert!(error.is_none());
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), records.len());
    assert_eq!(counters.chunks_counted.value(), 40);
    assert_eq!(counters.chunks_read.value(), 0);
    assert!(counters.bytes_scanned.value() <= 128 * 42 + 65_536, "{}", counters.bytes_scanned.value());

    let reading = request(&file, 0..file.size, 1);
    let counters = Arc::clone(&reading.counters);
    let (batches, error) = scan(table.as_ref(), reading);
    assert!(error.is_none());
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), records.len());
    assert_eq!(counters.bytes_scanned.value(), file.size);
    assert_eq!(counters.chunks_read.value(), 40);
    assert_eq!(counters.records_decoded.value(), 40);
    assert!(counters.bytes_decompressed.value() >= 4_000_000);
}

#[test]
fn a_long_file_is_counted_as_a_short_one_is() {
    let records: Records = (0..80u8).map(|byte| vec![byte; 1_000_000]).collect();
    let options = || riegeli::WriterOptions::new().compression(riegeli::CompressionType::None);
    let mut bytes = write(&records, options().chunk_size(1));
    let file = memory_file(&bytes);
    let table = open(&file).expect("valid file");
    assert_eq!(count(table.as_ref(), &file, 0..file.size).expect("sound"), 80);
    let cut = 50_000_000;
    let halves = [0..cut, cut..file.size].map(|half| count(table.as_ref(), &file, half).expect("sound"));
    assert_eq!(halves.iter().sum::<usize>(), 80);

    // The header of a chunk far behind: what comes before it is counted.
    let chunks = block_on(RiegeliConnector::default().inspect(&file)).expect("valid file").chunks;
    let damaged = chunks[75].begin as usize;
    bytes[damaged + 30] ^= 1;
    let file = memory_file(&bytes);
    let table = open(&file).expect("the damage is further back");
    let (batches, error) = scan(table.as_ref(), request(&file, 0..file.size, 0));
    let rows: usize = batches.iter().map(|batch| batch.num_rows()).sum();
    let before: u64 = chunks[..75].iter().map(|chunk| chunk.records).sum();
    assert_eq!(rows as u64, before);
    let message = error.expect("a header is damaged").to_string();
    assert!(message.contains(&format!("byte {damaged}")), "{message}");
}
