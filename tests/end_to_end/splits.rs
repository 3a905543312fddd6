//! Byte ranges of files that a caller hands out: `record_splits`, the option `range`, `--range`.

use datafusion::prelude::SessionContext;
use recordfusion::{Options, RecordTable, TableDefinition};

use crate::support::{context, data, error, event_file, in_memory, rows, text, tool};

const SAMPLES: [&str; 4] = [
    "examples/data/requests.riegeli",
    "tests/data/recordio/go-none-chunks.recordio",
    "tests/data/recordio/go-none-nested.recordio",
    "tests/data/array_record/default.array_record",
];

fn sample(path: &str) -> String {
    data("../..").join(path).display().to_string()
}

/// The pieces of a file, as `begin:end`.
async fn splits(ctx: &SessionContext, file: &str, count: u64) -> Vec<String> {
    let query = format!(
        "SELECT concat(\"begin\", ':', \"end\") AS s FROM record_splits('{file}', {count}) ORDER BY \"begin\""
    );
    let found = rows(ctx, &query).await.expect("splits");
    found.iter().map(|row| row.split('"').nth(3).expect("text").to_string()).collect()
}

#[tokio::test]
async fn all_pieces_together_are_the_file() {
    for path in SAMPLES {
        let file = sample(path);
        let ctx = context(2, 50);
        let all = rows(&ctx, &format!("SELECT * FROM '{file}'")).await.expect(path);
        let sorted = |mut rows: Vec<String>| {
            rows.sort();
            rows
        };
        let all = sorted(all);
        for count in [1, 2, 7, 1000] {
            let (mut found, mut counted) = (vec![], 0);
            for range in splits(&ctx, &file, count).await {
                let options = Options::new().with("range", range.clone());
                let definition = TableDefinition::new(&file).with_options(options);
                let part = RecordTable::open(&ctx.state(), definition).await.expect("opens");
                ctx.register_table("part", std::sync::Arc::new(part)).expect("registered");
                let here = rows(&ctx, "SELECT * FROM part").await.expect("runs");
                let count = rows(&ctx, "SELECT count(*) AS n FROM part").await.expect("runs");
                assert_eq!(count, [format!("{{\"n\":{}}}", here.len())], "{path} {range}");
                counted += here.len();
                found.extend(here);
                ctx.deregister_table("part").expect("there");
            }
            assert_eq!(counted, all.len(), "{path} in {count}");
            assert_eq!(sorted(found), all, "{path} in {count}");
        }
    }
}

#[tokio::test]
async fn pieces_of_several_files_name_them() {
    let ctx = context(2, 50);
    let (small, large) = (event_file(0..2, 1 << 20, false), event_file(0..20_000, 1 << 14, false));
    let blocks = large.len().div_ceil(1 << 16);
    assert!(blocks > 3, "{blocks}");
    in_memory(&ctx, &[("s/a.riegeli", small.clone()), ("s/b.riegeli", large.clone())]).await;
    let query = "SELECT file, count(*) AS n, min(\"begin\") AS b, max(\"end\") AS e
        FROM record_splits('mem:///s/', 1000) GROUP BY file ORDER BY file";
    let found = rows(&ctx, query).await.expect("splits");
    let expected = [
        format!(r#"{{"file":"mem:///s/a.riegeli","n":1,"b":0,"e":{}}}"#, small.len()),
        format!(r#"{{"file":"mem:///s/b.riegeli","n":{blocks},"b":0,"e":{}}}"#, large.len()),
    ];
    assert_eq!(found, expected);
    for (call, message) in [
        ("record_splits('mem:///s/')", "takes a path and a number of pieces"),
        ("record_splits(3, 3)", "the first argument of record_splits is a path in quotes, not 3"),
        ("record_splits('mem:///s/', 0)", "is from 1 to 1048576, not 0"),
        ("record_splits('mem:///s/', 'x')", "is from 1 to 1048576, not x"),
        ("record_splits('mem:///nothing/', 3)", "no files at mem:///nothing/"),
    ] {
        let found = error(&ctx, &format!("SELECT * FROM {call}")).await;
        assert!(found.contains(message), "{call}: {found}");
    }
}

#[tokio::test]
async fn a_range_is_of_one_file_and_is_only_read() {
    let ctx = context(2, 50);
    in_memory(
        &ctx,
        &[("s/a.riegeli", event_file(0..2, 99, false)), ("s/b.riegeli", event_file(0..2, 99, false))],
    )
    .await;
    let create = |name: &str, location: &str, range: &str| {
        format!(
            "CREATE EXTERNAL TABLE {name} STORED AS RIEGELI LOCATION '{location}' OPTIONS (range '{range}')"
        )
    };
    for (location, range, message) in [
        (
            "mem:///s/",
            "0:5",
            "option 'range' is for one file, but these are 2, the first of which is mem:///s/a",
        ),
        ("mem:///s/a.riegeli", "5:0", "option 'range': '5:0' is not BEGIN:END"),
    ] {
        let found = error(&ctx, &create("x", location, range)).await;
        assert!(found.contains(message), "{found}");
    }
    rows(&ctx, &create("t", "mem:///s/a.riegeli", "1:")).await.expect("created");
    assert_eq!(rows(&ctx, "SELECT count(*) AS n FROM t").await.expect("runs"), [r#"{"n":2}"#]);
    let found = error(&ctx, "INSERT INTO t SELECT * FROM t").await;
    assert!(found.contains("a range of a file"), "{found}");
}

#[test]
fn the_tool_takes_a_range() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let file = event_file(0..20_000, 1 << 14, true);
    std::fs::write(at("in.riegeli"), &file).expect("written");
    let whole = tool(["cat", "--raw", &at("in.riegeli")]).stdout;
    let (mut raw, mut rows) = (vec![], vec![]);
    for range in [":100000".to_string(), "100000:131072".to_string(), "131072:".to_string()] {
        let option = format!("range={range}");
        raw.extend(tool(["cat", "--raw", "-o", &option, &at("in.riegeli")]).stdout);
        let converted =
            tool(["convert", "--range", &range, "--select", "id", &at("in.riegeli"), &at("out.csv")]);
        assert_eq!(converted.status.code(), Some(0), "{}", text(&converted.stderr));
        let lines = text(&std::fs::read(at("out.csv")).expect("written"));
        let query = format!("SELECT count(*) AS n FROM '{}'", at("in.riegeli"));
        let counted = tool(["query", "--range", &range, "--format", "csv", &query]);
        assert_eq!(text(&counted.stdout), format!("n\n{}\n", lines.lines().count() - 1), "{range}");
        rows.extend(lines.lines().skip(1).map(|id| id.parse::<i64>().expect("a number")));
    }
    assert!(raw == whole);
    assert!(rows.into_iter().eq(0..20_000));
    let wrong = tool(["query", "--range", "x", "SELECT 1"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("option 'range': 'x' is not BEGIN:END"), "{}", text(&wrong.stderr));
}
