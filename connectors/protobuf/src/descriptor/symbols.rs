//! Every message and enum type of a set of files by full name, and the extensions by what they extend.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::DescriptorError;
use super::features::Features;
use super::files::FileSet;
use super::wire::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto, OneofDescriptorProto,
    field_type,
};

/// The longest full name that is read, in bytes.
const MAX_NAME: usize = 512;

/// Where an element stands: the names, the file and the features around it.
#[derive(Debug, Clone)]
pub(crate) struct Scope<'a> {
    /// Full name of the package or message.
    pub name: Arc<str>,
    /// The file.
    pub file: &'a FileDescriptorProto,
    /// The features in force.
    pub features: Features,
}

/// A message or enum type.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Definition<'a> {
    /// A message type.
    Message(&'a DescriptorProto),
    /// An enum type.
    Enum(&'a EnumDescriptorProto),
}

/// A type with its full name, its file and the features inside it.
#[derive(Debug, Clone)]
pub(crate) struct Symbol<'a> {
    /// The definition.
    pub definition: Definition<'a>,
    /// What is around its fields or values.
    pub scope: Scope<'a>,
}

impl<'a> Symbol<'a> {
    /// The definition, if it is a message type.
    pub fn message(&self) -> Option<&'a DescriptorProto> {
        match self.definition {
            Definition::Message(message) => Some(message),
            Definition::Enum(_) => None,
        }
    }

    /// Whether this is a message with the option `message_set_wire_format`, whose extensions may have any
    /// positive number.
    pub fn is_message_set(&self) -> bool {
        let options = self.message().and_then(|message| message.options.as_ref());
        options.is_some_and(|options| options.message_set_wire_format())
    }
}

/// An extension and where it is declared.
#[derive(Debug, Clone)]
pub(crate) struct Extension<'a> {
    /// The declaration.
    pub field: &'a FieldDescriptorProto,
    /// What is around it.
    pub scope: Scope<'a>,
}

/// All names of a set of files.
#[derive(Debug)]
pub(crate) struct Symbols<'a> {
    /// The files.
    pub files: &'a FileSet,
    by_name: HashMap<Arc<str>, Symbol<'a>>,
    /// The names of the message types in the order of declaration.
    messages: Vec<Arc<str>>,
    extensions: HashMap<Arc<str>, Vec<Extension<'a>>>,
}

impl<'a> Symbols<'a> {
    /// Collects the names of `files`.
    ///
    /// # Errors
    /// Names that are no identifiers, types of one name, unknown syntax. A supplied well-known file gives
    /// way to a file of another name that defines the same types.
    pub fn new(files: &'a FileSet) -> Result<Self, DescriptorError> {
        let mut collector = Collector::default();
        for file in files.given() {
            collector.file(file)?;
        }
        for file in files.supplied() {
            let messages = file.message_type.iter().map(DescriptorProto::name);
            let mut names = messages.chain(file.enum_type.iter().map(EnumDescriptorProto::name));
            if !names.any(|name| collector.by_name.contains_key(join(file.package(), name).as_str())) {
                collector.file(file)?;
            }
        }
        let Collector { by_name, messages, extensions } = collector;
        let mut symbols = Self { files, by_name, messages, extensions: HashMap::new() };
        for extension in extensions {
            let extendee = symbols.find(&extension.scope.name, extension.field.extendee());
            if let Some(name) = extendee.map(|symbol| Arc::clone(&symbol.scope.name)) {
                symbols.extensions.entry(name).or_default().push(extension);
            }
        }
        Ok(symbols)
    }

    /// The type of this full name.
    pub fn get(&self, full_name: &str) -> Option<&Symbol<'a>> {
        self.by_name.get(full_name)
    }

    /// The type that `name` means inside `scope`: absolute with a leading dot, else the innermost one.
    pub fn find(&self, scope: &str, name: &str) -> Option<&Symbol<'a>> {
        if let Some(name) = name.strip_prefix('.') {
            return self.get(name);
        }
        let mut scope = scope;
        loop {
            if let Some(symbol) = self.get(&join(scope, name)) {
                return Some(symbol);
            }
            if scope.is_empty() {
                return None;
            }
            scope = scope.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
    }

    /// The names of all message types, map entries included.
    pub fn messages(&self) -> &[Arc<str>] {
        &self.messages
    }

    /// The extensions of a message type.
    pub fn extensions(&self, full_name: &str) -> &[Extension<'a>] {
        self.extensions.get(full_name).map(Vec::as_slice).unwrap_or_default()
    }
}

impl Symbols<'_> {
    /// Whether `full_name` is the entry type of a map field.
    pub fn is_map_entry(&self, full_name: &str) -> bool {
        let message = self.get(full_name).and_then(|symbol| symbol.message());
        message.is_some_and(DescriptorProto::is_map_entry)
    }

    /// The error for a type that a field in `file` needs and that is not there: missing imports are named.
    pub fn unlinked(&self, file: &FileDescriptorProto, field: &str, type_name: &str) -> DescriptorError {
        let needed_by = field.to_string();
        let type_name: String = type_name.trim_start_matches('.').chars().take(MAX_NAME).collect();
        let known: HashMap<&str, &FileDescriptorProto> =
            self.files.files().iter().map(|file| (file.name(), file)).collect();
        let mut missing: Vec<String> = Vec::new();
        let mut seen = HashSet::new();
        let mut importers = vec![file];
        while let Some(file) = importers.pop() {
            for import in file.dependency.iter().filter(|import| seen.insert(import.as_str())) {
                match known.get(import.as_str()) {
                    Some(found) => importers.push(found),
                    None => missing.push(format!("'{import}', which {} imports, is missing", file.name())),
                }
            }
        }
        missing.truncate(3);
        if missing.is_empty() {
            return DescriptorError::UnknownType { needed_by, type_name };
        }
        DescriptorError::MissingImport { needed_by, type_name, missing: missing.join(", and ") }
    }
}

