//! The two framings of Snappy (section 3): the standard one, and an older one that Paddle Fluid writes.

use std::io::{Read, Write};

use crate::checksum::{Checksum, masked};

/// The stream identifier of the standard framing, with its frame header.
const IDENTIFIER: &[u8] = b"\xff\x06\x00\x00sNaPpY";
/// Most bytes of a frame of the standard framing, before compression.
const FRAME: usize = 65_536;
/// The identifier of the older framing.
const OLD_IDENTIFIER: &[u8] = b"snappy\0";
/// Most bytes of a block of the older framing, before compression.
const OLD_BLOCK: usize = 32_768;

/// What is wrong with frames, in words.
pub type FrameResult<T> = Result<T, String>;

/// The decoded bytes of a payload that grows block by block up to a limit.
#[derive(Debug)]
pub struct Output {
    /// The bytes so far.
    pub bytes: Vec<u8>,
    limit: usize,
    exceeded: bool,
}

impl Output {
    /// Takes up to `limit` bytes.
    pub fn new(limit: u32) -> Self {
        Self { bytes: Vec::new(), limit: limit as usize, exceeded: false }
    }

    /// Whether more bytes came than the limit allows.
    pub fn exceeded(&self) -> bool {
        self.exceeded
    }

    /// Adds bytes of a stream, as they come.
    ///
    /// # Errors
    /// What the stream says, and whatever is beyond the limit.
    pub fn fill_from(&mut self, mut stream: impl Read) -> FrameResult<()> {
        const PART: usize = 64 << 10;
        loop {
            let before = self.bytes.len();
            let room = self.limit.saturating_sub(before).saturating_add(1).min(PART);
            self.reserve(room)?;
            let read = stream.by_ref().take(room as u64).read_to_end(&mut self.bytes);
            read.map_err(|error| error.to_string())?;
            if self.bytes.len() > self.limit {
                return Err(self.exceed());
            }
            if self.bytes.len() == before {
                return Ok(());
            }
        }
    }

    /// Fills with one bare block of Snappy, whose size stands first.
    ///
    /// # Errors
    /// Those of Snappy; a size beyond the limit, or beyond what the block can hold.
    pub fn fill_with_block(&mut self, block: &[u8]) -> FrameResult<()> {
        /// The densest element copies 64 bytes and takes 3.
        const MOST_DENSE: usize = 22;
        let len = snap::raw::decompress_len(block).map_err(|error| error.to_string())?;
        if len > self.limit {
            return Err(self.exceed());
        }
        if len > block.len().saturating_mul(MOST_DENSE) {
            return Err(format!("it is too short for {len} bytes"));
        }
        self.bytes = snap::raw::Decoder::new().decompress_vec(block).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn exceed(&mut self) -> String {
        self.exceeded = true;
        "it is too large".to_string()
    }

    fn reserve(&mut self, len: usize) -> FrameResult<()> {
        self.bytes.try_reserve(len).map_err(|error| error.to_string())
    }

    /// Adds a block, checked against its masked checksum.
    fn push_block(
        &mut self,
        decoder: &mut snap::raw::Decoder,
        block: &[u8],
        compressed: bool,
        most: usize,
        sum: u32,
    ) -> FrameResult<()> {
        let len = match compressed {
            true => snap::raw::decompress_len(block).map_err(|error| error.to_string())?,
            false => block.len(),
        };
        if len > most {
            return Err(format!("a block of {len} bytes is more than the {most} that the framing allows"));
        }
        if len > self.limit.saturating_sub(self.bytes.len()) {
            return Err(self.exceed());
        }
        let begin = self.bytes.len();
        self.reserve(len)?;
        if compressed {
            self.bytes.resize(begin.saturating_add(len), 0);
            let out = self.bytes.get_mut(begin..).unwrap_or_default();
            decoder.decompress(block, out).map_err(|error| error.to_string())?;
        } else {
            self.bytes.extend_from_slice(block);
        }
        let found = masked(Checksum::Crc32c.of(self.bytes.get(begin..).unwrap_or_default()));
        if found == sum { Ok(()) } else { Err("wrong checksum of a block".to_string()) }
    }
}

/// Takes `N` bytes off the front.
fn take<const N: usize>(bytes: &mut &[u8]) -> FrameResult<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk().ok_or("it ends inside a block header")?;
    *bytes = rest;
    Ok(*head)
}

/// Takes `len` bytes off the front.
fn take_len<'a>(bytes: &mut &'a [u8], len: usize) -> FrameResult<&'a [u8]> {
    let (head, rest) = bytes.split_at_checked(len).ok_or("it ends inside a block")?;
    *bytes = rest;
    Ok(head)
}

