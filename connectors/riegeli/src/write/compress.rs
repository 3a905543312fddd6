//! Writing compressed blocks (section 2.1).

use brotli::enc::StandardAlloc;
use brotli::enc::encode::{BrotliEncoderOperation, BrotliEncoderStateStruct};
use zstd::zstd_safe::{self, CCtx, CParameter};

use crate::write::error::WriteError;
use crate::write::options::Compression;
use crate::write::varint;

/// Base-two logarithm of Brotli's window unless given.
const BROTLI_WINDOW_LOG: u8 = 22;
/// Base-two logarithm of the least window that is chosen: below, the encoder searches in another way.
const BROTLI_LEAST_WINDOW_LOG: i32 = 19;
/// Bytes up to which the encoder takes little memory with any window.
const BROTLI_SMALL: usize = 16 << 10;
/// The largest of the windows that every Brotli decoder knows.
const BROTLI_LARGEST_WINDOW_LOG: i32 = 24;

/// Compresses blocks; keeps the contexts of the algorithms from block to block.
pub(super) struct Compressor {
    compression: Compression,
    zstd: Option<CCtx<'static>>,
    snappy: snap::raw::Encoder,
    scratch: Vec<u8>,
}

impl Compressor {
    pub fn new(compression: Compression) -> Self {
        Self { compression, zstd: None, snappy: snap::raw::Encoder::new(), scratch: Vec::new() }
    }

    /// The byte that chunk data begin with.
    pub fn codec_byte(&self) -> u8 {
        match self.compression {
            Compression::None => 0,
            Compression::Brotli { .. } => b'b',
            Compression::Zstd { .. } => b'z',
            Compression::Snappy => b's',
        }
    }

    /// Appends `bytes` as a block to `out`.
    ///
    /// # Errors
    /// [`WriteError::Compression`].
    pub fn compress(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), WriteError> {
        if self.compression != Compression::None {
            varint::put(out, bytes.len() as u64);
        }
        match self.compression {
            Compression::None => out.extend_from_slice(bytes),
            Compression::Brotli { level, window_log } => {
                compress_brotli(bytes, level, window_log, out)?;
            }
            Compression::Zstd { level, window_log } => {
                self.compress_zstd(bytes, level, window_log)
                    .map_err(|code| failure("zstd", zstd_safe::get_error_name(code)))?;
                out.extend_from_slice(&self.scratch);
            }
            Compression::Snappy => {
                self.scratch.resize(snap::raw::max_compress_len(bytes.len()), 0);
                let compressed = self.snappy.compress(bytes, &mut self.scratch);
                let len = compressed.map_err(|error| failure("snappy", error.to_string()))?;
                out.extend_from_slice(self.scratch.get(..len).unwrap_or_default());
            }
        }
        Ok(())
    }

    /// Compresses `bytes` into the scratch buffer.
    fn compress_zstd(&mut self, bytes: &[u8], level: i32, window_log: Option<u8>) -> Result<(), usize> {
        let context = match &mut self.zstd {
            Some(context) => context,
            empty => {
                let mut context = CCtx::create();
                context.set_parameter(CParameter::CompressionLevel(level))?;
                if let Some(log) = window_log {
                    context.set_parameter(CParameter::WindowLog(u32::from(log)))?;
                }
                empty.insert(context)
            }
        };
        self.scratch.clear();
        self.scratch.reserve(zstd_safe::compress_bound(bytes.len()));
        context.compress2(&mut self.scratch, bytes)?;
        Ok(())
    }
}

fn failure(codec: &'static str, reason: impl Into<String>) -> WriteError {
    WriteError::Compression { codec, reason: reason.into() }
}

/// The encoder allocates its window twice, however little it is given. So a window beyond 4 MiB is not made larger than
/// what is compressed, and one that is not given is as small as gives the same matches.
fn compress_brotli(
    bytes: &[u8],
    level: u8,
    window_log: Option<u8>,
    out: &mut Vec<u8>,
) -> Result<(), WriteError> {
    let needed = bytes.len().next_power_of_two().trailing_zeros() as i32;
    let usual = i32::from(BROTLI_WINDOW_LOG);
    let window_log = match window_log {
        Some(log) => i32::from(log).min(needed.max(usual)),
        None if bytes.len() < BROTLI_SMALL => usual,
        None => needed.clamp(BROTLI_LEAST_WINDOW_LOG, usual),
    };
    let mut state = BrotliEncoderStateStruct::new(StandardAlloc::default());
    state.params.quality = i32::from(level);
    state.params.lgwin = window_log;
    state.params.large_window = state.params.lgwin > BROTLI_LARGEST_WINDOW_LOG;
    state.params.size_hint = bytes.len();
    let (mut available_in, mut read) = (bytes.len(), 0);
    while !state.is_finished() {
        let begin = out.len();
        out.resize(begin + 4096 + available_in / 2, 0);
        let (mut available_out, mut end) = (out.len() - begin, begin);
        let advanced = state.compress_stream(
            BrotliEncoderOperation::BROTLI_OPERATION_FINISH,
            &mut available_in,
            bytes,
            &mut read,
            &mut available_out,
            out,
            &mut end,
            &mut None,
            &mut |_, _, _, _| (),
        );
        out.truncate(end);
        if !advanced {
            return Err(failure("brotli", "the encoder stopped"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_blocks_are_those_of_the_specification() {
        let cases: [(Compression, &[u8], &[u8]); 8] = [
            (Compression::None, b"", b""),
            (Compression::None, b"abc", b"abc"),
            (Compression::BROTLI, b"", &[0x00, 0x3b]),
            (Compression::BROTLI, b"abc", &[0x03, 0x0b, 0x01, 0x80, 0x61, 0x62, 0x63, 0x03]),
            (Compression::ZSTD, b"", &[0x00, 0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x00, 0x01, 0x00, 0x00]),
            (
                Compression::ZSTD,
                b"abc",
                &[0x03, 0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x03, 0x19, 0x00, 0x00, 0x61, 0x62, 0x63],
            ),
            (Compression::Snappy, b"", &[0x00, 0x00]),
            (Compression::Snappy, b"abc", &[0x03, 0x03, 0x08, 0x61, 0x62, 0x63]),
        ];
        for (compression, bytes, expected) in cases {
            let mut compressor = Compressor::new(compression);
            let mut out = b"before".to_vec();
            for _ in 0..2 {
                out.truncate(6);
                compressor.compress(bytes, &mut out).expect("compresses");
                assert_eq!(out, [b"before", expected].concat(), "{compression} {bytes:?}");
            }
        }
    }
}
