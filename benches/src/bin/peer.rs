//! Reads a Riegeli file with the `riegeli` crate, which hands out each record as bytes: what our scans are
//! compared with.
//!
//! ```text
//! cargo run --release -p recordfusion-bench --bin peer -- FILE
//! ```

use std::fs::File;
use std::io::BufReader;

use recordfusion_bench::Result;
use riegeli::{ReaderOptions, RecordReader};

fn main() -> Result<()> {
    let path = std::env::args().nth(1).ok_or("usage: peer FILE")?;
    let mut reader = RecordReader::new(BufReader::new(File::open(path)?), ReaderOptions::new())?;
    let (mut records, mut bytes) = (0_u64, 0_u64);
    while let Some(record) = reader.read_record()? {
        records += 1;
        bytes += record.len() as u64;
    }
    println!("{records} records, {bytes} bytes");
    Ok(())
}
