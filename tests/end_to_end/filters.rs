//! Filters inside the scan: the rows are those of a filter above it, whatever the filter, and it is the scan that
//! applies it.

use std::sync::Arc;

use datafusion::datasource::MemTable;
use datafusion::prelude::SessionContext;

use crate::support::{context, error, event_file, explain, in_memory, rows};

/// The same rows as a table of record files, `t`, and one in memory, `m`, and a few numbers, `few`.
async fn tables(partitions: usize, transpose: bool) -> SessionContext {
    let ctx = context(partitions, 100);
    let files = [
        ("t/day=1/a.riegeli", event_file(0..700, 8000, transpose)),
        ("t/day=2/b.riegeli", event_file(700..1000, 1 << 20, transpose)),
    ];
    in_memory(&ctx, &files).await;
    rows(&ctx, "CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION 'mem:///t/'").await.expect("created");
    rows(&ctx, "CREATE TABLE few AS VALUES (3), (5), (998)").await.expect("created");
    let all = ctx.sql("SELECT * FROM t").await.expect("plans");
    let schema = Arc::new(all.schema().as_arrow().clone());
    let batches = all.collect().await.expect("runs");
    let memory = MemTable::try_new(schema, vec![batches]).expect("one schema");
    ctx.register_table("m", Arc::new(memory)).expect("registered");
    ctx
}

/// Predicates, and whether the scan takes all of each.
const PREDICATES: [(&str, bool); 28] = [
    ("id = 5", true),
    ("id > 990 OR id < 10", true),
    ("id % 3 = 0", true),
    ("id IS NULL", true),
    ("id IS NOT NULL", true),
    ("place IS NULL", true),
    ("place IS NOT NULL AND place['zone'] IS NULL", true),
    ("place['inner']['city'] IS NOT NULL", true),
    ("tag IS NULL OR level IS NULL", true),
    ("score IS NULL AND score IS NULL = (id % 2 = 0)", true),
    ("places[1]['zone'] IS NULL", true),
    ("place['zone'] = 4", true),
    ("place['zone'] <> 4", true),
    ("NOT (place['zone'] = 4)", true),
    ("place['zone'] IN (1, 4, NULL)", true),
    ("place['zone'] NOT IN (1, NULL)", true),
    ("place['inner']['city'] LIKE '%7%'", true),
    ("places[1]['zone'] = 2", true),
    ("array_length(places) = 2", true),
    ("array_length(places) IS NULL", true),
    ("cardinality(places) > 1", true),
    ("CASE WHEN id > 500 THEN place['zone'] = 1 ELSE id % 2 = 0 END", true),
    ("coalesce(place['zone'], 4) = 4", true),
    ("id BETWEEN 100 AND 110 AND place['zone'] > 0", true),
    ("id + 0.5 > 998", true),
    ("day = '2' AND id < 705", true),
    ("concat(day, id) = '15'", false),
    ("random() < 2 AND id = 5", false),
];

#[tokio::test]
async fn filtered_rows_are_the_same() {
    for (partitions, transpose) in [(1, false), (1, true), (3, false), (3, true)] {
        let ctx = tables(partitions, transpose).await;
        for (predicate, _) in PREDICATES {
            for select in
                ["*", "id", "count(*)", "place['zone'], array_length(places)", "sum(id), count(place)"]
            {
                let order = if select.contains('(') && !select.contains('[') { "" } else { "ORDER BY id" };
                let of = |table: &str| format!("SELECT {select} FROM {table} AS x WHERE {predicate} {order}");
                let (found, expected) = (rows(&ctx, &of("t")).await, rows(&ctx, &of("m")).await);
                assert_eq!(found.expect(predicate), expected.expect(predicate), "{}", of("t"));
            }
        }
    }
}

#[tokio::test]
async fn the_scan_applies_them() {
    let ctx = tables(2, true).await;
    for (predicate, taken) in PREDICATES {
        let plan = explain(&ctx, &format!("SELECT id FROM t WHERE {predicate}")).await;
        // What can never be true is found before.
        if !predicate.contains("NULL)") {
            assert_eq!(plan.contains("FilterExec"), !taken, "{plan}");
            assert!(!taken || plan.contains(", filter="), "{plan}");
        }
    }
    // Whether messages and lists are there, and how long, needs nothing in them.
    let plan = explain(&ctx, "SELECT array_length(places), place IS NULL FROM t").await;
    assert!(plan.contains("places (presence)") && plan.contains("place (presence)"), "{plan}");
}

#[tokio::test]
async fn filters_that_grow_while_the_query_runs_are_applied() {
    for transpose in [false, true] {
        let ctx = tables(2, transpose).await;
        for query in [
            "SELECT id, place FROM t ORDER BY id DESC LIMIT 3",
            "SELECT id FROM t ORDER BY place['zone'] NULLS FIRST, id LIMIT 7",
            "SELECT id, column1 FROM t AS x JOIN few ON id = column1 ORDER BY id",
            "SELECT id FROM t WHERE id IN (SELECT column1 FROM few) ORDER BY id",
            "SELECT max(id), min(id) FROM t AS x WHERE id % 7 = 2",
        ] {
            let expected = rows(&ctx, &query.replace(" t ", " m ")).await.expect(query);
            assert!(!expected.is_empty());
            assert_eq!(rows(&ctx, query).await.expect(query), expected, "{query}");
        }
        let plan =
            rows(&ctx, "EXPLAIN ANALYZE SELECT id, place FROM t ORDER BY id LIMIT 3").await.expect("runs");
        let plan = plan.concat();
        assert!(plan.contains("DynamicFilter"), "{plan}");
        let (_, filtered) = plan.split_once("rows_filtered=").expect(&plan);
        assert!(filtered.starts_with(|digit: char| ('1'..='9').contains(&digit)), "{plan}");
    }
}

#[tokio::test]
async fn limits_count_what_is_kept() {
    let ctx = tables(1, true).await;
    for (limit, expected) in [(0, 0), (1, 1), (30, 30), (5000, 143)] {
        let found =
            rows(&ctx, &format!("SELECT id FROM t WHERE id % 7 = 1 LIMIT {limit}")).await.expect("runs");
        assert_eq!(found.len(), expected, "{limit}");
    }
    // A filter above a limit does not change what the limit counts.
    let found =
        rows(&ctx, "SELECT id FROM (SELECT id FROM t LIMIT 10) WHERE id % 7 = 1").await.expect("runs");
    assert_eq!(found, [r#"{"id":1}"#, r#"{"id":8}"#]);
}

#[tokio::test]
async fn declared_columns_are_filtered_as_declared() {
    let ctx = tables(2, false).await;
    let create = "CREATE EXTERNAL TABLE d (id VARCHAR) STORED AS RIEGELI LOCATION 'mem:///t/day=1/a.riegeli'";
    rows(&ctx, create).await.expect("created");
    let found = rows(&ctx, "SELECT id FROM d WHERE id LIKE '69_' ORDER BY id").await.expect("runs");
    assert_eq!(found.len(), 10);
    assert_eq!(found[0], r#"{"id":"690"}"#);
}

#[tokio::test]
async fn what_a_filter_cannot_compute_is_an_error() {
    for transpose in [false, true] {
        let ctx = tables(2, transpose).await;
        for query in
            ["SELECT id FROM t WHERE 1 / (id - 5) > 7", "SELECT count(*) FROM t WHERE 1 / (id - 5) > 7"]
        {
            assert_eq!(error(&ctx, query).await, "Divide by zero error", "{query}");
        }
    }
}