/// `name` inside `scope`.
pub(crate) fn join(scope: &str, name: &str) -> String {
    if scope.is_empty() { name.to_string() } else { format!("{scope}.{name}") }
}

#[derive(Default)]
struct Collector<'a> {
    by_name: HashMap<Arc<str>, Symbol<'a>>,
    messages: Vec<Arc<str>>,
    extensions: Vec<Extension<'a>>,
}

impl<'a> Collector<'a> {
    fn file(&mut self, file: &'a FileDescriptorProto) -> Result<(), DescriptorError> {
        let package = file.package();
        if file.name().chars().any(char::is_control) {
            return Err(bad_name(file, file.name()));
        }
        if !package.is_empty() && !is_type_name(package) {
            return Err(bad_name(file, package));
        }
        let scope = Scope { name: Arc::from(package), file, features: Features::of_file(file)? };
        self.members(&scope, &file.message_type, &file.enum_type, &file.extension)
    }

    /// Depth is bounded: the decoder refuses messages nested more than a hundred deep.
    fn members(
        &mut self,
        scope: &Scope<'a>,
        messages: &'a [DescriptorProto],
        enums: &'a [EnumDescriptorProto],
        extensions: &'a [FieldDescriptorProto],
    ) -> Result<(), DescriptorError> {
        for message in messages {
            let features = message.options.as_ref().and_then(|options| options.features.as_ref());
            let inside = self.define(
                scope,
                message.name(),
                scope.features.with(features),
                Definition::Message(message),
            )?;
            self.messages.push(Arc::clone(&inside.name));
            let fields = message.field.iter().map(FieldDescriptorProto::name);
            for name in fields.chain(message.oneof_decl.iter().map(OneofDescriptorProto::name)) {
                full_name(&inside, name)?;
            }
            message.field.iter().try_for_each(|field| check_references(scope.file, field))?;
            check_reserved(scope.file, &message.reserved_name)?;
            self.members(&inside, &message.nested_type, &message.enum_type, &message.extension)?;
        }
        for enumeration in enums {
            let features = enumeration.options.as_ref().and_then(|options| options.features.as_ref());
            let definition = Definition::Enum(enumeration);
            let inside = self.define(scope, enumeration.name(), scope.features.with(features), definition)?;
            for value in &enumeration.value {
                full_name(&inside, value.name())?;
            }
            check_reserved(scope.file, &enumeration.reserved_name)?;
        }
        for extension in extensions {
            full_name(scope, extension.name())?;
            check_references(scope.file, extension)?;
        }
        let placed = extensions.iter().map(|field| Extension { field, scope: scope.clone() });
        self.extensions.extend(placed);
        Ok(())
    }

    fn define(
        &mut self,
        around: &Scope<'a>,
        name: &str,
        features: Features,
        definition: Definition<'a>,
    ) -> Result<Scope<'a>, DescriptorError> {
        let full_name = full_name(around, name)?;
        let scope = Scope { name: Arc::from(full_name), file: around.file, features };
        if let Some(first) = self.by_name.get(&scope.name) {
            return Err(DescriptorError::NameTwice {
                name: scope.name.to_string(),
                first: first.scope.file.name().to_string(),
                second: around.file.name().to_string(),
            });
        }
        self.by_name.insert(Arc::clone(&scope.name), Symbol { definition, scope: scope.clone() });
        Ok(scope)
    }
}

/// The full name of an element called `name`.
///
/// # Errors
/// [`DescriptorError::Name`] if it is no identifier or too long.
pub(crate) fn full_name(scope: &Scope<'_>, name: &str) -> Result<String, DescriptorError> {
    if !is_identifier(name) || scope.name.len().saturating_add(name.len()) >= MAX_NAME {
        return Err(bad_name(scope.file, name));
    }
    Ok(join(&scope.name, name))
}

fn bad_name(file: &FileDescriptorProto, name: &str) -> DescriptorError {
    let shown = |name: &str| name.chars().take(80).flat_map(char::escape_debug).collect();
    DescriptorError::Name { file: shown(file.name()), name: shown(name) }
}

/// Checks what a field says of others, and what stands without quotes in .proto text: its type, what it extends, and
/// a default that is a number or the name of an enum's value.
fn check_references(file: &FileDescriptorProto, field: &FieldDescriptorProto) -> Result<(), DescriptorError> {
    let types = [&field.type_name, &field.extendee].into_iter().flatten();
    for name in types.filter(|name| !name.is_empty()) {
        if !is_type_name(name.strip_prefix('.').unwrap_or(name)) {
            return Err(bad_name(file, name));
        }
    }
    let is_text = matches!(field.r#type(), field_type::STRING | field_type::BYTES);
    let is_word =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.+-".contains(&byte));
    match &field.default_value {
        Some(default) if !is_text && !is_word(default) => Err(bad_name(file, default)),
        _ => Ok(()),
    }
}

/// Editions reserve names as identifiers, older files as text.
fn check_reserved(file: &FileDescriptorProto, names: &[String]) -> Result<(), DescriptorError> {
    let bad = names.iter().find(|name| file.syntax() == "editions" && !is_identifier(name));
    bad.map_or(Ok(()), |name| Err(bad_name(file, name)))
}

/// Whether `name` is that of a package or type, without a leading dot.
fn is_type_name(name: &str) -> bool {
    name.len() <= MAX_NAME && name.split('.').all(is_identifier)
}

fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
