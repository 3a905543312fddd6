//! Protobuf descriptors, resolved once: names linked, features of every edition worked out.
//!
//! Serialized descriptors (`wire`) become a closed set of files, whose names are collected
//! and linked into [`Descriptors`] from the wanted message on.

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
mod resolve;
mod symbols;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub(crate) mod text;
mod union;
mod wire;

pub use error::DescriptorError;
pub use model::{
    Cardinality, Descriptors, Enum, EnumId, EnumValue, Field, Kind, Message, MessageId, Presence, Value,
};
