//! From names to the resolved model: links types, decides presence and encoding by the features in force.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::features::Features;
use super::files::FileSet;
use super::literal::{DefaultKind, json_name, parse_default};
use super::map_entry;
use super::symbols::{Definition, Scope, Symbol, Symbols, full_name};
use super::wire::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, field_type, label};
use super::{
    Cardinality, DescriptorError, Descriptors, Enum, EnumId, EnumValue, Field, Kind, Message, MessageId,
    Presence, Value,
};

/// The highest field number, 2^29 - 1.
const MAX_FIELD_NUMBER: i32 = 536_870_911;

impl Descriptors {
    /// All message types of a serialized `google.protobuf.FileDescriptorSet`. Well-known files may be
    /// missing from it.
    ///
    /// # Errors
    /// Bytes that are no descriptors; types that are missing; anything that contradicts itself.
    pub fn from_set(set: &[u8]) -> Result<Self, DescriptorError> {
        let files = FileSet::decode_set(set)?;
        let symbols = Symbols::new(&files)?;
        resolve(&symbols, symbols.messages())
    }
}

/// The message types `roots` and all that they need. No message needs its extensions: in them, and in
/// messages that only they need, a field whose type is missing is left out.
///
/// # Errors
/// The first fault of a message that is needed. A root that does not exist is passed over.
pub(crate) fn resolve(
    symbols: &Symbols<'_>,
    roots: impl IntoIterator<Item = impl AsRef<str>>,
) -> Result<Descriptors, DescriptorError> {
    let mut linker = Linker::new(symbols);
    for root in roots {
        if let Some(symbol) = symbols.get(root.as_ref())
            && let Definition::Message(message) = symbol.definition
        {
            linker.message_id(&symbol.scope, message);
        }
    }
    linker.link_messages()?;
    linker.link_extensions()?;
    map_entry::check(&linker.descriptors)?;
    Ok(linker.descriptors)
}

/// Links one message type after the other; those it meets on the way queue up behind.
struct Linker<'s, 'a> {
    symbols: &'s Symbols<'a>,
    descriptors: Descriptors,
    enums: HashMap<Arc<str>, EnumId>,
    /// Numbers of the enum values by name; of values of one name, the first.
    enum_values: HashMap<(EnumId, &'a str), i32>,
    /// Definitions of the messages by index; those from `linked` on have no fields yet.
    definitions: Vec<(Scope<'a>, &'a DescriptorProto)>,
    linked: usize,
    /// Whether fields whose types are missing are left out.
    lenient: bool,
}

impl<'s, 'a> Linker<'s, 'a> {
    fn new(symbols: &'s Symbols<'a>) -> Self {
        let descriptors = Descriptors::default();
        Self {
            symbols,
            descriptors,
            enums: HashMap::new(),
            enum_values: HashMap::new(),
            definitions: Vec::new(),
            linked: 0,
            lenient: false,
        }
    }

    fn message_id(&mut self, scope: &Scope<'a>, definition: &'a DescriptorProto) -> MessageId {
        if let Some(id) = self.descriptors.find(&scope.name) {
            return id;
        }
        let id = MessageId(self.descriptors.messages.len() as u32);
        self.descriptors.by_name.insert(scope.name.to_string(), id);
        self.descriptors.messages.push(Message {
            full_name: scope.name.to_string(),
            fields: Vec::new(),
            extensions: Vec::new(),
            oneofs: Vec::new(),
            map_entry: definition.is_map_entry(),
        });
        self.definitions.push((scope.clone(), definition));
        id
    }

    fn enum_id(
        &mut self,
        scope: &Scope<'a>,
        definition: &'a EnumDescriptorProto,
    ) -> Result<EnumId, DescriptorError> {
        if let Some(id) = self.enums.get(&scope.name) {
            return Ok(*id);
        }
        if definition.value.is_empty() {
            return Err(DescriptorError::EmptyEnum(scope.name.to_string()));
        }
        let id = EnumId(self.descriptors.enums.len() as u32);
        let values = definition.value.iter();
        self.descriptors.enums.push(Enum {
            full_name: scope.name.to_string(),
            values: values
                .map(|value| EnumValue { name: value.name().into(), number: value.number() })
                .collect(),
            closed: scope.features.closed,
        });
        self.enums.insert(Arc::clone(&scope.name), id);
        for value in &definition.value {
            self.enum_values.entry((id, value.name())).or_insert(value.number());
        }
        Ok(id)
    }

