//! What damage costs: the CPU time of scans that pass over it, beside those of the file before it was damaged.
//!
//! `cargo run --release -p recordfusion-riegeli --example skip_speed [MB] [FLIPS]` writes `bench.LogEvent` records to a
//! file in memory, of 300 MB if nothing else is said, flips 100 bits at places that are the same each time, and scans
//! both as records, as all columns and as one. The last number of a line is the speed in parts of the clean one.

use std::sync::Arc;

use futures::StreamExt;
use futures::executor::block_on;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use recordfusion_bench::{LogEvents, metadata};
use recordfusion_core::{
    ColumnProjection, Connector, Options, Projection, RecordFile, ScanCounters, ScanRequest, Selection,
};
use recordfusion_riegeli::RiegeliConnector;
use riegeli::{CompressionType, RecordWriter, WriterOptions};

/// Runs of each scan, of which the shortest counts.
const RUNS: usize = 3;

fn main() {
    let mut numbers = std::env::args().skip(1).map(|number| number.parse().expect("a number"));
    let size = numbers.next().unwrap_or(300) * 1_000_000;
    let flips = numbers.next().unwrap_or(100);
    for transpose in [false, true] {
        for typed in [false, true] {
            let clean = write(size, transpose, typed);
            let mut damaged = clean.clone();
            flip(&mut damaged, flips);
            let layout = if transpose { "transposed" } else { "simple" };
            compare(layout, typed, &clean, &damaged);
        }
    }
}

/// A file of about `size` bytes, whose records are messages to its readers if it is typed.
fn write(size: usize, transpose: bool, typed: bool) -> Vec<u8> {
    // The same records again and again: making them takes longer than writing them.
    let mut events = LogEvents::new(1);
    let records: Vec<_> = (0..100_000).map(|_| events.next_record()).collect();
    let write = |count: usize| {
        let options = WriterOptions::new().transpose(transpose).compression(CompressionType::Zstd);
        let options = match typed {
            true => options.set_serialized_metadata(metadata().expect("the .proto file compiles")),
            false => options,
        };
        let mut bytes = Vec::new();
        let mut writer = RecordWriter::new(&mut bytes, options).expect("valid options");
        for record in records.iter().cycle().take(count) {
            writer.write_record(record).expect("memory takes it");
        }
        writer.close().expect("memory takes it");
        bytes
    };
    let once = write(records.len()).len();
    write(size.div_ceil(once) * records.len())
}

/// Flips as many bits.
fn flip(bytes: &mut [u8], flips: usize) {
    let mut state = 1u64;
    for _ in 0..flips {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = (state >> 33) as usize * 8191 % bytes.len();
        bytes[at] ^= 1 << (state >> 20 & 7);
    }
}

fn compare(layout: &str, typed: bool, clean: &[u8], damaged: &[u8]) {
    let scans: &[(&str, &[&str])] =
        if typed { &[("all columns", &[]), ("one column", &["latency_us"])] } else { &[("records", &[])] };
    for (scan, columns) in scans {
        let [strict, kept, skipped] =
            [(clean, "error"), (clean, "skip"), (damaged, "skip")].map(|(bytes, on_corruption)| {
                let runs = (0..RUNS).map(|_| timed(bytes, columns, on_corruption));
                runs.min_by(|a, b| a.seconds.total_cmp(&b.seconds)).expect("there are runs")
            });
        println!(
            "{layout:10} {scan:12} clean {:.3} s, clean with skip {:.3} s, damaged with skip {:.3} s; \
             {} of {} rows, {} regions; per byte of the file {:.2}, per row {:.2}",
            strict.seconds,
            kept.seconds,
            skipped.seconds,
            skipped.rows,
            strict.rows,
            skipped.regions,
            strict.seconds / skipped.seconds,
            strict.seconds / skipped.seconds * skipped.rows as f64 / strict.rows as f64,
        );
    }
}

struct Timed {
    seconds: f64,
    rows: usize,
    regions: u64,
}

/// A scan of all rows.
fn timed(bytes: &[u8], columns: &[&str], on_corruption: &str) -> Timed {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let location = Path::from("file");
    let size = bytes.len() as u64;
    block_on(store.put(&location, bytes.to_vec().into())).expect("memory takes it");
    let file = RecordFile { store, location, size, name: "file".into(), e_tag: None };
    let options = Options::new().with("on_corruption", on_corruption);
    let table = block_on(RiegeliConnector.open(std::slice::from_ref(&file), &options)).expect("opens");
    let column = |name: &&str| {
        let index = table.schema().index_of(name).expect("a column");
        ColumnProjection { index, selection: Selection::All }
    };
    let projection = match columns {
        [] => Projection::all(table.schema().fields().len()),
        columns => Projection { columns: columns.iter().map(column).collect() },
    };
    let counters = Arc::new(ScanCounters::default());
    let request = ScanRequest {
        range: 0..size,
        file,
        projection,
        filter: None,
        limit: None,
        batch_size: 8192,
        counters: Arc::clone(&counters),
    };
    let begin = cpu_seconds();
    let mut batches = table.scan(request);
    let mut rows = 0;
    while let Some(batch) = block_on(batches.next()) {
        rows += batch.expect("damage is passed over").num_rows();
    }
    Timed { seconds: cpu_seconds() - begin, rows, regions: counters.regions_lost.value() }
}

/// CPU time of this process so far.
fn cpu_seconds() -> f64 {
    let schedule = std::fs::read_to_string("/proc/self/schedstat").expect("is on Linux");
    let nanos: f64 =
        schedule.split_whitespace().next().and_then(|first| first.parse().ok()).expect("a number");
    nanos / 1e9
}
