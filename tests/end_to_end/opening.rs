//! What opening a table of many files costs, and what is seen of files that change meanwhile.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use datafusion::prelude::SessionContext;
use object_store::ObjectStoreExt;
use riegeli::{CompressionType, WriterOptions};

use crate::read_faults::{Fault, Faulty};
use crate::support::{EVENT, context, data, error, event_file, metadata, riegeli_bytes, rows};

const FILES: usize = 40;

/// A folder `t/` of files of these bytes on a store that counts.
async fn folder(bytes: &[u8], files: usize) -> (SessionContext, Arc<Faulty>) {
    let store = Arc::new(Faulty::default());
    for at in 0..files {
        store.put(&format!("t/{at:03}").into(), bytes.to_vec().into()).await.expect("memory");
    }
    let ctx = context(1, 8192);
    ctx.register_object_store(&url::Url::parse("mem:///").expect("a URL"), Arc::clone(&store) as _);
    (ctx, store)
}

/// How many reads a statement takes, and how many rows it gives.
async fn reads_of(ctx: &SessionContext, store: &Faulty, sql: &str) -> (usize, usize) {
    store.arm(usize::MAX, Fault::Fails);
    store.most_waiting.store(0, Ordering::SeqCst);
    let found = rows(ctx, sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    (store.reads.load(Ordering::SeqCst), found.len())
}

fn create(format: &str, options: &str) -> String {
    format!("CREATE EXTERNAL TABLE t STORED AS {format} LOCATION 'mem:///t/' {options}")
}

/// A file whose metadata have a comment of 100 KB, more than is read of a file at first.
fn with_long_metadata() -> Vec<u8> {
    let comment = [&[0x0a, 0xa0, 0x8d, 0x06][..], &[b'c'; 100_000]].concat();
    let options = WriterOptions::new()
        .compression(CompressionType::None)
        .set_serialized_metadata([metadata(EVENT, "t.Event"), comment].concat());
    riegeli_bytes([vec![]], options)
}

#[tokio::test]
async fn opening_many_files_takes_one_read_of_each() {
    let recordio = std::fs::read(data("recordio/go-none-chunks.recordio")).expect("there");
    for (format, bytes) in [
        ("RIEGELI", event_file(0..50, 4000, false)),
        ("RIEGELI", event_file(0..50, 4000, true)),
        ("RIEGELI", event_file(0..20_000, 100_000, false)),
        ("RECORDIO", recordio.clone()),
        ("RECORDIO", recordio.repeat(400)),
    ] {
        let (ctx, store) = folder(&bytes, FILES).await;
        let (reads, _) = reads_of(&ctx, &store, &create(format, "")).await;
        assert_eq!(reads, FILES, "{format} files of {} bytes", bytes.len());
        if bytes.len() < 1 << 16 {
            let (reads, found) = reads_of(&ctx, &store, "SELECT * FROM t").await;
            assert!(found >= FILES, "{found} rows");
            assert_eq!(reads, FILES, "scan of {format} files of {} bytes", bytes.len());
        }
    }
    let (ctx, store) = folder(&with_long_metadata(), FILES).await;
    assert_eq!(reads_of(&ctx, &store, &create("RIEGELI", "")).await.0, 2 * FILES, "the rest of the metadata");
}

#[tokio::test]
async fn as_many_files_are_opened_at_a_time_as_the_option_says() {
    let (ctx, store) = folder(&event_file(0..50, 4000, false), FILES).await;
    store.is_slow.store(true, Ordering::SeqCst);
    for (setting, options, expected) in [
        ("", "", 16),
        ("", "OPTIONS (open_files '3')", 3),
        ("30", "", 30),
        ("30", "OPTIONS ('recordfusion.open_files' '1')", 1),
    ] {
        rows(&ctx, &format!("SET recordfusion.open_files = '{setting}'")).await.expect("a setting");
        let (reads, _) = reads_of(&ctx, &store, &create("RIEGELI", options)).await;
        assert_eq!(reads, FILES);
        assert_eq!(store.most_waiting.load(Ordering::SeqCst), expected, "{setting} {options}");
        rows(&ctx, "DROP TABLE t").await.expect("drops");
    }
    let (ctx, store) = folder(&with_long_metadata(), FILES).await;
    store.is_slow.store(true, Ordering::SeqCst);
    reads_of(&ctx, &store, &create("RIEGELI", "OPTIONS (open_files '2')")).await;
    assert_eq!(store.most_waiting.load(Ordering::SeqCst), 2, "the rest of the metadata");
    for wrong in ["0", "many"] {
        let message = error(&ctx, &format!("SET recordfusion.open_files = '{wrong}'")).await;
        let expected = format!("option 'open_files': '{wrong}' is not a number of files from 1 to 1024");
        assert!(message.contains(&expected), "{message}");
    }
}

#[tokio::test]
async fn a_file_that_changes_while_it_is_opened_is_an_error() {
    for good in [0, 1] {
        let (ctx, store) = folder(&with_long_metadata(), 1).await;
        store.arm(good, Fault::Changes);
        let message = error(&ctx, &create("RIEGELI", "")).await;
        let expected = "mem:///t/000 has changed while it was read";
        assert!(message.contains(expected), "{message}");
    }
}

#[tokio::test]
async fn files_of_other_formats_are_named_as_before() {
    let (ctx, store) = folder(&event_file(0..50, 4000, false), 3).await;
    store.put(&"t/001".into(), b"something else".to_vec().into()).await.expect("memory");
    let message = error(&ctx, &create("RIEGELI", "")).await;
    assert!(message.contains("mem:///t/001 is not a riegeli file"), "{message}");
}
