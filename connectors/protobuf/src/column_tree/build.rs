//! From message type and options to the tree.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::StringArray;
use recordfusion_core::{Error, Result};

use super::names::{case_name, check_distinct, column_name, extension_name};
use super::{Absence, Form, Node, Shape, Storage};
use crate::descriptor::{Cardinality, Descriptors, EnumId, Field, Kind, MessageId, Presence, Value};
use crate::enum_names::EnumNames;
use crate::options::{
    Absent, AnyForm, ClosedEnum, DurationForm, EmptyList, EmptyMessage, Extensions, Implicit, InvalidUtf8,
    MapKeys, Mapping, Nullability, Recursion, StringType, TimestampForm,
};
use crate::schema;
use crate::text::Utf8;
use crate::well_known::{self, WellKnown};
use crate::wire::MAX_DEPTH;

/// Most leaf columns of a table (section 5, recursion).
const MAX_LEAVES: usize = 10_000;

/// The columns of the message type `message`, then what is decoded but not shown.
///
/// # Errors
/// [`Error::Schema`] if there are more than 10 000 leaf columns, or none and no metadata columns, if two columns have one name, or for a
/// recursive type if the options refuse those.
pub(crate) fn columns(
    descriptors: &Descriptors,
    message: MessageId,
    mapping: &Mapping,
    has_metadata: bool,
) -> Result<Vec<Node>> {
    let mut builder = Builder {
        descriptors,
        mapping,
        names: HashMap::new(),
        path: Vec::new(),
        leaves: 0,
        recursive: false,
    };
    let mut columns = builder.fields(message)?;
    if columns.iter().all(|column| !column.shown) && !has_metadata {
        return Err(Error::Schema(format!(
            "message type {} has no fields that could be columns (option 'metadata_columns' can add some)",
            descriptors.message(message).full_name
        )));
    }
    if mapping.nullability == Nullability::Proto {
        for column in columns.iter_mut().filter(|column| is_always_there(column, mapping)) {
            column.field = Arc::new(column.field.as_ref().clone().with_nullable(false));
        }
    }
    Ok(columns)
}

/// Whether a column of the table has a value in every record.
fn is_always_there(column: &Node, mapping: &Mapping) -> bool {
    match &column.form {
        Form::List(_) | Form::Map { .. } => mapping.empty_list == EmptyList::Empty,
        Form::Text { utf8: Utf8::Null, .. } | Form::Case { .. } => false,
        _ => matches!(column.absence, Absence::Default | Absence::Filled(_)),
    }
}

/// A form, and whether it is shown: a field that is dropped is checked like others.
struct Made {
    form: Form,
    shown: bool,
}

impl From<Form> for Made {
    fn from(form: Form) -> Self {
        Self { form, shown: true }
    }
}

struct Builder<'a> {
    descriptors: &'a Descriptors,
    mapping: &'a Mapping,
    names: HashMap<EnumId, Arc<EnumNames>>,
    path: Vec<MessageId>,
    leaves: usize,
    /// Whether a type was met that contains itself.
    recursive: bool,
}

impl<'a> Builder<'a> {
    /// A message's fields, then its oneofs and its extensions as far as the options want them.
    fn fields(&mut self, id: MessageId) -> Result<Vec<Node>> {
        let message = self.descriptors.message(id);
        self.path.push(id);
        let mut nodes = Vec::new();
        for field in &message.fields {
            nodes.push(self.field(field, column_name(self.mapping.names, field))?);
        }
        if self.mapping.oneof_case {
            for oneof in 0..message.oneofs.len() {
                nodes.push(self.case(id, oneof)?);
            }
        }
        for extension in self.extensions(id) {
            nodes.push(self.field(extension, extension_name(self.mapping.names, extension))?);
        }
        self.path.pop();
        // Those that are not shown come last, so that columns are counted without them.
        nodes.sort_by_key(|node| !node.shown);
        check_distinct(&message.full_name, &nodes)?;
        Ok(nodes)
    }

