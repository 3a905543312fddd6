//! The contract of writing: rows become chunks, and chunks become a file.

use std::fmt::Debug;
use std::ops::Range;

use arrow::array::RecordBatch;
use bytes::Bytes;

use crate::{Error, Result};

/// Writes files of a format, of rows of one schema. All checks that need no rows were made when it was built.
pub trait Writer: Debug + Send + Sync {
    /// Cuts the rows of one file into chunks.
    ///
    /// # Errors
    /// Those of the format.
    fn chunker(&self) -> Result<Box<dyn Chunker>>;

    /// Puts the chunks of one file together.
    ///
    /// # Errors
    /// Those of the format.
    fn assembler(&self) -> Result<Box<dyn Assembler>>;

    /// Which bytes of a file of `size` bytes [`Self::appender`] wants to see.
    fn tail(&self, size: u64) -> Range<u64> {
        size..size
    }

    /// Puts chunks behind those of a file of `size` bytes, of which `tail` are the [tail](Self::tail).
    ///
    /// # Errors
    /// [`Error::Unsupported`] if nothing can be added to such a file; [`Error::Encode`] if its end is damaged.
    fn appender(&self, size: u64, tail: &Bytes) -> Result<Box<dyn Assembler>> {
        let _ = (size, tail);
        Err(Error::Unsupported("nothing can be added to a file of this format".to_string()))
    }

    /// Most chunks to encode at a time, if the options say so.
    fn parallelism(&self) -> Option<usize> {
        None
    }

    /// The message type of the records, if they are messages and the file cannot say so itself: it may be kept
    /// beside the file, for the readers' options `message_type` and `descriptor_set`.
    fn message_type(&self) -> Option<MessageType> {
        None
    }
}

/// A message type and all that it needs, in the form that passes from the files of one format to those of another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageType {
    /// Its full name.
    pub name: String,
    /// Serialized `google.protobuf.FileDescriptorProto`s; none if nobody has them.
    pub descriptors: Vec<Bytes>,
}

impl MessageType {
    /// The serialized `google.protobuf.FileDescriptorSet` of the descriptors.
    pub fn descriptor_set(&self) -> Vec<u8> {
        /// Key of the field `file`.
        const FILE: u8 = 0x0a;
        let mut set = Vec::new();
        for file in &self.descriptors {
            set.push(FILE);
            let mut len = file.len();
            while len >= 0x80 {
                set.push(len as u8 | 0x80);
                len >>= 7;
            }
            set.push(len as u8);
            set.extend_from_slice(file);
        }
        set
    }
}

/// Cuts the rows of one file into chunks.
pub trait Chunker: Send {
    /// Adds rows, and gives the chunks that are now complete, in order. They may be encoded anywhere, several
    /// at a time.
    ///
    /// # Errors
    /// [`crate::Error::BadValue`] for a row that the format cannot hold.
    fn push(&mut self, batch: &RecordBatch) -> Result<Vec<ChunkJob>>;

    /// What is left: at most a chunk that is not full.
    ///
    /// # Errors
    /// Those of the format.
    fn finish(&mut self) -> Result<Vec<ChunkJob>>;

    /// How many values the format could not say as they are, by the name of what became of them.
    fn losses(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// Encodes a chunk.
pub type ChunkJob = Box<dyn FnOnce() -> Result<EncodedChunk> + Send>;

/// A chunk as bytes, without what depends on where in the file it comes to lie.
#[derive(Debug)]
pub struct EncodedChunk {
    /// The chunk's header.
    pub header: Vec<u8>,
    /// What stands behind the header.
    pub data: Vec<u8>,
    /// Rows in it.
    pub rows: u64,
    /// What the file's footer says of it, in the connector's own form.
    pub footer: Vec<u8>,
}

/// Puts the chunks of one file together: what it gives is the file, piece by piece.
pub trait Assembler: Send {
    /// What stands before the first chunk.
    ///
    /// # Errors
    /// Those of the format.
    fn begin(&mut self) -> Result<Vec<u8>>;

    /// A chunk, behind those before it.
    ///
    /// # Errors
    /// Those of the format.
    fn append(&mut self, chunk: EncodedChunk) -> Result<Vec<u8>>;

    /// What stands behind the last chunk.
    ///
    /// # Errors
    /// Those of the format.
    fn finish(&mut self) -> Result<Vec<u8>>;

    /// What else comes behind the bytes of [`Self::begin`] or [`Self::finish`], piece by piece; callers ask until there
    /// is nothing. It is for bytes that are too many for a buffer, such as padding.
    ///
    /// # Errors
    /// Those of the format.
    fn more(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }
}
