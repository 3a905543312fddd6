//! What a scan does with each field: compiled once from the column tree and the projection.
//!
//! A plan has a table per message node, from tag to [`Slot`], and an [`Output`] per Arrow field, which says
//! how its array is made from the buffers that the slots write to.
//!
//! Fields that are not wanted are passed over by wire type: their contents are not looked into, so that a
//! fault inside them is not seen. With all columns wanted, every known field is checked (section 6).

mod check;
mod compile;
mod encoding;
mod fill;
mod tags;

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::FieldRef;

pub(crate) use compile::{Wanted, compile};
pub(crate) use encoding::Encoding;
use tags::TagTable;

use crate::column_tree::Shape;
use crate::columns::Columns;
use crate::descriptor::MessageId;
use crate::enum_names::EnumNames;
use crate::options::EnumForm;
use crate::text::Utf8;

/// A compiled scan.
#[derive(Debug)]
pub(crate) struct Plan {
    /// A plan per message node and per message type that is only checked; the record's is the first.
    pub messages: Vec<MessagePlan>,
    /// What is noted of rows, by index.
    pub marks: Vec<Mark>,
    /// All outputs; they refer to each other by index.
    pub outputs: Vec<Output>,
    /// The columns that are decoded, each once.
    pub columns: Vec<PlannedColumn>,
    /// The projection's order, as indices into `columns`.
    pub order: Vec<usize>,
    /// The buffer of unknown fields of the records, if they are wanted.
    pub unknown: Option<u32>,
    /// Whether a record without a required field is bad.
    pub strict_required: bool,
    /// The enums whose numbers are checked while decoding.
    pub closed_enums: Vec<Arc<EnumNames>>,
    /// How many leaf columns are decoded.
    pub leaves: u64,
}

#[expect(clippy::indexing_slicing, reason = "indices are those that the plan was compiled with")]
impl Plan {
    /// The plan of a message, by its index.
    #[inline(always)]
    pub(crate) fn message(&self, message: u32) -> &MessagePlan {
        &self.messages[message as usize]
    }

    /// What is noted, by its index.
    #[inline]
    pub(crate) fn mark(&self, mark: u32) -> &Mark {
        &self.marks[mark as usize]
    }

    /// An output, by its index.
    pub(crate) fn output(&self, output: u32) -> &Output {
        &self.outputs[output as usize]
    }

    /// Whether the closed enum of this index has the number.
    #[inline]
    pub(crate) fn is_known(&self, closed: u32, number: u32) -> bool {
        self.closed_enums[closed as usize].key(number as i32).is_some()
    }
}

/// A column of the table that is decoded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlannedColumn {
    /// How its array is made.
    pub output: u32,
    /// The field number; 0 for what is no field.
    pub number: u32,
    /// Whether the projection has it: others are decoded to judge the records as a whole.
    pub wanted: bool,
}

/// How the fields of a message are decoded.
#[derive(Debug)]
pub(crate) struct MessagePlan {
    /// From tag to the index of a slot.
    tags: TagTable,
    /// What to do with a field: first what passes over fields, then the fields.
    slots: Vec<Slot>,
    /// Field numbers and names, for messages about faults.
    names: Vec<(u32, String)>,
    /// Of a map entry with values of a closed enum: the values' column, and the enum.
    pub closed_value: Option<(u32, u32)>,
}

impl MessagePlan {
    /// A plan that passes over these fields, given by number and name, and over all others.
    fn new<'a>(fields: impl IntoIterator<Item = (u32, &'a str)>) -> Self {
        let names: Vec<_> = fields.into_iter().map(|(number, name)| (number, name.to_string())).collect();
        let numbers: Vec<u32> = names.iter().map(|&(number, _)| number).collect();
        let passing = |op| Slot { op, place: Place::Row, column: 0, detail: 0 };
        let by_wire_type =
            [Op::PassVarint, Op::PassFixed64, Op::PassDelimited, Op::Unwanted, Op::Unwanted, Op::PassFixed32];
        let slots = [Op::Unknown, Op::Mismatch].into_iter().chain(by_wire_type).map(passing).collect();
        Self { tags: TagTable::new(&numbers), slots, names, closed_value: None }
    }

    /// The slot that a tag leads to.
    #[expect(clippy::indexing_slicing, reason = "the table of tags has indices of slots alone")]
    #[inline(always)]
    pub(crate) fn slot(&self, tag: u32) -> &Slot {
        &self.slots[self.tags.get(tag) as usize]
    }

    /// The numbers of the fields that are known.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.names.iter().map(|&(number, _)| number)
    }

    /// The name of a field that is known.
    pub(crate) fn name(&self, tag: u32) -> Option<&str> {
        let known = self.names.iter().find(|&&(number, _)| number == tag >> 3);
        known.map(|(_, name)| name.as_str())
    }

    /// Lets `tag`, of one of the plan's fields, lead to `slot`.
    fn set(&mut self, tag: u32, slot: Slot) {
        self.tags.set(tag, push(&mut self.slots, slot));
    }

    /// Lets `tag`, of one of the plan's fields, be passed over without being counted.
    #[expect(clippy::arithmetic_side_effects, reason = "a wire type has three bits")]
    fn set_unwanted(&mut self, tag: u32) {
        self.tags.set(tag, TagTable::UNWANTED + (tag & 7));
    }
}

