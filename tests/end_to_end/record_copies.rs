//! Records that go from record files to record files: their bytes are copied, and nobody looks into them.

use std::path::Path;

use crate::support::{
    EVENT, compiled, context, error, event_file, metadata, metadata_of, riegeli_bytes, rows, text, tool,
};

/// Records of which none but the first is a message.
const ODD: [&[u8]; 5] = [b"\x08\x07", b"\xff\xff", b"", b"plain text", &[0xff; 300]];

fn converted(args: &[&str]) {
    let output = tool([&["convert", "--progress", "never"], args].concat());
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
}

fn refused(args: &[&str]) -> String {
    let output = tool([&["convert", "--progress", "never"], args].concat());
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    text(&output.stderr)
}

fn raw(file: &str) -> Vec<u8> {
    let output = tool(["cat", "--raw", file]);
    assert_eq!(output.status.code(), Some(0), "{file}: {}", text(&output.stderr));
    output.stdout
}

fn inspected(file: &str) -> serde_json::Value {
    serde_json::from_slice(&tool(["inspect", "--json", file]).stdout).expect("JSON")
}

fn at(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

fn write_odd(path: &str, metadata: Vec<u8>) {
    let options = riegeli::WriterOptions::new().set_serialized_metadata(metadata);
    std::fs::write(path, riegeli_bytes(ODD, options)).expect("written");
}

#[test]
fn records_that_are_no_messages_go_through_all_formats_and_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = at(&folder, "in.riegeli");
    write_odd(&source, metadata(EVENT, "t.Event"));
    let expected = raw(&source);
    let mut input = source;
    for name in ["a.riegeli", "b.recordio", "c.array_record", "d.recordio", "e.riegeli", "f.array_record"] {
        let output = at(&folder, name);
        converted(&["--partitions", "3", &input, &output]);
        assert!(raw(&output) == expected, "{name} has other records");
        assert_eq!(tool(["verify", &output]).status.code(), Some(0), "{name}");
        input = output;
    }
    let copy = at(&folder, "plain.riegeli");
    converted(&["-o", "compression=uncompressed", &at(&folder, "in.riegeli"), &copy]);
    let bytes = std::fs::read(&copy).expect("written");
    let has = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    assert!(has(b"t.Event") && !has(b"_record"), "no Arrow schema is made for bytes");
    // A type that is given goes with records of files that cannot say it.
    std::fs::write(at(&folder, "t.proto"), EVENT).expect("written");
    let proto = format!("proto={}", at(&folder, "t.proto"));
    let typed = at(&folder, "typed.riegeli");
    converted(&["-o", &proto, "-o", "message_type=t.Event", &at(&folder, "b.recordio"), &typed]);
    assert_eq!(inspected(&typed)["metadata"]["message_type"], "t.Event");
    assert!(raw(&typed) == expected);
}

#[test]
fn what_files_say_of_their_records_is_kept_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, output) = (at(&folder, "in.riegeli"), at(&folder, "out.riegeli"));
    for (case, metadata) in [
        ("a name alone", metadata_of("only.A.Name", vec![])),
        ("broken descriptors", metadata_of("broken.Type", vec![b"\xff\xff".to_vec()])),
        (
            "descriptors of another type",
            metadata_of("other.Type", {
                let files = compiled(&[("t.proto", EVENT)]);
                files.into_iter().map(|(_, file)| file).collect()
            }),
        ),
    ] {
        write_odd(&input, metadata);
        converted(&[&input, &output]);
        for key in ["message_type", "descriptor_files"] {
            assert_eq!(inspected(&output)["metadata"][key], inspected(&input)["metadata"][key], "{case}");
        }
        assert!(raw(&output) == raw(&input), "{case}");
    }
    // Records of two types are not mixed.
    write_odd(&at(&folder, "one.riegeli"), metadata_of("a.One", vec![]));
    write_odd(&at(&folder, "two.riegeli"), metadata_of("a.Two", vec![]));
    let message = refused(&[&at(&folder, "one.riegeli"), &at(&folder, "two.riegeli"), &output]);
    assert!(message.contains("a.One") && message.contains("a.Two"), "{message}");
}

