//! Statements that write, several at a time, killed or interrupted: all that they wrote is there, or nothing.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::{context, error, event_file, in_memory, rows, text, tool};

/// Starts the tool.
fn start(args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_recordfusion"));
    command.args(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("runs")
}

/// The number that a query counts, with the tool.
fn count(from: &str) -> u64 {
    let query = format!("SELECT count(*) AS n FROM {from}");
    let output = tool(["query", "--format", "csv", &query]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout).lines().last().and_then(|line| line.parse().ok()).expect("a number")
}

/// All names in a folder, hidden ones too.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().display().to_string()).collect();
    names.sort();
    names
}

#[test]
fn rows_that_processes_add_to_one_file_at_once_are_all_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (input, output) = (at("in.riegeli"), at("out.riegeli"));
    std::fs::write(&input, event_file(0..200, 2000, false)).expect("written");
    for _ in 0..4 {
        std::fs::copy(&input, &output).expect("copied");
        let insert = format!(
            "CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION '{output}'; INSERT INTO t SELECT * FROM '{input}'"
        );
        let append = ["convert", "--progress", "never", "--append", &input, &output];
        let running =
            [start(&["query", &insert]), start(&append), start(&["query", &insert]), start(&append)];
        for child in running {
            let done = child.wait_with_output().expect("a child");
            assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        }
        assert_eq!(count(&format!("'{output}'")), 5 * 200);
    }
    // Likewise into a file that is not there yet, in a folder that is not there either.
    let output = at("new/out.riegeli");
    let append = ["convert", "--progress", "never", "--append", &input, &output];
    for child in [start(&append), start(&append), start(&append)] {
        let done = child.wait_with_output().expect("a child");
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    }
    assert_eq!(count(&format!("'{output}'")), 3 * 200);
    assert_eq!(names(folder.path()), ["in.riegeli", "new", "out.riegeli"]);
    assert_eq!(names(&folder.path().join("new")), ["out.riegeli"]);
}

#[test]
fn a_replaced_file_does_not_lose_rows_that_are_being_added() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (input, output) = (at("in.riegeli"), at("out.riegeli"));
    std::fs::write(&input, event_file(0..200, 2000, false)).expect("written");
    for _ in 0..4 {
        std::fs::copy(&input, &output).expect("copied");
        let append = start(&["convert", "--progress", "never", "--append", &input, &output]);
        let replace = start(&["convert", "--progress", "never", "--where", "id < 50", &input, &output]);
        for child in [append, replace] {
            let done = child.wait_with_output().expect("a child");
            assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        }
        // One after the other, in either order.
        assert!([50, 250].contains(&count(&format!("'{output}'"))));
    }
}

#[test]
fn one_of_two_conversions_into_a_new_folder_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let input = at("in.riegeli");
    std::fs::write(&input, event_file(0..200, 2000, false)).expect("written");
    for format in ["riegeli", "parquet"] {
        let output = at(&format!("{format}/"));
        let all = ["convert", "--progress", "never", "--partitions", "4", "--to", format, &input, &output];
        let some = [&all[..], &["--where", "id < 50"]].concat();
        let done = [start(&all), start(&some)].map(|child| child.wait_with_output().expect("a child"));
        let succeeded = done.each_ref().map(|done| done.status.success());
        assert!(succeeded[0] != succeeded[1], "{format}: {done:?}");
        let refused = text(&done[usize::from(succeeded[0])].stderr);
        assert!(
            refused.contains("another statement is writing it") || refused.contains("not empty"),
            "{refused}"
        );
        assert_eq!(count(&format!("'{output}'")), if succeeded[0] { 200 } else { 50 });
    }
    assert_eq!(names(folder.path()), ["in.riegeli", "parquet", "riegeli"]);
}

/// A statement of several files that takes a while.
fn long_copy(folder: &str) -> String {
    format!(
        "COPY (SELECT value, repeat('0123456789', 20) AS a, value % 5 AS k FROM generate_series(1, {LONG})) \
         TO '{folder}' STORED AS RIEGELI PARTITIONED BY (k) OPTIONS (compression 'uncompressed', overwrite 'true')"
    )
}

