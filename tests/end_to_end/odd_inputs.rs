//! Inputs and outputs that are easily got wrong: what is missing, odd paths, odd schemas.

use crate::support::{EVENT, context, error, event_file, riegeli_bytes, rows, text, tool};

/// A folder with an event file and the descriptors of its records.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("t.proto"), EVENT).expect("written");
    std::fs::create_dir_all(folder.path().join("h/day=1")).expect("made");
    for file in ["e.riegeli", "h/day=1/e.riegeli"] {
        std::fs::write(folder.path().join(file), event_file(0..10, 1000, false)).expect("written");
    }
    folder
}

#[tokio::test]
async fn a_file_that_is_not_there_is_an_error_whatever_is_said_of_it() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let ctx = context(1, 100);
    let options = format!("OPTIONS (proto '{}', message_type 't.Event')", at("t.proto"));
    for missing in ["none.riegeli", "none/"] {
        let create =
            format!("CREATE EXTERNAL TABLE x STORED AS RIEGELI LOCATION '{}' {options}", at(missing));
        assert!(error(&ctx, &create).await.starts_with("no files at "));
    }
    let declared =
        format!("CREATE EXTERNAL TABLE x (id BIGINT) STORED AS RIEGELI LOCATION '{}'", at("none/"));
    rows(&ctx, &declared).await.expect("an empty folder with declared columns is a table");
    assert_eq!(rows(&ctx, "SELECT count(*) AS n FROM x").await.expect("runs"), [r#"{"n":0}"#]);
    let (proto, file) = (format!("proto={}", at("t.proto")), at("none.riegeli"));
    for command in ["cat", "schema"] {
        let output = tool([command, "-o", &proto, "-o", "message_type=t.Event", &file]);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains("no files at"), "{}", text(&output.stderr));
    }
}

#[tokio::test]
async fn types_of_partition_columns_do_not_hide_the_other_columns() {
    let folder = folder();
    let ctx = context(1, 100);
    let create = format!(
        "CREATE EXTERNAL TABLE x STORED AS RIEGELI PARTITIONED BY (day INT) LOCATION '{}'",
        folder.path().join("h/").display()
    );
    rows(&ctx, &create).await.expect("a table");
    let sql = "SELECT id, day + 1 AS next FROM x WHERE day = 1 ORDER BY id LIMIT 1";
    assert_eq!(rows(&ctx, sql).await.expect("runs"), [r#"{"id":0,"next":2}"#]);
}

#[test]
fn outputs_may_lie_above_and_settings_have_long_names() {
    let folder = folder();
    let input = folder.path().join("e.riegeli").display().to_string();
    let above = folder.path().join("h/../out.ndjson").display().to_string();
    let output = tool(["convert", "-o", "recordfusion.enum=number", "--select", "level", &input, &above]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let written = std::fs::read_to_string(folder.path().join("out.ndjson")).expect("written");
    assert!(written.starts_with("{\"level\":0}"), "{written}");
}

#[test]
fn parquet_says_which_column_it_cannot_hold() {
    let folder = tempfile::tempdir().expect("a folder");
    let proto = "syntax = \"proto3\"; package t; message Empty {} message M { int32 a = 1; Empty e = 2; }";
    let options =
        riegeli::WriterOptions::new().set_serialized_metadata(crate::support::metadata(proto, "t.M"));
    let path = folder.path().join("m.riegeli");
    std::fs::write(&path, riegeli_bytes([[0x12u8, 0]], options)).expect("written");
    let (input, output) = (path.display().to_string(), folder.path().join("m.parquet").display().to_string());
    let refused = tool(["convert", "-o", "empty_message=struct", &input, &output]);
    assert_eq!(refused.status.code(), Some(1));
    let message = text(&refused.stderr);
    assert!(message.contains("column 'e'") && message.contains("empty_message=bool"), "{message}");
    assert!(!std::path::Path::new(&output).exists());
}
