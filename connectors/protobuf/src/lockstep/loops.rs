//! The loops over a group's messages that take most of the time: free of branches that depend on the messages,
//! as neither the lengths of numbers nor what is left out can be foreseen.
//!
//! A value that reaches beyond the end of its message leaves the message's place there, where it meets no further
//! tag.

use super::cursor::Cursor;
use super::program::Step;
use crate::columns::{Fixed, Items};
use crate::wire::{self, CONTINUATION, gather_sevens};

/// Passes varints to `put`, with their rows and whether they are there. `None` for one that is none, or if `put`
/// says so.
#[inline(always)]
pub(super) fn varints(
    data: &[u8],
    step: &Step,
    messages: &mut [Cursor],
    put: impl FnMut(usize, bool, u64) -> Option<()>,
) -> Option<()> {
    #[cfg(target_arch = "x86_64")]
    if has_bmi() {
        // SAFETY: the processor has the instructions that the function is compiled for.
        #[allow(unsafe_code)]
        return unsafe { varints_bmi(data, step, messages, put) };
    }
    varints_by(data, step, messages, gather_sevens, put)
}

/// Whether bits can be gathered by one instruction: it takes a twelfth off the time that whole records need.
#[cfg(target_arch = "x86_64")]
fn has_bmi() -> bool {
    std::arch::is_x86_feature_detected!("bmi1") && std::arch::is_x86_feature_detected!("bmi2")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2")]
fn varints_bmi(
    data: &[u8],
    step: &Step,
    messages: &mut [Cursor],
    put: impl FnMut(usize, bool, u64) -> Option<()>,
) -> Option<()> {
    let gather = |word| std::arch::x86_64::_pext_u64(word, !CONTINUATION);
    varints_by(data, step, messages, gather, put)
}

#[expect(clippy::arithmetic_side_effects, reason = "a tag has at most five bytes, and a varint ten")]
#[inline(always)]
fn varints_by(
    data: &[u8],
    step: &Step,
    messages: &mut [Cursor],
    gather: impl Fn(u64) -> u64,
    mut put: impl FnMut(usize, bool, u64) -> Option<()>,
) -> Option<()> {
    for cursor in messages {
        let window = cursor.window(data)?;
        let is_here = step.is_at(window, cursor);
        let word = u64::from_le_bytes(*window.get(step.width..)?.first_chunk()?);
        let stops = !word & CONTINUATION;
        let (value, len) = match stops {
            0 => long_varint(data, cursor, step, is_here)?,
            _ => (gather(word & (stops ^ stops.wrapping_sub(1))), stops.trailing_zeros() / 8 + 1),
        };
        put(cursor.row as usize, is_here, value)?;
        cursor.skip_if(is_here, step.width as u32 + len);
    }
    Some(())
}

/// A varint of more than eight bytes, and its length; of no meaning if it is not here.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "a place has 32 bits, and the end of a varint is behind its begin"
)]
#[cold]
fn long_varint(data: &[u8], cursor: &Cursor, step: &Step, is_here: bool) -> Option<(u64, u32)> {
    if !is_here {
        return Some((0, 0));
    }
    let begin = cursor.at as usize + step.width;
    let mut end = begin;
    let value = wire::varint(data, &mut end).ok()?;
    Some((value, (end - begin) as u32))
}

/// Passes values of `N` bytes to `put`, with their rows and whether they are there.
#[expect(clippy::arithmetic_side_effects, reason = "a tag has at most five bytes, and a number eight")]
#[inline(always)]
pub(super) fn fixed<const N: usize>(
    data: &[u8],
    step: &Step,
    messages: &mut [Cursor],
    mut put: impl FnMut(usize, bool, [u8; N]) -> Option<()>,
) -> Option<()> {
    for cursor in messages {
        let window = cursor.window(data)?;
        let is_here = step.is_at(window, cursor);
        put(cursor.row as usize, is_here, *window.get(step.width..)?.first_chunk()?)?;
        cursor.skip_if(is_here, (step.width + N) as u32);
    }
    Some(())
}

/// Passes over values with a length before them.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "a tag has at most five bytes, and the length here is one of them"
)]
pub(super) fn pass_delimited(data: &[u8], step: &Step, messages: &mut [Cursor]) -> Option<()> {
    for cursor in messages {
        if step.repeats {
            while let Some(window) = step.next(data, cursor) {
                cursor.take_delimited(data, window, step.width)?;
            }
            continue;
        }
        let window = cursor.window(data)?;
        let is_here = step.is_at(window, cursor);
        let len = *window.get(step.width)?;
        if len >= 0x80 && is_here {
            cursor.take_delimited(data, window, step.width)?;
        } else {
            cursor.skip_if(is_here, step.width as u32 + 1 + u32::from(len));
        }
    }
    Some(())
}

/// Appends packed varints to a column, as items of their rows.
#[expect(clippy::arithmetic_side_effects, reason = "the column only grows")]
#[inline(always)]
pub(super) fn packed_varints<T: Copy>(
    data: &[u8],
    step: &Step,
    messages: &mut [Cursor],
    items: &mut Items,
    column: &mut Fixed<T>,
    value: impl Fn(u64) -> T,
) -> Option<()> {
    let values = column.before(items.len());
    for cursor in messages {
        while let Some(window) = step.next(data, cursor) {
            let (mut at, end) = cursor.take_delimited(data, window, step.width)?;
            let (bytes, first) = (data.get(..end)?, values.len());
            while at < end {
                values.push(value(wire::varint(bytes, &mut at).ok()?));
            }
            items.push_run(cursor.row as usize, values.len() - first);
        }
    }
    Some(())
}
