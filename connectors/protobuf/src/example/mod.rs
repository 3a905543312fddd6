//! Typed columns from serialized `tf.train.Example` messages, as option `features` asks for them.
//!
//! [`option`] reads the option, [`mod@infer`] finds out what a sample of the records holds. [`decode`] takes
//! the features of each record, whose wire form [`message`] knows, to the buffers of their columns in
//! [`mod@column`]; [`names`] says which column that is.

mod column;
mod decode;
mod infer;
mod message;
mod names;
mod option;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field};

pub(crate) use decode::ExampleDecoder;
pub(crate) use infer::{SAMPLE_RECORDS, infer};
pub use option::{Features, FeaturesError};

use crate::options::{Mapping, Names, StringType};
use message::Member;

/// Name of the records' message type.
pub(crate) const MESSAGE: &str = "tensorflow.Example";

/// The message type and what it needs, for files that do not describe it themselves.
pub(crate) const SOURCE: &str = r#"
syntax = "proto3";
package tensorflow;
message BytesList { repeated bytes value = 1; }
message FloatList { repeated float value = 1; }
message Int64List { repeated int64 value = 1; }
message Feature {
  oneof kind {
    BytesList bytes_list = 1;
    FloatList float_list = 2;
    Int64List int64_list = 3;
  }
}
message Features { map<string, Feature> feature = 1; }
message Example { Features features = 1; }
"#;

/// A column that shows one feature of each record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureColumn {
    /// Name of the feature, and of the column.
    pub name: String,
    /// What the feature's values are.
    pub kind: FeatureKind,
    /// Whether a record may hold any number of values. If not it holds one or none.
    pub list: bool,
}

/// What the values of a feature are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeatureKind {
    /// Whole numbers of 64 bits: Int64.
    Int64,
    /// Floating point numbers of 32 bits: Float32.
    Float,
    /// Byte strings: BinaryView.
    Bytes,
    /// Byte strings that are UTF-8: Utf8View.
    String,
}

impl FeatureColumn {
    /// The column's Arrow field; it is nullable, and so are the items of a list. Names and the types of
    /// strings and bytes are as `mapping` has them.
    pub(crate) fn field(&self, mapping: &Mapping) -> Field {
        let item = match (self.kind, mapping.string_type) {
            (FeatureKind::String, StringType::Utf8) => DataType::Utf8,
            (FeatureKind::String, StringType::LargeUtf8) => DataType::LargeUtf8,
            (FeatureKind::Bytes, StringType::Utf8) => DataType::Binary,
            (FeatureKind::Bytes, StringType::LargeUtf8) => DataType::LargeBinary,
            (kind, _) => kind.data_type(),
        };
        let list = || DataType::List(Arc::new(Field::new("item", item.clone(), true)));
        let name = match mapping.names {
            Names::Lower => self.name.to_lowercase(),
            Names::Proto | Names::Json => self.name.clone(),
        };
        Field::new(name, if self.list { list() } else { item.clone() }, true)
    }
}

/// As option `features` has it: `NAME:KIND`, with `[]` behind it for a list.
impl fmt::Display for FeatureColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}{}", self.name, self.kind, if self.list { "[]" } else { "" })
    }
}

impl FeatureKind {
    const ALL: [Self; 4] = [Self::Int64, Self::Float, Self::Bytes, Self::String];

    /// The kind's name in option `features`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Int64 => "int64",
            Self::Float => "float",
            Self::Bytes => "bytes",
            Self::String => "string",
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Int64 => DataType::Int64,
            Self::Float => DataType::Float32,
            Self::Bytes => DataType::BinaryView,
            Self::String => DataType::Utf8View,
        }
    }

    /// The kind of a member's values; byte strings may still be text.
    fn of(member: Member) -> Self {
        match member {
            Member::Int64 => Self::Int64,
            Member::Float => Self::Float,
            Member::Bytes => Self::Bytes,
        }
    }

    /// The member of a `Feature` that holds values of this kind.
    fn member(self) -> Member {
        match self {
            Self::Int64 => Member::Int64,
            Self::Float => Member::Float,
            Self::Bytes | Self::String => Member::Bytes,
        }
    }
}

impl FromStr for FeatureKind {
    type Err = UnknownKind;

    /// Reads [`Self::name`], in any case.
    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        Self::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name)).ok_or(UnknownKind)
    }
}

/// A name of no kind of feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a kind of feature is int64, float, bytes or string")]
pub struct UnknownKind;

impl fmt::Display for FeatureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
