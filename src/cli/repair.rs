//! `repair`: copies what is whole of a damaged file.

use std::process::ExitCode;

use clap::Args;
use recordfusion::repair::{Repaired, repair};
use recordfusion_core::OnCorruption;

use super::session::{TableArgs, context, record_file};
use super::terminal::say;
use super::{Outcome, say_lost};

/// Copy the chunks of a damaged file that are whole to a new file, which is sound; what is lost is listed
#[derive(Debug, Args)]
pub(super) struct Repair {
    /// The damaged file
    input: String,
    /// The file to write
    output: String,
    #[command(flatten)]
    table: TableArgs,
}

impl Repair {
    pub(super) async fn run(self) -> Outcome {
        let ctx = context(&self.table, 1)?;
        let (file, connector) = record_file(&ctx, &self.input, OnCorruption::Skip).await?;
        let options = self.table.options()?;
        let Repaired { chunks, bytes, lost } =
            repair(&ctx.state(), connector.as_ref(), &file, &self.output, &options).await?;
        let bytes_lost: u64 = lost.iter().map(|(_, region)| region.bytes()).sum();
        say(&format!(
            "{chunks} chunks copied, {} bytes in, {bytes} bytes out, {} regions of {bytes_lost} bytes lost",
            file.size,
            lost.len()
        ));
        say_lost(&lost);
        Ok(ExitCode::SUCCESS)
    }
}
