//! The encode plan: how each column becomes a field, decided once.

use crate::descriptor::Kind;
use crate::encode::enums::EnumNumbers;
use crate::encode::times::Parts;
use crate::well_known::JsonKind;
use crate::wire::{tag_of, to_varint, wire_type};

/// A message type: its fields by ascending number.
#[derive(Debug)]
pub(super) struct MessagePlan {
    pub(super) fields: Vec<FieldPlan>,
    pub(super) oneofs: Vec<OneofPlan>,
}

/// A oneof of which several members have a column.
#[derive(Debug)]
pub(super) struct OneofPlan {
    pub(super) name: String,
    /// Indices of the members' plans.
    pub(super) members: Vec<usize>,
}

/// A field, an item of a list, or a part of a map's entry.
#[derive(Debug)]
pub(super) struct FieldPlan {
    /// The column's name; empty for parts that a path does not show.
    pub(super) name: String,
    /// Where the values come from.
    pub(super) place: Place,
    /// What stands before a value.
    pub(super) tag: Tag,
    /// Whether the default of the type is written.
    pub(super) keeps_default: bool,
    pub(super) on_null: OnNull,
    pub(super) form: Form,
}

/// Where the values of a field come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The column, or the struct's child, of this index.
    Child(usize),
    /// The value that the message stands for.
    Itself,
}

/// What becomes of NULL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OnNull {
    /// Nothing is written.
    Omit(Option<Loss>),
    /// It cannot be written.
    Refuse(String),
    /// The message around the value is written, without it.
    Inside,
}

/// What is lost where NULL is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    /// A list is read back as empty.
    List,
    /// A list or map is one shorter.
    Item,
    /// A value is read back as the default of its type.
    Value,
}

/// How values are written.
#[derive(Debug)]
pub(super) enum Form {
    /// Every value is NULL.
    Nothing,
    /// A number or boolean.
    Number(Kind),
    /// An enum, from names or numbers.
    Enum(EnumNumbers),
    /// Text or bytes.
    Bytes,
    /// A `Struct`, `Value` or `ListValue` from JSON text, in a message at this depth.
    Json(JsonKind, u32, Frame),
    /// A message from its serialized bytes.
    Serialized(Frame),
    /// A message without fields, from true or an empty struct.
    Present(Frame),
    /// A message of the parts of a time.
    Parts(Parts, Vec<FieldPlan>, Frame),
    /// A message from a struct.
    Message(MessagePlan, Frame),
    /// A message whose only field is the value.
    Only(Box<FieldPlan>, Frame),
    /// A repeated field. `packed`: the values stand together behind one tag.
    List { item: Box<FieldPlan>, packed: bool },
    /// A map field.
    Map { key: Box<FieldPlan>, value: Box<FieldPlan> },
}

/// What a message is delimited by.
#[derive(Debug, Clone, Copy)]
pub(super) enum Frame {
    /// Its length, before it.
    Length,
    /// A tag behind it.
    Group(Tag),
}

/// The bytes of a tag, the first one lowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) word: u64,
    /// How many bytes there are.
    pub(super) len: u32,
}

impl Tag {
    /// No tag.
    pub(super) const NONE: Self = Self { word: 0, len: 0 };

    /// The tag of a field number and a wire type.
    pub(super) fn new(number: u32, wire_type: u32) -> Self {
        let bytes = to_varint(u64::from(tag_of(number, wire_type)));
        let word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        Self { word, len: bytes.len() as u32 }
    }

    /// The tag before a value of this kind.
    pub(super) fn of_kind(number: u32, kind: Kind) -> Self {
        Self::new(number, wire_type_of(kind))
    }
}

impl Frame {
    /// What delimits the messages of a field of this kind.
    pub(super) fn of(number: u32, kind: Kind) -> Self {
        match kind {
            Kind::Group(_) => Self::Group(Tag::new(number, wire_type::END_GROUP)),
            _ => Self::Length,
        }
    }
}

fn wire_type_of(kind: Kind) -> u32 {
    match kind {
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => wire_type::FIXED64,
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => wire_type::FIXED32,
        Kind::String | Kind::Bytes | Kind::Message(_) => wire_type::LENGTH_DELIMITED,
        Kind::Group(_) => wire_type::START_GROUP,
        _ => wire_type::VARINT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_varints() {
        for number in [1, 15, 16, 2047, 2048, 262_143, 262_144, 33_554_431, 33_554_432, (1 << 29) - 1] {
            let expected = to_varint(u64::from(tag_of(number, wire_type::FIXED32)));
            let tag = Tag::new(number, wire_type::FIXED32);
            assert_eq!(tag.word.to_le_bytes()[..tag.len as usize], expected);
            assert_eq!(tag.word >> (8 * tag.len), 0);
        }
    }
}
