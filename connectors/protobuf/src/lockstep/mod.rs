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

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

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
    pub(crate) fn decode(
        &mut self,
        walk: &mut Walk<'_>,
        mut places: impl Iterator<Item = (u32, u32)> + Clone,
    ) -> usize {
        if walk.plan.unknown.is_some() || places.clone().take(LEAST).count() < LEAST {
            return 0;
        }
        if self.pause > 0 {
            self.pause -= 1;
            return 0;
        }
        if self.programs.is_empty() {
            self.learn(walk, places.clone().take(GROUP));
        }
        if !self.programs.are_dense() {
            self.pause = u32::MAX;
            return 0;
        }
        let mut rows = 0;
        loop {
            let group = places.clone();
            let taken = places.by_ref().take(GROUP);
            let mut messages = self.buffers.pop().unwrap_or_default();
            messages.clear();
            let reaches = |end: u32| end as usize + MARGIN <= walk.data.len();
            let cursors = taken.zip(rows as u32..).take_while(|((_, end), _)| reaches(*end));
            messages.extend(cursors.map(|((at, end), row)| Cursor { at, end, row }));
            let count = messages.len();
            let outcome = self.group(walk, &mut messages);
            self.buffers.push(messages);
            if outcome.is_none() {
                self.give_up(walk, group.take(GROUP));
                return 0;
            }
            rows += count;
            if count < GROUP {
                break;
            }
        }
        self.next_pause /= 2;
        self.members.iter_mut().for_each(Bitmap::clear);
        rows
    }

    fn group(&mut self, walk: &mut Walk<'_>, messages: &mut [Cursor]) -> Option<()> {
        let Self { programs, members, buffers, .. } = self;
        members.resize_with(walk.columns.oneofs.len(), Bitmap::default);
        steps::Group { walk, programs, members, buffers }.messages(0, messages, 0)
    }

    /// Forgets the batch, and sees what its records have that the others did not.
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

    fn learn(&mut self, walk: &Walk<'_>, places: impl Iterator<Item = (u32, u32)>) -> bool {
        let mut is_new = false;
        for (begin, end) in places {
            let record = walk.data.get(begin as usize..end as usize).unwrap_or_default();
            is_new |= self.programs.learn(walk.plan, record);
        }
        is_new
    }
}
