//! Writing files: records come in, pieces of the file come out, in order.
//!
//! The flow of a write, and the modules along it:
//!
//! 1. [`WriterOptions`] say how, from text or by themselves.
//! 2. [`ChunkRecords`] gather records until a chunk is full (section 8.1).
//! 3. A [`ChunkEncoder`] makes an [`EncodedChunk`] of them, in one of two layouts. Chunks do not depend on
//!    each other nor on their place, so that several threads can encode, each with an encoder of its own.
//! 4. A [`FileWriter`] puts chunks into the file, with block headers and padding, behind the signature and
//!    the metadata ([`RecordsMetadata::encode`](crate::metadata::RecordsMetadata::encode)), or behind what is
//!    in the file already ([`append`]).
//!
//! An [`ArrayRecordWriter`] stands in the place of a [`FileWriter`] for files with an index. Nothing here
//! does input or output.
//!
//! ```
//! use recordfusion_riegeli::write::{ChunkEncoder, ChunkRecords, FileWriter, WriteError, WriterOptions};
//!
//! let options: WriterOptions = "transpose,zstd".parse()?;
//! let mut encoder = ChunkEncoder::new(&options)?;
//! let mut file = Vec::new();
//! let mut writer = FileWriter::create(&options, &mut file);
//! let mut chunk = ChunkRecords::default();
//! for record in ["one", "two", "three"] {
//!     if !chunk.fits(record.len(), options.chunk_size()) {
//!         writer.write(&encoder.encode(&chunk)?, &mut file)?;
//!         chunk.clear();
//!     }
//!     chunk.push(record.as_bytes())?;
//! }
//! writer.write(&encoder.encode(&chunk)?, &mut file)?;
//! writer.pad(&mut file)?;
//! # Ok::<(), WriteError>(())
//! ```

pub mod append;
mod array_record;
mod chunk;
mod compress;
mod error;
mod file;
mod grammar;
mod metadata;
mod options;
mod simple;
#[cfg(test)]
mod tests;
mod transposed;
mod varint;

pub use array_record::{ArrayRecordOptions, ArrayRecordWriter};
pub use chunk::{ChunkEncoder, ChunkRecords, EncodedChunk, Layout};
pub use error::{OptionsError, WriteError};
pub use file::FileWriter;
pub use metadata::descriptor_files;
pub use options::{Compression, WriterOptions};
