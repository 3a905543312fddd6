//! From columns and a message type to the plan: all that can be checked without data (section 8.4).

use arrow::datatypes::{DataType, Field as ArrowField, Fields};
use recordfusion_core::{Error, Result};

use super::enums::EnumNumbers;
use super::matching::{by_name, by_position, join};
use super::origin::{Origin, is_binary, is_text, list_item, map_parts, plain};
use super::plan::{FieldPlan, Form, Frame, Loss, MessagePlan, OnNull, OneofPlan, Place, Tag};
use super::times::{self, Parts};
use crate::descriptor::{Cardinality, Descriptors, Field, Kind, Message, MessageId, Presence};
use crate::options::{NullItems, NullList, WriteOptions};
use crate::schema::keyword;
use crate::well_known::{WellKnown, recognise};
use crate::wire::{MAX_DEPTH, wire_type};

/// Compiles columns and message types.
pub(super) struct Compiler<'a> {
    pub(super) descriptors: &'a Descriptors,
    pub(super) options: &'a WriteOptions,
    /// Whether the message types were made for the columns.
    pub(super) derived: bool,
}

/// The values of a column, or of a part of one.
#[derive(Clone, Copy)]
struct Source<'a> {
    /// The column and the path inside it.
    path: &'a str,
    data_type: &'a DataType,
    origin: Origin<'a>,
}

