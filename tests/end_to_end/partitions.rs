//! Hive partitions: what is written to folders named for values is read back from them.

use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use std::sync::Arc;

use futures::TryStreamExt;

use crate::support::{context, error, event_file, explain, in_memory, rows};

/// Types of partition columns with a value, as SQL has it.
const TYPED: [(&str, &str); 9] = [
    ("INT", "0"),
    ("BIGINT", "-5"),
    ("BOOLEAN", "false"),
    ("DATE", "1970-01-01"),
    ("TIMESTAMP", "2026-01-01T10:00:00.000000001"),
    ("DECIMAL(10,2)", "12.50"),
    ("DOUBLE", "0.1"),
    ("VARCHAR", "a/b=c % é"),
    ("VARCHAR", ""),
];

#[tokio::test]
async fn null_is_no_value_of_any_type() {
    for (kind, value) in TYPED {
        for format in ["RIEGELI", "ARRAY_RECORD", "RECORDIO"] {
            let ctx = context(2, 3);
            in_memory(&ctx, &[]).await;
            let value = format!("CAST('{value}' AS {kind})");
            let copy = format!(
                "COPY (SELECT CAST(NULL AS {kind}) AS p, 'one' AS record UNION ALL SELECT {value}, 'two'
                 UNION ALL SELECT NULL, 'three') TO 'mem:///t/' STORED AS {format} PARTITIONED BY (p)"
            );
            rows(&ctx, &copy).await.expect("written");
            let columns = if format == "RIEGELI" { "p {}, record VARCHAR" } else { "p {}, record BYTEA" };
            let typed = format!(
                "CREATE EXTERNAL TABLE typed ({}) STORED AS {format} PARTITIONED BY (p) LOCATION 'mem:///t/'",
                columns.replace("{}", kind)
            );
            rows(&ctx, &typed).await.expect("a table");
            let inferred = format!("CREATE EXTERNAL TABLE inferred STORED AS {format} LOCATION 'mem:///t/'");
            rows(&ctx, &inferred).await.expect("a table");
            let count = async |condition: &str| {
                let counted = rows(&ctx, &format!("SELECT count(record) AS n FROM {condition}")).await;
                counted.unwrap_or_else(|error| panic!("{kind}, {condition}: {error}"))
            };
            let case = format!("{kind} {value} in {format}");
            assert_eq!(count("typed").await, [r#"{"n":3}"#], "{case}");
            assert_eq!(count("typed WHERE p IS NULL").await, [r#"{"n":2}"#], "{case}");
            assert_eq!(count(&format!("typed WHERE p = {value}")).await, [r#"{"n":1}"#], "{case}");
            assert_eq!(count(&format!("typed WHERE p <> {value}")).await, [r#"{"n":0}"#], "{case}");
            assert_eq!(count(&format!("typed WHERE NOT (p = {value})")).await, [r#"{"n":0}"#], "{case}");
            assert_eq!(
                count(&format!("typed WHERE p IS DISTINCT FROM {value}")).await,
                [r#"{"n":2}"#],
                "{case}"
            );
            assert_eq!(count("inferred WHERE p IS NULL").await, [r#"{"n":2}"#], "{case}");
            let cast = format!("inferred WHERE CAST(p AS {kind}) = {value}");
            assert_eq!(count(&cast).await, [r#"{"n":1}"#], "{case}");
        }
    }
}

#[tokio::test]
async fn text_comes_back_from_the_names_of_folders() {
    let ctx = context(2, 100);
    in_memory(&ctx, &[]).await;
    let texts =
        ["", " ", "a/b", "a=b", "50%", "%2F", "Zürich", "..", "a\\b", "x~{}#?*", "NULL", "null", "日本"];
    let values: Vec<String> =
        texts.iter().enumerate().map(|(id, text)| format!("({id}, '{text}')")).collect();
    for kind in ["VARCHAR", "Utf8", "LargeUtf8", "Dictionary(Int32, Utf8)"] {
        let cast = if kind == "VARCHAR" { "p".to_string() } else { format!("arrow_cast(p, '{kind}')") };
        let copy = format!(
            "COPY (SELECT id, p AS original, {cast} AS größe FROM (VALUES {}) AS t (id, p))
             TO 'mem:///{}/' STORED AS RIEGELI PARTITIONED BY (größe)",
            values.join(", "),
            kind.to_lowercase().replace([' ', ',', '(', ')'], "-"),
        );
        rows(&ctx, &copy).await.expect("written");
        let table = format!(
            "SELECT count(*) AS n, count(DISTINCT original) AS texts FROM 'mem:///{}/'
             WHERE größe = original",
            kind.to_lowercase().replace([' ', ',', '(', ')'], "-")
        );
        assert_eq!(rows(&ctx, &table).await.expect("reads"), [r#"{"n":13,"texts":13}"#], "{kind}");
    }
}

#[tokio::test]
async fn what_cannot_name_a_folder_is_refused_before_anything_is_visible() {
    let ctx = context(1, 2);
    let store: Arc<dyn ObjectStore> = Arc::new(object_store::memory::InMemory::new());
    ctx.register_object_store(&url::Url::parse("mem:///").expect("a URL"), Arc::clone(&store));
    let rest = "TO 'mem:///r/' STORED AS RIEGELI PARTITIONED BY";
    let literal = "SELECT CASE WHEN value = 9 THEN '__HIVE_DEFAULT_PARTITION__' ELSE 'x' END AS p, value
                   FROM generate_series(1, 9)";
    let message = error(&ctx, &format!("COPY ({literal}) {rest} (p)")).await;
    assert!(message.contains("in column 'p' cannot name a partition"), "{message}");
    let message = error(&ctx, &format!("COPY (SELECT [1] AS p, 1 AS v) {rest} (p)")).await;
    assert!(message.contains("cannot be partitioned by column 'p'"), "{message}");
    assert!(store.list(None).try_collect::<Vec<_>>().await.expect("memory").is_empty());
}

#[tokio::test]
async fn several_partition_columns_keep_their_nulls_apart() {
    let ctx = context(3, 4);
    in_memory(&ctx, &[]).await;
    let copy = "COPY (SELECT nullif(value % 3, 0) AS a, nullif(value % 2, 0) = 1 AS b, value FROM
                generate_series(1, 60)) TO 'mem:///s/' STORED AS RIEGELI PARTITIONED BY (a, b)";
    rows(&ctx, copy).await.expect("written");
    let create = "CREATE EXTERNAL TABLE s (a INT, b BOOLEAN, value BIGINT) STORED AS RIEGELI
                  PARTITIONED BY (a, b) LOCATION 'mem:///s/'";
    rows(&ctx, create).await.expect("a table");
    let wrong = "SELECT count(*) AS n, count(DISTINCT value) AS d FROM s
                 WHERE (a IS NOT DISTINCT FROM nullif(value % 3, 0)) AND (b IS NOT DISTINCT FROM (nullif(value % 2, 0) = 1))";
    assert_eq!(rows(&ctx, wrong).await.expect("reads"), [r#"{"n":60,"d":60}"#]);
    let both = "SELECT count(*) AS n FROM s WHERE a IS NULL AND b IS NULL";
    assert_eq!(rows(&ctx, both).await.expect("reads"), [r#"{"n":10}"#]);
    let plan = explain(&ctx, "SELECT value FROM s WHERE a IS NULL AND b").await;
    assert!(plan.contains("a=__HIVE_DEFAULT_PARTITION__/b=true") && !plan.contains("a=1"), "{plan}");
    rows(&ctx, "INSERT INTO s (a, b, value) VALUES (NULL, NULL, 100)").await.expect("written");
    assert_eq!(rows(&ctx, both).await.expect("reads"), [r#"{"n":11}"#]);
}

#[tokio::test]
async fn values_match_however_their_folders_spell_them() {
    let ctx = context(2, 100);
    let files = [
        ("m/month=05/a", event_file(0..3, 1000, false)),
        ("m/month=5/a", event_file(3..5, 1000, false)),
        ("m/month=06/a", event_file(5..6, 1000, false)),
    ];
    in_memory(&ctx, &files).await;
    let create =
        "CREATE EXTERNAL TABLE m (month INT) STORED AS RIEGELI PARTITIONED BY (month) LOCATION 'mem:///m/'";
    rows(&ctx, create).await.expect("a table");
    let found = rows(&ctx, "SELECT count(*) AS n FROM m WHERE month = 5").await.expect("reads");
    assert_eq!(found, [r#"{"n":5}"#]);
}

#[tokio::test]
async fn a_folder_of_another_type_is_named() {
    let ctx = context(2, 100);
    in_memory(
        &ctx,
        &[("w/day=1/a", event_file(0..1, 1000, false)), ("w/day=x/a", event_file(1..2, 1000, false))],
    )
    .await;
    let create =
        "CREATE EXTERNAL TABLE w (day INT) STORED AS RIEGELI PARTITIONED BY (day) LOCATION 'mem:///w/'";
    rows(&ctx, create).await.expect("a table");
    let message = error(&ctx, "SELECT count(*) FROM w").await;
    assert!(message.contains("mem:///w/day=x/a lies in day=x, which is no Int32"), "{message}");
}

#[tokio::test]
async fn many_partitions_become_files_with_all_their_rows_in_order() {
    let ctx = context(1, 500);
    let store: Arc<dyn ObjectStore> = Arc::new(object_store::memory::InMemory::new());
    ctx.register_object_store(&url::Url::parse("mem:///").expect("a URL"), Arc::clone(&store));
    let copy = "COPY (SELECT value AS id, value % 150 AS k FROM generate_series(0, 2999)) TO 'mem:///k/'
                STORED AS RIEGELI PARTITIONED BY (k)";
    assert_eq!(rows(&ctx, copy).await.expect("written"), [r#"{"count":3000}"#]);
    let found = "SELECT count(*) AS n, count(DISTINCT id) AS ids, count(DISTINCT k) AS k FROM 'mem:///k/'
                 WHERE CAST(k AS BIGINT) = id % 150";
    assert_eq!(rows(&ctx, found).await.expect("reads"), [r#"{"n":3000,"ids":3000,"k":150}"#]);
    let files: Vec<_> = store.list(Some(&Path::from("k/k=7"))).try_collect().await.expect("memory");
    assert_eq!(files.len(), 1);
    let rows = rows(&ctx, &format!("SELECT id FROM 'mem:///{}'", files[0].location)).await.expect("reads");
    let expected: Vec<String> = (0..20).map(|n| format!("{{\"id\":{}}}", 7 + 150 * n)).collect();
    assert_eq!(rows, expected);
    assert!(store.head(&files[0].location).await.is_ok());
}
