//! The bytes that records take, from what was met in them.

#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        reason = "leaves and messages are those of the layout, which the tables were made for; runs are not empty"
    )
)]

use super::layout::{Layout, Leaf, Message};
use super::occurrences::{Occurrences, row_of};
use super::{NOWHERE, Unfit};
use crate::wire::wire_type;

/// The bytes that the values of leaves take, without tags. They have the forms that are given, in the order in which they
/// were noted.
pub trait ValueSizes {
    /// Bytes of all values of `leaf`, with the lengths before them.
    fn all(&self, leaf: Leaf, forms: impl Iterator<Item = u8>) -> u64;

    /// The most bytes of one of them.
    fn most(&self, leaf: Leaf) -> u64;

    /// The bytes of each.
    ///
    /// # Errors
    /// [`Unfit`] for values that are not sound, or not those that were noted.
    fn each(&mut self, leaf: Leaf, forms: impl ExactSizeIterator<Item = u8>) -> Result<Vec<u64>, Unfit>;
}

/// Bytes of the fields that were counted on the way, by message: the row of a message's fields, and how many.
pub type Others = Vec<Vec<(u32, u64)>>;

/// Adds up the bytes of records.
///
/// Most of them are known for all values of a leaf at once. How many bytes a length takes depends on what is in each
/// message, but is 1 for all of a place if the largest that there may be is small.
pub struct RecordSizes<'a, V> {
    layout: &'a Layout,
    occurrences: &'a Occurrences,
    values: &'a mut V,
    others: &'a Others,
    /// By message, what was met right below it.
    below: Vec<Below>,
    /// By message, the sizes of each, if they were needed.
    sizes: Vec<Option<Vec<MessageSize>>>,
    /// By message, the most bytes of a content, if that is known.
    most: Vec<Option<u64>>,
}

/// The bytes of a message, or of several that are merged.
#[derive(Debug, Clone, Copy)]
struct MessageSize {
    /// The row in the holder.
    row: u32,
    content: u64,
    /// Those of tags and lengths.
    around: u64,
}

/// What was met right below a message, without what is chosen.
#[derive(Debug, Default, Clone)]
struct Below {
    leaves: Vec<Leaf>,
    messages: Vec<Message>,
}

impl Below {
    /// By message.
    fn each(layout: &Layout, occurrences: &Occurrences) -> Vec<Self> {
        let mut below = vec![Self::default(); layout.messages.len()];
        for (leaf, planned) in (0..).map(Leaf).zip(&layout.leaves) {
            if !occurrences.of(leaf).is_empty() && !layout.needs_counting(leaf) {
                below[planned.holder.index()].leaves.push(leaf);
            }
        }
        for (message, planned) in (0..).map(Message).zip(&layout.messages).skip(1) {
            if !occurrences.of_message(message).is_empty() && !planned.chosen {
                below[planned.holder.index()].messages.push(message);
            }
        }
        below
    }
}

#[expect(
    clippy::arithmetic_side_effects,
    reason = "the sums are of bytes of values in memory, and of their tags and lengths, which are at most ten bytes each"
)]
impl<'a, V: ValueSizes> RecordSizes<'a, V> {
    /// Leaves that [need counting](Layout::needs_counting), and messages whose row is
    /// [chosen](Layout::is_chosen_message), are among `others`.
    pub fn new(
        layout: &'a Layout,
        occurrences: &'a Occurrences,
        values: &'a mut V,
        others: &'a Others,
    ) -> Self {
        let messages = layout.messages.len();
        Self {
            layout,
            occurrences,
            values,
            others,
            below: Below::each(layout, occurrences),
            sizes: vec![None; messages],
            most: vec![None; messages],
        }
    }

    /// The bytes of all records.
    ///
    /// # Errors
    /// [`Unfit`] if a value is not sound, and where long messages of one row are merged: it is not known which field
    /// is in which of them.
    pub fn total(mut self) -> Result<u64, Unfit> {
        let mut total = self.others.iter().flatten().map(|&(_, bytes)| bytes).sum();
        for &leaf in self.below.iter().flat_map(|below| &below.leaves) {
            let met = self.occurrences.of(leaf);
            total += met.len() as u64 * self.tag_of(leaf) + self.values.all(leaf, forms(met));
        }
        // Those inside a message come behind it.
        for index in (1..self.layout.messages.len() as u16).rev() {
            let message = Message(index);
            let count = self.occurrences.of_message(message).len() as u64;
            if count > 0 && !self.layout.is_chosen_message(message) {
                total += self.around(message, count)?;
            }
        }
        Ok(total)
    }

    /// The bytes that tags and lengths of a place's messages take.
    fn around(&mut self, message: Message, count: u64) -> Result<u64, Unfit> {
        let tag = self.layout.message(message).tag;
        let most = self.most_content(message);
        self.most[message.index()] = most;
        if is_group(tag) || most.is_some_and(|most| most < 0x80) {
            return Ok(count * (len_of_tag(tag) + len_behind_tag(tag, 0)));
        }
        let sizes = self.sizes_of(message)?;
        let around = sizes.iter().map(|size| size.around).sum();
        self.sizes[message.index()] = Some(sizes);
        Ok(around)
    }

