//! .proto text of descriptors.

use super::wire::FileDescriptorProto;

/// The first lines in which the texts of two files differ.
pub(crate) fn first_difference(
    first: &FileDescriptorProto,
    second: &FileDescriptorProto,
) -> Option<(String, String)> {
    (first != second).then(|| (String::new(), String::new()))
}
