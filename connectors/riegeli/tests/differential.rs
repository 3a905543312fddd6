//! Files of another writer over all its options, with records of all sorts.

use riegeli::{CompressionType, WriterOptions};

use crate::support::*;

pub const CODECS: [CompressionType; 4] =
    [CompressionType::None, CompressionType::Brotli, CompressionType::Zstd, CompressionType::Snappy];

/// Bytes without a pattern, the same for the same seed.
pub fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..len).map(|_| next()).collect()
}

/// A message of every wire type, nested and with a group.
pub fn message(index: u8) -> Vec<u8> {
    let text = noise(usize::from(index) % 40, 77);
    let inner = [&[0x08, index % 100, 0x12, text.len() as u8], &text[..]].concat();
    [
        &[0x08, 0xac, index % 128, 0x11, 1, 2, 3, 4, 5, 6, 7, index, 0x1d, 1, 2, index, 4][..],
        &[0x22, inner.len() as u8],
        &inner,
        &[0x2b, 0x08, index % 4, 0x2c],
        &[0x30, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
    ]
    .concat()
}

/// Records of all sorts, in an order that mixes them.
pub fn assorted() -> Records {
    let mut records = vec![vec![], vec![0], vec![0xff], b"hi".to_vec(), b"not a message".to_vec()];
    records.extend((0..120).map(message));
    records.push(noise(70_000, 3));
    records.push([&[0x12, 0xf0, 0xa2, 0x04], &noise(70_000, 4)[..]].concat());
    records.extend((0..60).flat_map(|index| [vec![], noise(usize::from(index), 5), message(index)]));
    // Spelled longer than needed, and cut off.
    records.push(vec![0x08, 0x81, 0x00]);
    records.push(vec![0x12, 0x05, 0x61]);
    // Nested deeper than the writer cuts.
    let nested = (0..110).fold(vec![0x08, 0x01], |inner: Vec<u8>, _| match inner.len() {
        len @ 0..0x80 => [&[0x0a, len as u8], &inner[..]].concat(),
        len => [&[0x0a, len as u8 | 0x80, (len >> 7) as u8], &inner[..]].concat(),
    });
    records.push(nested);
    records
}

fn check(records: &Records, options: &WriterOptions) {
    let (found, error) = read(&write(records, options.clone()));
    assert!(error.is_none(), "{options:?}: {error:?}");
    assert!(found == *records, "{options:?}");
}

#[test]
fn every_combination_of_options_is_read() {
    let records = assorted();
    for codec in CODECS {
        for chunk_size in [1, 300, 1 << 16, 1 << 20] {
            for padding in [0, 1000, 1 << 16] {
                let options =
                    WriterOptions::new().compression(codec).chunk_size(chunk_size).final_padding(padding);
                check(&records, &options);
                for bucket_fraction in [0.0, 0.05, 1.0] {
                    check(&records, &options.clone().transpose(true).bucket_fraction(bucket_fraction));
                }
            }
        }
    }
}

#[test]
fn many_empty_records_are_read() {
    let records = vec![vec![]; 60_000];
    for codec in CODECS {
        for transpose in [false, true] {
            check(&records, &WriterOptions::new().compression(codec).transpose(transpose));
        }
    }
}

#[test]
fn levels_and_windows_are_read() {
    let records = assorted();
    let brotli = [(0, None), (9, Some(10)), (5, Some(28)), (1, Some(30))];
    let zstd = [(-50, None), (1, Some(10)), (3, Some(31)), (12, Some(27))];
    let settings = [(CompressionType::Brotli, brotli), (CompressionType::Zstd, zstd)];
    for (codec, levels) in settings {
        for (level, window_log) in levels {
            for transpose in [false, true] {
                let options = WriterOptions::new().compression(codec).transpose(transpose);
                check(&records, &options.compression_level(level).window_log(window_log));
            }
        }
    }
}
