//! Views of strings and bytes, as Arrow has them in view arrays.

/// The view of `begin..end` of `data`: short values lie in the view itself.
#[expect(clippy::arithmetic_side_effects, reason = "a value does not end before it begins")]
#[inline(always)]
pub(crate) fn view(data: &[u8], begin: usize, end: usize) -> u128 {
    match data.get(begin..).and_then(<[u8]>::first_chunk) {
        Some(head) => view_of(head, begin, end - begin),
        None => view_near_the_end(data, begin, end),
    }
}

/// The view of `len` bytes at `begin`, of which `head` are the first, and maybe some that follow.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "the length is cut to the last index")]
pub(crate) fn view_of(head: &[u8; 16], begin: usize, len: usize) -> u128 {
    let head = u128::from_le_bytes(*head);
    // The first four bytes, and the eight behind them.
    let (prefix, rest) = (head as u32, (head >> 32) as u64);
    let (prefix_mask, rest_mask) = VIEW_MASKS[len.min(MOST_INLINE)];
    let lower = u64::from(prefix & prefix_mask) << 32 | u64::from(len as u32);
    // Both forms: which one it is cannot be foreseen.
    let (short, long) = (rest & rest_mask, (begin as u64) << 32);
    u128::from(if len <= MOST_INLINE { short } else { long }) << 64 | u128::from(lower)
}

/// Most bytes of a value that lies in its view.
const MOST_INLINE: usize = 12;

/// By length, which of the first four bytes, and of the eight behind them, belong to a value.
const VIEW_MASKS: [(u32, u64); MOST_INLINE + 1] = view_masks();

#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "checked when the program is built"
)]
const fn view_masks() -> [(u32, u64); MOST_INLINE + 1] {
    let mut masks = [(u32::MAX, u64::MAX); MOST_INLINE + 1];
    let mut len = 0;
    while len < MOST_INLINE {
        let kept = (1u128 << (8 * len)) - 1;
        masks[len] = (kept as u32, (kept >> 32) as u64);
        len += 1;
    }
    masks
}

#[expect(clippy::arithmetic_side_effects, reason = "a value does not end before it begins")]
#[cold]
fn view_near_the_end(data: &[u8], begin: usize, end: usize) -> u128 {
    let mut head = [0; 16];
    let bytes = data.get(begin..end).unwrap_or_default();
    head.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    view_of(&head, begin, end - begin)
}
