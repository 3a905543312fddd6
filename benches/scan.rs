//! Whole scans through DataFusion: records in memory, simple and transposed, all columns and few.

use std::hint::black_box;
use std::io::Cursor;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::StreamExt;
use object_store::{ObjectStore, ObjectStoreExt};
use recordfusion_bench::{LogEvents, metadata};
use riegeli::{CompressionType, RecordWriter, WriterOptions};

const RECORDS: usize = 50_000;

const QUERIES: [(&str, &str); 5] = [
    ("all columns", "SELECT * FROM t"),
    ("one number", "SELECT latency_us FROM t"),
    ("one string", "SELECT path FROM t"),
    ("one leaf of a message", "SELECT geo['city'] FROM t"),
    ("count", "SELECT count(*) FROM t"),
];

/// A file in memory, and the sum of its record sizes.
fn file(transpose: bool) -> (Vec<u8>, u64) {
    let mut bytes = vec![];
    let options = WriterOptions::new()
        .transpose(transpose)
        .compression(CompressionType::Zstd)
        .set_serialized_metadata(metadata().expect("compiles"));
    let mut writer = RecordWriter::new(Cursor::new(&mut bytes), options).expect("memory");
    let mut events = LogEvents::new(1);
    let mut decoded = 0;
    for _ in 0..RECORDS {
        let record = events.next_record();
        decoded += record.len() as u64;
        writer.write_record(&record).expect("memory");
    }
    writer.close().expect("memory");
    (bytes, decoded)
}

async fn table(bytes: Vec<u8>, partitions: usize) -> SessionContext {
    let config = SessionConfig::new().with_target_partitions(partitions);
    let ctx = SessionContext::new_with_config(config);
    recordfusion::register(&ctx).expect("registers");
    let store: Arc<dyn ObjectStore> = Arc::new(object_store::memory::InMemory::new());
    store.put(&"t.riegeli".into(), bytes.into()).await.expect("memory");
    ctx.register_object_store(&url::Url::parse("mem:///").expect("a URL"), store);
    let create = "CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION 'mem:///t.riegeli'";
    ctx.sql(create).await.expect("creates").collect().await.expect("creates");
    ctx
}

async fn run(ctx: &SessionContext, sql: &str) -> usize {
    let mut batches = ctx.sql(sql).await.expect("plans").execute_stream().await.expect("runs");
    let mut rows = 0;
    while let Some(batch) = batches.next().await {
        rows += black_box(batch.expect("reads")).num_rows();
    }
    rows
}

fn scans(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    for transpose in [false, true] {
        let (bytes, decoded) = file(transpose);
        let mut group = criterion.benchmark_group(if transpose { "transposed+zstd" } else { "simple+zstd" });
        group.throughput(Throughput::Bytes(decoded)).sample_size(10);
        for partitions in [1, 2] {
            let ctx = runtime.block_on(table(bytes.clone(), partitions));
            for (name, sql) in QUERIES {
                let id = BenchmarkId::new(name, format!("{partitions} partitions"));
                group.bench_function(id, |bencher| bencher.iter(|| runtime.block_on(run(&ctx, sql))));
            }
        }
        group.finish();
    }
}

criterion_group!(benches, scans);
criterion_main!(benches);
