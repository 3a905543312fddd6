//! The tree of columns that a message type becomes: one node per Arrow field, with how it is decoded.
//!
//! All decisions of the mapping that do not depend on a query are made here: how often a recursive type is
//! expanded, which messages have a form of their own, what absence shows as. The Arrow schema and the plans
//! of scans derive from it.

mod build;
mod names;

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::FieldRef;

pub(crate) use build::{columns, utf8_policy};

use crate::descriptor::{Kind, MessageId, Value};
use crate::enum_names::EnumNames;
use crate::options::EnumForm;
use crate::text::Utf8;

/// A column, or a part of one.
#[derive(Debug)]
pub(crate) struct Node {
    /// The protobuf field's name; that of the whole field for list items.
    pub name: String,
    /// The Arrow field.
    pub field: FieldRef,
    /// The protobuf field number; that of the whole field for list items.
    pub number: u32,
    /// How values are decoded.
    pub form: Form,
    /// What a message without the field shows.
    pub absence: Absence,
    /// The oneof of the message that the field belongs to, or tells the member of.
    pub oneof: Option<usize>,
    /// Whether there is a column; a field without one is only checked.
    pub shown: bool,
}

/// What a message without a field shows (section 4).
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Absence {
    /// NULL.
    Null,
    /// NULL, and the record is incomplete.
    Incomplete,
    /// The default of the type.
    Default,
    /// NULL, and so does a default value that is there.
    Hidden,
    /// This value.
    Filled(Value),
}

/// How the values of a node are decoded and what they become.
#[derive(Debug)]
pub(crate) enum Form {
    /// A number or boolean of this kind.
    Number(Kind),
    /// A string.
    Text { utf8: Utf8, storage: Storage },
    /// Bytes.
    Bytes(Storage),
    /// An enum. `closed`: numbers that it does not have are unknown fields.
    Enum { names: Arc<EnumNames>, closed: bool, shown: EnumForm },
    /// A message, decoded field by field.
    Message { shape: Shape, fields: Vec<Node>, group: bool },
    /// A message kept as its bytes, or shown as JSON text.
    Serialized { id: MessageId, json: bool, group: bool },
    /// A repeated field.
    List(Box<Node>),
    /// A map field. `known_values`: entries whose value is a number unknown to a closed enum are dropped.
    Map { key: Box<Node>, value: Box<Node>, known_values: bool },
    /// Which member of a oneof is set: their field numbers, and their names as an array.
    Case { members: Vec<u32>, names: ArrayRef },
}

/// Where strings and bytes lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Storage {
    /// In the block of records, as views.
    Shared,
    /// In a buffer of the column's own, with offsets of 32 bits.
    Owned,
    /// The same with offsets of 64 bits.
    OwnedLarge,
}

/// What the decoded fields of a message become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A struct.
    Struct,
    /// `true` where the message is present: there are no fields.
    Present,
    /// The only field, in place of the message.
    Only,
    /// From `seconds` and `nanos`.
    Timestamp,
    /// From `seconds` and `nanos`.
    Duration,
    /// From `year`, `month` and `day`.
    Date,
    /// From `hours`, `minutes`, `seconds` and `nanos`.
    TimeOfDay,
}
