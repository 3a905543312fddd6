//! The command line: what it prints, and how it ends.

use std::process::{Command, Stdio};

use crate::support::{EVENT, data, event_file, text, tool};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/requests.riegeli");

#[test]
fn query_prints_every_format() {
    let sql =
        format!("SELECT status, count(*) AS n FROM '{SAMPLE}' WHERE status < 300 GROUP BY 1 ORDER BY 1");
    let print = |format: &str| text(&tool(["query", "--format", format, &sql]).stdout);
    let table = print("table");
    assert!(
        table.starts_with("+--------+------+\n| status | n    |\n+--------+------+\n| 200    | "),
        "{table}"
    );
    assert_eq!(table, text(&tool(["query", &sql]).stdout));
    let csv = print("csv");
    assert!(csv.starts_with("status,n\n200,"), "{csv}");
    assert_eq!(print("tsv"), csv.replace(',', "\t"));
    let ndjson = print("ndjson");
    assert!(ndjson.starts_with("{\"status\":200,\"n\":"), "{ndjson}");
    let json: serde_json::Value = serde_json::from_str(&print("json")).expect("JSON");
    assert_eq!(json.as_array().map(Vec::len), Some(ndjson.lines().count()));
}

#[test]
fn query_runs_the_statements_of_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("q.sql");
    let statements = format!(
        "CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION '{SAMPLE}';\n-- a comment\nSELECT count(*) AS n FROM t; SELECT 1 AS one;"
    );
    std::fs::write(&script, statements).expect("written");
    let output = tool(["query", "-f", script.to_str().expect("UTF-8"), "--format", "csv"]);
    assert_eq!(text(&output.stdout), "n\n4000\none\n1\n", "{}", text(&output.stderr));
}

#[test]
fn options_reach_tables_that_are_named_by_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let proto = folder.path().join("event.proto");
    std::fs::write(&proto, EVENT).expect("written");
    let file = folder.path().join("t.riegeli");
    std::fs::write(&file, event_file(0..5, 1000, false)).expect("written");
    let sql = format!("SELECT city FROM '{}' LIMIT 1", file.display());
    let proto = format!("proto={}", proto.display());
    let output = tool(["query", "--format", "csv", "-o", &proto, "-o", "message_type=t.Place", &sql]);
    assert_eq!(text(&output.stdout), "city\n\"\"\n", "{}", text(&output.stderr));
}

#[test]
fn schema_shows_columns_and_the_message() {
    let schema = text(&tool(["schema", SAMPLE]).stdout);
    assert!(schema.contains("| name "), "{schema}");
    assert!(
        schema
            .lines()
            .any(|line| line.contains("timestamp_us") && line.contains("Int64") && line.contains("true")),
        "{schema}"
    );
    let proto = text(&tool(["schema", "--proto", SAMPLE]).stdout);
    assert!(proto.contains("message LogEvent {") && proto.contains("enum Severity {"), "{proto}");
}

#[test]
fn inspect_describes_a_file() {
    let shown = text(&tool(["inspect", SAMPLE]).stdout);
    for part in ["Riegeli/records", "bench.LogEvent", "4000", "transposed", "zstd"] {
        assert!(shown.contains(part), "{part} is missing in {shown}");
    }
    let chunks = text(&tool(["inspect", "--chunks", SAMPLE]).stdout);
    assert!(chunks.contains("\n    64  metadata") || chunks.contains("64  metadata"), "{chunks}");
    let json: serde_json::Value =
        serde_json::from_slice(&tool(["inspect", "--json", "--chunks", SAMPLE]).stdout).expect("JSON");
    assert_eq!(json["records"], 4000);
    assert_eq!(json["chunks"][0]["kind"], "signature");
    let array_record = data("array_record/group64_zstd.array_record");
    let shown = text(&tool(["inspect", array_record.to_str().expect("UTF-8")]).stdout);
    assert!(shown.contains("ArrayRecord") && shown.contains("500"), "{shown}");
}

#[test]
fn cat_prints_rows_in_order() {
    let all = text(&tool(["cat", SAMPLE]).stdout);
    assert_eq!(all.lines().count(), 4000);
    let three = text(&tool(["cat", "-n", "3", SAMPLE]).stdout);
    assert_eq!(three.lines().collect::<Vec<_>>(), all.lines().take(3).collect::<Vec<_>>());
    let raw = tool(["cat", "--raw", "-n", "1", SAMPLE]).stdout;
    let first: serde_json::Value = serde_json::from_str(all.lines().next().expect("a line")).expect("JSON");
    let id = first["request_id"].as_str().expect("text").as_bytes();
    assert!(raw.windows(id.len()).any(|window| window == id));
}

