//! Protobuf messages as Arrow columns: descriptors to an Arrow schema, wire bytes to arrays.

mod column_tree;
mod columns;
mod decode;
pub mod descriptor;
mod enum_names;
mod fault;
mod finish;
mod map_entries;
mod open;
mod options;
mod plan;
mod proto_json;
mod record;
mod schema;
mod text;
mod well_known;
mod wire;

pub use open::{FileDescriptors, RecordType, record_descriptors};
pub use options::ProtobufOptions;
pub use record::{BatchDecoder, RecordDecoder};
