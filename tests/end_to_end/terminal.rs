//! What reaches a terminal: no character that acts on it, from anywhere; and no output that panics.

use crate::support::{metadata_of, riegeli_bytes, text, tool};

/// A title for the window, a cleared screen in the C1 form, and a direction.
const EVIL: &str = "\x1b]0;t\x07\u{9b}2J\u{202e}";
const SHOWN: &str = "\\x1b]0;t\\x07\\x9b2J\\u{202e}";
/// What a file name can have of it: the store takes no ASCII controls.
const EVIL_NAME: &str = "\u{9b}2J\u{202e}";

fn is_harmless(shown: &str) -> bool {
    shown.chars().all(|c| (c == '\n' || !c.is_control()) && c != '\u{202e}')
}

#[test]
fn text_for_people_shows_what_acts_on_a_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(format!("x{EVIL_NAME}.riegeli"));
    let file = path.to_str().expect("UTF-8");
    // The field `file_comment`, and the name of a type.
    let comment = [&[0x0a, EVIL.len() as u8][..], EVIL.as_bytes()].concat();
    let metadata = [comment, metadata_of(&format!("a.{EVIL}"), vec![])].concat();
    let options = riegeli::WriterOptions::new().set_serialized_metadata(metadata);
    let bytes = riegeli_bytes([EVIL], options);
    std::fs::write(&path, &bytes).expect("written");
    let damaged = folder.path().join(format!("y{EVIL_NAME}.riegeli"));
    std::fs::write(&damaged, [&bytes[..bytes.len() - 3], b"\x1b\x1b"].concat()).expect("written");
    let damaged = damaged.to_str().expect("UTF-8");
    let column = format!("SELECT '{EVIL}' AS \"c{EVIL}\"");
    let missing = format!("SELECT \"{EVIL}\" FROM '{file}'");
    let output = folder.path().join(format!("o{EVIL_NAME}.recordio"));
    let output = output.to_str().expect("UTF-8");
    for args in [
        &["query", &column][..],
        &["query", &missing],
        &["inspect", file],
        &["schema", file],
        &["schema", "--proto", file],
        &["verify", file, damaged],
        &["inspect", &format!("nowhere{EVIL}")],
        &["repair", damaged, output],
        &["convert", damaged, output],
        &["convert", file, "--frobnicate", EVIL],
        &["inspect", file, EVIL],
        &["query", "-o", &format!("{EVIL}=1"), "SELECT 1"],
    ] {
        let done = tool(args);
        let shown = [text(&done.stdout), text(&done.stderr)].concat();
        assert!(is_harmless(&shown), "{args:?}: {shown:?}");
    }
    assert!(text(&tool(["query", &column]).stdout).contains(&format!("| {SHOWN} ")));
    assert!(text(&tool(["inspect", file]).stdout).contains(&format!("comment:           {SHOWN}\n")));
    assert!(text(&tool(["verify", file]).stdout).contains("x\\x9b2J\\u{202e}.riegeli: 1 records"));
}

#[test]
fn data_in_a_pipe_is_what_it_is() {
    let query =
        |format: &str| text(&tool(["query", "--format", format, &format!("SELECT '{EVIL}' AS c")]).stdout);
    assert_eq!(query("csv"), format!("c\n{EVIL}\n"));
    assert_eq!(query("tsv"), format!("c\n{EVIL}\n"));
    let json: serde_json::Value = serde_json::from_str(&query("ndjson")).expect("JSON");
    assert_eq!(json["c"], EVIL);
    let array: serde_json::Value = serde_json::from_str(&query("json")).expect("JSON");
    assert_eq!(array, serde_json::json!([{ "c": EVIL }]));
    let empty = tool(["query", "--format", "json", "SELECT 1 AS x WHERE false"]).stdout;
    assert_eq!(text(&empty), "[]\n");
}

#[test]
fn no_cell_is_too_large() {
    let long = "repeat('a', 70000)";
    for (sql, part) in [
        (format!("SELECT 'b' AS x UNION ALL SELECT {long} ORDER BY x DESC"), "a".repeat(70_000)),
        (format!("SELECT 1 AS \"{}\"", "n".repeat(70_000)), "n".repeat(70_000)),
        (format!("SELECT [{long}, {long}] AS x, 'b' AS y"), "a".repeat(70_000)),
        ("SELECT repeat(E'x\\n', 200000) AS x, 1 AS y".to_string(), "| x".to_string()),
    ] {
        for format in ["table", "csv", "json", "ndjson", "tsv"] {
            let output = tool(["query", "--format", format, &sql]);
            assert_eq!(output.status.code(), Some(0), "{format}: {}", text(&output.stderr));
            assert!(format != "table" || text(&output.stdout).contains(&part), "{sql}");
        }
    }
}
