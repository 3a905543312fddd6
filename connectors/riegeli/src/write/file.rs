//! Puts chunks into a file: block headers, padding, signature (sections 8.2 to 8.4).

use crate::hash::hash;
use crate::header::{BlockHeader, ChunkHeader, SIGNATURE};
use crate::position::{BLOCK, CHUNK_HEADER, chunk_end, distance, is_chunk_boundary, remaining};
use crate::write::chunk::EncodedChunk;
use crate::write::error::WriteError;
use crate::write::options::WriterOptions;

/// Bytes of a padding chunk where one would be much larger: what is written at a time.
const PADDING_PIECE: u64 = 16 * BLOCK;

/// A file that is being written. Each call appends to `out` what comes next in the file; the caller may
/// take it from there at any time.
#[derive(Debug, Clone)]
pub struct FileWriter {
    position: u64,
    final_padding: u64,
    /// Where padding that was begun ends; not behind `position` if there is none.
    padding_end: u64,
}

impl FileWriter {
    /// Begins a new file with the signature. A metadata chunk, if any, has to be written first.
    pub fn create(options: &WriterOptions, out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(&SIGNATURE);
        Self::at(SIGNATURE.len() as u64, options)
    }

    fn at(position: u64, options: &WriterOptions) -> Self {
        Self { position, final_padding: options.final_padding, padding_end: 0 }
    }

    /// Goes on behind the `size` bytes of a file (section 8.2), with the initial padding; begins a new file
    /// if there are none. [`append`](crate::write::append) says whether `size` is good for this.
    ///
    /// # Errors
    /// [`WriteError::FileTooLong`].
    pub fn append(size: u64, options: &WriterOptions, out: &mut Vec<u8>) -> Result<Self, WriteError> {
        let mut writer = Self::begin_append(size, options, out)?;
        while writer.put_padding(out)? {}
        Ok(writer)
    }

    /// The same, but the initial padding is only begun: [`Self::put_padding`] writes it.
    ///
    /// # Errors
    /// [`WriteError::FileTooLong`].
    pub fn begin_append(size: u64, options: &WriterOptions, out: &mut Vec<u8>) -> Result<Self, WriteError> {
        if size == 0 {
            return Ok(Self::create(options, out));
        }
        let mut writer = Self::at(size, options);
        if !is_chunk_boundary(size) {
            out.resize(out.len() + remaining(size) as usize, 0);
            writer.position = size.checked_add(remaining(size)).ok_or(WriteError::FileTooLong)?;
        }
        writer.begin_padding(options.initial_padding)?;
        Ok(writer)
    }

    /// Bytes of the file so far, which is where the next chunk begins.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Writes a chunk and returns where it begins; its first record has the same position.
    ///
    /// # Errors
    /// [`WriteError::FileTooLong`].
    pub fn write(&mut self, chunk: &EncodedChunk, out: &mut Vec<u8>) -> Result<u64, WriteError> {
        self.write_parts(&chunk.header, &chunk.data, out)
    }

    /// Writes the final padding, at a flush and at the end.
    ///
    /// # Errors
    /// [`WriteError::FileTooLong`].
    pub fn pad(&mut self, out: &mut Vec<u8>) -> Result<(), WriteError> {
        self.pad_to(self.final_padding, out)
    }

    /// Pads the file to a multiple of `multiple` bytes (section 8.3).
    ///
    /// # Errors
    /// [`WriteError::FileTooLong`].
    pub fn pad_to(&mut self, multiple: u64, out: &mut Vec<u8>) -> Result<(), WriteError> {
        self.begin_padding(multiple)?;
        while self.put_padding(out)? {}
        Ok(())
    }

    /// Begins the final padding: [`Self::put_padding`] writes it.
    ///
    /// # Errors
    /// [`WriteError::FileTooLong`].
    pub fn begin_final_padding(&mut self) -> Result<(), WriteError> {
        self.begin_padding(self.final_padding)
    }

    fn begin_padding(&mut self, multiple: u64) -> Result<(), WriteError> {
        self.padding_end = padded_end(self.position, multiple).ok_or(WriteError::FileTooLong)?;
        Ok(())
    }

