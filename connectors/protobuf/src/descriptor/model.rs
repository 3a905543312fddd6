//! The resolved model: what decoding needs to know of a message type, with every name linked and every
//! edition feature decided. Immutable once built; message types refer to each other by index.

use std::collections::HashMap;

/// All message and enum types of a set of .proto files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Descriptors {
    pub(crate) messages: Vec<Message>,
    pub(crate) enums: Vec<Enum>,
    pub(crate) by_name: HashMap<String, MessageId>,
}

/// A message type in its [`Descriptors`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub(crate) u32);

/// An enum type in its [`Descriptors`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EnumId(pub(crate) u32);

/// A message type.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Full name without a leading dot.
    pub full_name: String,
    /// Fields in declaration order, without extensions.
    pub fields: Vec<Field>,
    /// Known extensions of this message, by number.
    pub extensions: Vec<Field>,
    /// Names of the oneofs, without those that proto3 `optional` makes.
    pub oneofs: Vec<String>,
    /// Whether this is the entry type of a map field: key is field 1, value field 2.
    pub map_entry: bool,
}

/// A field or extension.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Name; for an extension its full name.
    pub name: String,
    /// Name in JSON.
    pub json_name: String,
    /// Field number, 1 to 2^29 - 1.
    pub number: u32,
    /// What one value is.
    pub kind: Kind,
    /// One value or many.
    pub cardinality: Cardinality,
    /// Whether absence can be told from the default; of no meaning for repeated fields.
    pub presence: Presence,
    /// Index into [`Message::oneofs`] of the real oneof that the field belongs to.
    pub oneof: Option<usize>,
    /// The declared default of proto2 and editions.
    pub default: Option<Value>,
    /// Whether a repeated field is written packed.
    pub packed: bool,
    /// Whether invalid UTF-8 makes the record bad (feature `utf8_validation`).
    pub validate_utf8: bool,
}

/// The type of one value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Kind {
    Double,
    Float,
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Sint64,
    Fixed32,
    Fixed64,
    Sfixed32,
    Sfixed64,
    Bool,
    String,
    Bytes,
    Enum(EnumId),
    /// A message with a length before it.
    Message(MessageId),
    /// A message between group tags: proto2 groups, and editions' DELIMITED fields.
    Group(MessageId),
}

/// How many values a field may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Cardinality {
    Singular,
    Repeated,
}

/// Feature `field_presence`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// A default value is not told from absence.
    Implicit,
    /// Absence is told from a default value.
    Explicit,
    /// Every message must have the field.
    Required,
}

/// A declared default value.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Value {
    Double(f64),
    Float(f32),
    /// Of all signed integers.
    Int(i64),
    /// Of all unsigned integers.
    Uint(u64),
    Bool(bool),
    String(String),
    Bytes(Vec<u8>),
    /// The value's number.
    Enum(i32),
}

/// An enum type.
#[derive(Debug, Clone, PartialEq)]
pub struct Enum {
    /// Full name without a leading dot.
    pub full_name: String,
    /// Values in declaration order; several may share a number.
    pub values: Vec<EnumValue>,
    /// Whether numbers that are not listed are unknown fields (feature `enum_type` CLOSED).
    pub closed: bool,
}

/// One value of an enum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnumValue {
    /// Name.
    pub name: String,
    /// Number.
    pub number: i32,
}

impl Descriptors {
    /// The message type of this full name (no leading dot).
    pub fn find(&self, full_name: &str) -> Option<MessageId> {
        self.by_name.get(full_name).copied()
    }

    /// The message type behind an id of these descriptors.
    #[expect(clippy::indexing_slicing, reason = "an id is made together with its message")]
    pub fn message(&self, id: MessageId) -> &Message {
        &self.messages[id.0 as usize]
    }

    /// The enum type behind an id of these descriptors.
    #[expect(clippy::indexing_slicing, reason = "an id is made together with its enum")]
    pub fn enumeration(&self, id: EnumId) -> &Enum {
        &self.enums[id.0 as usize]
    }

    /// All message types, map entries included.
    pub fn messages(&self) -> impl Iterator<Item = (MessageId, &Message)> {
        self.messages.iter().enumerate().map(|(at, message)| (MessageId(at as u32), message))
    }
}
