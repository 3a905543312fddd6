//! Protobuf descriptors, resolved once: names linked, features of every edition worked out.

mod model;

pub use model::{Cardinality, Descriptors, Enum, EnumId, EnumValue, Field, Kind, Message, MessageId, Presence, Value};
