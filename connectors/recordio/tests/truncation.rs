//! Last chunks that are not whole: damage, or the end of a file that is still being written.

use recordfusion_core::Options;

use crate::support::*;

fn end() -> Options {
    Options::new().with("on_truncated", "end")
}

fn small_chunks() -> (Vec<u8>, Records, usize) {
    let records: Records = (0..12u8).map(|at| vec![at; 9]).collect();
    let bytes = write(&records, &options(&[("compressor", "none"), ("max_chunk_bytes", "20")]));
    let chunk = 20 + 2 * (4 + 9);
    assert_eq!(bytes.len(), 6 * chunk);
    (bytes, records, chunk)
}

#[test]
fn a_file_may_end_anywhere() {
    let (bytes, records, chunk) = small_chunks();
    for len in 0..=bytes.len() {
        let file = memory_file(&bytes[..len]);
        let whole = &records[..2 * (len / chunk)];
        for width in [len.max(1), 7, 50] {
            let cuts = cuts(file.size, width);
            for options in [end(), skip().with("on_truncated", "end")] {
                let found = read_parts(&file, &cuts, &options);
                assert!(found.error.is_none(), "cut to {len}: {:?}", found.error);
                assert!(found.records == whole && found.lost.is_empty(), "cut to {len}: {:?}", found.lost);
                let ranges = cuts.windows(2).map(|pair| pair[0]..pair[1]);
                let counted: usize = ranges.map(|range| count(&file, range, &options).expect("sound")).sum();
                assert_eq!(counted, whole.len(), "cut to {len}");
            }
        }
    }
}

/// A size that leads behind the end of the file is damage if chunks follow.
#[test]
fn damage_is_no_end() {
    let (bytes, records, chunk) = small_chunks();
    for at in 0..5 {
        let mut damaged = bytes.clone();
        damaged[at * chunk + 12 + 1] = 0x7f;
        let file = memory_file(&damaged);
        for width in [damaged.len(), 50] {
            let cuts = cuts(file.size, width);
            assert!(read_parts(&file, &cuts, &end()).error.is_some(), "chunk {at}");
            let found = read_parts(&file, &cuts, &skip().with("on_truncated", "end"));
            assert_eq!(found.lost_ranges(), [((at * chunk) as u64, ((at + 1) * chunk) as u64)], "chunk {at}");
            assert_eq!(found.records.len(), records.len() - 2, "chunk {at}");
        }
    }
    let garbage = [&bytes[..], b"no chunk"].concat();
    assert!(read(&garbage, &end()).error.is_some());
    assert_eq!(read(&garbage, &skip().with("on_truncated", "end")).lost.len(), 1);
}
