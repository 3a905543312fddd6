//! Riegeli files that something happened to: past damage at once and in ranges, and repaired.

#![no_main]

use std::sync::{Arc, LazyLock};

use futures::TryStreamExt;
use futures::executor::block_on;
use libfuzzer_sys::fuzz_target;
use recordfusion_core::{Options, Repairing, Verifying};
use recordfusion_fuzz::{file, open, scan};
use recordfusion_riegeli::RiegeliConnector;
use recordfusion_riegeli::write::{ChunkEncoder, ChunkRecords, FileWriter, WriterOptions};

const BLOCK: usize = 1 << 16;

/// A file of five blocks, of chunks of all sizes, one of them with padding over a block.
static FILE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let options: WriterOptions = "uncompressed".parse().expect("good options");
    let mut encoder = ChunkEncoder::new(&options).expect("good options");
    let mut bytes = Vec::new();
    let mut writer = FileWriter::create(&options, &mut bytes);
    for (records, len) in [(20, 100), (1, 90_000), (10, 3000), (70_000, 0), (3, 20_000), (1, 1), (9, 2000)] {
        let mut chunk = ChunkRecords::default();
        for at in 0..records {
            chunk.push(&vec![at as u8; len]).expect("short");
        }
        let chunk = encoder.encode(&chunk).expect("short");
        writer.write(&chunk, &mut bytes).expect("short");
    }
    bytes
});

/// Each step is a kind and two places.
fn damage(bytes: &mut Vec<u8>, steps: &[[u8; 5]]) {
    for [kind, one, two, three, four] in steps {
        let place = |high: u8, low: u8| (bytes.len() * (usize::from(high) << 8 | usize::from(low))) >> 16;
        let (first, second) = (place(*one, *two), place(*three, *four));
        let near = (first / BLOCK * BLOCK + usize::from(*four % 64)).min(bytes.len().saturating_sub(1));
        let blocks = (first / BLOCK * BLOCK, second / BLOCK * BLOCK);
        match kind % 6 {
            _ if bytes.is_empty() => {}
            0 => bytes[near] ^= 1 << (kind >> 5),
            1 => bytes[first] ^= 1 << (kind >> 5),
            2 => bytes[first.min(second)..first.max(second)].fill(0),
            3 => bytes.truncate(first),
            4 if blocks.0 < blocks.1 && blocks.1 + BLOCK <= bytes.len() => {
                let (head, tail) = bytes.split_at_mut(blocks.1);
                head[blocks.0..blocks.0 + BLOCK].swap_with_slice(&mut tail[..BLOCK]);
            }
            _ => {
                let end = (blocks.0 + BLOCK).min(bytes.len());
                let copy = bytes[blocks.0..end].to_vec();
                bytes.splice(blocks.1..blocks.1, copy);
            }
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Some(([cut_high, cut_low], steps)) = data.split_first_chunk() else { return };
    let mut bytes = FILE.clone();
    let (steps, _) = steps.as_chunks();
    damage(&mut bytes, steps.get(..8).unwrap_or(steps));
    let file = file(bytes);
    let cut = (file.size * (u64::from(*cut_high) << 8 | u64::from(*cut_low))) >> 16;
    let skip = Options::new().with("on_corruption", "skip");
    let table = open(&RiegeliConnector::default(), &file, &skip).expect("good options");
    let whole = scan(table.as_ref(), &file, 0..file.size, 8192);
    assert!(whole.error.is_none(), "{:?}", whole.error);
    let parts = [0..cut, cut..file.size].map(|range| scan(table.as_ref(), &file, range, 8192));
    let lost: Vec<_> = parts.iter().flat_map(|part| part.lost.clone()).collect();
    assert_eq!(parts.iter().map(|part| part.rows()).sum::<usize>(), whole.rows());
    assert_eq!(lost, whole.lost);
    let Ok(pieces) =
        block_on(RiegeliConnector::default().repair(&file, &skip, Arc::default()).try_collect::<Vec<_>>())
    else {
        assert_eq!(whole.rows(), 0);
        return;
    };
    let repaired = recordfusion_fuzz::file(pieces.concat());
    let verification =
        block_on(RiegeliConnector::default().verify(&repaired, &Options::new())).expect("sound");
    assert!(verification.faults.is_empty() && verification.records == whole.rows() as u64);
});
