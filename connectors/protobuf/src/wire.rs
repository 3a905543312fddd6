//! The wire format: varints, tags, lengths, and passing over what is not wanted.
//!
//! Every function reads from `bytes` at `*at`, moves `*at` behind what it read, and never looks beyond the
//! end of `bytes`. Where a function that is not inlined takes over, it gets a copy of the place: the caller's
//! can then stay in a register.

use thiserror::Error;

/// Messages and groups below the record, counted together.
pub(crate) const MAX_DEPTH: u32 = 100;

/// Result with [`WireFault`].
pub(crate) type Result<T> = std::result::Result<T, WireFault>;

/// Why bytes are not a protobuf message (section 6 of the mapping).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum WireFault {
    #[error("the bytes end within a value")]
    Truncated,
    #[error("a varint is longer than ten bytes")]
    LongVarint,
    #[error("a length reaches beyond the end of the message")]
    LengthBeyondEnd,
    #[error("a tag does not fit 32 bits")]
    LongTag,
    #[error("a tag has the field number 0")]
    FieldNumberZero,
    #[error("a tag has the wire type {0}, which does not exist")]
    UnknownWireType(u8),
    #[error("a group has no end")]
    GroupWithoutEnd,
    #[error("a group ends that has not begun")]
    EndWithoutGroup,
    #[error("messages are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    #[error("packed values end within a value")]
    PackedRemainder,
}

/// The last three bits of a tag.
pub(crate) mod wire_type {
    pub(crate) const VARINT: u32 = 0;
    pub(crate) const FIXED64: u32 = 1;
    pub(crate) const LENGTH_DELIMITED: u32 = 2;
    pub(crate) const START_GROUP: u32 = 3;
    pub(crate) const END_GROUP: u32 = 4;
    pub(crate) const FIXED32: u32 = 5;
}

/// The tag of a field number and a wire type.
pub(crate) fn tag_of(number: u32, wire_type: u32) -> u32 {
    number << 3 | wire_type
}

/// A varint of up to ten bytes; bits beyond the 64th are dropped.
#[expect(clippy::arithmetic_side_effects, reason = "the bytes that are stepped over are there")]
#[inline(always)]
pub(crate) fn varint(bytes: &[u8], at: &mut usize) -> Result<u64> {
    let Some(&low) = bytes.get(*at) else { return Err(WireFault::Truncated) };
    if low < 0x80 {
        *at += 1;
        return Ok(u64::from(low));
    }
    if let Some(&high) = bytes.get(*at + 1)
        && high < 0x80
    {
        *at += 2;
        return Ok(u64::from(low & 0x7f) | u64::from(high) << 7);
    }
    let mut place = *at;
    let value = long_varint(bytes, &mut place);
    *at = place;
    value
}

/// Eight bytes at once: the bits are gathered without a loop, whatever the length.
#[expect(clippy::arithmetic_side_effects, reason = "the bytes that are stepped over are there")]
#[inline]
fn long_varint(bytes: &[u8], at: &mut usize) -> Result<u64> {
    let rest = bytes.get(*at..).unwrap_or_default();
    let word = match rest.first_chunk::<8>() {
        Some(word) => u64::from_le_bytes(*word),
        None => last_bytes(rest),
    };
    let stops = !word & CONTINUATION;
    if stops != 0 {
        *at += stops.trailing_zeros() as usize / 8 + 1;
        return Ok(gather_sevens(word & (stops ^ stops.wrapping_sub(1))));
    }
    varint_by_bytes(rest, at)
}

/// The bit of each of eight bytes that says that a varint goes on.
pub(crate) const CONTINUATION: u64 = 0x8080_8080_8080_8080;

/// Less than eight bytes, the last of a message, as a word; in the bytes that are missing the varint goes on.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "there are less than eight bytes, and one where the last is looked at"
)]
#[inline]
fn last_bytes(rest: &[u8]) -> u64 {
    let missing = CONTINUATION << (8 * rest.len() as u32).min(63);
    match (rest, rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        (_, Some(first), Some(last)) => {
            let last = u64::from(u32::from_le_bytes(*last)) << (8 * (rest.len() - 4));
            u64::from(u32::from_le_bytes(*first)) | last | missing
        }
        // One to three bytes: the first, one in the middle and the last are all of them.
        (&[first, .., last], ..) => {
            let middle = rest.get(rest.len() / 2).copied().unwrap_or_default();
            let shifted = |byte: u8, index: usize| u64::from(byte) << (8 * index);
            u64::from(first) | shifted(middle, rest.len() / 2) | shifted(last, rest.len() - 1) | missing
        }
        (&[only], ..) => u64::from(only) | missing,
        _ => missing,
    }
}

