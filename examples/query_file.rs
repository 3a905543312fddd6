//! Query a record file with SQL.
//!
//! ```text
//! cargo run --example query_file
//! ```

use datafusion::error::Result;
use datafusion::prelude::SessionContext;

#[tokio::main]
async fn main() -> Result<()> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/requests.riegeli");
    let ctx = SessionContext::new();
    recordfusion::register(&ctx)?;

    // A path in quotes is a table.
    let sql = format!(
        "SELECT geo['country'] AS country, count(*) AS requests, avg(latency_us) AS latency \
         FROM '{file}' WHERE status < 500 GROUP BY 1 ORDER BY 2 DESC LIMIT 3"
    );
    ctx.sql(&sql).await?.show().await?;

    // So is a table with a name, of one file, a glob or a folder.
    let table = format!("CREATE EXTERNAL TABLE requests STORED AS RIEGELI LOCATION '{file}'");
    ctx.sql(&table).await?;
    ctx.sql("SELECT severity, count(*) FROM requests GROUP BY 1 ORDER BY 2").await?.show().await
}