    fn extensions(&self, id: MessageId) -> &'a [Field] {
        match self.mapping.extensions {
            Extensions::Columns => &self.descriptors.message(id).extensions,
            Extensions::Omit => &[],
        }
    }

    /// The column `name` of a field.
    fn field(&mut self, field: &Field, name: String) -> Result<Node> {
        if field.cardinality == Cardinality::Singular {
            let made = self.form(field)?;
            return Ok(self.node(field, name, made, self.absence(field), field.oneof));
        }
        if let Kind::Message(entry) = field.kind
            && self.descriptors.message(entry).map_entry
        {
            return self.map(field, name, entry);
        }
        let made = self.form(field)?;
        let shown = made.shown;
        let item = self.node(field, name.clone(), made, Absence::Default, None);
        let item = Node { field: schema::item(&item.field), ..item };
        let made = Made { form: Form::List(Box::new(item)), shown };
        Ok(self.node(field, name, made, Absence::Default, None))
    }

    fn map(&mut self, field: &Field, name: String, entry: MessageId) -> Result<Node> {
        let descriptors = self.descriptors;
        let part = |number| descriptors.message(entry).fields.iter().find(|part| part.number == number);
        let (Some(key), Some(value)) = (part(1), part(2)) else {
            return Err(Error::Schema(format!("map field '{}' lacks a key or a value", field.name)));
        };
        self.count_leaf()?;
        let key = self.map_key(key);
        self.path.push(entry);
        let made = self.form(value);
        self.path.pop();
        let mut made = made?;
        // The number of the last occurrence decides over the whole entry.
        let known_values = match &mut made.form {
            Form::Enum { closed, .. } => std::mem::take(closed),
            _ => false,
        };
        let shown = made.shown;
        let value = self.node(value, value.name.clone(), made, Absence::Default, None);
        let form = Form::Map { key: Box::new(key), value: Box::new(value), known_values };
        Ok(self.node(field, name, Made { form, shown }, Absence::Default, None))
    }

    fn map_key(&self, key: &Field) -> Node {
        let form = match key.kind {
            Kind::String => {
                // A key cannot be NULL.
                let utf8 = match utf8_policy(self.mapping, key) {
                    Utf8::Null => Utf8::Replace,
                    other => other,
                };
                let storage = match self.mapping.map_keys {
                    MapKeys::Sql => Storage::Owned,
                    MapKeys::Exact => self.storage(),
                };
                Form::Text { utf8, storage }
            }
            kind => Form::Number(kind),
        };
        let node = self.node(key, key.name.clone(), form.into(), Absence::Default, None);
        Node { field: schema::map_key(&node.field, self.mapping), ..node }
    }

    /// The column that tells the member of a oneof.
    #[expect(clippy::indexing_slicing, reason = "the oneof is one of the message")]
    fn case(&mut self, id: MessageId, oneof: usize) -> Result<Node> {
        self.count_leaf()?;
        let message = self.descriptors.message(id);
        let members = || message.fields.iter().filter(|field| field.oneof == Some(oneof));
        let names = StringArray::from_iter_values(members().map(|field| &field.name));
        let form =
            Form::Case { members: members().map(|field| field.number).collect(), names: Arc::new(names) };
        let oneof_name = &message.oneofs[oneof];
        Ok(Node {
            name: oneof_name.clone(),
            field: schema::case(&case_name(self.mapping.names, oneof_name)),
            number: 0,
            form,
            absence: Absence::Null,
            oneof: Some(oneof),
            shown: true,
        })
    }

    fn node(&self, field: &Field, name: String, made: Made, absence: Absence, oneof: Option<usize>) -> Node {
        let Made { form, shown } = made;
        let data_type = schema::data_type(&form, self.mapping);
        let arrow = schema::field(self.descriptors, field, name, data_type);
        Node { name: field.name.clone(), field: arrow, number: field.number, form, absence, oneof, shown }
    }

    /// The form of one value of `field`.
    fn form(&mut self, field: &Field) -> Result<Made> {
        let form = match field.kind {
            Kind::Message(id) => return self.message(id, false),
            Kind::Group(id) => return self.message(id, true),
            Kind::String => Form::Text { utf8: utf8_policy(self.mapping, field), storage: self.storage() },
            Kind::Bytes => Form::Bytes(self.storage()),
            Kind::Enum(id) => {
                let enumeration = self.descriptors.enumeration(id);
                let names = self.names.entry(id).or_insert_with(|| Arc::new(EnumNames::new(enumeration)));
                let closed = enumeration.closed && self.mapping.closed_enum == ClosedEnum::Spec;
                Form::Enum { names: Arc::clone(names), closed, shown: self.mapping.enums }
            }
            number => Form::Number(number),
        };
        self.count_leaf()?;
        Ok(form.into())
    }

    fn storage(&self) -> Storage {
        match self.mapping.string_type {
            StringType::Utf8View => Storage::Shared,
            StringType::Utf8 => Storage::Owned,
            StringType::LargeUtf8 => Storage::OwnedLarge,
        }
    }

    fn message(&mut self, id: MessageId, group: bool) -> Result<Made> {
        let known = well_known::recognise(self.descriptors, id);
        let shape = match known {
            Some(WellKnown::Json(_)) => return self.serialized(id, true, group),
            Some(WellKnown::Any) if self.mapping.any == AnyForm::Json => {
                return self.serialized(id, true, group);
            }
            Some(WellKnown::Wrapper | WellKnown::FieldMask) => Shape::Only,
            Some(WellKnown::Timestamp) if self.mapping.timestamp != TimestampForm::Struct => Shape::Timestamp,
            Some(WellKnown::Duration) if self.mapping.duration != DurationForm::Struct => Shape::Duration,
            Some(WellKnown::Date) => Shape::Date,
            Some(WellKnown::TimeOfDay) => Shape::TimeOfDay,
            _ if self.is_cut(id) => return self.cut(id, group),
            _ => Shape::Struct,
        };
        let leaves = self.leaves;
        let mut fields = self.fields(id)?;
        let shape = match (shape, self.mapping.empty_message) {
            (Shape::Struct, EmptyMessage::Bool) if fields.iter().all(|field| !field.shown) => Shape::Present,
            _ => shape,
        };
        if fields.iter().all(|field| !field.shown) || !matches!(shape, Shape::Struct | Shape::Only) {
            self.leaves = leaves;
            self.count_leaf()?;
        }
        if shape != Shape::Struct || matches!(known, Some(WellKnown::Timestamp | WellKnown::Duration)) {
            // The message as a whole says whether the value is there.
            fields.iter_mut().for_each(|field| field.absence = Absence::Default);
        }
        if known == Some(WellKnown::Any) {
            self.own_value(&mut fields, id);
        }
        Ok(Form::Message { shape, fields, group }.into())
    }

    fn serialized(&mut self, id: MessageId, json: bool, group: bool) -> Result<Made> {
        self.count_leaf()?;
        Ok(Form::Serialized { id, json, group }.into())
    }

    /// Whether a message type is already expanded as often as it may, or nested too deep to occur.
    fn is_cut(&self, id: MessageId) -> bool {
        let expanded = self.path.iter().filter(|&&above| above == id).count();
        expanded >= self.mapping.recursion_depth.places() || self.path.len() > MAX_DEPTH as usize
    }

    fn cut(&mut self, id: MessageId, group: bool) -> Result<Made> {
        self.recursive = true;
        match self.mapping.recursion {
            Recursion::Binary => self.serialized(id, false, group),
            Recursion::Json => self.serialized(id, true, group),
            Recursion::Drop => Ok(Made { form: Form::Serialized { id, json: false, group }, shown: false }),
            Recursion::Error => Err(Error::Schema(format!(
                "message type {} contains itself, in {} (the option 'recursion' says what to make of such types)",
                self.descriptors.message(id).full_name,
                self.path.last().map_or("", |&holder| &self.descriptors.message(holder).full_name),
            ))),
        }
    }

    #[expect(clippy::arithmetic_side_effects, reason = "counting ends one behind MAX_LEAVES")]
    fn count_leaf(&mut self) -> Result<()> {
        self.leaves += 1;
        if self.leaves <= MAX_LEAVES {
            return Ok(());
        }
        let root = self.path.first().map_or("", |&root| &self.descriptors.message(root).full_name);
        let hint = match self.recursive {
            true => "option 'recursion_depth' says how often a recursive type is expanded",
            false => "a .proto with some of its fields, given by option 'proto', reads those",
        };
        Err(Error::Schema(format!("message type '{root}' has more than {MAX_LEAVES} leaf columns ({hint})")))
    }

    /// What a message without `field` shows.
    fn absence(&self, field: &Field) -> Absence {
        let message = matches!(field.kind, Kind::Message(_) | Kind::Group(_));
        match field.presence {
            Presence::Required => Absence::Incomplete,
            _ if message => Absence::Null,
            Presence::Implicit if field.oneof.is_none() => match self.mapping.implicit {
                Implicit::Default => Absence::Default,
                Implicit::Null => Absence::Hidden,
            },
            _ => match self.mapping.absent {
                Absent::Null => Absence::Null,
                Absent::Default => Absence::Filled(self.default_value(field)),
            },
        }
    }

    /// The declared default, or that of the field's type.
    fn default_value(&self, field: &Field) -> Value {
        let of_type = || match field.kind {
            Kind::Double => Value::Double(0.0),
            Kind::Float => Value::Float(0.0),
            Kind::Bool => Value::Bool(false),
            Kind::String => Value::String(String::new()),
            Kind::Bytes => Value::Bytes(Vec::new()),
            Kind::Enum(id) => {
                let first = self.descriptors.enumeration(id).values.first();
                Value::Enum(first.map_or(0, |value| value.number))
            }
            _ => Value::Int(0),
        };
        field.default.clone().unwrap_or_else(of_type)
    }

    /// The `value` of an `Any` as Binary.
    fn own_value(&self, fields: &mut [Node], any: MessageId) {
        let described = &self.descriptors.message(any).fields;
        for (node, field) in fields.iter_mut().zip(described) {
            if field.kind == Kind::Bytes {
                node.form = Form::Bytes(Storage::Owned);
                let data_type = schema::data_type(&node.form, self.mapping);
                node.field = Arc::new(node.field.as_ref().clone().with_data_type(data_type));
            }
        }
    }
}

/// What becomes of a string of `field` that is not UTF-8.
pub(crate) fn utf8_policy(mapping: &Mapping, field: &Field) -> Utf8 {
    match mapping.invalid_utf8 {
        InvalidUtf8::Auto if field.validate_utf8 => Utf8::Strict,
        InvalidUtf8::Auto | InvalidUtf8::Replace => Utf8::Replace,
        InvalidUtf8::Error => Utf8::Strict,
        InvalidUtf8::Null => Utf8::Null,
    }
}
