//! `cat`: the rows of a file as NDJSON, or its records as bytes.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use datafusion::common::TableReference;
use recordfusion::capabilities::byte_records;
use recordfusion::{datasource, registry};
use recordfusion_core::{OnCorruption, RecordBlock};

use super::Outcome;
use super::print::Format;
use super::session::{TableArgs, context, record_file};
use super::terminal::{self, Content};

/// Print the rows of a file as JSON lines, in file order
#[derive(Debug, Args)]
pub(super) struct Cat {
    /// The file
    file: String,
    /// Stop after this many rows
    #[arg(short = 'n', value_name = "N")]
    rows: Option<usize>,
    /// Print the bytes of the records, each after its length as a varint
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    table: TableArgs,
}

impl Cat {
    pub(super) async fn run(self) -> Outcome {
        if self.raw { self.records().await } else { self.lines().await }
    }

    async fn lines(self) -> Outcome {
        let ctx = context(&self.table, 1)?;
        let rows = ctx.table(TableReference::bare(self.file.as_str())).await?;
        let rows = match self.rows {
            Some(count) => rows.limit(0, Some(count.min(i64::MAX as usize)))?,
            None => rows,
        };
        Format::Ndjson.print(rows.execute_stream().await?).await?;
        Ok(ExitCode::SUCCESS)
    }

    async fn records(self) -> Outcome {
        let ctx = context(&self.table, 1)?;
        let options = self.table.options()?;
        let on_corruption = OnCorruption::from_options(&options)?;
        let (file, connector) = record_file(&ctx, &self.file, on_corruption).await?;
        let range = datasource::range_option(&options)?.unwrap_or(0..file.size);
        let range = range.start.min(file.size)..range.end.min(file.size);
        let blocks = byte_records(connector.as_ref())?.records(
            &file,
            range,
            &registry::read_options_of(connector.as_ref(), &options),
            Default::default(),
        );
        let mut left = self.rows.unwrap_or(usize::MAX);
        terminal::print(Content::Data, blocks, move |out, blocks| {
            while left > 0 {
                let Some(block) = blocks.next().transpose()? else { break };
                let count = block.len().min(left);
                write_records(out, &block, count)?;
                left -= count;
            }
            Ok(())
        })
        .await?;
        Ok(ExitCode::SUCCESS)
    }
}

fn write_records(out: &mut impl Write, block: &RecordBlock, count: usize) -> io::Result<()> {
    for record in block.records().take(count) {
        let mut len = record.len();
        while len >= 0x80 {
            out.write_all(&[len as u8 | 0x80])?;
            len >>= 7;
        }
        out.write_all(&[len as u8])?;
        out.write_all(record)?;
    }
    Ok(())
}
