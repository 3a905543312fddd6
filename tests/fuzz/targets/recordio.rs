//! RecordIO files of any bytes: strictly and past damage, at once and in ranges, and repaired.

#![no_main]

use std::sync::Arc;

use futures::TryStreamExt;
use futures::executor::block_on;
use libfuzzer_sys::fuzz_target;
use recordfusion_core::{Options, Repairing};
use recordfusion_fuzz::{file, open, scan};
use recordfusion_recordio::RecordioConnector;
use recordfusion_recordio::fault::LIMITS;
use recordfusion_recordio::header::ChunkHeader;

/// Whether an intact chunk begins inside of another one: a range that begins there cannot know it.
fn holds_inner_chunks(data: &[u8]) -> bool {
    let mut reached = 0;
    (0..data.len()).any(|at| {
        let Some((header, rest)) = data[at..].split_first_chunk() else { return false };
        let Ok(header) = ChunkHeader::parse(header, &LIMITS) else { return false };
        let Some(payload) = rest.get(..header.size as usize) else { return false };
        if header.reading(|kind| kind.of(payload)).is_err() {
            return false;
        }
        let is_inner = at < reached;
        reached = reached.max(at + header.chunk_len() as usize);
        is_inner
    })
}

fuzz_target!(|data: &[u8]| {
    let Some((cut, data)) = data.split_first() else { return };
    let file = file(data.to_vec());
    let limits = Options::new().with("max_decoded_chunk_size", "1M");
    let skip = limits.clone().with("on_corruption", "skip");
    let cut = file.size * u64::from(*cut) / 256;
    let strict = open(&RecordioConnector::default(), &file, &limits).expect("good options");
    let skipping = open(&RecordioConnector::default(), &file, &skip).expect("good options");

    let whole = scan(strict.as_ref(), &file, 0..file.size, 100);
    let skipped = scan(skipping.as_ref(), &file, 0..file.size, 100);
    assert!(skipped.error.is_none(), "{:?}", skipped.error);
    assert!(whole.rows() <= skipped.rows());
    assert_eq!(whole.error.is_none(), skipped.lost.is_empty(), "{:?} {:?}", whole.error, skipped.lost);

    let parts = [0..cut, cut..file.size].map(|range| scan(skipping.as_ref(), &file, range, 100));
    let together: usize = parts.iter().map(|part| part.rows()).sum();
    assert!(together == skipped.rows() || holds_inner_chunks(data), "{together} of {}", skipped.rows());

    let Ok(pieces) =
        block_on(RecordioConnector::default().repair(&file, &limits, Arc::default()).try_collect::<Vec<_>>())
    else {
        return;
    };
    let repaired = recordfusion_fuzz::file(pieces.concat());
    let again = scan(strict.as_ref(), &repaired, 0..repaired.size, 100);
    assert!(again.error.is_none() && again.rows() == skipped.rows(), "{:?}", again.error);
});