/// Rows of it.
const LONG: u64 = 200_000;

#[test]
fn killed_statements_leave_a_whole_folder_or_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("out");
    let query = long_copy(&format!("{}/", output.display()));
    let (mut killed, mut whole) = (0, 0);
    for delay in (0..).map(|step| Duration::from_millis(60 * step)) {
        let mut child = start(&["query", &query]);
        std::thread::sleep(delay);
        child.kill().expect("a child");
        let finished = child.wait().expect("a child").success();
        if output.exists() {
            assert_eq!(count(&format!("'{}/'", output.display())), LONG);
            whole += 1;
        } else {
            assert!(!finished);
            killed += usize::from(!names(folder.path()).is_empty());
        }
        if finished {
            break;
        }
        let _ = std::fs::remove_dir_all(&output);
    }
    assert!(killed > 0 && whole > 0, "{killed} were killed while they wrote, {whole} ended");
    // What the others left is in nobody's way, and is no data.
    let again = tool(["query", &query]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    assert_eq!(count(&format!("'{}/'", output.display())), LONG);
    let visible: Vec<_> = names(folder.path()).into_iter().filter(|name| !name.starts_with('.')).collect();
    assert_eq!(visible, ["out"]);
}

#[cfg(unix)]
#[test]
fn interrupted_statements_say_so_only_if_they_took_no_effect() {
    for signal in ["INT", "TERM"] {
        let folder = tempfile::tempdir().expect("a folder");
        let output = folder.path().join("out");
        let query = long_copy(&format!("{}/", output.display()));
        for delay in (2..).map(|step| Duration::from_millis(50 * step)) {
            let child = start(&["query", &query]);
            std::thread::sleep(delay);
            let pid = child.id().to_string();
            let _ = Command::new("kill").args(["-s", signal, &pid]).status().expect("runs");
            let done = child.wait_with_output().expect("a child");
            match done.status.code() {
                Some(130) => {
                    assert_eq!(text(&done.stderr), "interrupted\n");
                    assert!(names(folder.path()).is_empty(), "{:?}", names(folder.path()));
                }
                // Before the tool listens to signals they end it.
                None => assert!(names(folder.path()).is_empty(), "{:?}", names(folder.path())),
                code => {
                    assert_eq!(code, Some(0), "{}", text(&done.stderr));
                    assert_eq!(names(folder.path()), ["out"]);
                    assert_eq!(count(&format!("'{}/'", output.display())), LONG);
                    break;
                }
            }
        }
    }
}

