//! Which row each value belongs to, noted while a walk goes backwards.

use super::layout::{Layout, Leaf, Message};
use super::{MAX_ROWS, NOWHERE, Unfit};
use crate::plan::Member;

/// What was met in some records, from the last to the first.
///
/// Rows are counted backwards: row 0 of the records is the last of them, so that the row of a record's own fields
/// is the number of records that have begun so far. A message that is no item of a list has the row of its holder.
#[derive(Debug, Default)]
pub struct Occurrences {
    pub(super) records: usize,
    too_many: bool,
    pub(super) mismatches: u64,
    pub(super) leaves: Vec<Vec<u32>>,
    pub(super) messages: Vec<Met>,
    oneofs: Vec<LastMember>,
    pub(super) cases: Vec<Case>,
}

/// The messages that were met at one place.
#[derive(Debug, Default)]
pub(super) struct Met {
    /// The row of each in its holder.
    pub rows: Vec<u32>,
    /// The holder's row, to return to.
    holder: u32,
    /// Whether each is a row of its own.
    own_rows: bool,
    /// The oneof that they are members of, and the message that has it.
    member: Option<(Message, Member)>,
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

impl Occurrences {
    /// Forgets everything, and is ready for records of this layout.
    pub fn reset(&mut self, layout: &Layout) {
        (self.records, self.too_many, self.mismatches) = (0, false, 0);
        self.leaves.resize_with(layout.leaves.len(), Vec::new);
        self.leaves.iter_mut().for_each(Vec::clear);
        self.messages.resize_with(layout.messages.len(), Met::default);
        for (index, (met, planned)) in (0..).zip(self.messages.iter_mut().zip(&layout.messages)) {
            met.rows.clear();
            met.own_rows = planned.rows == Message(index);
            met.member = planned.member.map(|member| (planned.holder, member));
        }
        self.oneofs.clear();
        self.oneofs.resize(layout.oneofs, LastMember { row: NOWHERE, output: 0, replaces: false });
        self.cases.clear();
    }

    /// A value of `leaf` in the row of its message.
    #[inline(always)]
    pub fn value(&mut self, row: u32, leaf: Leaf, form: u8) {
        if let Some(occurrences) = self.leaves.get_mut(leaf.index()) {
            occurrences.push(row << 8 | u32::from(form));
        }
    }

    /// A value of `leaf`, which is a member of a oneof.
    pub fn member(&mut self, layout: &Layout, row: u32, leaf: Leaf, form: u8) {
        let planned = &layout.leaves[leaf.index()];
        let row = match planned.member {
            Some(member) if !self.stays(row, planned.holder, member) => NOWHERE,
            _ => row,
        };
        self.value(row, leaf, form);
    }

    /// A value of `leaf` that does not count.
    pub fn discard(&mut self, leaf: Leaf, form: u8) {
        self.value(NOWHERE, leaf, form);
    }

    /// The end of a message in the row of its holder, which a walk backwards meets first. Gives the row of its
    /// fields.
    #[inline]
    pub fn open(&mut self, message: Message, row: u32) -> u32 {
        let Some(met) = self.messages.get_mut(message.index()) else { return NOWHERE };
        met.holder = row;
        if row == NOWHERE {
            return NOWHERE;
        }
        if let Some((holder, member)) = met.member
            && !self.stays(row, holder, member)
        {
            return NOWHERE;
        }
        let met = &mut self.messages[message.index()];
        let own_row = met.rows.len() as u32;
        self.too_many |= met.rows.len() >= MAX_ROWS - 1;
        met.rows.push(row);
        if met.own_rows { own_row } else { row }
    }

    /// The begin of a message. Gives the row of its holder, whose fields go on.
    #[inline]
    pub fn close(&mut self, message: Message) -> u32 {
        self.messages.get(message.index()).map_or(NOWHERE, |met| met.holder)
    }

    /// The end of the walk, which met the begin of as many records.
    ///
    /// # Errors
    /// [`Unfit`] if there was more of something than can be noted.
    pub fn finish(&mut self, records: u32) -> Result<(), Unfit> {
        self.records = records as usize;
        if self.too_many || self.records >= MAX_ROWS { Err(Unfit) } else { Ok(()) }
    }

    /// A known field with another wire type.
    pub fn mismatch(&mut self) {
        self.mismatches += 1;
    }

    /// The leaves that have values, with the forms of these, from the last to the first.
    pub fn met(&self) -> impl Iterator<Item = (Leaf, impl ExactSizeIterator<Item = u8>)> {
        let met = (0..).zip(&self.leaves).filter(|(_, occurrences)| !occurrences.is_empty());
        met.map(|(leaf, occurrences)| (Leaf(leaf), occurrences.iter().map(|occurrence| *occurrence as u8)))
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
