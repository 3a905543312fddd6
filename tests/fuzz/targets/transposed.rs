//! The data of a transposed chunk: rebuilt records and columns taken directly are the same, if both can be had.

#![no_main]

use std::sync::{Arc, LazyLock};

use futures::TryStreamExt;
use futures::executor::block_on;
use libfuzzer_sys::fuzz_target;
use recordfusion_core::{
    ByteRecords, Limits, Options, RecordBlock, RecordFile, Repairing, ScanCounters, Verifying,
};
use recordfusion_fuzz::{chunk, file, open, scan};
use recordfusion_riegeli::RiegeliConnector;
use recordfusion_riegeli::decoder::ChunkDecoder;
use recordfusion_riegeli::write::{EncodedChunk, FileWriter, WriterOptions};

static OPTIONS: LazyLock<Options> = LazyLock::new(|| {
    let set = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/riegeli/protos/kitchen.fds");
    Options::new()
        .with("descriptor_set", set)
        .with("message_type", "fx.Kitchen")
        .with("on_bad_record", "null")
        .with("on_bad_value", "null")
        .with("max_decoded_chunk_size", "1M")
});

/// Checks that the repaired file has the same records, and no bytes that belong to none.
fn check_repair(file: &RecordFile, block: &RecordBlock) {
    let (options, counters) = (Options::new(), Arc::<ScanCounters>::default());
    let pieces =
        block_on(RiegeliConnector::default().repair(file, &options, counters).try_collect::<Vec<_>>());
    let repaired = recordfusion_fuzz::file(pieces.expect("sound").concat());
    let verification = block_on(RiegeliConnector::default().verify(&repaired, &options)).expect("sound");
    assert!(verification.faults.is_empty() && verification.leftovers.is_empty(), "{verification:?}");
    let records = RiegeliConnector::default().records(&repaired, 0..repaired.size, &options, Arc::default());
    let records = block_on(records.try_collect::<Vec<_>>()).expect("sound");
    assert!(records.iter().flat_map(|block| block.records()).eq(block.records()));
}

fuzz_target!(|data: &[u8]| {
    let Some((header, data)) = chunk(b't', data) else { return };
    let mut decoder = ChunkDecoder::with_limits(Limits::same(1 << 20));
    let block = decoder.decode(&header, 64, &data);
    let mut bytes = Vec::new();
    let mut writer = FileWriter::create(&WriterOptions::default(), &mut bytes);
    if header.num_records > 1 << 17
        || writer.write(&EncodedChunk { header, data: data.to_vec() }, &mut bytes).is_err()
    {
        return;
    }
    let file = file(bytes);
    let Ok(table) = open(&RiegeliConnector::default(), &file, &OPTIONS) else {
        assert!(block.is_err());
        return;
    };
    // Chunks of at least so many records are read as columns, others as records.
    let columns = scan(table.as_ref(), &file, 0..file.size, 1.max(header.num_records as usize));
    let rows = scan(table.as_ref(), &file, 0..file.size, 1 << 18);
    match block {
        Ok(Some(block)) => {
            if decoder.has_leftovers() {
                check_repair(&file, &block);
            }
            assert!(columns.error.is_none() && rows.error.is_none(), "{:?} {:?}", columns.error, rows.error);
            assert_eq!(rows.rows(), block.len());
            assert_eq!(columns.all(table.as_ref()), rows.all(table.as_ref()));
        }
        _ => assert!(rows.rows() == 0 || header.decoded_data_size >= 256 << 10),
    }
});
