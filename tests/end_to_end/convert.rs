//! Conversion: every format holds the rows of the query, in order, and nothing is left of a failure.

use std::path::Path;

use datafusion::prelude::SessionContext;
use recordfusion::convert::{Conversion, ParquetCompression, Summary};

use crate::support::{context, event_file, rows, text, tool};

fn conversion(input: &Path, output: &Path) -> Conversion {
    let conversion = Conversion::new([input.display().to_string()], output.display().to_string());
    Conversion { partitions: 2, ..conversion }
}

async fn run(conversion: Conversion) -> datafusion::error::Result<Summary> {
    conversion.prepare(&SessionContext::new()).await?.run().await
}

#[tokio::test]
async fn all_formats_hold_the_rows_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("in.riegeli");
    std::fs::write(&input, event_file(0..3000, 10_000, true)).expect("written");
    let ctx = context(1, 1000);
    let expected = rows(&ctx, &format!("SELECT * FROM '{}'", input.display())).await.expect("reads");
    for name in ["out.parquet", "out.arrow"] {
        let output = folder.path().join(name);
        let summary = run(conversion(&input, &output)).await.expect(name);
        assert_eq!((summary.rows, summary.files), (3000, 1), "{name}");
        assert_eq!(summary.bytes_out, std::fs::metadata(&output).expect("written").len(), "{name}");
        let back = rows(&ctx, &format!("SELECT * FROM '{}'", output.display())).await.expect(name);
        assert!(back == expected, "{name} holds other rows: {:?} for {:?}", back.first(), expected.first());
    }
    let output = folder.path().join("out.ndjson");
    run(conversion(&input, &output)).await.expect("converts");
    let lines: Vec<String> =
        std::fs::read_to_string(&output).expect("written").lines().map(String::from).collect();
    assert!(lines == expected);
    let output = folder.path().join("out.csv");
    run(Conversion { select: Some("id, place".into()), ..conversion(&input, &output) })
        .await
        .expect("converts");
    let csv = std::fs::read_to_string(&output).expect("written");
    assert_eq!(csv.lines().count(), 3001);
    assert_eq!(csv.lines().take(2).collect::<Vec<_>>(), ["id,place", "0,"]);
}

#[tokio::test]
async fn select_where_and_every_codec() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("in.riegeli");
    std::fs::write(&input, event_file(0..2000, 10_000, false)).expect("written");
    let ctx = context(2, 1000);
    for codec in ["zstd", "zstd:9", "snappy", "lz4", "gzip", "brotli:3", "none"] {
        let output = folder.path().join(format!("{}.parquet", codec.replace(':', "_")));
        let job = Conversion {
            select: Some("id, place['city'] AS city".into()),
            predicate: Some("id % 10 = 3".into()),
            compression: codec.parse().expect(codec),
            ..conversion(&input, &output)
        };
        assert_eq!(run(job).await.expect(codec).rows, 200, "{codec}");
        let sum =
            rows(&ctx, &format!("SELECT sum(id) AS s, count(city) AS c FROM '{}'", output.display())).await;
        let ids = (0..2000).filter(|id| id % 10 == 3);
        let cities = ids.clone().filter(|id| id % 4 > 0).count();
        assert_eq!(sum.expect(codec), [format!("{{\"s\":{},\"c\":{cities}}}", ids.sum::<i64>())], "{codec}");
    }
    assert!("zstd:99".parse::<ParquetCompression>().is_err());
    assert!("lzma".parse::<ParquetCompression>().is_err());
}

#[tokio::test]
async fn a_folder_gets_one_file_for_each_partition() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("in.riegeli");
    std::fs::write(&input, event_file(0..20_000, 20_000, false)).expect("written");
    let output = folder.path().join("out/");
    let summary = run(Conversion {
        partitions: 3,
        append: false,
        format: Some("parquet".parse().expect("known")),
        ..conversion(&input, &output)
    })
    .await
    .expect("converts");
    assert_eq!((summary.rows, summary.files), (20_000, 3));
    let ctx = context(2, 1000);
    let all = rows(
        &ctx,
        &format!("SELECT count(*) AS n, count(DISTINCT id) AS d FROM '{}/*.parquet'", output.display()),
    )
    .await;
    assert_eq!(all.expect("reads"), ["{\"n\":20000,\"d\":20000}"]);
    let again = Conversion { format: Some("parquet".parse().expect("known")), ..conversion(&input, &output) };
    let message = recordfusion::error_message(&run(again).await.expect_err("the folder is full"));
    assert!(message.contains("is not empty"), "{message}");
}

