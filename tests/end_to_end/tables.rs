//! Tables of several files: folders, globs, partitions, evolution of the message, options, faults.

use prost::Message;
use riegeli::WriterOptions;

use crate::support::{
    EVENT, context, data, error, event, event_file, in_memory, metadata, riegeli_bytes, rows,
};

/// A file of one record with these wire bytes, of the message `t.M` that `fields` declare.
fn message_file(fields: &str, record: &[u8]) -> Vec<u8> {
    let proto = format!("syntax = \"proto3\"; package t; message M {{ {fields} }}");
    riegeli_bytes([record], WriterOptions::new().set_serialized_metadata(metadata(&proto, "t.M")))
}

#[tokio::test]
async fn folders_and_globs_take_files_of_any_name() {
    let ctx = context(2, 100);
    let files = [
        ("d/part-0", event_file(0..10, 1000, false)),
        ("d/part-1.rio", event_file(10..30, 1000, true)),
        ("d/_SUCCESS", vec![]),
        ("d/.part-1.crc", b"crc".to_vec()),
        ("e/a.riegeli", event_file(0..1, 1000, true)),
        ("e/b.riegeli", event_file(1..3, 1000, true)),
        ("e/c.other", event_file(3..9, 1000, true)),
    ];
    in_memory(&ctx, &files).await;
    rows(&ctx, "CREATE EXTERNAL TABLE d STORED AS RIEGELI LOCATION 'mem:///d/'").await.expect("creates");
    assert_eq!(
        rows(&ctx, "SELECT count(*) AS n, max(id) AS m FROM d").await.expect("reads"),
        ["{\"n\":30,\"m\":29}"]
    );
    assert_eq!(rows(&ctx, "SELECT count(*) AS n FROM 'mem:///d/'").await.expect("reads"), ["{\"n\":30}"]);
    let two =
        "CREATE EXTERNAL TABLE e STORED AS RIEGELI LOCATION ('mem:///e/a.riegeli', 'mem:///e/b.riegeli')";
    rows(&ctx, two).await.expect("creates");
    assert_eq!(rows(&ctx, "SELECT id FROM e ORDER BY id").await.expect("reads").len(), 3);
}

#[tokio::test]
async fn a_glob_on_the_local_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, ids) in [("a.riegeli", 0..3), ("b.riegeli", 3..7), ("c.txt", 7..8)] {
        std::fs::write(folder.path().join(name), event_file(ids, 1000, false)).expect("written");
    }
    let ctx = context(2, 100);
    let sql = format!("SELECT count(*) AS n FROM '{}/*.riegeli'", folder.path().display());
    assert_eq!(rows(&ctx, &sql).await.expect("reads"), ["{\"n\":7}"]);
}

#[tokio::test]
async fn a_file_of_another_format_is_named() {
    let ctx = context(2, 100);
    in_memory(&ctx, &[("d/a", event_file(0..10, 1000, false)), ("d/b.txt", b"hello".to_vec())]).await;
    let message = error(&ctx, "CREATE EXTERNAL TABLE d STORED AS RIEGELI LOCATION 'mem:///d/'").await;
    assert!(message.contains("d/b.txt is not a riegeli file"), "{message}");
    in_memory(&ctx, &[("m/README.md", b"hello".to_vec()), ("m/x.riegeli", event_file(0..10, 1000, false))])
        .await;
    let message = error(&ctx, "SELECT count(*) FROM 'mem:///m/'").await;
    assert!(message.contains("m/README.md is not a riegeli file, but"), "{message}");
    let message = error(&ctx, "CREATE EXTERNAL TABLE x STORED AS RIEGELI LOCATION 'mem:///nothing/'").await;
    assert!(message.contains("no files at mem:///nothing/"), "{message}");
}

