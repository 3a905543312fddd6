//! Which message type the records of a table have: from the options, or from what the files say.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use prost::Message;
use recordfusion_core::{Error, MessageType, Messages, Result};

use crate::descriptor::compile::{compile, compile_text};
use crate::descriptor::files::FileSet;
use crate::descriptor::merge::{Version, listed, merge};
use crate::descriptor::resolve::resolve;
use crate::descriptor::symbols::Symbols;
use crate::descriptor::text::files_text;
use crate::descriptor::{DescriptorError, Descriptors, MessageId};
use crate::example;
use crate::options::ProtobufOptions;
use crate::side_file;

/// What one record file says of its records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileDescriptors {
    /// The record file, as the user knows it.
    pub file: String,
    /// Full name of the records' message type.
    pub message_type: Option<String>,
    /// Serialized `google.protobuf.FileDescriptorProto`s, in any order.
    pub descriptors: Vec<Bytes>,
    /// The Arrow schema of the rows that the records were made of, as an Arrow IPC message.
    pub arrow_schema: Option<Bytes>,
}

/// The message type of a table's records.
#[derive(Debug, Clone)]
pub struct RecordType {
    /// The message type and all that it needs.
    pub descriptors: Arc<Descriptors>,
    /// The message type.
    pub message: MessageId,
    files: Arc<FileSet>,
    proto_file: String,
}

impl RecordType {
    /// .proto text that compiles to the message type and all that it needs: the files that define them,
    /// imports first. If there are several, a comment line `// file: NAME` stands before each. The files of
    /// `google/protobuf`, services, comments and custom options are left out. If versions of different
    /// syntax were joined, the text of the first one's syntax cannot say everything of fields that only the
    /// others have.
    pub fn proto_text(&self) -> String {
        files_text(&self.files, &self.proto_file)
    }

    /// The message type and the files that define it.
    pub fn message_type(&self) -> MessageType {
        MessageType { name: self.full_name().to_string(), descriptors: self.file_descriptors() }
    }

    /// The message type's full name.
    pub fn full_name(&self) -> &str {
        &self.descriptors.message(self.message).full_name
    }

    /// The files that define message types, as serialized `google.protobuf.FileDescriptorProto`s: those of
    /// `google/protobuf` first.
    pub fn file_descriptors(&self) -> Vec<Bytes> {
        let files = self.files.supplied().iter().chain(self.files.given());
        files.map(|file| file.encode_to_vec().into()).collect()
    }

    /// The same with all message types of the files, and not only those that the message type needs: an
    /// `Any` may hold one.
    pub(crate) fn with_all_types(self) -> Result<Self> {
        let name = &self.descriptors.message(self.message).full_name;
        let all = Symbols::new(&self.files).and_then(|symbols| resolve(&symbols, symbols.messages()));
        let all = all.map_err(|error| option_error("any", error.to_string()))?;
        match all.find(name) {
            Some(message) => Ok(Self { descriptors: Arc::new(all), message, ..self }),
            None => Ok(self),
        }
    }
}

impl Messages for RecordType {
    fn message_type(&self) -> MessageType {
        Self::message_type(self)
    }

    fn proto_text(&self) -> Option<String> {
        Some(Self::proto_text(self))
    }
}

impl FileDescriptors {
    /// The message type, if it has a name.
    pub fn named(&self) -> Option<MessageType> {
        let name = self.message_type.clone()?;
        Some(MessageType { name, descriptors: self.descriptors.clone() })
    }
}

impl From<MessageType> for FileDescriptors {
    fn from(message: MessageType) -> Self {
        Self { message_type: Some(message.name), descriptors: message.descriptors, ..Self::default() }
    }
}

impl From<Version> for RecordType {
    fn from(version: Version) -> Self {
        Self {
            descriptors: Arc::new(version.descriptors),
            message: version.message,
            files: Arc::new(version.files),
            proto_file: version.proto_file,
        }
    }
}

