//! The rows of a scan do not depend on how it is cut: ranges, batches, partitions, projection.

use std::collections::BTreeSet;

use datafusion::prelude::SessionConfig;
use datafusion::prelude::SessionContext;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::support::{context, event, event_file, in_memory, rows};

const QUERIES: [&str; 8] = [
    "SELECT * FROM t",
    "SELECT id FROM t",
    "SELECT place['inner']['city'] AS c, id FROM t",
    "SELECT places[1]['city'] AS c, counts['k1'] AS k, id FROM t",
    "SELECT id, tag, level FROM t WHERE score IS NULL OR place['zone'] > 5",
    "SELECT score, id, score AS again, 7 AS seven FROM t",
    "SELECT count(*) AS n, sum(id) AS s, count(place) AS p, count(place['zone']) AS z FROM t",
    "SELECT 1 AS one FROM t",
];

async fn table(ctx: &SessionContext, bytes: Vec<u8>) {
    in_memory(ctx, &[("t.riegeli", bytes)]).await;
    rows(ctx, "CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION 'mem:///t.riegeli'")
        .await
        .expect("creates");
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort();
    rows
}

/// The rows of all queries with one partition and large batches.
fn expected(bytes: &[u8]) -> Vec<Vec<String>> {
    run(async {
        let ctx = context(1, 8192);
        table(&ctx, bytes.to_vec()).await;
        let mut all = vec![];
        for sql in QUERIES {
            all.push(sorted(rows(&ctx, sql).await.expect(sql)));
        }
        all
    })
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(work)
}

#[test]
fn rows_do_not_depend_on_partitions_or_batches() {
    let files = [false, true].map(|transpose| event_file(0..2500, 4000, transpose));
    let expected = files.each_ref().map(|file| expected(file));
    assert_eq!(expected[0], expected[1], "both layouts say the same");
    let ids: BTreeSet<&String> = expected[0][1].iter().collect();
    assert_eq!(ids.len(), 2500);
    let config = ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(partitions in 1usize..70, batch_size in 1usize..3000, file in 0usize..2, query in 0..QUERIES.len())| {
        let ours = run(async {
            let ctx = context(partitions, batch_size);
            table(&ctx, files[file].clone()).await;
            rows(&ctx, QUERIES[query]).await
        });
        let ours = sorted(ours.map_err(|error| TestCaseError::fail(error.to_string()))?);
        prop_assert_eq!(&ours, &expected[file][query]);
    });
}

#[tokio::test]
async fn one_partition_keeps_the_order_of_the_records() {
    let ctx = context(1, 100);
    table(&ctx, event_file(0..1000, 3000, true)).await;
    let ids = rows(&ctx, "SELECT id FROM t").await.expect("reads");
    assert_eq!(ids, (0..1000).map(|id| format!("{{\"id\":{id}}}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn absent_messages_have_null_fields_at_every_depth() {
    let ctx = context(2, 64);
    table(&ctx, event_file(0..500, 2000, true)).await;
    let absent = (0..500).filter(|id| event(*id).place.is_none()).count();
    let no_inner = (0..500).filter(|id| event(*id).place.is_none_or(|place| place.inner.is_none())).count();
    let zones = (0..500).filter_map(|id| event(id).place.and_then(|place| place.zone)).count();
    let sql = "SELECT count(*) FILTER (WHERE place IS NULL) AS a, count(*) FILTER (WHERE place['city'] IS NULL) AS b,
                      count(*) FILTER (WHERE place['inner']['city'] IS NULL) AS c, count(place['zone']) AS d FROM t";
    let expected = format!("{{\"a\":{absent},\"b\":{absent},\"c\":{no_inner},\"d\":{zones}}}");
    assert_eq!(rows(&ctx, sql).await.expect("reads"), [expected]);
}

#[tokio::test]
async fn a_limit_counts_after_the_filter() {
    let ctx = context(4, 100);
    table(&ctx, event_file(0..5000, 5000, false)).await;
    let last = rows(&ctx, "SELECT id FROM t WHERE id >= 4990 LIMIT 5").await.expect("reads");
    assert_eq!(last.len(), 5);
    assert_eq!(rows(&ctx, "SELECT id FROM t LIMIT 7").await.expect("reads").len(), 7);
    assert_eq!(rows(&ctx, "SELECT id FROM t LIMIT 0").await.expect("reads").len(), 0);
    assert_eq!(rows(&ctx, "SELECT id FROM t ORDER BY id LIMIT 2 OFFSET 4998").await.expect("reads").len(), 2);
}

#[tokio::test]
async fn ranges_are_cut_at_blocks() {
    let config = SessionConfig::new().with_target_partitions(64).with_repartition_file_min_size(0);
    let ctx = SessionContext::new_with_config(config);
    recordfusion::register(&ctx).expect("registers");
    table(&ctx, event_file(0..20_000, 20_000, false)).await;
    let plan = crate::support::explain(&ctx, "SELECT id FROM t").await;
    let cuts =
        plan.split("t.riegeli:").skip(1).filter_map(|part| part.split("..").next()?.parse::<u64>().ok());
    let cuts: Vec<u64> = cuts.collect();
    assert!(cuts.len() > 2, "{plan}");
    assert!(cuts.iter().all(|cut| cut % 65536 == 0), "{plan}");
}
