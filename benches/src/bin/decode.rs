//! Decodes bare records (made by `generate`) from memory to Arrow, all columns, once and on one thread, and prints
//! the CPU seconds of it: what `ptars_decode.py` is compared with.
//!
//! ```text
//! cargo run --release -p recordfusion-bench --bin decode -- BARE
//! ```

use arrow::buffer::Buffer;
use recordfusion_bench::{Result, message_type, timed};
use recordfusion_core::{Projection, RecordBlock, ScanCounters};
use recordfusion_protobuf::{ProtobufOptions, RecordDecoder};

/// Records of a batch.
const ROWS: usize = 8192;

fn main() -> Result<()> {
    let path = std::env::args().nth(1).ok_or("usage: decode BARE")?;
    let blocks = blocks(std::fs::read(path)?)?;
    let (seconds, rows) = timed(|| decode(&blocks))?;
    println!("{rows} rows, {seconds:.4} s");
    Ok(())
}

/// The records, without their lengths, as blocks of one batch each.
fn blocks(bare: Vec<u8>) -> Result<Vec<RecordBlock>> {
    let (mut rest, mut places, mut end) = (&bare[..], Vec::new(), 0_usize);
    while let Some((len, others)) = rest.split_first_chunk() {
        let len = u32::from_le_bytes(*len) as usize;
        let begin = end + size_of::<u32>();
        end = begin + len;
        places.push((begin, end));
        rest = others.get(len..).ok_or("the last record is cut short")?;
    }
    let bytes = Buffer::from_vec(bare);
    let block = |places: &[(usize, usize)]| {
        let (first, last) = (places[0].0, places[places.len() - 1].1);
        let places =
            places.iter().map(|(begin, end)| ((begin - first) as u32, (end - first) as u32)).collect();
        let data = bytes.slice_with_length(first, last - first);
        RecordBlock::new(data, places, 0).ok_or_else(|| "a batch of more than 4 GiB".into())
    };
    places.chunks(ROWS).map(block).collect()
}

fn decode(blocks: &[RecordBlock]) -> Result<usize> {
    let decoder = RecordDecoder::open(&[], &ProtobufOptions::from_options(&message_type())?, &[])?;
    let mut scan = decoder.scan(&Projection::all(decoder.schema().fields().len()))?;
    let counters = ScanCounters::default();
    let mut rows = 0;
    for block in blocks {
        rows += scan.decode("records", block, 0..block.len(), &counters)?.batch.num_rows();
    }
    Ok(rows)
}
