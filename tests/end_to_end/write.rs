//! Query results written as record files, and read again.

use std::io::Cursor;

use prost::Message;
use riegeli::RecordReader;

use crate::support::{EVENT, context, error, event, event_file, in_memory, riegeli_bytes, rows, text, tool};

const VALUES: &str = "SELECT column1 AS id, column2 AS name, column3 AS score FROM \
    (VALUES (1, 'one', 1.5), (2, NULL, NULL), (3, '', 0.0))";

/// The rows of a table of values, and of the file that they are copied to.
async fn copied(extension: &str, format: &str, options: &str) -> [Vec<String>; 2] {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(format!("x.{extension}")).display().to_string();
    let ctx = context(2, 2);
    let copy = format!("COPY ({VALUES}) TO '{file}' STORED AS {format} {options}");
    assert_eq!(rows(&ctx, &copy).await.expect("written"), [r#"{"count":3}"#], "{copy}");
    let read = rows(&ctx, &format!("SELECT * FROM '{file}' ORDER BY id")).await;
    [rows(&ctx, &format!("{VALUES} ORDER BY id")).await.expect("runs"), read.expect("readable")]
}

#[tokio::test]
async fn copied_rows_are_read_again() {
    for options in [
        "",
        "OPTIONS (transpose 'true', compression 'zstd:5', chunk_size '64')",
        "OPTIONS (writer_options 'transpose,snappy,bucket_fraction:0.1', padding '64K')",
        "OPTIONS (compression 'uncompressed', arrow_schema_hint 'false')",
        "OPTIONS (message 'logs.Row', file_comment 'three rows')",
    ] {
        let [expected, found] = copied("riegeli", "RIEGELI", options).await;
        assert_eq!(found, expected, "{options}");
    }
}

#[tokio::test]
async fn types_that_messages_lack_come_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("x.riegeli").display().to_string();
    let ctx = context(1, 100);
    let query = "SELECT CAST(1.25 AS DECIMAL(10, 2)) AS d, CAST('2026-01-02' AS DATE) AS day, \
        arrow_cast(1, 'Int8') AS small, [1, 2] AS list, 7 AS \"a b\"";
    rows(&ctx, &format!("COPY ({query}) TO '{file}' STORED AS RIEGELI")).await.expect("written");
    let types = "SELECT arrow_typeof(d) AS d, arrow_typeof(small) AS small, list[2] AS two, \"a b\" FROM ";
    let expected = rows(&ctx, &format!("{types} ({query})")).await.expect("runs");
    assert_eq!(rows(&ctx, &format!("{types} '{file}'")).await.expect("readable"), expected);
}

#[tokio::test]
async fn columns_that_were_not_null_do_not_stand_against_rows_of_nulls() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("x.riegeli").display().to_string();
    let ctx = context(1, 100);
    rows(&ctx, &format!("COPY (SELECT 1 AS a, 'x' AS b) TO '{file}' STORED AS RIEGELI"))
        .await
        .expect("written");
    let bytes = std::fs::read(&file).expect("there");
    let metadata = RecordReader::new(Cursor::new(bytes), riegeli::ReaderOptions::new())
        .expect("a file")
        .read_serialized_metadata()
        .expect("whole");
    let options = riegeli::WriterOptions::new().set_serialized_metadata(metadata.expect("there"));
    std::fs::write(&file, riegeli_bytes([&[8u8, 1][..], &[8, 0x80]], options)).expect("written");
    for (policy, expected) in [("skip", 1), ("null", 2)] {
        rows(&ctx, &format!("SET recordfusion.on_bad_record = '{policy}'")).await.expect("a setting");
        let found = rows(&ctx, &format!("SELECT a FROM '{file}'")).await.expect("bad records are no error");
        assert_eq!(found.len(), expected, "{policy}");
    }
}

