//! Damage that is passed over, reported, and repaired: through SQL, the library and the tool.

use std::sync::Arc;

use datafusion::datasource::listing::ListingTableUrl;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use recordfusion::{Options, datasource, repair};
use recordfusion_riegeli::RiegeliConnector;
use recordfusion_riegeli::hash::hash;
use recordfusion_riegeli::header::ChunkHeader;
use recordfusion_riegeli::write::{EncodedChunk, FileWriter, WriterOptions};

use crate::support::{context, data, error, event_file, in_memory, rows, text, tool};

/// A file of events in chunks, a byte in the middle of which is another.
fn damaged(transpose: bool) -> Vec<u8> {
    let mut file = event_file(0..3000, 8000, transpose);
    let middle = file.len() / 2;
    file[middle] ^= 0x40;
    file
}

#[tokio::test]
async fn what_is_passed_over_is_told() {
    for (transpose, partitions) in [(false, 1), (true, 1), (false, 3), (true, 4)] {
        let ctx = context(partitions, 100);
        in_memory(
            &ctx,
            &[("s/bad.riegeli", damaged(transpose)), ("s/good.riegeli", event_file(0..9, 999, false))],
        )
        .await;
        let query = "SELECT count(id) AS n FROM 'mem:///s/bad.riegeli'";
        assert!(error(&ctx, query).await.contains("mem:///s/bad.riegeli: damaged at byte"));
        rows(&ctx, "SET recordfusion.on_corruption = 'skip'").await.expect("a setting");
        let found = rows(&ctx, query).await.expect("runs").concat();
        let count: usize = found.trim_matches(|c: char| !c.is_ascii_digit()).parse().expect("a number");
        assert!((2000..3000).contains(&count), "{count}");
        // Headers are not believed where damage is passed over.
        assert_eq!(rows(&ctx, &query.replace("count(id)", "count(*)")).await.expect("runs").concat(), found);
        let skipped = rows(&ctx, "SELECT * FROM riegeli_skipped('mem:///s/')").await.expect("runs");
        let [region] = skipped.as_slice() else { panic!("{skipped:?}") };
        assert!(region.starts_with(r#"{"file":"mem:///s/bad.riegeli","begin":"#), "{region}");
        let plan = rows(&ctx, &format!("EXPLAIN ANALYZE {query}")).await.expect("runs").concat();
        assert!(plan.contains("regions_lost=1"), "{plan}");
    }
}

#[tokio::test]
async fn functions_say_what_they_take() {
    let ctx = context(1, 100);
    in_memory(&ctx, &[("s/good.riegeli", event_file(0..9, 999, false))]).await;
    assert!(rows(&ctx, "SELECT * FROM riegeli_skipped('mem:///s/')").await.expect("runs").is_empty());
    for (call, message) in [
        ("riegeli_skipped()", "riegeli_skipped takes a path, as in riegeli_skipped('logs/')"),
        ("riegeli_skipped(1)", "the first argument of riegeli_skipped is a path in quotes, not 1"),
        ("riegeli_skipped('mem:///x/')", "no files at mem:///x/"),
        ("recordio_skipped('mem:///s/')", "mem:///s/good.riegeli is a riegeli file, not a recordio file"),
    ] {
        assert_eq!(error(&ctx, &format!("SELECT * FROM {call}")).await, message);
    }
}

#[test]
fn the_tool_reports_and_repairs() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    for transpose in [false, true] {
        std::fs::write(at("bad.riegeli"), damaged(transpose)).expect("written");
        let skip = ["-o", "on_corruption=skip"];
        let cat = tool(["cat"].iter().chain(&skip).chain(&[at("bad.riegeli").as_str()]));
        assert_eq!(cat.status.code(), Some(0), "{}", text(&cat.stderr));
        assert!(text(&cat.stderr).contains("are passed over"), "{}", text(&cat.stderr));
        let raw = tool(["cat", "--raw"].iter().chain(&skip).chain(&[at("bad.riegeli").as_str()]));
        assert_eq!(raw.status.code(), Some(0), "{}", text(&raw.stderr));

        let (bad, out, report) = (at("bad.riegeli"), at("out.ndjson"), at("report.json"));
        let converted = tool(["convert", "--report", &report, &bad, &out].iter().chain(&skip));
        assert_eq!(converted.status.code(), Some(0), "{}", text(&converted.stderr));
        let summary = text(&converted.stderr);
        assert!(
            summary.contains("1 regions lost") && summary.contains(&format!("lost {bad}: ")),
            "{summary}"
        );
        assert_eq!(std::fs::read_to_string(&out).expect("written"), text(&cat.stdout));
        let report: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&report).expect("written")).expect("JSON");
        assert_eq!(report["rows"], text(&cat.stdout).lines().count());
        assert_eq!(report["lost"].as_array().map(Vec::len), Some(1), "{report}");
        assert_eq!(report["notes"]["bytes_lost"], report["lost"][0]["bytes"]);

        let repaired = tool(["repair", &bad, &at("whole.riegeli")]);
        assert_eq!(repaired.status.code(), Some(0), "{}", text(&repaired.stderr));
        assert!(text(&repaired.stderr).contains(&format!("lost {bad}: ")), "{}", text(&repaired.stderr));
        assert_eq!(tool(["verify", &at("whole.riegeli")]).status.code(), Some(0));
        assert_eq!(text(&tool(["cat", &at("whole.riegeli")]).stdout), text(&cat.stdout));
        assert_eq!(tool(["cat", "--raw", &at("whole.riegeli")]).stdout, raw.stdout);
        let _ = std::fs::remove_file(at("link.riegeli"));
        std::os::unix::fs::symlink(&bad, at("link.riegeli")).expect("a link");
        for (input, output) in [(&bad, &bad), (&bad, &at("link.riegeli")), (&at("link.riegeli"), &bad)] {
            assert_eq!(tool(["repair", input, output]).status.code(), Some(1), "{input} {output}");
        }
        assert!(std::fs::read(&bad).expect("there") == damaged(transpose));
    }
}