    /// The most that there may be in a message of this place; `None` if a field may be in it more than once.
    fn most_content(&self, message: Message) -> Option<u64> {
        if self.others.get(message.index()).is_some_and(|others| !others.is_empty()) {
            return None;
        }
        let mut most = 0u64;
        let below = &self.below[message.index()];
        for &leaf in &below.leaves {
            let once = is_increasing(self.occurrences.of(leaf));
            most += once.then(|| self.tag_of(leaf) + self.values.most(leaf))?;
        }
        for &inner in &below.messages {
            let once = is_increasing(self.occurrences.of_message(inner));
            let content = self.most[inner.index()].filter(|_| once)?;
            most += self.whole(inner, content);
        }
        Some(most)
    }

    /// The bytes of each message of this place, the merged ones of a row together.
    fn sizes_of(&mut self, message: Message) -> Result<Vec<MessageSize>, Unfit> {
        let contents = self.contents_of(message)?;
        let (met, tag) = (self.occurrences.of_message(message), self.layout.message(message).tag);
        let is_item = self.layout.rows_of(message) == message.index();
        let runs = met.chunk_by(|&one, &next| !is_item && row_of(one) == row_of(next));
        let sizes = runs.enumerate().map(|(index, run)| {
            let row = row_of(run[0]);
            let content = *contents.get(if is_item { index } else { row as usize }).ok_or(Unfit)?;
            // Which field is in which of several is not known, nor how long each is, but it is no longer than all.
            if run.len() > 1 && content >= 0x80 && !is_group(tag) {
                return Err(Unfit);
            }
            let around = run.len() as u64 * (len_of_tag(tag) + len_behind_tag(tag, content));
            Ok(MessageSize { row, content, around })
        });
        sizes.collect()
    }

    /// The bytes of the fields in each row of a message.
    fn contents_of(&mut self, message: Message) -> Result<Vec<u64>, Unfit> {
        let mut rows = vec![0; self.rows_in(message)];
        let mut add = |row: u32, bytes: u64| rows.get_mut(row as usize).map(|row| *row += bytes).ok_or(Unfit);
        let below = self.below[message.index()].clone();
        for leaf in below.leaves {
            let (met, tag) = (self.occurrences.of(leaf), self.tag_of(leaf));
            let each = self.values.each(leaf, forms(met))?;
            met.iter().zip(each).try_for_each(|(&met, bytes)| add(row_of(met), tag + bytes))?;
        }
        for inner in below.messages {
            let sizes = match self.sizes[inner.index()].take() {
                Some(sizes) => sizes,
                None => self.sizes_of(inner)?,
            };
            sizes.iter().try_for_each(|size| add(size.row, size.content + size.around))?;
        }
        let others = self.others.get(message.index()).into_iter().flatten();
        others.copied().try_for_each(|(row, bytes)| add(row, bytes))?;
        Ok(rows)
    }

    /// How many rows the fields of a message have.
    fn rows_in(&self, message: Message) -> usize {
        match self.layout.rows_of(message) {
            0 => self.occurrences.records,
            rows_of => self.occurrences.of_message(Message(rows_of as u16)).len(),
        }
    }

    /// The bytes of a tag of a leaf.
    fn tag_of(&self, leaf: Leaf) -> u64 {
        len_of_tag(self.layout.leaves[leaf.index()].tag)
    }

    /// The bytes of a message with all that is around its content.
    fn whole(&self, message: Message, content: u64) -> u64 {
        let tag = self.layout.message(message).tag;
        len_of_tag(tag) + len_behind_tag(tag, content) + content
    }
}

/// The forms of what was met.
fn forms(met: &[u32]) -> impl ExactSizeIterator<Item = u8> {
    met.iter().map(|&met| met as u8)
}

/// Whether each row has at most one, and none is nowhere.
fn is_increasing(met: &[u32]) -> bool {
    let pairs = met.iter().zip(met.iter().skip(1));
    // Without an early end, which takes many at once.
    let increasing = pairs.fold(true, |all, (&before, &behind)| all & (row_of(before) < row_of(behind)));
    increasing && met.last().is_none_or(|&last| row_of(last) != NOWHERE)
}

fn is_group(tag: u32) -> bool {
    tag & 7 == wire_type::START_GROUP
}

/// Bytes behind a message's tag besides its content: its length, or the end of the group.
fn len_behind_tag(tag: u32, content: u64) -> u64 {
    if is_group(tag) { len_of_tag(tag) } else { len_of_varint(content) }
}

fn len_of_tag(tag: u32) -> u64 {
    len_of_varint(tag.into())
}

/// Bytes of the shortest spelling of `value`.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "the lowest bit is set, so that fewer than 64 zeros are before the first"
)]
fn len_of_varint(value: u64) -> u64 {
    u64::from((u64::BITS - (value | 1).leading_zeros()).div_ceil(7))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_have_seven_bits_a_byte() {
        for (value, len) in [(0, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3), (u64::MAX, 10)] {
            assert_eq!(len_of_varint(value), len, "{value}");
        }
    }

    #[test]
    fn rows_that_increase_have_one_each() {
        let met = |rows: &[u32]| rows.iter().map(|row| row << 8 | 0x7f).collect::<Vec<u32>>();
        for (rows, increase) in [
            (&[][..], true),
            (&[3], true),
            (&[0, 1, 5], true),
            (&[0, 1, 1], false),
            (&[2, 1], false),
            (&[0, NOWHERE], false),
        ] {
            assert_eq!(is_increasing(&met(rows)), increase, "{rows:?}");
        }
    }
}
