//! Writes that fail or are cancelled, at any point: nothing is seen under the final name, nothing is left behind.

use std::fmt;
use std::ops::Range;
use std::path::Path as LocalPath;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::prelude::SessionContext;
use futures::stream::BoxStream;
use futures::{FutureExt, TryStreamExt};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result, UploadPart,
};

use crate::support::{context, event_file, rows, text, tool};

/// What happens to one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Fails,
    NeverAnswers,
}

/// Counts the calls of a store. From when it is armed, one of them goes wrong.
#[derive(Debug, Default)]
struct Calls {
    left: AtomicUsize,
    armed: Mutex<Option<Fault>>,
    begun: AtomicUsize,
    ended: AtomicUsize,
}

impl Calls {
    /// Lets the call after the next `good` ones go wrong.
    fn arm(&self, good: usize, fault: Fault) {
        self.left.store(good, Ordering::SeqCst);
        *self.armed.lock().expect("whole") = Some(fault);
    }

    async fn next(&self) -> Result<()> {
        let Some(fault) = *self.armed.lock().expect("whole") else { return Ok(()) };
        if self.left.fetch_sub(1, Ordering::SeqCst) != 0 {
            return Ok(());
        }
        match fault {
            Fault::Fails => Err(Error::Generic { store: "faulty", source: "out of order".into() }),
            Fault::NeverAnswers => std::future::pending().await,
        }
    }

    /// Uploads that were begun, and are neither complete nor aborted.
    fn open(&self) -> usize {
        self.begun.load(Ordering::SeqCst) - self.ended.load(Ordering::SeqCst)
    }
}

/// A store in memory, one call of which goes wrong.
#[derive(Debug)]
struct Faulty {
    store: InMemory,
    calls: Arc<Calls>,
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faulty")
    }
}

#[derive(Debug)]
struct FaultyUpload {
    upload: Box<dyn MultipartUpload>,
    calls: Arc<Calls>,
}

