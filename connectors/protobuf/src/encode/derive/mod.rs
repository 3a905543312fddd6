//! From the columns of a result to a message type (section 8.2 of the mapping).
//!
//! Columns that came from protobuf say so in their metadata, and keep their kind, number and enum.

mod enums;
mod leaf;
mod message;
mod names;
mod numbers;

use arrow::datatypes::{DataType, Field, Fields, Schema};
use bytes::Bytes;
use prost::Message;
use recordfusion_core::{Error, Result};

pub(super) use names::field_names;

use crate::descriptor::files::FileSet;
use crate::descriptor::merge::Version;
use crate::descriptor::wire::FileDescriptorProto;
use crate::open::RecordType;
use crate::options::WriteOptions;
use message::Builder;

/// A message type that was made for a result.
#[derive(Debug, Clone)]
pub struct DerivedType {
    /// The message type.
    pub record: RecordType,
    /// Serialized `google.protobuf.FileDescriptorProto`s: what the message type's own file imports, then that
    /// file.
    pub descriptors: Vec<Bytes>,
}

/// The message type of records that hold the columns of `schema`, called `default_name` unless the option
/// `message` says another name. The same columns and options give the same bytes.
///
/// # Errors
/// [`Error::Schema`] for columns that have no form in a message: intervals, unions, two of one name, more
/// than 100 levels. [`Error::Option`] for a name that is none.
pub fn derive(schema: &Schema, options: &WriteOptions, default_name: &str) -> Result<DerivedType> {
    let full_name = options.message.as_deref().unwrap_or(default_name);
    let (package, name) = split_name(full_name)?;
    let mut builder = Builder::new(full_name, options);
    let message = builder.root(name, schema.fields())?;
    let file = FileDescriptorProto {
        name: Some(format!("{}.proto", full_name.replace('.', "/").to_lowercase())),
        package: package.map(str::to_string),
        dependency: builder.imports(),
        message_type: vec![message],
        syntax: Some("proto3".to_string()),
        ..FileDescriptorProto::default()
    };
    let files = FileSet::new(vec![file]).map_err(|error| Error::Schema(error.to_string()))?;
    let imports_first = files.supplied().iter().chain(files.given());
    let descriptors = imports_first.map(|file| file.encode_to_vec().into()).collect();
    let version = Version::new("the columns", files, full_name);
    Ok(DerivedType { record: version.map_err(|error| Error::Schema(error.to_string()))?.into(), descriptors })
}

/// Package and own name of a message type.
fn split_name(full_name: &str) -> Result<(Option<&str>, &str)> {
    let bad = |reason: String| Error::Option { name: "message".to_string(), reason };
    if full_name.len() > 500 || !full_name.split('.').all(names::is_identifier) {
        return Err(bad(format!("'{full_name}' is not the full name of a message type, such as 'logs.Row'")));
    }
    if full_name.starts_with("google.") {
        return Err(bad(format!("'{full_name}' is a name of protobuf's own")));
    }
    Ok(match full_name.rsplit_once('.') {
        Some((package, name)) => (Some(package), name),
        None => (None, full_name),
    })
}

/// The only field of a message around a value, with what the value came from, but not its number.
fn sole_field(name: &str, like: &Field, data_type: &DataType, nullable: bool) -> Field {
    let mut metadata = like.metadata().clone();
    metadata.remove(crate::schema::FIELD_ID);
    Field::new(name, data_type.clone(), nullable).with_metadata(metadata)
}

/// The fields of a message that stands for an entry of a map.
fn entry_fields(key: &Field, value: &Field) -> Fields {
    let part = |name, part: &Field| sole_field(name, part, part.data_type(), part.is_nullable());
    [part("key", key), part("value", value)].into_iter().collect()
}
