//! From a payload with the right checksum to its records (sections 2 to 4).

use std::borrow::Cow;

use arrow::buffer::Buffer;
use bytes::Bytes;
use recordfusion_core::{Limits, RecordBlock};

use crate::fault::Fault;
use crate::framing::{self, FrameResult, Output};
use crate::header::{ChunkHeader, Codec, LENGTH_LEN, Layout};

/// The records of the chunk that begins at the offset `begin`. They share the payload if it is not compressed. The
/// record of index `i` has the position `begin + i`.
///
/// # Errors
/// [`Fault::Decompression`], [`Fault::Limit`], and the faults of records that do not fill the payload exactly.
pub fn decode(
    header: &ChunkHeader,
    reading: (Layout, Codec),
    begin: u64,
    payload: &Bytes,
    limits: &Limits,
) -> Result<RecordBlock, Fault> {
    let data = match decompress(reading, payload, limits)? {
        Cow::Borrowed(_) => Buffer::from(payload.clone()),
        Cow::Owned(bytes) => Buffer::from_vec(bytes),
    };
    let places = places(&data, header.count)?;
    check_records(&places, limits)?;
    let size = data.len() as u64;
    RecordBlock::new(data, places, begin).ok_or(Fault::Count { claimed: header.count, size })
}

/// The payload without its compression.
fn decompress<'a>(
    (layout, codec): (Layout, Codec),
    payload: &'a [u8],
    limits: &Limits,
) -> Result<Cow<'a, [u8]>, Fault> {
    let mut out = Output::new(u32::try_from(limits.decoded_chunk).unwrap_or(u32::MAX));
    let result = match (layout, codec) {
        (_, Codec::None) => return Ok(Cow::Borrowed(payload)),
        (Layout::Go, Codec::Snappy) => framing::decode(payload, &mut out),
        (Layout::Fluid, Codec::Snappy) => framing::decode_old(payload, &mut out),
        (Layout::Elastic, Codec::Snappy) => out.fill_with_block(payload),
        (_, Codec::Gzip) => out.fill_from(flate2::bufread::MultiGzDecoder::new(payload)),
    };
    decompressed(result, out, codec, limits).map(Cow::Owned)
}

fn decompressed(
    result: FrameResult<()>,
    out: Output,
    codec: Codec,
    limits: &Limits,
) -> Result<Vec<u8>, Fault> {
    match result {
        Ok(()) => Ok(out.bytes),
        Err(_) if out.exceeded() => Err(Fault::Limit {
            what: "the decompressed payload".to_string(),
            limit: limits.decoded_chunk,
            option: Limits::DECODED_CHUNK,
        }),
        Err(reason) => Err(Fault::Decompression { codec: codec.name(), reason }),
    }
}

fn check_records(places: &[(u32, u32)], limits: &Limits) -> Result<(), Fault> {
    let longest = places.iter().map(|(begin, end)| u64::from(end.saturating_sub(*begin))).max();
    match longest.filter(|len| *len > limits.record) {
        None => Ok(()),
        Some(len) => Err(Fault::Limit {
            what: format!("a record of {len} bytes"),
            limit: limits.record,
            option: Limits::RECORD,
        }),
    }
}

/// Begin and end of `count` records, each behind its length, which together are all of `data`.
fn places(data: &[u8], count: u32) -> Result<Vec<(u32, u32)>, Fault> {
    let size = data.len() as u64;
    if u64::from(count) * LENGTH_LEN > size {
        return Err(Fault::Count { claimed: count, size });
    }
    let mut places = Vec::with_capacity(count as usize);
    let mut rest = data;
    let mut begin = 0u32;
    for index in 0..count {
        let cut = Fault::RecordCut { index, count };
        let Some((length, behind)) = rest.split_first_chunk() else { return Err(cut) };
        let length = u32::from_le_bytes(*length);
        let Some(behind) = behind.get(length as usize..) else { return Err(cut) };
        begin = begin.saturating_add(LENGTH_LEN as u32);
        // Within the data, whose length the limits keep below 4 GiB.
        let end = begin.saturating_add(length);
        places.push((begin, end));
        begin = end;
        rest = behind;
    }
    if rest.is_empty() { Ok(places) } else { Err(Fault::LeftOver(rest.len() as u64)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_fill_the_payload_exactly() {
        let data = b"\x05\0\0\0Hello\0\0\0\0\x06\0\0\0World!";
        assert_eq!(places(data, 3), Ok(vec![(4, 9), (13, 13), (17, 23)]));
        assert_eq!(places(data, 2), Err(Fault::LeftOver(10)));
        assert_eq!(places(data, 4), Err(Fault::RecordCut { index: 3, count: 4 }));
        assert_eq!(places(data, 6), Err(Fault::Count { claimed: 6, size: 23 }));
        assert_eq!(places(&data[..22], 3), Err(Fault::RecordCut { index: 2, count: 3 }));
        assert_eq!(places(b"\xff\xff\xff\xff", 1), Err(Fault::RecordCut { index: 0, count: 1 }));
        assert_eq!(places(b"\0\0\0\0\0\0\0\0", 2), Ok(vec![(4, 4), (8, 8)]));
    }
}
