//! DataFusion's own formats as outputs: whole or not at all, in forms that other readers know.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::Int32Type;
use datafusion::arrow::ipc::writer::FileWriter;
use datafusion::datasource::file_format::csv::CsvFormatFactory;
use datafusion::datasource::file_format::parquet::{ParquetFormat, ParquetFormatFactory};
use datafusion::datasource::listing::ListingTable;
use datafusion::parquet::file::reader::{FileReader, SerializedFileReader};
use datafusion::prelude::SessionContext;
use recordfusion::Options;

use crate::support::{context, error, explain, in_memory, rows, text, tool};

const FORMATS: [&str; 4] = ["parquet", "csv", "json", "arrow"];

/// Fails behind many batches.
const FAILING: &str = "SELECT value AS id, 1 / (value - 50000) AS y FROM generate_series(1, 60000)";

/// All files below a folder, with their bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            all.insert(path.display().to_string(), vec![]);
            all.extend(files(&path));
        } else {
            all.insert(path.display().to_string(), std::fs::read(&path).expect("readable"));
        }
    }
    all
}

#[tokio::test]
async fn a_query_that_fails_leaves_all_as_it_was_and_is_the_error() {
    for format in FORMATS {
        for target in ["new.FORMAT", "old.FORMAT", "folder/", "new/"] {
            let folder = tempfile::tempdir().expect("a folder");
            let at = |name: &str| folder.path().join(name.replace("FORMAT", format)).display().to_string();
            let ctx = context(2, 8192);
            for there in ["old.FORMAT", "folder/"] {
                let there = at(there);
                rows(&ctx, &format!("COPY (SELECT 1 AS id) TO '{there}' STORED AS {format}"))
                    .await
                    .expect("written");
            }
            let before = files(folder.path());
            for partitioned in ["", "PARTITIONED BY (id)"] {
                if !partitioned.is_empty() && !target.ends_with('/') {
                    continue;
                }
                let options = if target == "folder/" { "OPTIONS (overwrite 'true')" } else { "" };
                let query = FAILING.replace("value AS id", "value % 10 AS id, value AS v");
                let copy =
                    format!("COPY ({query}) TO '{}' STORED AS {format} {partitioned} {options}", at(target));
                assert_eq!(error(&ctx, &copy).await, "Divide by zero error", "{copy}");
                assert_eq!(files(folder.path()), before, "{copy}");
            }
            let output =
                tool(["query", &format!("COPY ({FAILING}) TO '{}' STORED AS {format}", at("tool.x"))]);
            assert_eq!(text(&output.stderr), "error: Divide by zero error\n");
            assert_eq!(files(folder.path()), before);
        }
    }
}

