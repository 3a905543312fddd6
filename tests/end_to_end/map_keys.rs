//! Maps that are asked for keys.

use datafusion::prelude::SessionContext;

use crate::support::{context, explain, in_memory, rows};

/// A file `mem:///m.riegeli` of maps `m` with keys of a type, of maps `ms` of those, and of `k`.
async fn maps(key: &str) -> SessionContext {
    let ctx = context(2, 100);
    in_memory(&ctx, &[]).await;
    let maps = format!(
        "COPY (SELECT k, map([arrow_cast(1, '{key}'), arrow_cast(k, '{key}')], ['one', 'k']) AS m, \
         map(['a'], [map([arrow_cast(k, '{key}')], [k])]) AS ms \
         FROM (VALUES (2), (3), (100)) AS t(k)) TO 'mem:///m.riegeli' STORED AS RIEGELI"
    );
    rows(&ctx, &maps).await.expect("writes");
    ctx
}

async fn answer(ctx: &SessionContext, sql: &str) -> String {
    rows(ctx, sql).await.unwrap_or_else(|error| panic!("{sql}: {error}")).concat()
}

#[tokio::test]
async fn integers_ask_for_keys_of_every_integer_type() {
    for key in ["Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Decimal128(20, 0)"]
    {
        let ctx = maps(key).await;
        for (expected, sql) in [
            ("SELECT 3", "SELECT count(m[1]) FROM t"),
            ("SELECT 1", "SELECT count(*) FROM t WHERE m[2] = 'k'"),
            ("SELECT 1", "SELECT count(*) FROM t WHERE m[1 + 1] = 'k'"),
            ("SELECT 1", "SELECT count(m[2.0]) FROM t"),
            ("SELECT 0", "SELECT count(m[2.5]) FROM t"),
            ("SELECT 0", "SELECT count(m[-1]) FROM t"),
            ("SELECT 0", "SELECT count(m[18446744073709551615]) FROM t"),
            ("SELECT 0", "SELECT count(m[NULL]) FROM t"),
            ("SELECT 3", "SELECT sum(ms['a'][3]) FROM t"),
            ("SELECT 0", "SELECT count(ms['b'][3]) FROM t"),
            ("SELECT 2", "SELECT count(*) FROM (SELECT m[3], count(*) FROM t GROUP BY m[3])"),
            ("SELECT 100", "SELECT max(k) FROM t WHERE k IN (SELECT ms['a'][100] FROM t)"),
        ] {
            let (expected, sql) =
                (&expected["SELECT ".len()..], sql.replace("FROM t", "FROM 'mem:///m.riegeli'"));
            let found = answer(&ctx, &sql).await;
            assert!(found.contains(&format!(":{expected}")), "{key}: {sql}: {found}");
        }
    }
}

#[tokio::test]
async fn filters_on_keys_reach_the_scan() {
    let ctx = maps("UInt64").await;
    let plan = explain(&ctx, "SELECT k FROM 'mem:///m.riegeli' WHERE m[2] = 'k'").await;
    assert!(plan.contains("filter=get_field(m@"), "{plan}");
}

#[tokio::test]
async fn keys_of_another_kind_are_told_of() {
    let ctx = maps("UInt64").await;
    let error = rows(&ctx, "SELECT m['x'] FROM 'mem:///m.riegeli'").await.unwrap_err().to_string();
    assert!(error.contains("are numbers (of type UInt64), and it is asked for text"), "{error}");
    let error = rows(&ctx, "SELECT ms[1] FROM 'mem:///m.riegeli'").await.unwrap_err().to_string();
    assert!(error.contains("and it is asked for numbers"), "{error}");
}

#[tokio::test]
async fn exact_keys_are_asked_for_with_text() {
    let ctx = maps("UInt32").await;
    let table = "CREATE EXTERNAL TABLE exact STORED AS RIEGELI LOCATION 'mem:///m.riegeli' OPTIONS (map_keys 'exact')";
    rows(&ctx, table).await.expect("creates");
    let found = answer(&ctx, "SELECT sum(ms['a'][2]) AS s, count(m[1]) AS c FROM exact").await;
    assert!(found.contains(":2") && found.contains(":3"), "{found}");
}
