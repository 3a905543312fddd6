//! Files cut at every length and with every byte flipped: an error, or the right records.

use futures::executor::block_on;
use recordfusion_core::Connector;
use recordfusion_riegeli::RiegeliConnector;
use riegeli::{CompressionType, WriterOptions};

use crate::support::*;

/// Small files of several chunks, with their records.
pub fn small_files() -> Vec<(Vec<u8>, Records)> {
    let records: Records = (0..12u8)
        .map(|index| match index % 4 {
            0 => vec![0x08, index, 0x12, 0x02, 0x6f, 0x6b],
            1 => vec![0x08, 0xac, 0x02, 0x1a, 0x02, 0x08, index],
            2 => b"text that is no message".to_vec(),
            _ => vec![],
        })
        .collect();
    let mut files = Vec::new();
    for codec in [CompressionType::None, CompressionType::Zstd, CompressionType::Brotli] {
        for transpose in [false, true] {
            let options = WriterOptions::new().compression(codec).transpose(transpose).chunk_size(80);
            files.push((write(&records, options), records.clone()));
        }
    }
    files
}

#[test]
fn every_truncation_gives_the_complete_chunks_and_an_error() {
    for (bytes, records) in small_files() {
        let inspection =
            block_on(RiegeliConnector::default().inspect(&memory_file(&bytes))).expect("valid file");
        let ends: Vec<u64> = [0].into_iter().chain(inspection.chunks.iter().map(|chunk| chunk.end)).collect();
        assert!(ends.len() > 4, "{ends:?}");
        for len in 0..=bytes.len() {
            let (found, error) = read(&bytes[..len]);
            assert!(records.starts_with(&found), "cut to {len}");
            let complete = ends.contains(&(len as u64));
            assert_eq!(error.is_none(), complete, "cut to {len}: {error:?}");
            if len == bytes.len() {
                assert_eq!(found, records);
            } else if len > 64 && !complete {
                let message = error.expect("checked above").to_string();
                assert!(message.contains("truncated: "), "cut to {len}: {message}");
            }
        }
    }
}

/// Reads a file with one byte changed: what comes is right, and if all comes, the byte did not matter.
fn check_flip(bytes: &[u8], at: usize, flip: u8, records: &Records, in_padding: impl Fn(usize) -> bool) {
    let mut damaged = bytes.to_vec();
    damaged[at] ^= flip;
    let (found, error) = read(&damaged);
    assert!(records.starts_with(&found), "byte {at} ^ {flip:02x}");
    if error.is_none() {
        assert_eq!(found.len(), records.len(), "byte {at} ^ {flip:02x}: lost without an error");
        assert!(in_padding(at), "byte {at} ^ {flip:02x} is not noticed");
    }
}

#[test]
fn every_flipped_byte_of_small_files_is_noticed() {
    for (bytes, records) in small_files() {
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                check_flip(&bytes, at, flip, &records, |_| false);
            }
        }
    }
}

#[test]
fn flipped_bytes_around_block_headers_are_noticed() {
    let bytes = fixture("riegeli/boundary.riegeli");
    let (records, _) = read(&bytes);
    let around = |block: usize| (block * 65_536).saturating_sub(70)..(block * 65_536 + 100).min(bytes.len());
    for at in (0..4).flat_map(around).chain((0..bytes.len()).step_by(4099)) {
        check_flip(&bytes, at, 0xff, &records, |_| false);
    }
}

#[test]
fn flipped_bytes_of_padding_do_not_matter() {
    let bytes = fixture("riegeli/empty_records_transposed_none.riegeli");
    let (records, _) = read(&bytes);
    // One chunk at 64: its header, 8 bytes of data, and padding to 64 + 1000.
    let in_padding = |at: usize| at >= 64 + 40 + 8;
    assert_eq!((records.len(), bytes.len()), (1000, 1064));
    for at in 0..bytes.len() {
        check_flip(&bytes, at, 0xff, &records, in_padding);
    }
}

/// Every range of a damaged file gives right records or an error, and ends.
#[test]
fn ranges_of_damaged_files_give_no_wrong_records() {
    for (bytes, records) in small_files() {
        for at in (64..bytes.len()).step_by(3) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xff;
            let file = memory_file(&damaged);
            for begin in [1, 64, 65, at as u64, at as u64 + 1] {
                let (found, _) = read_range(&file, begin..file.size);
                assert!(found.iter().all(|record| records.contains(record)), "byte {at}, range from {begin}");
            }
        }
    }
}