#[tokio::test]
async fn rows_of_records_are_written_as_the_same_messages() {
    let ctx = context(1, 3);
    in_memory(&ctx, &[("in/e.riegeli", event_file(0..20, 300, true))]).await;
    rows(&ctx, "CREATE EXTERNAL TABLE events STORED AS RIEGELI LOCATION 'mem:///in/'")
        .await
        .expect("a table");
    rows(&ctx, "INSERT INTO events SELECT * FROM events WHERE id >= 5").await.expect("written");
    let all = rows(&ctx, "SELECT count(*) AS n, sum(id) AS s FROM events").await.expect("runs");
    assert_eq!(all, [r#"{"n":35,"s":370}"#]);
    let doubled = "SELECT id FROM (SELECT id, count(DISTINCT CAST(tag AS VARCHAR)) AS tags, count(*) AS n \
        FROM events GROUP BY id) WHERE tags <> 1 OR (n = 2) <> (id >= 5)";
    assert!(rows(&ctx, doubled).await.expect("runs").is_empty());
}

#[tokio::test]
async fn another_reader_finds_the_given_messages() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("t.proto"), EVENT).expect("written");
    std::fs::write(at("in.riegeli"), event_file(0..10, 300, false)).expect("written");
    let ctx = context(1, 4);
    let options =
        format!("OPTIONS (proto '{}', message_type 't.Event', compression 'brotli')", at("t.proto"));
    let copy = format!(
        "COPY (SELECT * FROM '{}' ORDER BY id) TO '{}' STORED AS RIEGELI {options}",
        at("in.riegeli"),
        at("out.riegeli")
    );
    rows(&ctx, &copy).await.expect("written");
    let bytes = std::fs::read(at("out.riegeli")).expect("there");
    let mut reader = RecordReader::new(Cursor::new(bytes), riegeli::ReaderOptions::new()).expect("a file");
    for id in 0..10 {
        let record = reader.read_record().expect("whole").expect("a record");
        assert_eq!(crate::support::Event::decode(record.as_ref()).expect("a message"), event(id));
    }
    assert!(reader.read_record().expect("whole").is_none());
}

