//! Compressed blocks: the parts that chunk data consists of (section 2.1).

use arrow::buffer::Buffer;
use brotli::enc::StandardAlloc;
use brotli::{BrotliDecompressStream, BrotliResult, BrotliState};
use bytes::Bytes;
use zstd::zstd_safe::{self, DCtx};

use crate::cursor::Cursor;
use crate::fault::ChunkFault;

/// What a Zstd frame begins with; skippable frames begin otherwise.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The compression algorithm of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// The bytes themselves.
    None,
    /// Brotli, with large windows.
    Brotli,
    /// Zstandard.
    Zstd,
    /// Snappy, the raw format.
    Snappy,
}

impl Codec {
    /// The codec of a chunk whose data begins with `byte`.
    ///
    /// # Errors
    /// [`ChunkFault::UnknownCompression`].
    pub fn from_byte(byte: u8) -> Result<Self, ChunkFault> {
        match byte {
            0 => Ok(Self::None),
            b'b' => Ok(Self::Brotli),
            b'z' => Ok(Self::Zstd),
            b's' => Ok(Self::Snappy),
            other => Err(ChunkFault::UnknownCompression(other)),
        }
    }

    /// The name in lower case; `none` without compression.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Brotli => "brotli",
            Self::Zstd => "zstd",
            Self::Snappy => "snappy",
        }
    }

    /// The most bytes that `len` compressed bytes can hold.
    fn most_decompressed(self, len: u64) -> u64 {
        match self {
            Self::None => len,
            // A meta-block holds at most 16 MiB, and its header alone takes more than 4 bytes.
            Self::Brotli => (len / 4).saturating_add(1).saturating_mul(16 << 20),
            // A block holds at most 128 KiB, and its header takes 3 bytes.
            Self::Zstd => (len / 3).saturating_add(1).saturating_mul(128 << 10),
            // The densest element copies 64 bytes and takes 3.
            Self::Snappy => len.saturating_mul(22),
        }
    }
}

/// A compressed block that is not yet decompressed.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    codec: Codec,
    part: &'static str,
    size: u64,
    body: &'a [u8],
}

impl<'a> Block<'a> {
    /// Splits `bytes` into size prefix and body. `part` names the block in faults.
    ///
    /// # Errors
    /// [`ChunkFault::Ends`] without size prefix; [`ChunkFault::TooLarge`] if the decompressed size is more
    /// than `limit` or more than the body can hold.
    pub fn parse(codec: Codec, bytes: &'a [u8], part: &'static str, limit: u64) -> Result<Self, ChunkFault> {
        let mut cursor = Cursor(bytes);
        let size = match codec {
            Codec::None => cursor.len(),
            _ => cursor.varint64().ok_or(ChunkFault::Ends(part))?,
        };
        let limit = limit.min(codec.most_decompressed(cursor.len()));
        if size > limit {
            return Err(ChunkFault::TooLarge { what: part, claimed: size, limit });
        }
        Ok(Self { codec, part, size, body: cursor.0 })
    }

    /// Bytes after decompression.
    pub fn size(&self) -> u64 {
        self.size
    }

    fn fault(&self, reason: impl Into<String>) -> ChunkFault {
        ChunkFault::Compressed { part: self.part, codec: self.codec.name(), reason: reason.into() }
    }
}

/// Decompresses blocks; keeps the contexts of the algorithms from block to block.
#[derive(Default)]
pub struct Decompressor {
    zstd: Option<DCtx<'static>>,
    snappy: snap::raw::Decoder,
    scratch: Vec<u8>,
    bytes: u64,
}

