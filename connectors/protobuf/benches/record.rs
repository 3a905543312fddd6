//! Wire bytes to Arrow columns: throughput in bytes of serialized messages.

mod messages;

use std::hint::black_box;

use arrow::buffer::Buffer;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use prost::Message;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};
use recordfusion_core::{ColumnProjection, Projection, RecordBlock, ScanCounters, Selection};
use recordfusion_protobuf::{FileDescriptors, ProtobufOptions, RecordDecoder};

/// Rows of a batch.
const ROWS: usize = 8192;

struct Source(&'static str);

impl FileResolver for Source {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        File::from_source(name, self.0)
    }
}

fn decoder(source: &'static str) -> RecordDecoder {
    let mut resolver = ChainFileResolver::new();
    resolver.add(Source(source));
    resolver.add(GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.open_file("bench.proto").expect("the source compiles");
    let descriptors =
        compiler.file_descriptor_set().file.iter().map(|file| file.encode_to_vec().into()).collect();
    let file = FileDescriptors {
        file: "bench".into(),
        message_type: Some("bench.M".into()),
        descriptors,
        arrow_schema: None,
    };
    RecordDecoder::open(&[file], &ProtobufOptions::default(), &[]).expect("a table")
}

fn block(records: &[Vec<u8>]) -> RecordBlock {
    let mut places = Vec::new();
    let mut end = 0;
    for record in records {
        let begin = end;
        end += record.len() as u32;
        places.push((begin, end));
    }
    RecordBlock::new(Buffer::from_vec(records.concat()), places, 0).expect("records lie in the buffer")
}

fn records(criterion: &mut Criterion) {
    for (name, source, one_field, make) in messages::ALL {
        let decoder = decoder(source);
        let block = block(&make(ROWS));
        let fields = decoder.schema().fields().len();
        println!("{name}: {} bytes and {fields} columns a record", block.data().len() / ROWS);
        let index = decoder.schema().index_of(one_field).expect("a column");
        let one = Projection { columns: vec![ColumnProjection { index, selection: Selection::All }] };
        let all = Projection::all(decoder.schema().fields().len());
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(block.data().len() as u64));
        for (label, projection) in [("all", &all), ("one field", &one)] {
            let mut scan = decoder.scan(projection).expect("a plan");
            let counters = ScanCounters::default();
            group.bench_function(label, |bencher| {
                bencher.iter(|| black_box(scan.decode("bench", &block, 0..ROWS, &counters)).expect("valid"));
            });
        }
        group.finish();
    }
}

/// From descriptors to the plan of a scan, for a message type of 2,000 leaves.
fn wide_plan(criterion: &mut Criterion) {
    let files = [messages::wide(2000)].map(|file| file.encode_to_vec().into()).to_vec();
    let file = FileDescriptors {
        file: "bench".into(),
        message_type: Some("bench.M".into()),
        descriptors: files,
        arrow_schema: None,
    };
    criterion.bench_function("plan of 2000 leaves", |bencher| {
        bencher.iter(|| {
            let files = std::slice::from_ref(&file);
            let decoder = RecordDecoder::open(files, &ProtobufOptions::default(), &[]).expect("a table");
            let all = Projection::all(decoder.schema().fields().len());
            black_box(decoder.scan(&all)).expect("a plan");
        });
    });
}

criterion_group!(benches, records, wide_plan);
criterion_main!(benches);
