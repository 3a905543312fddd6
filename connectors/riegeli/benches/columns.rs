//! Scans of `bench.LogEvent` records in transposed chunks to columns, beside the `riegeli` crate handing out the
//! records of the same file as bytes. At the end of each group stand the ratios of the shortest times.

use std::cell::Cell;
use std::hint::black_box;
use std::io::Cursor;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
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
const SCANS: [(&str, &[&[&str]]); 5] = [
    ("all columns", &[]),
    ("one number", &[&["latency_us"]]),
    ("three columns", &[&["latency_us"], &["path"], &["geo", "city"]]),
    ("one leaf of a list", &[&["spans", "duration_us"]]),
    ("one string", &[&["path"]]),
];

/// Columns of which only presence or length is wanted.
const PRESENCE: [&str; 2] = ["geo", "tags"];

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
    let file = RecordFile::new(store, location, size, "file");
    let table = block_on(RiegeliConnector::default().open(std::slice::from_ref(&file), &Options::new()));
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

fn presence(table: &dyn Table, column: &str) -> Projection {
    let index = table.schema().index_of(column).expect("a column");
    Projection { columns: vec![ColumnProjection { index, selection: Selection::none() }] }
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

/// Runs `work`, which gives a number of records, and gives the shortest time of a run.
fn measure(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, work: impl Fn() -> usize) -> Duration {
    let shortest = Cell::new(Duration::MAX);
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|runs| {
            let times = (0..runs).map(|_| {
                let start = Instant::now();
                assert_eq!(work(), RECORDS);
                let time = start.elapsed();
                shortest.set(shortest.get().min(time));
                time
            });
            times.sum()
        });
    });
    shortest.get()
}

fn columns(criterion: &mut Criterion) {
    for bucket_fraction in [1.0, 0.05] {
        let (bytes, decoded) = write(bucket_fraction);
        let (file, table) = open(&bytes);
        let table = table.as_ref();
        let mut group = criterion.benchmark_group(format!("columns, bucket fraction {bucket_fraction}"));
        group.throughput(Throughput::Bytes(decoded)).sample_size(20).measurement_time(Duration::from_secs(4));
        let theirs = measure(&mut group, "riegeli crate, records", || read_records(&bytes));
        let scans = SCANS.map(|(name, paths)| (name.to_string(), projection(table, paths)));
        let presences = PRESENCE.map(|column| (format!("presence of {column}"), presence(table, column)));
        let scans = scans.into_iter().chain(presences);
        let ours: Vec<_> = scans
            .map(|(name, wanted)| {
                let time = measure(&mut group, &name, || scan(&file, table, &wanted));
                (name, time)
            })
            .collect();
        group.finish();
        for (name, time) in ours {
            println!("{name}: {:.3} of the riegeli crate's time", time.div_duration_f64(theirs));
        }
    }
}

criterion_group!(benches, columns);
criterion_main!(benches);
