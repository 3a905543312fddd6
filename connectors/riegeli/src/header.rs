//! Block headers and chunk headers (sections 1.3, 1.4, 1.6 and 1.7).

use recordfusion_core::Limits;

use crate::fault::{ChunkFault, Fault, MAX_CHUNK_RECORDS, MAX_CHUNK_SIZE, MAX_METADATA_SIZE};
use crate::hash::hash;
use crate::position::{BLOCK_HEADER, CHUNK_HEADER, add, chunk_end, is_chunk_boundary, remaining};

/// Bytes that tell where a record is in its chunk.
const PLACE_SIZE: u64 = 8;

/// The bytes that every file begins with: a block header and the signature chunk.
pub const SIGNATURE: [u8; 64] = [
    0x83, 0xaf, 0x70, 0xd1, 0x0d, 0x88, 0x4a, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0, //
    0x40, 0, 0, 0, 0, 0, 0, 0, 0x91, 0xba, 0xc2, 0x3c, 0x92, 0x87, 0xe1, 0xa9, //
    0, 0, 0, 0, 0, 0, 0, 0, 0xe1, 0x9f, 0x13, 0xc0, 0xe9, 0xb1, 0xc3, 0x72, //
    b's', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
];

/// The header at a block boundary; tells which chunk it interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockHeader {
    /// Bytes from the beginning of the interrupted chunk to the block; 0 if the chunk begins there.
    pub previous_chunk: u64,
    /// Bytes from the block to the end of that chunk.
    pub next_chunk: u64,
}

impl BlockHeader {
    /// Parses the header of the block at `block`.
    ///
    /// # Errors
    /// [`Fault::BlockHeaderHash`]; [`Fault::TruncatedHeader`] if `bytes` is not 24 bytes long.
    pub fn parse(block: u64, bytes: &[u8]) -> Result<Self, Fault> {
        let words = words::<3>(bytes).ok_or(Fault::TruncatedHeader)?;
        if bytes.get(8..).map(hash) != Some(words[0]) {
            return Err(Fault::BlockHeaderHash { block });
        }
        Ok(Self { previous_chunk: words[1], next_chunk: words[2] })
    }

    /// Checks that the header interrupts the chunk that begins at `begin`.
    ///
    /// # Errors
    /// [`Fault::PreviousChunk`].
    pub fn check_begin(&self, block: u64, begin: u64) -> Result<(), Fault> {
        if block.checked_sub(self.previous_chunk) == Some(begin) {
            Ok(())
        } else {
            Err(Fault::PreviousChunk { block, next_chunk: self.next_chunk })
        }
    }

    /// Checks that the chunk ends at `end`.
    ///
    /// # Errors
    /// [`Fault::NextChunk`].
    pub fn check_end(&self, block: u64, end: u64) -> Result<(), Fault> {
        if block.checked_add(self.next_chunk) == Some(end) { Ok(()) } else { Err(Fault::NextChunk { block }) }
    }

    /// The first chunk that begins at or behind `block`, or `None` if the distances are impossible.
    pub fn first_chunk(&self, block: u64) -> Option<u64> {
        let begin = block.checked_sub(self.previous_chunk).filter(|&begin| is_chunk_boundary(begin))?;
        let end = block.checked_add(self.next_chunk)?;
        let possible = self.next_chunk > 0 && is_chunk_boundary(end);
        possible.then_some(if begin == block { block } else { end })
    }
}

/// What a chunk is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkKind {
    /// The file signature.
    Signature,
    /// The file metadata.
    Metadata,
    /// Nothing but room.
    Padding,
    /// Records one after another.
    Simple,
    /// Records cut into fields.
    Transposed,
    /// A type without meaning and without records, to be passed over.
    Unknown,
}

/// The header of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkHeader {
    /// Bytes of chunk data, without block headers.
    pub data_size: u64,
    /// Hash of the chunk data.
    pub data_hash: u64,
    /// The byte that stands for the kind of chunk.
    pub chunk_type: u8,
    /// Number of records.
    pub num_records: u64,
    /// Sum of the record sizes in bytes.
    pub decoded_data_size: u64,
}

