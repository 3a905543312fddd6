//! The index at the end of an ArrayRecord file (section 9.1): a footer chunk, then a postscript in the last block.

use recordfusion_core::RecordBlock;

use crate::fault::ChunkFault;
use crate::position::{BLOCK, is_chunk_boundary};
use crate::wire::{Fields, Malformed, Value};

/// The number that marks a postscript.
pub const MAGIC: u64 = 0x7193_0e70_4fda_e05e;

/// Offset of the postscript chunk in a file of `file_size` bytes, or `None` if a file of this size has none.
pub fn postscript_offset(file_size: u64) -> Option<u64> {
    let padded = file_size.is_multiple_of(BLOCK) && file_size >= 2 * BLOCK;
    padded.then(|| file_size.saturating_sub(BLOCK))
}

/// Reads a record of the postscript: the offset of the footer chunk, or `None` if it is no postscript or
/// points to where no footer can be.
pub fn footer_offset(record: &[u8], postscript: u64) -> Option<u64> {
    let (mut offset, mut magic) = (None, None);
    for field in Fields::new(record) {
        match field.ok()? {
            (1, Value::Varint(value)) => offset = Some(value),
            (2, Value::Varint(value)) => magic = Some(value),
            _ => {}
        }
    }
    let offset = offset.filter(|_| magic == Some(MAGIC))?;
    ((64..postscript).contains(&offset) && is_chunk_boundary(offset)).then_some(offset)
}

/// What the footer says of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Footer {
    /// Number of data chunks.
    pub num_chunks: u64,
    /// Number of records in them.
    pub num_records: u64,
    /// Options of the writer as text.
    pub writer_options: Option<String>,
}

impl Footer {
    /// Reads the records of the footer chunk that begins at `offset`: one about the file, one per chunk.
    ///
    /// # Errors
    /// [`ChunkFault::Message`] for malformed records; [`ChunkFault::Footer`] if the version is not 1, the
    /// counts do not add up, or the chunks do not lie in order in front of the footer.
    pub fn parse(records: &RecordBlock, offset: u64) -> Result<Self, ChunkFault> {
        let malformed = |Malformed| ChunkFault::Message("the ArrayRecord footer");
        let mut records = records.records();
        let (version, footer) = first_record(records.next().unwrap_or_default()).map_err(malformed)?;
        if version != Some(1) {
            return Err(ChunkFault::Footer("the only known version 1"));
        }
        let (mut chunks, mut rows, mut behind) = (0u64, 0u64, 0u64);
        for record in records {
            let (begin, num_records) = chunk_entry(record).map_err(malformed)?;
            if !(behind..offset).contains(&begin) || !is_chunk_boundary(begin) {
                return Err(ChunkFault::Footer("the order of the chunks"));
            }
            behind = begin.saturating_add(1);
            chunks = chunks.saturating_add(1);
            rows = rows.saturating_add(num_records);
        }
        if (chunks, rows) == (footer.num_chunks, footer.num_records) {
            Ok(footer)
        } else {
            Err(ChunkFault::Footer("its own numbers of chunks and records"))
        }
    }
}

/// The message about the file lies in field 1 of the first record.
fn first_record(record: &[u8]) -> Result<(Option<u64>, Footer), Malformed> {
    let (mut version, mut footer) = (None, Footer::default());
    for field in Fields::new(record) {
        let (1, Value::Bytes(message)) = field? else { continue };
        for field in Fields::new(message) {
            match field? {
                (1, Value::Varint(value)) => version = Some(value),
                (2, Value::Varint(value)) => footer.num_chunks = value,
                (3, Value::Varint(value)) => footer.num_records = value,
                (4, Value::Bytes(text)) => {
                    footer.writer_options = Some(String::from_utf8(text.to_vec()).map_err(|_| Malformed)?);
                }
                _ => {}
            }
        }
    }
    Ok((version, footer))
}

/// Offset and number of records of a data chunk.
fn chunk_entry(record: &[u8]) -> Result<(u64, u64), Malformed> {
    let mut entry = (0, 0);
    for field in Fields::new(record) {
        match field? {
            (1, Value::Varint(value)) => entry.0 = value,
            (3, Value::Varint(value)) => entry.1 = value,
            _ => {}
        }
    }
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSTSCRIPT: [u8; 13] =
        [0x08, 0xca, 0x6a, 0x10, 0xde, 0xc0, 0xeb, 0xfe, 0x84, 0xce, 0xc3, 0xc9, 0x71];

    #[test]
    fn a_postscript_points_to_a_footer_in_front_of_it() {
        assert_eq!(footer_offset(&POSTSCRIPT, BLOCK), Some(13_642));
        assert_eq!(footer_offset(&POSTSCRIPT, 13_642), None);
        assert_eq!(footer_offset(&POSTSCRIPT[..12], BLOCK), None);
        assert_eq!(footer_offset(&POSTSCRIPT[3..], BLOCK), None);
        let inside_block_header = [&[0x08, 0x85, 0x80, 0x04], &POSTSCRIPT[3..]].concat();
        assert_eq!(footer_offset(&inside_block_header, 4 * BLOCK), None);
        let mut other_magic = POSTSCRIPT;
        other_magic[4] ^= 1;
        assert_eq!(footer_offset(&other_magic, BLOCK), None);
    }

    #[test]
    fn only_padded_files_can_have_a_postscript() {
        for (size, offset) in [(0, None), (BLOCK, None), (2 * BLOCK, Some(BLOCK)), (2 * BLOCK + 1, None)] {
            assert_eq!(postscript_offset(size), offset, "{size}");
        }
    }

    fn footer(records: &[&[u8]]) -> Result<Footer, ChunkFault> {
        let mut places = Vec::new();
        for record in records {
            let begin = places.last().map_or(0, |&(_, end)| end);
            places.push((begin, begin + record.len() as u32));
        }
        let block =
            RecordBlock::new(records.concat().as_slice().into(), places, 0).expect("places lie inside");
        Footer::parse(&block, 5000)
    }

    #[test]
    fn a_footer_must_agree_with_itself() {
        let first: &[u8] = b"\x0a\x09\x08\x01\x10\x02\x18\x05\x22\x01z";
        let chunk_at_64: &[u8] = b"\x08\x40\x10\x09\x18\x03";
        let chunk_at_300: &[u8] = b"\x08\xac\x02\x10\x09\x18\x02";
        let expected = Footer { num_chunks: 2, num_records: 5, writer_options: Some("z".into()) };
        assert_eq!(footer(&[first, chunk_at_64, chunk_at_300]), Ok(expected));
        let contradictory: [&[&[u8]]; 6] = [
            &[],
            &[b"\x0a\x02\x08\x02"],
            &[first, chunk_at_64],
            &[first, chunk_at_300, chunk_at_64],
            &[first, chunk_at_64, chunk_at_64],
            &[first, chunk_at_64, b"\x08\x88\x27\x18\x02"],
        ];
        for records in contradictory {
            assert!(matches!(footer(records), Err(ChunkFault::Footer(_))), "{records:02x?}");
        }
        assert_eq!(footer(&[b"\x0a\x05"]), Err(ChunkFault::Message("the ArrayRecord footer")));
    }
}
