//! Scans of uncompressed records to Arrow, beside the least that they can cost: a CRC-32 and one copy of the bytes.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{BinaryViewArray, RecordBatch};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use futures::StreamExt;
use futures::executor::block_on;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use recordfusion_core::{Connector, Options, Projection, RecordFile, ScanRequest, Table, Writing};
use recordfusion_recordio::RecordioConnector;

/// Bytes of records of a file.
const BYTES: usize = 200_000_000;

/// A file of records of `len` bytes, in chunks of the default size.
fn file(len: usize, compressor: &str) -> Vec<u8> {
    let record: Vec<u8> = (0..len).map(|at| (at * at % 251) as u8).collect();
    let column = BinaryViewArray::from_iter_values(std::iter::repeat_n(record, 1000));
    let batch = RecordBatch::try_from_iter([("record", Arc::new(column) as _)]).expect("one column");
    let options = Options::new().with("compressor", compressor);
    let writer = RecordioConnector::default()
        .writer(&batch.schema(), "recordio", &options, None)
        .expect("good options");
    let (mut chunker, mut assembler) =
        (writer.chunker().expect("good options"), writer.assembler().expect("good options"));
    let mut file = Vec::new();
    for _ in 0..BYTES / (1000 * len) {
        for job in chunker.push(&batch).expect("good rows") {
            file.extend(assembler.append(job().expect("encodes")).expect("appends"));
        }
    }
    for job in chunker.finish().expect("ends") {
        file.extend(assembler.append(job().expect("encodes")).expect("appends"));
    }
    file
}

fn in_memory(bytes: Vec<u8>) -> RecordFile {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let location = Path::from("file");
    let size = bytes.len() as u64;
    block_on(store.put(&location, bytes.into())).expect("memory takes it");
    RecordFile::new(store, location, size, "file")
}

/// Reads all rows of the file.
fn scan(table: &dyn Table, file: &RecordFile) -> usize {
    let request = ScanRequest {
        file: file.clone(),
        range: 0..file.size,
        projection: Projection::all(1),
        filter: None,
        limit: None,
        batch_size: 8192,
        counters: Arc::default(),
    };
    let mut batches = table.scan(request);
    let mut rows = 0;
    while let Some(batch) = block_on(batches.next()) {
        rows += black_box(batch.expect("good file")).num_rows();
    }
    rows
}

/// Checksum and copy, a chunk of 32 MiB at a time, all into the same memory: new memory for each chunk would cost
/// more than both, and the scan too uses that of a chunk again whose batches are gone.
fn floor(bytes: &[u8], copy: &mut Vec<u8>) -> u32 {
    bytes.chunks(32 << 20).fold(0, |sum, chunk| {
        copy.clear();
        copy.extend_from_slice(chunk);
        sum ^ crc32fast::hash(black_box(copy))
    })
}

/// CPU seconds of this thread so far, as Linux counts them.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    text.split(' ').next().and_then(|text| text.parse::<f64>().ok()).expect("a number") / 1e9
}

/// The least CPU time of some runs in turn, in seconds.
fn least(mut runs: [&mut dyn FnMut(); 2]) -> [f64; 2] {
    let mut least = [f64::INFINITY; 2];
    for _ in 0..15 {
        for (run, least) in runs.iter_mut().zip(&mut least) {
            let begin = cpu_seconds();
            run();
            *least = least.min(cpu_seconds() - begin);
        }
    }
    least
}

fn scans(criterion: &mut Criterion) {
    for len in [1000, 100] {
        let bytes = file(len, "none");
        let file = in_memory(bytes.clone());
        let mut copy = Vec::with_capacity(32 << 20);
        let mut group = criterion.benchmark_group(format!("{len} byte records"));
        group.throughput(Throughput::Bytes(bytes.len() as u64)).sample_size(10);
        group.bench_function("crc and copy", |bencher| bencher.iter(|| floor(&bytes, &mut copy)));
        for (name, options) in [
            ("scan", Options::new()),
            ("scan, skipping damage", Options::new().with("on_corruption", "skip")),
        ] {
            let table = block_on(RecordioConnector::default().open(std::slice::from_ref(&file), &options))
                .expect("opens");
            assert_eq!(scan(table.as_ref(), &file), BYTES / len);
            group.bench_function(name, |bencher| bencher.iter(|| scan(table.as_ref(), &file)));
            let mut run_floor = || {
                black_box(floor(&bytes, &mut copy));
            };
            let mut run_scan = || {
                black_box(scan(table.as_ref(), &file));
            };
            let [floor, time] = least([&mut run_floor, &mut run_scan]);
            let (ms, ratio) = (time * 1e3, time / floor);
            println!("{len} byte records, {name}: {ms:.1} ms of CPU, {ratio:.2} x that of CRC and copy");
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_secs(1));
    targets = scans
}
criterion_main!(benches);
