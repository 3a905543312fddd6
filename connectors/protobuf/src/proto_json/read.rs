//! Wire bytes as a tree of fields.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::types::{Member, MessageType, Types};
use crate::descriptor::{Field, Kind, MessageId};
use crate::fault::Result;
use crate::wire::{self, MAX_DEPTH, WireFault, tag_of, wire_type};

/// A message as read.
pub(super) struct Record<'a> {
    /// Its type.
    pub of: Rc<MessageType<'a>>,
    /// Messages and groups around it.
    pub depth: u32,
    fields: BTreeMap<Key, (&'a Field, Value<'a>)>,
    /// By oneof, the member that is set.
    oneofs: BTreeMap<usize, Key>,
}

/// Whether a field is an extension, and its number: the order in which fields are printed.
type Key = (bool, u32);

/// What a field holds. Its kind tells which it is.
pub(super) enum Value<'a> {
    /// The bits of a number, as wide as its kind.
    Number(u64),
    /// A string or bytes.
    Bytes(&'a [u8]),
    /// A message or group.
    Message(Record<'a>),
    /// The values of a repeated field, of which there are some; of a map its entries.
    List(Vec<Value<'a>>),
}

/// Reads a serialized message that has `depth` messages around it.
///
/// # Errors
/// Every [`WireFault`].
pub(super) fn record<'a>(
    types: &mut Types<'a>,
    message: MessageId,
    bytes: &'a [u8],
    depth: u32,
) -> Result<Record<'a>> {
    if depth > MAX_DEPTH {
        return Err(WireFault::TooDeep.into());
    }
    let mut reader = Reader { types };
    let mut record = reader.empty(message, depth);
    reader.merge(bytes, 0, 0, &mut record)?;
    Ok(record)
}

impl<'a> Record<'a> {
    /// The fields that are present, in the order of printing.
    pub(super) fn fields(&self) -> impl Iterator<Item = (Key, &'a Field, &Value<'a>)> {
        self.fields.iter().map(|(key, (field, value))| (*key, *field, value))
    }

    /// The field of this number, if it is present.
    pub(super) fn field(&self, number: u32) -> Option<(&'a Field, &Value<'a>)> {
        self.fields.get(&(false, number)).map(|(field, value)| (*field, value))
    }

    /// The bits of a number; 0 if it is absent.
    pub(super) fn number(&self, number: u32) -> u64 {
        match self.field(number) {
            Some((_, Value::Number(bits))) => *bits,
            _ => 0,
        }
    }

    /// A string or bytes; empty if it is absent.
    pub(super) fn bytes(&self, number: u32) -> &'a [u8] {
        match self.field(number) {
            Some((_, Value::Bytes(bytes))) => bytes,
            _ => &[],
        }
    }

    /// The values of a repeated field.
    pub(super) fn items(&self, number: u32) -> &[Value<'a>] {
        match self.field(number) {
            Some((_, Value::List(items))) => items,
            _ => &[],
        }
    }

    /// Adds a value to a repeated field, or replaces the value of a singular one.
    fn set(&mut self, member: Member<'a>, value: Value<'a>) {
        let Member { field, extension } = member;
        let key = (extension, field.number);
        if !member.is_repeated() {
            if let Some(oneof) = field.oneof
                && let Some(other) = self.oneofs.insert(oneof, key).filter(|other| *other != key)
            {
                self.fields.remove(&other);
            }
            self.fields.insert(key, (field, value));
            return;
        }
        let (_, list) = self.fields.entry(key).or_insert_with(|| (field, Value::List(Vec::new())));
        if let Value::List(items) = list {
            items.push(value);
        }
    }

    /// Takes out the message of a singular field, to merge more into it.
    fn take_message(&mut self, member: Member<'a>) -> Option<Record<'a>> {
        if member.is_repeated() {
            return None;
        }
        match self.fields.remove(&(member.extension, member.field.number)) {
            Some((_, Value::Message(message))) => Some(message),
            _ => None,
        }
    }
}

struct Reader<'t, 'a> {
    types: &'t mut Types<'a>,
}

