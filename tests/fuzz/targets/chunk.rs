//! The data of a simple chunk: any claims, any data.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recordfusion_core::Limits;
use recordfusion_fuzz::chunk;
use recordfusion_riegeli::decoder::ChunkDecoder;

fuzz_target!(|data: &[u8]| {
    let Some((header, data)) = chunk(b'r', data) else { return };
    let mut decoder = ChunkDecoder::with_limits(Limits::same(1 << 20));
    if let Ok(Some(block)) = decoder.decode(&header, 64, &data) {
        assert_eq!(block.len() as u64, header.num_records);
        assert_eq!(block.records().map(|record| record.len() as u64).sum::<u64>(), header.decoded_data_size);
    }
});
