//! Parquet, CSV, NDJSON and Arrow IPC files: rows become units (row groups, pieces of text, batches), and units a file.
//!
//! | file | what |
//! |---|---|
//! | `file.rs` | [`FileEncoder`]: the file; [`Unit`]: what of it can be encoded beside others |
//! | `parquet.rs` | row groups |
//! | `plain.rs` | the types and names that other readers of these files know |
//! | `compact.rs` | columns without the bytes that they share with others |
//! | `pieces.rs` | batches cut so that what they become stays small |
//! | `stream.rs` | the bytes of a file from one stream of rows: `COPY` and `INSERT INTO` |
//!
//! `convert` has many streams of rows and encodes the units of each for itself (`convert/ordered.rs`).

mod compact;
mod file;
mod parquet;
mod pieces;
mod plain;
mod stream;

pub(crate) use compact::compact;
pub(crate) use file::{Encoded, Encoding, FileEncoder, NewUnit};
pub(crate) use parquet::ParquetEncoding;
pub(crate) use pieces::columnar_pieces;
pub(crate) use stream::{Piece, encode_stream};
