//! A table as bytes: all that a scan needs, so that another process reads as this one does without opening a file.
//!
//! The bytes are a protobuf message, [`TableState`]. What was learnt from files and paths is in it; the options that
//! name paths are not, since another process may not have these files.

use bytes::Bytes;
use prost::Message;
use recordfusion_core::{Error, Options, Result};
use recordfusion_protobuf::{FeatureColumn, FileDescriptors, RecordDecoder, RecordType, UnknownKind};

use crate::description::InheritedMetadata;

/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;
/// The options that name paths.
const PATHS: [&str; 3] = ["descriptor_set", "proto", "proto_path"];

/// What a table is made of.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TableState {
    #[prost(uint32, tag = "1")]
    version: u32,
    /// The options of the table, without those that name paths if there is a message type.
    #[prost(btree_map = "string, string", tag = "2")]
    options: std::collections::BTreeMap<String, String>,
    /// The message type of the records, joined over all files, if they are messages.
    #[prost(message, optional, tag = "3")]
    message_type: Option<DescribedType>,
    /// The Arrow schema that the files keep, if it is used.
    #[prost(bytes = "bytes", optional, tag = "4")]
    arrow_schema: Option<Bytes>,
    /// The features that are columns, if they are.
    #[prost(message, optional, tag = "5")]
    features: Option<FeatureList>,
    #[prost(string, repeated, tag = "6")]
    comments: Vec<String>,
    #[prost(bytes = "bytes", repeated, tag = "7")]
    extensions: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
struct DescribedType {
    #[prost(string, tag = "1")]
    name: String,
    /// Serialized `google.protobuf.FileDescriptorProto`s.
    #[prost(bytes = "bytes", repeated, tag = "2")]
    descriptors: Vec<Bytes>,
}

/// A list, and not the text of the option `features`: names may hold commas, and the list may be empty.
#[derive(Clone, PartialEq, Message)]
struct FeatureList {
    #[prost(message, repeated, tag = "1")]
    features: Vec<Feature>,
}

#[derive(Clone, PartialEq, Message)]
struct Feature {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    kind: String,
    #[prost(bool, tag = "3")]
    list: bool,
}

impl TableState {
    /// The state of a table that was opened with `options`.
    pub(crate) fn new(options: &Options, decoder: &RecordDecoder, inherited: &InheritedMetadata) -> Self {
        let message_type = decoder.record_type().map(RecordType::message_type);
        let travels = |name: &str| message_type.is_none() || !PATHS.contains(&name);
        let options = options.iter().filter(|(name, _)| travels(name));
        Self {
            version: VERSION,
            options: options.map(|(name, value)| (name.to_string(), value.to_string())).collect(),
            message_type: message_type
                .map(|message| DescribedType { name: message.name, descriptors: message.descriptors }),
            arrow_schema: decoder.arrow_schema().cloned(),
            features: decoder
                .features()
                .map(|features| FeatureList { features: features.iter().map(Feature::from).collect() }),
            comments: inherited.comments.clone(),
            extensions: inherited.extensions.clone(),
        }
    }

    /// Reads bytes that [`Message::encode_to_vec`] gave.
    ///
    /// # Errors
    /// Bytes of another kind or version.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        let state = Self::decode(bytes).map_err(|error| bad(&error.to_string()))?;
        match state.version {
            VERSION => Ok(state),
            other => Err(bad(&format!("it has version {other}, and version {VERSION} is known"))),
        }
    }

    /// The options of the table.
    pub(crate) fn options(&self) -> Options {
        self.options.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// What the files say of their records, as one that says it all.
    pub(crate) fn files(&self) -> Vec<FileDescriptors> {
        let file = FileDescriptors { file: "the table".to_string(), ..FileDescriptors::default() };
        let arrow_schema = self.arrow_schema.clone();
        vec![match &self.message_type {
            Some(DescribedType { name, descriptors }) => FileDescriptors {
                message_type: Some(name.clone()),
                descriptors: descriptors.clone(),
                arrow_schema,
                ..file
            },
            None => FileDescriptors { arrow_schema, ..file },
        }]
    }

    /// The features that are columns, if they are.
    ///
    /// # Errors
    /// A kind of feature that there is not.
    pub(crate) fn features(&self) -> Result<Option<Vec<FeatureColumn>>> {
        let Some(list) = &self.features else { return Ok(None) };
        list.features.iter().map(Feature::column).collect::<Result<_>>().map(Some)
    }

    /// What the files say of themselves.
    pub(crate) fn inherited(&self) -> InheritedMetadata {
        InheritedMetadata { comments: self.comments.clone(), extensions: self.extensions.clone() }
    }
}

impl From<&FeatureColumn> for Feature {
    fn from(column: &FeatureColumn) -> Self {
        Self { name: column.name.clone(), kind: column.kind.name().to_string(), list: column.list }
    }
}

impl Feature {
    fn column(&self) -> Result<FeatureColumn> {
        let kind =
            self.kind.parse().map_err(|error: UnknownKind| bad(&format!("'{}': {error}", self.kind)))?;
        Ok(FeatureColumn { name: self.name.clone(), kind, list: self.list })
    }
}

/// An error of bytes that are no table.
fn bad(reason: &str) -> Error {
    Error::Schema(format!("a table from another process cannot be read: {reason}"))
}