    fn link_messages(&mut self) -> Result<(), DescriptorError> {
        while let Some((scope, definition)) = self.definitions.get(self.linked).cloned() {
            let (fields, oneofs) = self.members(&scope, definition)?;
            if let Some(message) = self.descriptors.messages.get_mut(self.linked) {
                (message.fields, message.oneofs) = (fields, oneofs);
            }
            self.linked = self.linked.saturating_add(1);
        }
        Ok(())
    }

    /// Adds the extensions of every message, and what they need in turn.
    fn link_extensions(&mut self) -> Result<(), DescriptorError> {
        self.lenient = true;
        let symbols = self.symbols;
        let mut at = 0;
        while let Some((scope, _)) = self.definitions.get(at).cloned() {
            let mut extensions = Vec::new();
            for extension in symbols.extensions(&scope.name) {
                extensions.extend(self.field(&extension.scope, extension.field, extension.scope.features)?);
            }
            extensions.sort_by_key(|field| field.number);
            self.link_messages()?;
            if let Some(message) = self.descriptors.messages.get_mut(at) {
                numbers_differ(&message.full_name, message.fields.iter().chain(&extensions))?;
                message.extensions = extensions;
            }
            at = at.saturating_add(1);
        }
        Ok(())
    }

    /// The fields of a message and the names of its real oneofs.
    fn members(
        &mut self,
        scope: &Scope<'a>,
        definition: &'a DescriptorProto,
    ) -> Result<(Vec<Field>, Vec<String>), DescriptorError> {
        let (oneofs, places) = real_oneofs(definition);
        let mut fields = Vec::with_capacity(definition.field.len());
        for proto in &definition.field {
            let place = oneof_place(scope, proto, &places)?;
            let own = place.and_then(|(declared, _)| definition.oneof_decl.get(declared)?.options.as_ref());
            let features = scope.features.with(own.and_then(|options| options.features.as_ref()));
            let field = self.field(scope, proto, features)?;
            fields.extend(field.map(|field| Field { oneof: place.and_then(|(_, real)| real), ..field }));
        }
        numbers_differ(&scope.name, &fields)?;
        names_differ(&scope.name, &fields)?;
        Ok((fields, oneofs))
    }

    /// One field or extension, without its oneof; nothing if it may be left out and has to be.
    fn field(
        &mut self,
        scope: &Scope<'a>,
        proto: &FieldDescriptorProto,
        around: Features,
    ) -> Result<Option<Field>, DescriptorError> {
        let full_name = full_name(scope, proto.name())?;
        let features = around.with(proto.features());
        let kind = match self.kind(scope, proto, &full_name, features) {
            Err(error) if self.lenient && error.is_unlinked() => return Ok(None),
            kind => kind?,
        };
        let cardinality = if proto.is_repeated() { Cardinality::Repeated } else { Cardinality::Singular };
        let default = self.default_value(proto, kind).map_err(|reason| field_error(&full_name, reason))?;
        Ok(Some(Field {
            json_name: proto.json_name.clone().unwrap_or_else(|| json_name(proto.name())),
            number: self.number(scope, proto).map_err(|reason| field_error(&full_name, reason))?,
            kind,
            cardinality,
            presence: presence(proto, kind, features),
            oneof: None,
            default,
            packed: cardinality == Cardinality::Repeated && kind.is_packable() && packed(proto, features),
            validate_utf8: kind == Kind::String && features.validate_utf8,
            name: if proto.extendee.is_some() { full_name } else { proto.name().to_string() },
        }))
    }

