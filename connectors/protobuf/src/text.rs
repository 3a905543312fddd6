//! Arrays of strings, with their UTF-8 checked or mended (section 6 of the mapping).

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, ByteView, GenericBinaryArray, GenericStringArray, OffsetSizeTrait,
    StringViewArray,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::DataType;

use crate::decoded::Tally;
use crate::fault::{FaultKind, Result};

/// Most bytes of a string that lie in its view.
const INLINE: usize = 12;

/// What becomes of a string that is not UTF-8 (section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Utf8 {
    /// It makes the record bad.
    Strict,
    /// U+FFFD stands for what is wrong.
    Replace,
    /// The string is NULL.
    Null,
}

/// Strings from views into `buffers`. If they are not strict, what is no UTF-8 is replaced by U+FFFD or NULL, and
/// `tally` counts the strings.
///
/// # Errors
/// [`FaultKind::InvalidUtf8`] if they are strict, [`FaultKind::TooLarge`] for one beyond the 4 GiB of a view once it is
/// mended.
pub(crate) fn views_of_strings(
    views: Vec<u128>,
    buffers: Vec<Buffer>,
    nulls: Option<NullBuffer>,
    utf8: Utf8,
    tally: &mut Tally,
) -> Result<ArrayRef> {
    let aligned = nulls.as_ref().is_none_or(|nulls| nulls.len() == views.len());
    if aligned && are_utf8(&views, &buffers) {
        return Ok(Arc::new(utf8_views(views, buffers, nulls)));
    }
    if utf8 == Utf8::Strict {
        return Err(FaultKind::InvalidUtf8.into());
    }
    let bytes = BinaryViewArray::try_new(views.into(), buffers, nulls)?;
    let strings = bytes.iter().map(|bytes| Ok(bytes.and_then(|bytes| mend(bytes, utf8, tally))));
    texts(strings, &DataType::Utf8View)
}

/// Whether all `views` lie in `buffers`, begin as they say and are UTF-8. Most strings are ASCII, which takes a few operations for
/// the short ones that lie in the view itself.
fn are_utf8(views: &[u128], buffers: &[Buffer]) -> bool {
    views.iter().all(|&view| {
        let len = view as u32 as usize;
        if let Some(others) = OTHER_THAN_ASCII.get(len) {
            return view & others == 0 || is_short_utf8(view, len);
        }
        let view = ByteView::from(view);
        let begin = view.offset as usize;
        let data = buffers.get(view.buffer_index as usize);
        let end = begin.checked_add(len);
        let bytes = data.zip(end).and_then(|(data, end)| data.get(begin..end));
        bytes.is_some_and(|bytes| bytes.first_chunk() == Some(&view.prefix.to_le_bytes()) && is_utf8(bytes))
    })
}

/// By length, the bits that are 0 in the view of a short ASCII string: the high ones of its bytes, and the padding.
const OTHER_THAN_ASCII: [u128; INLINE + 1] = other_than_ascii();

#[expect(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "it runs when this is compiled")]
const fn other_than_ascii() -> [u128; INLINE + 1] {
    let mut masks = [0; INLINE + 1];
    let mut len = 0;
    while len <= INLINE {
        let high_bits = 0x8080_8080_8080_8080_8080_8080 << 32;
        masks[len] = high_bits | padding(len);
        len += 1;
    }
    masks
}

/// The bits of a view behind a short string.
#[expect(clippy::arithmetic_side_effects, reason = "a short string has fewer than INLINE bytes")]
const fn padding(len: usize) -> u128 {
    if len < INLINE { u128::MAX << (8 * (4 + len)) } else { 0 }
}

#[inline(never)]
fn is_short_utf8(view: u128, len: usize) -> bool {
    let bytes = view.to_le_bytes();
    let text = bytes.get(4..).and_then(|inline| inline.get(..len));
    view & padding(len) == 0 && text.is_some_and(is_utf8)
}

fn is_utf8(bytes: &[u8]) -> bool {
    is_ascii(bytes) || simdutf8::basic::from_utf8(bytes).is_ok()
}

/// Whether no byte has its high bit set: eight bytes at a time, the last eight once more for the remainder.
#[inline]
fn is_ascii(bytes: &[u8]) -> bool {
    let Some(last) = bytes.last_chunk::<8>() else { return bytes.is_ascii() };
    let (words, _) = bytes.as_chunks::<8>();
    let seen = words.iter().fold(u64::from_le_bytes(*last), |seen, word| seen | u64::from_le_bytes(*word));
    seen & 0x8080_8080_8080_8080 == 0
}

/// Strings from views that [`are_utf8`] has checked, with as many nulls: Arrow's own check takes a fifth of a scan.
#[allow(unsafe_code)]
fn utf8_views(views: Vec<u128>, buffers: Vec<Buffer>, nulls: Option<NullBuffer>) -> StringViewArray {
    // SAFETY: every view was checked: a short one is padded with zeros, a long one points into one of
    // the buffers, lies inside it and has its first four bytes as prefix, and the bytes of both are UTF-8. There are as many nulls as views.
    unsafe { StringViewArray::new_unchecked(views.into(), buffers, nulls) }
}