/// Joins the low seven bits of each of the eight bytes.
#[inline(always)]
pub(crate) fn gather_sevens(word: u64) -> u64 {
    let word = (word & 0x007f_007f_007f_007f) | (word & 0x7f00_7f00_7f00_7f00) >> 1;
    let word = (word & 0x0000_3fff_0000_3fff) | (word & 0x3fff_0000_3fff_0000) >> 2;
    (word & 0x0000_0000_0fff_ffff) | (word & 0x0fff_ffff_0000_0000) >> 4
}

#[expect(clippy::arithmetic_side_effects, reason = "there are at most ten bytes, which are there")]
#[cold]
fn varint_by_bytes(rest: &[u8], at: &mut usize) -> Result<u64> {
    let mut value = 0;
    for (index, &byte) in rest.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            *at += index + 1;
            return Ok(value);
        }
    }
    Err(if rest.len() < 10 { WireFault::Truncated } else { WireFault::LongVarint })
}

/// Passes over a varint.
#[expect(clippy::arithmetic_side_effects, reason = "the bytes that are stepped over are there")]
#[inline(always)]
pub(crate) fn pass_varint(bytes: &[u8], at: &mut usize) -> Result<()> {
    // Where eight bytes are left the first stop bit tells the length.
    if let Some(word) = bytes.get(*at..).and_then(<[u8]>::first_chunk::<8>) {
        let stops = !u64::from_le_bytes(*word) & CONTINUATION;
        if stops != 0 {
            *at += stops.trailing_zeros() as usize / 8 + 1;
            return Ok(());
        }
    }
    varint(bytes, at).map(drop)
}

/// The bytes of a varint.
pub(crate) fn to_varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A tag: field number and wire type. The field number may still be 0.
#[expect(clippy::arithmetic_side_effects, reason = "the bytes that are stepped over are there")]
#[inline(always)]
pub(crate) fn tag(bytes: &[u8], at: &mut usize) -> Result<u32> {
    let Some(&low) = bytes.get(*at) else { return Err(WireFault::Truncated) };
    if low < 0x80 {
        *at += 1;
        return Ok(u32::from(low));
    }
    if let Some(&high) = bytes.get(*at + 1)
        && high < 0x80
    {
        *at += 2;
        return Ok(u32::from(low & 0x7f) | u32::from(high) << 7);
    }
    let mut place = *at;
    let tag = long_tag(bytes, &mut place);
    *at = place;
    tag
}

#[cold]
fn long_tag(bytes: &[u8], at: &mut usize) -> Result<u32> {
    let start = *at;
    let value = varint(bytes, at).map_err(|fault| match fault {
        WireFault::LongVarint => WireFault::LongTag,
        other => other,
    })?;
    if at.saturating_sub(start) > 5 {
        return Err(WireFault::LongTag);
    }
    u32::try_from(value).map_err(|_| WireFault::LongTag)
}

/// A length, as the end of what it measures.
#[expect(clippy::arithmetic_side_effects, reason = "no place is beyond the end of the bytes")]
#[inline(always)]
pub(crate) fn length(bytes: &[u8], at: &mut usize) -> Result<usize> {
    let length = varint(bytes, at)?;
    if length > (bytes.len() - *at) as u64 {
        return Err(WireFault::LengthBeyondEnd);
    }
    Ok(*at + length as usize)
}

/// Four bytes, little endian.
#[expect(clippy::arithmetic_side_effects, reason = "the bytes that are stepped over are there")]
#[inline(always)]
pub(crate) fn fixed32(bytes: &[u8], at: &mut usize) -> Result<u32> {
    let word = bytes.get(*at..).and_then(<[u8]>::first_chunk).ok_or(WireFault::Truncated)?;
    *at += 4;
    Ok(u32::from_le_bytes(*word))
}

/// Eight bytes, little endian.
#[expect(clippy::arithmetic_side_effects, reason = "the bytes that are stepped over are there")]
#[inline(always)]
pub(crate) fn fixed64(bytes: &[u8], at: &mut usize) -> Result<u64> {
    let word = bytes.get(*at..).and_then(<[u8]>::first_chunk).ok_or(WireFault::Truncated)?;
    *at += 8;
    Ok(u64::from_le_bytes(*word))
}

/// Undoes the zigzag encoding of sint32.
#[inline(always)]
pub(crate) fn zigzag32(value: u32) -> u32 {
    value >> 1 ^ (value & 1).wrapping_neg()
}

/// Undoes the zigzag encoding of sint64.
#[inline(always)]
pub(crate) fn zigzag64(value: u64) -> u64 {
    value >> 1 ^ (value & 1).wrapping_neg()
}

