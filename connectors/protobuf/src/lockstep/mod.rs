//! Records decoded in lockstep: field by field, each in a group of records before the next.
//!
//! Writers put the fields of a message in one order, mostly that of their numbers. So all messages of a group
//! can be asked for the same tag at the same time: where it comes, its value goes to the column, where it does
//! not, the field is left out. What is done is then the same for the whole group, and no message waits for
//! another, so that the processor works on several at once.
//!
//! Everything else is for [`Walk`]: a message that is not at its end when all tags were asked for has fields in
//! another order, some twice, or a fault. Then the batch begins anew without lockstep. It never judges: what it
//! decodes is what the walk would have decoded.

mod cursor;
mod loops;
mod program;
mod steps;
#[cfg(test)]
mod tests;

use crate::columns::Bitmap;
use crate::decode::Walk;
use cursor::{Cursor, MARGIN};
use program::Programs;

/// Records of a group: as many as lie in the processor's nearest cache.
const GROUP: usize = 64;
/// Records that the order of fields is first learned from.
const SAMPLE: usize = 512;
/// Fewer records are not worth it.
const LEAST: usize = 16;
/// Most batches that go by before it is tried again.
const LONGEST_PAUSE: u32 = 15;

/// Decodes batches of one scan in lockstep as far as their records allow.
#[derive(Debug, Default)]
pub(crate) struct Lockstep {
    programs: Programs,
    /// Batches that go by before the next try, and how many it will be after another failure.
    pause: u32,
    next_pause: u32,
    /// The rows that a member was seen in, by oneof.
    members: Vec<Bitmap>,
    /// Buffers for the messages of a group.
    buffers: Vec<Vec<Cursor>>,
}

impl Lockstep {
    /// Decodes the records at `places` to the rows from 0 on, and returns how many: the others are to be walked.
    /// Without any the columns are empty.
    #[expect(clippy::arithmetic_side_effects, reason = "each row is a place in memory")]
    pub(crate) fn decode(
        &mut self,
        walk: &mut Walk<'_>,
        mut places: impl Iterator<Item = (u32, u32)> + Clone,
    ) -> usize {
        if !self.is_due(walk, &places) {
            return 0;
        }
        self.members.resize_with(walk.columns.oneofs.len(), Bitmap::default);
        let mut rows = 0;
        loop {
            let group = places.clone().take(GROUP);
            let Some(count) = self.group(walk, places.by_ref().take(GROUP), rows) else {
                self.give_up(walk, group);
                return 0;
            };
            rows += count;
            if count < GROUP {
                break;
            }
        }
        self.next_pause /= 2;
        self.members.iter_mut().for_each(Bitmap::clear);
        rows
    }

    /// Whether it may work, as far as is known.
    fn is_due(&mut self, walk: &Walk<'_>, places: &(impl Iterator<Item = (u32, u32)> + Clone)) -> bool {
        // Unknown fields are put together in the order in which they come.
        if walk.plan.unknown.is_some() || places.clone().take(LEAST).count() < LEAST {
            return false;
        }
        if let Some(left) = self.pause.checked_sub(1) {
            self.pause = left;
            return false;
        }
        if self.programs.is_empty() {
            self.learn(walk, places.clone().take(SAMPLE));
        }
        if !self.programs.are_dense() {
            self.pause = u32::MAX;
            return false;
        }
        true
    }

    /// Decodes the records of a group up to those near the end of the data, and returns how many; `None` if one of
    /// them has to be walked.
    #[expect(clippy::arithmetic_side_effects, reason = "a place has 32 bits")]
    fn group(
        &mut self,
        walk: &mut Walk<'_>,
        places: impl Iterator<Item = (u32, u32)>,
        first_row: usize,
    ) -> Option<usize> {
        let Self { programs, members, buffers, .. } = self;
        let mut messages = buffers.pop().unwrap_or_default();
        messages.clear();
        let within = places.take_while(|(_, end)| *end as usize + MARGIN <= walk.data.len());
        messages.extend(within.zip(first_row as u32..).map(|((at, end), row)| Cursor { at, end, row }));
        steps::Group { walk, programs, members, buffers }.messages(0, &mut messages, 0)?;
        let count = messages.len();
        self.buffers.push(messages);
        Some(count)
    }

    /// Forgets the batch, and sees what its records have that the others did not.
    #[expect(clippy::arithmetic_side_effects, reason = "no pause is longer than LONGEST_PAUSE")]
    fn give_up(&mut self, walk: &mut Walk<'_>, group: impl Iterator<Item = (u32, u32)> + Clone) {
        walk.columns.clear();
        walk.mismatches = 0;
        self.members.iter_mut().for_each(Bitmap::clear);
        if !self.learn(walk, group.clone()) {
            // Nothing new: another order, maybe that of all records from now on.
            self.programs = Programs::default();
            self.learn(walk, group);
            self.pause = self.next_pause;
            self.next_pause = (2 * self.next_pause + 1).min(LONGEST_PAUSE);
        }
    }

    /// Learns from records, and returns whether there was anything new.
    fn learn(&mut self, walk: &Walk<'_>, places: impl Iterator<Item = (u32, u32)>) -> bool {
        let mut is_new = false;
        for (begin, end) in places {
            let record = walk.data.get(begin as usize..end as usize).unwrap_or_default();
            is_new |= self.programs.learn(walk.plan, record);
        }
        is_new
    }
}