impl Decompressor {
    /// The decompressed bytes in a buffer of their own; the bytes of `data`, which the block is part of, if
    /// they are not compressed.
    ///
    /// # Errors
    /// [`ChunkFault::Compressed`] if the block is damaged or has another size than its prefix says.
    pub fn decompress_buffer(&mut self, block: Block<'_>, data: &Bytes) -> Result<Buffer, ChunkFault> {
        let size = block.size as usize;
        match block.codec {
            Codec::None => {
                self.bytes = self.bytes.saturating_add(block.size);
                Ok(Buffer::from(data.slice_ref(block.body)))
            }
            Codec::Zstd => {
                // Not cleared before, since Zstd can write to memory that is not initialised.
                let mut out = Vec::with_capacity(size);
                self.decompress_zstd(&block, &mut out)?;
                self.bytes = self.bytes.saturating_add(block.size);
                if out.len() == size { Ok(out.into()) } else { Err(block.fault("the size is wrong")) }
            }
            Codec::Brotli | Codec::Snappy => {
                let mut out = vec![0; size];
                self.decompress_into(block, &mut out)?;
                Ok(out.into())
            }
        }
    }

    /// The decompressed bytes, in a buffer that the next call uses again; not copied if not compressed.
    ///
    /// # Errors
    /// As [`Self::decompress_buffer`].
    pub fn decompress_scratch<'a>(&'a mut self, block: Block<'a>) -> Result<&'a [u8], ChunkFault> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let outcome = self.decompress_to(block, &mut scratch).map(drop);
        self.scratch = scratch;
        outcome.map(|()| if block.codec == Codec::None { block.body } else { &self.scratch[..] })
    }

    /// The decompressed bytes, in the memory of `scratch`; not copied if not compressed.
    ///
    /// # Errors
    /// As [`Self::decompress_buffer`].
    pub fn decompress_to<'a>(
        &mut self,
        block: Block<'a>,
        scratch: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], ChunkFault> {
        if block.codec == Codec::None {
            self.bytes = self.bytes.saturating_add(block.size);
            return Ok(block.body);
        }
        scratch.resize(block.size as usize, 0);
        self.decompress_into(block, scratch)?;
        Ok(scratch)
    }

    /// Decompresses a block into `out`, which has exactly [`Block::size`] bytes.
    ///
    /// # Errors
    /// As [`Self::decompress_buffer`].
    pub fn decompress_into(&mut self, block: Block<'_>, out: &mut [u8]) -> Result<(), ChunkFault> {
        let written = match block.codec {
            Codec::None if out.len() == block.body.len() => {
                out.copy_from_slice(block.body);
                out.len()
            }
            Codec::None => 0,
            Codec::Brotli => decompress_brotli(&block, out)?,
            Codec::Zstd => self.decompress_zstd(&block, out)?,
            Codec::Snappy => {
                self.snappy.decompress(block.body, out).map_err(|error| block.fault(error.to_string()))?
            }
        };
        self.bytes = self.bytes.saturating_add(block.size);
        if written == out.len() { Ok(()) } else { Err(block.fault("the size is wrong")) }
    }

    /// Bytes decompressed since the last call, those of uncompressed blocks included.
    pub fn take_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.bytes)
    }

    fn decompress_zstd<B>(&mut self, block: &Block<'_>, out: &mut B) -> Result<usize, ChunkFault>
    where
        B: zstd_safe::WriteBuf + ?Sized,
    {
        let fault = |code| block.fault(zstd_safe::get_error_name(code));
        let frame = zstd_safe::find_frame_compressed_size(block.body).map_err(fault)?;
        if !block.body.starts_with(&ZSTD_MAGIC) || frame != block.body.len() {
            return Err(block.fault("it is not one whole frame"));
        }
        let context = self.zstd.get_or_insert_with(DCtx::create);
        context.decompress(out, block.body).map_err(fault)
    }
}

