//! Scans that other engines get wrong: counts, cuts, limits, layouts of folders, and files that are broken.

use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use prost::Message;
use recordfusion::{RecordFile, registry};
use recordfusion_core::{Options, Projection, ScanRequest};
use riegeli::{CompressionType, ReaderOptions, RecordReader, RecordWriter, WriterOptions};

use crate::support::{
    EVENT, context, error, event, event_file, explain, in_memory, metadata, riegeli_bytes, rows, text, tool,
};
use crate::surfaces::{OnDisk, answer};

/// Puts the same files into a folder on disk and into a store in memory, and gives a session that has the
/// store and the locations of both.
async fn places(
    partitions: usize,
    files: &[(&str, Vec<u8>)],
) -> (SessionContext, tempfile::TempDir, [String; 2]) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, bytes).expect("written");
    }
    let ctx = context(partitions, 100);
    in_memory(&ctx, files).await;
    let disk = format!("{}/", folder.path().display());
    (ctx, folder, [disk, "mem:///".to_string()])
}

async fn create(ctx: &SessionContext, columns: &str, location: &str) {
    let sql = format!("CREATE OR REPLACE EXTERNAL TABLE t {columns} STORED AS RIEGELI LOCATION '{location}'");
    rows(ctx, &sql).await.expect(&sql);
}

async fn one(ctx: &SessionContext, sql: &str) -> String {
    rows(ctx, sql).await.expect(sql).concat()
}

async fn metric(ctx: &SessionContext, sql: &str, name: &str) -> u64 {
    let plan = ctx.sql(sql).await.expect("plans").create_physical_plan().await.expect("plans");
    datafusion::physical_plan::collect(Arc::clone(&plan), ctx.task_ctx()).await.expect("runs");
    recordfusion::convert::scan_metric(&plan, name)
}

