//! What tags mean to a scan: its plan as a walk over fields sees it.

#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        reason = "leaves and messages are made by the layout, and index its own tables"
    )
)]

use std::sync::Arc;

use crate::enum_names::EnumNames;
use crate::plan::{Member, Op, Place, Plan, Slot};
use crate::wire::{tag_of, wire_type};

/// A leaf of the scan: a field whose values are numbers or bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Leaf(pub(super) u16);

/// A message that is decoded field by field, at one place of the record type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Message(pub(super) u16);

/// What an occurrence of a field is to the scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Nothing, with all below it: it is not known, or not wanted.
    Unwanted,
    /// The same, but [`Occurrences::mismatch`](super::Occurrences::mismatch) counts it: the field has another
    /// wire type.
    Mismatch,
    /// A number.
    Number(Leaf),
    /// Bytes, whatever they look like: a string, numbers with one length before them, a message as a whole.
    Bytes(Leaf),
    /// Bytes likewise, of which only is noted that they are there: nobody asks for them.
    Present(Leaf),
    /// A message.
    Message(Message),
}

/// What the tags of a scan's record type mean.
#[derive(Debug)]
pub struct Layout {
    /// By message, the tags that mean something, in order.
    meanings: Vec<Vec<(u32, Meaning)>>,
    pub(super) leaves: Vec<LeafPlan>,
    pub(super) messages: Vec<PlannedMessage>,
    pub(super) oneofs: usize,
    complete: bool,
}

/// How values of a leaf are decoded.
#[derive(Debug)]
pub(super) struct LeafPlan {
    /// How one value is decoded; for packed numbers, one of them.
    pub slot: Slot,
    /// The message that holds the values.
    pub holder: Message,
    /// A tag of the field.
    pub tag: u32,
    /// The oneof that they are members of.
    pub member: Option<Member>,
    /// The closed enum that members have to be of.
    pub closed: Option<Arc<EnumNames>>,
}

/// A message, and what is noted when one is met.
#[derive(Debug)]
pub(super) struct PlannedMessage {
    /// Its plan, by index.
    pub plan: u32,
    /// The row that it belongs to in its holder; [`Place::Row`] for the record.
    pub place: Place,
    /// The oneof that it is a member of.
    pub member: Option<Member>,
    /// The message whose occurrences are the rows of its fields: itself, one above it, or the record.
    pub rows: Message,
    /// Messages above it.
    pub depth: u32,
    /// The message right above it.
    pub holder: Message,
    /// The tag of the field that it is in.
    pub tag: u32,
    /// Whether it or one above it is a member of a oneof.
    pub chosen: bool,
}

impl Layout {
    /// The record itself.
    pub const RECORD: Message = Message(0);

    /// What the tags of a plan mean; `None` if the plan has something that needs whole records.
    #[expect(clippy::arithmetic_side_effects, reason = "messages and leaves have indexes of 16 bits")]
    pub(crate) fn compile(plan: &Plan) -> Option<Self> {
        if plan.unknown.is_some() {
            return None;
        }
        let record = PlannedMessage {
            plan: 0,
            place: Place::Row,
            member: None,
            rows: Self::RECORD,
            depth: 0,
            holder: Self::RECORD,
            tag: 0,
            chosen: false,
        };
        let mut layout = Self {
            meanings: Vec::new(),
            leaves: Vec::new(),
            messages: vec![record],
            oneofs: 0,
            complete: true,
        };
        let mut next = 0;
        while next < layout.messages.len() {
            layout.fields(plan, Message(u16::try_from(next).ok()?))?;
            next += 1;
        }
        // Each has a list of what was met.
        u16::try_from(layout.messages.len() + layout.leaves.len()).is_ok().then_some(layout)
    }

    fn fields(&mut self, plan: &Plan, holder: Message) -> Option<()> {
        let fields = plan.messages.get(self.message(holder).plan as usize)?;
        let mut meanings = Vec::new();
        for number in fields.numbers() {
            let single = [wire_type::VARINT, wire_type::FIXED64, wire_type::FIXED32];
            let mut leaf = None;
            for wire in single.into_iter().chain([wire_type::LENGTH_DELIMITED, wire_type::START_GROUP]) {
                let tag = tag_of(number, wire);
                let slot = *fields.slot(tag);
                let meaning = match slot.op {
                    Op::Mismatch => Meaning::Mismatch,
                    op if op.encoding().is_some() => {
                        let added = self.leaf(plan, slot, (holder, tag))?;
                        leaf = Some(added);
                        Meaning::Number(added)
                    }
                    // It has the leaf of its single numbers.
                    Op::Packed(_) => Meaning::Bytes(leaf?),
                    Op::Serialized if wire == wire_type::START_GROUP => return None,
                    Op::StrictText | Op::View | Op::Owned { .. } | Op::Serialized => {
                        Meaning::Bytes(self.leaf(plan, slot, (holder, tag))?)
                    }
                    Op::Present => {
                        self.complete = false;
                        Meaning::Present(self.leaf(plan, slot, (holder, tag))?)
                    }
                    Op::Message | Op::MapEntry => {
                        Meaning::Message(self.submessage(plan, slot, (holder, tag))?)
                    }
                    Op::CheckText | Op::CheckPacked(_) => return None,
                    _ => {
                        self.complete = false;
                        continue;
                    }
                };
                meanings.push((tag, meaning));
            }
        }
        meanings.sort_unstable_by_key(|&(tag, _)| tag);
        self.meanings.push(meanings);
        Some(())
    }

