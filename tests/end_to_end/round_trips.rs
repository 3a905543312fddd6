//! Rows to records and back, through SQL.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{Field, Schema};
use proptest::prelude::*;

use crate::generate::{Dice, array, columns};
use crate::support::{context, event_file, in_memory, rows};

/// Queries whose rows and types come back exactly.
const EXACT: [&str; 16] = [
    "SELECT * FROM (VALUES (true, 'x', 1.5), (false, '', -0.0), (NULL, NULL, NULL)) AS t(a, b, c)",
    "SELECT arrow_cast(column1, 'Int8') AS a, arrow_cast(column1, 'UInt16') AS b, arrow_cast(column1, 'UInt64') AS c, \
        arrow_cast(column1, 'Float16') AS d FROM (VALUES (0), (127), (NULL))",
    "SELECT arrow_cast('-9223372036854775808', 'Int64') AS a, arrow_cast('18446744073709551615', 'UInt64') AS b, \
        arrow_cast('NaN', 'Float64') AS c, arrow_cast('-inf', 'Float32') AS d",
    "SELECT count(*), 1 AS \"a b\", 2 AS \"a_b\", 3 AS \"1\"",
    "SELECT arrow_cast(column1, 'Dictionary(Int32, Utf8)') AS word FROM (VALUES ('x'), (NULL), ('y'), ('x'))",
    "SELECT arrow_cast('-12345678901234567890.0123456789', 'Decimal128(38, 10)') AS d",
    "SELECT arrow_cast('0001-01-01T00:00:00', 'Timestamp(Second, None)') AS s, \
        arrow_cast('9999-12-31T23:59:59.999', 'Timestamp(Millisecond, None)') AS ms, \
        arrow_cast('1969-12-31T23:59:59.5', 'Timestamp(Microsecond, Some(\"Europe/Berlin\"))') AS us, \
        arrow_cast('2026-01-02T03:04:05.123456789', 'Timestamp(Nanosecond, Some(\"+01:00\"))') AS ns",
    "SELECT arrow_cast('2026-01-02', 'Date32') AS d, arrow_cast('23:59:59', 'Time32(Second)') AS t, \
        arrow_cast(1500, 'Duration(Millisecond)') AS e",
    "SELECT [[1, 2], [], [3]] AS lists, [CAST(NULL AS INT)] IS NULL AS b",
    "SELECT map([1, 2], ['x', NULL]) AS m WHERE false",
    "SELECT map([1, 2], ['x', 'y']) AS ints, map([1.5], [2]) AS floats, map(['a'], [{'b': 1}]) AS structs",
    "SELECT {'a': {'b': {'c': column1}}} AS s FROM (VALUES (1), (NULL))",
    "SELECT CASE WHEN column1 > 1 THEN {'a': CASE WHEN column1 > 2 THEN {'b': NULLIF(column1, 3)} END} END AS s \
        FROM (VALUES (1), (2), (3), (4))",
    "SELECT 1 AS a, 'x' AS b WHERE false",
    "SELECT arrow_cast('x', 'LargeUtf8') AS a, arrow_cast('y', 'Utf8View') AS b, arrow_cast([1, 2], 'LargeList(Int32)') AS c",
    "SELECT '' AS a, CAST(NULL AS VARCHAR) AS b, 0 AS c, CAST(NULL AS INT) AS d",
];

#[tokio::test]
async fn rows_and_types_come_back() {
    let ctx = context(2, 2);
    in_memory(&ctx, &[]).await;
    for (number, query) in EXACT.iter().enumerate() {
        for options in ["", "OPTIONS (transpose 'true', compression 'zstd')", "OPTIONS (chunk_size '1')"] {
            let file = format!("mem:///{number}-{}.riegeli", options.len());
            rows(&ctx, &format!("COPY ({query}) TO '{file}' STORED AS RIEGELI {options}"))
                .await
                .expect(query);
            let given = collected(&ctx, query).await;
            let found = collected(&ctx, &format!("SELECT * FROM '{file}'")).await;
            assert_eq!(found.schema_ref().fields, given.schema_ref().fields, "{query}");
            assert_eq!(found.columns(), given.columns(), "{query}");
        }
    }
}

/// The rows of a query, as one batch. Whether a column may be NULL is not looked at.
async fn collected(ctx: &datafusion::prelude::SessionContext, query: &str) -> RecordBatch {
    let frame = ctx.sql(query).await.expect(query);
    let nullable = |field: &Arc<Field>| field.as_ref().clone().with_nullable(true);
    let schema = frame.schema().as_arrow().fields().iter().map(nullable).collect::<Vec<_>>();
    let schema = Arc::new(Schema::new(schema));
    let batches = frame.collect().await.expect(query);
    let batches = batches.into_iter().map(|batch| {
        RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec()).expect("the same columns")
    });
    concat_batches(&schema, &batches.collect::<Vec<_>>()).expect("the same columns")
}

