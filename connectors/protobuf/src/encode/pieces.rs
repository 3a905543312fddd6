//! Values as they stand in records, with their tags, made for a column at a time: what is left to do for a row
//! is to put pieces together, whatever their types are.

use arrow::array::{BinaryViewArray, MAX_INLINE_VIEW_LEN};

use super::numbers::Words;
use super::plan::{Frame, Tag};

/// Up to 15 bytes, the last one highest; the lowest byte is their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece(u128);

impl Piece {
    /// The most bytes of a piece.
    pub(super) const ROOM: u32 = 15;
    /// Says that bytes follow which have no room.
    const HEAD: u128 = 1 << 7;

    /// Nothing to write.
    pub(super) const EMPTY: Self = Self(0);

    /// A tag, and behind it the lowest `len` bytes of `word`, whose others are 0.
    #[inline]
    pub(super) fn new(tag: Tag, word: u128, len: u32) -> Self {
        let all = tag.len + len;
        if all <= u64::BITS / 8 {
            // Most pieces are that short, and half words are quicker.
            let bytes = tag.word | (word as u64) << (8 * tag.len);
            return Self(u128::from(bytes.rotate_right(8 * all)) << u64::BITS | u128::from(all));
        }
        let bytes = (u128::from(tag.word) | word << (8 * tag.len)) << (8 * (Self::ROOM - all)) << 8;
        Self(bytes | u128::from(all))
    }

    /// A tag before bytes that have no room.
    pub(super) fn head(tag: Tag) -> Self {
        Self::new(tag, 0, 0).before_bytes()
    }

    /// A message without fields.
    pub(super) fn of_empty_message(tag: Tag, frame: Frame) -> Self {
        match frame {
            Frame::Length => Self::new(tag, 0, 1),
            Frame::Group(end) => Self::new(tag, end.word.into(), end.len),
        }
    }

    /// Such a piece that bytes follow.
    #[inline]
    fn before_bytes(self) -> Self {
        Self(self.0 | Self::HEAD)
    }

    /// The bytes behind others without meaning.
    #[inline]
    pub(super) fn bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }

    /// Number of bytes.
    #[inline]
    pub(super) fn len(self) -> usize {
        (self.0 as u32 & Self::ROOM) as usize
    }

    /// Whether bytes follow.
    #[inline]
    pub(super) fn is_head(self) -> bool {
        self.0 & Self::HEAD != 0
    }
}

/// The pieces of numbers; 0 is a piece of its own only if it `keeps_default`.
pub(super) fn of_numbers(words: &Words, tag: Tag, keeps_default: bool) -> Vec<Piece> {
    let piece = |bits: u64, (word, len)| match bits == 0 && !keeps_default {
        true => Piece::EMPTY,
        false => Piece::new(tag, word, len),
    };
    match words {
        Words::Varint(values) => values.iter().map(|&value| piece(value, varint(value))).collect(),
        Words::Fixed32(values) => {
            values.iter().map(|&value| piece(value.into(), (value.into(), 4))).collect()
        }
        Words::Fixed64(values) => values.iter().map(|&value| piece(value, (value.into(), 8))).collect(),
    }
}

/// The pieces of byte strings with their lengths; of those that are long, tag and length.
pub(super) fn of_bytes(values: &BinaryViewArray, tag: Tag, keeps_default: bool) -> Vec<Piece> {
    let piece = |&view: &u128| {
        // A view begins with the length; of a short value the bytes follow.
        let len = view as u32;
        if len == 0 && !keeps_default {
            return Piece::EMPTY;
        }
        if len <= MAX_INLINE_VIEW_LEN && tag.len + 1 + len <= Piece::ROOM {
            let bytes = view >> u32::BITS;
            return Piece::new(tag, bytes << 8 | u128::from(len), 1 + len);
        }
        let (word, len) = varint(len.into());
        Piece::new(tag, word, len).before_bytes()
    };
    values.views().iter().map(piece).collect()
}

/// Bits of a number that eight bytes of a varint hold.
const LOW_BITS: u32 = 56;
/// The largest number of so many bits.
const LOW: u64 = (1 << LOW_BITS) - 1;
/// The bits of eight bytes of a varint that say that another byte follows.
const CONTINUED: u64 = 0x8080_8080_8080_8080;

