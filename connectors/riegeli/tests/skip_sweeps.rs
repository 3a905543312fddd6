//! Damage everywhere, passed over: nothing is wrong, and what is reported as lost is what is missing.

use futures::executor::block_on;
use recordfusion_core::Connector;
use recordfusion_riegeli::RiegeliConnector;
use riegeli::{CompressionType, WriterOptions};

use crate::support::*;
use crate::sweeps::small_files;

const BLOCK: usize = 65_536;

/// A file whose chunks are known.
struct Known {
    bytes: Vec<u8>,
    /// Begin, end, and records of each chunk.
    chunks: Vec<(u64, u64, Records)>,
}

impl Known {
    fn new(bytes: Vec<u8>, records: Records) -> Self {
        let inspection = block_on(RiegeliConnector::default().inspect(&memory_file(&bytes))).expect("sound");
        let mut rest = records.into_iter();
        let chunks = inspection.chunks.iter();
        let chunks = chunks.map(|chunk| {
            (chunk.begin, chunk.end, rest.by_ref().take(chunk.records as usize).collect::<Records>())
        });
        let chunks = chunks.collect();
        assert!(rest.next().is_none());
        Self { bytes, chunks }
    }

    /// The small files of all layouts and codecs.
    fn small() -> Vec<Self> {
        small_files().into_iter().map(|(bytes, records)| Self::new(bytes, records)).collect()
    }

    /// A file of some blocks, and chunks of some KB that cannot be compressed.
    fn blocks(transpose: bool) -> Self {
        let record = |at: u32| {
            let mut state = at;
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            };
            let text: Vec<u8> = (0..300).map(|_| next()).collect();
            [&[0x08, (at % 100) as u8, 0x12, 0xac, 0x02][..], &text].concat()
        };
        let records: Records = (0..900).map(record).collect();
        let options =
            WriterOptions::new().compression(CompressionType::None).transpose(transpose).chunk_size(9000);
        let bytes = write(&records, options);
        assert!(bytes.len() > 4 * BLOCK);
        Self::new(bytes, records)
    }

    /// Checks that exactly the chunks are missing that lie in what is lost, of the chunks that the damaged file
    /// could have.
    fn check(&self, damaged: &[u8], what: &str) -> Found {
        let found = skip(damaged);
        assert!(found.error.is_none(), "{what}: {:?}", found.error);
        let mut expected = Records::new();
        for (begin, end, records) in &self.chunks {
            let touched = found.lost.iter().any(|region| region.begin < *end && *begin < region.end);
            if touched {
                let covered = found.lost.iter().any(|region| region.begin <= *begin && *begin < region.end);
                assert!(covered, "{what}: a part of the chunk at {begin} is lost: {:?}", found.lost);
            } else if *begin < damaged.len() as u64 {
                expected.extend_from_slice(records);
            }
        }
        assert!(found.records == expected, "{what}: {} of {} records", found.records.len(), expected.len());
        let mut reached = 0;
        for region in &found.lost {
            assert!(reached <= region.begin && region.begin < region.end, "{what}: {:?}", found.lost);
            reached = region.end;
        }
        assert!(reached <= damaged.len() as u64, "{what}: {:?}", found.lost);
        found
    }
}

fn is_lost(found: &Found, at: usize) -> bool {
    found.lost.iter().any(|region| (region.begin..region.end).contains(&(at as u64)))
}

#[test]
fn every_flipped_byte_is_in_what_is_lost() {
    for file in Known::small() {
        for at in 0..file.bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = file.bytes.clone();
                damaged[at] ^= flip;
                let what = format!("byte {at} ^ {flip:02x}");
                let found = file.check(&damaged, &what);
                assert!(is_lost(&found, at), "{what}: {:?}", found.lost);
            }
        }
    }
}

#[test]
fn every_truncation_loses_the_chunk_that_is_cut() {
    for file in Known::small() {
        for len in 0..=file.bytes.len() {
            let found = file.check(&file.bytes[..len], &format!("cut to {len}"));
            let whole = len == 0 || file.chunks.iter().any(|(_, end, _)| *end == len as u64);
            let begin = file.chunks.iter().map(|(begin, ..)| *begin).rfind(|begin| *begin < len as u64);
            let lost = if whole { vec![] } else { vec![(begin.unwrap_or(0), len as u64)] };
            assert_eq!(found.lost_ranges(), lost, "cut to {len}");
        }
    }
}