/// What other readers see: the types that messages have.
#[tokio::test]
async fn without_the_hint_values_come_back_as_messages_have_them() {
    let ctx = context(1, 100);
    in_memory(&ctx, &[]).await;
    for (query, expected) in [
        ("SELECT arrow_cast(7, 'Int8') AS a", r#"{"a":7,"t":"Int32"}"#),
        ("SELECT arrow_cast(7, 'Float16') AS a", r#"{"a":7.0,"t":"Float32"}"#),
        ("SELECT arrow_cast('1.50', 'Decimal128(10, 2)') AS a", r#"{"a":"1.50","t":"Utf8View"}"#),
        ("SELECT arrow_cast('x', 'LargeUtf8') AS a", r#"{"a":"x","t":"Utf8View"}"#),
        ("SELECT arrow_cast('2026-01-02', 'Date64') AS a", r#"{"a":"2026-01-02","t":"Date32"}"#),
        ("SELECT arrow_cast(1500, 'Duration(Millisecond)') AS a", r#"{"a":"PT1.5S","t":"Duration(µs)"}"#),
    ] {
        let copy = format!(
            "COPY ({query}) TO 'mem:///x.riegeli' STORED AS RIEGELI OPTIONS (arrow_schema_hint 'false')"
        );
        rows(&ctx, &copy).await.expect(query);
        let found = rows(&ctx, "SELECT a, arrow_typeof(a) AS t FROM 'mem:///x.riegeli'").await.expect(query);
        assert_eq!(found, [expected], "{query}");
    }
}

#[tokio::test]
async fn enums_stay_enums_and_three_hundred_columns_are_kept() {
    let ctx = context(1, 100);
    in_memory(&ctx, &[("e.riegeli", event_file(0..3, 300, false))]).await;
    rows(&ctx, "COPY (SELECT level FROM 'mem:///e.riegeli') TO 'mem:///x.riegeli' STORED AS RIEGELI")
        .await
        .expect("written");
    let levels = "SELECT level FROM 'mem:///x.riegeli'";
    let expected = [r#"{"level":"LOW"}"#, r#"{"level":"HIGH"}"#, r#"{"level":"2"}"#];
    assert_eq!(rows(&ctx, levels).await.expect("readable"), expected);
    rows(&ctx, "SET recordfusion.enum = 'number'").await.expect("a setting");
    let numbers = rows(&ctx, "SELECT sum(level) AS n FROM 'mem:///x.riegeli'").await.expect("still numbers");
    assert_eq!(numbers, [r#"{"n":3}"#]);
    rows(&ctx, "SET recordfusion.enum = ''").await.expect("a setting");

    let columns: Vec<String> = (0..300).map(|n| format!("{n} AS c{n}")).collect();
    let query = format!("SELECT {}", columns.join(", "));
    rows(&ctx, &format!("COPY ({query}) TO 'mem:///y.riegeli' STORED AS RIEGELI")).await.expect("written");
    let found = rows(&ctx, "SELECT * FROM 'mem:///y.riegeli'").await.expect("readable");
    assert_eq!(found, rows(&ctx, &query).await.expect("runs"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_table_comes_back(
        seed in any::<u64>(),
        rows in 0..40usize,
        partitions in 1..4usize,
        options in prop::sample::select(vec![
            "compression 'zstd'", "transpose 'true', compression 'snappy', bucket_fraction '0.1'",
            "chunk_size '200', compression 'uncompressed', padding '64K'", "writer_options 'transpose,brotli:1'",
        ]),
    ) {
        let mut dice = Dice(seed);
        let schema = Arc::new(Schema::new(columns(&mut dice, 3)));
        let fields = schema.fields().iter();
        let columns = fields.map(|field| array(&mut dice, field.data_type(), rows, true)).collect();
        let size = RecordBatchOptions::new().with_row_count(Some(rows));
        let given = RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &size).expect("columns");
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let found = runtime.block_on(written_and_read(&given, partitions, options));
        prop_assert_eq!(&found.schema_ref().fields, &schema.fields);
        prop_assert_eq!(found.columns(), given.columns());
    }
}

async fn written_and_read(given: &RecordBatch, partitions: usize, options: &str) -> RecordBatch {
    let ctx = context(partitions, 7);
    in_memory(&ctx, &[]).await;
    ctx.register_batch("t", given.clone()).expect("a table");
    let copy = format!(
        "COPY t TO 'mem:///x.riegeli' STORED AS RIEGELI OPTIONS ({options}, null_items 'wrap', null_list 'wrap')"
    );
    let copied = rows(&ctx, &copy).await.expect("written");
    assert_eq!(copied, [format!("{{\"count\":{}}}", given.num_rows())]);
    // One partition, since rows come in no order otherwise.
    let reading = context(1, 7);
    let url = url::Url::parse("mem:///").expect("a URL");
    reading
        .register_object_store(&url, ctx.runtime_env().object_store_registry.get_store(&url).expect("there"));
    collected(&reading, "SELECT * FROM 'mem:///x.riegeli'").await
}