/// The bytes of a varint, the first one lowest, and their number.
#[inline]
pub(super) fn varint(value: u64) -> (u128, u32) {
    let len = 1 + (value | 1).ilog2() / 7;
    let low = groups(value & LOW);
    if value <= LOW {
        let last = u64::MAX << (8 * (len - 1));
        return (u128::from(low | CONTINUED & !last), len);
    }
    let high = value >> LOW_BITS;
    let high = high | (high & 0x80) << 1;
    (u128::from(low | CONTINUED) | u128::from(high) << u64::BITS, len)
}

/// The groups of seven bits of a number up to [`LOW`], each in a byte: halves of it are moved apart, then
/// quarters, then eighths.
#[inline]
fn groups(number: u64) -> u64 {
    let halves = (number & 0x0fff_ffff) | (number & 0x00ff_ffff_f000_0000) << 4;
    let quarters = (halves & 0x0000_3fff_0000_3fff) | (halves & 0x0fff_c000_0fff_c000) << 2;
    (quarters & 0x007f_007f_007f_007f) | (quarters & 0x3f80_3f80_3f80_3f80) << 1
}

#[cfg(test)]
mod tests {
    use arrow::buffer::ScalarBuffer;

    use super::*;
    use crate::wire::to_varint;

    fn bytes(piece: Piece) -> Vec<u8> {
        piece.bytes()[16 - piece.len()..].to_vec()
    }

    fn tags() -> impl Iterator<Item = (Tag, Vec<u8>)> {
        let numbers = [1, 16, 2048, 262_144, (1 << 29) - 1];
        let tag = |number: u32| (Tag::new(number, 0), to_varint(u64::from(number) << 3));
        [(Tag::NONE, Vec::new())].into_iter().chain(numbers.map(tag))
    }

    #[test]
    fn numbers_are_tags_and_values() {
        let bounds =
            (0..64).flat_map(|shift| [u64::MAX >> shift, 1 << shift, 0x0123_4567_89ab_cdef >> shift]);
        let values: Vec<u64> = bounds.chain([0]).collect();
        let halves: Vec<u32> = values.iter().map(|&value| value as u32).collect();
        for (tag, before) in tags() {
            let check = |words: Words, expected: &dyn Fn(usize) -> Vec<u8>, zero: &dyn Fn(usize) -> bool| {
                for keeps_default in [true, false] {
                    let pieces = of_numbers(&words, tag, keeps_default);
                    for (row, &piece) in pieces.iter().enumerate() {
                        let left_out = zero(row) && !keeps_default;
                        let expected = [before.clone(), expected(row)].concat();
                        assert_eq!(bytes(piece), if left_out { Vec::new() } else { expected });
                        assert!(!piece.is_head());
                    }
                }
            };
            let zero = |row: usize| values[row] == 0;
            let long = ScalarBuffer::from(values.clone());
            check(Words::Varint(long.clone()), &|row| to_varint(values[row]), &zero);
            check(Words::Fixed64(long), &|row| values[row].to_le_bytes().to_vec(), &zero);
            let half = Words::Fixed32(ScalarBuffer::from(halves.clone()));
            check(half, &|row| halves[row].to_le_bytes().to_vec(), &|row| halves[row] == 0);
        }
    }

    #[test]
    fn byte_strings_are_pieces_or_follow_them() {
        let text = "0123456789".repeat(20);
        let values: BinaryViewArray = (0..text.len()).map(|len| Some(&text.as_bytes()[..len])).collect();
        for (tag, before) in tags() {
            for keeps_default in [true, false] {
                for (len, piece) in of_bytes(&values, tag, keeps_default).into_iter().enumerate() {
                    let following = if piece.is_head() { &text[..len] } else { "" };
                    let value = [before.clone(), to_varint(len as u64), text[..len].into()].concat();
                    let expected = if len == 0 && !keeps_default { Vec::new() } else { value };
                    assert_eq!([&bytes(piece), following.as_bytes()].concat(), expected, "{len}");
                }
            }
            let head = Piece::head(tag);
            assert!(head.is_head() && bytes(head) == before);
            let end = Tag::new((1 << 29) - 1, 4);
            assert_eq!(bytes(Piece::of_empty_message(tag, Frame::Length)), [&before[..], &[0]].concat());
            let group = [&before[..], &end.word.to_le_bytes()[..5]].concat();
            assert_eq!(bytes(Piece::of_empty_message(tag, Frame::Group(end))), group);
        }
    }
}