/// The message type of the records of `files`; `None` if they are plain bytes, as nobody gives descriptors
/// or a name.
///
/// Descriptors given by option win over those of the files, and so does the name. A file that says nothing
/// is read like the others. Versions of the message type are joined: fields are matched by number, and the
/// first file's names win.
///
/// # Errors
/// [`Error::Option`] for descriptors or a name given by option that do not work out; [`Error::Schema`] for
/// files of different message types, with versions that contradict each other, or with descriptors that are
/// broken or incomplete.
pub fn record_descriptors(
    files: &[FileDescriptors],
    options: &ProtobufOptions,
) -> Result<Option<RecordType>> {
    match outside_descriptors(options)? {
        Some((option, origin, set)) => {
            let name = match wanted_name(files, options)? {
                Some(name) => name.to_string(),
                None => only_message(&set).map_err(|reason| option_error("message_type", reason))?,
            };
            let named = if options.message_type.is_some() { "message_type" } else { option };
            let version = Version::new(&origin, set, &name);
            Ok(Some(
                version
                    .map_err(|error| option_error(blamed(&error, named, option), error.to_string()))?
                    .into(),
            ))
        }
        None => from_files(files, options),
    }
}

/// What is said of records that nobody looks into, for those who write them: the type that the options name, else
/// what the files say. What all files say alike is taken as it is, be it a name alone, or descriptors that lack
/// something.
///
/// # Errors
/// Those of [`record_descriptors`], for options, and for files that differ.
pub fn said_of_records(files: &[FileDescriptors], options: &ProtobufOptions) -> Result<FileDescriptors> {
    let says = |file: &&FileDescriptors| file.message_type.is_some() || !file.descriptors.is_empty();
    let alike = |one: &FileDescriptors, other: &FileDescriptors| {
        one.message_type == other.message_type && one.descriptors == other.descriptors
    };
    let mut saying = files.iter().filter(says);
    let said = match saying.next() {
        Some(first) if !options.name_type() && saying.all(|other| alike(first, other)) => first.clone(),
        None if !options.name_type() => FileDescriptors::default(),
        _ => {
            let record = record_descriptors(files, options)?;
            FileDescriptors {
                file: String::new(),
                message_type: match &record {
                    Some(record) => Some(record.full_name().to_string()),
                    None => wanted_name(files, options)?.map(str::to_string),
                },
                descriptors: record.map(|record| record.file_descriptors()).unwrap_or_default(),
                arrow_schema: None,
            }
        }
    };
    Ok(FileDescriptors { arrow_schema: common_arrow_schema(files), ..said })
}

/// The Arrow schema that all files have.
pub(crate) fn common_arrow_schema(files: &[FileDescriptors]) -> Option<Bytes> {
    let (first, others) = files.split_first()?;
    let alike = others.iter().all(|other| other.arrow_schema == first.arrow_schema);
    first.arrow_schema.clone().filter(|_| alike)
}

/// The option that gives descriptors, what to call it, and the descriptors.
fn outside_descriptors(options: &ProtobufOptions) -> Result<Option<(&'static str, String, FileSet)>> {
    if let Some(path) = &options.descriptor_set {
        let bad = |reason: String| option_error("descriptor_set", format!("{}: {reason}", path.display()));
        let bytes = side_file::read(path).map_err(|error| bad(error.to_string()))?;
        let set = FileSet::decode_set(&bytes).map_err(|error| bad(error.to_string()))?;
        return Ok(Some(("descriptor_set", path.display().to_string(), set)));
    }
    if let Some(path) = &options.proto {
        let set =
            compile(path, &options.proto_path).map_err(|error| option_error("proto", error.to_string()))?;
        return Ok(Some(("proto", path.display().to_string(), set)));
    }
    Ok(None)
}

