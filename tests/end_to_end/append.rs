//! Rows added to files that are there.

use std::io::Cursor;
use std::path::Path;

use prost::Message;
use riegeli::RecordReader;

use crate::support::{
    context, data, error, event, event_file, in_memory, metadata, riegeli_bytes, rows, text, tool,
};

/// The records of a file, by another reader.
fn records(file: &str) -> Vec<Vec<u8>> {
    let bytes = Cursor::new(std::fs::read(file).expect("there"));
    let mut reader = RecordReader::new(bytes, riegeli::ReaderOptions::new()).expect("a file");
    let mut records = Vec::new();
    while let Some(record) = reader.read_record().expect("whole") {
        records.push(record.to_vec());
    }
    records
}

/// What lies in a folder.
fn names(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("readable").file_name();
    std::fs::read_dir(folder).expect("a folder").map(|entry| name(entry).display().to_string()).collect()
}

#[tokio::test]
async fn rows_go_behind_those_of_a_file() {
    for options in ["", "OPTIONS (padding '64K')", "OPTIONS (transpose 'true', initial_padding '1000')"] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("x.riegeli").display().to_string();
        std::fs::write(&file, event_file(0..5, 300, false)).expect("written");
        let ctx = context(2, 3);
        rows(&ctx, &format!("CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION '{file}' {options}"))
            .await
            .expect("a table");
        let begin = std::fs::read(&file).expect("there");
        for _ in 0..2 {
            let added = rows(&ctx, "INSERT INTO t SELECT * FROM t WHERE id = 3").await.expect("written");
            assert_eq!(added.len(), 1);
        }
        let bytes = std::fs::read(&file).expect("there");
        assert!(bytes.starts_with(&begin), "{options}");
        assert_eq!(bytes.len().is_multiple_of(65_536), options.contains("64K"), "{options}");
        let expected: Vec<_> =
            [0, 1, 2, 3, 4, 3, 3, 3].map(|id| event(id).encode_to_vec()).into_iter().collect();
        assert_eq!(records(&file).len(), expected.len(), "{options}");
        assert!(records(&file) == expected, "{options}");
        assert_eq!(names(folder.path()), ["x.riegeli"]);
    }
}

#[tokio::test]
async fn types_that_messages_lack_are_added_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("x.riegeli").display().to_string();
    let ctx = context(1, 100);
    let row = "SELECT CAST(1.25 AS DECIMAL(10, 2)) AS d, arrow_cast(7, 'Int8') AS small, \
        arrow_cast('x', 'Dictionary(Int32, Utf8)') AS word, [1, 2] AS list, {'a': 1} AS s, 7 AS \"a b\"";
    rows(&ctx, &format!("COPY ({row}) TO '{file}' STORED AS RIEGELI")).await.expect("written");
    rows(&ctx, &format!("CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION '{file}'"))
        .await
        .expect("a table");
    rows(&ctx, &format!("INSERT INTO t {row}")).await.expect("written");
    let once = rows(&ctx, row).await.expect("runs");
    assert_eq!(rows(&ctx, "SELECT * FROM t").await.expect("readable"), [once.clone(), once].concat());
}