    fn number(&self, scope: &Scope<'a>, proto: &FieldDescriptorProto) -> Result<u32, String> {
        let extendee = proto.extendee.as_ref().and_then(|name| self.symbols.find(&scope.name, name));
        let in_message_set = extendee.is_some_and(Symbol::is_message_set);
        let most = if in_message_set { i32::MAX } else { MAX_FIELD_NUMBER };
        match proto.number() {
            number if (1..=most).contains(&number) => Ok(number.unsigned_abs()),
            number => Err(format!("has the number {number}, which is not between 1 and {most}")),
        }
    }

    fn kind(
        &mut self,
        scope: &Scope<'a>,
        proto: &FieldDescriptorProto,
        full_name: &str,
        features: Features,
    ) -> Result<Kind, DescriptorError> {
        if let Some(kind) = proto.r#type.and_then(scalar) {
            return Ok(kind);
        }
        let Some(type_name) = &proto.type_name else {
            return Err(field_error(full_name, "has no type".to_string()));
        };
        let symbols = self.symbols;
        let Some(Symbol { definition, scope: inside }) = symbols.find(&scope.name, type_name) else {
            return Err(self.unlinked(scope, full_name, type_name));
        };
        match (*definition, proto.r#type) {
            (Definition::Enum(definition), None | Some(field_type::ENUM)) => {
                self.enum_id(inside, definition).map(Kind::Enum)
            }
            (Definition::Message(definition), None | Some(field_type::MESSAGE | field_type::GROUP)) => {
                let id = self.message_id(inside, definition);
                let in_map = definition.is_map_entry() || symbols.is_map_entry(&scope.name);
                let delimited = proto.r#type == Some(field_type::GROUP) || (features.delimited && !in_map);
                Ok(if delimited { Kind::Group(id) } else { Kind::Message(id) })
            }
            (_, number) => {
                let reason =
                    format!("has the type {}, but {} is another kind", number.unwrap_or(0), inside.name);
                Err(field_error(full_name, reason))
            }
        }
    }

    /// What is missing is looked into only where it ends the work.
    fn unlinked(&self, scope: &Scope<'_>, field: &str, type_name: &str) -> DescriptorError {
        if self.lenient {
            return DescriptorError::UnknownType { needed_by: field.into(), type_name: type_name.into() };
        }
        self.symbols.unlinked(scope.file, field, type_name)
    }

    fn default_value(&self, proto: &FieldDescriptorProto, kind: Kind) -> Result<Option<Value>, String> {
        let Some(text) = &proto.default_value else { return Ok(None) };
        let value = match (kind, default_kind(kind)) {
            (_, Some(kind)) => parse_default(kind, text),
            (Kind::Enum(id), None) => self.enum_values.get(&(id, text.as_str())).copied().map(Value::Enum),
            _ => None,
        };
        value.map(Some).ok_or_else(|| {
            let text: String = text.chars().take(80).collect();
            format!("has the default '{text}', which its type does not have")
        })
    }
}

impl Kind {
    /// Whether repeated values of this kind can be written packed.
    pub fn is_packable(self) -> bool {
        !matches!(self, Self::String | Self::Bytes | Self::Message(_) | Self::Group(_))
    }
}

/// The names of the oneofs that are not made by proto3 `optional`, and where each declared one is among
/// them.
fn real_oneofs(definition: &DescriptorProto) -> (Vec<String>, Vec<Option<usize>>) {
    let mut synthetic = vec![false; definition.oneof_decl.len()];
    for field in definition.field.iter().filter(|field| field.proto3_optional()) {
        let index = field.oneof_index.and_then(|index| usize::try_from(index).ok());
        if let Some(mark) = index.and_then(|index| synthetic.get_mut(index)) {
            *mark = true;
        }
    }
    let mut names = Vec::new();
    let mut places = Vec::with_capacity(synthetic.len());
    for (oneof, synthetic) in definition.oneof_decl.iter().zip(synthetic) {
        places.push((!synthetic).then_some(names.len()));
        if !synthetic {
            names.push(oneof.name().to_string());
        }
    }
    (names, places)
}