#[test]
fn verify_tells_good_from_bad() {
    let good = tool(["verify", SAMPLE]);
    assert!(good.status.success());
    assert!(text(&good.stdout).starts_with("ok "), "{}", text(&good.stdout));
    let folder = data("riegeli/corrupt/");
    let bad = tool(["verify", SAMPLE, folder.to_str().expect("UTF-8")]);
    assert_eq!(bad.status.code(), Some(1));
    let lines = text(&bad.stdout);
    assert!(lines.lines().count() > 50, "{lines}");
    assert!(
        lines
            .lines()
            .any(|line| line.starts_with("bad ") && line.contains("data_flip.riegeli: damaged at byte")),
        "{lines}"
    );
    assert!(
        lines.lines().any(|line| line.starts_with("bad ") && line.contains("not_riegeli.riegeli")),
        "{lines}"
    );
}

#[test]
fn faults_are_one_sentence_and_an_exit_code() {
    let missing = "SELECT * FROM 'nowhere/x.riegeli'";
    for (args, code, part) in [
        (vec!["query", "SELEC 1"], 1, "Expected"),
        (vec!["query", missing], 1, "nowhere/x.riegeli"),
        (vec!["inspect", "nowhere/x.riegeli"], 1, "no files at nowhere/x.riegeli"),
        (vec!["query", "-o", "mesage_type=x", "SELECT 1"], 2, "did you mean 'message_type'?"),
        (vec!["query", "-o", "nonsense", "SELECT 1"], 2, "KEY=VALUE"),
        (vec!["convert", SAMPLE, "x.unknown"], 1, "cannot tell the output format"),
        (vec!["convert", SAMPLE, "x.parquet", "--compression", "lzma"], 2, "lzma"),
        (vec!["frobnicate"], 2, "frobnicate"),
        (vec![], 2, "Usage"),
    ] {
        let output = tool(&args);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        assert!(error.contains(part), "{args:?}: {error}");
        assert!(!error.contains("panicked") && !error.contains("backtrace"), "{error}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    for args in [
        vec!["cat", SAMPLE],
        vec!["cat", "--raw", SAMPLE],
        vec!["query", "SELECT * FROM 'examples/data/requests.riegeli'"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_recordfusion"))
            .args(&args)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("ends");
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(text(&output.stderr), "", "{args:?}");
    }
}

#[test]
fn convert_ends_with_a_summary() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("x.parquet");
    let done = tool(["convert", SAMPLE, output.to_str().expect("UTF-8"), "--progress", "never"]);
    let size = std::fs::metadata(SAMPLE).expect("exists").len();
    let line = text(&done.stderr);
    assert!(line.starts_with(&format!("4000 rows, {size} bytes in, ")) && line.ends_with(" s\n"), "{line}");
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(done.stdout.is_empty());
}

#[test]
fn errors_are_one_line() {
    let wrong_column = format!("SELECT nope FROM '{SAMPLE}'");
    for sql in [
        wrong_column.as_str(),
        "SELECT 1 FROM",
        "CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION 's3://x/y'",
    ] {
        let output = tool(["query", sql]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(!error.contains("bug in DataFusion") && !error.contains("ParserError("), "{error}");
    }
}

#[test]
fn statements_with_results_print_them_and_names_with_dots_are_names() {
    let sql = "CREATE TABLE \"a.b\" AS SELECT 7 AS x; PREPARE p AS SELECT x FROM \"a.b\"; EXECUTE p";
    let output = tool(["query", "--format", "csv", sql]);
    assert_eq!(text(&output.stdout), "x\n7\n", "{}", text(&output.stderr));
}

#[test]
fn a_folder_is_all_files_below_it() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(folder.path().join("in/deep")).expect("made");
    for (name, ids) in [("a.riegeli", 0..3), ("in/b.riegeli", 3..7), ("in/deep/c.riegeli", 7..8)] {
        std::fs::write(folder.path().join(name), event_file(ids, 1000, false)).expect("written");
    }
    let count = |path: &str| {
        let sql = format!("SELECT count(*) AS n FROM '{}/{path}'", folder.path().display());
        text(&tool(["query", "--format", "csv", &sql]).stdout)
    };
    assert_eq!(count(""), "n\n8\n");
    assert_eq!(count("in/*.riegeli"), "n\n4\n");
    assert_eq!(count("in/**/*.riegeli"), "n\n5\n");
    let verified = tool(["verify", &format!("{}/", folder.path().display())]);
    assert_eq!(text(&verified.stdout).lines().count(), 3);
}
