//! What can be wrong with descriptors.

/// Why descriptors do not make message types. Names are full names without a leading dot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DescriptorError {
    /// The bytes are no descriptors.
    #[error("the descriptors cannot be read: {0}")]
    Bytes(String),
    /// More messages, fields, enum values and names than anybody needs.
    #[error("the descriptors hold more than {limit} elements")]
    TooLarge {
        /// The most that is read.
        limit: usize,
    },
    /// A name is no identifier, or longer than is read.
    #[error("{file}: '{name}' is no valid name")]
    Name {
        /// The .proto file.
        file: String,
        /// The name, shortened.
        name: String,
    },
    /// The syntax of the file does not exist.
    #[error("{file} has the unknown syntax '{syntax}' (edition {edition})")]
    Syntax {
        /// The .proto file.
        file: String,
        /// Its syntax.
        syntax: String,
        /// The number of its edition, or `none`.
        edition: String,
    },
    /// One file twice, with different contents.
    #[error("{file} is there twice with different contents: {first} in one, {second} in the other")]
    FileTwice {
        /// The .proto file.
        file: String,
        /// The first line of its text that differs.
        first: String,
        /// The same line in the second one.
        second: String,
    },
    /// Two types of one name.
    #[error("{name} is defined twice, in {first} and in {second}")]
    NameTwice {
        /// The type.
        name: String,
        /// The .proto file of the first.
        first: String,
        /// The .proto file of the second.
        second: String,
    },
    /// A type that is needed should be in a file that is missing.
    #[error("{needed_by} needs {type_name}, but {missing}")]
    MissingImport {
        /// The field.
        needed_by: String,
        /// The type.
        type_name: String,
        /// Who imports which missing files, as a phrase.
        missing: String,
    },
    /// A type that is needed is defined nowhere.
    #[error("{needed_by} needs {type_name}, which no file defines")]
    UnknownType {
        /// The field.
        needed_by: String,
        /// The type.
        type_name: String,
    },
    /// A field or extension contradicts itself.
    #[error("field {field} {reason}")]
    Field {
        /// The field.
        field: String,
        /// What is wrong.
        reason: String,
    },
    /// Two fields of a message have one number.
    #[error("fields {first} and {second} of {message} both have the number {number}")]
    NumberTwice {
        /// The message.
        message: String,
        /// The number.
        number: u32,
        /// The first field.
        first: String,
        /// The second field.
        second: String,
    },
    /// Two fields of a message have one name.
    #[error("{message} has two fields {field}")]
    FieldTwice {
        /// The message.
        message: String,
        /// The name of both.
        field: String,
    },
    /// An enum without values.
    #[error("enum {0} has no values")]
    EmptyEnum(String),
    /// The entry type of a map is not as `map<K, V>` makes it.
    #[error("{message} is marked as a map entry, but {reason}")]
    MapEntry {
        /// The entry type.
        message: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A message type that was asked for is not there.
    #[error("there is no message type {name}; {hint}")]
    UnknownMessage {
        /// The name asked for.
        name: String,
        /// The nearest names, or all of them, as a phrase.
        hint: String,
    },
    /// The .proto source does not compile.
    #[error("{0}")]
    Compile(String),
    /// Two files use a message type in ways that exclude each other.
    #[error("{first} and {second} hold different messages: {difference}")]
    Conflict {
        /// The first file.
        first: String,
        /// The second file.
        second: String,
        /// What differs, in the words "... in the first, ... in the second".
        difference: String,
    },
}

impl DescriptorError {
    /// Bytes that the wire decoder refused.
    pub(crate) fn bytes(error: &prost::DecodeError) -> Self {
        let text = error.to_string();
        let reason = text.strip_prefix("failed to decode Protobuf message: ").unwrap_or(&text);
        Self::Bytes(reason.to_string())
    }

    /// Whether a type is needed that is not there.
    pub(crate) fn is_unlinked(&self) -> bool {
        matches!(self, Self::MissingImport { .. } | Self::UnknownType { .. })
    }
}