impl<'a> Reader<'_, 'a> {
    /// A message of which nothing was read yet.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "no message is read deeper than MAX_DEPTH, and the empty value of a map entry is one below"
    )]
    fn empty(&mut self, message: MessageId, depth: u32) -> Record<'a> {
        let of = self.types.message(message);
        let mut record =
            Record { of: Rc::clone(&of), depth, fields: BTreeMap::new(), oneofs: BTreeMap::new() };
        for member in of.always_shown() {
            let value = match member.field.kind {
                Kind::Message(id) | Kind::Group(id) => Value::Message(self.empty(id, depth + 1)),
                Kind::String | Kind::Bytes => Value::Bytes(&[]),
                Kind::Enum(id) => Value::Number(u64::from(self.types.enumeration(id).first as u32)),
                _ => Value::Number(0),
            };
            record.set(member, value);
        }
        record
    }

    /// Reads the fields from `at` to the end of `bytes`, or behind the end tag of `group` if that is not 0.
    /// Returns where that is.
    fn merge(
        &mut self,
        bytes: &'a [u8],
        mut at: usize,
        group: u32,
        record: &mut Record<'a>,
    ) -> Result<usize> {
        let of = Rc::clone(&record.of);
        while at < bytes.len() {
            let tag = wire::tag(bytes, &mut at)?;
            if group != 0 && tag == tag_of(group, wire_type::END_GROUP) {
                return Ok(at);
            }
            match of.member(tag >> 3) {
                Some(member) => self
                    .field(bytes, &mut at, tag, member, record)
                    .map_err(|fault| fault.within(&member.field.name))?,
                None => wire::skip(bytes, &mut at, tag, record.depth)?,
            }
        }
        if group == 0 { Ok(at) } else { Err(WireFault::GroupWithoutEnd.into()) }
    }

    /// Reads the value behind `tag`. One of another wire type than the field's is passed over.
    #[expect(clippy::indexing_slicing, reason = "a length that is read ends within the bytes")]
    fn field(
        &mut self,
        bytes: &'a [u8],
        at: &mut usize,
        tag: u32,
        member: Member<'a>,
        record: &mut Record<'a>,
    ) -> Result<()> {
        match (member.field.kind, tag & 7) {
            (Kind::Message(id), wire_type::LENGTH_DELIMITED) => {
                let end = wire::length(bytes, at)?;
                *at = self.submessage(id, &bytes[..end], *at, 0, member, record)?;
            }
            (Kind::Group(id), wire_type::START_GROUP) => {
                *at = self.submessage(id, bytes, *at, tag >> 3, member, record)?;
            }
            (Kind::String | Kind::Bytes, wire_type::LENGTH_DELIMITED) => {
                let end = wire::length(bytes, at)?;
                record.set(member, Value::Bytes(&bytes[*at..end]));
                *at = end;
            }
            (kind, wire_type) if kind.is_packable() && wire_type == number_type(kind) => {
                self.number(bytes, at, member, record)?;
            }
            (kind, wire_type::LENGTH_DELIMITED) if kind.is_packable() && member.is_repeated() => {
                let end = wire::length(bytes, at)?;
                while *at < end {
                    self.number(&bytes[..end], at, member, record).map_err(|fault| {
                        let fixed = number_type(kind) != wire_type::VARINT;
                        if fixed { WireFault::PackedRemainder.into() } else { fault }
                    })?;
                }
            }
            _ => wire::skip(bytes, at, tag, record.depth)?,
        }
        Ok(())
    }

    /// Reads a number. A closed enum does not have those without a name; in a map, they are of its entry.
    fn number(
        &mut self,
        bytes: &[u8],
        at: &mut usize,
        member: Member<'a>,
        record: &mut Record<'a>,
    ) -> Result<()> {
        let kind = member.field.kind;
        let bits = match kind {
            Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => wire::fixed64(bytes, at)?,
            Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => wire::fixed32(bytes, at)?.into(),
            Kind::Int64 | Kind::Uint64 => wire::varint(bytes, at)?,
            Kind::Sint64 => wire::zigzag64(wire::varint(bytes, at)?),
            Kind::Sint32 => wire::zigzag32(wire::varint(bytes, at)? as u32).into(),
            Kind::Bool => u64::from(wire::varint(bytes, at)? != 0),
            _ => u64::from(wire::varint(bytes, at)? as u32),
        };
        if record.of.map_entry || self.is_known(kind, bits) {
            record.set(member, Value::Number(bits));
        }
        Ok(())
    }

    fn is_known(&mut self, kind: Kind, bits: u64) -> bool {
        let Kind::Enum(id) = kind else { return true };
        let enumeration = self.types.enumeration(id);
        !enumeration.closed || enumeration.name(bits as i32).is_some()
    }

    /// Reads the message from `at` to the end of `bytes` or of its group, and returns where that is. An entry
    /// whose value is a number that the closed enum does not have is none.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "no message is read deeper than MAX_DEPTH, and the empty value of a map entry is one below"
    )]
    fn submessage(
        &mut self,
        id: MessageId,
        bytes: &'a [u8],
        at: usize,
        group: u32,
        member: Member<'a>,
        record: &mut Record<'a>,
    ) -> Result<usize> {
        let depth = record.depth + 1;
        if depth > MAX_DEPTH {
            return Err(WireFault::TooDeep.into());
        }
        let mut message = record.take_message(member).unwrap_or_else(|| self.empty(id, depth));
        let end = self.merge(bytes, at, group, &mut message)?;
        let known = match message.field(2) {
            Some((value, Value::Number(bits))) if message.of.map_entry => self.is_known(value.kind, *bits),
            _ => true,
        };
        if known {
            record.set(member, Value::Message(message));
        }
        Ok(end)
    }
}

/// The wire type of one number of a kind.
fn number_type(kind: Kind) -> u32 {
    match kind {
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => wire_type::FIXED64,
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => wire_type::FIXED32,
        _ => wire_type::VARINT,
    }
}
