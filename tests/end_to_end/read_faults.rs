//! Stores that fail, never answer, or answer wrong, at any call of a scan; files that change under it.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::prelude::SessionContext;
use futures::stream::{self, BoxStream, StreamExt};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    RenameOptions, Result,
};

use riegeli::{CompressionType, WriterOptions};

use crate::support::{EVENT, context, data, error, event_file, metadata, riegeli_bytes, rows};

/// What happens to one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Before it, the file loses its last byte.
    Changes,
    Fails,
    NeverAnswers,
    GivesNothing,
    GivesHalf,
    BreaksOff,
}

/// A store in memory, one read of which goes wrong, or which takes its time for all of them.
#[derive(Debug, Default)]
pub struct Faulty {
    store: InMemory,
    fault: Mutex<Option<(usize, Fault)>>,
    pub reads: AtomicUsize,
    /// Bytes that were asked for.
    asked: AtomicU64,
    waiting: AtomicUsize,
    pub most_waiting: AtomicUsize,
    pub is_slow: AtomicBool,
}

/// Counts a read that has not come to its end.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn out_of_order() -> Error {
    Error::Generic { store: "faulty", source: "out of order".into() }
}

impl Faulty {
    /// Lets the read after the next `good` ones go wrong.
    pub fn arm(&self, good: usize, fault: Fault) {
        self.reads.store(0, Ordering::SeqCst);
        *self.fault.lock().expect("whole") = Some((good, fault));
    }

    /// What happens to this read.
    fn next(&self) -> Option<Fault> {
        let read = self.reads.fetch_add(1, Ordering::SeqCst);
        let fault = *self.fault.lock().expect("whole");
        fault.filter(|(good, _)| *good == read).map(|(_, fault)| fault)
    }
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faulty")
    }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.store.put_opts(path, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.store.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let _waiting = Waiting::new(&self.waiting);
        self.most_waiting.fetch_max(self.waiting.load(Ordering::SeqCst), Ordering::SeqCst);
        if self.is_slow.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        if let Some(GetRange::Bounded(range)) = &options.range {
            self.asked.fetch_add(range.end - range.start, Ordering::SeqCst);
        }
        let Some(fault) = self.next() else { return self.store.get_opts(path, options).await };
        match fault {
            Fault::Fails => return Err(out_of_order()),
            Fault::NeverAnswers => std::future::pending().await,
            Fault::Changes => {
                let bytes = self.store.get(path).await?.bytes().await?;
                self.store.put(path, bytes.slice(..bytes.len() - 1).into()).await?;
                return self.store.get_opts(path, options).await;
            }
            Fault::GivesNothing | Fault::GivesHalf | Fault::BreaksOff => {}
        }
        let found = self.store.get_opts(path, options).await?;
        let (meta, range, attributes) = (found.meta.clone(), found.range.clone(), found.attributes.clone());
        let bytes = found.bytes().await?;
        let pieces: Vec<Result<Bytes>> = match fault {
            Fault::GivesNothing => vec![],
            Fault::GivesHalf => vec![Ok(bytes.slice(..bytes.len() / 2))],
            _ => vec![Ok(bytes.slice(..bytes.len() / 2)), Err(out_of_order())],
        };
        Ok(GetResult {
            payload: GetResultPayload::Stream(stream::iter(pieces).boxed()),
            meta,
            range,
            attributes,
        })
    }

    async fn get_ranges(&self, path: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.store.get_ranges(path, ranges).await
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.store.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.store.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.store.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.store.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.store.rename_opts(from, to, options).await
    }
}

/// Files of each format, larger than one read.
fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let recordio = std::fs::read(data("recordio/go-none-chunks.recordio")).expect("there");
    vec![
        ("simple.riegeli", event_file(0..60_000, 100_000, false)),
        ("transposed.riegeli", event_file(0..60_000, 100_000, true)),
        ("chunks.recordio", recordio.repeat(400)),
    ]
}

