//! Records of any bytes come back from chunks of either layout, with any codec.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use recordfusion_fuzz::records;
use recordfusion_riegeli::decoder::ChunkDecoder;
use recordfusion_riegeli::write::{ChunkEncoder, ChunkRecords, WriterOptions};

const OPTIONS: [&str; 8] = [
    "uncompressed",
    "transpose,uncompressed",
    "zstd:1",
    "transpose,zstd:1,bucket_fraction:0",
    "snappy",
    "transpose,snappy,bucket_fraction:0.5",
    "brotli:1",
    "transpose,brotli:1",
];

fuzz_target!(|data: &[u8]| {
    let Some((selector, data)) = data.split_first() else { return };
    let options: WriterOptions = OPTIONS[usize::from(selector % 8)].parse().expect("good options");
    let records = records(data);
    let mut chunk = ChunkRecords::default();
    for record in &records {
        chunk.push(record).expect("short");
    }
    let encoded = ChunkEncoder::new(&options).map(|mut encoder| encoder.encode(&chunk));
    let encoded = encoded.expect("good options").expect("short");
    let mut decoder = ChunkDecoder::default();
    let block = decoder.decode(&encoded.header, 64, &Bytes::from(encoded.data));
    assert!(!decoder.has_leftovers());
    let block = block.expect("just encoded").expect("it has records");
    assert!(block.records().eq(records.iter().copied()));
});
