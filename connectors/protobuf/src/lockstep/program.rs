//! In which order the fields of messages come: learned from records.

use crate::plan::{Op, Place, Plan, Slot};
use crate::wire::{self, MAX_DEPTH, wire_type};

use super::cursor::{Cursor, Window};

/// Most tags of one message type that are learned.
const MOST_STEPS: usize = 1024;

/// The tags that messages of one type were seen to have, in the order in which they come.
#[derive(Debug, Default)]
pub(super) struct Program {
    /// One step per tag.
    pub steps: Vec<Step>,
    /// Messages and fields that it was learned from.
    messages: usize,
    fields: usize,
}

/// What is done where a tag comes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// The tag.
    pub tag: u32,
    /// What is done with its value.
    pub slot: Slot,
    /// The tag as its bytes on the wire, which a word of the input is compared with.
    bytes: u64,
    /// Which bytes of that word are the tag.
    mask: u64,
    /// How many bytes these are.
    pub width: usize,
    /// Whether the field was seen to come several times on end.
    pub repeats: bool,
}

impl Step {
    #[expect(clippy::arithmetic_side_effects, reason = "a tag has at most five bytes")]
    fn new(tag: u32, slot: Slot) -> Self {
        let wire = wire::to_varint(u64::from(tag));
        let byte = |(index, byte): (usize, &u8)| u64::from(*byte) << (8 * index);
        let bytes = wire.iter().enumerate().map(byte).sum();
        let mask = wire.iter().enumerate().map(|(index, _)| byte((index, &0xff))).sum();
        Self { tag, slot, bytes, mask, width: wire.len(), repeats: false }
    }

    /// Whether the value has a length before it.
    pub(super) fn is_delimited(&self) -> bool {
        self.tag & 7 == wire_type::LENGTH_DELIMITED
    }

    /// Whether it adds to the same list as another: that is only right in one message after the other.
    fn shares_items(&self, other: &Slot) -> bool {
        matches!((self.slot.place, other.place), (Place::Item(own), Place::Item(others)) if own == others)
    }

    /// Whether the message, whose place `window` begins at, goes on with this tag.
    #[inline(always)]
    pub(super) fn is_at(&self, window: &Window, cursor: &Cursor) -> bool {
        let [word, _] = window.as_chunks().0 else { return false };
        (u64::from_le_bytes(*word) & self.mask == self.bytes) & (cursor.at < cursor.end)
    }

    /// The bytes from the message's place on, if it goes on with this tag.
    #[inline(always)]
    pub(super) fn next<'d>(&self, data: &'d [u8], cursor: &Cursor) -> Option<&'d Window> {
        cursor.window(data).filter(|window| self.is_at(window, cursor))
    }

    /// Whether the message goes on with this tag.
    #[inline(always)]
    pub(super) fn is_next(&self, data: &[u8], cursor: &Cursor) -> bool {
        self.next(data, cursor).is_some()
    }
}

/// The programs of all message types of a plan.
#[derive(Debug, Default)]
pub(super) struct Programs(Vec<Program>);

impl Programs {
    /// The steps of the plan's message of this index.
    pub(super) fn steps(&self, message: u32) -> &[Step] {
        self.0.get(message as usize).map_or(&[], |program| &program.steps)
    }

    /// Whether nothing was learned yet.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether most steps meet their tag: where a message type has many fields that are mostly left out, looking
    /// for each of them takes longer than looking at those that are there.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "a program has at most MOST_STEPS, and is learned from fields and messages that were read"
    )]
    pub(super) fn are_dense(&self) -> bool {
        let steps: usize = self.0.iter().map(|program| program.messages * program.steps.len()).sum();
        let fields: usize = self.0.iter().map(|program| program.fields).sum();
        steps <= 4 * fields
    }

    /// Learns from a record, and returns whether there was anything new. A new tag takes its place behind the one
    /// that it follows, in the order of the field numbers.
    pub(super) fn learn(&mut self, plan: &Plan, record: &[u8]) -> bool {
        self.0.resize_with(plan.messages.len(), Program::default);
        self.learn_message(plan, 0, record, 0)
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "nothing is learned deeper than MAX_DEPTH, and messages are counted that were read"
    )]
    fn learn_message(&mut self, plan: &Plan, message: u32, bytes: &[u8], depth: u32) -> bool {
        let Some(fields) = plan.messages.get(message as usize) else { return false };
        let (mut at, mut place, mut is_new) = (0, 0, false);
        let mut last = None;
        while at < bytes.len() && depth <= MAX_DEPTH {
            let Ok(tag) = wire::tag(bytes, &mut at) else { break };
            let value = at;
            if wire::skip(bytes, &mut at, tag, depth).is_err() {
                break;
            }
            let slot = fields.slot(tag);
            let Some(program) = self.0.get_mut(message as usize) else { break };
            is_new |= program.learn(tag, slot, &mut place, last == Some(tag));
            last = Some(tag);
            let mut begin = value;
            if slot.op == Op::Message
                && tag & 7 == wire_type::LENGTH_DELIMITED
                && wire::length(bytes, &mut begin).is_ok()
            {
                let below = bytes.get(begin..at).unwrap_or_default();
                is_new |= self.learn_message(plan, slot.detail, below, depth + 1);
            }
        }
        if let Some(program) = self.0.get_mut(message as usize) {
            program.messages += 1;
        }
        is_new
    }
}

impl Program {
    /// Learns that `tag` comes at or behind `place`, which is then the place behind it.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "a program has at most MOST_STEPS, and fields are counted that were read"
    )]
    fn learn(&mut self, tag: u32, slot: &Slot, place: &mut usize, repeats: bool) -> bool {
        self.fields += 1;
        if let Some(known) = self.steps.iter().position(|step| step.tag == tag) {
            *place = (*place).max(known + 1);
            let step = self.steps.get_mut(known);
            return step.is_some_and(|step| repeats && !std::mem::replace(&mut step.repeats, true));
        }
        if self.steps.len() >= MOST_STEPS || self.steps.iter().any(|step| step.shares_items(slot)) {
            return false;
        }
        *place += self.steps.iter().skip(*place).take_while(|step| step.tag < tag).count();
        self.steps.insert(*place, Step::new(tag, *slot));
        *place += 1;
        true
    }
}
