//! Records against the plans of a message type with all kinds of fields, under any options.

#![no_main]

use arrow::buffer::Buffer;
use libfuzzer_sys::fuzz_target;
use recordfusion_core::{Options, Projection, RecordBlock, ScanCounters};
use recordfusion_fuzz::{KITCHEN, records};
use recordfusion_protobuf::{FileDescriptors, ProtobufOptions, RecordDecoder};

/// Options, each with a word for a bit of the selector.
const CHOICES: [(&str, [&str; 2]); 16] = [
    ("enum", ["name", "number"]),
    ("unsigned", ["native", "widen"]),
    ("implicit", ["default", "null"]),
    ("absent", ["null", "default"]),
    ("empty_list", ["empty", "null"]),
    ("map", ["map", "list"]),
    ("map_keys", ["sql", "exact"]),
    ("empty_message", ["bool", "struct"]),
    ("timestamp", ["us", "struct"]),
    ("duration", ["us", "ns"]),
    ("any", ["struct", "json"]),
    ("recursion", ["binary", "json"]),
    ("closed_enum", ["spec", "open"]),
    ("oneof_case", ["false", "true"]),
    ("invalid_utf8", ["replace", "null"]),
    ("on_bad_record", ["skip", "null"]),
];

fuzz_target!(|data: &[u8]| {
    let Some((selector, data)) = data.split_first_chunk() else { return };
    let selector = u16::from_le_bytes(*selector);
    let choice = |(bit, (name, words)): (usize, &(&'static str, [&'static str; 2]))| {
        (*name, words[usize::from(selector >> bit & 1)])
    };
    let mut options: Options = CHOICES.iter().enumerate().map(choice).collect();
    options = options.with("on_bad_value", "null").with("message_type", "fx.Kitchen");
    let options = ProtobufOptions::from_options(&options).expect("good options");
    let files =
        [FileDescriptors { file: "file".into(), descriptors: KITCHEN.clone(), ..FileDescriptors::default() }];
    let decoder = RecordDecoder::open(&files, &options, &[]).expect("good descriptors");
    let records = records(data);
    let mut places = Vec::new();
    let mut end = 0;
    for record in &records {
        places.push((end, end + record.len() as u32));
        end += record.len() as u32;
    }
    let block = RecordBlock::new(Buffer::from(records.concat()), places, 64).expect("places lie inside");
    let mut batches = decoder.scan(&Projection::all(decoder.schema().fields().len())).expect("all columns");
    let counters = ScanCounters::default();
    let mut begin = 0;
    while begin < block.len() {
        let Ok(decoded) = batches.decode("file", &block, begin..block.len(), &counters) else { return };
        assert!(decoded.consumed > 0, "no progress");
        begin += decoded.consumed;
    }
});
