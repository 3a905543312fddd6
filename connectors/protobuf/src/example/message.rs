//! The wire form of `tf.train.Example`: features by name, and the values of each.
//!
//! ```proto
//! message Example { Features features = 1; }
//! message Features { map<string, Feature> feature = 1; }
//! message Feature {
//!   oneof kind { BytesList bytes_list = 1; FloatList float_list = 2; Int64List int64_list = 3; }
//! }
//! message BytesList { repeated bytes value = 1; }  // likewise FloatList and Int64List
//! ```
//!
//! Parts of a message that come apart are walked one after the other. Slices are cut behind a message but not
//! before it, so that places in them are places in the whole.

use crate::fault::Result;
use crate::wire::{self, WireFault, wire_type};

/// Tags of field 1.
const VARINT: u32 = 1 << 3 | wire_type::VARINT;
const FIXED32: u32 = 1 << 3 | wire_type::FIXED32;
const MESSAGE: u32 = 1 << 3 | wire_type::LENGTH_DELIMITED;
const BYTES: u32 = MESSAGE;
const PACKED: u32 = MESSAGE;
/// Tag of a map entry's value.
const ENTRY_VALUE: u32 = 2 << 3 | wire_type::LENGTH_DELIMITED;

/// The members of a `Feature`'s oneof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Member {
    Bytes,
    Float,
    Int64,
}

impl Member {
    /// The member behind a tag of `Feature`.
    #[inline(always)]
    fn of(tag: u32) -> Option<Self> {
        match (tag >> 3, tag & 7) {
            (1, wire_type::LENGTH_DELIMITED) => Some(Self::Bytes),
            (2, wire_type::LENGTH_DELIMITED) => Some(Self::Float),
            (3, wire_type::LENGTH_DELIMITED) => Some(Self::Int64),
            _ => None,
        }
    }

    /// Number of values in a part of the list, from `at` to the end of `bytes`.
    #[expect(clippy::arithmetic_side_effects, reason = "each value takes a byte at least")]
    pub(super) fn count(self, bytes: &[u8], at: usize) -> Result<usize> {
        let mut count = 0;
        match self {
            Self::Bytes => byte_strings(bytes, at, |_, _| count += 1)?,
            Self::Float => floats(bytes, at, |run| count += run.len())?,
            Self::Int64 => int64s(bytes, at, |_| count += 1)?,
        }
        Ok(count)
    }
}

/// An entry of the map of features.
pub(super) struct Entry<'a> {
    /// The feature's name; it may be no UTF-8.
    pub name: &'a [u8],
    bytes: &'a [u8],
    at: usize,
}

/// Hands over the features of the record from `at` to the end of `bytes`. A later one replaces an earlier
/// one of the same name.
#[inline]
pub(super) fn entries<'a>(
    bytes: &'a [u8],
    at: usize,
    mut take: impl FnMut(Entry<'a>) -> Result<()>,
) -> Result<()> {
    submessages(bytes, at, 0, MESSAGE, |features, at| {
        submessages(features, at, 1, MESSAGE, |entry, at| take(Entry::read(entry, at)?))
    })
}

impl<'a> Entry<'a> {
    #[expect(clippy::indexing_slicing, reason = "a length that is read ends within the bytes")]
    #[inline(always)]
    fn read(bytes: &'a [u8], at: usize) -> Result<Self> {
        let mut name: &[u8] = &[];
        fields(bytes, at, 2, |tag, at| {
            if tag != BYTES {
                return Ok(false);
            }
            let end = wire::length(bytes, at)?;
            name = &bytes[*at..end];
            *at = end;
            Ok(true)
        })?;
        Ok(Self { name, bytes, at })
    }

    /// Hands over the lists of the feature, each as a slice and the place in it where the list begins. A list
    /// of another member than the one before replaces what came so far; one of the same goes on.
    #[expect(clippy::indexing_slicing, reason = "a length that is read ends within the bytes")]
    #[inline(always)]
    pub(super) fn lists(&self, mut take: impl FnMut(Member, &'a [u8], usize) -> Result<()>) -> Result<()> {
        submessages(self.bytes, self.at, 2, ENTRY_VALUE, |feature, at| {
            fields(feature, at, 3, |tag, at| {
                let Some(member) = Member::of(tag) else { return Ok(false) };
                let end = wire::length(feature, at)?;
                take(member, &feature[..end], *at)?;
                *at = end;
                Ok(true)
            })
        })
    }
}

/// Hands over begin and end of each value of a `BytesList`.
#[inline(always)]
pub(super) fn byte_strings(bytes: &[u8], at: usize, mut take: impl FnMut(usize, usize)) -> Result<()> {
    fields(bytes, at, 4, |tag, at| {
        if tag != BYTES {
            return Ok(false);
        }
        let end = wire::length(bytes, at)?;
        take(*at, end);
        *at = end;
        Ok(true)
    })
}

/// Hands over the values of a `FloatList`, little endian, in runs.
#[expect(clippy::indexing_slicing, reason = "a length that is read ends within the bytes")]
#[inline(always)]
pub(super) fn floats(bytes: &[u8], at: usize, mut take: impl FnMut(&[[u8; 4]])) -> Result<()> {
    fields(bytes, at, 4, |tag, at| {
        match tag {
            PACKED => {
                let end = wire::length(bytes, at)?;
                let (run, rest) = bytes[*at..end].as_chunks();
                if !rest.is_empty() {
                    return Err(WireFault::PackedRemainder.into());
                }
                take(run);
                *at = end;
            }
            FIXED32 => take(&[wire::fixed32(bytes, at)?.to_le_bytes()]),
            _ => return Ok(false),
        }
        Ok(true)
    })
}

/// Hands over the values of an `Int64List`.
#[expect(clippy::indexing_slicing, reason = "a length that is read ends within the bytes")]
#[inline(always)]
pub(super) fn int64s(bytes: &[u8], at: usize, mut take: impl FnMut(i64)) -> Result<()> {
    fields(bytes, at, 4, |tag, at| {
        match tag {
            PACKED => {
                let end = wire::length(bytes, at)?;
                let packed = &bytes[..end];
                while *at < end {
                    take(wire::varint(packed, at)? as i64);
                }
            }
            VARINT => take(wire::varint(bytes, at)? as i64),
            _ => return Ok(false),
        }
        Ok(true)
    })
}

/// Hands over the messages behind `wanted`, each as a slice and the place in it where the message begins.
#[expect(clippy::indexing_slicing, reason = "a length that is read ends within the bytes")]
#[inline(always)]
fn submessages<'a>(
    bytes: &'a [u8],
    at: usize,
    depth: u32,
    wanted: u32,
    mut take: impl FnMut(&'a [u8], usize) -> Result<()>,
) -> Result<()> {
    fields(bytes, at, depth, |tag, at| {
        if tag != wanted {
            return Ok(false);
        }
        let end = wire::length(bytes, at)?;
        take(&bytes[..end], *at)?;
        *at = end;
        Ok(true)
    })
}

/// Walks the fields of a message from `at` to the end of `bytes`. `take` reads the value behind a tag and
/// moves the place behind it, or says that it does not want the field.
#[inline(always)]
fn fields(
    bytes: &[u8],
    mut at: usize,
    depth: u32,
    mut take: impl FnMut(u32, &mut usize) -> Result<bool>,
) -> Result<()> {
    while at < bytes.len() {
        let tag = wire::tag(bytes, &mut at)?;
        if !take(tag, &mut at)? {
            wire::skip(bytes, &mut at, tag, depth)?;
        }
    }
    Ok(())
}