#[tokio::test]
async fn partitions_and_empty_folders_are_written() {
    let ctx = context(2, 2);
    in_memory(&ctx, &[]).await;
    let copy = format!(
        "COPY (SELECT *, id % 2 AS odd FROM ({VALUES})) TO 'mem:///p/' STORED AS RIEGELI PARTITIONED BY (odd)"
    );
    rows(&ctx, &copy).await.expect("written");
    rows(&ctx, "CREATE EXTERNAL TABLE p STORED AS RIEGELI LOCATION 'mem:///p/'").await.expect("a table");
    let found = rows(&ctx, "SELECT odd, count(*) AS n FROM p GROUP BY odd ORDER BY odd").await.expect("runs");
    assert_eq!(found, [r#"{"odd":"0","n":1}"#, r#"{"odd":"1","n":2}"#]);
    rows(&ctx, "CREATE EXTERNAL TABLE e (id BIGINT, name VARCHAR) STORED AS RIEGELI LOCATION 'mem:///e/'")
        .await
        .expect("a table");
    for _ in 0..2 {
        rows(&ctx, "INSERT INTO e VALUES (1, 'x'), (2, 'y')").await.expect("written");
    }
    let found = rows(&ctx, "SELECT count(*) AS n, max(name) AS name FROM e").await.expect("runs");
    assert_eq!(found, [r#"{"n":4,"name":"y"}"#]);
}

#[tokio::test]
async fn array_record_files_are_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("x.array_record").display().to_string();
    let ctx = context(1, 100);
    rows(&ctx, &format!("COPY ({VALUES}) TO '{file}' STORED AS ARRAY_RECORD")).await.expect("written");
    let inspected = text(&tool(["inspect", &file]).stdout);
    assert!(inspected.to_lowercase().contains("arrayrecord"), "{inspected}");
    assert_eq!(tool(["verify", &file]).status.code(), Some(0));
    // Such files say nothing of their records: these are the three messages, one after the other.
    let sizes = rows(&ctx, &format!("SELECT length(encode(record, 'hex')) / 2 AS n FROM '{file}'"))
        .await
        .expect("readable");
    assert_eq!(sizes, [r#"{"n":16}"#, r#"{"n":2}"#, r#"{"n":13}"#]);
}

#[tokio::test]
async fn what_cannot_be_written_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("x.riegeli").display().to_string();
    let ctx = context(2, 2);
    for (query, expected) in [
        ("SELECT [1, NULL] AS list", "NULL"),
        ("SELECT INTERVAL '1' DAY AS i", "column"),
        ("SELECT CAST(column1 AS INT) AS n FROM (VALUES ('1'), ('2'), ('x'))", "Cannot cast"),
    ] {
        let message = error(&ctx, &format!("COPY ({query}) TO '{file}' STORED AS RIEGELI")).await;
        assert!(message.contains(expected), "{message}");
        let left: Vec<_> = std::fs::read_dir(folder.path()).expect("a folder").collect();
        assert!(left.is_empty(), "{query}: {left:?}");
    }
    let unknown = format!("COPY (SELECT 1 AS a) TO '{file}' STORED AS RIEGELI OPTIONS (chunksize '1')");
    assert!(error(&ctx, &unknown).await.contains("'chunk_size'"));
    let wrong = format!("COPY (SELECT 1 AS a) TO '{file}' STORED AS RIEGELI OPTIONS (compression 'lz4')");
    assert!(error(&ctx, &wrong).await.contains("lz4"));
    let typo = tool(["convert", "-o", "chunksize=1", "a.riegeli", &file]);
    assert_eq!(typo.status.code(), Some(2));
    assert!(text(&typo.stderr).contains("did you mean 'chunk_size'"), "{}", text(&typo.stderr));
    let single =
        format!("COPY (SELECT 1 AS a) TO '{file}' STORED AS RIEGELI OPTIONS (single_file_output 'true')");
    assert!(error(&ctx, &single).await.contains("ends in /"));
}

#[test]
fn a_conversion_keeps_every_byte_of_the_records_it_keeps() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("in.riegeli"), event_file(0..50, 700, false)).expect("written");
    let convert = |args: &[&str]| {
        let output = tool([&["convert", "--progress", "never"], args].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    };
    let (input, copy, some) = (at("in.riegeli"), at("copy.riegeli"), at("some.riegeli"));
    convert(&["-o", "transpose=true", "-o", "compression=zstd:9", &input, &copy]);
    assert_eq!(tool(["cat", "--raw", &copy]).stdout, tool(["cat", "--raw", &input]).stdout);
    assert_eq!(tool(["schema", "--proto", &copy]).stdout, tool(["schema", "--proto", &input]).stdout);
    convert(&["--where", "id < 5", &input, &some]);
    let expected: Vec<u8> = (0..5).flat_map(|id| event(id).encode_length_delimited_to_vec()).collect();
    assert_eq!(tool(["cat", "--raw", &some]).stdout, expected);
    convert(&[
        "-o",
        "metadata_columns=file",
        "--where",
        "_file LIKE '%in.riegeli' AND id < 5",
        &input,
        &some,
    ]);
    assert_eq!(tool(["cat", "--raw", &some]).stdout, expected);
    convert(&["--select", "id, tag", &input, &at("two.riegeli")]);
    let two = text(&tool(["cat", "-n", "1", &at("two.riegeli")]).stdout);
    assert_eq!(two, "{\"id\":0,\"tag\":\"x\"}\n");
}

#[test]
fn other_formats_become_records() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("t.proto"), EVENT).expect("written");
    std::fs::write(at("in.riegeli"), event_file(0..20, 700, true)).expect("written");
    let convert = |args: &[&str]| {
        let output = tool([&["convert", "--progress", "never"], args].concat());
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
    };
    let rows = text(&tool(["cat", &at("in.riegeli")]).stdout);
    convert(&[&at("in.riegeli"), &at("x.parquet")]);
    convert(&[&at("x.parquet"), &at("derived.riegeli")]);
    let (proto, event) = (at("t.proto"), "t.Event");
    convert(&["--proto", &proto, "--message-type", event, &at("x.parquet"), &at("given.riegeli")]);
    assert_eq!(text(&tool(["cat", &at("derived.riegeli")]).stdout), rows);
    assert_eq!(text(&tool(["cat", &at("given.riegeli")]).stdout), rows);
    convert(&[&at("x.parquet"), &at("x.arrow")]);
    convert(&[&at("x.arrow"), &at("from_arrow.riegeli")]);
    assert_eq!(text(&tool(["cat", &at("from_arrow.riegeli")]).stdout), rows);
    std::fs::write(at("x.csv"), "a,b\n1,x\n2,y\n").expect("written");
    std::fs::write(at("x.ndjson"), "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":\"y\"}\n").expect("written");
    let expected = std::fs::read_to_string(at("x.ndjson")).expect("there");
    for input in ["x.csv", "x.ndjson"] {
        let output = at(&format!("{input}.riegeli"));
        convert(&[&at(input), &output]);
        assert_eq!(text(&tool(["cat", &output]).stdout), expected, "{input}");
    }
    convert(&[&at("x.csv"), &at("x.ndjson"), &at("both.riegeli")]);
    assert_eq!(text(&tool(["cat", &at("both.riegeli")]).stdout), expected.repeat(2));
}

#[test]
fn a_conversion_keeps_what_the_file_says_of_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let own_fields = b"\x0a\x08one file\xc2\x3e\x03abc\xc8\x3e\x07";
    let metadata = [&own_fields[..], &crate::support::metadata(EVENT, "t.Event")].concat();
    let options = riegeli::WriterOptions::new().set_serialized_metadata(metadata);
    let records = (0..3).map(|id| event(id).encode_to_vec());
    std::fs::write(at("in.riegeli"), riegeli_bytes(records, options)).expect("written");
    let metadata_after = |args: &[&str]| {
        let (input, output) = (at("in.riegeli"), at("out.riegeli"));
        let done = tool([&["convert", "--progress", "never"], args, &[&input, &output]].concat());
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        let bytes = Cursor::new(std::fs::read(output).expect("there"));
        let mut reader = RecordReader::new(bytes, riegeli::ReaderOptions::new()).expect("a file");
        reader.read_serialized_metadata().expect("whole").expect("there")
    };
    let holds = |metadata: &[u8], part: &[u8]| metadata.windows(part.len()).any(|window| window == part);
    let kept = metadata_after(&["--where", "id > 0"]);
    for part in [&own_fields[..10], &own_fields[10..], b"t.Event", b"t.proto"] {
        assert!(holds(&kept, part), "{part:?}");
    }
    let renamed = metadata_after(&["-o", "file_comment=another"]);
    assert!(holds(&renamed, b"another") && !holds(&renamed, b"one file"));
}

