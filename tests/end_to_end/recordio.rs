//! RecordIO files through SQL and the tool: as other record files.

use crate::support::{context, data, error, event, event_file, rows, text, tool};
use prost::Message;

fn fixture(name: &str) -> String {
    data(&format!("recordio/{name}.recordio")).display().to_string()
}

#[tokio::test]
async fn records_are_bytes_text_or_messages() {
    let ctx = context(3, 100);
    let file = fixture("worked-go-snappy");
    let bytes =
        rows(&ctx, &format!("SELECT CAST(record AS VARCHAR) AS r FROM '{file}'")).await.expect("runs");
    let expected = [r#"{"r":"Hello"}"#, r#"{"r":""}"#, r#"{"r":"World!"}"#];
    assert_eq!(bytes, expected);
    rows(&ctx, "SET recordfusion.payload = 'text'").await.expect("a setting");
    let text = rows(&ctx, &format!("SELECT record AS r FROM '{file}'")).await.expect("runs");
    assert_eq!(text, expected);
    assert_eq!(
        rows(&ctx, &format!("SELECT count(*) AS n FROM '{file}'")).await.expect("runs"),
        [r#"{"n":3}"#]
    );
}

#[tokio::test]
async fn damage_is_an_error_or_passed_over_whatever_the_partitions() {
    for name in ["bad-crc-snappy", "tail-cut-payload", "zero-hole", "torn-then-appended"] {
        let lines = std::fs::read_to_string(data(&format!("recordio/{name}.records.jsonl"))).expect("there");
        let expected = format!("{{\"n\":{}}}", lines.lines().count());
        for partitions in [1, 4] {
            let ctx = context(partitions, 7);
            let query = format!("SELECT count(record) AS n FROM '{}'", fixture(name));
            assert!(error(&ctx, &query).await.contains(&format!("{name}.recordio")), "{name}");
            rows(&ctx, "SET recordfusion.on_corruption = 'skip'").await.expect("a setting");
            assert_eq!(rows(&ctx, &query).await.expect(name), [expected.as_str()], "{name} {partitions}");
            let plan = rows(&ctx, &format!("EXPLAIN ANALYZE {query}")).await.expect(name).concat();
            assert!(plan.contains("regions_lost=") && plan.contains("bytes_lost="), "{plan}");
        }
    }
}

#[tokio::test]
async fn rows_are_written_and_added() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let ctx = context(2, 3);
    for options in ["", "OPTIONS (compressor 'gzip:9')", "OPTIONS (layout 'fluid', max_chunk_records '1')"] {
        let file = at("x.recordio");
        let copy = format!("COPY (VALUES ('one'), ('two')) TO '{file}' STORED AS RECORDIO {options}");
        // A column by another name is a message, which only a descriptor set can tell.
        rows(&ctx, &copy).await.expect("written");
        let copy = format!(
            "COPY (SELECT column1 AS record FROM (VALUES ('one'), ('two'))) TO '{file}' \
            STORED AS RECORDIO {options}"
        );
        rows(&ctx, &copy).await.expect("written");
        let table = format!("CREATE OR REPLACE EXTERNAL TABLE t STORED AS RECORDIO LOCATION '{file}'");
        rows(&ctx, &table).await.expect("a table");
        rows(&ctx, "INSERT INTO t VALUES (arrow_cast('three', 'Binary'))").await.expect("added");
        let found = rows(&ctx, "SELECT CAST(record AS VARCHAR) AS r FROM t").await.expect("readable");
        let mut found: Vec<_> = found.iter().map(|row| row.trim_matches(['{', '}']).to_string()).collect();
        found.sort();
        assert_eq!(found, [r#""r":"one""#, r#""r":"three""#, r#""r":"two""#], "{options}");
    }
}

#[test]
fn the_tool_takes_them_as_any_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("t.proto"), crate::support::EVENT).expect("written");
    std::fs::write(at("in.riegeli"), event_file(0..20, 300, true)).expect("written");
    let converted = tool(["convert", "--progress", "never", &at("in.riegeli"), &at("x.recordio")]);
    assert_eq!(converted.status.code(), Some(0), "{}", text(&converted.stderr));
    let raw: Vec<u8> = (0..20).flat_map(|id| event(id).encode_length_delimited_to_vec()).collect();
    assert!(tool(["cat", "--raw", &at("x.recordio")]).stdout == raw);
    let proto = format!("proto={}", at("t.proto"));
    let as_messages = ["cat", "-o", &proto, "-o", "message_type=t.Event", &at("x.recordio")];
    assert_eq!(text(&tool(as_messages).stdout), text(&tool(["cat", &at("in.riegeli")]).stdout));
    assert_eq!(tool(["verify", &at("x.recordio")]).status.code(), Some(0));
    let inspected = text(&tool(["inspect", &at("x.recordio")]).stdout);
    assert!(inspected.contains("RecordIO") && inspected.contains("snappy"), "{inspected}");
    let damaged = tool(["verify", &fixture("bad-crc-none")]);
    assert_eq!(damaged.status.code(), Some(1));
    assert!(text(&damaged.stdout).contains("bad-crc-none") || text(&damaged.stderr).contains("bad-crc-none"));
}

#[test]
fn the_message_type_goes_along() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("in.riegeli"), event_file(0..20, 300, true)).expect("written");
    let rows = text(&tool(["cat", &at("in.riegeli")]).stdout);
    let line = |arguments: &[&str]| {
        let done = tool(["convert", "--progress", "never"].iter().chain(arguments));
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        text(&done.stderr)
    };
    // Whole records keep their type, other columns get one.
    let shown = line(&["--write-descriptor-set", &at("in.riegeli"), &at("x.recordio")]);
    let hint = format!("; read it with -o message_type=t.Event -o descriptor_set={}", at("x.recordio.fds"));
    assert!(shown.trim_end().ends_with(&hint), "{shown}");
    let options = [format!("descriptor_set={}", at("x.recordio.fds")), "message_type=t.Event".to_string()];
    assert_eq!(text(&tool(["cat", "-o", &options[0], "-o", &options[1], &at("x.recordio")]).stdout), rows);
    line(&["-o", &options[0], "-o", &options[1], &at("x.recordio"), &at("back.riegeli")]);
    assert_eq!(text(&tool(["cat", &at("back.riegeli")]).stdout), rows);
    let select = "id + 1 AS next";
    line(&["--write-descriptor-set", "--select", select, &at("in.riegeli"), &at("y.recordio")]);
    let option = format!("descriptor_set={}", at("y.recordio.fds"));
    let next = text(&tool(["cat", "-n", "2", "-o", &option, &at("y.recordio")]).stdout);
    assert_eq!(next, "{\"next\":1}\n{\"next\":2}\n");
    std::fs::create_dir(at("parts")).expect("made");
    line(&[
        "--write-descriptor-set",
        "--to",
        "recordio",
        "--select",
        select,
        &at("in.riegeli"),
        &at("parts"),
    ]);
    let option = format!("descriptor_set={}", at("parts/_descriptors.fds"));
    let counted = tool([
        "query",
        "--format",
        "csv",
        "-o",
        &option,
        &format!("SELECT sum(next) AS s FROM '{}'", at("parts/")),
    ]);
    assert_eq!(text(&counted.stdout), "s\n210\n", "{}", text(&counted.stderr));
    for arguments in [[at("in.riegeli"), at("z.riegeli")], [fixture("go-none-chunks"), at("z.recordio")]] {
        let refused = tool(["convert", "--write-descriptor-set", &arguments[0], &arguments[1]]);
        assert!(text(&refused.stderr).contains("needs no descriptor set"), "{}", text(&refused.stderr));
        assert!(!std::path::Path::new(&arguments[1]).exists());
    }
}