    /// Writes a piece of the padding that was begun: a chunk of it. Whether there was something left to write.
    ///
    /// # Errors
    /// [`WriteError::FileTooLong`].
    pub fn put_padding(&mut self, out: &mut Vec<u8>) -> Result<bool, WriteError> {
        let left = self.padding_end.saturating_sub(self.position);
        if left == 0 {
            return Ok(false);
        }
        let end = match left > 2 * PADDING_PIECE {
            true => self.position - self.position % BLOCK + PADDING_PIECE,
            false => self.padding_end,
        };
        let data = vec![0; (distance(self.position, end) - CHUNK_HEADER) as usize];
        let chunk = EncodedChunk::new(b'p', 0, 0, data);
        self.write(&chunk, out)?;
        Ok(true)
    }

    fn write_parts(
        &mut self,
        header: &ChunkHeader,
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<u64, WriteError> {
        let begin = self.position;
        let end = chunk_end(begin, header.data_size, header.num_records).ok_or(WriteError::FileTooLong)?;
        out.reserve((end - begin) as usize);
        let mut blocks = Blocks { begin, end, position: begin };
        blocks.put(&header.encode(), out);
        blocks.put(data, out);
        blocks.put_zeros(out);
        self.position = end;
        Ok(begin)
    }
}

/// The end of a padding chunk at `position`, or `position` if it is a multiple already; `None` on overflow.
fn padded_end(position: u64, multiple: u64) -> Option<u64> {
    if multiple <= 1 || position.is_multiple_of(multiple) {
        return Some(position);
    }
    let mut end = position.checked_add(multiple - position % multiple)?;
    // The header needs room, which a block header in between takes away.
    while !is_chunk_boundary(end) || distance(position, end) < CHUNK_HEADER {
        end = end.checked_add(multiple)?;
    }
    Some(end)
}

/// The bytes of a chunk with the headers of the blocks that begin within (section 8.4).
struct Blocks {
    begin: u64,
    end: u64,
    position: u64,
}

impl Blocks {
    fn put(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while !bytes.is_empty() {
            self.put_block_header(out);
            let room = remaining(self.position + 1) as usize + 1;
            let (part, rest) = bytes.split_at(room.min(bytes.len()));
            out.extend_from_slice(part);
            self.position += part.len() as u64;
            bytes = rest;
        }
    }

    /// Fills the chunk up.
    fn put_zeros(&mut self, out: &mut Vec<u8>) {
        while self.position < self.end {
            self.put_block_header(out);
            let room = (remaining(self.position + 1) + 1).min(self.end - self.position);
            out.resize(out.len() + room as usize, 0);
            self.position += room;
        }
    }

