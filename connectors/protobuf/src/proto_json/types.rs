//! What reading and printing need to know of a type, worked out when the type is first met.

use std::collections::HashMap;
use std::rc::Rc;

use crate::descriptor::{Cardinality, Descriptors, EnumId, Field, MessageId};
use crate::well_known::{self, WellKnown};

/// The types of one set of descriptors.
pub(super) struct Types<'a> {
    /// The descriptors.
    pub descriptors: &'a Descriptors,
    messages: HashMap<MessageId, Rc<MessageType<'a>>>,
    enums: HashMap<EnumId, Rc<EnumType<'a>>>,
}

impl<'a> Types<'a> {
    pub(super) fn new(descriptors: &'a Descriptors) -> Self {
        Self { descriptors, messages: HashMap::new(), enums: HashMap::new() }
    }

    /// The message type of this id.
    pub(super) fn message(&mut self, id: MessageId) -> Rc<MessageType<'a>> {
        let descriptors = self.descriptors;
        Rc::clone(self.messages.entry(id).or_insert_with(|| Rc::new(MessageType::new(descriptors, id))))
    }

    /// The enum type of this id.
    pub(super) fn enumeration(&mut self, id: EnumId) -> Rc<EnumType<'a>> {
        let descriptors = self.descriptors;
        Rc::clone(self.enums.entry(id).or_insert_with(|| Rc::new(EnumType::new(descriptors, id))))
    }
}

/// A message type.
pub(super) struct MessageType<'a> {
    members: Vec<Member<'a>>,
    /// The form in JSON, of those messages that do not show as objects of their fields.
    pub form: Option<WellKnown>,
    /// Whether this is the entry type of a map.
    pub map_entry: bool,
}

/// A field or extension of a message type.
#[derive(Clone, Copy)]
pub(super) struct Member<'a> {
    /// The field.
    pub field: &'a Field,
    /// Whether it is an extension.
    pub extension: bool,
}

impl<'a> MessageType<'a> {
    fn new(descriptors: &'a Descriptors, id: MessageId) -> Self {
        let message = descriptors.message(id);
        let members =
            |fields: &'a [Field], extension| fields.iter().map(move |field| Member { field, extension });
        let mut members: Vec<Member<'a>> =
            members(&message.fields, false).chain(members(&message.extensions, true)).collect();
        members.sort_by_key(|member| member.field.number);
        let form = well_known::recognise(descriptors, id)
            .filter(|known| !matches!(known, WellKnown::Date | WellKnown::TimeOfDay));
        Self { members, form, map_entry: message.map_entry }
    }

    /// The field or extension of this number.
    pub(super) fn member(&self, number: u32) -> Option<Member<'a>> {
        let found = self.members.binary_search_by_key(&number, |member| member.field.number);
        self.members.get(found.ok()?).copied()
    }

    /// The fields that show even where they are absent: a map entry's key and value, a wrapper's value.
    pub(super) fn always_shown(&self) -> impl Iterator<Item = Member<'a>> {
        let shown = self.map_entry || self.form == Some(WellKnown::Wrapper);
        self.members.iter().copied().filter(move |member| shown && !member.extension)
    }
}

impl Member<'_> {
    /// Whether the field has many values.
    pub(super) fn is_repeated(self) -> bool {
        self.field.cardinality == Cardinality::Repeated
    }
}

/// An enum type.
pub(super) struct EnumType<'a> {
    /// The first declared name of each number, by number.
    names: Vec<(i32, &'a str)>,
    /// The number of the first declared value.
    pub first: i32,
    /// Whether numbers without a name are not values of it.
    pub closed: bool,
    /// Whether this is `google.protobuf.NullValue`.
    pub null: bool,
}

impl<'a> EnumType<'a> {
    fn new(descriptors: &'a Descriptors, id: EnumId) -> Self {
        let enumeration = descriptors.enumeration(id);
        let name = |value: &'a crate::descriptor::EnumValue| (value.number, value.name.as_str());
        let mut names: Vec<_> = enumeration.values.iter().map(name).collect();
        let first = names.first().map_or(0, |(number, _)| *number);
        names.sort_by_key(|(number, _)| *number);
        names.dedup_by_key(|(number, _)| *number);
        let null = enumeration.full_name == "google.protobuf.NullValue";
        Self { names, first, closed: enumeration.closed, null }
    }

    /// The name of a number.
    pub(super) fn name(&self, number: i32) -> Option<&'a str> {
        let found = self.names.binary_search_by_key(&number, |(number, _)| *number);
        self.names.get(found.ok()?).map(|(_, name)| *name)
    }
}
