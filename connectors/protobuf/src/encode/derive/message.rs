//! Message types of columns and structs, field by field.

use std::collections::{BTreeSet, HashMap, HashSet};

use arrow::datatypes::{DataType, Field, Fields};
use recordfusion_core::{Error, Result};

use super::names::{FieldName, field_names, is_identifier, message_name, take, upper_camel};
use super::numbers::field_numbers;
use super::{entry_fields, sole_field};
use crate::descriptor::wire::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, MessageOptions, OneofDescriptorProto,
    field_type, label,
};
use crate::encode::origin::{Origin, is_text, list_item, map_parts, plain};
use crate::options::{NullItems, NullList, WriteOptions};
use crate::wire::MAX_DEPTH;

/// Builds the message type of a result, from the columns down.
pub(super) struct Builder<'a> {
    options: &'a WriteOptions,
    /// The messages that are being built, the record's first.
    pub(super) scopes: Vec<Scope>,
    /// The column and the fields inside it that are being looked at.
    path: Vec<String>,
    pub(super) imports: BTreeSet<&'static str>,
    /// Full names of the enum types, by what the metadata of columns says of them.
    pub(super) enums: HashMap<(String, String), String>,
}

/// A message that is being built.
#[derive(Debug, Default)]
pub(super) struct Scope {
    pub(super) full_name: String,
    /// Every name in the message: fields, oneofs, types, enum values.
    pub(super) taken: HashSet<String>,
    pub(super) nested: Vec<DescriptorProto>,
    pub(super) enums: Vec<EnumDescriptorProto>,
}

/// The type of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Declared {
    pub(super) repeated: bool,
    pub(super) number: i32,
    pub(super) type_name: Option<String>,
}

impl Declared {
    pub(super) fn scalar(number: i32) -> Self {
        Self { repeated: false, number, type_name: None }
    }

    pub(super) fn message(full_name: &str) -> Self {
        let type_name = Some(format!(".{full_name}"));
        Self { repeated: false, number: field_type::MESSAGE, type_name }
    }
}

impl<'a> Builder<'a> {
    pub(super) fn new(full_name: &str, options: &'a WriteOptions) -> Self {
        let root = Scope { full_name: full_name.to_string(), ..Scope::default() };
        Self {
            options,
            scopes: vec![root],
            path: Vec::new(),
            imports: BTreeSet::new(),
            enums: HashMap::new(),
        }
    }

    /// The files that the message types need.
    pub(super) fn imports(&self) -> Vec<String> {
        self.imports.iter().map(|file| (*file).to_string()).collect()
    }

    /// The message type of the records.
    pub(super) fn root(&mut self, name: &str, columns: &Fields) -> Result<DescriptorProto> {
        self.members(name, columns)
    }

    /// A message type inside the present one, named after the field `field`.
    fn nested(&mut self, field: &str, columns: &Fields) -> Result<Declared> {
        if self.scopes.len() > MAX_DEPTH as usize {
            return Err(self.error(&format!("is nested more than {MAX_DEPTH} deep")));
        }
        let around = self.scope();
        let name = take(&mut around.taken, &message_name(field));
        let full_name = format!("{}.{name}", around.full_name);
        self.scopes.push(Scope { full_name: full_name.clone(), ..Scope::default() });
        let message = self.members(&name, columns)?;
        self.scopes.pop();
        self.scope().nested.push(message);
        Ok(Declared::message(&full_name))
    }

    /// The message type `name` with these columns as fields, in the innermost scope.
    fn members(&mut self, name: &str, columns: &Fields) -> Result<DescriptorProto> {
        let names = field_names(columns).map_err(|error| self.inside(error))?;
        self.scope().taken.extend(names.iter().map(|field| field.name.clone()));
        let mut message = DescriptorProto { name: Some(name.to_string()), ..DescriptorProto::default() };
        for ((column, name), number) in columns.iter().zip(&names).zip(field_numbers(columns)) {
            self.path.push(column.name().clone());
            let declared = self.declare(&name.name, column)?;
            self.path.pop();
            let mut field = proto(name, number, &declared);
            if column.is_nullable() && !declared.repeated && declared.number != field_type::MESSAGE {
                field.proto3_optional = Some(true);
                field.oneof_index = i32::try_from(message.oneof_decl.len()).ok();
                message.oneof_decl.push(self.presence_oneof(&name.name));
            }
            message.field.push(field);
        }
        let scope = self.scope();
        message.nested_type = std::mem::take(&mut scope.nested);
        message.enum_type = std::mem::take(&mut scope.enums);
        Ok(message)
    }

    /// The oneof that `optional` makes.
    fn presence_oneof(&mut self, field: &str) -> OneofDescriptorProto {
        let mut name = format!("_{field}");
        while !self.scope().taken.insert(name.clone()) {
            name.insert(0, 'X');
        }
        OneofDescriptorProto { name: Some(name), options: None }
    }