#[tokio::test]
async fn the_arrow_schema_of_copied_records_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, output) = (at(&folder, "in.riegeli"), at(&folder, "out.riegeli"));
    let ctx = context(1, 100);
    let query = "SELECT CAST(1.25 AS DECIMAL(10, 2)) AS d";
    rows(&ctx, &format!("COPY ({query}) TO '{input}' STORED AS RIEGELI")).await.expect("written");
    converted(&[&input, &output]);
    let types = |file: &str| format!("SELECT arrow_typeof(d) AS t, d FROM '{file}'");
    let expected = rows(&ctx, &types(&input)).await.expect("readable");
    assert!(expected[0].contains("Decimal128"), "{expected:?}");
    assert_eq!(rows(&ctx, &types(&output)).await.expect("readable"), expected);
}

#[test]
fn files_without_records_stay_small() {
    let folder = tempfile::tempdir().expect("a folder");
    for input in ["zero.riegeli", "zero.recordio", "zero.array_record", "zero.bin", "none.riegeli"] {
        let bytes = if input == "none.riegeli" {
            riegeli_bytes([] as [&[u8]; 0], riegeli::WriterOptions::new())
        } else {
            Vec::new()
        };
        std::fs::write(folder.path().join(input), bytes).expect("written");
        for (output, most) in [("out.riegeli", 256), ("out.recordio", 0), ("out.array_record", 3 << 16)] {
            let output = at(&folder, output);
            converted(&[&at(&folder, input), &output]);
            let size = std::fs::metadata(&output).expect("written").len();
            assert!(size <= most, "{input} became {size} bytes as {output}");
            assert_eq!(raw(&output), b"", "{input}");
            assert_eq!(tool(["verify", &output]).status.code(), Some(0), "{input}");
        }
        for command in
            [&["verify"][..], &["cat", "--raw"], &["inspect"]].iter().filter(|_| input != "zero.bin")
        {
            let output = tool(command.iter().copied().chain([at(&folder, input).as_str()]));
            assert_eq!(output.status.code(), Some(0), "{command:?} {input}: {}", text(&output.stderr));
        }
    }
}

#[test]
fn records_are_looked_into_where_that_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, output) = (at(&folder, "in.riegeli"), at(&folder, "out.riegeli"));
    write_odd(&input, metadata(EVENT, "t.Event"));
    let message = refused(&["--where", "id = 7", &input, &output]);
    assert!(message.contains("in.riegeli") && !Path::new(&output).exists(), "{message}");
    converted(&["-o", "on_bad_record=skip", "--where", "id = 7", &input, &output]);
    assert_eq!(raw(&output), b"\x02\x08\x07");
    // An option about bad records judges them without a predicate, too.
    converted(&["-o", "on_bad_record=skip", &input, &output]);
    assert_eq!(raw(&output), b"\x02\x08\x07\x00");
}

#[test]
fn ranges_order_and_damage_are_as_in_a_scan() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = at(&folder, "in.riegeli");
    std::fs::write(&input, event_file(0..5000, 3000, false)).expect("written");
    let (whole, size) = (raw(&input), std::fs::metadata(&input).expect("written").len());
    let mut pieces = Vec::new();
    for (number, begin) in (0..size).step_by(size as usize / 3 + 1).enumerate() {
        let output = at(&folder, &format!("{number}.recordio"));
        let range = format!("{begin}:{}", begin + size / 3 + 1);
        converted(&["--range", &range, "--partitions", "4", &input, &output]);
        pieces.extend(raw(&output));
    }
    assert!(pieces == whole, "the pieces are not the whole");
    let mut bytes = std::fs::read(&input).expect("there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&input, bytes).expect("written");
    let output = at(&folder, "out.riegeli");
    assert!(refused(&[&input, &output]).contains("damaged at byte"));
    let done = tool(["convert", "--progress", "never", "-o", "on_corruption=skip", &input, &output]);
    assert!(text(&done.stderr).contains("\nlost "), "{}", text(&done.stderr));
    let skipped = tool(["cat", "--raw", "-o", "on_corruption=skip", &input]).stdout;
    assert!(raw(&output) == skipped && skipped.len() < whole.len());
}

