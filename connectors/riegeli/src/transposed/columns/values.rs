//! The values in the buffers of a leaf.

use recordfusion_protobuf::shredded::{Numbers, Unfit};

use crate::cursor::Cursor;

/// Forms of varints are the subtypes of their nodes (section 3.4): below this the value lies in the buffer, and
/// is one byte longer than the subtype; this is 0, which stands in its node.
pub(super) const FIRST_INLINE: u8 = 10;

/// Varints without the bits that say that more bytes follow, from the last to the first.
#[derive(Clone, Copy)]
pub(super) struct Varints<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Bits that no byte may have.
    seen: u64,
    missing: bool,
}

/// What a form says of a varint.
#[derive(Clone, Copy)]
struct Form {
    /// The bytes of a word that belong to the value; none if it is longer.
    mask: u64,
    /// Bytes in the buffer.
    width: u8,
    /// The value in the node.
    inline: u8,
}

const FORMS: [Form; 256] = forms();

#[expect(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "it runs when this is compiled")]
const fn forms() -> [Form; 256] {
    let mut forms = [Form { mask: 0, width: 0, inline: 0 }; 256];
    let mut form = 0;
    while form < 256 {
        match form {
            0..8 => {
                forms[form] = Form { mask: u64::MAX >> (56 - 8 * form), width: form as u8 + 1, inline: 0 }
            }
            8 | 9 => forms[form].width = form as u8 + 1,
            _ => forms[form].inline = form as u8 - FIRST_INLINE,
        }
        form += 1;
    }
    forms
}

const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

impl<'a> Varints<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: bytes.len(), seen: 0, missing: false }
    }
}

/// A value of more than eight bytes, or near the end of the buffer, and all bits of its bytes.
#[cold]
fn unusual(bytes: &[u8]) -> (u64, u64) {
    bytes.iter().zip((0..).step_by(7)).fold((0, 0), |(value, seen), (&byte, shift)| {
        (value | u64::from(byte & 0x7f).wrapping_shl(shift), seen | u64::from(byte))
    })
}

impl Numbers for Varints<'_> {
    #[expect(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        reason = "there is a form for each byte, only one without bytes has an inline value, and the bytes are there"
    )]
    #[inline(always)]
    fn next(&mut self, form: u8) -> u64 {
        let Form { mask, width, inline } = FORMS[usize::from(form)];
        let width = usize::from(width);
        let Some(at) = self.at.checked_sub(width) else {
            self.missing = true;
            return 0;
        };
        self.at = at;
        match self.bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
            Some(word) if width <= 8 => {
                let word = u64::from_le_bytes(*word) & mask;
                self.seen |= word;
                gather_sevens(word) + u64::from(inline)
            }
            _ => {
                let (value, seen) = unusual(self.bytes.get(at..at + width).unwrap_or_default());
                self.seen |= seen;
                value + u64::from(inline)
            }
        }
    }

    fn is_complete(&self) -> bool {
        self.at == 0 && !self.missing && self.seen & HIGH_BITS == 0
    }
}

/// Joins the low seven bits of each of the eight bytes, of which the high bits are 0.
#[inline(always)]
fn gather_sevens(word: u64) -> u64 {
    let word = (word & 0x007f_007f_007f_007f) | (word & 0x7f00_7f00_7f00_7f00) >> 1;
    let word = (word & 0x0000_3fff_0000_3fff) | (word & 0x3fff_0000_3fff_0000) >> 2;
    (word & 0x0000_0000_0fff_ffff) | (word & 0x0fff_ffff_0000_0000) >> 4
}

/// Values of `N` bytes each, from the last to the first.
#[derive(Clone, Copy)]
pub(super) struct Fixed<'a, const N: usize> {
    values: &'a [[u8; N]],
    remainder: bool,
}

impl<'a, const N: usize> Fixed<'a, N> {
    pub fn new(bytes: &'a [u8]) -> Self {
        let (values, rest) = bytes.as_chunks();
        Self { values, remainder: !rest.is_empty() }
    }

    #[inline(always)]
    fn take(&mut self) -> [u8; N] {
        match self.values.split_last() {
            Some((last, others)) => {
                self.values = others;
                *last
            }
            None => {
                self.remainder = true;
                [0; N]
            }
        }
    }
}

impl Numbers for Fixed<'_, 4> {
    #[inline(always)]
    fn next(&mut self, _: u8) -> u64 {
        u64::from(u32::from_le_bytes(self.take()))
    }

    fn is_complete(&self) -> bool {
        self.values.is_empty() && !self.remainder
    }
}

impl Numbers for Fixed<'_, 8> {
    #[inline(always)]
    fn next(&mut self, _: u8) -> u64 {
        u64::from_le_bytes(self.take())
    }

    fn is_complete(&self) -> bool {
        self.values.is_empty() && !self.remainder
    }
}

/// Begin and end of the string whose length is at `at`.
#[expect(clippy::arithmetic_side_effects, reason = "a length ends within the bytes")]
#[inline(always)]
pub(super) fn string_place(bytes: &[u8], at: usize) -> Result<(usize, usize), Unfit> {
    let (len, begin) = match bytes.get(at) {
        Some(&len) if len < 0x80 => (usize::from(len), at + 1),
        _ => long_string(bytes, at)?,
    };
    if len > bytes.len() - begin { Err(Unfit) } else { Ok((begin, begin + len)) }
}

/// The length at `at` and where it ends.
#[expect(clippy::arithmetic_side_effects, reason = "the cursor is at the end of the bytes")]
#[inline(never)]
fn long_string(bytes: &[u8], at: usize) -> Result<(usize, usize), Unfit> {
    let mut cursor = Cursor(bytes.get(at..).ok_or(Unfit)?);
    let len = cursor.varint32().ok_or(Unfit)?;
    Ok((len as usize, bytes.len() - cursor.0.len()))
}

/// Begin and end of the `count` strings of a buffer, each behind its length.
pub(super) fn string_places(bytes: &[u8], count: usize, places: &mut Vec<(u32, u32)>) -> Result<(), Unfit> {
    // Each takes a byte at least.
    if count > bytes.len() {
        return Err(Unfit);
    }
    places.resize(count, (0, 0));
    let mut at = 0;
    for place in places {
        let (begin, end) = string_place(bytes, at)?;
        *place = (begin as u32, end as u32);
        at = end;
    }
    if at == bytes.len() { Ok(()) } else { Err(Unfit) }
}
