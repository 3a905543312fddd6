//! What a file says of its records: the message `RecordsMetadata` (section 6.1).

use bytes::Bytes;

use crate::fault::ChunkFault;
use crate::wire::{Fields, Malformed, Value};

/// The decoded message; fields that are not there are `None` or empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordsMetadata {
    /// Free text about the file.
    pub file_comment: Option<String>,
    /// Full name of the message type of all records, without a leading dot.
    pub record_type_name: Option<String>,
    /// Serialized `FileDescriptorProto`s that define the message type, dependencies first.
    pub file_descriptors: Vec<Bytes>,
    /// Options of the writer as text.
    pub record_writer_options: Option<String>,
    /// Number of records as claimed by the writer; it may be wrong.
    pub num_records: Option<i64>,
    /// The Arrow schema of the rows that the records were made of, as an Arrow IPC message: a field of our own.
    pub arrow_schema: Option<Bytes>,
    /// All other fields, serialized: such as extensions, whose numbers begin at 1000.
    pub extensions: Bytes,
}

/// The number of the field [`RecordsMetadata::arrow_schema`]; the format leaves those from 1000 on to its users.
pub(crate) const ARROW_SCHEMA: u32 = 8245;

impl RecordsMetadata {
    /// Parses the serialized message; other fields are kept as they are.
    ///
    /// # Errors
    /// [`ChunkFault::Message`] if `message` is malformed or has invalid UTF-8.
    pub fn parse(message: &Bytes) -> Result<Self, ChunkFault> {
        Self::from_fields(message).map_err(|Malformed| ChunkFault::Message("the file metadata"))
    }

    fn from_fields(message: &Bytes) -> Result<Self, Malformed> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map(Some).map_err(|_| Malformed);
        let mut metadata = Self::default();
        let (mut fields, mut extensions) = (Fields::new(message), Vec::new());
        loop {
            let before = fields.rest();
            let Some(field) = fields.next() else { break };
            match field? {
                (1, Value::Bytes(bytes)) => metadata.file_comment = text(bytes)?,
                (2, Value::Bytes(bytes)) => metadata.record_type_name = text(bytes)?,
                (3, Value::Bytes(bytes)) => metadata.file_descriptors.push(message.slice_ref(bytes)),
                (4, Value::Bytes(bytes)) => metadata.record_writer_options = text(bytes)?,
                (5, Value::Varint(value)) => metadata.num_records = Some(value as i64),
                (ARROW_SCHEMA, Value::Bytes(bytes)) => metadata.arrow_schema = Some(message.slice_ref(bytes)),
                _ => {
                    let len = before.len().saturating_sub(fields.rest().len());
                    extensions.extend_from_slice(before.get(..len).unwrap_or_default());
                }
            }
        }
        metadata.extensions = extensions.into();
        Ok(metadata)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_taken_apart_and_unknown_ones_kept() {
        let message =
            b"\x0a\x01c\x12\x03a.B\x1a\x02xy\x1a\x00\x22\x06brotli\x28\x96\x01\xc2\x3e\x01z\x0a\x01d\xc8\x3e\x07";
        let metadata = RecordsMetadata::parse(&Bytes::from_static(message)).expect("valid");
        let expected = RecordsMetadata {
            file_comment: Some("d".into()),
            record_type_name: Some("a.B".into()),
            file_descriptors: vec![Bytes::from_static(b"xy"), Bytes::new()],
            record_writer_options: Some("brotli".into()),
            num_records: Some(150),
            arrow_schema: None,
            extensions: Bytes::from_static(b"\xc2\x3e\x01z\xc8\x3e\x07"),
        };
        assert_eq!(metadata, expected);
        assert_eq!(RecordsMetadata::parse(&Bytes::new()), Ok(RecordsMetadata::default()));
    }

    #[test]
    fn malformed_metadata_are_refused() {
        for message in [&b"\x0a\x05abc"[..], b"\x0a\x01\xff", b"\x0f"] {
            let found = RecordsMetadata::parse(&Bytes::from_static(message));
            assert_eq!(found, Err(ChunkFault::Message("the file metadata")), "{message:02x?}");
        }
    }
}
