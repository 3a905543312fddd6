//! Plans of message types whose fields are checked but not decoded: those that are kept serialized.

use std::collections::HashMap;

use super::encoding::{encoding, number_type};
use super::{MessagePlan, Op, Place, Slot, push};
use crate::column_tree::utf8_policy;
use crate::descriptor::{Cardinality, Descriptors, Field, Kind, MessageId};
use crate::options::{Extensions, Mapping};
use crate::text::Utf8;
use crate::wire::{tag_of, wire_type};

/// The message plans of a scan while it is compiled.
pub(super) struct Messages<'a> {
    descriptors: &'a Descriptors,
    mapping: &'a Mapping,
    plans: Vec<MessagePlan>,
    checked: HashMap<MessageId, u32>,
    unfinished: Vec<MessageId>,
}

impl<'a> Messages<'a> {
    /// No plans yet.
    pub(super) fn new(descriptors: &'a Descriptors, mapping: &'a Mapping) -> Self {
        Self { descriptors, mapping, plans: Vec::new(), checked: HashMap::new(), unfinished: Vec::new() }
    }

    /// The index of a new, empty plan.
    pub(super) fn reserve(&mut self) -> u32 {
        push(&mut self.plans, MessagePlan::new([]))
    }

    /// The plan of an index that was reserved.
    #[expect(clippy::indexing_slicing, reason = "the index was reserved")]
    pub(super) fn plan(&mut self, index: u32) -> &mut MessagePlan {
        &mut self.plans[index as usize]
    }

    /// The index of the plan that only checks messages of this type.
    pub(super) fn checked(&mut self, id: MessageId) -> u32 {
        if let Some(&index) = self.checked.get(&id) {
            return index;
        }
        let index = self.reserve();
        self.checked.insert(id, index);
        self.unfinished.push(id);
        index
    }

    /// All plans, by index.
    pub(super) fn finish(mut self) -> Vec<MessagePlan> {
        while let Some(id) = self.unfinished.pop() {
            let message = self.descriptors.message(id);
            let extensions = match self.mapping.extensions {
                Extensions::Columns => message.extensions.as_slice(),
                Extensions::Omit => &[],
            };
            let fields = || message.fields.iter().chain(extensions);
            let mut plan = MessagePlan::new(fields().map(|field| (field.number, field.name.as_str())));
            fields().for_each(|field| self.check_field(&mut plan, field));
            let index = self.checked(id);
            *self.plan(index) = plan;
        }
        self.plans
    }

    fn check_field(&mut self, plan: &mut MessagePlan, field: &Field) {
        let (wire_type, op, detail) = match field.kind {
            Kind::String if utf8_policy(self.mapping, field) == Utf8::Strict => {
                (wire_type::LENGTH_DELIMITED, Some(Op::CheckText), 0)
            }
            Kind::String | Kind::Bytes => (wire_type::LENGTH_DELIMITED, None, 0),
            Kind::Message(id) => (wire_type::LENGTH_DELIMITED, Some(Op::Message), self.checked(id)),
            Kind::Group(id) => (wire_type::START_GROUP, Some(Op::Message), self.checked(id)),
            number => {
                if field.cardinality == Cardinality::Repeated {
                    let op = Op::CheckPacked(encoding(number));
                    add(plan, field, wire_type::LENGTH_DELIMITED, op, 0);
                }
                (number_type(encoding(number)), None, 0)
            }
        };
        match op {
            Some(op) => add(plan, field, wire_type, op, detail),
            None => plan.set_unwanted(tag_of(field.number, wire_type)),
        }
    }
}

fn add(plan: &mut MessagePlan, field: &Field, wire_type: u32, op: Op, detail: u32) {
    plan.set(tag_of(field.number, wire_type), Slot { op, place: Place::Row, column: 0, detail });
}
