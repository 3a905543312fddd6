//! Which bytes are cut into fields: messages in the one spelling that can be rebuilt (section 8.5).

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

use crate::cursor::Cursor;

/// A field of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field<'a> {
    /// Field number and wire type.
    pub tag: u32,
    /// The bytes behind the tag; of a group's tags, none.
    pub value: &'a [u8],
    /// The bytes behind the length, for [`LENGTH_DELIMITED`].
    pub payload: &'a [u8],
}

pub(super) const VARINT: u32 = 0;
pub(super) const FIXED64: u32 = 1;
pub(super) const LENGTH_DELIMITED: u32 = 2;
pub(super) const GROUP_START: u32 = 3;
pub(super) const GROUP_END: u32 = 4;
pub(super) const FIXED32: u32 = 5;

impl<'a> Field<'a> {
    /// Reads a field, or `None` where there is none, or none in its shortest spelling.
    pub fn read(cursor: &mut Cursor<'a>) -> Option<Self> {
        let tag = shortest_varint32(cursor).filter(|tag| tag >> 3 > 0)?;
        let behind_tag = cursor.0;
        let mut payload: &[u8] = &[];
        match tag & 7 {
            VARINT => _ = shortest_varint64(cursor)?,
            FIXED64 => _ = cursor.take(8)?,
            LENGTH_DELIMITED => {
                let len = shortest_varint32(cursor)?;
                payload = cursor.take(u64::from(len))?;
            }
            GROUP_START | GROUP_END => {}
            FIXED32 => _ = cursor.take(4)?,
            _ => return None,
        }
        let value = behind_tag.get(..behind_tag.len().checked_sub(cursor.0.len())?)?;
        Some(Self { tag, value, payload })
    }

    pub fn number(&self) -> u32 {
        self.tag >> 3
    }
}

fn shortest_varint64(cursor: &mut Cursor<'_>) -> Option<u64> {
    let before = cursor.0;
    let value = cursor.varint64()?;
    let more = before.len().checked_sub(cursor.0.len())?.checked_sub(1)?;
    (more == 0 || before.get(more) != Some(&0)).then_some(value)
}

fn shortest_varint32(cursor: &mut Cursor<'_>) -> Option<u32> {
    u32::try_from(shortest_varint64(cursor)?).ok()
}

/// Tells messages in their shortest spelling from other bytes; keeps a buffer.
#[derive(Debug, Default)]
pub(super) struct Recogniser {
    /// Numbers of the open groups.
    groups: Vec<u32>,
}

impl Recogniser {
    /// Whether `bytes` are such a message. What is in length-delimited fields does not matter.
    pub fn is_message(&mut self, bytes: &[u8]) -> bool {
        self.groups.clear();
        let mut cursor = Cursor(bytes);
        while !cursor.is_empty() {
            let Some(field) = Field::read(&mut cursor) else { return false };
            match field.tag & 7 {
                GROUP_START => self.groups.push(field.number()),
                GROUP_END if self.groups.pop() != Some(field.number()) => return false,
                _ => {}
            }
        }
        self.groups.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_shortest_spelling_is_a_message() {
        let messages: [&[u8]; 9] = [
            b"",
            b"hi",
            b"00",
            b"123456789",
            b"51234",
            &[0x08, 0xac, 0x02],
            &[0x12, 0x02, 0xff, 0xff],
            &[0x0b, 0x13, 0x14, 0x0c],
            &[0xf8, 0xff, 0xff, 0xff, 0x0f, 0x01],
        ];
        let others: [&[u8]; 16] = [
            b"hello",
            &[0xff],
            &[0x08],
            &[0x08, 0x81, 0x00],
            &[0x88, 0x00, 0x01],
            &[0x00, 0x01],
            &[0x06, 0x01],
            &[0x0e],
            &[0x0f],
            &[0x12, 0x82, 0x00, 0x61, 0x61],
            &[0x12, 0x02, 0x61],
            &[0x09, 0x01],
            &[0x0d, 0x01],
            &[0x0b],
            &[0x0c],
            &[0x0b, 0x13, 0x0c, 0x14],
        ];
        let mut recogniser = Recogniser::default();
        for (expected, samples) in [(true, &messages[..]), (false, &others)] {
            for sample in samples {
                assert_eq!(recogniser.is_message(sample), expected, "{sample:02x?}");
            }
        }
    }
}