/// The name given by option, else the one that the files agree on.
fn wanted_name<'a>(files: &'a [FileDescriptors], options: &'a ProtobufOptions) -> Result<Option<&'a str>> {
    if let Some(name) = &options.message_type {
        return Ok(Some(name));
    }
    let mut named = files.iter().filter_map(|file| Some((file, file.message_type.as_deref()?)));
    let Some((first, name)) = named.next() else { return Ok(None) };
    match named.find(|(_, other)| *other != name) {
        None => Ok(Some(name)),
        Some((file, other)) => Err(Error::Schema(format!(
            "{} holds records of type {name}, {} of type {other}; the option message_type would read both as \
             one type",
            first.file, file.file
        ))),
    }
}

/// The only message type that the records could have.
fn only_message(set: &FileSet) -> std::result::Result<String, String> {
    let (names, roots) = set.top_level_messages();
    match names.as_slice() {
        [name, ..] if roots == 1 => Ok(name.clone()),
        _ => Err(format!("the name of the records' message type is needed; {}", listed(&names))),
    }
}

fn from_files(files: &[FileDescriptors], options: &ProtobufOptions) -> Result<Option<RecordType>> {
    let described = || files.iter().filter(|file| !file.descriptors.is_empty());
    if described().next().is_none() && options.message_type.as_deref() == Some(example::MESSAGE) {
        let known = compile_text("tensorflow/core/example/example.proto", example::SOURCE);
        let version = known.and_then(|set| Version::new("built in", set, example::MESSAGE));
        return version.map(|version| Some(version.into())).map_err(|error| Error::Schema(error.to_string()));
    }
    if described().next().is_none() && options.message_type.is_some() {
        let reason = "no file holds descriptors; the option descriptor_set or proto can give them";
        return Err(option_error("message_type", reason));
    }
    let Some(name) = wanted_name(files, options)? else { return Ok(None) };
    let versions = distinct_versions(described(), name, options.message_type.is_some())?;
    let Some((first, others)) = versions.split_first() else { return Ok(None) };
    let merged = merge(first, others).map_err(|error| Error::Schema(error.to_string()))?;
    Ok(Some(merged.into()))
}

/// What the files say of the message type `name`. Most often all say the same, byte for byte, as the file
/// before them: that is compared first, and resolved once.
fn distinct_versions<'a>(
    files: impl Iterator<Item = &'a FileDescriptors>,
    name: &str,
    by_option: bool,
) -> Result<Vec<Version>> {
    let mut versions = Vec::new();
    let mut seen = HashSet::new();
    let mut last = None;
    for file in files {
        let said = (&file.descriptors, file.message_type.is_some());
        if last != Some(said) && seen.insert(said) {
            versions.extend(version(file, name, by_option)?);
        }
        last = Some(said);
    }
    Ok(versions)
}

/// What a file says of the message type `name`; nothing if it neither names nor knows the type.
fn version(file: &FileDescriptors, name: &str, by_option: bool) -> Result<Option<Version>> {
    let version = FileSet::decode(&file.descriptors).and_then(|set| Version::new(&file.file, set, name));
    match version {
        Ok(version) => Ok(Some(version)),
        Err(DescriptorError::UnknownMessage { .. }) if !by_option && file.message_type.is_none() => Ok(None),
        Err(error @ DescriptorError::UnknownMessage { .. }) if by_option => {
            Err(option_error("message_type", format!("{}: {error}", file.file)))
        }
        Err(error) => {
            let hint =
                if error.is_unlinked() { "; the option descriptor_set can give all descriptors" } else { "" };
            Err(Error::Schema(format!("{}: {error}{hint}", file.file)))
        }
    }
}

/// The option to blame: the one that gave the name if the name is the fault.
fn blamed(error: &DescriptorError, named: &'static str, described: &'static str) -> &'static str {
    if matches!(error, DescriptorError::UnknownMessage { .. }) { named } else { described }
}

fn option_error(name: &str, reason: impl Into<String>) -> Error {
    Error::Option { name: name.to_string(), reason: reason.into() }
}

#[cfg(test)]
mod tests;