#[tokio::test]
async fn a_file_is_repaired_to_its_path_on_another_store_alone() {
    let ctx = context(1, 100);
    in_memory(&ctx, &[("bad.riegeli", damaged(false))]).await;
    let other: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    ctx.register_object_store(&url::Url::parse("other:///").expect("a URL"), Arc::clone(&other));
    let path = ListingTableUrl::parse("mem:///bad.riegeli").expect("a URL");
    let files = datasource::list_files(&ctx.state(), &path).await.expect("there");
    let repaired = async |output: &str| {
        repair::repair(&ctx.state(), &RiegeliConnector::default(), &files[0], output, &Options::new()).await
    };
    let onto_itself = repaired("mem:///bad.riegeli").await.expect_err("the input");
    assert!(onto_itself.to_string().contains("both the input and the output"), "{onto_itself}");
    assert_eq!(repaired("other:///bad.riegeli").await.expect("repaired").lost.len(), 1);
    assert!(other.head(&"bad.riegeli".into()).await.is_ok());
}

#[test]
fn every_fault_has_a_line_and_unfinished_files_may_be_sound() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let mut file = event_file(0..3000, 8000, false);
    for part in [3, 2] {
        let middle = file.len() / part;
        file[middle] ^= 1;
    }
    std::fs::write(at("bad.riegeli"), &file).expect("written");
    let found = tool(["verify", &at("bad.riegeli")]);
    assert_eq!(found.status.code(), Some(1));
    assert_eq!(text(&found.stdout).matches("damaged at byte").count(), 2, "{}", text(&found.stdout));

    let whole = event_file(0..3000, 8000, false);
    std::fs::write(at("growing.riegeli"), &whole[..whole.len() - 100]).expect("written");
    let file = at("growing.riegeli");
    assert_eq!(tool(["verify", &file]).status.code(), Some(1));
    assert_eq!(tool(["verify", "-o", "on_truncated=end", &file]).status.code(), Some(0));
    let count = |options: &[&str]| {
        let query = format!("SELECT count(*) AS n FROM '{file}'");
        tool(["query", "--format", "csv", &query].iter().chain(options))
    };
    assert_eq!(count(&[]).status.code(), Some(1));
    let counted = text(&count(&["-o", "on_truncated=end"]).stdout);
    let rows: u64 = counted.lines().nth(1).expect("a row").parse().expect("a number");
    assert!(rows > 2000 && rows < 3000, "{counted}");
}

#[test]
fn bytes_of_no_field_are_told_and_left_out() {
    // A transposed chunk of the records `08 05` and `08 06`, in whose only buffer there is one byte more.
    let data = vec![0, 12, 1, 1, 3, 3, 2, 8, 3, 3, 0, 0, 0, 0, 6, 5, 1, 0];
    let header = ChunkHeader {
        data_size: data.len() as u64,
        data_hash: hash(&data),
        chunk_type: b't',
        num_records: 2,
        decoded_data_size: 4,
    };
    let mut file = Vec::new();
    let mut writer = FileWriter::create(&WriterOptions::default(), &mut file);
    writer.write(&EncodedChunk { header, data }, &mut file).expect("is short");
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("odd.riegeli"), file).expect("written");

    let raw = |name: &str| tool(["cat", "--raw", &at(name)]).stdout;
    assert!(!raw("odd.riegeli").is_empty());
    let found = tool(["verify", &at("odd.riegeli")]);
    assert_eq!(found.status.code(), Some(1));
    let line = "damaged at byte 64: the chunk has bytes that belong to no field; no record is lost";
    assert!(text(&found.stdout).contains(line), "{}", text(&found.stdout));
    assert_eq!(tool(["repair", &at("odd.riegeli"), &at("clean.riegeli")]).status.code(), Some(0));
    assert_eq!(tool(["verify", &at("clean.riegeli")]).status.code(), Some(0));
    assert_eq!(raw("odd.riegeli"), raw("clean.riegeli"));
}

#[test]
fn recordio_files_are_repaired_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let bad = data("recordio/bad-crc-none.recordio").display().to_string();
    let repaired = tool(["repair", &bad, &at("whole.recordio")]);
    assert_eq!(repaired.status.code(), Some(0), "{}", text(&repaired.stderr));
    let cat = |file: &str| tool(["cat", "--raw", "-o", "on_corruption=skip", file]).stdout;
    assert!(cat(&bad) == cat(&at("whole.recordio")) && !cat(&bad).is_empty());
    assert_eq!(tool(["verify", &at("whole.recordio")]).status.code(), Some(0));
}
