//! The simple chunk: record sizes, then record values (section 2.2).

use bytes::Bytes;
use recordfusion_core::RecordBlock;

use crate::compression::{Block, Codec, Decompressor};
use crate::cursor::Cursor;
use crate::fault::{ChunkFault, MAX_CHUNK_SIZE};
use crate::header::ChunkHeader;

/// Decodes the data of a simple chunk that begins at `begin`. Values that are not compressed are not copied.
///
/// The header has passed [`ChunkHeader::kind`], which bounds its sizes.
///
/// # Errors
/// The checks of section 2.2.
pub fn decode(
    header: &ChunkHeader,
    begin: u64,
    data: &Bytes,
    decompressor: &mut Decompressor,
) -> Result<RecordBlock, ChunkFault> {
    let mut cursor = Cursor(data);
    let codec = Codec::from_byte(cursor.byte().ok_or(ChunkFault::Ends("the compression type"))?)?;
    let sizes_size = cursor.varint64().ok_or(ChunkFault::Ends("the length of the record sizes"))?;
    let sizes = cursor.take(sizes_size).ok_or(ChunkFault::Ends("the record sizes"))?;
    let limit = header.num_records.saturating_mul(10).min(MAX_CHUNK_SIZE);
    let sizes = Block::parse(codec, sizes, "the record sizes", limit)?;
    let places = places(decompressor.decompress_scratch(sizes)?, header)?;

    let values = Block::parse(codec, cursor.0, "the record values", header.decoded_data_size)?;
    if values.size() != header.decoded_data_size {
        return Err(ChunkFault::SizeSum(header.decoded_data_size));
    }
    let values = decompressor.decompress_buffer(values, data)?;
    RecordBlock::new(values, places, begin).ok_or(ChunkFault::SizeSum(header.decoded_data_size))
}

/// Begin and end of each record, from the record sizes.
fn places(sizes: &[u8], header: &ChunkHeader) -> Result<Vec<(u32, u32)>, ChunkFault> {
    let mut sizes = Cursor(sizes);
    // A size takes at least one byte, so that the bytes that are there bound the allocation.
    if header.num_records > sizes.len() {
        return Err(ChunkFault::RecordCount(header.num_records));
    }
    let wrong_sum = ChunkFault::SizeSum(header.decoded_data_size);
    let total = u32::try_from(header.decoded_data_size).map_err(|_| wrong_sum.clone())?;
    let mut places = Vec::with_capacity(header.num_records as usize);
    let mut begin = 0u32;
    for _ in 0..header.num_records {
        let size = sizes.varint64().ok_or(ChunkFault::Ends("the record sizes"))?;
        let end = u32::try_from(size).ok().and_then(|size| begin.checked_add(size));
        let Some(end) = end.filter(|end| *end <= total) else { return Err(wrong_sum) };
        places.push((begin, end));
        begin = end;
    }
    if !sizes.is_empty() {
        return Err(ChunkFault::Trailing("the record sizes"));
    }
    if begin == total { Ok(places) } else { Err(wrong_sum) }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Records = Vec<Vec<u8>>;

    fn decode_chunk(data: &[u8], num_records: u64, decoded_data_size: u64) -> Result<Records, ChunkFault> {
        let header = ChunkHeader {
            data_size: data.len() as u64,
            data_hash: 0,
            chunk_type: b'r',
            num_records,
            decoded_data_size,
        };
        let data = Bytes::copy_from_slice(data);
        let block = decode(&header, 64, &data, &mut Decompressor::default())?;
        assert_eq!(block.position(0), 64);
        Ok(block.records().map(<[u8]>::to_vec).collect())
    }

    #[test]
    fn chunks_of_the_specification_decode() {
        let empty = vec![vec![]];
        let cases: [(&[u8], u64, Records); 6] = [
            (&[0x00, 0x01, 0x03, 0x61, 0x62, 0x63], 3, vec![b"abc".to_vec()]),
            (&[0x00, 0x00], 0, vec![]),
            (&[0x00, 0x01, 0x00], 0, empty.clone()),
            (&[0x62, 0x06, 0x01, 0x0b, 0x00, 0x80, 0x00, 0x03, 0x00, 0x3b], 0, empty.clone()),
            (
                &[
                    0x7a, 0x0b, 0x01, 0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x01, 0x09, 0x00, 0x00, 0x00, 0x00, 0x28,
                    0xb5, 0x2f, 0xfd, 0x20, 0x00, 0x01, 0x00, 0x00,
                ],
                0,
                empty.clone(),
            ),
            (&[0x73, 0x04, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00], 0, empty),
        ];
        for (data, decoded_size, records) in cases {
            let count = records.len() as u64;
            assert_eq!(decode_chunk(data, count, decoded_size), Ok(records), "{data:02x?}");
        }
    }

    #[test]
    fn contradictions_are_named() {
        let long = [0x00, 0x02, 0x01, 0x02, 0x61, 0x62, 0x63];
        let cases: [(&[u8], u64, u64, ChunkFault); 9] = [
            (&[], 1, 3, ChunkFault::Ends("the compression type")),
            (&[0x01], 1, 3, ChunkFault::UnknownCompression(1)),
            (&[0x00, 0x80], 1, 3, ChunkFault::Ends("the length of the record sizes")),
            (&[0x00, 0x05, 0x03], 1, 3, ChunkFault::Ends("the record sizes")),
            (&long, 3, 3, ChunkFault::RecordCount(3)),
            (&long, 1, 3, ChunkFault::Trailing("the record sizes")),
            (&long, 2, 2, ChunkFault::SizeSum(2)),
            (&long, 2, 4, ChunkFault::SizeSum(4)),
            (&[0x00, 0x02, 0x01, 0x02, 0x61, 0x62], 2, 3, ChunkFault::SizeSum(3)),
        ];
        for (data, num_records, decoded_size, fault) in cases {
            assert_eq!(decode_chunk(data, num_records, decoded_size), Err(fault), "{data:02x?}");
        }
        let too_long = decode_chunk(&[0x00, 0x01, 0x03, 0x61, 0x62, 0x63, 0x64], 1, 3);
        assert_eq!(too_long, Err(ChunkFault::TooLarge { what: "the record values", claimed: 4, limit: 3 }));
    }
}