/// Decodes the standard framing. Padding, skippable frames and repeated identifiers are passed over.
///
/// # Errors
/// A stream without identifier, of unknown frames, cut, or with a wrong checksum; more bytes than the limit.
pub fn decode(mut bytes: &[u8], out: &mut Output) -> FrameResult<()> {
    const COMPRESSED: u8 = 0;
    const STORED: u8 = 1;
    if !bytes.starts_with(IDENTIFIER) {
        return Err("it does not begin with the stream identifier".to_string());
    }
    let mut decoder = snap::raw::Decoder::new();
    while !bytes.is_empty() {
        let [kind, low, middle, high] = take(&mut bytes)?;
        let len = u32::from_le_bytes([low, middle, high, 0]) as usize;
        let mut frame = take_len(&mut bytes, len)?;
        match kind {
            COMPRESSED | STORED => {
                let sum = u32::from_le_bytes(take(&mut frame)?);
                out.push_block(&mut decoder, frame, kind == COMPRESSED, FRAME, sum)?;
            }
            0xff if frame == IDENTIFIER.get(4..).unwrap_or_default() => {}
            0xff => return Err("a stream identifier is damaged".to_string()),
            0x80..=0xfe => {}
            0x02..=0x7f => return Err(format!("a frame of the unknown type 0x{kind:02x}")),
        }
    }
    Ok(())
}

/// Decodes the older framing.
///
/// # Errors
/// A stream without identifier, cut, or with a wrong checksum; more bytes than the limit.
pub fn decode_old(mut bytes: &[u8], out: &mut Output) -> FrameResult<()> {
    if !bytes.starts_with(OLD_IDENTIFIER) {
        return Err("it does not begin with the stream identifier".to_string());
    }
    let mut decoder = snap::raw::Decoder::new();
    while !bytes.is_empty() {
        if let Some(rest) = bytes.strip_prefix(OLD_IDENTIFIER) {
            bytes = rest;
            continue;
        }
        let [flag] = take(&mut bytes)?;
        let len = u16::from_be_bytes(take(&mut bytes)?);
        let sum = u32::from_be_bytes(take(&mut bytes)?);
        let block = take_len(&mut bytes, len.into())?;
        if flag > 1 {
            return Err(format!("a block of the unknown kind 0x{flag:02x}"));
        }
        out.push_block(&mut decoder, block, flag == 1, OLD_BLOCK, sum)?;
    }
    Ok(())
}

/// Encodes in the standard framing, with frames as full as they can be.
///
/// # Errors
/// Those of Snappy.
pub fn encode(bytes: &[u8]) -> FrameResult<Vec<u8>> {
    let mut encoder = snap::write::FrameEncoder::new(Vec::new());
    encoder.write_all(bytes).map_err(|error| error.to_string())?;
    encoder.into_inner().map_err(|error| error.to_string())
}

/// Encodes in the older framing. Blocks that save less than an eighth are stored.
///
/// # Errors
/// Those of Snappy.
pub fn encode_old(bytes: &[u8]) -> FrameResult<Vec<u8>> {
    let mut out = OLD_IDENTIFIER.to_vec();
    let mut encoder = snap::raw::Encoder::new();
    for block in bytes.chunks(OLD_BLOCK) {
        let compressed = encoder.compress_vec(block).map_err(|error| error.to_string())?;
        let is_smaller = compressed.len() < block.len().saturating_sub(block.len() / 8);
        let data = if is_smaller { &compressed } else { block };
        out.push(u8::from(is_smaller));
        out.extend(u16::try_from(data.len()).map_err(|error| error.to_string())?.to_be_bytes());
        out.extend(masked(Checksum::Crc32c.of(block)).to_be_bytes());
        out.extend_from_slice(data);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Vec<u8>> {
        let mut state = 1u32;
        let mut noise = |len: usize| -> Vec<u8> {
            (0..len)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 24) as u8
                })
                .collect()
        };
        let mixed = [vec![7; 50_000], noise(50_000), vec![0; 100_000]].concat();
        vec![vec![], b"a".to_vec(), vec![1; 32_768], vec![2; 65_537], noise(70_000), mixed]
    }

    #[test]
    fn both_framings_give_back_what_they_took() {
        for bytes in samples() {
            for (encode, decode) in
                [(encode as fn(&[u8]) -> _, decode as fn(&[u8], &mut Output) -> _), (encode_old, decode_old)]
            {
                let encoded = encode(&bytes).expect("encodes");
                let mut out = Output::new(1 << 20);
                // An empty stream of the standard framing has no identifier, and no chunk has an empty payload.
                if !encoded.is_empty() {
                    decode(&encoded, &mut out).expect("decodes");
                }
                assert!(out.bytes == bytes && !out.exceeded());
                if bytes.len() > 1 {
                    let mut short = Output::new(bytes.len() as u32 - 1);
                    assert!(decode(&encoded, &mut short).is_err() && short.exceeded());
                    assert!(short.bytes.len() < bytes.len());
                }
            }
        }
    }

    #[test]
    fn every_cut_and_every_flip_is_noticed() {
        let bytes =
            b"one text, another text, and one text again: 0123456789, one text, another text".to_vec();
        for (encoded, decode) in [
            (encode(&bytes).expect("encodes"), decode as fn(&[u8], &mut Output) -> _),
            (encode_old(&bytes).expect("encodes"), decode_old),
        ] {
            let decoded = |encoded: &[u8]| {
                let mut out = Output::new(1 << 20);
                decode(encoded, &mut out).map(|()| out.bytes)
            };
            for cut in 0..encoded.len() {
                assert!(decoded(&encoded[..cut]).map_or(true, |found| found.is_empty()), "cut to {cut}");
            }
            for at in 0..encoded.len() {
                let mut damaged = encoded.clone();
                damaged[at] ^= 0x10;
                assert_ne!(decoded(&damaged), Ok(bytes.clone()), "byte {at}");
            }
        }
    }
}