    fn leaf(&mut self, plan: &Plan, slot: Slot, (holder, tag): (Message, u32)) -> Option<Leaf> {
        let leaf = Leaf(u16::try_from(self.leaves.len()).ok()?);
        let member = self.member(plan, slot.place);
        let closed = match (slot.op, member) {
            (Op::ClosedEnum, Some(_)) => Some(Arc::clone(plan.closed_enums.get(slot.detail as usize)?)),
            _ => None,
        };
        self.leaves.push(LeafPlan { slot, holder, tag, member, closed });
        Some(leaf)
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "a message is no deeper than there are messages, whose indexes have 16 bits"
    )]
    fn submessage(&mut self, plan: &Plan, slot: Slot, (holder, tag): (Message, u32)) -> Option<Message> {
        let message = Message(u16::try_from(self.messages.len()).ok()?);
        let above = self.message(holder);
        let rows = if let Place::Item(_) = slot.place { message } else { above.rows };
        let depth = above.depth + 1;
        let member = self.member(plan, slot.place);
        let chosen = member.is_some() || self.message(holder).chosen;
        let plan = slot.detail;
        let planned = PlannedMessage { plan, place: slot.place, member, rows, depth, holder, tag, chosen };
        self.messages.push(planned);
        Some(message)
    }

    #[expect(clippy::arithmetic_side_effects, reason = "the index of a oneof has 32 bits")]
    fn member(&mut self, plan: &Plan, place: Place) -> Option<Member> {
        let Place::Marked(mark) = place else { return None };
        let member = plan.marks.get(mark as usize)?.member?;
        self.oneofs = self.oneofs.max(member.oneof as usize + 1);
        Some(member)
    }

    pub(super) fn message(&self, message: Message) -> &PlannedMessage {
        &self.messages[usize::from(message.0)]
    }

    /// The index of the message whose occurrences are the rows of the fields of `message`.
    pub(super) fn rows_of(&self, message: Message) -> usize {
        usize::from(self.message(message).rows.0)
    }

    /// What `tag` means inside `message`. Groups go by the tag of their start.
    pub fn meaning(&self, message: Message, tag: u32) -> Meaning {
        let meanings = &self.meanings[usize::from(message.0)];
        let found = meanings.binary_search_by_key(&tag, |&(tag, _)| tag);
        found.map_or(Meaning::Unwanted, |at| meanings[at].1)
    }

    /// Whether the row of a message is chosen when it is met: it or one above it is a member of a oneof, and
    /// [`Occurrences::open`](super::Occurrences::open) decides over them.
    pub fn is_chosen_message(&self, message: Message) -> bool {
        self.message(message).chosen
    }

    /// Whether all fields that the record type has are wanted, so that every byte of the records is looked at.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// How many leaves there are.
    pub fn leaves(&self) -> usize {
        self.leaves.len()
    }

    /// Whether the rows of this leaf's values are chosen when they are met: it or a message above it is a member of a
    /// oneof, and [`Occurrences::value`](super::Occurrences::value) decides over them.
    pub fn is_chosen(&self, leaf: Leaf) -> bool {
        let planned = &self.leaves[leaf.index()];
        planned.member.is_some() || self.is_chosen_message(planned.holder)
    }

    /// Whether [`RecordSizes`](super::RecordSizes) cannot tell the bytes of this leaf's values: which message holds
    /// them is not known of those that do not count.
    pub fn needs_counting(&self, leaf: Leaf) -> bool {
        self.is_chosen(leaf) && self.leaves[leaf.index()].holder != Self::RECORD
    }

    /// The index of what was met of a leaf, behind the messages.
    #[expect(clippy::arithmetic_side_effects, reason = "messages and leaves have indexes of 16 bits")]
    pub(super) fn list_of(&self, leaf: Leaf) -> usize {
        self.messages.len() + leaf.index()
    }

    /// Whether which numbers count is a matter of their value: the leaf is a member of a oneof and a closed enum.
    pub fn chooses(&self, leaf: Leaf) -> bool {
        self.leaves[leaf.index()].closed.is_some()
    }

    /// Whether a number of a leaf that [chooses](Self::chooses) counts; those that do not are
    /// [discarded](super::Occurrences::discard).
    pub fn counts(&self, leaf: Leaf, number: u64) -> bool {
        self.leaves[leaf.index()].closed.as_ref().is_none_or(|names| names.key(number as i32).is_some())
    }
}

impl Message {
    /// Its place among the messages of the scan.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The message at this place.
    pub fn at(index: u16) -> Self {
        Self(index)
    }
}

impl Leaf {
    /// Its place among the leaves of the scan.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The leaf at this place.
    pub fn at(index: u16) -> Self {
        Self(index)
    }
}