/// Which declared oneof a field belongs to, and which real one.
fn oneof_place(
    scope: &Scope<'_>,
    proto: &FieldDescriptorProto,
    places: &[Option<usize>],
) -> Result<Option<(usize, Option<usize>)>, DescriptorError> {
    let Some(index) = proto.oneof_index else { return Ok(None) };
    let declared = usize::try_from(index).ok();
    match declared.and_then(|declared| Some((declared, *places.get(declared)?))) {
        Some(_) if proto.is_repeated() => {
            Err(field_error(&full_name(scope, proto.name())?, "is repeated inside a oneof".to_string()))
        }
        Some(place) => Ok(Some(place)),
        None => {
            let reason = format!("belongs to the oneof of index {index}, which does not exist");
            Err(field_error(&full_name(scope, proto.name())?, reason))
        }
    }
}

/// The feature `field_presence` with its exceptions, and its older forms.
fn presence(proto: &FieldDescriptorProto, kind: Kind, features: Features) -> Presence {
    let always_explicit = proto.extendee.is_some() || proto.oneof_index.is_some();
    let required = proto.label == Some(label::REQUIRED) || features.presence == Presence::Required;
    match kind {
        _ if proto.is_repeated() => Presence::Implicit,
        _ if always_explicit || proto.proto3_optional() => Presence::Explicit,
        _ if required => Presence::Required,
        Kind::Message(_) | Kind::Group(_) => Presence::Explicit,
        _ => features.presence,
    }
}

fn packed(proto: &FieldDescriptorProto, features: Features) -> bool {
    proto.options.as_ref().and_then(|options| options.packed).unwrap_or(features.packed)
}

fn scalar(number: i32) -> Option<Kind> {
    Some(match number {
        field_type::DOUBLE => Kind::Double,
        field_type::FLOAT => Kind::Float,
        field_type::INT64 => Kind::Int64,
        field_type::UINT64 => Kind::Uint64,
        field_type::INT32 => Kind::Int32,
        field_type::FIXED64 => Kind::Fixed64,
        field_type::FIXED32 => Kind::Fixed32,
        field_type::BOOL => Kind::Bool,
        field_type::STRING => Kind::String,
        field_type::BYTES => Kind::Bytes,
        field_type::UINT32 => Kind::Uint32,
        field_type::SFIXED32 => Kind::Sfixed32,
        field_type::SFIXED64 => Kind::Sfixed64,
        field_type::SINT32 => Kind::Sint32,
        field_type::SINT64 => Kind::Sint64,
        _ => return None,
    })
}

fn default_kind(kind: Kind) -> Option<DefaultKind> {
    Some(match kind {
        Kind::Double => DefaultKind::Double,
        Kind::Float => DefaultKind::Float,
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => DefaultKind::Int(32),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => DefaultKind::Int(64),
        Kind::Uint32 | Kind::Fixed32 => DefaultKind::Uint(32),
        Kind::Uint64 | Kind::Fixed64 => DefaultKind::Uint(64),
        Kind::Bool => DefaultKind::Bool,
        Kind::String => DefaultKind::String,
        Kind::Bytes => DefaultKind::Bytes,
        Kind::Enum(_) | Kind::Message(_) | Kind::Group(_) => return None,
    })
}

fn numbers_differ<'f>(
    message: &str,
    fields: impl IntoIterator<Item = &'f Field>,
) -> Result<(), DescriptorError> {
    let mut known: HashMap<u32, &str> = HashMap::new();
    for field in fields {
        if let Some(first) = known.insert(field.number, &field.name) {
            return Err(DescriptorError::NumberTwice {
                message: message.to_string(),
                number: field.number,
                first: first.to_string(),
                second: field.name.clone(),
            });
        }
    }
    Ok(())
}

fn names_differ(message: &str, fields: &[Field]) -> Result<(), DescriptorError> {
    let mut known = HashSet::new();
    match fields.iter().find(|field| !known.insert(field.name.as_str())) {
        None => Ok(()),
        Some(field) => {
            Err(DescriptorError::FieldTwice { message: message.to_string(), field: field.name.clone() })
        }
    }
}

fn field_error(field: &str, reason: String) -> DescriptorError {
    DescriptorError::Field { field: field.to_string(), reason }
}
