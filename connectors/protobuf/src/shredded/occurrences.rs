//! Which row each value belongs to, noted while a walk goes backwards.

#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        reason = "leaves and messages are those of the layout, which the lists were made for"
    )
)]

use super::layout::{Layout, Leaf, Message};
use super::note::Note;
use super::{MAX_ROWS, NOWHERE, Unfit};
use crate::plan::Member;

/// What was met in some records, from the last to the first.
///
/// Rows are counted backwards: row 0 of the records is the last of them, so that the row of a record's own fields
/// is the number of records that have begun so far. A message that is no item of a list has the row of its holder,
/// an item the number of items before it.
#[derive(Debug, Default)]
pub struct Occurrences {
    pub(super) records: usize,
    pub(super) mismatches: u64,
    /// Those of messages, which come first, and of leaves.
    lists: Vec<List>,
    messages: usize,
    /// By message, the row of its fields, if that is chosen.
    chosen: Vec<u32>,
    oneofs: Vec<LastMember>,
    pub(super) cases: Vec<Case>,
}

/// What was met at one place.
#[derive(Debug, Default)]
struct List {
    /// The row of each, and its form in the lowest eight bits.
    noted: Vec<u32>,
    /// The message whose occurrences are the rows, by index.
    rows_of: u32,
}

/// The member of a oneof that was met first.
#[derive(Debug, Clone, Copy)]
struct LastMember {
    row: u32,
    output: u32,
    /// Whether another member was met before it: nothing counts any more.
    replaces: bool,
}

/// The member of a oneof that is set in a row of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    /// The message that has the oneof.
    pub holder: Message,
    pub row: u32,
    /// The column that tells the member, and the member's index there.
    pub shown: (u32, u32),
}

/// The row of what was noted.
#[inline(always)]
pub(super) fn row_of(occurrence: u32) -> u32 {
    occurrence >> 8
}

impl Occurrences {
    /// Forgets everything, and is ready for records of this layout.
    #[expect(clippy::arithmetic_side_effects, reason = "messages and leaves have indexes of 16 bits")]
    pub fn reset(&mut self, layout: &Layout) {
        (self.records, self.mismatches, self.messages) = (0, 0, layout.messages.len());
        let holders = layout.messages.iter().map(|message| message.holder);
        let holders = holders.chain(layout.leaves.iter().map(|leaf| leaf.holder));
        self.lists.resize_with(layout.messages.len() + layout.leaves.len(), List::default);
        for (list, holder) in self.lists.iter_mut().zip(holders) {
            list.noted.clear();
            list.rows_of = layout.rows_of(holder) as u32;
        }
        self.chosen.clear();
        self.chosen.resize(layout.messages.len(), NOWHERE);
        self.oneofs.clear();
        self.oneofs.resize(layout.oneofs, LastMember { row: NOWHERE, output: 0, replaces: false });
        self.cases.clear();
    }

    /// Takes the notes up to one that is something else, and says how many these were.
    #[inline]
    pub fn note_all(&mut self, notes: &[Note]) -> usize {
        let lists = self.lists.as_mut_slice();
        for (index, note) in notes.iter().enumerate() {
            if note.kind() != 0 {
                return index;
            }
            let list = usize::from(note.target());
            let Some(&List { rows_of, .. }) = lists.get(list) else { continue };
            let row = match rows_of {
                0 => note.records(),
                message => items_before(lists, message as usize),
            };
            if let Some(list) = lists.get_mut(list) {
                list.noted.push(row << 8 | u32::from(note.form()));
            }
        }
        notes.len()
    }

    /// A value of `leaf` behind as many records, whether or not its row is chosen.
    pub fn value(&mut self, layout: &Layout, records: u32, leaf: Leaf, form: u8) {
        let planned = &layout.leaves[leaf.index()];
        let mut row = self.row(layout, planned.holder, records);
        if let Some(member) = planned.member
            && !self.stays(row, planned.holder, member)
        {
            row = NOWHERE;
        }
        self.push(layout.list_of(leaf), row, form);
    }

    /// A value of `leaf` that does not count.
    pub fn discard(&mut self, layout: &Layout, leaf: Leaf, form: u8) {
        self.push(layout.list_of(leaf), NOWHERE, form);
    }