    /// The type of the field `name` of a column.
    fn declare(&mut self, name: &str, column: &Field) -> Result<Declared> {
        let (data_type, origin) = (plain(column.data_type()), Origin::of(column));
        if !is_repeated(data_type, origin) {
            return self.single(name, column, data_type, origin);
        }
        if column.is_nullable() && self.options.null_list == NullList::Wrap {
            return self.wrapped_list(name, column, data_type);
        }
        self.repeated(name, column, data_type, origin)
    }

    /// The type of a list or map as a repeated field.
    fn repeated(
        &mut self,
        name: &str,
        column: &Field,
        data_type: &DataType,
        origin: Origin<'_>,
    ) -> Result<Declared> {
        let declared = match (list_item(data_type), map_parts(data_type)) {
            (Some(item), _) => self.item(name, column, item, origin)?,
            (None, Some((key, value))) => self.map(name, key, value)?,
            (None, None) => return Err(self.error("has no entries of key and value")),
        };
        Ok(Declared { repeated: true, ..declared })
    }

    /// The type of the items of a list.
    fn item(&mut self, name: &str, column: &Field, item: &Field, origin: Origin<'_>) -> Result<Declared> {
        let data_type = plain(item.data_type());
        if !item.is_nullable() || self.options.null_items != NullItems::Wrap {
            return self.single(name, column, data_type, origin);
        }
        let value = if is_repeated(data_type, origin) {
            let list = sole_field("item", column, data_type, false);
            Field::new("value", DataType::Struct(Fields::from(vec![list])), true)
        } else {
            sole_field("value", column, data_type, true)
        };
        self.nested(name, &[value].into_iter().collect())
    }

    /// The type of one value. Lists, which cannot be repeated again, are inside a message.
    fn single(
        &mut self,
        name: &str,
        like: &Field,
        data_type: &DataType,
        origin: Origin<'_>,
    ) -> Result<Declared> {
        if is_repeated(data_type, origin) {
            return self.wrapped_list(name, like, data_type);
        }
        if let Some(declared) = self.google_type(data_type, origin) {
            return Ok(declared);
        }
        match data_type {
            DataType::Struct(fields) if !fields.is_empty() => self.nested(name, fields),
            _ => self.leaf(data_type, origin),
        }
    }

    fn wrapped_list(&mut self, name: &str, like: &Field, data_type: &DataType) -> Result<Declared> {
        self.nested(name, &[sole_field("item", like, data_type, false)].into_iter().collect())
    }

    /// The entries of a map: a map field where protobuf can have one, else messages of key and value.
    fn map(&mut self, name: &str, key: &Field, value: &Field) -> Result<Declared> {
        let entry = format!("{}Entry", upper_camel(name));
        let nested_lists = list_item(plain(value.data_type()))
            .is_some_and(|item| is_repeated(plain(item.data_type()), Origin::of(value)));
        let has_name = is_identifier(&entry) && !self.scope().taken.contains(&entry);
        if !is_map_key(plain(key.data_type())) || nested_lists || !has_name {
            return self.nested(name, &entry_fields(key, value));
        }
        self.scope().taken.insert(entry.clone());
        self.path.push("value".to_string());
        let declared = [
            self.leaf(plain(key.data_type()), Origin::of(key))?,
            self.single(name, value, plain(value.data_type()), Origin::of(value))?,
        ];
        self.path.pop();
        let part = |(number, (name, declared)): (i32, (&str, &Declared))| {
            proto(&FieldName { name: name.to_string(), json_name: None }, number, declared)
        };
        let scope = self.scope();
        let full_name = format!("{}.{entry}", scope.full_name);
        scope.nested.push(DescriptorProto {
            name: Some(entry),
            field: (1..).zip(["key", "value"].into_iter().zip(&declared)).map(part).collect(),
            options: Some(MessageOptions { map_entry: Some(true), ..MessageOptions::default() }),
            ..DescriptorProto::default()
        });
        Ok(Declared::message(&full_name))
    }

    /// The message that is being built.
    fn scope(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    /// The error that the column at hand `reason`.
    pub(super) fn error(&self, reason: &str) -> Error {
        Error::Schema(format!("column '{}' {reason}", self.path.join(".")))
    }

    fn inside(&self, error: Error) -> Error {
        if self.path.is_empty() {
            error
        } else {
            Error::Schema(format!("column '{}': {error}", self.path.join(".")))
        }
    }
}

fn proto(name: &FieldName, number: i32, declared: &Declared) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.name.clone()),
        json_name: name.json_name.clone(),
        number: Some(number),
        label: Some(if declared.repeated { label::REPEATED } else { label::OPTIONAL }),
        r#type: Some(declared.number),
        type_name: declared.type_name.clone(),
        ..FieldDescriptorProto::default()
    }
}

/// Whether values are lists or maps. The paths of a `FieldMask` are one value.
fn is_repeated(data_type: &DataType, origin: Origin<'_>) -> bool {
    match list_item(data_type) {
        Some(item) => origin.google() != Some("protobuf.FieldMask") || !is_text(plain(item.data_type())),
        None => matches!(data_type, DataType::Map(..)),
    }
}

fn is_map_key(data_type: &DataType) -> bool {
    data_type.is_integer() || is_text(data_type) || *data_type == DataType::Boolean
}
