//! `convert`: copies record files to another format.

use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use recordfusion::Options;
use recordfusion::convert::{Conversion, OutputFormat, ParquetCompression, Summary};

use super::progress::{When, draw};
use super::session::SessionArgs;
use super::terminal::say;
use super::{Outcome, say_lost};

/// Copy record files to Parquet, CSV, NDJSON, Arrow IPC or record files, and those to record files, in order
#[derive(Debug, Args)]
pub(super) struct Convert {
    /// Files, globs or folders to read, and at last the file to write, or a folder for one file per partition
    #[arg(required = true, num_args = 2.., value_names = ["INPUT", "OUTPUT"])]
    paths: Vec<String>,
    /// The output format: parquet, csv, ndjson, arrow, or that of record files [default: by the extension]
    #[arg(long, value_name = "FORMAT")]
    to: Option<OutputFormat>,
    /// SQL expressions to write, such as "id, geo['city'] AS city" [default: all columns]
    #[arg(long, value_name = "EXPRS")]
    select: Option<String>,
    /// SQL predicate of the rows to write
    #[arg(long = "where", value_name = "PREDICATE")]
    predicate: Option<String>,
    /// Codec of Parquet output: zstd, snappy, lz4, gzip, brotli, none; zstd:9 sets a level
    #[arg(long, value_name = "CODEC", default_value = "zstd")]
    compression: ParquetCompression,
    /// Message type of record files to write, of --descriptor-set or --proto [default: made for the columns]
    #[arg(long, value_name = "NAME")]
    message_type: Option<String>,
    /// Serialized FileDescriptorSet that has the message type to write
    #[arg(long, value_name = "PATH")]
    descriptor_set: Option<String>,
    /// .proto source file that has the message type to write
    #[arg(long, value_name = "PATH")]
    proto: Option<String>,
    /// Write the message type of record files that cannot say it (RecordIO) too, to OUTPUT.fds
    #[arg(long)]
    write_descriptor_set: bool,
    /// Add the rows behind those of the output, a record file, if it is there already
    #[arg(long)]
    append: bool,
    /// Replace all files of the output, a folder, which otherwise must be empty
    #[arg(long, conflicts_with = "append")]
    overwrite: bool,
    /// Write what was converted and what was lost to this file, as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<String>,
    /// Progress on standard error
    #[arg(long, value_enum, default_value_t)]
    progress: When,
    #[command(flatten)]
    pub(super) session: SessionArgs,
}

impl Convert {
    pub(super) async fn run(mut self) -> Outcome {
        let begin = Instant::now();
        self.session.table.writing = true;
        let ctx = self.session.context()?;
        let output = self.paths.pop().unwrap_or_default();
        let target = [
            ("message_type", self.message_type),
            ("descriptor_set", self.descriptor_set),
            ("proto", self.proto),
        ];
        let mut write_options = Options::new();
        for (name, value) in target {
            if let Some(value) = value {
                write_options = write_options.with(name, value);
            }
        }
        let conversion = Conversion {
            inputs: self.paths,
            output,
            format: self.to,
            select: self.select,
            predicate: self.predicate,
            write_options,
            options: Options::new(),
            compression: self.compression,
            partitions: self.session.partitions().get(),
            append: self.append,
            overwrite: self.overwrite,
            report: self.report,
            write_descriptor_set: self.write_descriptor_set,
        };
        let prepared = conversion.prepare(&ctx).await?;
        let summary = tokio::select! {
            summary = prepared.run() => summary?,
            () = draw(self.progress, &prepared) => Summary::default(),
        };
        say(&line(&summary, begin.elapsed().as_secs_f64()));
        say_lost(&summary.lost);
        Ok(ExitCode::SUCCESS)
    }
}

fn line(summary: &Summary, seconds: f64) -> String {
    let files = if summary.files == 1 { String::new() } else { format!(" in {} files", summary.files) };
    let mut line = format!(
        "{} rows, {} bytes in, {} bytes out{files}, {seconds:.2} s",
        summary.rows, summary.bytes_in, summary.bytes_out
    );
    for (name, count) in &summary.notes {
        line.push_str(&format!(", {count} {}", name.replace('_', " ")));
    }
    if let Some((path, message_type)) = &summary.descriptor_set {
        line.push_str(&format!("; read it with -o message_type={message_type} -o descriptor_set={path}"));
    }
    line
}
