//! Convert a part of a record file to Parquet.
//!
//! ```text
//! cargo run --example convert_to_parquet
//! ```

use datafusion::error::Result;
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use recordfusion::Options;
use recordfusion::convert::{Conversion, ParquetCompression};

#[tokio::main]
async fn main() -> Result<()> {
    let output = std::env::temp_dir().join("recordfusion-example.parquet").to_string_lossy().into_owned();
    let conversion = Conversion {
        inputs: vec![concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/requests.riegeli").to_string()],
        output: output.clone(),
        format: None,
        select: Some("trace_id, path, latency_us, geo".to_string()),
        predicate: Some("status >= 400".to_string()),
        write_options: Options::new(),
        options: Options::new(),
        compression: ParquetCompression::default(),
        partitions: 2,
    };
    let ctx = SessionContext::new();
    let summary = conversion.prepare(&ctx).await?.run().await?;
    println!("{} rows in {output}, {} bytes", summary.rows, summary.bytes_out);

    ctx.read_parquet(output, ParquetReadOptions::default()).await?.show_limit(3).await
}