#[tokio::test]
async fn what_records_cannot_say_is_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let ctx = context(1, 100);
    let query = "SELECT [1, NULL, NULL] AS a, CAST(NULL AS BIGINT[]) AS b";
    let copy =
        format!("COPY ({query}) TO '{}' STORED AS RIEGELI OPTIONS (null_items 'drop')", at("x.riegeli"));
    let plan = rows(&ctx, &format!("EXPLAIN ANALYZE {copy}")).await.expect("runs").concat();
    for metric in ["rows_written=1", "files_written=1", "null_lists_emptied=1", "null_items_dropped=2"] {
        assert!(plan.contains(metric), "{metric}: {plan}");
    }
    rows(&ctx, &format!("COPY ({query}) TO '{}' STORED AS PARQUET", at("x.parquet"))).await.expect("written");
    let output = tool(["convert", "-o", "null_items=drop", &at("x.parquet"), &at("y.riegeli")]);
    let summary = text(&output.stderr);
    assert!(summary.contains("2 null items dropped, 1 null lists emptied"), "{summary}");
}

#[tokio::test]
async fn options_of_writing_are_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("x.riegeli").display().to_string();
    let ctx = context(1, 100);
    let written_with = async |set: &str, options: &str| {
        rows(&ctx, set).await.expect("a setting");
        rows(&ctx, &format!("COPY (SELECT 1 AS a) TO '{file}' STORED AS RIEGELI {options}")).await?;
        let bytes = Cursor::new(std::fs::read(&file).expect("there"));
        let mut reader = RecordReader::new(bytes, riegeli::ReaderOptions::new()).expect("a file");
        let metadata = reader.read_metadata().expect("whole").expect("there");
        Ok::<_, datafusion::error::DataFusionError>(metadata.record_writer_options().to_string())
    };
    let set = |value: &str| format!("SET recordfusion.compression = '{value}'");
    assert_eq!(written_with(&set("zstd:7"), "").await.expect("written"), "zstd:7");
    let transposed = "OPTIONS (transpose 'true')";
    assert_eq!(written_with(&set("zstd:7"), transposed).await.expect("written"), "transpose,zstd:7");
    // What is given comes first, and a setting that contradicts it is not used.
    let snappy = "OPTIONS (compression 'snappy')";
    assert_eq!(written_with(&set("zstd:7"), snappy).await.expect("written"), "snappy");
    assert_eq!(written_with("SET recordfusion.window_log = '20'", snappy).await.expect("written"), "snappy");
    // How files are read says nothing of how they are written.
    let reading = "SET recordfusion.message_type = 'no.Such'";
    assert!(written_with(reading, "").await.is_ok());
    for (wrong, expected) in [("SET recordfusion.chunk_size = 'big'", "big"), (&set("lz4"), "lz4")] {
        assert!(error(&ctx, wrong).await.contains(expected));
    }
}

