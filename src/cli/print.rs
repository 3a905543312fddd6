//! Prints the rows of a result, batch by batch.

use std::error::Error;
use std::io::{self, BufWriter, Stdout, Write};
use std::sync::Arc;

use clap::ValueEnum;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::execution::SendableRecordBatchStream;
use futures::TryStreamExt;
use recordfusion::json;

/// Rows that decide how wide the columns of a table are printed.
const ROWS_TO_MEASURE: usize = 1000;

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

/// Prints one result to standard output.
pub(super) struct Printer {
    format: Format,
    schema: SchemaRef,
    out: BufWriter<Stdout>,
}

type Printed = Result<(), Box<dyn Error + Send + Sync>>;

impl Printer {
    pub(super) fn new(format: Format, schema: SchemaRef) -> Self {
        Self { format, schema, out: BufWriter::new(io::stdout()) }
    }

    /// Runs the statement without printing rows.
    pub(super) async fn discard(self, mut batches: SendableRecordBatchStream) -> Printed {
        while batches.try_next().await?.is_some() {}
        Ok(())
    }

    /// Prints all rows.
    pub(super) async fn print(&mut self, batches: SendableRecordBatchStream) -> Printed {
        match self.format {
            Format::Table => self.table(batches).await?,
            Format::Csv => self.separated(batches, b',').await?,
            Format::Tsv => self.separated(batches, b'\t').await?,
            Format::Json => self.json_array(batches).await?,
            Format::Ndjson => self.json_lines(batches).await?,
        }
        Ok(self.out.flush()?)
    }

    async fn separated(&mut self, mut batches: SendableRecordBatchStream, delimiter: u8) -> Printed {
        let header = RecordBatch::new_empty(Arc::clone(&self.schema));
        csv::WriterBuilder::new()
            .with_delimiter(delimiter)
            .build(&mut self.out)
            .write(&json::flatten(&header)?)?;
        while let Some(batch) = batches.try_next().await? {
            let mut text = vec![];
            let writer = csv::WriterBuilder::new().with_delimiter(delimiter).with_header(false);
            writer.build(&mut text).write(&json::flatten(&batch)?)?;
            self.out.write_all(&text)?;
        }
        Ok(())
    }

    async fn json_lines(&mut self, mut batches: SendableRecordBatchStream) -> Printed {
        while let Some(batch) = batches.try_next().await? {
            let mut text = vec![];
            json::lines(&mut text).write(&batch)?;
            self.out.write_all(&text)?;
        }
        Ok(())
    }

    async fn json_array(&mut self, mut batches: SendableRecordBatchStream) -> Printed {
        let mut first = true;
        self.out.write_all(b"[")?;
        while let Some(batch) = batches.try_next().await? {
            let mut text = vec![];
            json::lines(&mut text).write(&batch)?;
            for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                self.out.write_all(if first { b"\n" } else { b",\n" })?;
                self.out.write_all(line)?;
                first = false;
            }
        }
        Ok(self.out.write_all(if first { b"]\n" } else { b"\n]\n" })?)
    }

    async fn table(&mut self, mut batches: SendableRecordBatchStream) -> Printed {
        let mut measured: Vec<Vec<String>> = vec![];
        let mut widths: Vec<usize> = self.schema.fields().iter().map(|field| width(field.name())).collect();
        while measured.len() < ROWS_TO_MEASURE {
            let Some(batch) = batches.try_next().await? else { break };
            measured.extend(cells(&batch)?);
        }
        for row in &measured {
            for (column, cell) in widths.iter_mut().zip(row) {
                *column = (*column).max(cell.lines().map(width).max().unwrap_or(0));
            }
        }
        self.rule(&widths)?;
        let names: Vec<String> = self.schema.fields().iter().map(|field| field.name().clone()).collect();
        self.row(&widths, &names)?;
        self.rule(&widths)?;
        for row in &measured {
            self.row(&widths, row)?;
        }
        drop(measured);
        while let Some(batch) = batches.try_next().await? {
            for row in cells(&batch)? {
                self.row(&widths, &row)?;
            }
        }
        Ok(self.rule(&widths)?)
    }

    fn rule(&mut self, widths: &[usize]) -> io::Result<()> {
        for width in widths {
            write!(self.out, "+{:-<1$}", "", width + 2)?;
        }
        writeln!(self.out, "+")
    }

    /// One row; a cell of several lines takes several lines of the table.
    fn row(&mut self, widths: &[usize], cells: &[String]) -> io::Result<()> {
        let lines = cells.iter().map(|cell| cell.lines().count()).max().unwrap_or(0).max(1);
        for line in 0..lines {
            for (column, cell) in widths.iter().zip(cells) {
                let text = cell.lines().nth(line).unwrap_or("");
                let padding = column.saturating_sub(width(text));
                write!(self.out, "| {text}{:padding$} ", "")?;
            }
            writeln!(self.out, "|")?;
        }
        Ok(())
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn cells(batch: &RecordBatch) -> Result<Vec<Vec<String>>, Box<dyn Error + Send + Sync>> {
    let options = FormatOptions::default();
    let columns: Vec<ArrayFormatter> = batch
        .columns()
        .iter()
        .map(|column| ArrayFormatter::try_new(column, &options))
        .collect::<Result<_, _>>()?;
    let row = |row| columns.iter().map(|column| Ok(column.value(row).try_to_string()?)).collect();
    (0..batch.num_rows()).map(row).collect()
}
