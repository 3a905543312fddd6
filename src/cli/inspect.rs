//! `inspect`: what a file is made of.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::Args;
use recordfusion_core::{ChunkSummary, Inspection, OnCorruption};
use serde_json::{Value, json};

use super::Outcome;
use super::session::{TableArgs, context, record_file};
use super::table::width;
use super::terminal::{Content, in_one_line, show};

/// Show what a file is made of: chunks, sizes, codecs, metadata
#[derive(Debug, Args)]
pub(super) struct Inspect {
    /// The file
    file: String,
    /// Print a line for each chunk
    #[arg(long)]
    chunks: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Chunks of one kind and codec.
#[derive(Default)]
struct Group {
    chunks: u64,
    records: u64,
    data_size: u64,
    decoded_size: u64,
}

impl Inspect {
    pub(super) async fn run(self) -> Outcome {
        let ctx = context(&TableArgs::default(), 1)?;
        let (file, connector) = record_file(&ctx, &self.file, OnCorruption::Error).await?;
        let inspection = connector.inspect(&file).await?;
        match self.json {
            true => show(Content::Json, format!("{:#}\n", as_json(&inspection, self.chunks))).await?,
            false => show(Content::Text, as_text(&inspection, self.chunks)).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn groups(inspection: &Inspection) -> BTreeMap<(&str, &str), Group> {
    let mut groups = BTreeMap::<_, Group>::new();
    for chunk in &inspection.chunks {
        let group = groups.entry((chunk.kind.as_str(), chunk.codec.as_str())).or_default();
        group.chunks += 1;
        group.records += chunk.records;
        group.data_size += chunk.data_size;
        group.decoded_size += chunk.decoded_size;
    }
    groups
}

/// Decoded bytes for each byte of the file.
fn ratio(inspection: &Inspection) -> f64 {
    inspection.decoded_size as f64 / inspection.size.max(1) as f64
}

fn as_text(inspection: &Inspection, each_chunk: bool) -> String {
    let mut rows = vec![
        ("kind", inspection.kind.clone()),
        ("size", format!("{} bytes", inspection.size)),
        ("records", inspection.records.to_string()),
        ("decoded size", format!("{} bytes", inspection.decoded_size)),
        ("ratio", format!("{:.2}", ratio(inspection))),
        ("chunks", inspection.chunks.len().to_string()),
    ];
    rows.extend(inspection.metadata.iter().map(|(name, value)| (name.as_str(), value.clone())));
    let row = |(name, value): &(&str, String)| format!("{:<18} {}\n", format!("{name}:"), in_one_line(value));
    let mut text: String = rows.iter().map(row).collect();
    text.push('\n');
    let lines: Vec<[String; 6]> = match each_chunk {
        true => inspection.chunks.iter().map(chunk_cells).collect(),
        false => groups(inspection).iter().map(group_cells).collect(),
    };
    let first = if each_chunk { ["begin", "kind"] } else { ["kind", "chunks"] };
    let head = [first[0], first[1], "codec", "records", "data size", "decoded size"].map(String::from);
    text.push_str(&aligned(&head, &lines));
    text
}

fn chunk_cells(chunk: &ChunkSummary) -> [String; 6] {
    [
        chunk.begin.to_string(),
        chunk.kind.clone(),
        chunk.codec.clone(),
        chunk.records.to_string(),
        chunk.data_size.to_string(),
        chunk.decoded_size.to_string(),
    ]
}

fn group_cells(((kind, codec), group): (&(&str, &str), &Group)) -> [String; 6] {
    [
        (*kind).to_string(),
        group.chunks.to_string(),
        (*codec).to_string(),
        group.records.to_string(),
        group.data_size.to_string(),
        group.decoded_size.to_string(),
    ]
}

/// Cells in columns: texts to the left, numbers to the right.
fn aligned(head: &[String; 6], lines: &[[String; 6]]) -> String {
    let all = || std::iter::once(head).chain(lines);
    let longest = |column: usize| all().map(|line| width(&line[column])).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(longest);
    let is_number: [bool; 6] = std::array::from_fn(|column| {
        lines.iter().all(|line| line[column].bytes().all(|byte| byte.is_ascii_digit()))
    });
    let row = |line: &[String; 6]| {
        let cell = |column: usize| {
            let (text, padding) = (&line[column], " ".repeat(widths[column] - width(&line[column])));
            if is_number[column] { format!("{padding}{text}") } else { format!("{text}{padding}") }
        };
        let cells: Vec<String> = (0..6).map(cell).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    all().map(row).collect()
}

fn as_json(inspection: &Inspection, each_chunk: bool) -> Value {
    let groups: Vec<Value> = groups(inspection)
        .iter()
        .map(|((kind, codec), group)| {
            json!({
                "kind": kind, "codec": codec, "chunks": group.chunks, "records": group.records,
                "data_size": group.data_size, "decoded_size": group.decoded_size,
            })
        })
        .collect();
    let metadata: serde_json::Map<String, Value> =
        inspection.metadata.iter().map(|(name, value)| (name.replace(' ', "_"), json!(value))).collect();
    let mut value = json!({
        "kind": inspection.kind, "size": inspection.size, "records": inspection.records,
        "decoded_size": inspection.decoded_size, "ratio": ratio(inspection),
        "metadata": metadata, "chunk_groups": groups,
    });
    if each_chunk {
        let chunk = |chunk: &ChunkSummary| {
            json!({
                "begin": chunk.begin, "end": chunk.end, "kind": chunk.kind, "codec": chunk.codec,
                "records": chunk.records, "data_size": chunk.data_size, "decoded_size": chunk.decoded_size,
            })
        };
        value["chunks"] = inspection.chunks.iter().map(chunk).collect();
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The widths are found once for all lines: this many would take minutes otherwise.
    #[test]
    fn many_chunks_are_listed_in_time() {
        let chunk = |index: u64| ChunkSummary {
            begin: index,
            end: index + 1,
            kind: "simple".to_string(),
            codec: if index.is_multiple_of(2) { "-" } else { "zstd" }.to_string(),
            records: index % 10,
            data_size: index * 7,
            decoded_size: 1,
        };
        let inspection = Inspection { chunks: (0..200_000).map(chunk).collect(), ..Inspection::default() };
        let text = as_text(&inspection, true);
        let lines: Vec<&str> = text.lines().skip_while(|line| !line.is_empty()).skip(1).collect();
        assert_eq!(lines.len(), 200_001);
        assert_eq!(lines[0], " begin  kind    codec  records  data size  decoded size");
        assert_eq!(lines[1], "     0  simple  -            0          0             1");
        assert_eq!(lines[200_000], "199999  simple  zstd         9    1399993             1");
    }
}