/// Passes over the value behind `tag`. Groups are checked to their end, length-delimited values are not
/// looked into. `depth` is that of the message that holds the field.
#[inline(always)]
pub(crate) fn skip(bytes: &[u8], at: &mut usize, tag: u32, depth: u32) -> Result<()> {
    if tag >> 3 == 0 {
        return Err(WireFault::FieldNumberZero);
    }
    match tag & 7 {
        wire_type::VARINT => varint(bytes, at).map(drop),
        wire_type::FIXED64 => fixed64(bytes, at).map(drop),
        wire_type::LENGTH_DELIMITED => length(bytes, at).map(|end| *at = end),
        wire_type::FIXED32 => fixed32(bytes, at).map(drop),
        wire_type::START_GROUP => {
            let mut place = *at;
            let skipped = skip_group(bytes, &mut place, tag >> 3, depth.saturating_add(1));
            *at = place;
            skipped
        }
        wire_type::END_GROUP => Err(WireFault::EndWithoutGroup),
        other => Err(WireFault::UnknownWireType(other as u8)),
    }
}

/// The recursion ends at [`MAX_DEPTH`].
#[cold]
fn skip_group(bytes: &[u8], at: &mut usize, number: u32, depth: u32) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(WireFault::TooDeep);
    }
    while *at < bytes.len() {
        let tag = tag(bytes, at)?;
        if tag == tag_of(number, wire_type::END_GROUP) {
            return Ok(());
        }
        skip(bytes, at, tag, depth)?;
    }
    Err(WireFault::GroupWithoutEnd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_of_every_length() {
        for value in (0..64).flat_map(|shift| [u64::MAX >> shift, 0x8123_4567_89ab_cdef >> shift]) {
            let mut bytes = Vec::new();
            prost::encoding::encode_varint(value, &mut bytes);
            assert_eq!(to_varint(value), bytes);
            let padded = [bytes.as_slice(), &[0xff; 8]].concat();
            for bytes in [&bytes, &padded] {
                let mut at = 0;
                assert_eq!(varint(bytes, &mut at), Ok(value), "{bytes:x?}");
                assert_eq!(at, padded.len() - 8);
                let mut behind = 0;
                assert_eq!(pass_varint(bytes, &mut behind).map(|()| behind), Ok(at));
            }
            let cut = &bytes[..bytes.len() - 1];
            assert_eq!(varint(cut, &mut 0), Err(WireFault::Truncated), "{cut:x?}");
        }
    }

    #[test]
    fn varints_end_after_ten_bytes() {
        let beyond_64_bits = [[0xff; 9].as_slice(), &[0x7f]].concat();
        assert_eq!(varint(&beyond_64_bits, &mut 0), Ok(u64::MAX));
        assert_eq!(varint(&[0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00], &mut 0), Ok(1));
        assert_eq!(varint(&[0x80; 10], &mut 0), Err(WireFault::LongVarint));
    }

    #[test]
    fn tags_fit_five_bytes_and_32_bits() {
        assert_eq!(tag(&[0x08], &mut 0), Ok(8));
        assert_eq!(tag(&[0x82, 0x01], &mut 0), Ok(130));
        assert_eq!(tag(&[0xff, 0xff, 0xff, 0xff, 0x0f], &mut 0), Ok(u32::MAX));
        assert_eq!(tag(&[0x88, 0x80, 0x80, 0x80, 0x40], &mut 0), Err(WireFault::LongTag));
        assert_eq!(tag(&[0x88, 0x80, 0x80, 0x80, 0x80, 0x00], &mut 0), Err(WireFault::LongTag));
        assert_eq!(tag(&[0x80], &mut 0), Err(WireFault::Truncated));
    }

    #[test]
    fn unknown_fields_are_passed_over_or_refused() {
        let cases: [(&[u8], Result<usize>); 10] = [
            (&[0x08, 0x96, 0x01], Ok(3)),
            (&[0x09, 1, 2, 3, 4, 5, 6, 7, 8], Ok(9)),
            (&[0x0a, 2, 0x0f, 0xff], Ok(4)),
            (&[0x0b, 0x13, 0x14, 0x08, 1, 0x0c], Ok(6)),
            (&[0x0b, 0x14], Err(WireFault::EndWithoutGroup)),
            (&[0x0b, 0x08, 1], Err(WireFault::GroupWithoutEnd)),
            (&[0x0a, 2, 1], Err(WireFault::LengthBeyondEnd)),
            (&[0x0d, 1, 2, 3], Err(WireFault::Truncated)),
            (&[0x0e], Err(WireFault::UnknownWireType(6))),
            (&[0x00, 1], Err(WireFault::FieldNumberZero)),
        ];
        for (bytes, expected) in cases {
            let mut at = 0;
            let result = tag(bytes, &mut at).and_then(|tag| skip(bytes, &mut at, tag, 0));
            assert_eq!(result.map(|()| at), expected, "{bytes:x?}");
        }
    }

    #[test]
    fn groups_nest_to_the_limit() {
        for (depth, expected) in [(100, Ok(())), (101, Err(WireFault::TooDeep))] {
            let bytes = [vec![0x0b; depth], vec![0x0c; depth]].concat();
            assert_eq!(skip(&bytes, &mut 1, 0x0b, 0), expected);
        }
    }
}
