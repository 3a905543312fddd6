//! Protobuf messages as Arrow columns: descriptors to an Arrow schema, wire bytes to arrays.

pub mod descriptor;