/// Strings from offsets into `bytes`, checked or mended like those of [`views_of_strings`].
///
/// # Errors
/// [`FaultKind::InvalidUtf8`] if they are strict, [`FaultKind::TooLarge`] if they are beyond what the offsets reach
/// once they are mended.
pub(crate) fn strings<O: OffsetSizeTrait>(
    offsets: OffsetBuffer<O>,
    bytes: Vec<u8>,
    nulls: Option<NullBuffer>,
    utf8: Utf8,
    tally: &mut Tally,
) -> Result<ArrayRef> {
    let bytes = Buffer::from_vec(bytes);
    match GenericStringArray::try_new(offsets.clone(), bytes.clone(), nulls.clone()) {
        Ok(strings) => Ok(Arc::new(strings)),
        Err(_) if utf8 == Utf8::Strict => Err(FaultKind::InvalidUtf8.into()),
        Err(_) => {
            let bytes = GenericBinaryArray::try_new(offsets, bytes, nulls)?;
            let strings = bytes.iter().map(|bytes| Ok(bytes.and_then(|bytes| mend(bytes, utf8, tally))));
            texts(strings, &GenericStringArray::<O>::DATA_TYPE)
        }
    }
}

fn mend(bytes: &[u8], utf8: Utf8, tally: &mut Tally) -> Option<String> {
    String::from_utf8(bytes.to_vec()).ok().or_else(|| {
        if utf8 == Utf8::Null {
            tally.nulled = tally.nulled.saturating_add(1);
            return None;
        }
        tally.mended = tally.mended.saturating_add(1);
        Some(String::from_utf8_lossy(bytes).into_owned())
    })
}

/// Texts as an array of strings of type `data_type`.
///
/// # Errors
/// [`FaultKind::TooLarge`] beyond what the type's offsets reach, and for a text beyond the 4 GiB of a view.
pub(crate) fn texts<T: AsRef<str>>(
    texts: impl Iterator<Item = Result<Option<T>>>,
    data_type: &DataType,
) -> Result<ArrayRef> {
    let texts = texts.map(|text| match text {
        Ok(Some(text)) if u32::try_from(text.as_ref().len()).is_err() => Err(FaultKind::TooLarge.into()),
        text => text,
    });
    let views = texts.collect::<Result<StringViewArray>>()?;
    match data_type {
        DataType::Utf8View => Ok(Arc::new(views)),
        DataType::Utf8 if views.lengths().map(u64::from).sum::<u64>() > i32::MAX as u64 => {
            Err(FaultKind::TooLarge.into())
        }
        other => Ok(cast(&views, other)?),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Array;

    use super::*;

    fn check(texts: &[&[u8]]) -> bool {
        let array = BinaryViewArray::from_iter_values(texts.iter());
        are_utf8(array.views(), array.data_buffers())
    }

    #[test]
    fn utf8_is_told_at_every_length() {
        for len in 0..40 {
            let ascii = vec![b'a'; len];
            assert!(check(&[&ascii]));
            for at in 0..len {
                let mut broken = ascii.clone();
                broken[at] = 0xff;
                assert!(!check(&[b"fine", &broken]), "{len} {at}");
                let mut text = ascii.clone();
                text.splice(at..at + 1, "\u{e9}".bytes());
                assert!(check(&[&text, b"fine"]), "{len} {at}");
                assert!(!check(&[&text[..at + 1]]), "{len} {at}");
            }
        }
    }

    #[test]
    fn views_outside_the_buffer_are_refused() {
        let prefix = u32::from_le_bytes(*b"aaaa");
        let beyond = ByteView { length: 20, prefix, buffer_index: 0, offset: 5 };
        let other = ByteView { length: 20, prefix, buffer_index: 1, offset: 0 };
        let buffer = |len| Buffer::from(vec![b'a'; len]);
        assert!(!are_utf8(&[beyond.as_u128()], &[buffer(24)]));
        assert!(are_utf8(&[beyond.as_u128()], &[buffer(25)]));
        assert!(!are_utf8(&[other.as_u128()], &[buffer(25)]));
        assert!(are_utf8(&[other.as_u128()], &[buffer(0), buffer(20)]));
        assert!(!are_utf8(&[other.as_u128()], &[buffer(25), buffer(19)]));
        let other_prefix = ByteView { prefix: prefix + 1, ..other };
        assert!(!are_utf8(&[other_prefix.as_u128()], &[buffer(0), buffer(20)]), "another prefix");
        assert!(!are_utf8(&[u128::from(b'a') << 40], &[]), "padding that is not zero");
    }

    #[test]
    fn as_many_strings_as_views() {
        let views = BinaryViewArray::from_iter_values([b"short".as_slice(), b"longer than twelve bytes"]);
        let array = utf8_views(views.views().to_vec(), views.data_buffers().to_vec(), None);
        assert_eq!(array.len(), 2);
        assert_eq!(array.value(1), "longer than twelve bytes");
    }
}