/// On a disk and in a store: a folder is refused, overwritten or added to.
#[tokio::test]
async fn a_folder_that_has_files_is_replaced_only_on_request() {
    let folder = tempfile::tempdir().expect("a folder");
    for root in [format!("{}/", folder.path().display()), "mem:///".to_string()] {
        let ctx = context(2, 1000);
        in_memory(&ctx, &[]).await;
        let copy = |rows: usize, options: &str| {
            format!(
                "COPY (SELECT value FROM generate_series(1, {rows})) TO '{root}f/' STORED AS RIEGELI {options}"
            )
        };
        let count = async || {
            let n = rows(&ctx, &format!("SELECT count(*) AS n FROM '{root}f/'")).await.expect("readable");
            n.concat()
        };
        rows(&ctx, &copy(5000, "")).await.expect("written");
        let message = error(&ctx, &copy(10, "")).await;
        assert!(message.contains("is not empty: it holds") && message.contains("overwrite"), "{message}");
        assert_eq!(count().await, r#"{"n":5000}"#);
        rows(&ctx, &copy(10, "OPTIONS (overwrite 'true')")).await.expect("written");
        assert_eq!(count().await, r#"{"n":10}"#);
        rows(&ctx, "SET recordfusion.overwrite = 'true'").await.expect("a setting");
        rows(&ctx, &copy(20, "")).await.expect("written");
        assert_eq!(count().await, r#"{"n":20}"#);
        // What is given comes first.
        assert!(error(&ctx, &copy(30, "OPTIONS (overwrite 'false')")).await.contains("is not empty"));
        let table = format!("CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION '{root}f/'");
        rows(&ctx, &table).await.expect("a table");
        for n in 1..3 {
            rows(&ctx, "INSERT INTO t VALUES (1), (2)").await.expect("written");
            assert_eq!(count().await, format!("{{\"n\":{}}}", 20 + 2 * n));
        }
        assert!(error(&ctx, &copy(1, "OPTIONS (overwrite 'perhaps')")).await.contains("perhaps"));
        assert!(
            error(&ctx, &format!("{table} OPTIONS (overwrite 'true')").replace("TABLE t", "TABLE u"))
                .await
                .contains("option of COPY")
        );
    }
    assert_eq!(names(folder.path()), ["f"]);
}

#[test]
fn conversions_replace_a_folder_on_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (input, output) = (at("in.riegeli"), at("out/"));
    std::fs::write(&input, event_file(0..20_000, 20_000, false)).expect("written");
    for format in ["riegeli", "recordio", "parquet", "csv", "ndjson", "arrow"] {
        let convert = |partitions: &str, extra: &[&str]| {
            let args = ["convert", "--progress", "never", "--partitions", partitions, "--to", format];
            tool([&args[..], extra, &["--select", "id", &input, &output]].concat())
        };
        assert_eq!(convert("4", &[]).status.code(), Some(0), "{format}");
        let refused = convert("2", &[]);
        assert_eq!(refused.status.code(), Some(1));
        assert!(text(&refused.stderr).contains("not empty"), "{}", text(&refused.stderr));
        let done = convert("2", &["--overwrite"]);
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        let files = [0, 1].map(|part| format!("part-{part:05}.{format}"));
        assert_eq!(names(&folder.path().join("out")), files, "{format}");
        std::fs::remove_dir_all(&output).expect("there");
    }
    let itself =
        tool(["convert", "--overwrite", "--to", "csv", &input, &folder.path().display().to_string()]);
    assert!(text(&itself.stderr).contains("both an input and the output"), "{}", text(&itself.stderr));
    assert!(folder.path().join("in.riegeli").exists());
}

#[tokio::test]
async fn the_first_cause_is_the_error_whatever_the_number_of_batches() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().display().to_string();
    std::fs::write(
        folder.path().join("t.proto"),
        "syntax = \"proto3\"; message M { int64 id = 1; int64 x = 2; }",
    )
    .expect("written");
    let options = format!("OPTIONS (message_type 'M', proto '{root}/t.proto', extra_columns 'ignore')");
    for rows in [100, 20_000] {
        let ctx = context(2, 1000);
        let query = format!(
            "SELECT value AS id, CASE WHEN value = 50 THEN NULL ELSE value END AS x, value % 2 AS k \
             FROM generate_series(1, {rows})"
        );
        for (target, clauses) in [
            ("x.riegeli", "STORED AS RIEGELI"),
            ("x.array_record", "STORED AS ARRAY_RECORD"),
            ("x.recordio", "STORED AS RECORDIO"),
            ("f/", "STORED AS RIEGELI"),
            ("p/", "STORED AS RIEGELI PARTITIONED BY (k)"),
        ] {
            let copy = format!("COPY ({query}) TO '{root}/{target}' {clauses} {options}");
            let message = error(&ctx, &copy).await;
            assert!(message.contains("column 'x', row"), "{rows} {target}: {message}");
            assert!(message.contains("NULL"), "{message}");
        }
        // The query's own error is as good a cause.
        let query = format!("SELECT 1 / (value - {rows}) AS x FROM generate_series(1, {rows})");
        for target in ["x.riegeli", "f/"] {
            let message =
                error(&ctx, &format!("COPY ({query}) TO '{root}/{target}' STORED AS RIEGELI")).await;
            assert!(message.to_lowercase().contains("divide by zero"), "{message}");
        }
        assert_eq!(names(folder.path()), ["t.proto"]);
    }
}
