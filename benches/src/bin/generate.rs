//! Writes a Riegeli file of benchmark records with the `riegeli` crate, or the bare records, each behind its
//! length in four bytes, little endian.
//!
//! ```text
//! cargo run --release -p recordfusion-bench --bin generate -- FILE RECORDS simple|transposed none|brotli|zstd|snappy
//! cargo run --release -p recordfusion-bench --bin generate -- FILE RECORDS bare
//! ```

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};

use recordfusion_bench::{LogEvents, metadata, writer_options};
use riegeli::{RecordWriter, WriterOptions};

const USAGE: &str =
    "usage: generate FILE RECORDS simple|transposed none|brotli|zstd|snappy, or generate FILE RECORDS bare";

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        [path, records, "bare"] => bare(path, records.parse()?),
        [path, records, layout, codec] => riegeli(path, records.parse()?, writer_options(layout, codec)?),
        _ => Err(USAGE.into()),
    }
}

fn bare(path: &str, records: u64) -> Result<(), Box<dyn Error>> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut events = LogEvents::new(1);
    for _ in 0..records {
        let record = events.next_record();
        file.write_all(&u32::try_from(record.len())?.to_le_bytes())?;
        file.write_all(&record)?;
    }
    Ok(file.flush()?)
}

fn riegeli(path: &str, records: u64, options: WriterOptions) -> Result<(), Box<dyn Error>> {
    let options = options.set_serialized_metadata(metadata()?);
    let mut writer = RecordWriter::new(BufWriter::new(File::create(path)?), options)?;
    let mut events = LogEvents::new(1);
    for _ in 0..records {
        writer.write_record(&events.next_record())?;
    }
    Ok(writer.close()?)
}
