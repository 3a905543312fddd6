//! What a file says of its records, and of itself.

use bytes::Bytes;

/// What a file says of its records. It is read from the files of a table, and written to those made of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileDescription {
    /// Full name of the records' message type.
    pub message_type: Option<String>,
    /// Serialized `google.protobuf.FileDescriptorProto`s, in any order.
    pub descriptors: Vec<Bytes>,
    /// The Arrow schema of the rows that the records were made of, as an Arrow IPC message.
    pub arrow_schema: Option<Bytes>,
    /// What files made of this one say too.
    pub inherited: InheritedMetadata,
    /// Whether the descriptors are those of another file, to be kept byte for byte. Otherwise those that the message
    /// type does not need may be left out.
    pub verbatim: bool,
}

/// What files say of themselves besides the type of their records: files made of them say it too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InheritedMetadata {
    /// Comments of people.
    pub comments: Vec<String>,
    /// Fields of the metadata that are not the format's own, serialized.
    pub extensions: Vec<Bytes>,
}

impl InheritedMetadata {
    /// Adds what another file says, if it is new.
    pub fn merge(&mut self, other: Self) {
        for comment in other.comments {
            if !comment.is_empty() && !self.comments.contains(&comment) {
                self.comments.push(comment);
            }
        }
        for extensions in other.extensions {
            if !extensions.is_empty() && !self.extensions.contains(&extensions) {
                self.extensions.push(extensions);
            }
        }
    }

    /// The comments, a line each; `None` if there are none.
    pub fn comment(&self) -> Option<String> {
        (!self.comments.is_empty()).then(|| self.comments.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_files_say_is_kept_once() {
        let said = |comment: &str, extensions: &'static [u8]| InheritedMetadata {
            comments: vec![comment.to_string()],
            extensions: vec![Bytes::from_static(extensions)],
        };
        let mut all = InheritedMetadata::default();
        assert_eq!(all.comment(), None);
        for other in [said("a", b"x"), said("", b""), said("b", b"x"), said("a", b"y")] {
            all.merge(other);
        }
        assert_eq!(all.comment().as_deref(), Some("a\nb"));
        assert_eq!(all.extensions, [Bytes::from_static(b"x"), Bytes::from_static(b"y")]);
    }
}
