//! Protobuf messages as Arrow columns: descriptors to an Arrow schema, wire bytes to arrays.

pub mod descriptor;
mod open;
mod options;

pub use open::{FileDescriptors, RecordType, record_descriptors};
pub use options::ProtobufOptions;