#[tokio::test]
async fn a_folder_that_is_not_empty_is_refused_or_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let ctx = context(2, 8192);
    for format in FORMATS {
        let to = folder.path().join(format).display().to_string();
        let copy = |n: usize, options: &str| {
            format!("COPY (SELECT * FROM generate_series(1, {n})) TO '{to}/' STORED AS {format} {options}")
        };
        rows(&ctx, &copy(3, "")).await.expect("new");
        assert!(error(&ctx, &copy(4, "")).await.contains("not empty"), "{format}");
        rows(&ctx, &copy(5, "OPTIONS (overwrite 'true')")).await.expect("replaced");
        let table = format!("CREATE EXTERNAL TABLE {format}_table STORED AS {format} LOCATION '{to}/'");
        rows(&ctx, &table).await.expect("a table");
        let count = format!("SELECT count(*) AS n FROM {format}_table");
        assert_eq!(rows(&ctx, &count).await.expect("rows"), [r#"{"n":5}"#], "{format}");
    }
}

#[tokio::test]
async fn rows_are_inserted_into_tables_of_datafusion_or_are_not() {
    let folder = tempfile::tempdir().expect("a folder");
    for format in FORMATS {
        let ctx = context(2, 8192);
        let to = folder.path().join(format);
        let path = to.display().to_string();
        let copy = format!("COPY (SELECT 1 AS id, 2 AS y) TO '{path}/' STORED AS {format}");
        rows(&ctx, &copy).await.expect("written");
        let table = format!("CREATE EXTERNAL TABLE t STORED AS {format} LOCATION '{path}/'");
        rows(&ctx, &table).await.expect("a table");
        rows(&ctx, "INSERT INTO t SELECT value, 3 FROM generate_series(2, 4)").await.expect("inserted");
        let before = files(&to);
        assert_eq!(error(&ctx, &format!("INSERT INTO t {FAILING}")).await, "Divide by zero error");
        assert_eq!(files(&to), before, "{format}");
        let sums = rows(&ctx, "SELECT count(*) AS n, sum(id) AS id, sum(y) AS y FROM t").await.expect("rows");
        assert_eq!(sums, [r#"{"n":4,"id":10,"y":11}"#], "{format}");
    }
}

#[tokio::test]
async fn a_store_gets_what_a_disk_gets() {
    for format in FORMATS {
        let ctx = context(2, 1000);
        in_memory(&ctx, &[]).await;
        let to = format!("mem:///out/x.{format}");
        let copy = |query: &str| format!("COPY ({query}) TO '{to}' STORED AS {format}");
        rows(&ctx, &copy("SELECT value AS id FROM generate_series(1, 5000)")).await.expect("written");
        assert_eq!(error(&ctx, &copy(FAILING)).await, "Divide by zero error");
        let ids =
            rows(&ctx, &format!("SELECT count(*) AS n, min(id) AS low, max(id) AS high FROM '{to}'")).await;
        assert_eq!(ids.expect("rows"), [r#"{"n":5000,"low":1,"high":5000}"#], "{format}");
    }
}

/// What is hard to say in JSON and CSV.
const HARD: &str = "SELECT CAST('NaN' AS DOUBLE) AS d, arrow_cast('-inf', 'Float32') AS f, \
    MAP([-5, 6], ['x', NULL]) AS m, make_array(CAST('NaN' AS DOUBLE), 1.5, NULL) AS l, \
    named_struct('a', 1, 'b', make_array('u', 'v\"w')) AS s, arrow_cast('red', 'Dictionary(Int32, Utf8)') AS word";

#[tokio::test]
async fn copy_and_convert_write_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let ctx = context(2, 8192);
    rows(&ctx, &format!("COPY ({HARD}) TO '{}' STORED AS PARQUET", at("in.parquet"))).await.expect("written");
    let json = "{\"d\":\"NaN\",\"f\":\"-Infinity\",\"m\":{\"-5\":\"x\",\"6\":null},\"l\":[\"NaN\",1.5,null],\
                \"s\":{\"a\":1,\"b\":[\"u\",\"v\\\"w\"]},\"word\":\"red\"}\n";
    for (format, extension) in [("json", "ndjson"), ("csv", "csv")] {
        let copy =
            format!("COPY (SELECT * FROM '{}') TO '{}' STORED AS {format}", at("in.parquet"), at("copied"));
        let done = tool(["query", &copy.replace("copied", "copied.x")]);
        assert!(done.status.success(), "{}", text(&done.stderr));
        let converted = at(&format!("converted.{extension}"));
        let done = tool(["convert", &at("in.parquet"), &converted]);
        assert!(done.status.success(), "{}", text(&done.stderr));
        let copied = std::fs::read_to_string(at("copied.x")).expect("written");
        assert_eq!(copied, std::fs::read_to_string(&converted).expect("written"));
        match format {
            "json" => assert_eq!(copied, json),
            _ => assert!(copied.contains(r#""{""-5"":""x"",""6"":null}""#), "{copied}"),
        }
    }
}

#[tokio::test]
async fn options_of_datafusion_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let ctx = context(2, 8192);
    let csv = format!(
        "COPY (SELECT 1 AS a, CAST(NULL AS INT) AS b) TO '{}' STORED AS CSV \
         OPTIONS (delimiter ';', has_header 'false', null_value '-')",
        at("x.csv")
    );
    rows(&ctx, &csv).await.expect("written");
    assert_eq!(std::fs::read_to_string(at("x.csv")).expect("written"), "1;-\n");
    let parquet = format!(
        "COPY (SELECT value AS v FROM generate_series(1, 1000) ORDER BY value DESC) TO '{}' STORED AS PARQUET \
         OPTIONS (max_row_group_size '300', compression 'snappy', 'metadata::who' 'me')",
        at("x.parquet")
    );
    rows(&ctx, &parquet).await.expect("written");
    let file =
        SerializedFileReader::new(std::fs::File::open(at("x.parquet")).expect("written")).expect("Parquet");
    let groups = file.metadata().row_groups();
    assert_eq!(groups.iter().map(|group| group.num_rows()).collect::<Vec<_>>(), [300, 300, 300, 100]);
    assert_eq!(groups[0].column(0).compression().to_string(), "SNAPPY");
    assert!(groups[0].sorting_columns().expect("sorted")[0].descending);
    let values = file.metadata().file_metadata().key_value_metadata().expect("metadata");
    assert!(values.iter().any(|entry| entry.key == "who" && entry.value.as_deref() == Some("me")));
    let unknown =
        format!("COPY (SELECT 1) TO '{}' STORED AS PARQUET OPTIONS (overwritten 'true')", at("y.parquet"));
    assert!(error(&ctx, &unknown).await.contains("overwritten"));
    let ids = rows(&ctx, &format!("SELECT v FROM '{}' LIMIT 1", at("x.parquet"))).await.expect("rows");
    assert_eq!(ids, [r#"{"v":1000}"#]);
}

#[tokio::test]
async fn only_writing_changes_and_a_program_can_leave_it_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.parquet").display().to_string();
    let copy = format!("COPY (SELECT 1 AS a) TO '{path}' STORED AS PARQUET");
    let ctx = context(2, 8192);
    assert!(explain(&ctx, &copy).await.contains("OutputSink: format=parquet"));
    rows(&ctx, &copy).await.expect("written");
    let state = ctx.state();
    assert!(state.get_file_format_factory("parquet").expect("known").is::<ParquetFormatFactory>());
    assert!(state.get_file_format_factory("csv").expect("known").is::<CsvFormatFactory>());
    rows(&ctx, &format!("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{path}'"))
        .await
        .expect("a table");
    let table = ctx.table_provider("t").await.expect("there");
    let table = table.downcast_ref::<ListingTable>().expect("DataFusion's own");
    assert!(table.options().format.is::<ParquetFormat>());

    let plain = SessionContext::new();
    recordfusion::register_record_formats(&plain, Options::new()).expect("registers");
    assert!(explain(&plain, &copy).await.contains("ParquetSink"));
    assert!(rows(&plain, "SELECT * FROM record_splits('examples/data/requests.riegeli', 2)").await.is_ok());
}

#[tokio::test]
async fn parquet_has_its_own_names_and_plain_types() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let ctx = context(2, 8192);
    let query = "SELECT make_array(1, 2) AS l, MAP(['a'], [make_array('b')]) AS m, \
                 make_array(named_struct('t', arrow_cast('x', 'Utf8View'))) AS s, \
                 arrow_cast('red', 'Dictionary(Int32, Utf8)') AS word, arrow_cast('z', 'BinaryView') AS z, \
                 arrow_cast(arrow_cast('v', 'Utf8View'), 'Dictionary(Int8, Utf8View)') AS other, \
                 make_array(arrow_cast('red', 'Dictionary(Int32, Utf8)')) AS words";
    rows(&ctx, &format!("COPY ({query}) TO '{}' STORED AS RIEGELI", at("in.riegeli")))
        .await
        .expect("written");
    rows(&ctx, &format!("COPY ({query}) TO '{}' STORED AS PARQUET", at("copied.parquet")))
        .await
        .expect("written");
    let done = tool(["convert", &at("in.riegeli"), &at("converted.parquet")]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    for name in ["copied.parquet", "converted.parquet"] {
        let file =
            SerializedFileReader::new(std::fs::File::open(at(name)).expect("written")).expect("Parquet");
        let schema = file.metadata().file_metadata().schema_descr();
        let paths: Vec<_> = schema.columns().iter().map(|column| column.path().string()).collect();
        let expected = [
            "l.list.element",
            "m.key_value.key",
            "m.key_value.value.list.element",
            "s.list.element.t",
            "word",
            "z",
            "other",
            "words.list.element",
        ];
        assert_eq!(paths, expected, "{name}");
        // The Arrow schema in the file says nothing else.
        let options = datafusion::parquet::arrow::arrow_reader::ArrowReaderOptions::new();
        let reader =
            datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new_with_options(
                std::fs::File::open(at(name)).expect("written"),
                options,
            );
        let schema = format!("{:?}", reader.expect("Parquet").schema());
        assert!(!schema.contains("View") && !schema.contains("Dictionary("), "{name}: {schema}");
        let values = "SELECT l, m, s[1]['t'] AS s, word, z, other, words FROM ";
        let read = rows(&ctx, &format!("{values}'{}'", at(name))).await.expect("rows");
        let expected =
            r#"{"l":[1,2],"m":{"a":["b"]},"s":"x","word":"red","z":"7a","other":"v","words":["red"]}"#;
        assert_eq!(read, [expected], "{name}");
    }
}

/// A file whose one column is a dictionary of one long text.
fn repeated_text(path: &Path, len: usize, rows: usize) {
    let values = Arc::new(StringArray::from(vec!["x".repeat(len)]));
    let column: ArrayRef =
        Arc::new(DictionaryArray::<Int32Type>::new(Int32Array::from(vec![0; rows]), values));
    let batch = RecordBatch::try_from_iter([("word", column)]).expect("one column");
    let file = std::fs::File::create(path).expect("a file");
    let mut writer = FileWriter::try_new(file, &batch.schema()).expect("a file");
    writer.write(&batch).expect("written");
    writer.finish().expect("written");
}

/// The most memory that a process held, in MB, as far as it was seen.
fn peak_memory(command: &mut Command) -> u64 {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().expect("runs");
    let mut peak = 0;
    let status = loop {
        let held = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let held = held.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let held = held.and_then(|held| held.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(held.unwrap_or(0) / 1000);
        match child.try_wait().expect("a child") {
            Some(status) => break status,
            None => std::thread::sleep(std::time::Duration::from_millis(5)),
        }
    };
    assert!(status.success());
    peak
}

#[cfg(target_os = "linux")]
#[test]
fn text_that_repeats_takes_no_more_memory_than_a_piece_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    repeated_text(&folder.path().join("in.arrow"), 1 << 20, 400);
    let cases: [&[&str]; 5] = [
        &["out.parquet"],
        &["out.csv"],
        &["out.ndjson"],
        &["out.arrow"],
        &["out.riegeli", "-o", "compression=uncompressed"],
    ];
    for args in cases {
        let mut command = Command::new(env!("CARGO_BIN_EXE_recordfusion"));
        command.args(["convert", "--partitions", "2", "--progress", "never", &at("in.arrow"), &at(args[0])]);
        let peak = peak_memory(command.args(&args[1..]));
        assert!(peak < 300, "{}: {peak} MB", args[0]);
        std::fs::remove_file(at(args[0])).expect("written");
    }
    for format in ["parquet", "csv", "arrow"] {
        let copy =
            format!("COPY (SELECT * FROM '{}') TO '{}' STORED AS {format}", at("in.arrow"), at("out.x"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_recordfusion"));
        let peak = peak_memory(command.args(["query", "--partitions", "2", &copy]));
        assert!(peak < 300, "{format}: {peak} MB");
        std::fs::remove_file(at("out.x")).expect("written");
    }
}
