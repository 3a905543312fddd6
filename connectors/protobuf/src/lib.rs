//! Protobuf messages as Arrow columns: descriptors to an Arrow schema, wire bytes to arrays.

mod column_tree;
mod columns;
mod decode;
pub mod descriptor;
mod enum_names;
#[cfg_attr(
    not(test),
    expect(dead_code, unused_imports, reason = "the decoder of records does not ask for it yet")
)]
mod example;
mod fault;
mod finish;
mod map_entries;
mod open;
mod options;
mod plan;
mod record;
mod schema;
mod text;
mod well_known;
mod wire;

pub use example::{FeatureColumn, FeatureKind, Features, FeaturesError};
pub use open::{FileDescriptors, RecordType, record_descriptors};
pub use options::ProtobufOptions;
pub use record::{BatchDecoder, RecordDecoder};
