//! Read records whose file does not say what messages they are, with a .proto file from outside.
//!
//! ```text
//! cargo run --example custom_descriptor
//! ```

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::prelude::SessionContext;
use recordfusion::{Options, RecordTable, TableDefinition};

/// A part of the fields is enough: the others are skipped.
const PROTO: &str = r#"
    syntax = "proto3";
    package example;
    message Request {
      string request_id = 3;
      string path = 9;
      int32 status = 10;
    }
"#;

#[tokio::main]
async fn main() -> Result<()> {
    let proto = std::env::temp_dir().join("recordfusion-example.proto");
    std::fs::write(&proto, PROTO)?;
    let options =
        Options::new().with("proto", proto.to_string_lossy()).with("message_type", "example.Request");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/requests.riegeli");

    let ctx = SessionContext::new();
    let table = RecordTable::open(&ctx.state(), TableDefinition::new(file).with_options(options)).await?;
    ctx.register_table("requests", Arc::new(table))?;
    ctx.sql("SELECT status, count(*) AS requests FROM requests GROUP BY 1 ORDER BY 1").await?.show().await
}
