//! Protobuf descriptors, resolved once: names linked, features of every edition worked out.
//!
//! Serialized descriptors (`wire`) or .proto source (`compile`) become a closed set of `files`, with the
//! well-known ones supplied (`builtin`) and within `limits`. Their names are collected (`symbols`) and linked
//! (`resolve`) into [`Descriptors`], from the wanted message on. Versions of one message type that several
//! record files bring along are compared and joined (`merge`); `text` prints .proto source again.

mod builtin;
mod compare;
pub(crate) mod compile;
mod error;
mod features;
pub(crate) mod files;
mod limits;
mod literal;
mod map_entry;
pub(crate) mod merge;
mod model;
pub(crate) mod resolve;
pub(crate) mod symbols;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub(crate) mod text;
mod union;
pub(crate) mod wire;

pub use error::DescriptorError;
pub(crate) use literal::json_name;
pub use model::{
    Cardinality, Descriptors, Enum, EnumId, EnumValue, Field, Kind, Message, MessageId, Presence, Value,
};