#[tokio::test]
async fn the_tool_adds_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("one.riegeli"), event_file(0..3, 300, false)).expect("written");
    std::fs::write(at("rows.csv"), "id,tag\n7,seven\n").expect("written");
    let (one, out) = (at("one.riegeli"), at("out.riegeli"));
    let convert = |args: &[&str]| tool([&["convert", "--progress", "never", "--append"], args].concat());
    for input in [&one, &one, &at("rows.csv")] {
        let output = convert(&[input, &out]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    let ids = text(&tool(["query", "--format", "csv", &format!("SELECT id FROM '{out}'")]).stdout);
    assert_eq!(ids.lines().collect::<Vec<_>>(), ["id", "0", "1", "2", "0", "1", "2", "7"]);

    // Records of another type are turned into those of the file, if they can be.
    let other = "syntax = \"proto3\"; package u; message Tagged { string tag = 9; int64 id = 4; }";
    let options = riegeli::WriterOptions::new().set_serialized_metadata(metadata(other, "u.Tagged"));
    std::fs::write(at("tagged.riegeli"), riegeli_bytes([b"\x4a\x01x\x20\x09"], options)).expect("written");
    let output = convert(&[&at("tagged.riegeli"), &out]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(records(&out).last().expect("a record"), b"\x08\x09\x12\x01x");
    std::fs::write(at("bad.csv"), "id,colour\n7,red\n").expect("written");
    let before = std::fs::read(&out).expect("there");
    for (input, output, expected) in [
        (at("bad.csv"), out.clone(), "colour"),
        (one.clone(), at("x.parquet"), "record file"),
        (one.clone(), one.clone(), "both an input and the output"),
    ] {
        let failed = convert(&[&input, &output]);
        assert_eq!(failed.status.code(), Some(1), "{input}");
        assert!(text(&failed.stderr).contains(expected), "{}", text(&failed.stderr));
    }
    assert!(std::fs::read(&out).expect("there") == before);
}

#[tokio::test]
async fn files_that_nothing_can_be_added_to_stay_as_they_are() {
    let whole = event_file(0..50, 300, false);
    let array_record = data("array_record/group64_brotli.array_record");
    let cases = [
        (whole[..whole.len() - 3].to_vec(), "x.riegeli", "missing"),
        ([&whole[..], &[0; 7]].concat(), "x.riegeli", "end"),
        (std::fs::read(&array_record).expect("there"), "x.array_record", "index"),
        (std::fs::read(&array_record).expect("there"), "x.riegeli", "index"),
    ];
    for (bytes, name, expected) in cases {
        let ctx = context(1, 100);
        let location = format!("mem:///{name}");
        in_memory(&ctx, &[(name, bytes.clone())]).await;
        let table = format!("CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION '{location}'");
        rows(&ctx, &table).await.expect("a table");
        let schema =
            rows(&ctx, "SELECT column_name AS c FROM information_schema.columns WHERE table_name = 't'");
        let is_raw = schema.await.expect("runs") == [r#"{"c":"record"}"#];
        let insert = if is_raw { "INSERT INTO t VALUES (X'00')" } else { "INSERT INTO t (id) VALUES (1)" };
        let message = error(&ctx, insert).await;
        assert!(message.contains(expected), "{name}: {message}");
        let store =
            ctx.runtime_env().object_store_registry.get_store(&url::Url::parse("mem:///").expect("a URL"));
        let now = object_store::ObjectStoreExt::get(store.expect("there").as_ref(), &name.into()).await;
        assert!(now.expect("there").bytes().await.expect("readable") == bytes, "{name}");
    }
}

#[tokio::test]
async fn what_is_added_at_the_same_time_is_there_or_refused() {
    let ctx = context(2, 100);
    in_memory(&ctx, &[("x.riegeli", event_file(0..1, 300, false))]).await;
    rows(
        &ctx,
        "CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION 'mem:///x.riegeli' \
        OPTIONS (null_to_default 'true')",
    )
    .await
    .expect("a table");
    let inserts = (0..8).map(|id| {
        let ctx = ctx.clone();
        tokio::spawn(async move { rows(&ctx, &format!("INSERT INTO t (id) VALUES ({id})")).await })
    });
    let mut added = 1;
    for insert in inserts.collect::<Vec<_>>() {
        match insert.await.expect("runs") {
            Ok(_) => added += 1,
            Err(error) => {
                let message = recordfusion::error_message(&error);
                assert!(message.contains("x.riegeli: it changed while"), "{message}");
            }
        }
    }
    let count = rows(&ctx, "SELECT count(*) AS n FROM t").await.expect("readable");
    assert_eq!(count, [format!("{{\"n\":{added}}}")]);
    assert!(added > 1);
}

#[tokio::test]
async fn padded_files_can_be_joined() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let ctx = context(2, 100);
    let mut joined = Vec::new();
    for (part, options) in ["padding '64K'", "final_padding '64K', transpose 'true'", ""].iter().enumerate() {
        let file = at(&format!("{part}.riegeli"));
        let copy = format!("COPY (SELECT {part} AS part) TO '{file}' STORED AS RIEGELI");
        let options = if options.is_empty() { String::new() } else { format!(" OPTIONS ({options})") };
        rows(&ctx, &format!("{copy}{options}")).await.expect("written");
        joined.extend(std::fs::read(file).expect("there"));
    }
    std::fs::write(at("joined.riegeli"), joined).expect("written");
    for partitions in [1, 3] {
        let ctx = context(partitions, 100);
        let query = format!("SELECT part FROM '{}' ORDER BY part", at("joined.riegeli"));
        let expected = [r#"{"part":0}"#, r#"{"part":1}"#, r#"{"part":2}"#];
        assert_eq!(rows(&ctx, &query).await.expect("readable"), expected);
    }
    assert_eq!(records(&at("joined.riegeli")).len(), 3);
}

#[tokio::test]
async fn plain_bytes_are_added_as_records() {
    let ctx = context(1, 100);
    let bytes = riegeli_bytes([b"one"], riegeli::WriterOptions::new());
    in_memory(&ctx, &[("x.riegeli", bytes)]).await;
    rows(&ctx, "CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION 'mem:///x.riegeli'")
        .await
        .expect("a table");
    rows(&ctx, "INSERT INTO t VALUES (arrow_cast('two', 'Binary'))").await.expect("written");
    let found = rows(&ctx, "SELECT CAST(record AS VARCHAR) AS r FROM t").await.expect("readable");
    assert_eq!(found, [r#"{"r":"one"}"#, r#"{"r":"two"}"#]);
}