#[tokio::test]
async fn hive_partitions_prune_files() {
    let ctx = context(2, 100);
    let files = [
        ("h/day=2026-01-01/a", event_file(0..10, 1000, false)),
        ("h/day=2026-01-02/a", event_file(10..30, 1000, true)),
    ];
    in_memory(&ctx, &files).await;
    rows(&ctx, "CREATE EXTERNAL TABLE h STORED AS RIEGELI LOCATION 'mem:///h/'").await.expect("creates");
    let by_day =
        rows(&ctx, "SELECT day, count(*) AS n FROM h GROUP BY day ORDER BY day").await.expect("reads");
    assert_eq!(by_day, ["{\"day\":\"2026-01-01\",\"n\":10}", "{\"day\":\"2026-01-02\",\"n\":20}"]);
    let one = "SELECT count(*) AS n FROM h WHERE day = '2026-01-02'";
    assert_eq!(rows(&ctx, one).await.expect("reads"), ["{\"n\":20}"]);
    let plan = crate::support::explain(&ctx, "SELECT id FROM h WHERE day = '2026-01-02'").await;
    assert!(!plan.contains("2026-01-01/a"), "{plan}");
    let declared = "CREATE EXTERNAL TABLE p STORED AS RIEGELI PARTITIONED BY (day) LOCATION 'mem:///h/'";
    rows(&ctx, declared).await.expect("creates");
    assert_eq!(rows(&ctx, "SELECT count(DISTINCT day) AS n FROM p").await.expect("reads"), ["{\"n\":2}"]);
}

#[tokio::test]
async fn a_stray_file_beside_partitions_is_named() {
    let ctx = context(2, 100);
    let one = || event_file(0..1, 1000, false);
    in_memory(&ctx, &[("h/day=1/y.riegeli", one()), ("h/x.riegeli", one())]).await;
    for partitioned in ["", "PARTITIONED BY (day)"] {
        let create = format!("CREATE EXTERNAL TABLE h STORED AS RIEGELI {partitioned} LOCATION 'mem:///h/'");
        let message = error(&ctx, &create).await;
        assert!(message.contains("h/x.riegeli lies in no partition folder"), "{message}");
    }
}

#[tokio::test]
async fn added_fields_read_as_absent_in_older_files() {
    let ctx = context(2, 100);
    let old = message_file("int32 a = 1; string b = 2;", &[8, 5]);
    let new = message_file(
        "int32 a = 1; string b = 2; optional int32 c = 3; string d = 4;",
        &[8, 6, 0x18, 7, 0x22, 1, b'x'],
    );
    in_memory(&ctx, &[("v/1", old), ("v/2", new)]).await;
    rows(&ctx, "CREATE EXTERNAL TABLE v STORED AS RIEGELI LOCATION 'mem:///v/'").await.expect("creates");
    let all = rows(&ctx, "SELECT * FROM v ORDER BY a").await.expect("reads");
    assert_eq!(
        all,
        ["{\"a\":5,\"b\":\"\",\"c\":null,\"d\":\"\"}", "{\"a\":6,\"b\":\"\",\"c\":7,\"d\":\"x\"}"]
    );
}

#[tokio::test]
async fn contradictory_messages_name_both_files() {
    let ctx = context(2, 100);
    let files = [("c/1", message_file("int32 a = 1;", &[8, 5])), ("c/2", message_file("string a = 1;", &[]))];
    in_memory(&ctx, &files).await;
    let message = error(&ctx, "CREATE EXTERNAL TABLE c STORED AS RIEGELI LOCATION 'mem:///c/'").await;
    assert!(message.contains("c/1") && message.contains("c/2"), "{message}");
    assert!(message.contains("int32") && message.contains("string"), "{message}");
}

#[tokio::test]
async fn empty_files_have_no_rows() {
    let ctx = context(2, 100);
    let empty = event_file(0..0, 1000, false);
    in_memory(
        &ctx,
        &[("m/a", vec![]), ("m/b", empty.clone()), ("m/c", event_file(0..4, 1000, false)), ("z/a", vec![])],
    )
    .await;
    rows(&ctx, "CREATE EXTERNAL TABLE m STORED AS RIEGELI LOCATION 'mem:///m/'").await.expect("creates");
    assert_eq!(
        rows(&ctx, "SELECT count(*) AS n, count(id) AS i FROM m").await.expect("reads"),
        ["{\"n\":4,\"i\":4}"]
    );
    let message = error(&ctx, "CREATE EXTERNAL TABLE z STORED AS RIEGELI LOCATION 'mem:///z/'").await;
    assert!(message.contains("is empty (0 bytes)"), "{message}");
    let declared = "CREATE EXTERNAL TABLE z (id BIGINT, tag VARCHAR) STORED AS RIEGELI LOCATION 'mem:///z/'";
    rows(&ctx, declared).await.expect("creates");
    assert_eq!(rows(&ctx, "SELECT id, tag FROM z").await.expect("reads").len(), 0);
    assert_eq!(rows(&ctx, "SELECT count(*) AS n FROM z").await.expect("reads"), ["{\"n\":0}"]);
}