#[tokio::test]
async fn a_failure_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("in.riegeli");
    let mut bytes = event_file(0..20_000, 20_000, false);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&input, bytes).expect("written");
    for name in ["out.parquet", "out.csv", "out.ndjson", "out.arrow"] {
        let output = folder.path().join(name);
        let message =
            recordfusion::error_message(&run(conversion(&input, &output)).await.expect_err("damaged"));
        assert!(message.contains("in.riegeli: damaged at byte"), "{message}");
        let left: Vec<_> = std::fs::read_dir(folder.path())
            .expect("a folder")
            .flatten()
            .map(|file| file.file_name())
            .collect();
        assert_eq!(left, ["in.riegeli"], "{name}");
    }
}

#[test]
fn zero_rows_make_a_whole_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("in.riegeli");
    std::fs::write(&input, event_file(0..10, 1000, false)).expect("written");
    for (name, query) in [("o.parquet", true), ("o.csv", false), ("o.ndjson", false), ("o.arrow", true)] {
        let output = folder.path().join(name);
        let paths = [input.to_str().expect("UTF-8"), output.to_str().expect("UTF-8")];
        let done = tool(["convert", paths[0], paths[1], "--where", "id < 0"]);
        assert!(done.status.success(), "{}", text(&done.stderr));
        assert!(text(&done.stderr).starts_with("0 rows, "), "{}", text(&done.stderr));
        if query {
            let count =
                tool(["query", "--format", "csv", &format!("SELECT count(*) AS n FROM '{}'", paths[1])]);
            assert_eq!(text(&count.stdout), "n\n0\n", "{name}: {}", text(&count.stderr));
        }
    }
    assert!(std::fs::read_to_string(folder.path().join("o.csv")).expect("written").starts_with("id,tag,"));
}

#[tokio::test]
async fn outputs_that_would_destroy_something_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("in.riegeli");
    let bytes = event_file(0..10, 1000, false);
    std::fs::write(&input, &bytes).expect("written");
    let itself = Conversion { format: Some("csv".parse().expect("known")), ..conversion(&input, &input) };
    let message = recordfusion::error_message(&run(itself).await.expect_err("is its own input"));
    assert!(message.ends_with("in.riegeli is both an input and the output"), "{message}");
    assert!(std::fs::read(&input).expect("exists") == bytes);
    let link = folder.path().join("link.csv");
    let target = folder.path().join("target.csv");
    std::fs::write(&target, "old").expect("written");
    std::os::unix::fs::symlink(&target, &link).expect("linked");
    run(Conversion { select: Some("id".into()), ..conversion(&input, &link) }).await.expect("converts");
    assert!(std::fs::symlink_metadata(&link).expect("exists").is_symlink());
    assert!(std::fs::read_to_string(&target).expect("written").starts_with("id\n0\n"));
    let socket = folder.path().join("socket.csv");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("bound");
    let message =
        recordfusion::error_message(&run(conversion(&input, &socket)).await.expect_err("is no file"));
    assert!(message.ends_with("it exists and is no regular file"), "{message}");
}

#[tokio::test]
async fn names_with_pattern_characters_are_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("in.riegeli");
    std::fs::write(&input, event_file(0..10, 1000, false)).expect("written");
    let output = folder.path().join("o[1]*?.ndjson");
    run(conversion(&input, &output)).await.expect("converts");
    assert_eq!(std::fs::read_to_string(&output).expect("written").lines().count(), 10);
}

#[test]
fn every_input_has_to_exist() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("in.riegeli");
    std::fs::write(&input, event_file(0..10, 1000, false)).expect("written");
    let output = folder.path().join("o.parquet");
    let paths = [input.to_str().expect("UTF-8"), "nowhere.riegeli", output.to_str().expect("UTF-8")];
    let done = tool(["convert", paths[0], paths[1], paths[2]]);
    assert_eq!(done.status.code(), Some(1));
    assert!(text(&done.stderr).contains("no files at") && text(&done.stderr).contains("nowhere.riegeli"));
    assert!(!output.exists());
}