impl Compiler<'_> {
    /// The plan of the records, of type `id`, from all columns but that of the index `but`.
    ///
    /// # Errors
    /// [`Error::Schema`] for columns that do not fit.
    pub(super) fn message_of_columns(
        &self,
        columns: &Fields,
        but: Option<usize>,
        id: MessageId,
    ) -> Result<MessagePlan> {
        let Some(but) = but else { return self.message(columns, id, "", 0) };
        let (before, behind) = columns.split_at(but);
        let others: Fields = before.iter().chain(behind.iter().skip(1)).cloned().collect();
        let mut plan = self.message(&others, id, "", 0)?;
        for field in &mut plan.fields {
            if let Place::Child(index) = &mut field.place
                && *index >= but
            {
                *index += 1;
            }
        }
        Ok(plan)
    }

    /// The plan of a message of type `id` from `columns`, which are in the struct `path`.
    ///
    /// # Errors
    /// [`Error::Schema`] for columns that do not fit.
    pub(super) fn message(
        &self,
        columns: &Fields,
        id: MessageId,
        path: &str,
        depth: u32,
    ) -> Result<MessagePlan> {
        let message = self.descriptors.message(id);
        let matches = if self.derived {
            by_position(message)
        } else {
            by_name(columns, message, self.options.extra_columns, path)?
        };
        self.members(columns, message, matches, path, depth)
    }

    fn members(
        &self,
        columns: &Fields,
        message: &Message,
        mut matches: Vec<(usize, &Field)>,
        path: &str,
        depth: u32,
    ) -> Result<MessagePlan> {
        if depth > MAX_DEPTH {
            return Err(Error::Schema(format!("column '{path}' is nested more than {MAX_DEPTH} deep")));
        }
        matches.sort_by_key(|(_, field)| field.number);
        let mut fields = Vec::with_capacity(matches.len());
        for (index, field) in &matches {
            if let Some(column) = columns.get(*index) {
                fields.push(self.field(column, Place::Child(*index), field, path, depth)?);
            }
        }
        let oneof = |(index, name): (usize, &String)| {
            let members = matches.iter().enumerate().filter(|(_, (_, field))| field.oneof == Some(index));
            OneofPlan { name: name.clone(), members: members.map(|(at, _)| at).collect() }
        };
        let oneofs = message.oneofs.iter().enumerate().map(oneof).filter(|oneof| oneof.members.len() > 1);
        Ok(MessagePlan { oneofs: oneofs.collect(), fields })
    }

    /// The plan of `field` from the column `column`, in a message at `depth`.
    fn field(
        &self,
        column: &ArrowField,
        place: Place,
        field: &Field,
        path: &str,
        depth: u32,
    ) -> Result<FieldPlan> {
        let path = match place {
            Place::Child(_) => join(path, column.name()),
            Place::Itself => path.to_string(),
        };
        let source = Source { path: &path, data_type: plain(column.data_type()), origin: Origin::of(column) };
        let name = if place == Place::Itself { "" } else { column.name() };
        self.plan(source, name, place, field, depth)
    }

    /// The plan of `field` from the values of `source`, which a path shows as `name`.
    fn plan(
        &self,
        source: Source<'_>,
        name: &str,
        place: Place,
        field: &Field,
        depth: u32,
    ) -> Result<FieldPlan> {
        let name = name.to_string();
        if field.cardinality == Cardinality::Repeated {
            let form = self.repeated(source, field, depth)?;
            let packed = matches!(form, Form::List { packed: true, .. } | Form::Map { .. });
            let tag = if packed { Tag::new(field.number, wire_type::LENGTH_DELIMITED) } else { Tag::NONE };
            return Ok(FieldPlan { name, place, tag, keeps_default: true, on_null: self.null_list(), form });
        }
        let is_message = matches!(field.kind, Kind::Message(_) | Kind::Group(_));
        let implicit = field.presence == Presence::Implicit && field.oneof.is_none() && !is_message;
        Ok(FieldPlan {
            name,
            place,
            tag: Tag::of_kind(field.number, field.kind),
            keeps_default: !implicit,
            on_null: self.null_value(field, implicit),
            form: self.value(source, field, depth)?,
        })
    }

    fn null_value(&self, field: &Field, implicit: bool) -> OnNull {
        let name = &field.name;
        match field.presence {
            Presence::Required => OnNull::Refuse(format!("it is NULL, but field '{name}' is required")),
            _ if !implicit => OnNull::Omit(None),
            _ if self.options.null_to_default => OnNull::Omit(Some(Loss::Value)),
            _ => OnNull::Refuse(format!(
                "it is NULL, but field '{name}' has no presence (the option null_to_default = true writes the \
                 default)"
            )),
        }
    }

    fn null_list(&self) -> OnNull {
        match self.options.null_list {
            NullList::Error => OnNull::Refuse(
                "the list is NULL, which a repeated field cannot be (the option null_list = empty writes an empty \
                 list)"
                    .to_string(),
            ),
            NullList::Empty | NullList::Wrap => OnNull::Omit(Some(Loss::List)),
        }
    }

    fn null_item(&self, what: &str) -> OnNull {
        match self.options.null_items {
            NullItems::Drop => OnNull::Omit(Some(Loss::Item)),
            NullItems::Error | NullItems::Wrap => OnNull::Refuse(format!(
                "{what} is NULL, which a message cannot say (the option null_items = drop leaves such out)"
            )),
        }
    }

    /// A repeated field from a list, or a map from one or the other.
    fn repeated(&self, source: Source<'_>, field: &Field, depth: u32) -> Result<Form> {
        if let Kind::Message(entry) = field.kind
            && self.descriptors.message(entry).map_entry
        {
            return self.map(source, self.descriptors.message(entry), field, depth);
        }
        if let DataType::Map(entries, _) = source.data_type {
            return self.entries(source, entries, field, depth);
        }
        if *source.data_type == DataType::Null {
            return Ok(Form::Nothing);
        }
        let Some(item) = list_item(source.data_type) else { return Err(self.mismatch(source, field)) };
        let source = Source { data_type: plain(item.data_type()), ..source };
        let is_wrapped = self.derived && item.is_nullable() && self.options.null_items == NullItems::Wrap;
        let form = match self.sole_of(field).filter(|_| is_wrapped) {
            Some(sole) => self.only(source, sole, field, depth + 1)?,
            None => self.value(source, field, depth)?,
        };
        Ok(self.list(form, field, self.null_item("an item of the list")))
    }

    /// The only field of the message that a field holds.
    fn sole_of(&self, field: &Field) -> Option<&Field> {
        match field.kind {
            Kind::Message(id) => self.descriptors.message(id).fields.first(),
            _ => None,
        }
    }

    /// A message at `depth` whose only field, `sole`, is the value.
    fn only(&self, source: Source<'_>, sole: &Field, field: &Field, depth: u32) -> Result<Form> {
        let plan = self.plan(source, "", Place::Itself, sole, depth)?;
        Ok(Form::Only(Box::new(plan), Frame::of(field.number, field.kind)))
    }

    /// The entries of a map as messages of key and value.
    fn entries(&self, source: Source<'_>, entries: &ArrowField, field: &Field, depth: u32) -> Result<Form> {
        match (entries.data_type(), field.kind) {
            (DataType::Struct(parts), Kind::Message(id) | Kind::Group(id))
                if is_entry(self.descriptors.message(id)) && parts.len() == 2 =>
            {
                let message = self.descriptors.message(id);
                let plan = self.members(parts, message, by_position(message), source.path, depth + 1)?;
                let form = Form::Message(plan, Frame::of(field.number, field.kind));
                Ok(self.list(form, field, self.null_item("an entry of the map")))
            }
            _ => Err(self.mismatch(source, field)),
        }
    }

    fn list(&self, form: Form, field: &Field, on_null: OnNull) -> Form {
        let wraps = matches!(&form, Form::Only(inner, _) if inner.keeps_default && inner.on_null == OnNull::Omit(None));
        let packed = field.packed;
        let item = FieldPlan {
            name: String::new(),
            place: Place::Itself,
            tag: if packed { Tag::NONE } else { Tag::of_kind(field.number, field.kind) },
            keeps_default: true,
            on_null: if wraps { OnNull::Inside } else { on_null },
            form,
        };
        Form::List { item: Box::new(item), packed }
    }

    fn map(&self, source: Source<'_>, entry: &Message, field: &Field, depth: u32) -> Result<Form> {
        let listed = || match list_item(source.data_type).map(ArrowField::data_type) {
            Some(DataType::Struct(parts)) => match &parts[..] {
                [key, value] => Some((key.as_ref(), value.as_ref())),
                _ => None,
            },
            _ => None,
        };
        let part = |number| entry.fields.iter().find(|part| part.number == number);
        let parts = map_parts(source.data_type).or_else(listed);
        let (Some((key, value)), Some(key_field), Some(value_field)) = (parts, part(1), part(2)) else {
            if *source.data_type == DataType::Null {
                return Ok(Form::Nothing);
            }
            return Err(self.mismatch(source, field));
        };
        let inside = |part: &ArrowField, field: &Field, on_null| {
            let plan = self.field(part, Place::Itself, field, source.path, depth + 1)?;
            Ok::<_, Error>(Box::new(FieldPlan { keeps_default: true, on_null, ..plan }))
        };
        Ok(Form::Map {
            key: inside(key, key_field, OnNull::Refuse("a key of the map is NULL".to_string()))?,
            value: inside(value, value_field, self.null_item("a value of the map"))?,
        })
    }

    /// One value of a field in a message at `depth`.
    fn value(&self, source: Source<'_>, field: &Field, depth: u32) -> Result<Form> {
        let data_type = source.data_type;
        let integer = data_type.is_integer() || is_whole_decimal(data_type);
        let fits = match field.kind {
            _ if *data_type == DataType::Null => return Ok(Form::Nothing),
            Kind::Message(id) | Kind::Group(id) => return self.message_value(source, id, field, depth + 1),
            Kind::Enum(id) if is_text(data_type) || data_type.is_integer() => {
                return Ok(Form::Enum(EnumNumbers::new(self.descriptors.enumeration(id))));
            }
            Kind::String if is_text(data_type) || data_type.is_decimal() => return Ok(Form::Bytes),
            Kind::Bytes if is_text(data_type) || is_binary(data_type) => return Ok(Form::Bytes),
            Kind::Enum(_) | Kind::String | Kind::Bytes => false,
            Kind::Bool => *data_type == DataType::Boolean,
            Kind::Double | Kind::Float => data_type.is_floating() || data_type.is_integer(),
            _ => integer,
        };
        if fits { Ok(Form::Number(field.kind)) } else { Err(self.mismatch(source, field)) }
    }

    /// A value as a message of type `id` at `depth`.
    fn message_value(&self, source: Source<'_>, id: MessageId, field: &Field, depth: u32) -> Result<Form> {
        let message = self.descriptors.message(id);
        let known = recognise(self.descriptors, id);
        let frame = Frame::of(field.number, field.kind);
        if depth > MAX_DEPTH {
            return Err(Error::Schema(format!(
                "column '{}' is nested more than {MAX_DEPTH} deep",
                source.path
            )));
        }
        if let Some(parts) = self.parts(source, known) {
            return Ok(Form::Parts(parts, times::part_fields(parts), frame));
        }
        Ok(match (source.data_type, known) {
            (text, Some(WellKnown::Json(kind))) if is_text(text) => Form::Json(kind, depth, frame),
            (DataType::Struct(columns), _) if columns.is_empty() => Form::Present(frame),
            (DataType::Struct(columns), _) => {
                Form::Message(self.message(columns, id, source.path, depth)?, frame)
            }
            (DataType::Boolean, None) if message.fields.is_empty() => Form::Present(frame),
            (binary, None) if is_binary(binary) && source.origin.is_message() => Form::Serialized(frame),
            (data_type, _) => match sole_field(message, known) {
                Some(sole) => self.only(source, sole, field, depth)?,
                None if is_binary(data_type) => Form::Serialized(frame),
                None => return Err(self.mismatch(source, field)),
            },
        })
    }

    /// How a time is told in parts, if it is one that fits the message.
    fn parts(&self, source: Source<'_>, known: Option<WellKnown>) -> Option<Parts> {
        Some(match (source.data_type, known?) {
            (DataType::Timestamp(..), WellKnown::Timestamp) => Parts::Timestamp,
            (DataType::Duration(_), WellKnown::Duration) => Parts::Duration,
            (DataType::Int64, WellKnown::Duration) if source.origin.google() == Some("protobuf.Duration") => {
                Parts::Duration
            }
            (DataType::Date32 | DataType::Date64, WellKnown::Date) => Parts::Date,
            (DataType::Time32(_) | DataType::Time64(_), WellKnown::TimeOfDay) => Parts::TimeOfDay,
            _ => return None,
        })
    }

    fn mismatch(&self, source: Source<'_>, field: &Field) -> Error {
        let kind = match field.kind {
            Kind::Message(id) | Kind::Group(id) => self.descriptors.message(id).full_name.clone(),
            Kind::Enum(id) => self.descriptors.enumeration(id).full_name.clone(),
            kind => keyword(kind).to_string(),
        };
        let repeated = if field.cardinality == Cardinality::Repeated { "repeated " } else { "" };
        Error::Schema(format!(
            "column '{}' of type {} does not fit field '{}' of type {repeated}{kind}; cast it in SQL",
            source.path, source.data_type, field.name
        ))
    }
}

/// The field that a value stands for instead of its message: of wrappers, of `FieldMask`, and of messages
/// that are made around items and lists.
fn sole_field(message: &Message, known: Option<WellKnown>) -> Option<&Field> {
    let [sole] = &message.fields[..] else { return None };
    let is_made = sole.number == 1 && matches!(sole.name.as_str(), "value" | "item");
    let is_known = matches!(known, Some(WellKnown::Wrapper | WellKnown::FieldMask));
    (is_made || is_known).then_some(sole)
}

/// Whether a message is of key and value, as an entry of a map.
fn is_entry(message: &Message) -> bool {
    message.fields.iter().map(|field| field.name.as_str()).eq(["key", "value"])
}

fn is_whole_decimal(data_type: &DataType) -> bool {
    match data_type {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => *scale <= 0,
        _ => false,
    }
}
