//! Small files cut at every length and with every byte flipped: nothing but the chunk that is hit is lost, and no
//! record is wrong.

use recordfusion_core::{Error, Options};

use crate::support::*;

/// Name and bytes of a file, the records of each chunk, and where the chunks end.
type SmallFile = (String, Vec<u8>, Vec<Records>, Vec<usize>);

/// A small file of each layout and codec.
fn small_files() -> Vec<SmallFile> {
    let record = |at: usize| match at % 4 {
        0 => b"text text text".to_vec(),
        1 => vec![],
        2 => vec![4, 3, 2, 1, at as u8],
        _ => vec![at as u8; 9],
    };
    let chunks: Vec<Records> =
        (0..4).map(|chunk| (0..4).map(|at| record(4 * chunk + at)).collect()).collect();
    let mut files = Vec::new();
    for layout in ["go", "fluid", "elastic"] {
        for compressor in ["none", "snappy", "gzip"] {
            if (layout, compressor) == ("fluid", "gzip") {
                continue;
            }
            let options =
                options(&[("layout", layout), ("compressor", compressor), ("max_chunk_records", "4")]);
            let parts: Vec<Vec<u8>> = chunks.iter().map(|records| write(records, &options)).collect();
            let ends = parts.iter().scan(0, |end, part| {
                *end += part.len();
                Some(*end)
            });
            let ends = ends.collect();
            let bytes = parts.concat();
            assert_eq!(bytes, write(&chunks.concat(), &options));
            files.push((format!("{layout} {compressor}"), bytes, chunks.clone(), ends));
        }
    }
    files
}

#[test]
fn every_truncation_loses_the_chunk_that_is_cut() {
    for (name, bytes, chunks, ends) in small_files() {
        for len in 0..=bytes.len() {
            let whole = ends.iter().filter(|end| **end <= len).count();
            let begin = whole.checked_sub(1).map_or(0, |at| ends[at]);
            let found = read(&bytes[..len], &skip());
            assert_eq!(found.records, chunks[..whole].concat(), "{name} cut to {len}");
            let lost = if begin == len { vec![] } else { vec![(begin as u64, len as u64)] };
            assert_eq!(found.lost_ranges(), lost, "{name} cut to {len}");

            let found = read(&bytes[..len], &Options::new());
            assert_eq!(found.records, chunks[..whole].concat(), "{name} cut to {len}");
            match found.error {
                None => assert_eq!(begin, len, "{name} cut to {len}"),
                Some(error) => {
                    let message = error.to_string();
                    assert!(begin < len && message.contains("truncated: "), "{name} cut to {len}: {message}");
                    assert!(message.contains(&format!("at byte {begin}:")), "{name} cut to {len}: {message}");
                }
            }
        }
    }
}

#[test]
fn every_flipped_byte_loses_its_chunk() {
    for (name, bytes, chunks, ends) in small_files() {
        for at in 0..bytes.len() {
            for flip in [0x01, 0x04, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                let hit = ends.iter().filter(|end| **end <= at).count();
                let begin = hit.checked_sub(1).map_or(0, |at| ends[at]);
                let lost = [(begin as u64, ends[hit] as u64)];
                let found = read(&damaged, &skip());
                let survivors = [&chunks[..hit], &chunks[hit + 1..]].concat().concat();
                assert_eq!(found.records, survivors, "{name} byte {at} ^ {flip:02x}");
                assert_eq!(found.lost_ranges(), lost, "{name} byte {at} ^ {flip:02x}");

                let found = read(&damaged, &Options::new());
                assert_eq!(found.records, chunks[..hit].concat(), "{name} byte {at} ^ {flip:02x}");
                match found.error.unwrap_or_else(|| panic!("{name} byte {at} ^ {flip:02x} is not noticed")) {
                    Error::Corrupt { offset, .. } => assert_eq!(offset, begin as u64),
                    Error::WrongFormat { .. } => assert_eq!(begin, 0),
                    Error::Unsupported(message) => assert!(message.contains("max_"), "{message}"),
                    other => panic!("{name} byte {at} ^ {flip:02x}: {other:?}"),
                }
            }
        }
    }
}

#[test]
fn damage_costs_the_same_in_ranges() {
    for (name, bytes, _, _) in small_files() {
        for at in (0..bytes.len()).step_by(5) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xff;
            let whole = read(&damaged, &skip());
            let file = memory_file(&damaged);
            for width in [9, 40, 77] {
                let parts = read_parts(&file, &cuts(file.size, width), &skip());
                assert_eq!(parts.records, whole.records, "{name} byte {at}, ranges of {width}");
                assert_eq!(parts.lost, whole.lost, "{name} byte {at}, ranges of {width}");
                let strict = read_parts(&file, &cuts(file.size, width), &Options::new());
                assert!(strict.error.is_some(), "{name} byte {at}, ranges of {width}");
            }
        }
    }
}

#[test]
fn every_span_of_zeros_loses_the_chunks_that_it_hits() {
    for (name, bytes, chunks, ends) in small_files() {
        for begin in 0..bytes.len() {
            let end = (begin + 64).min(bytes.len());
            let mut damaged = bytes.clone();
            damaged[begin..end].fill(0);
            let begins = [0].iter().chain(&ends);
            let is_hit: Vec<bool> =
                begins.zip(&ends).map(|(from, to)| bytes[*from..*to] != damaged[*from..*to]).collect();
            let found = read(&damaged, &skip());
            let survivors: Vec<Records> = chunks
                .iter()
                .zip(&is_hit)
                .filter(|(_, hit)| !**hit)
                .map(|(chunk, _)| chunk.clone())
                .collect();
            assert_eq!(found.records, survivors.concat(), "{name} zeros from {begin}");
            let lost =
                |at: usize| found.lost.iter().any(|region| (region.begin..region.end).contains(&(at as u64)));
            for (at, hit) in is_hit.iter().enumerate() {
                let from = at.checked_sub(1).map_or(0, |before| ends[before]);
                assert!(
                    (from..ends[at]).all(|at| lost(at) == *hit),
                    "{name} zeros from {begin}: {:?}",
                    found.lost
                );
            }
        }
    }
}

/// Spans of 50 bytes, which are no whole chunk, in each other's place, and twice.
#[test]
fn spans_in_wrong_places_give_no_wrong_records() {
    for (name, bytes, chunks, _) in small_files() {
        let all = chunks.concat();
        let spans: Vec<&[u8]> = bytes.chunks(50).collect();
        for one in 0..spans.len() {
            for other in 0..spans.len() {
                let mut swapped = spans.clone();
                swapped.swap(one, other);
                let mut doubled = spans.clone();
                doubled.insert(other, spans[one]);
                for damaged in [swapped.concat(), doubled.concat()] {
                    let found = read(&damaged, &skip());
                    assert!(found.records.iter().all(|record| all.contains(record)), "{name} {one} {other}");
                    assert_eq!(found.lost.is_empty(), damaged == bytes, "{name} {one} {other}");
                }
            }
        }
    }
}
