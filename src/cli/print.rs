//! Prints the rows of a result, batch by batch.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use clap::ValueEnum;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use futures::TryStreamExt;
use recordfusion::json;

use super::table::print_table;
use super::terminal::{self, Content, Output};

/// Bytes of text that rows of nested columns become at a time, about.
const TEXT_BYTES: usize = 1 << 20;

/// How rows are printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Columns with lines around
    #[default]
    Table,
    /// Comma-separated values with a header line
    Csv,
    /// Tab-separated values with a header line
    Tsv,
    /// One JSON array of objects
    Json,
    /// One JSON object a line
    Ndjson,
}

type Printed = Result<(), Box<dyn Error + Send + Sync>>;
type Batches<'a> = &'a mut dyn Iterator<Item = Result<RecordBatch, DataFusionError>>;

impl Format {
    /// Prints all rows of a result to standard output.
    pub(super) async fn print(self, batches: SendableRecordBatchStream) -> Printed {
        let schema = batches.schema();
        let content = match self {
            Self::Table => Content::Text,
            Self::Csv | Self::Tsv => Content::Data,
            Self::Json | Self::Ndjson => Content::Json,
        };
        let print = move |out: &mut Output, batches: Batches<'_>| match self {
            Self::Table => print_table(out, &schema, batches),
            Self::Csv => separated(out, &schema, batches, b','),
            Self::Tsv => separated(out, &schema, batches, b'\t'),
            Self::Json => json_array(out, batches),
            Self::Ndjson => json_lines(out, batches),
        };
        terminal::print(content, batches, print).await
    }
}

/// Runs the statement without printing rows.
pub(super) async fn discard(mut batches: SendableRecordBatchStream) -> Printed {
    while batches.try_next().await?.is_some() {}
    Ok(())
}

fn separated(out: &mut Output, schema: &SchemaRef, batches: Batches<'_>, delimiter: u8) -> Printed {
    let builder = csv::WriterBuilder::new().with_delimiter(delimiter);
    let header = RecordBatch::new_empty(Arc::clone(schema));
    builder.clone().build(&mut *out).write(&json::flatten(&header)?)?;
    for batch in batches {
        let batch = batch?;
        let (mut row, mut rows) = (0, 1);
        while row < batch.num_rows() {
            let slice = batch.slice(row, rows.min(batch.num_rows() - row));
            let mut text = Counted { out: &mut *out, bytes: 0 };
            builder.clone().with_header(false).build(&mut text).write(&json::flatten(&slice)?)?;
            row += slice.num_rows();
            rows = next_rows(slice.num_rows(), text.bytes);
        }
    }
    Ok(())
}

/// How many rows to take next, after some rows became so many bytes.
fn next_rows(rows: usize, bytes: usize) -> usize {
    let fitting = (rows * TEXT_BYTES).checked_div(bytes).unwrap_or(usize::MAX);
    fitting.clamp(1, rows.saturating_mul(2))
}

/// Counts what is written.
struct Counted<'a> {
    out: &'a mut Output,
    bytes: usize,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes += bytes.len();
        self.out.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn json_lines(out: &mut Output, batches: Batches<'_>) -> Printed {
    let mut writer = json::lines(out);
    for batch in batches {
        writer.write(&batch?)?;
    }
    Ok(())
}

fn json_array(out: &mut Output, batches: Batches<'_>) -> Printed {
    let mut objects = json::lines(Commas { out: &mut *out, begun: false, at_end: false });
    for batch in batches {
        objects.write(&batch?)?;
    }
    let begun = objects.into_inner().begun;
    Ok(out.write_all(if begun { b"\n]\n" } else { b"[]\n" })?)
}

/// Makes an array of lines: no text of JSON has a line break in it.
struct Commas<'a> {
    out: &'a mut Output,
    begun: bool,
    /// Whether a line has ended, and nothing has come behind it.
    at_end: bool,
}

impl Write for Commas<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (line, ends) = match piece.split_last() {
                Some((b'\n', line)) => (line, true),
                _ => (piece, false),
            };
            if !line.is_empty() {
                let before: &[u8] = match (self.begun, self.at_end) {
                    (false, _) => b"[\n",
                    (true, true) => b",\n",
                    (true, false) => b"",
                };
                self.out.write_all(before)?;
                self.out.write_all(line)?;
                (self.begun, self.at_end) = (true, false);
            }
            self.at_end |= ends;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}
