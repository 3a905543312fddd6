//! Descriptors: any bytes, with any name of the message type.

#![no_main]

use arrow::buffer::Buffer;
use libfuzzer_sys::fuzz_target;
use recordfusion_core::{Projection, RecordBlock, ScanCounters};
use recordfusion_fuzz::split_set;
use recordfusion_protobuf::{FileDescriptors, ProtobufOptions, RecordDecoder};

fuzz_target!(|data: &[u8]| {
    let Some((len, rest)) = data.split_first() else { return };
    let (name, set) = rest.split_at(usize::from(*len).min(rest.len()));
    let file = FileDescriptors {
        file: "file".into(),
        message_type: Some(String::from_utf8_lossy(name).into_owned()),
        descriptors: split_set(set),
        ..FileDescriptors::default()
    };
    let Ok(decoder) = RecordDecoder::open(&[file], &ProtobufOptions::default(), &[]) else { return };
    decoder.proto_text();
    let columns = decoder.schema().fields().len();
    let record = Buffer::from(b"\x08\x01\x12\x00".as_slice());
    let block = RecordBlock::new(record, vec![(0, 0), (0, 4)], 64).expect("places lie inside");
    if let Ok(mut batches) = decoder.scan(&Projection::all(columns)) {
        let _ = batches.decode("file", &block, 0..2, &ScanCounters::default());
    }
});