impl ChunkHeader {
    /// Parses the 40 bytes of a chunk header.
    ///
    /// # Errors
    /// [`Fault::ChunkHeaderHash`]; [`Fault::TruncatedHeader`] if `bytes` is not 40 bytes long.
    pub fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let words = words::<5>(bytes).ok_or(Fault::TruncatedHeader)?;
        if bytes.get(8..).map(hash) != Some(words[0]) {
            return Err(Fault::ChunkHeaderHash);
        }
        Ok(Self {
            data_size: words[1],
            data_hash: words[2],
            chunk_type: words[3] as u8,
            num_records: words[3] >> 8,
            decoded_data_size: words[4],
        })
    }

    /// The kind of chunk, if the header has nothing that this kind must not have, and no size beyond
    /// [`MAX_CHUNK_SIZE`], [`MAX_CHUNK_RECORDS`] and [`MAX_METADATA_SIZE`].
    ///
    /// # Errors
    /// [`ChunkFault::UnknownType`], [`ChunkFault::MustBeEmpty`], [`ChunkFault::TooLarge`].
    pub fn kind(&self) -> Result<ChunkKind, ChunkFault> {
        let empty = |kind, content, size: u64| match size {
            0 => Ok(()),
            _ => Err(ChunkFault::MustBeEmpty { kind, content }),
        };
        match self.chunk_type {
            b's' => {
                empty("signature", "records", self.num_records)?;
                empty("signature", "data", self.data_size | self.decoded_data_size)?;
                Ok(ChunkKind::Signature)
            }
            b'm' => {
                empty("metadata", "records", self.num_records)?;
                self.check_sizes(MAX_METADATA_SIZE)?;
                Ok(ChunkKind::Metadata)
            }
            b'p' => {
                empty("padding", "records", self.num_records)?;
                empty("padding", "decoded data", self.decoded_data_size)?;
                Ok(ChunkKind::Padding)
            }
            b'r' => self.check_sizes(MAX_CHUNK_SIZE).map(|()| ChunkKind::Simple),
            b't' => self.check_sizes(MAX_CHUNK_SIZE).map(|()| ChunkKind::Transposed),
            _ if self.num_records == 0 => Ok(ChunkKind::Unknown),
            other => Err(ChunkFault::UnknownType(other)),
        }
    }

    /// Checks that the chunk takes no more memory than the options allow. Where the records are is told in 8 bytes
    /// each.
    ///
    /// # Errors
    /// [`ChunkFault::Limit`].
    pub fn check_limits(&self, limits: &Limits) -> Result<(), ChunkFault> {
        let check = |what, claimed, limit, option| {
            if claimed > limit { Err(ChunkFault::Limit { what, claimed, limit, option }) } else { Ok(()) }
        };
        let table = self.num_records.saturating_mul(PLACE_SIZE);
        check("chunk data", self.data_size, limits.chunk, Limits::CHUNK)?;
        check("decoded data", self.decoded_data_size, limits.decoded_chunk, Limits::DECODED_CHUNK)?;
        check("places of records", table, limits.decoded_chunk, Limits::DECODED_CHUNK)
    }

    fn check_sizes(&self, limit: u64) -> Result<(), ChunkFault> {
        let check = |what, claimed, limit| {
            if claimed > limit { Err(ChunkFault::TooLarge { what, claimed, limit }) } else { Ok(()) }
        };
        check("a data size", self.data_size, limit)?;
        check("a decoded data size", self.decoded_data_size, limit)?;
        check("a number of records", self.num_records, MAX_CHUNK_RECORDS)
    }
}

/// A chunk header with the place of the chunk in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Offset of the first byte, a block header if the chunk begins at a block boundary.
    pub begin: u64,
    /// Offset behind the last byte, padding included.
    pub end: u64,
    /// The header.
    pub header: ChunkHeader,
}

impl Chunk {
    /// Offset behind the header of a chunk that begins at `begin`, in a file of `file_size` bytes.
    ///
    /// # Errors
    /// [`Fault::TruncatedHeader`].
    pub fn header_end(begin: u64, file_size: u64) -> Result<u64, Fault> {
        add(begin, CHUNK_HEADER).filter(|&end| end <= file_size).ok_or(Fault::TruncatedHeader)
    }

