//! Writes a Riegeli file of benchmark records with the `riegeli` crate.
//!
//! ```text
//! cargo run --release -p recordfusion-bench --bin generate -- FILE RECORDS simple|transposed none|brotli|zstd|snappy
//! ```

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;

use recordfusion_bench::{LogEvents, metadata};
use riegeli::{CompressionType, RecordWriter, WriterOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, records, layout, codec] = args.as_slice() else {
        return Err("usage: generate FILE RECORDS simple|transposed none|brotli|zstd|snappy".into());
    };
    let codec = match codec.as_str() {
        "none" => CompressionType::None,
        "brotli" => CompressionType::Brotli,
        "zstd" => CompressionType::Zstd,
        "snappy" => CompressionType::Snappy,
        other => return Err(format!("unknown codec {other}").into()),
    };
    let options = WriterOptions::new()
        .transpose(layout == "transposed")
        .compression(codec)
        .set_serialized_metadata(metadata()?);
    let mut writer = RecordWriter::new(BufWriter::new(File::create(path)?), options)?;
    let mut events = LogEvents::new(1);
    for _ in 0..records.parse::<u64>()? {
        writer.write_record(&events.next_record())?;
    }
    Ok(writer.close()?)
}