/// Brotli allocates its window cleared, so that only the part that is used costs memory.
fn decompress_brotli(block: &Block<'_>, out: &mut [u8]) -> Result<usize, ChunkFault> {
    let alloc = StandardAlloc::default;
    let mut state = BrotliState::new(alloc(), alloc(), alloc());
    let (mut available_in, mut read) = (block.body.len(), 0);
    let (mut available_out, mut written, mut total) = (out.len(), 0, 0);
    let result = BrotliDecompressStream(
        &mut available_in,
        &mut read,
        block.body,
        &mut available_out,
        &mut written,
        out,
        &mut total,
        &mut state,
    );
    match result {
        BrotliResult::ResultSuccess if available_in == 0 => Ok(written),
        BrotliResult::ResultSuccess => Err(block.fault("bytes are left over")),
        BrotliResult::NeedsMoreInput => Err(block.fault("it ends too early")),
        BrotliResult::NeedsMoreOutput => Err(block.fault("the size is wrong")),
        BrotliResult::ResultFailure => Err(block.fault("invalid data")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLES: [(u8, &[u8], &[u8]); 8] = [
        (0, b"", b""),
        (0, b"abc", b"abc"),
        (b'b', &[0x00, 0x3b], b""),
        (b'b', &[0x03, 0x0b, 0x01, 0x80, 0x61, 0x62, 0x63, 0x03], b"abc"),
        (b'z', &[0x00, 0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x00, 0x01, 0x00, 0x00], b""),
        (b'z', &[0x03, 0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x03, 0x19, 0x00, 0x00, 0x61, 0x62, 0x63], b"abc"),
        (b's', &[0x00, 0x00], b""),
        (b's', &[0x03, 0x03, 0x08, 0x61, 0x62, 0x63], b"abc"),
    ];

    fn decompress(codec: u8, bytes: &[u8]) -> Result<Vec<u8>, ChunkFault> {
        let data = Bytes::copy_from_slice(bytes);
        let block = Block::parse(Codec::from_byte(codec)?, &data, "values", 1000)?;
        let mut decompressor = Decompressor::default();
        let mut whole = vec![0; block.size() as usize];
        decompressor.decompress_into(block, &mut whole)?;
        assert_eq!(decompressor.decompress_buffer(block, &data)?.as_slice(), whole);
        assert_eq!(decompressor.decompress_scratch(block)?, whole);
        assert_eq!(decompressor.take_bytes(), 3 * whole.len() as u64);
        Ok(whole)
    }

    #[test]
    fn blocks_of_the_specification_decompress() {
        for (codec, bytes, expected) in SAMPLES {
            assert_eq!(decompress(codec, bytes).as_deref(), Ok(expected), "{codec} {bytes:02x?}");
        }
    }

    #[test]
    fn a_block_is_taken_whole_or_not_at_all() {
        for (codec, bytes, _) in SAMPLES.into_iter().filter(|(codec, ..)| *codec != 0) {
            for cut in 0..bytes.len() {
                assert!(decompress(codec, &bytes[..cut]).is_err(), "{codec} {bytes:02x?} cut to {cut}");
            }
            assert!(decompress(codec, &[bytes, &[0]].concat()).is_err(), "{codec} {bytes:02x?} and a byte");
            assert!(decompress(codec, &[bytes, &bytes[1..]].concat()).is_err(), "{codec} {bytes:02x?} twice");
            for size in [bytes[0].wrapping_sub(1), bytes[0] + 1] {
                let other = [&[size], &bytes[1..]].concat();
                assert!(decompress(codec, &other).is_err(), "{codec} {other:02x?}");
            }
        }
    }

    #[test]
    fn a_size_that_the_body_cannot_hold_is_refused() {
        for (codec, most) in [(Codec::Brotli, 16 << 20), (Codec::Zstd, 128 << 10), (Codec::Snappy, 0)] {
            let claim = [0xff, 0xff, 0xff, 0xff, 0x0f];
            let found = Block::parse(codec, &claim, "values", u64::MAX).map(|block| block.size());
            assert_eq!(
                found,
                Err(ChunkFault::TooLarge { what: "values", claimed: 0xffff_ffff, limit: most })
            );
        }
    }

    #[test]
    fn skippable_frames_are_refused() {
        let skippable = [0x00, 0x50, 0x2a, 0x4d, 0x18, 0x00, 0x00, 0x00, 0x00];
        assert!(decompress(b'z', &skippable).is_err());
    }
}