/// Appends `item` and returns its index.
fn push<T>(items: &mut Vec<T>, item: T) -> u32 {
    let index = items.len() as u32;
    items.push(item);
    index
}

/// What to do with an occurrence of a field. Aligned so that a shift finds the slot of an index.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(crate) struct Slot {
    /// How the value is decoded.
    pub op: Op,
    /// Which row the value belongs to.
    pub place: Place,
    /// The buffer of the op's kind that takes the value.
    pub column: u32,
    /// The plan of the message that the value is, or the enum it has to be of.
    pub detail: u32,
}

/// How a value is decoded, and into which kind of buffer. Flat, so that one jump leads to the code of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// A single number of this encoding; likewise those that follow.
    Varint32,
    Zigzag32,
    Fixed32,
    Varint64,
    Zigzag64,
    Fixed64,
    Bool,
    ClosedEnum,
    /// A run of numbers with a length before it.
    Packed(Encoding),
    /// A view of a string, which may replace an earlier one only if that was valid UTF-8.
    StrictText,
    /// A view of a string or of bytes.
    View,
    /// A string or bytes copied to the column's own buffer. The flag is that of [`Op::StrictText`].
    Owned {
        strict: bool,
    },
    /// A string, bytes or a number of which only is noted that it is there.
    Present,
    /// A message that is decoded field by field, with a length before it or between group tags.
    Message,
    /// A message that is checked and kept as its bytes.
    Serialized,
    /// An entry of a map.
    MapEntry,
    /// A string that only has to be valid UTF-8.
    CheckText,
    /// A run of numbers that only has to be whole.
    CheckPacked(Encoding),
    /// A field that is known but not wanted; those that follow likewise, by their wire type.
    Unwanted,
    PassVarint,
    PassFixed32,
    PassFixed64,
    PassDelimited,
    /// A known field with another wire type.
    Mismatch,
    /// A field that is not known, or the end of a group.
    Unknown,
}

impl Op {
    /// The encoding, if the value is a single number.
    pub(crate) fn encoding(self) -> Option<Encoding> {
        match self {
            Self::Varint32 => Some(Encoding::Varint32),
            Self::Zigzag32 => Some(Encoding::Zigzag32),
            Self::Fixed32 => Some(Encoding::Fixed32),
            Self::Varint64 => Some(Encoding::Varint64),
            Self::Zigzag64 => Some(Encoding::Zigzag64),
            Self::Fixed64 => Some(Encoding::Fixed64),
            Self::Bool => Some(Encoding::Bool),
            Self::ClosedEnum => Some(Encoding::ClosedEnum),
            _ => None,
        }
    }
}

/// The row of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    /// That of the message.
    Row,
    /// A new item of these items.
    Item(u32),
    /// That of the message, which this mark notes.
    Marked(u32),
}

/// What is noted of a row when a value comes for it.
#[derive(Debug)]
pub(crate) struct Mark {
    /// The bitmap of the rows that are there.
    pub validity: u32,
    /// The member of a oneof that the value is: the other members are taken back.
    pub member: Option<Member>,
}

/// A member of a oneof.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    /// The oneof.
    pub oneof: u32,
    /// The member's output.
    pub output: u32,
    /// The column that tells which member is set, and the member's index there.
    pub case: Option<(u32, u32)>,
}

/// How an array is made.
#[derive(Debug)]
pub(crate) struct Output {
    /// The Arrow field.
    pub field: FieldRef,
    /// The bitmap of the rows that are there; without one, all rows are that the parent has.
    pub validity: Option<u32>,
    /// Whether a record with a row that is not there is incomplete.
    pub required: bool,
    /// Whether the default of the type is NULL.
    pub hidden: bool,
    /// The value, as an array of one row, of rows that are not there.
    pub fill: Option<ArrayRef>,
    /// From what the array is made.
    pub source: Source,
}

/// From what an array is made: buffers of [`Columns`] and other outputs, by index.
#[derive(Debug)]
pub(crate) enum Source {
    /// Not wanted: all NULL.
    Absent,
    /// 32-bit numbers; `signed` tells how map keys are widened to 64 bits.
    Words { column: u32, signed: bool },
    /// 64-bit numbers.
    Longs(u32),
    /// Booleans.
    Bits(u32),
    /// Views of bytes.
    Views(u32),
    /// Views of strings.
    Texts { column: u32, utf8: Utf8 },
    /// Strings or bytes in their own buffer; `utf8` is for strings.
    Bytes { column: u32, utf8: Utf8 },
    /// Numbers of an enum.
    Enum { column: u32, names: Arc<EnumNames>, shown: EnumForm },
    /// The index of a oneof's member, or [`NO_MEMBER`].
    Case { column: u32, names: ArrayRef },
    /// Serialized messages that show as JSON.
    Json { column: u32, message: MessageId },
    /// A message.
    Message { shape: Shape, fields: Vec<u32> },
    /// A list and its items.
    List { items: u32, item: u32 },
    /// A map, its keys and its values.
    Map { items: u32, key: u32, value: u32 },
}

/// What [`Source::Case`] holds for rows in which no member is set.
pub(crate) const NO_MEMBER: u32 = u32::MAX;

/// A plan and the empty buffers it writes to.
pub(crate) struct Compiled {
    /// The plan.
    pub plan: Plan,
    /// Its buffers.
    pub columns: Columns,
}