#[tokio::test]
async fn a_file_without_a_type_says_how_to_give_one() {
    let file = fixture("go-none-proto");
    let found = error(&context(1, 10), &format!("SELECT id FROM '{file}'")).await;
    assert!(found.contains("No field named id"), "{found}");
    assert!(found.ends_with("name it with the options message_type and descriptor_set or proto."), "{found}");
    let named = tool(["cat", "-o", "message_type=demo.shop.v1.Event", &file]);
    assert!(text(&named.stderr).contains("descriptor_set"), "{}", text(&named.stderr));
}

#[tokio::test]
async fn partitions_and_stores_are_those_of_any_format() {
    let ctx = context(3, 10);
    let bytes = |name: &str| std::fs::read(fixture(name)).expect("there");
    let files = [
        ("t/day=1/a.recordio", bytes("go-none-chunks")),
        ("t/day=2/b.recordio", bytes("fluid-none")),
        ("t/day=2/_c.recordio", b"hidden".to_vec()),
    ];
    crate::support::in_memory(&ctx, &files).await;
    let count = |name: &str| {
        std::fs::read_to_string(data(&format!("recordio/{name}.records.jsonl")))
            .expect("there")
            .lines()
            .count()
    };
    let found = rows(
        &ctx,
        "SELECT day, count(*) AS n, count(record) AS r FROM 'mem:///t/' GROUP BY day ORDER BY day",
    );
    let expected = [("1", count("go-none-chunks")), ("2", count("fluid-none"))]
        .map(|(day, n)| format!("{{\"day\":\"{day}\",\"n\":{n},\"r\":{n}}}"));
    assert_eq!(found.await.expect("runs"), expected);
    let plan = crate::support::explain(&ctx, "SELECT record FROM 'mem:///t/' WHERE day = '1'").await;
    assert!(plan.contains("day=1") && !plan.contains("day=2"), "{plan}");
}
