//! Arrays of strings, with their UTF-8 checked or mended (section 6 of the mapping).

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, BinaryViewArray, StringArray, StringViewArray};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer};

use crate::fault::{FaultKind, Result};

/// Strings from views into `data`. If not `strict`, what is no UTF-8 is replaced by U+FFFD, and `mended`
/// counts the strings.
///
/// # Errors
/// [`FaultKind::InvalidUtf8`] if `strict`.
pub(crate) fn views_of_strings(
    views: Vec<u128>,
    data: &Buffer,
    nulls: Option<NullBuffer>,
    strict: bool,
    mended: &mut u64,
) -> Result<ArrayRef> {
    let views = Buffer::from_vec(views);
    match StringViewArray::try_new(views.clone().into(), [data.clone()], nulls.clone()) {
        Ok(strings) => Ok(Arc::new(strings)),
        Err(_) if strict => Err(FaultKind::InvalidUtf8.into()),
        Err(_) => {
            let bytes = BinaryViewArray::try_new(views.into(), [data.clone()], nulls)?;
            let strings = bytes.iter().map(|bytes| Some(mend(bytes?, mended)));
            Ok(Arc::new(strings.collect::<StringViewArray>()))
        }
    }
}

/// Strings from offsets into `bytes`, checked or mended like those of [`views_of_strings`].
///
/// # Errors
/// [`FaultKind::InvalidUtf8`] if `strict`.
pub(crate) fn strings(
    offsets: OffsetBuffer<i32>,
    bytes: Vec<u8>,
    nulls: Option<NullBuffer>,
    strict: bool,
    mended: &mut u64,
) -> Result<ArrayRef> {
    let bytes = Buffer::from_vec(bytes);
    match StringArray::try_new(offsets.clone(), bytes.clone(), nulls.clone()) {
        Ok(strings) => Ok(Arc::new(strings)),
        Err(_) if strict => Err(FaultKind::InvalidUtf8.into()),
        Err(_) => {
            let bytes = BinaryArray::try_new(offsets, bytes, nulls)?;
            let strings = bytes.iter().map(|bytes| Some(mend(bytes?, mended)));
            Ok(Arc::new(strings.collect::<StringArray>()))
        }
    }
}

fn mend(bytes: &[u8], mended: &mut u64) -> String {
    String::from_utf8(bytes.to_vec()).unwrap_or_else(|_| {
        *mended += 1;
        String::from_utf8_lossy(bytes).into_owned()
    })
}
