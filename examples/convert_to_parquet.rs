//! Convert a part of a record file to Parquet.
//!
//! ```text
//! cargo run --example convert_to_parquet
//! ```

use datafusion::error::Result;
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use recordfusion::convert::Conversion;

#[tokio::main]
async fn main() -> Result<()> {
    let output = std::env::temp_dir().join("recordfusion-example.parquet").to_string_lossy().into_owned();
    let input = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/requests.riegeli");
    let conversion = Conversion {
        select: Some("trace_id, path, latency_us, geo".to_string()),
        predicate: Some("status >= 400".to_string()),
        ..Conversion::new([input], &output)
    };
    let ctx = SessionContext::new();
    let summary = conversion.prepare(&ctx).await?.run().await?;
    println!("{} rows in {output}, {} bytes", summary.rows, summary.bytes_out);

    ctx.read_parquet(output, ParquetReadOptions::default()).await?.show_limit(3).await
}
