//! One file through every way to read it: the answers have to be the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::error::DataFusionError;
use recordfusion::{Options, RecordTable, TableDefinition};
use riegeli::{CompressionType, WriterOptions};
use tempfile::TempDir;

use crate::support::{context, in_memory, metadata, riegeli_bytes, rows, text, tool};

/// Rows as JSON lines, or the message of the error.
pub(crate) type Answer = Result<Vec<String>, String>;

/// The answer that these lines are.
pub(crate) fn lines(lines: &[&str]) -> Answer {
    Ok(lines.iter().map(ToString::to_string).collect())
}

/// Bytes that are written as hexadecimal digits.
pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let digits: String = digits.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hex")).collect()
}

/// Files with these records of the message `t.M`, in both layouts. `proto` goes on behind the package.
pub(crate) fn message_files(proto: &str, records: &[Vec<u8>]) -> [Vec<u8>; 2] {
    let metadata = metadata(&format!("syntax = \"proto3\"; package t; {proto}"), "t.M");
    files(records, &metadata)
}

/// Files with these records and metadata, in both layouts.
pub(crate) fn files(records: &[Vec<u8>], metadata: &[u8]) -> [Vec<u8>; 2] {
    [false, true].map(|transpose| {
        let options = WriterOptions::new().compression(CompressionType::Zstd).transpose(transpose);
        riegeli_bytes(records, options.set_serialized_metadata(metadata.to_vec()))
    })
}

/// A file on disk, alone in its folder.
pub(crate) struct OnDisk {
    folder: TempDir,
    name: &'static str,
}

impl OnDisk {
    pub(crate) fn new(name: &'static str, bytes: &[u8]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(name), bytes).expect("written");
        Self { folder, name }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join(self.name)
    }

    /// A query of the table `t`, of this file.
    pub(crate) fn sql(&self, query: &str) -> String {
        by_path(query, &self.path().display().to_string())
    }

    /// Another file in the folder.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn by_path(query: &str, path: &str) -> String {
    query.replace("FROM t", &format!("FROM '{path}' AS t"))
}

/// The answer to a query of the table `t`, for each of some files that shall give the same one, in the order
/// of the records: with `OPTIONS` and with settings, from disk and from memory, through the library and
/// through the tool. Files are called `t.riegeli` in it.
pub(crate) async fn answer(files: &[Vec<u8>], options: &[(&str, &str)], query: &str) -> Answer {
    let mut answers: Vec<(&str, Answer)> = vec![];
    for bytes in files {
        let disk = OnDisk::new("t.riegeli", bytes);
        for (way, answer) in [
            ("OPTIONS, disk", by_options(&disk.path().display().to_string(), bytes, options, query).await),
            ("OPTIONS, memory", by_options("mem:///t.riegeli", bytes, options, query).await),
            ("SET", by_settings(bytes, options, query).await),
            ("library", by_definition(&disk.path(), options, query).await),
            ("tool", by_tool(&disk, options, query)),
        ] {
            let folder = format!("{}/", disk.folder.path().display());
            let neutral = |text: String| text.replace(&folder, "").replace("mem:///", "");
            let answer = answer.map(|rows| rows.into_iter().map(neutral).collect()).map_err(neutral);
            answers.push((way, answer));
        }
    }
    let (first, expected) = &answers[0];
    for (way, answer) in &answers {
        assert_eq!(answer, expected, "{way} differs from {first}: {query} with {options:?}");
    }
    answers.swap_remove(0).1
}

fn message(error: &DataFusionError) -> String {
    recordfusion::error_message(error)
}

async fn by_options(location: &str, bytes: &[u8], options: &[(&str, &str)], query: &str) -> Answer {
    let ctx = context(1, 3);
    in_memory(&ctx, &[("t.riegeli", bytes.to_vec())]).await;
    let given: Vec<String> = options.iter().map(|(name, value)| format!("'{name}' '{value}'")).collect();
    let given = if given.is_empty() { String::new() } else { format!("OPTIONS ({})", given.join(", ")) };
    let create = format!("CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION '{location}' {given}");
    rows(&ctx, &create).await.map_err(|error| message(&error))?;
    rows(&ctx, query).await.map_err(|error| message(&error))
}

async fn by_settings(bytes: &[u8], options: &[(&str, &str)], query: &str) -> Answer {
    let ctx = context(1, 3);
    in_memory(&ctx, &[("t.riegeli", bytes.to_vec())]).await;
    for (name, value) in options {
        rows(&ctx, &format!("SET recordfusion.{name} = '{value}'")).await.map_err(|error| message(&error))?;
    }
    rows(&ctx, &by_path(query, "mem:///t.riegeli")).await.map_err(|error| message(&error))
}

async fn by_definition(path: &Path, options: &[(&str, &str)], query: &str) -> Answer {
    let ctx = context(1, 3);
    let options: Options = options.iter().copied().collect();
    let definition = TableDefinition::new(path.display().to_string()).with_options(options);
    let table = RecordTable::open(&ctx.state(), definition).await.map_err(|error| message(&error))?;
    ctx.register_table("t", Arc::new(table)).map_err(|error| message(&error))?;
    rows(&ctx, query).await.map_err(|error| message(&error))
}

fn by_tool(disk: &OnDisk, options: &[(&str, &str)], query: &str) -> Answer {
    let mut args = vec!["query".to_string(), "--format=ndjson".into(), "--partitions=1".into()];
    args.extend(options.iter().flat_map(|(name, value)| ["-o".to_string(), format!("{name}={value}")]));
    args.push(disk.sql(query));
    let output = tool(args);
    let error = text(&output.stderr);
    match output.status.success() {
        true => Ok(text(&output.stdout).lines().map(String::from).collect()),
        false => Err(error.trim_end().strip_prefix("error: ").unwrap_or(&error).to_string()),
    }
}

/// A file converted to Parquet by the tool.
pub(crate) struct Converted {
    disk: OnDisk,
    /// What the tool says at the end.
    pub(crate) line: String,
}

impl Converted {
    pub(crate) fn new(bytes: &[u8], options: &[(&str, &str)]) -> Self {
        let disk = OnDisk::new("t.riegeli", bytes);
        let paths = [disk.path(), disk.beside("t.parquet")].map(|path| path.display().to_string());
        let mut args = vec!["convert".to_string(), "--progress=never".into()];
        args.extend(options.iter().flat_map(|(name, value)| ["-o".to_string(), format!("{name}={value}")]));
        args.extend(paths);
        let output = tool(args);
        let line = text(&output.stderr);
        assert!(output.status.success(), "{line}");
        Self { disk, line }
    }

    /// The answer to a query of the table `t`, of the Parquet file.
    pub(crate) async fn rows(&self, query: &str) -> Vec<String> {
        let path = self.disk.beside("t.parquet").display().to_string();
        rows(&context(1, 1000), &by_path(query, &path)).await.expect(query)
    }

    /// The schema as Parquet writes it, without what Arrow adds.
    pub(crate) fn schema(&self) -> String {
        use datafusion::parquet::file::reader::{FileReader, SerializedFileReader};
        use datafusion::parquet::schema::printer::print_schema;
        let file = fs::File::open(self.disk.beside("t.parquet")).expect("written");
        let reader = SerializedFileReader::new(file).expect("a Parquet file");
        let mut text = vec![];
        print_schema(&mut text, reader.metadata().file_metadata().schema());
        String::from_utf8(text).expect("UTF-8").split_whitespace().collect::<Vec<_>>().join(" ")
    }
}
