//! What reaches the scan: projection, counts, and the metrics that show it.

use datafusion::prelude::SessionContext;

use crate::support::{context, event_file, explain, in_memory, rows};

async fn events(partitions: usize) -> SessionContext {
    let ctx = context(partitions, 500);
    in_memory(&ctx, &[("t.riegeli", event_file(0..4000, 8000, false))]).await;
    rows(&ctx, "CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION 'mem:///t.riegeli'")
        .await
        .expect("creates");
    ctx
}

/// A metric of the scan, summed over the plan.
async fn metric(ctx: &SessionContext, sql: &str, name: &str) -> u64 {
    let plan = ctx.sql(sql).await.expect("plans").create_physical_plan().await.expect("plans");
    datafusion::physical_plan::collect(std::sync::Arc::clone(&plan), ctx.task_ctx()).await.expect("runs");
    recordfusion::convert::scan_metric(&plan, name)
}

#[tokio::test]
async fn count_reads_headers_only() {
    let ctx = events(3).await;
    for sql in ["SELECT count(*) FROM t", "SELECT 1 FROM t"] {
        assert_eq!(metric(&ctx, sql, "chunks_read").await, 0, "{sql}");
        assert_eq!(metric(&ctx, sql, "bytes_decompressed").await, 0, "{sql}");
        assert!(metric(&ctx, sql, "chunks_counted").await > 10, "{sql}");
        assert_eq!(metric(&ctx, sql, "fields_projected").await, 0, "{sql}");
    }
}

#[tokio::test]
async fn only_the_leaf_that_is_asked_for_is_decoded() {
    let ctx = events(1).await;
    let leaf = "SELECT place['inner']['city'] FROM t";
    assert!(explain(&ctx, leaf).await.contains("fields=[place.inner.city]"), "{}", explain(&ctx, leaf).await);
    assert_eq!(metric(&ctx, leaf, "fields_projected").await, 1);
    let filtered = "SELECT id FROM t WHERE place['zone'] = 5";
    let plan = explain(&ctx, filtered).await;
    assert!(plan.contains("projection=[id]") && plan.contains("filter=get_field(place@"), "{plan}");
    assert_eq!(metric(&ctx, filtered, "fields_projected").await, 2);
    let listed = "SELECT places[1]['city'] FROM t";
    assert!(explain(&ctx, listed).await.contains("fields=[places.city]"), "{}", explain(&ctx, listed).await);
    let whole = "SELECT place, place['zone'] FROM t";
    assert!(!explain(&ctx, whole).await.contains("fields="), "{}", explain(&ctx, whole).await);
}

#[tokio::test]
async fn metrics_count_what_was_read() {
    let ctx = events(1).await;
    let sql = "SELECT id FROM t";
    assert_eq!(metric(&ctx, sql, "records_decoded").await, 4000);
    assert!(metric(&ctx, sql, "chunks_read").await > 10);
    assert!(metric(&ctx, sql, "bytes_decompressed").await > metric(&ctx, sql, "bytes_scanned").await);
    let analyzed = rows(&ctx, "EXPLAIN ANALYZE SELECT id FROM t").await.expect("runs").concat();
    for name in [
        "bytes_scanned=",
        "chunks_read=",
        "records_decoded=",
        "fields_projected=",
        "decompress_time=",
        "decode_time=",
        "output_rows=",
    ] {
        assert!(analyzed.contains(name), "{name} is missing in {analyzed}");
    }
}
