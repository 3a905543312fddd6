//! The tree of columns that a message type becomes: one node per Arrow field, with how it is decoded.
//!
//! All decisions of the mapping that do not depend on a query are made here: how often a recursive type is
//! expanded, which messages have a form of their own, what absence shows as. The Arrow schema and the plans
//! of scans derive from it.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::FieldRef;
use recordfusion_core::{Error, Result};

use crate::descriptor::{Cardinality, Descriptors, EnumId, Field, Kind, MessageId, Presence};
use crate::enum_names::EnumNames;
use crate::schema;
use crate::well_known::{self, JsonKind, WellKnown};
use crate::wire::MAX_DEPTH;

/// How often a message type is expanded on one path, its first place included (section 5, recursion).
const EXPANSIONS: usize = 2;

/// Most leaf columns of a table (section 5, recursion).
const MAX_LEAVES: usize = 10_000;

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
    /// The oneof of the message that the field belongs to.
    pub oneof: Option<usize>,
}

/// What a message without a field shows (section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absence {
    /// NULL.
    Null,
    /// NULL, and the record is counted as incomplete.
    Incomplete,
    /// The default of the type.
    Default,
}

/// How the values of a node are decoded and what they become.
#[derive(Debug)]
pub(crate) enum Form {
    /// A number or boolean of this kind.
    Number(Kind),
    /// A string. `strict`: invalid UTF-8 makes the record bad.
    Text { strict: bool, storage: Storage },
    /// Bytes.
    Bytes(Storage),
    /// A name of an enum. `closed`: other numbers are unknown fields.
    Enum { names: Arc<EnumNames>, closed: bool },
    /// A message, decoded field by field.
    Message { shape: Shape, fields: Vec<Node>, group: bool },
    /// A message kept as its bytes, or shown as JSON text.
    Serialized { id: MessageId, json: Option<JsonKind>, group: bool },
    /// A repeated field.
    List(Box<Node>),
    /// A map field. `known_values`: entries whose value is a number unknown to a closed enum are dropped.
    Map { key: Box<Node>, value: Box<Node>, known_values: bool },
}

/// Where strings and bytes lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Storage {
    /// In the block of records, as views.
    Shared,
    /// In a buffer of the column's own.
    Owned,
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

/// The columns of the message type `message`.
///
/// # Errors
/// [`Error::Schema`] if there are more than 10 000 leaf columns.
pub(crate) fn columns(descriptors: &Descriptors, message: MessageId) -> Result<Vec<Node>> {
    Builder { descriptors, names: HashMap::new(), path: Vec::new(), leaves: 0 }.fields(message)
}

struct Builder<'a> {
    descriptors: &'a Descriptors,
    names: HashMap<EnumId, Arc<EnumNames>>,
    path: Vec<MessageId>,
    leaves: usize,
}