#[tokio::test]
async fn counts_ask_for_no_columns_and_decompress_nothing() {
    let files = [
        ("part=x/a.riegeli", event_file(0..700, 4000, false)),
        ("part=x/b.riegeli", event_file(700..1000, 4000, true)),
        ("part=y/c.riegeli", event_file(1000..3000, 4000, false)),
    ];
    let (ctx, _folder, locations) = places(3, &files).await;
    for location in locations {
        create(&ctx, "", &location).await;
        for (sql, count) in [
            ("SELECT count(*) AS n FROM t", 3000),
            ("SELECT count(*) AS n FROM t WHERE part = 'x'", 1000),
            ("SELECT count(*) AS n FROM t WHERE part <> 'x'", 2000),
            ("SELECT count(*) AS n FROM t WHERE part = 'z'", 0),
        ] {
            assert_eq!(one(&ctx, sql).await, format!("{{\"n\":{count}}}"), "{location} {sql}");
            assert_eq!(metric(&ctx, sql, "bytes_decompressed").await, 0, "{location} {sql}");
            assert_eq!(metric(&ctx, sql, "records_decoded").await, 0, "{location} {sql}");
        }
        let plan = explain(&ctx, "SELECT count(*) FROM t WHERE part = 'x'").await;
        assert!(plan.contains("file_type=riegeli") && !plan.contains("projection="), "{plan}");
        assert!(!plan.contains("c.riegeli"), "{plan}");
        assert!(explain(&ctx, "SELECT id FROM t").await.contains("projection=[id]"));
        assert_eq!(rows(&ctx, "SELECT 1 AS one FROM t").await.expect("reads"), vec!["{\"one\":1}"; 3000]);
        let by_part = rows(&ctx, "SELECT part, count(*) AS n FROM t GROUP BY part ORDER BY part").await;
        assert_eq!(by_part.expect("reads"), [r#"{"part":"x","n":1000}"#, r#"{"part":"y","n":2000}"#]);
    }
}

#[tokio::test]
async fn what_metadata_say_of_the_number_of_records_changes_no_answer() {
    for claimed in [None, Some(0), Some(1), Some(299), Some(301), Some(1 << 40), Some(-1)] {
        let mut metadata = metadata(EVENT, "t.Event");
        if let Some(claimed) = claimed {
            prost::encoding::int64::encode(5, &claimed, &mut metadata);
        }
        let options = WriterOptions::new().chunk_size(2000).set_serialized_metadata(metadata);
        let file = riegeli_bytes((0..300).map(|id| event(id).encode_to_vec()), options);
        for sql in [
            "SELECT count(*) AS n FROM t",
            "SELECT count(id) AS n FROM t",
            "SELECT sum(1) AS n FROM t",
            "SELECT count(*) AS n FROM (SELECT id FROM t LIMIT 1000)",
        ] {
            let found = answer(std::slice::from_ref(&file), &[], sql).await;
            assert_eq!(found, Ok(vec![r#"{"n":300}"#.to_string()]), "{claimed:?} {sql}");
        }
    }
}

/// Records in ten chunks: event ids.
fn ten_chunks(transpose: bool) -> Vec<u8> {
    let options = WriterOptions::new().transpose(transpose).compression(CompressionType::Zstd);
    let mut bytes = vec![];
    let options = options.set_serialized_metadata(metadata(EVENT, "t.Event"));
    let mut writer = RecordWriter::new(Cursor::new(&mut bytes), options).expect("memory");
    for id in 0..50 {
        writer.write_record(&event(id).encode_to_vec()).expect("memory");
        if id % 5 == 4 {
            writer.flush().expect("memory");
        }
    }
    writer.close().expect("memory");
    bytes
}

#[tokio::test]
async fn every_cut_gives_each_record_once() {
    let connector = registry::connector("riegeli").expect("known");
    for transpose in [false, true] {
        let disk = OnDisk::new("t.riegeli", &ten_chunks(transpose));
        let location = object_store::path::Path::from_absolute_path(disk.path()).expect("a path");
        let size = fs::metadata(disk.path()).expect("written").len();
        let store = Arc::new(object_store::local::LocalFileSystem::new());
        let file = RecordFile::new(store, location, size, "t.riegeli");
        let table = connector.open(std::slice::from_ref(&file), &Options::new()).await.expect("opens");
        let rows_of = async |range: std::ops::Range<u64>, columns: usize| {
            let request = ScanRequest {
                file: file.clone(),
                range,
                projection: Projection::all(columns),
                filter: None,
                limit: None,
                batch_size: 3,
                counters: Arc::default(),
            };
            let batches: Vec<_> = table.scan(request).try_collect().await.expect("intact");
            (batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), crate::support::lines(&batches))
        };
        let (_, whole) = rows_of(0..file.size, 1).await;
        assert_eq!(whole, (0..50).map(|id| format!("{{\"id\":{id}}}")).collect::<Vec<_>>());
        for cut in 0..=file.size {
            let ((before, first), (after, second)) =
                (rows_of(0..cut, 1).await, rows_of(cut..file.size, 1).await);
            assert_eq!([first, second].concat(), whole, "cut at {cut}");
            assert_eq!((before % 5, before + after), (0, 50), "cut at {cut}");
        }
        let mut single = vec![];
        for at in 0..file.size {
            let (counted, _) = rows_of(at..at + 1, 0).await;
            let (_, lines) = rows_of(at..at + 1, 1).await;
            assert_eq!(counted, lines.len(), "byte {at}");
            single.extend(lines);
        }
        assert_eq!(single, whole, "ranges of one byte");
    }
}

#[tokio::test]
async fn any_number_of_partitions_gives_each_record_once() {
    let options = WriterOptions::new().compression(CompressionType::None).chunk_size(50_000);
    let options = options.set_serialized_metadata(metadata(EVENT, "t.Event"));
    let file = riegeli_bytes((0..5000).map(|id| event(id).encode_to_vec()), options);
    let chunks = chunks(&file).len() as u64;
    assert!(chunks > 10);
    let sql = "SELECT count(*) AS n, count(DISTINCT id) AS d, sum(id) AS s FROM t";
    for partitions in [1, 2, 3, 5, 8, 13, 21, 34, 64] {
        let (ctx, _folder, locations) = places(partitions, &[("t.riegeli", file.clone())]).await;
        rows(&ctx, "SET datafusion.optimizer.repartition_file_min_size = 1").await.expect("sets");
        for location in locations {
            create(&ctx, "", &format!("{location}t.riegeli")).await;
            let found = one(&ctx, sql).await;
            assert_eq!(found, r#"{"n":5000,"d":5000,"s":12497500}"#, "{partitions} {location}");
            assert_eq!(metric(&ctx, "SELECT id FROM t", "chunks_read").await, chunks, "{partitions}");
            let bytes = metric(&ctx, "SELECT id FROM t", "bytes_scanned").await;
            // A chunk that reaches beyond a cut may be read in part by both sides.
            let most = file.len() as u64 + partitions.min(8) as u64 * (1 << 16);
            assert!(bytes <= most, "{partitions} partitions read {bytes} of {} bytes", file.len());
        }
    }
}

#[tokio::test]
async fn a_limit_counts_only_rows_that_pass_the_filter() {
    const ROWS: u64 = 100_000;
    let proto = r#"syntax = "proto3"; package t; message M { uint64 id = 1; string tag = 2; }"#;
    let record = |id: u64| {
        let mut record = vec![];
        prost::encoding::uint64::encode(1, &id, &mut record);
        let tag = if id >= ROWS - 10 { "x" } else { "y" };
        prost::encoding::string::encode(2, &tag.to_string(), &mut record);
        record
    };
    let file = |ids: std::ops::Range<u64>| {
        let options = WriterOptions::new().chunk_size(50_000).set_serialized_metadata(metadata(proto, "t.M"));
        riegeli_bytes(ids.map(record), options)
    };
    let files = [("p=a/t.riegeli", file(0..ROWS / 2)), ("p=b/t.riegeli", file(ROWS / 2..ROWS))];
    for partitions in [1, 4] {
        let (ctx, _folder, locations) = places(partitions, &files).await;
        for location in locations {
            create(&ctx, "", &location).await;
            // A filter of the table's columns stays above the scan, one of the partitions is taken by it.
            for (filter, found) in [
                ("tag = 'x'", 5),
                ("tag = 'x' AND p = 'b'", 5),
                ("tag = 'x' AND p = 'a'", 0),
                ("p = 'b'", 5),
                ("id > 99997", 2),
            ] {
                let sql = format!("SELECT id FROM t WHERE {filter} LIMIT 5");
                assert_eq!(rows(&ctx, &sql).await.expect("reads").len(), found, "{partitions} {filter}");
            }
        }
    }
}

#[tokio::test]
async fn a_stray_file_beside_partition_folders_is_named_on_disk_too() {
    let event = |ids| event_file(ids, 1000, false);
    let files = [("t/x.riegeli", event(0..1)), ("t/day=2026-01-01/y.riegeli", event(1..3))];
    let (ctx, folder, locations) = places(2, &files).await;
    for location in &locations {
        for partitioned in ["", "PARTITIONED BY (day)"] {
            let sql =
                format!("CREATE EXTERNAL TABLE t STORED AS RIEGELI {partitioned} LOCATION '{location}t/'");
            let message = error(&ctx, &sql).await;
            assert!(message.contains("t/x.riegeli lies in no partition folder"), "{message}");
        }
    }
    fs::remove_file(folder.path().join("t/x.riegeli")).expect("removed");
    for partitioned in ["", "PARTITIONED BY (day)"] {
        let location = &locations[0];
        let sql = format!(
            "CREATE OR REPLACE EXTERNAL TABLE t STORED AS RIEGELI {partitioned} LOCATION '{location}t/'"
        );
        rows(&ctx, &sql).await.expect(&sql);
        let by_day = one(&ctx, "SELECT day, count(*) AS n FROM t GROUP BY day").await;
        assert_eq!(by_day, r#"{"day":"2026-01-01","n":2}"#, "{partitioned}");
    }
}

#[tokio::test]
async fn files_that_come_later_are_seen() {
    let (ctx, folder, [disk, _]) = places(2, &[("t/a.riegeli", event_file(0..10, 1000, false))]).await;
    let location = format!("{disk}t/");
    create(&ctx, "", &location).await;
    let count = "SELECT count(*) AS n FROM t";
    assert_eq!(one(&ctx, count).await, r#"{"n":10}"#);
    fs::write(folder.path().join("t/b.riegeli"), event_file(10..15, 1000, true)).expect("written");
    assert_eq!(one(&ctx, count).await, r#"{"n":15}"#);
    assert_eq!(one(&ctx, &format!("SELECT count(*) AS n FROM '{location}'")).await, r#"{"n":15}"#);
    fs::remove_file(folder.path().join("t/a.riegeli")).expect("removed");
    assert_eq!(one(&ctx, count).await, r#"{"n":5}"#);
}

#[tokio::test]
async fn files_without_records_have_no_rows() {
    let files = [
        ("mixed/0.riegeli", vec![]),
        ("mixed/1.riegeli", event_file(0..0, 1000, false)),
        ("mixed/2.riegeli", event_file(0..4, 1000, true)),
        ("none/1.riegeli", event_file(0..0, 1000, true)),
        ("none/2.riegeli", vec![]),
        ("zero/a.riegeli", vec![]),
        ("zero/b.riegeli", vec![]),
    ];
    let (ctx, _folder, locations) = places(4, &files).await;
    let counts = "SELECT count(*) AS n, count(id) AS i FROM t";
    for location in locations {
        for (folder, columns, count) in [
            ("mixed", "", 4),
            ("mixed", "(id BIGINT)", 4),
            ("none", "", 0),
            ("none", "(id BIGINT)", 0),
            ("none/1.riegeli", "", 0),
            ("zero", "(id BIGINT, tag VARCHAR)", 0),
        ] {
            let slash = if folder.contains('.') { "" } else { "/" };
            create(&ctx, columns, &format!("{location}{folder}{slash}")).await;
            let expected = format!("{{\"n\":{count},\"i\":{count}}}");
            assert_eq!(one(&ctx, counts).await, expected, "{location}{folder} {columns}");
            let all = rows(&ctx, "SELECT id FROM t").await.expect("reads");
            assert_eq!(all.len(), count, "{location}{folder} {columns}");
        }
        let message =
            error(&ctx, &format!("CREATE EXTERNAL TABLE z STORED AS RIEGELI LOCATION '{location}zero/'"))
                .await;
        assert!(message.contains("all 2 files at ") && message.contains("are empty (0 bytes)"), "{message}");
    }
}

/// The offsets of the chunks with records.
fn chunks(bytes: &[u8]) -> Vec<u64> {
    let mut reader = RecordReader::new(Cursor::new(bytes), ReaderOptions::new()).expect("a file");
    let mut begins = vec![];
    while reader.read_record().expect("intact").is_some() {
        begins.push(reader.last_pos().chunk_begin);
    }
    begins.dedup();
    begins
}

#[tokio::test]
async fn a_broken_file_is_named_with_the_place_and_the_reason() {
    for transpose in [false, true] {
        let intact = event_file(0..1000, 8000, transpose);
        let chunks = chunks(&intact);
        let middle = chunks[chunks.len() / 2];
        let last = chunks[chunks.len() - 1];
        let mut flipped = intact.clone();
        flipped[middle as usize + 60] ^= 0x10;
        let flipped_reason = format!("t.riegeli: damaged at byte {middle}: wrong hash of the chunk data");
        let cut = intact[..intact.len() - 100].to_vec();
        let cut_reason = format!("t.riegeli: damaged at byte {last}: truncated");
        for (bytes, reason, counted) in [(&flipped, &flipped_reason, true), (&cut, &cut_reason, false)] {
            for sql in ["SELECT * FROM t", "SELECT id FROM t", "SELECT sum(id) FROM t WHERE tag = 'x'"] {
                let message = answer(std::slice::from_ref(bytes), &[], sql).await.expect_err("broken");
                assert!(message.starts_with(reason.as_str()), "{sql}: {message}");
            }
            let count = answer(std::slice::from_ref(bytes), &[], "SELECT count(*) AS n FROM t").await;
            match count {
                Ok(rows) => assert!(counted && rows == [r#"{"n":1000}"#], "{rows:?}"),
                Err(message) => assert!(!counted && message.starts_with(reason.as_str()), "{message}"),
            }
            let files = [
                ("a.riegeli", event_file(0..10, 8000, transpose)),
                ("b.riegeli", bytes.clone()),
                ("c.riegeli", event_file(0..10, 8000, transpose)),
            ];
            let (ctx, folder, locations) = places(2, &files).await;
            for location in locations {
                let message = error(&ctx, &format!("SELECT id FROM '{location}'")).await;
                let named = reason.replace("t.riegeli", &format!("{location}b.riegeli"));
                assert!(message.starts_with(&named), "{message}");
            }
            verify_names_only(folder.path(), "b.riegeli");
        }
    }
}

/// `verify` finds that one file of a folder is broken, and the others sound.
fn verify_names_only(folder: &Path, broken: &str) {
    let output = tool(["verify", &format!("{}/", folder.display())]);
    assert_eq!(output.status.code(), Some(1));
    let lines = text(&output.stdout);
    assert_eq!(lines.lines().filter(|line| line.starts_with("ok ")).count(), 2, "{lines}");
    let bad: Vec<&str> = lines.lines().filter(|line| line.starts_with("bad ")).collect();
    assert!(bad.len() == 1 && bad[0].contains(broken), "{lines}");
}

/// What a writer that never closed its file leaves: all chunks but the one it was filling, or a part of that.
#[tokio::test]
async fn an_unclosed_file_gives_its_whole_chunks_and_no_wrong_record() {
    let intact = event_file(0..1000, 8000, false);
    let chunks = chunks(&intact);
    let ids = answer(std::slice::from_ref(&intact), &[], "SELECT id FROM t").await.expect("intact");
    let last = chunks[chunks.len() - 1] as usize;
    let whole = answer(&[intact[..last].to_vec()], &[], "SELECT id FROM t").await.expect("whole chunks");
    assert!(whole.len() < 1000 && ids.starts_with(&whole), "{}", whole.len());
    for end in [last + 1, last + 39, last + 40, last + 41, intact.len() - 1] {
        for sql in ["SELECT id FROM t", "SELECT count(*) FROM t"] {
            let message = answer(&[intact[..end].to_vec()], &[], sql).await.expect_err("unclosed");
            let expected = format!("t.riegeli: damaged at byte {last}: truncated");
            assert!(message.starts_with(&expected), "{end} {sql}: {message}");
        }
        let output = tool(["cat", &OnDisk::new("t.riegeli", &intact[..end]).path().display().to_string()]);
        assert_eq!(output.status.code(), Some(1));
    }
}

/// One bytes field of 100 MiB in a record, and a record in a chunk. Peak memory is that of a chunk or two,
/// however many there are.
#[tokio::test]
async fn records_of_100_mib_are_read_in_bounded_memory() {
    const LEN: usize = 100 << 20;
    let proto = r#"syntax = "proto3"; package t; message M { int32 n = 1; bytes b = 2; }"#;
    let mut record = vec![8, 7];
    prost::encoding::bytes::encode(2, &vec![b'x'; LEN], &mut record);
    let mut peaks = vec![];
    for records in [1, 3] {
        let options = WriterOptions::new().compression(CompressionType::None).chunk_size(1 << 20);
        let options = options.set_serialized_metadata(metadata(proto, "t.M"));
        let file = riegeli_bytes(vec![&record; records], options);
        assert!(file.len() > records * LEN);
        let disk = OnDisk::new("t.riegeli", &file);
        drop(file);
        let sql = "SELECT sum(n) AS n, count(b) AS b FROM t";
        let (printed, peak) =
            with_peak_memory(&["query", "--format=ndjson", "--partitions=1", &disk.sql(sql)]);
        assert_eq!(printed, format!("{{\"n\":{},\"b\":{records}}}\n", 7 * records));
        peaks.extend(peak);
    }
    if let [one, three] = peaks[..] {
        assert!(three < one + one / 4, "{one} KiB for one record, {three} KiB for three");
        assert!(three < 3 * (LEN >> 10), "{three} KiB");
    }
}

/// What the tool prints, and its peak memory in KiB where the system tells it.
fn with_peak_memory(args: &[&str]) -> (String, Option<usize>) {
    use std::process::{Command, Stdio};
    let mut tool = Command::new(env!("CARGO_BIN_EXE_recordfusion"))
        .args(args)
        .stdout(Stdio::piped())
        .spawn()
        .expect("runs");
    let status = format!("/proc/{}/status", tool.id());
    let mut peak = None;
    while tool.try_wait().expect("runs").is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).or(peak);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let output = tool.wait_with_output().expect("ends");
    (text(&output.stdout), peak)
}
