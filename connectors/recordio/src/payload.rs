//! From a payload with the right checksum to its records (sections 2 to 4).

use std::borrow::Cow;

use arrow::buffer::Buffer;
use bytes::Bytes;
use recordfusion_core::{Limits, RecordBlock};

use crate::fault::Fault;
use crate::framing::{self, FrameResult, Output};
use crate::header::{ChunkHeader, Codec, LENGTH_LEN, Layout};

/// The records of the chunk that begins at the offset `begin`. They share the payload if it is not compressed, and
/// lie where they were `found` while it was read. The record of index `i` has the position `begin + i`.
///
/// # Errors
/// [`Fault::Decompression`], [`Fault::Limit`], and the faults of records that do not fill the payload exactly.
pub fn decode(
    header: &ChunkHeader,
    reading: (Layout, Codec),
    begin: u64,
    payload: &Bytes,
    found: Option<Places>,
    limits: &Limits,
) -> Result<RecordBlock, Fault> {
    let (data, found) = match decompress(reading, payload, limits)? {
        Cow::Borrowed(_) => (Buffer::from(payload.clone()), found),
        Cow::Owned(bytes) => (Buffer::from_vec(bytes), None),
    };
    let size = data.len() as u64;
    let mut places = match found {
        Some(places) => places,
        None => Places::new(header.count, size)?,
    };
    places.advance(&data);
    let places = places.finish(size)?;
    check_records(&places, limits)?;
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

/// Where records lie, each behind its length, in data that may be still being read.
#[derive(Debug)]
pub struct Places {
    count: u32,
    /// Begin and end of each record whose length is known.
    places: Vec<(u32, u32)>,
    /// Where the next length begins.
    next: usize,
}

impl Places {
    /// For `count` records in `size` bytes.
    ///
    /// # Errors
    /// [`Fault::Count`] if that many do not fit.
    pub fn new(count: u32, size: u64) -> Result<Self, Fault> {
        if u64::from(count) * LENGTH_LEN > size {
            return Err(Fault::Count { claimed: count, size });
        }
        Ok(Self { count, places: Vec::with_capacity(count as usize), next: 0 })
    }

    /// Goes on as far as there are `data`: all that is there so far.
    pub fn advance(&mut self, data: &[u8]) {
        while self.places.len() < self.count as usize
            && let Some(length) = data.get(self.next..).and_then(<[u8]>::first_chunk)
        {
            let begin = self.next.saturating_add(LENGTH_LEN as usize);
            self.next = begin.saturating_add(u32::from_le_bytes(*length) as usize);
            // Exact within the data, whose length the limits keep below 4 GiB.
            self.places.push((begin as u32, self.next as u32));
        }
    }

    /// The places, if the records together are all of the `size` bytes.
    ///
    /// # Errors
    /// [`Fault::RecordCut`], [`Fault::LeftOver`].
    pub fn finish(self, size: u64) -> Result<Vec<(u32, u32)>, Fault> {
        let Self { count, places, next } = self;
        let (known, next) = (places.len() as u32, next as u64);
        if next > size {
            return Err(Fault::RecordCut { index: known.saturating_sub(1), count });
        }
        if known < count {
            return Err(Fault::RecordCut { index: known, count });
        }
        match size.saturating_sub(next) {
            0 => Ok(places),
            left => Err(Fault::LeftOver(left)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places in data that come in parts of `step` bytes.
    fn places_by(step: usize, data: &[u8], count: u32) -> Result<Vec<(u32, u32)>, Fault> {
        let size = data.len() as u64;
        let mut places = Places::new(count, size)?;
        (0..=data.len()).step_by(step).for_each(|end| places.advance(&data[..end]));
        places.advance(data);
        places.finish(size)
    }

    fn places(data: &[u8], count: u32) -> Result<Vec<(u32, u32)>, Fault> {
        let whole = places_by(data.len(), data, count);
        for step in 1..data.len() {
            assert_eq!(places_by(step, data, count), whole, "in parts of {step}");
        }
        whole
    }

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