impl Builder<'_> {
    fn fields(&mut self, message: MessageId) -> Result<Vec<Node>> {
        self.path.push(message);
        let fields = &self.descriptors.message(message).fields;
        let nodes = fields.iter().map(|field| self.field(field)).collect();
        self.path.pop();
        nodes
    }

    fn field(&mut self, field: &Field) -> Result<Node> {
        if field.cardinality == Cardinality::Singular {
            let form = self.form(field)?;
            return Ok(self.node(field, form, absence(field), field.oneof));
        }
        if let Kind::Message(entry) = field.kind
            && self.descriptors.message(entry).map_entry
        {
            return self.map(field, entry);
        }
        let form = self.form(field)?;
        let item = self.node(field, form, Absence::Default, None);
        let item = Node { field: schema::item(&item.field), ..item };
        Ok(self.node(field, Form::List(Box::new(item)), Absence::Default, None))
    }

    fn map(&mut self, field: &Field, entry: MessageId) -> Result<Node> {
        let descriptors = self.descriptors;
        let part = |number| descriptors.message(entry).fields.iter().find(|part| part.number == number);
        let (Some(key), Some(value)) = (part(1), part(2)) else {
            return Err(Error::Schema(format!("map field '{}' lacks a key or a value", field.name)));
        };
        self.count_leaf()?;
        let key_form = match key.kind {
            Kind::String => Form::Text { strict: key.validate_utf8, storage: Storage::Owned },
            kind => Form::Number(kind),
        };
        let key = self.node(key, key_form, Absence::Default, None);
        let key = Node { field: schema::map_key(&key.field), ..key };
        self.path.push(entry);
        let form = self.form(value);
        self.path.pop();
        let mut form = form?;
        // The number of the last occurrence decides over the whole entry.
        let known_values = match &mut form {
            Form::Enum { closed, .. } => std::mem::take(closed),
            _ => false,
        };
        let value = self.node(value, form, Absence::Default, None);
        let form = Form::Map { key: Box::new(key), value: Box::new(value), known_values };
        Ok(self.node(field, form, Absence::Default, None))
    }

    fn node(&self, field: &Field, form: Form, absence: Absence, oneof: Option<usize>) -> Node {
        let arrow = schema::field(self.descriptors, field, schema::data_type(&form));
        Node { name: field.name.clone(), field: arrow, number: field.number, form, absence, oneof }
    }

    /// The form of one value of `field`.
    fn form(&mut self, field: &Field) -> Result<Form> {
        let form = match field.kind {
            Kind::Message(id) => return self.message(id, false),
            Kind::Group(id) => return self.message(id, true),
            Kind::String => Form::Text { strict: field.validate_utf8, storage: Storage::Shared },
            Kind::Bytes => Form::Bytes(Storage::Shared),
            Kind::Enum(id) => {
                let enumeration = self.descriptors.enumeration(id);
                let names = self.names.entry(id).or_insert_with(|| Arc::new(EnumNames::new(enumeration)));
                Form::Enum { names: Arc::clone(names), closed: enumeration.closed }
            }
            number => Form::Number(number),
        };
        self.count_leaf()?;
        Ok(form)
    }

    fn message(&mut self, id: MessageId, group: bool) -> Result<Form> {
        let message = self.descriptors.message(id);
        let shape = match well_known::recognise(self.descriptors, id) {
            Some(WellKnown::Json(kind)) => {
                self.count_leaf()?;
                return Ok(Form::Serialized { id, json: Some(kind), group });
            }
            Some(WellKnown::Wrapper | WellKnown::FieldMask) => Shape::Only,
            Some(WellKnown::Timestamp) => Shape::Timestamp,
            Some(WellKnown::Duration) => Shape::Duration,
            Some(WellKnown::Date) => Shape::Date,
            Some(WellKnown::TimeOfDay) => Shape::TimeOfDay,
            Some(WellKnown::Any) => Shape::Struct,
            None if message.fields.is_empty() => Shape::Present,
            None if self.is_cut(id) => {
                self.count_leaf()?;
                return Ok(Form::Serialized { id, json: None, group });
            }
            None => Shape::Struct,
        };
        let leaves = self.leaves;
        let mut fields = self.fields(id)?;
        if !matches!(shape, Shape::Struct | Shape::Only) {
            self.leaves = leaves;
            self.count_leaf()?;
        }
        if shape != Shape::Struct {
            // The message as a whole says whether the value is there.
            fields.iter_mut().for_each(|field| field.absence = Absence::Default);
        }
        if well_known::recognise(self.descriptors, id) == Some(WellKnown::Any) {
            own_value(&mut fields, self.descriptors, id);
        }
        Ok(Form::Message { shape, fields, group })
    }

    /// Whether a message type is already expanded as often as it may, or nested too deep to occur.
    fn is_cut(&self, id: MessageId) -> bool {
        let expanded = self.path.iter().filter(|&&above| above == id).count();
        expanded >= EXPANSIONS || self.path.len() > MAX_DEPTH as usize
    }

    fn count_leaf(&mut self) -> Result<()> {
        self.leaves += 1;
        if self.leaves <= MAX_LEAVES {
            return Ok(());
        }
        let root = self.path.first().map_or("", |&root| &self.descriptors.message(root).full_name);
        Err(Error::Schema(format!(
            "message type '{root}' has more than {MAX_LEAVES} leaf columns (option 'recursion_depth' says how \
             often a recursive type is expanded)"
        )))
    }
}

fn absence(field: &Field) -> Absence {
    let message = matches!(field.kind, Kind::Message(_) | Kind::Group(_));
    match field.presence {
        Presence::Required => Absence::Incomplete,
        Presence::Implicit if !message && field.oneof.is_none() => Absence::Default,
        _ => Absence::Null,
    }
}

/// The `value` of an `Any` as Binary.
fn own_value(fields: &mut [Node], descriptors: &Descriptors, any: MessageId) {
    let described = &descriptors.message(any).fields;
    for (node, field) in fields.iter_mut().zip(described) {
        if field.kind == Kind::Bytes {
            node.form = Form::Bytes(Storage::Owned);
            node.field = schema::field(descriptors, field, schema::data_type(&node.form));
        }
    }
}