async fn faulty(partitions: usize) -> (SessionContext, Arc<Faulty>) {
    let store = Arc::new(Faulty::default());
    for (path, bytes) in samples() {
        store.put(&path.into(), bytes.into()).await.expect("memory");
    }
    let ctx = context(partitions, 8192);
    ctx.register_object_store(&url::Url::parse("mem:///").expect("a URL"), Arc::clone(&store) as _);
    (ctx, store)
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort_unstable();
    rows
}

/// Queries that read a file in each way there is.
const QUERIES: [&str; 3] =
    ["SELECT count(*) AS n FROM", "SELECT * FROM", "SELECT count(*) AS n FROM (SELECT *, 1 AS one FROM"];

fn query(start: &str, path: &str) -> String {
    let end = if start.contains('(') && start.contains("one") { ")" } else { "" };
    format!("{start} 'mem:///{path}'{end}")
}

#[tokio::test]
async fn a_read_that_goes_wrong_is_an_error_that_names_the_file() {
    for skip in [false, true] {
        let (ctx, store) = faulty(2).await;
        if skip {
            rows(&ctx, "SET recordfusion.on_corruption = 'skip'").await.expect("a setting");
        }
        for (path, _) in samples() {
            for start in QUERIES {
                let query = query(start, path);
                store.arm(usize::MAX, Fault::Fails);
                let right = sorted(rows(&ctx, &query).await.expect("runs"));
                let mut failed = 0;
                for fault in [Fault::Fails, Fault::GivesNothing, Fault::GivesHalf, Fault::BreaksOff] {
                    let mut good = 0;
                    loop {
                        store.arm(good, fault);
                        let outcome = tokio::time::timeout(Duration::from_secs(60), rows(&ctx, &query)).await;
                        match outcome.expect("never hangs") {
                            // What was read ahead may not be needed.
                            Ok(rows) => assert!(sorted(rows) == right, "{query}, {fault:?} at read {good}"),
                            Err(error) => {
                                let error = recordfusion::error_message(&error);
                                assert!(
                                    error.starts_with(&format!("mem:///{path}")),
                                    "{query}, {good}: {error}"
                                );
                                failed += 1;
                            }
                        }
                        if store.reads.load(Ordering::SeqCst) <= good {
                            break;
                        }
                        good += 1 + good / 3;
                    }
                }
                assert!(failed > 4, "{query}: {failed}");
            }
        }
    }
}

