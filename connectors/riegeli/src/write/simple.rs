//! The simple chunk: record sizes, then record values (section 2.2).

use crate::write::chunk::ChunkRecords;
use crate::write::compress::Compressor;
use crate::write::error::WriteError;
use crate::write::varint;

/// The data of a simple chunk.
///
/// # Errors
/// [`WriteError::Compression`].
pub(super) fn encode(records: &ChunkRecords, compressor: &mut Compressor) -> Result<Vec<u8>, WriteError> {
    let mut sizes = Vec::with_capacity(2 * records.len());
    for (begin, end) in records.places() {
        varint::put(&mut sizes, u64::from(end - begin));
    }
    let mut block = Vec::new();
    compressor.compress(&sizes, &mut block)?;
    let mut data = vec![compressor.codec_byte()];
    varint::put(&mut data, block.len() as u64);
    data.append(&mut block);
    compressor.compress(records.data(), &mut data)?;
    Ok(data)
}