    /// Parses the bytes from `begin` to [`Self::header_end`], and checks the block header among them.
    ///
    /// # Errors
    /// All faults of block header and chunk header; [`Fault::TruncatedChunk`] if the chunk ends behind
    /// `file_size`.
    pub fn parse(begin: u64, bytes: &[u8], file_size: u64) -> Result<Self, Fault> {
        let chunk = Self::parse_header(begin, bytes)?;
        match chunk.end.checked_sub(file_size) {
            None | Some(0) => Ok(chunk),
            Some(missing) => Err(Fault::TruncatedChunk { missing }),
        }
    }

    /// The same, wherever the file ends.
    ///
    /// # Errors
    /// All faults of block header and chunk header.
    pub fn parse_header(begin: u64, bytes: &[u8]) -> Result<Self, Fault> {
        let before = usize::try_from(remaining(begin).min(CHUNK_HEADER)).unwrap_or_default();
        let (first, rest) = bytes.split_at_checked(before).ok_or(Fault::TruncatedHeader)?;
        let block = begin.saturating_add(before as u64);
        let interruption = if rest.is_empty() {
            None
        } else {
            let header = rest.get(..BLOCK_HEADER as usize).ok_or(Fault::TruncatedHeader)?;
            let header = BlockHeader::parse(block, header)?;
            header.check_begin(block, begin)?;
            Some(header)
        };
        let rest = rest.get(BLOCK_HEADER as usize..).unwrap_or_default();
        let header = ChunkHeader::parse(&[first, rest].concat())?;
        let ChunkHeader { data_size, num_records, .. } = header;
        let end =
            chunk_end(begin, data_size, num_records).ok_or(Fault::ChunkExtent { data_size, num_records })?;
        if let Some(interruption) = interruption {
            interruption.check_end(block, end)?;
        }
        Ok(Self { begin, end, header })
    }

    /// Offset behind the last byte of data, where the padding begins.
    pub fn data_end(&self) -> u64 {
        let len = CHUNK_HEADER.saturating_add(self.header.data_size);
        add(self.begin, len).map_or(self.end, |end| end.min(self.end))
    }
}