#[tokio::test]
async fn a_query_that_waits_for_ever_can_be_given_up() {
    let (ctx, store) = faulty(3).await;
    for (path, _) in samples() {
        for good in [0, 1, 2, 4] {
            store.arm(good, Fault::NeverAnswers);
            let query = query("SELECT * FROM", path);
            let outcome = tokio::time::timeout(Duration::from_millis(700), rows(&ctx, &query)).await;
            if store.reads.load(Ordering::SeqCst) <= good {
                continue;
            }
            assert!(outcome.is_err(), "{query}: {good}");
            for _ in 0..200 {
                if store.waiting.load(Ordering::SeqCst) == 0 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            assert_eq!(store.waiting.load(Ordering::SeqCst), 0, "{query}: reads go on");
            store.arm(usize::MAX, Fault::Fails);
            let again = rows(&ctx, &format!("SELECT count(*) AS n FROM 'mem:///{path}'")).await;
            assert!(again.is_ok(), "{again:?}");
        }
    }
}

#[tokio::test]
async fn a_count_does_not_wait_for_one_header_after_the_other() {
    // An unknown field of 1 MB.
    let record = [&[0xc2, 0x3e, 0xc0, 0x84, 0x3d][..], &[7; 1_000_000]].concat();
    let options = WriterOptions::new()
        .compression(CompressionType::None)
        .set_serialized_metadata(metadata(EVENT, "t.Event"));
    let bytes = riegeli_bytes((0..80).map(|_| record.clone()), options);
    let (ctx, store) = faulty(1).await;
    store.put(&"large.riegeli".into(), bytes.into()).await.expect("memory");
    store.is_slow.store(true, Ordering::SeqCst);
    let counted = rows(&ctx, "SELECT count(*) AS n FROM 'mem:///large.riegeli'").await;
    assert_eq!(counted.expect("counted"), [r#"{"n":80}"#]);
    let together = store.most_waiting.load(Ordering::SeqCst);
    assert!(together >= 3, "{together} reads at a time of the three parts of 32 MiB");
}

#[tokio::test]
async fn a_file_that_changes_under_a_scan_is_an_error() {
    let old = event_file(0..30_000, 50_000, false);
    let mut other = old.clone();
    let last = other.len() - 1;
    other[last] ^= 1;
    let grown = [old.as_slice(), b"and more"].concat();
    for (new, message) in [
        (Some(other), Some("mem:///t.riegeli has changed while it was read")),
        (Some(old[..old.len() - 1].to_vec()), Some("mem:///t.riegeli has changed while it was read")),
        (Some(Vec::new()), Some("mem:///t.riegeli has changed while it was read")),
        (None, Some("mem:///t.riegeli")),
        (Some(grown), None),
    ] {
        let ctx = context(1, 1000);
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        store.put(&"t.riegeli".into(), old.clone().into()).await.expect("memory");
        ctx.register_object_store(&url::Url::parse("mem:///").expect("a URL"), Arc::clone(&store));
        let plan = ctx.sql("SELECT id FROM 'mem:///t.riegeli'").await.expect("plans");
        let plan = plan.create_physical_plan().await.expect("plans");
        match new {
            Some(bytes) => drop(store.put(&"t.riegeli".into(), bytes.into()).await.expect("memory")),
            None => store.delete(&"t.riegeli".into()).await.expect("memory"),
        }
        let outcome = datafusion::physical_plan::collect(plan, ctx.task_ctx()).await;
        match (outcome, message) {
            (Ok(batches), None) => assert_eq!(batches.iter().map(|b| b.num_rows()).sum::<usize>(), 30_000),
            (Err(error), Some(message)) => {
                let error = recordfusion::error_message(&error);
                assert!(error.starts_with(message), "{error}");
            }
            (outcome, message) => panic!("{message:?}: {:?}", outcome.map(|batches| batches.len())),
        }
    }
}

#[tokio::test]
async fn a_named_file_that_is_gone_or_emptied_before_the_scan_is_no_empty_table() {
    let bytes = event_file(0..50, 50_000, false);
    for new in [None, Some(vec![])] {
        let message = "mem:///t/a.riegeli is gone or empty";
        let ctx = context(1, 1000);
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        for path in ["t/a.riegeli", "t/b.riegeli"] {
            store.put(&path.into(), bytes.clone().into()).await.expect("memory");
        }
        ctx.register_object_store(&url::Url::parse("mem:///").expect("a URL"), Arc::clone(&store));
        for (table, location) in [("file", "mem:///t/a.riegeli"), ("folder", "mem:///t/")] {
            let sql = format!("CREATE EXTERNAL TABLE {table} STORED AS RIEGELI LOCATION '{location}'");
            rows(&ctx, &sql).await.expect("created");
        }
        match new {
            Some(bytes) => drop(store.put(&"t/a.riegeli".into(), bytes.into()).await.expect("memory")),
            None => store.delete(&"t/a.riegeli".into()).await.expect("memory"),
        }
        for query in ["SELECT count(*) FROM file", "SELECT id FROM file"] {
            let found = error(&ctx, query).await;
            assert!(found.contains(message), "{query}: {found}");
        }
        let folder = rows(&ctx, "SELECT count(*) AS n FROM folder").await.expect("the others are there");
        assert_eq!(folder, [r#"{"n":50}"#]);
    }
}

#[tokio::test]
async fn a_value_that_does_not_fit_its_declared_column_is_an_error_of_its_file() {
    let ctx = context(1, 1000);
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    store.put(&"t.riegeli".into(), event_file(0..1000, 50_000, false).into()).await.expect("memory");
    ctx.register_object_store(&url::Url::parse("mem:///").expect("a URL"), store);
    rows(&ctx, "CREATE EXTERNAL TABLE t (id TINYINT) STORED AS RIEGELI LOCATION 'mem:///t.riegeli'")
        .await
        .expect("created");
    for query in ["SELECT id FROM t", "SELECT count(*) FROM t WHERE id IS NULL"] {
        let message = error(&ctx, query).await;
        let expected = "mem:///t.riegeli: a value does not fit the declared type of its column: ";
        assert!(message.contains(expected), "{query}: {message}");
    }
}

/// A store whose reads are counted, with large files of each format.
async fn counted(partitions: usize) -> (SessionContext, Arc<Faulty>) {
    let (ctx, store) = faulty(partitions).await;
    store
        .put(&"small_chunks.riegeli".into(), event_file(0..60_000, 4000, false).into())
        .await
        .expect("memory");
    store.is_slow.store(true, Ordering::SeqCst);
    (ctx, store)
}

/// The rows of a query, how many reads it took, and the bytes that they asked for, those for opening the file included.
async fn reads_of(ctx: &SessionContext, store: &Faulty, query: &str) -> (usize, usize, u64) {
    store.arm(usize::MAX, Fault::Fails);
    store.asked.store(0, Ordering::SeqCst);
    let rows = rows(ctx, query).await.expect("runs").len();
    (rows, store.reads.load(Ordering::SeqCst), store.asked.load(Ordering::SeqCst))
}

#[tokio::test]
async fn a_limit_reads_as_little_from_many_partitions_as_from_one() {
    for path in ["small_chunks.riegeli", "simple.riegeli", "transposed.riegeli"] {
        let mut of_one = 0;
        for partitions in [1, 4, 16] {
            let (ctx, store) = counted(partitions).await;
            let query = format!("SELECT id FROM 'mem:///{path}' LIMIT 1");
            let (rows, reads, asked) = reads_of(&ctx, &store, &query).await;
            assert_eq!(rows, 1);
            of_one = if partitions == 1 { asked } else { of_one };
            assert_eq!(asked, of_one, "{path}, {partitions} partitions, {reads} reads");
            assert!(asked < 5 << 18, "{path}: {asked}");
        }
    }
}

#[tokio::test]
async fn partitions_stop_when_together_they_have_enough() {
    for partitions in [1, 16] {
        let (ctx, store) = counted(partitions).await;
        store.is_slow.store(false, Ordering::SeqCst);
        for path in ["small_chunks.riegeli", "transposed.riegeli"] {
            for (condition, all) in
                [("id % 2 = 0", 30_000), ("id >= 59000", 1000), ("tag = 'x'", 8572), ("true", 60_000)]
            {
                for limit in [1, 9999, 100_000] {
                    let query = format!("SELECT id FROM 'mem:///{path}' WHERE {condition} LIMIT {limit}");
                    let found = rows(&ctx, &query).await.expect("runs");
                    assert_eq!(found.len(), all.min(limit), "{query}, {partitions}");
                    let query = format!("SELECT count(DISTINCT id) AS n FROM ({query})");
                    let distinct = rows(&ctx, &query).await.expect("runs");
                    assert_eq!(distinct, [format!("{{\"n\":{}}}", all.min(limit))], "{query}, {partitions}");
                }
            }
        }
    }
}

#[tokio::test]
async fn counting_small_chunks_takes_few_reads() {
    let (ctx, store) = counted(1).await;
    let size = store.head(&"small_chunks.riegeli".into()).await.expect("there").size;
    let query = "SELECT count(*) AS n FROM 'mem:///small_chunks.riegeli'";
    let (_, reads, asked) = reads_of(&ctx, &store, query).await;
    assert!(reads < 14, "{reads} reads of {size} bytes");
    assert!(asked < size + (1 << 19), "{asked} of {size}");
}
