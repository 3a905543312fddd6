//! Writes a Riegeli file of benchmark records with the `riegeli` crate, the bare records, each behind its
//! length in four bytes, little endian, or the records' `FileDescriptorSet`.
//!
//! ```text
//! cargo run --release -p recordfusion-bench --bin generate -- FILE RECORDS simple|transposed none|brotli|zstd|snappy [BUCKET_FRACTION]
//! cargo run --release -p recordfusion-bench --bin generate -- FILE RECORDS bare
//! cargo run --release -p recordfusion-bench --bin generate -- FILE descriptors
//! ```

use std::fs::File;
use std::io::{BufWriter, Write};

use recordfusion_bench::{LogEvents, Result, descriptor_set, metadata, writer_options};
use riegeli::{RecordWriter, WriterOptions};

const USAGE: &str = "usage: generate FILE RECORDS simple|transposed none|brotli|zstd|snappy [BUCKET_FRACTION], \
                     or generate FILE RECORDS bare, or generate FILE descriptors";

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        [path, "descriptors"] => Ok(std::fs::write(path, descriptor_set()?)?),
        [path, records, "bare"] => bare(path, records.parse()?),
        [path, records, layout, codec] => riegeli(path, records.parse()?, writer_options(layout, codec)?),
        [path, records, layout, codec, fraction] => {
            let options = writer_options(layout, codec)?.bucket_fraction(fraction.parse()?);
            riegeli(path, records.parse()?, options)
        }
        _ => Err(USAGE.into()),
    }
}

fn bare(path: &str, records: u64) -> Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut events = LogEvents::new(1);
    for _ in 0..records {
        let record = events.next_record();
        file.write_all(&u32::try_from(record.len())?.to_le_bytes())?;
        file.write_all(&record)?;
    }
    Ok(file.flush()?)
}

fn riegeli(path: &str, records: u64, options: WriterOptions) -> Result<()> {
    let options = options.set_serialized_metadata(metadata()?);
    let mut writer = RecordWriter::new(BufWriter::new(File::create(path)?), options)?;
    let mut events = LogEvents::new(1);
    for _ in 0..records {
        writer.write_record(&events.next_record())?;
    }
    Ok(writer.close()?)
}
