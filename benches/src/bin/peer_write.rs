//! Writes bare records (made by `generate`) as a Riegeli file with the `riegeli` crate: what our writing of the
//! same records from Arrow is compared with, as a whole process.
//!
//! ```text
//! cargo run --release -p recordfusion-bench --bin peer_write -- BARE FILE simple|transposed none|brotli|zstd|snappy
//! ```

use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read};

use recordfusion_bench::{Result, metadata, writer_options};
use riegeli::RecordWriter;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [bare, path, layout, codec] = args.as_slice() else {
        return Err("usage: peer_write BARE FILE simple|transposed none|brotli|zstd|snappy".into());
    };
    let options = writer_options(layout, codec)?.set_serialized_metadata(metadata()?);
    let mut writer = RecordWriter::new(BufWriter::with_capacity(1 << 20, File::create(path)?), options)?;
    let mut records = BufReader::with_capacity(1 << 20, File::open(bare)?);
    let (mut len, mut record) = ([0; 4], Vec::new());
    loop {
        match records.read_exact(&mut len) {
            Ok(()) => {}
            Err(end) if end.kind() == ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error.into()),
        }
        record.resize(u32::from_le_bytes(len) as usize, 0);
        records.read_exact(&mut record)?;
        writer.write_record(&record)?;
    }
    Ok(writer.close()?)
}