/// The little-endian words of `bytes`, or `None` if it has another length.
fn words<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let (words, rest) = bytes.as_chunks::<8>();
    let words: &[[u8; 8]; N] = words.try_into().ok()?;
    rest.is_empty().then(|| words.map(u64::from_le_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::BLOCK;

    fn block_header(previous_chunk: u64, next_chunk: u64) -> Vec<u8> {
        let body = [previous_chunk.to_le_bytes(), next_chunk.to_le_bytes()].concat();
        [&hash(&body).to_le_bytes()[..], &body].concat()
    }

    fn chunk_header(data_size: u64, chunk_type: u8, num_records: u64, decoded_data_size: u64) -> Vec<u8> {
        let word = u64::from(chunk_type) | num_records << 8;
        let body = [data_size, hash(b""), word, decoded_data_size].map(u64::to_le_bytes).concat();
        [&hash(&body).to_le_bytes()[..], &body].concat()
    }

    #[test]
    fn the_signature_is_a_chunk() {
        let chunk = Chunk::parse(0, &SIGNATURE, 64).expect("valid");
        assert_eq!((chunk.begin, chunk.end), (0, 64));
        assert_eq!(chunk.header.kind(), Ok(ChunkKind::Signature));
        assert_eq!(SIGNATURE[..24], block_header(0, 64));
        assert_eq!(SIGNATURE[24..], chunk_header(0, b's', 0, 0));
    }

    #[test]
    fn a_block_header_inside_a_chunk_header_is_checked() {
        let begin = BLOCK - 10;
        let header = chunk_header(500, b'r', 3, 400);
        let file = |previous, next| [&header[..10], &block_header(previous, next), &header[10..]].concat();
        let end = BLOCK + 24 + 30 + 500;
        assert_eq!(Chunk::header_end(begin, end), Ok(BLOCK + 54));
        let chunk = Chunk::parse(begin, &file(10, 554), end).expect("valid");
        assert_eq!((chunk.end, chunk.header.num_records), (end, 3));
        let parse = |bytes: &[u8]| Chunk::parse(begin, bytes, end);
        assert_eq!(parse(&file(11, 554)), Err(Fault::PreviousChunk { block: BLOCK, next_chunk: 554 }));
        assert_eq!(parse(&file(10, 555)), Err(Fault::NextChunk { block: BLOCK }));
        let mut damaged = file(10, 554);
        damaged[12] ^= 1;
        assert_eq!(parse(&damaged), Err(Fault::BlockHeaderHash { block: BLOCK }));
        assert_eq!(Chunk::parse(begin, &file(10, 554), end - 7), Err(Fault::TruncatedChunk { missing: 7 }));
    }

    #[test]
    fn every_flipped_bit_of_a_header_is_found() {
        let header = chunk_header(0, b'r', 0, 0);
        for bit in 0..header.len() * 8 {
            let mut damaged = header.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Chunk::parse(64, &damaged, 1000), Err(Fault::ChunkHeaderHash), "bit {bit}");
        }
        for len in 0..header.len() {
            assert_eq!(Chunk::parse(64, &header[..len], 1000), Err(Fault::TruncatedHeader), "length {len}");
        }
    }

    #[test]
    fn claims_of_a_hashed_header_are_bounded() {
        let parse = |bytes: Vec<u8>| Chunk::parse(64, &bytes, u64::MAX);
        let huge = Fault::ChunkExtent { data_size: u64::MAX, num_records: 0 };
        assert_eq!(parse(chunk_header(u64::MAX, b'r', 0, 0)), Err(huge));
        let kind = |bytes: Vec<u8>| parse(bytes).expect("valid").header.kind();
        let too_large = |what, claimed, limit| Err(ChunkFault::TooLarge { what, claimed, limit });
        let one_more = MAX_CHUNK_SIZE + 1;
        assert_eq!(
            kind(chunk_header(0, b't', 0, one_more)),
            too_large("a decoded data size", one_more, MAX_CHUNK_SIZE)
        );
        assert_eq!(
            kind(chunk_header(0, b'r', 1 << 50, 0)),
            too_large("a number of records", 1 << 50, MAX_CHUNK_RECORDS)
        );
        assert_eq!(kind(chunk_header(0, b'r', 0, MAX_CHUNK_SIZE)), Ok(ChunkKind::Simple));
    }

    #[test]
    fn kinds_without_records_must_have_none() {
        let kind = |data, chunk_type, records, decoded| {
            ChunkHeader::parse(&chunk_header(data, chunk_type, records, decoded)).expect("valid").kind()
        };
        assert_eq!(kind(9, b'p', 0, 0), Ok(ChunkKind::Padding));
        assert_eq!(kind(9, b'm', 0, 9), Ok(ChunkKind::Metadata));
        assert_eq!(kind(9, b'x', 0, 9), Ok(ChunkKind::Unknown));
        assert_eq!(kind(9, b'x', 1, 9), Err(ChunkFault::UnknownType(b'x')));
        for (data, chunk_type, records, decoded) in [
            (1, b's', 0, 0),
            (0, b's', 1, 0),
            (0, b's', 0, 1),
            (0, b'p', 1, 0),
            (0, b'p', 0, 1),
            (9, b'm', 1, 9),
        ] {
            let found = kind(data, chunk_type, records, decoded);
            assert!(matches!(found, Err(ChunkFault::MustBeEmpty { .. })), "{chunk_type} {found:?}");
        }
    }

    #[test]
    fn a_block_header_shows_the_next_chunk_only_if_possible() {
        let first =
            |previous_chunk, next_chunk| BlockHeader { previous_chunk, next_chunk }.first_chunk(2 * BLOCK);
        assert_eq!(first(0, 100), Some(2 * BLOCK));
        assert_eq!(first(100, 100), Some(2 * BLOCK + 100));
        assert_eq!(first(100, 24), None);
        assert_eq!(first(100, 0), None);
        assert_eq!(first(BLOCK - 20, 100), None);
        assert_eq!(first(3 * BLOCK, 100), None);
        assert_eq!(first(100, u64::MAX), None);
    }
}