    /// The end of a message behind as many records, whether or not its row is chosen.
    pub fn open(&mut self, layout: &Layout, message: Message, records: u32) {
        let planned = layout.message(message);
        let (mut row, own_row) =
            (self.row(layout, planned.holder, records), self.lists[message.index()].noted.len());
        if let Some(member) = planned.member
            && !self.stays(row, planned.holder, member)
        {
            row = NOWHERE;
        }
        let is_item = layout.rows_of(message) == message.index();
        self.chosen[message.index()] = if is_item && row != NOWHERE { own_row as u32 } else { row };
        if row != NOWHERE {
            self.push(message.index(), row, 0);
        }
    }

    fn push(&mut self, list: usize, row: u32, form: u8) {
        if let Some(list) = self.lists.get_mut(list) {
            list.noted.push(row << 8 | u32::from(form));
        }
    }

    /// The row of the fields of a message that the walk is in, behind as many records.
    pub fn row(&self, layout: &Layout, message: Message, records: u32) -> u32 {
        match layout.rows_of(message) {
            _ if layout.is_chosen_message(message) => self.chosen[message.index()],
            0 => records,
            rows_of => items_before(&self.lists, rows_of),
        }
    }

    /// The end of the walk, which met the begin of as many records.
    ///
    /// # Errors
    /// [`Unfit`] if there was more of something than can be noted.
    pub fn finish(&mut self, records: u32) -> Result<(), Unfit> {
        self.records = records as usize;
        let messages = self.lists.iter().take(self.messages);
        let most = messages.map(|met| met.noted.len()).max().unwrap_or_default().max(self.records);
        if most >= MAX_ROWS { Err(Unfit) } else { Ok(()) }
    }

    /// How many messages were met below the records, and how many values and messages together.
    pub(super) fn extent(&self) -> (u64, u64) {
        let noted = |lists: &[List]| lists.iter().map(|list| list.noted.len() as u64).sum();
        (noted(self.lists.get(..self.messages).unwrap_or_default()), noted(&self.lists))
    }

    /// A known field with another wire type.
    #[expect(clippy::arithmetic_side_effects, reason = "each mismatch takes a step of the walk")]
    pub fn mismatch(&mut self) {
        self.mismatches += 1;
    }

    /// The leaves that have values, with the forms of these, from the last to the first.
    pub fn met(&self) -> impl Iterator<Item = (Leaf, impl ExactSizeIterator<Item = u8>)> {
        let leaves = (0..).zip(self.lists.iter().skip(self.messages));
        let met = leaves.filter(|(_, list)| !list.noted.is_empty());
        met.map(|(leaf, list)| (Leaf(leaf), list.noted.iter().map(|occurrence| *occurrence as u8)))
    }

    /// The values of a leaf, from the last to the first: row and form of each.
    #[expect(clippy::arithmetic_side_effects, reason = "messages and leaves have indexes of 16 bits")]
    pub(super) fn of(&self, leaf: Leaf) -> &[u32] {
        self.lists.get(self.messages + leaf.index()).map_or(&[], |list| &list.noted)
    }

    /// The messages that were met at a place: the row of each in its holder, with a form that means nothing.
    pub(super) fn of_message(&self, message: Message) -> &[u32] {
        self.lists.get(message.index()).map_or(&[], |list| &list.noted)
    }

    /// Whether `member`, met in the row, is not replaced by what follows it.
    fn stays(&mut self, row: u32, holder: Message, member: Member) -> bool {
        let Some(last) = self.oneofs.get_mut(member.oneof as usize) else { return false };
        if row == NOWHERE {
            return false;
        }
        if last.row != row {
            *last = LastMember { row, output: member.output, replaces: false };
            self.cases.extend(member.case.map(|shown| Case { holder, row, shown }));
            return true;
        }
        last.replaces |= last.output != member.output;
        !last.replaces
    }
}

/// The row of the item that was met last.
#[inline(always)]
fn items_before(lists: &[List], message: usize) -> u32 {
    lists.get(message).map_or(NOWHERE, |met| (met.noted.len() as u32).wrapping_sub(1))
}
