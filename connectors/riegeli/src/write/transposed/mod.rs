//! The transposed chunk: records cut into fields (section 8.5).
//!
//! [`Cut`] turns the records into a sequence of symbols with values. The walk is that sequence backwards:
//! [`Buffers`] takes the values in its order, [`Graph`] what follows what in it, and [`Machine`] makes
//! states and transitions of that.

mod buffers;
mod canonical;
mod cut;
mod graph;
mod machine;
mod pairs;
mod states;
#[cfg(test)]
mod tests;

use crate::fault::ChunkFault;
use crate::transposed::MAX_HEADER_SIZE;
use crate::write::chunk::ChunkRecords;
use crate::write::compress::Compressor;
use crate::write::error::WriteError;
use crate::write::varint;

use buffers::Buffers;
use cut::{Cut, Symbol};
use graph::Graph;
use machine::Machine;

/// The data of a transposed chunk with buckets of about `bucket_size` bytes. Records of too many different fields for
/// a reader are kept whole.
///
/// # Errors
/// [`WriteError::Compression`].
pub(super) fn encode(
    records: &ChunkRecords,
    bucket_size: u64,
    compressor: &mut Compressor,
) -> Result<Vec<u8>, WriteError> {
    let data = Cut::new(records).map(|cut| encode_cut(&cut, records, bucket_size, compressor));
    match data {
        None | Some(Err(WriteError::Chunk(ChunkFault::TooLarge { .. }))) => {
            encode_whole(records, bucket_size, compressor)
        }
        Some(data) => data,
    }
}

/// The same, but the records are kept whole.
///
/// # Errors
/// [`WriteError::Compression`].
pub(super) fn encode_whole(
    records: &ChunkRecords,
    bucket_size: u64,
    compressor: &mut Compressor,
) -> Result<Vec<u8>, WriteError> {
    encode_cut(&Cut::whole(records), records, bucket_size, compressor)
}

/// The data of a chunk of records that are cut.
///
/// # Errors
/// [`WriteError::Compression`]; [`ChunkFault::TooLarge`] for a state machine that no reader of ours takes.
fn encode_cut(
    cut: &Cut,
    records: &ChunkRecords,
    bucket_size: u64,
    compressor: &mut Compressor,
) -> Result<Vec<u8>, WriteError> {
    let buffers = Buffers::new(cut, records.data(), bucket_size);
    let graph = Graph::new(cut.symbols.len(), cut.steps.iter().rev().map(|step| step.symbol));
    let machine = Machine::new(&graph);

    let mut buckets = Vec::new();
    let mut bucket_sizes = Vec::new();
    for bucket in buffers.buckets() {
        let before = buckets.len();
        compressor.compress(bucket, &mut buckets)?;
        bucket_sizes.push((buckets.len() - before) as u64);
    }
    let content = header_content(cut, &buffers, &machine, &bucket_sizes);
    let claimed = content.len() as u64;
    if claimed > MAX_HEADER_SIZE {
        let what = "a transposed header";
        return Err(ChunkFault::TooLarge { what, claimed, limit: MAX_HEADER_SIZE }.into());
    }
    let mut header = Vec::new();
    compressor.compress(&content, &mut header)?;

    let mut data = vec![compressor.codec_byte()];
    varint::put(&mut data, header.len() as u64);
    data.append(&mut header);
    data.append(&mut buckets);
    compressor.compress(&machine.transitions(&graph), &mut data)?;
    Ok(data)
}

/// The header (section 3.3).
fn header_content(cut: &Cut, buffers: &Buffers, machine: &Machine, bucket_sizes: &[u64]) -> Vec<u8> {
    let mut header = Vec::new();
    let mut put = |value: u64| varint::put(&mut header, value);
    let num_states = machine.states.0.len() as u64;
    let symbols: Vec<Option<(Symbol, machine::Exit)>> = machine
        .states
        .0
        .iter()
        .map(|state| {
            let symbol = state.symbol? as usize;
            Some((cut.symbols[symbol], machine.exits[symbol]))
        })
        .collect();

    put(bucket_sizes.len() as u64);
    put(buffers.sizes().count() as u64);
    bucket_sizes.iter().for_each(|&size| put(size));
    buffers.sizes().for_each(&mut put);
    put(num_states);
    for symbol in &symbols {
        put(symbol.map_or(0, |(symbol, _)| u64::from(symbol.code)));
    }
    for (state, symbol) in machine.states.0.iter().zip(&symbols) {
        put(match symbol {
            None => u64::from(state.base),
            Some((_, exit)) if exit.implicit => num_states + u64::from(exit.base),
            Some((_, exit)) => u64::from(exit.base),
        });
    }
    let of_states = symbols.iter().flatten().map(|(symbol, _)| symbol);
    header.extend(of_states.clone().filter_map(|symbol| symbol.subtype));
    for buffer in of_states.filter_map(|symbol| buffers.of_path(symbol.path?)) {
        varint::put(&mut header, u64::from(buffer));
    }
    varint::put(&mut header, u64::from(machine.first));
    header
}