#[test]
fn every_span_of_zeros_is_in_what_is_lost() {
    for file in Known::small().into_iter().chain([false, true].map(Known::blocks)) {
        let step = if file.bytes.len() > BLOCK { 512 + 64 } else { 8 };
        for begin in (0..file.bytes.len()).step_by(step) {
            let mut damaged = file.bytes.clone();
            let end = (begin + 64).min(damaged.len());
            damaged[begin..end].fill(0);
            let found = file.check(&damaged, &format!("zeros from {begin}"));
            for at in (begin..end).filter(|at| file.bytes[*at] != 0) {
                assert!(is_lost(&found, at), "zeros from {begin}: {at} in {:?}", found.lost);
            }
        }
    }
}

#[test]
fn flips_around_block_headers_lose_a_bounded_part() {
    for file in [false, true].map(Known::blocks) {
        let around = |block: usize| (block * BLOCK).saturating_sub(50)..(block * BLOCK + 70);
        for at in (1..4).flat_map(around) {
            let mut damaged = file.bytes.clone();
            damaged[at] ^= 0x20;
            let found = file.check(&damaged, &format!("byte {at}"));
            assert!(is_lost(&found, at), "byte {at}: {:?}", found.lost);
            let lost: u64 = found.lost.iter().map(|region| region.end - region.begin).sum();
            assert!(lost < 2 * BLOCK as u64 + 20_000, "byte {at}: {:?}", found.lost);
        }
    }
}

/// Blocks in the wrong place: chunks that are whole in them are read where they are, the others are lost.
#[test]
fn blocks_in_wrong_places_give_no_wrong_records() {
    for file in [false, true].map(Known::blocks) {
        let all: Records = file.chunks.iter().flat_map(|(_, _, records)| records.clone()).collect();
        let blocks: Vec<&[u8]> = file.bytes.chunks(BLOCK).collect();
        let mut orders = Vec::new();
        for one in 0..4 {
            for other in 0..4 {
                let mut swapped: Vec<usize> = (0..blocks.len()).collect();
                swapped.swap(one, other);
                let mut doubled: Vec<usize> = (0..blocks.len()).collect();
                doubled.insert(other, one);
                orders.extend([swapped, doubled]);
            }
        }
        for order in orders {
            let damaged: Vec<u8> = order.iter().flat_map(|at| blocks[*at]).copied().collect();
            let found = skip(&damaged);
            assert!(found.error.is_none(), "{order:?}: {:?}", found.error);
            assert!(found.records.iter().all(|record| all.contains(record)), "{order:?}");
            let sound = order.iter().copied().eq(0..blocks.len());
            assert_eq!(found.lost.is_empty(), sound, "{order:?}");
            assert_eq!(found.records == all, sound, "{order:?}");
        }
    }
}

/// The index of an ArrayRecord file is not taken for records, whatever is damaged, or cut off.
#[test]
fn an_index_is_never_taken_for_records() {
    let bytes = fixture("array_record/group64_zstd.array_record");
    let records = records_of(&fixture("array_record/records_examples500.bin"));
    let inspection = block_on(RiegeliConnector::default().inspect(&memory_file(&bytes))).expect("sound");
    let footer = inspection.chunks.iter().find(|chunk| chunk.kind == "footer").expect("it is there").begin;
    for at in (0..200).chain([footer, footer + 30, footer + 60, footer + 200]) {
        for at in
            [at as usize, 65_536 + at as usize, at as usize * 61].into_iter().filter(|at| *at < bytes.len())
        {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            let found = skip(&damaged);
            assert!(found.records.iter().all(|record| records.contains(record)), "byte {at}");
        }
    }
    for len in (0..bytes.len()).step_by(1009).chain([footer as usize + 1000, 65_536, 65_600, 65_700]) {
        let mut file = memory_file(&bytes[..len]);
        file.name = "some.array_record".to_string();
        let found = scan_range(&file, 0..file.size, &options(&[("on_corruption", "skip")]));
        assert!(found.records.len() <= records.len(), "cut to {len}");
        assert!(found.records == records[..found.records.len()], "cut to {len}");
    }
}