#[test]
fn the_help_lists_options_of_writing_where_they_are_taken() {
    for (command, listed) in [("convert", true), ("query", true), ("cat", false), ("schema", false)] {
        let help = text(&tool([command, "--help"]).stdout);
        assert!(help.contains("on_bad_record"), "{command}");
        assert_eq!(help.contains("bucket_fraction"), listed, "{command}");
    }
    let refused = tool(["cat", "-o", "compression=zstd", "x.riegeli"]);
    assert_eq!(refused.status.code(), Some(2));
}

/// Maps as lists, and enum numbers without a name, are the same records on the way back.
#[test]
fn records_come_back_from_parquet_without_maps() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("t.proto"), EVENT).expect("written");
    std::fs::write(at("in.riegeli"), event_file(0..20, 700, false)).expect("written");
    let convert = |args: &[&str]| {
        let output = tool([&["convert", "--progress", "never"], args].concat());
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
    };
    convert(&["-o", "map=list", &at("in.riegeli"), &at("x.parquet")]);
    let keys = format!("SELECT counts[1]['key'] AS k FROM '{}' WHERE id = 5", at("x.parquet"));
    assert_eq!(text(&tool(["query", "--format", "csv", &keys]).stdout), "k\nk0\n");
    let (proto, output) = (at("t.proto"), at("out.riegeli"));
    convert(&["--proto", &proto, "--message-type", "t.Event", &at("x.parquet"), &output]);
    let bytes = Cursor::new(std::fs::read(&output).expect("there"));
    let mut reader = RecordReader::new(bytes, riegeli::ReaderOptions::new()).expect("a file");
    for id in 0..20 {
        let record = reader.read_record().expect("whole").expect("a record");
        assert_eq!(crate::support::Event::decode(record.as_ref()).expect("a message"), event(id));
    }
    let levels = format!("SELECT DISTINCT CAST(level AS VARCHAR) AS l FROM '{output}' ORDER BY l");
    assert_eq!(text(&tool(["query", "--format", "csv", &levels]).stdout), "l\n2\nHIGH\nLOW\n");
}