#[test]
fn records_are_added_to_a_file_without_a_type_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let (typed, plain) = (at(&folder, "typed.riegeli"), at(&folder, "plain.riegeli"));
    std::fs::write(&typed, event_file(0..20, 300, false)).expect("written");
    for plain_is in ["riegeli", "recordio"] {
        let plain = at(&folder, &format!("plain.{plain_is}"));
        let odd = at(&folder, "odd.riegeli");
        write_odd(&odd, vec![]);
        converted(&[&odd, &plain]);
        converted(&["--append", &typed, &plain]);
        converted(&["--append", "--where", "id < 2", &typed, &plain]);
        let added = tool(["cat", "--raw", "-n", "2", &typed]).stdout;
        assert!(raw(&plain) == [raw(&odd), raw(&typed), added].concat(), "{plain_is}");
        let before = std::fs::read(&plain).expect("there");
        // Rows of columns would be of another kind.
        std::fs::write(at(&folder, "rows.csv"), "id,tag\n7,seven\n").expect("written");
        for args in [&["--select", "id", typed.as_str()][..], &[&at(&folder, "rows.csv")]] {
            let message = refused(&[&["--append"], args, &[plain.as_str()]].concat());
            assert!(message.contains("message_type") && message.contains("--append"), "{message}");
        }
        assert!(std::fs::read(&plain).expect("there") == before, "{plain_is}");
    }
    // The other way round, nobody knows whether the records are of the type.
    let message = refused(&["--append", &plain, &typed]);
    assert!(message.contains("t.Event") && message.contains("message_type"), "{message}");
    let message = refused(&["--append", "--to", "recordio", &plain, &typed]);
    assert!(message.contains("is a riegeli file"), "{message}");
}

#[test]
fn an_insert_of_columns_into_records_without_a_type_names_the_way_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let (typed, plain) = (at(&folder, "typed.riegeli"), at(&folder, "plain.riegeli"));
    std::fs::write(&typed, event_file(0..20, 300, false)).expect("written");
    write_odd(&plain, vec![]);
    let before = std::fs::read(&plain).expect("there");
    let table = format!("CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION '{plain}'");
    for select in ["*", "id", "id, tag"] {
        let sql = format!("{table}; INSERT INTO t SELECT {select} FROM '{typed}'");
        let message = text(&tool(["query", &sql]).stderr);
        assert!(message.contains("message_type") && message.contains("convert --append"), "{message}");
    }
    assert!(std::fs::read(&plain).expect("there") == before);
}

#[tokio::test]
async fn text_and_bytes_are_inserted_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    for (extension, payload) in [("riegeli", "text"), ("riegeli", "bytes"), ("recordio", "text")] {
        let file = at(&folder, &format!("{payload}.{extension}"));
        let texts = at(&folder, "texts.riegeli");
        std::fs::write(&texts, riegeli_bytes([b"one", b"two"], riegeli::WriterOptions::new()))
            .expect("written");
        converted(&[&texts, &file]);
        let ctx = context(1, 100);
        let sql = format!(
            "CREATE EXTERNAL TABLE t STORED AS {extension} LOCATION '{file}' OPTIONS (payload '{payload}')"
        );
        rows(&ctx, &sql).await.expect("a table");
        rows(&ctx, "INSERT INTO t SELECT * FROM t").await.expect("written");
        assert_eq!(raw(&file), b"\x03one\x03two\x03one\x03two", "{extension} {payload}");
    }
}

#[tokio::test]
async fn rows_of_features_are_not_inserted_as_other_messages() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = at(&folder, "plain.riegeli");
    std::fs::write(&file, riegeli_bytes([b""], riegeli::WriterOptions::new())).expect("written");
    let ctx = context(1, 100);
    let sql =
        format!("CREATE EXTERNAL TABLE e STORED AS RIEGELI LOCATION '{file}' OPTIONS (features 'a:int64')");
    rows(&ctx, &sql).await.expect("a table");
    let message = error(&ctx, "INSERT INTO e VALUES (1)").await;
    assert!(message.contains("message_type"), "{message}");
    assert_eq!(raw(&file), b"\x00");
}