#[tokio::test]
async fn declared_columns_are_matched_by_name_and_cast() {
    let ctx = context(2, 100);
    in_memory(&ctx, &[("t", event_file(0..3, 1000, false))]).await;
    let create = "CREATE EXTERNAL TABLE t (tag VARCHAR, id DOUBLE) STORED AS RIEGELI LOCATION 'mem:///t'";
    rows(&ctx, create).await.expect("creates");
    let all = rows(&ctx, "SELECT * FROM t ORDER BY id").await.expect("reads");
    assert_eq!(all[1], "{\"tag\":\"tag-1-1\",\"id\":1.0}");
    let wrong = "CREATE EXTERNAL TABLE w (tags VARCHAR) STORED AS RIEGELI LOCATION 'mem:///t'";
    assert_eq!(error(&ctx, wrong).await, "the records have no field 'tags'; the nearest are 'tag'");
}

#[tokio::test]
async fn descriptors_come_from_outside_too() {
    let ctx = context(2, 100);
    let plain = riegeli_bytes((0..4).map(|id| event(id).encode_to_vec()), WriterOptions::new());
    in_memory(&ctx, &[("t", plain)]).await;
    assert_eq!(rows(&ctx, "SELECT count(record) AS n FROM 'mem:///t'").await.expect("reads"), ["{\"n\":4}"]);
    let folder = tempfile::tempdir().expect("a folder");
    let proto = folder.path().join("event.proto");
    std::fs::write(&proto, EVENT).expect("written");
    for key in ["proto", "format.proto", "riegeli.proto"] {
        let create = format!(
            "CREATE OR REPLACE EXTERNAL TABLE t STORED AS RIEGELI LOCATION 'mem:///t' \
             OPTIONS ('{key}' '{}', message_type 't.Event')",
            proto.display()
        );
        rows(&ctx, &create).await.expect("creates");
        assert_eq!(rows(&ctx, "SELECT sum(id) AS s FROM t").await.expect("reads"), ["{\"s\":6}"]);
    }
    let missing = format!(
        "CREATE OR REPLACE EXTERNAL TABLE t STORED AS RIEGELI LOCATION 'mem:///t' OPTIONS (proto '{}', message_type 't.Evnt')",
        proto.display()
    );
    let message = error(&ctx, &missing).await;
    assert!(message.contains("t.Evnt") && message.contains("'t.Event'"), "{message}");
}

#[tokio::test]
async fn unknown_options_name_the_nearest() {
    let ctx = context(2, 100);
    in_memory(&ctx, &[("t", event_file(0..1, 1000, false))]).await;
    let create = "CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION 'mem:///t' OPTIONS (mesage_type 'x')";
    assert_eq!(error(&ctx, create).await, "unknown option 'mesage_type'; did you mean 'message_type'?");
}

#[tokio::test]
async fn damage_names_file_offset_and_kind() {
    let ctx = context(2, 100);
    let path = data("riegeli/corrupt/data_flip.riegeli");
    let message = error(&ctx, &format!("SELECT * FROM '{}'", path.display())).await;
    assert!(message.contains("data_flip.riegeli: damaged at byte "), "{message}");
    assert!(message.contains("hash"), "{message}");
}

#[tokio::test]
async fn array_record_stops_at_its_footer() {
    let ctx = context(4, 7);
    for (file, records) in [("default", 25), ("group64_zstd", 500), ("transpose_snappy", 500), ("empty", 0)] {
        let path = data(&format!("array_record/{file}.array_record"));
        for sql in ["count(*)", "count(record)"] {
            let found =
                rows(&ctx, &format!("SELECT {sql} AS n FROM '{}'", path.display())).await.expect(file);
            assert_eq!(found, [format!("{{\"n\":{records}}}")], "{file} {sql}");
        }
    }
}
