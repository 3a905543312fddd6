//! Scans of `bench.LogEvent` records in transposed chunks to columns, beside the `riegeli` crate handing out the
//! records of the same file as bytes.

use std::hint::black_box;
use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use futures::StreamExt;
use futures::executor::block_on;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use recordfusion_bench::{LogEvents, metadata};
use recordfusion_core::{
    ColumnProjection, Connector, Options, Projection, RecordFile, ScanCounters, ScanRequest, Selection, Table,
};
use recordfusion_riegeli::RiegeliConnector;
use riegeli::{CompressionType, ReaderOptions, RecordReader, RecordWriter, WriterOptions};

const RECORDS: usize = 100_000;

/// What is scanned, by the paths of the wanted columns; without any, all.
const SCANS: [(&str, &[&[&str]]); 4] = [
    ("all columns", &[]),
    ("one number", &[&["latency_us"]]),
    ("three columns", &[&["latency_us"], &["path"], &["geo", "city"]]),
    ("one leaf of a list", &[&["spans", "duration_us"]]),
];

/// A file in memory with zstd, and the sum of its record sizes.
fn write(bucket_fraction: f64) -> (Vec<u8>, u64) {
    let options = WriterOptions::new()
        .transpose(true)
        .compression(CompressionType::Zstd)
        .bucket_fraction(bucket_fraction)
        .set_serialized_metadata(metadata().expect("the .proto file compiles"));
    let mut bytes = Vec::new();
    let mut writer = RecordWriter::new(&mut bytes, options).expect("valid options");
    let mut events = LogEvents::new(1);
    let mut decoded = 0;
    for _ in 0..RECORDS {
        let record = events.next_record();
        decoded += record.len() as u64;
        writer.write_record(&record).expect("memory takes it");
    }
    writer.close().expect("memory takes it");
    (bytes, decoded)
}

fn open(bytes: &[u8]) -> (RecordFile, Arc<dyn Table>) {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let location = Path::from("file");
    let size = bytes.len() as u64;
    block_on(store.put(&location, bytes.to_vec().into())).expect("memory takes it");
    let file = RecordFile { store, location, size, name: "file".into() };
    let table = block_on(RiegeliConnector.open(std::slice::from_ref(&file), &Options::new()));
    (file, table.expect("valid file"))
}

fn projection(table: &dyn Table, paths: &[&[&str]]) -> Projection {
    if paths.is_empty() {
        return Projection::all(table.schema().fields().len());
    }
    let column = |path: &&[&str]| {
        let index = table.schema().index_of(path[0]).expect("a column");
        let mut selection = Selection::none();
        selection.add(&path[1..]);
        ColumnProjection { index, selection }
    };
    Projection { columns: paths.iter().map(column).collect() }
}

fn scan(file: &RecordFile, table: &dyn Table, projection: &Projection) -> usize {
    let request = ScanRequest {
        file: file.clone(),
        range: 0..file.size,
        projection: projection.clone(),
        filter: None,
        limit: None,
        batch_size: 8192,
        counters: Arc::new(ScanCounters::default()),
    };
    let mut batches = table.scan(request);
    let mut rows = 0;
    while let Some(batch) = block_on(batches.next()) {
        rows += black_box(batch.expect("valid file")).num_rows();
    }
    rows
}

fn read_records(bytes: &[u8]) -> usize {
    let mut reader = RecordReader::new(Cursor::new(bytes), ReaderOptions::new()).expect("valid file");
    let mut records = 0;
    while let Some(record) = reader.read_record().expect("valid file") {
        black_box(record);
        records += 1;
    }
    records
}

fn columns(criterion: &mut Criterion) {
    for bucket_fraction in [1.0, 0.05] {
        let (bytes, decoded) = write(bucket_fraction);
        let (file, table) = open(&bytes);
        let mut group = criterion.benchmark_group(format!("columns, bucket fraction {bucket_fraction}"));
        group.throughput(Throughput::Bytes(decoded)).sample_size(20).measurement_time(Duration::from_secs(4));
        for (name, paths) in SCANS {
            let projection = projection(table.as_ref(), paths);
            assert_eq!(scan(&file, table.as_ref(), &projection), RECORDS);
            group.bench_function(name, |bencher| bencher.iter(|| scan(&file, table.as_ref(), &projection)));
        }
        group.bench_function("riegeli crate, records", |bencher| bencher.iter(|| read_records(&bytes)));
        group.finish();
    }
}

criterion_group!(benches, columns);
criterion_main!(benches);