#[async_trait]
impl MultipartUpload for FaultyUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (part, calls) = (self.upload.put_part(data), Arc::clone(&self.calls));
        async move {
            calls.next().await?;
            part.await
        }
        .boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.calls.next().await?;
        self.calls.ended.fetch_add(1, Ordering::SeqCst);
        self.upload.complete().await
    }

    async fn abort(&mut self) -> Result<()> {
        self.calls.ended.fetch_add(1, Ordering::SeqCst);
        self.upload.abort().await
    }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.calls.next().await?;
        self.store.put_opts(path, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.calls.next().await?;
        let upload = self.store.put_multipart_opts(path, options).await?;
        self.calls.begun.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(FaultyUpload { upload, calls: Arc::clone(&self.calls) }))
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        self.calls.next().await?;
        self.store.get_opts(path, options).await
    }

    async fn get_ranges(&self, path: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.calls.next().await?;
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

/// A session with a store `mem:///` that has a file, which is the table `there`.
async fn faulty() -> (SessionContext, Arc<Faulty>) {
    let store = Arc::new(Faulty { store: InMemory::new(), calls: Arc::default() });
    let file = event_file(0..3, 300, false);
    store.put_opts(&"there.riegeli".into(), file.into(), PutOptions::default()).await.expect("memory");
    let ctx = context(1, 8192);
    ctx.register_object_store(&url::Url::parse("mem:///").expect("a URL"), Arc::clone(&store) as _);
    rows(
        &ctx,
        "CREATE EXTERNAL TABLE there STORED AS RIEGELI LOCATION 'mem:///there.riegeli' \
        OPTIONS (null_to_default 'true')",
    )
    .await
    .expect("a table");
    (ctx, store)
}

/// The store's files and their sizes.
async fn files(store: &Faulty) -> Vec<(String, u64)> {
    let files: Vec<ObjectMeta> = store.list(None).try_collect().await.expect("memory");
    let mut files: Vec<_> = files.into_iter().map(|file| (file.location.to_string(), file.size)).collect();
    files.sort();
    files
}

/// Several parts of one file, a small file, several files, and more rows for a file that is there.
const STATEMENTS: [&str; 12] = [
    "COPY (SELECT repeat('0123456789', 100000) AS a FROM generate_series(1, 20)) TO 'mem:///x.riegeli' \
     STORED AS RIEGELI OPTIONS (compression 'uncompressed')",
    "COPY (SELECT 1 AS a) TO 'mem:///x.riegeli' STORED AS RIEGELI",
    "COPY (SELECT value, value % 3 AS part FROM generate_series(1, 20)) TO 'mem:///p/' \
     STORED AS RIEGELI PARTITIONED BY (part)",
    "COPY (SELECT value FROM generate_series(1, 20000)) TO 'mem:///f/' STORED AS RIEGELI",
    "COPY (SELECT value FROM generate_series(1, 20000)) TO 'mem:///old/' STORED AS RIEGELI OPTIONS (overwrite 'true')",
    "INSERT INTO there (id, tag) SELECT value, repeat('0123456789', 100000) FROM generate_series(1, 10)",
    "COPY (SELECT repeat('0123456789', 100000) || value AS a FROM generate_series(1, 20)) TO 'mem:///x.parquet' \
     STORED AS PARQUET OPTIONS (compression 'uncompressed')",
    "COPY (SELECT repeat('0123456789', 100000) AS a FROM generate_series(1, 20)) TO 'mem:///x.csv' STORED AS CSV",
    "COPY (SELECT value FROM generate_series(1, 20000)) TO 'mem:///x.json' STORED AS JSON",
    "COPY (SELECT value FROM generate_series(1, 20000)) TO 'mem:///x.arrow' STORED AS ARROW",
    "COPY (SELECT value, value % 3 AS part FROM generate_series(1, 20)) TO 'mem:///p/' \
     STORED AS PARQUET PARTITIONED BY (part)",
    "COPY (SELECT value FROM generate_series(1, 20000)) TO 'mem:///old/' STORED AS CSV OPTIONS (overwrite 'true')",
];

#[tokio::test]
async fn a_store_that_fails_at_any_call_is_left_as_it_was() {
    for statement in STATEMENTS {
        for good in 0.. {
            let (ctx, store) = faulty().await;
            let before = files(&store).await;
            store.calls.arm(good, Fault::Fails);
            let outcome = rows(&ctx, statement).await;
            assert_eq!(store.calls.open(), 0, "{statement} {good}");
            let Err(error) = outcome else {
                assert!(good > 0, "{statement}");
                break;
            };
            let message = recordfusion::error_message(&error);
            assert!(message.contains("out of order"), "{message}");
            assert!(message.contains("mem:///"), "{message}");
            assert_eq!(files(&store).await, before, "{statement} {good}");
        }
    }
}

#[tokio::test]
async fn a_cancelled_write_leaves_a_store_as_it_was() {
    for statement in STATEMENTS {
        for good in 0.. {
            let (ctx, store) = faulty().await;
            let before = files(&store).await;
            store.calls.arm(good, Fault::NeverAnswers);
            let write = tokio::time::timeout(Duration::from_millis(1500), rows(&ctx, statement));
            if write.await.is_ok() {
                assert!(good > 0, "{statement}");
                break;
            }
            let patience = Instant::now() + Duration::from_secs(20);
            while (store.calls.open() > 0 || files(&store).await != before) && Instant::now() < patience {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            assert_eq!(store.calls.open(), 0, "{statement} {good}");
            assert_eq!(files(&store).await, before, "{statement} {good}");
        }
    }
}

/// A file of the tool's making that takes a while.
fn long_write(output: &LocalPath) -> Child {
    long_write_as(output, "RIEGELI OPTIONS (compression 'uncompressed', chunk_size '1M')")
}

fn long_write_as(output: &LocalPath, format: &str) -> Child {
    let query = format!(
        "COPY (SELECT value, repeat('0123456789', 20) AS a FROM generate_series(1, {LONG})) TO '{}' STORED AS {format}",
        output.display()
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_recordfusion"));
    command.args(["query", &query]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("runs")
}

/// Rows of it.
const LONG: usize = 400_000;

fn names(folder: &LocalPath) -> Vec<String> {
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("readable").file_name();
    std::fs::read_dir(folder).expect("a folder").map(|entry| name(entry).display().to_string()).collect()
}

#[test]
fn a_killed_write_leaves_a_whole_file_or_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("x.riegeli");
    let mut killed = 0;
    for delay in (0..).map(|step| Duration::from_millis(40 * step)) {
        let mut child = long_write(&output);
        std::thread::sleep(delay);
        child.kill().expect("a child");
        let finished = child.wait().expect("a child").success();
        if output.exists() {
            let count = format!("SELECT count(*) AS n FROM '{}'", output.display());
            let count = tool(["query", "--format", "csv", &count]);
            assert_eq!(text(&count.stdout).lines().last(), Some(LONG.to_string().as_str()));
            assert_eq!(tool(["verify", &output.display().to_string()]).status.code(), Some(0));
            std::fs::remove_file(&output).expect("there");
        } else {
            assert!(!finished);
            killed += usize::from(!names(folder.path()).is_empty());
        }
        // What is left is no file of the folder.
        let table = format!("SELECT * FROM '{}/'", folder.path().display());
        assert!(text(&tool(["query", &table]).stderr).contains("no files"));
        if finished {
            break;
        }
    }
    assert!(killed > 0, "some were killed while they wrote");
}

#[cfg(unix)]
#[test]
fn an_interrupted_write_removes_what_it_began() {
    let riegeli = "RIEGELI OPTIONS (compression 'uncompressed', chunk_size '1M')";
    for (signal, format) in
        [("INT", riegeli), ("TERM", riegeli), ("INT", "PARQUET"), ("TERM", "CSV"), ("INT", "JSON")]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = long_write_as(&folder.path().join("x.y"), format);
        while names(folder.path()).is_empty() {
            assert!(child.try_wait().expect("a child").is_none(), "it ended too early");
            std::thread::sleep(Duration::from_millis(5));
        }
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().expect("runs").success());
        let output = child.wait_with_output().expect("a child");
        assert_eq!(output.status.code(), Some(130), "{signal}");
        assert_eq!(text(&output.stderr), "interrupted\n");
        assert!(names(folder.path()).is_empty(), "{signal}: {:?}", names(folder.path()));
    }
}

/// A limit on the size of files stands for a full disk.
#[cfg(unix)]
#[test]
fn a_full_disk_is_an_error_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let input = tempfile::tempdir().expect("a folder");
    let input = input.path().join("in.riegeli").display().to_string();
    let query = "SELECT value, repeat(md5(CAST(value AS VARCHAR)), 10) AS a FROM generate_series(1, 20000)";
    let made = tool(["query", &format!("COPY ({query}) TO '{input}' STORED AS RIEGELI")]);
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    for (output, args) in [
        ("x.riegeli", &["-o", "compression=uncompressed"][..]),
        ("x.array_record", &["-o", "compression=uncompressed"]),
        ("x.parquet", &["--compression", "none"]),
        ("x.csv", &[]),
    ] {
        let limited = "trap '' XFSZ; ulimit -f 4096; exec \"$0\" \"$@\"";
        let done = Command::new("sh")
            .args(["-c", limited, env!("CARGO_BIN_EXE_recordfusion"), "convert", "--progress", "never"])
            .args(args)
            .args([&input, &at(output)])
            .output()
            .expect("runs");
        let message = text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{output}: {message}");
        assert!(message.contains(output) && message.contains("too large"), "{message}");
        assert!(names(folder.path()).is_empty(), "{output}: {:?}", names(folder.path()));
    }
}