    fn put_block_header(&mut self, out: &mut Vec<u8>) {
        if self.position.is_multiple_of(BLOCK) {
            let previous_chunk = self.position - self.begin;
            let header = BlockHeader { previous_chunk, next_chunk: self.end - self.position }.encode();
            out.extend_from_slice(&header);
            self.position += header.len() as u64;
        }
    }
}

impl BlockHeader {
    /// The 24 bytes of the header.
    pub(crate) fn encode(&self) -> [u8; 24] {
        with_hash([0, self.previous_chunk, self.next_chunk])
    }
}

impl ChunkHeader {
    /// The 40 bytes of the header.
    pub(crate) fn encode(&self) -> [u8; 40] {
        let word = u64::from(self.chunk_type) | self.num_records << 8;
        with_hash([0, self.data_size, self.data_hash, word, self.decoded_data_size])
    }
}

/// The bytes of `words`, the first of them replaced by the hash of the others.
fn with_hash<const WORDS: usize, const BYTES: usize>(words: [u64; WORDS]) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    for (target, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *target = word.to_le_bytes();
    }
    let (hashed, rest) = bytes.split_at_mut(8);
    hashed.copy_from_slice(&hash(rest).to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_again() {
        let block = BlockHeader { previous_chunk: 5, next_chunk: 1 << 40 };
        assert_eq!(BlockHeader::parse(0, &block.encode()), Ok(block));
        let chunk = ChunkHeader {
            data_size: 1,
            data_hash: u64::MAX,
            chunk_type: b'r',
            num_records: (1 << 56) - 1,
            decoded_data_size: 1 << 63,
        };
        assert_eq!(ChunkHeader::parse(&chunk.encode()), Ok(chunk));
    }

    #[test]
    fn padding_leaves_room_for_its_header() {
        let cases = [
            (64, 1, 64),
            (128, 64, 128),
            (64, 1000, 1000),
            (990, 1000, 2000),
            (64, BLOCK, BLOCK),
            (BLOCK - 39, BLOCK, 2 * BLOCK),
            (BLOCK - 40, BLOCK, BLOCK),
            // Ends inside a block header, twice.
            (65_000, 65_546, 196_638),
            // Too little room, as a block header takes a part of it.
            (65_510, 13_113, 78_678),
        ];
        for (position, multiple, end) in cases {
            assert_eq!(padded_end(position, multiple), Some(end), "{position} {multiple}");
        }
        assert_eq!(padded_end(u64::MAX - 10, 1000), None);
    }

    /// Padding is written in pieces, each a chunk that readers take, up to the same end.
    #[test]
    fn large_padding_comes_in_pieces() {
        let multiple = 5 << 20;
        let options = WriterOptions { initial_padding: multiple, ..WriterOptions::default() };
        for size in [64, BLOCK - 40, BLOCK, BLOCK + 10, 3 * BLOCK + 777, multiple - 40, multiple] {
            let mut out = Vec::new();
            let mut writer = FileWriter::begin_append(size, &options, &mut out).expect("short");
            assert!((out.len() as u64) < BLOCK, "no more than up to a place where a chunk can begin");
            out.clear();
            let end = padded_end(writer.position(), multiple).expect("short");
            while writer.put_padding(&mut out).expect("short") {
                let begin = writer.position() - out.len() as u64;
                let (header, data) = read_chunk(begin, &out);
                assert!(out.len() as u64 <= 2 * PADDING_PIECE, "{size}");
                assert!(header.kind().is_ok() && data.iter().all(|&byte| byte == 0), "{size}");
                out.clear();
            }
            assert_eq!(writer.position(), end, "{size}");
        }
    }

    #[test]
    fn chunks_fit_at_every_place_around_a_block_header() {
        let options = WriterOptions::default();
        let places = (BLOCK - 100..BLOCK + 100).filter(|&place| is_chunk_boundary(place));
        for place in places {
            for (len, records) in [(0, 0), (1, 1), (59, 3), (60, 70), (100, 150), (140_000, 5), (3, 70_000)] {
                let chunk = EncodedChunk::new(b'r', records, 7, (0..len).map(|index| index as u8).collect());
                let mut out = Vec::new();
                let mut writer = FileWriter::append(place, &options, &mut out).expect("short");
                assert_eq!(writer.write(&chunk, &mut out), Ok(place));
                assert_eq!(writer.position(), place + out.len() as u64);
                assert_eq!(read_chunk(place, &out), (chunk.header, chunk.data), "{place} {len} {records}");
            }
        }
    }

    /// Header and data of a chunk that begins at `begin`; checks every block header.
    fn read_chunk(begin: u64, bytes: &[u8]) -> (ChunkHeader, Vec<u8>) {
        let end = begin + bytes.len() as u64;
        let (mut stream, mut position) = (Vec::new(), begin);
        while position < end {
            let at = (position - begin) as usize;
            if position.is_multiple_of(BLOCK) {
                let header = BlockHeader::parse(position, &bytes[at..at + 24]).expect("right hash");
                header.check_begin(position, begin).expect("right begin");
                header.check_end(position, end).expect("right end");
                position += 24;
            } else {
                stream.push(bytes[at]);
                position += 1;
            }
        }
        let header = ChunkHeader::parse(&stream[..40]).expect("right hash");
        let data_end = 40 + header.data_size as usize;
        assert!(stream[data_end..].iter().all(|&byte| byte == 0));
        (header, stream[40..data_end].to_vec())
    }
}
