//! What a file is made of, for people.

use crate::LostRegion;

/// A structured description of one file.
#[derive(Debug, Clone, Default)]
pub struct Inspection {
    /// The kind of file, such as `Riegeli/records` or `ArrayRecord`.
    pub kind: String,
    /// Length of the file in bytes.
    pub size: u64,
    /// Records, by the chunk headers.
    pub records: u64,
    /// Sum of the record sizes in bytes, by the chunk headers.
    pub decoded_size: u64,
    /// The chunks in file order.
    pub chunks: Vec<ChunkSummary>,
    /// The columns, in the order of the file; none in formats of byte records.
    pub columns: Vec<ColumnSummary>,
    /// What the file says of itself, as names and values in the order to show them: message type,
    /// comment, writer options.
    pub metadata: Vec<(String, String)>,
}

/// One chunk of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkSummary {
    /// Offset of its first byte in the file.
    pub begin: u64,
    /// Offset of the first byte behind it, padding included.
    pub end: u64,
    /// The kind of chunk, such as `simple`.
    pub kind: String,
    /// The codec of its data, such as `zstd`; `-` if it has no data.
    pub codec: String,
    /// Number of records.
    pub records: u64,
    /// Bytes of chunk data.
    pub data_size: u64,
    /// Sum of the record sizes in bytes.
    pub decoded_size: u64,
}

/// One column of a file, over all its row groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnSummary {
    /// Its name, and the path inside it where that is stored by itself.
    pub name: String,
    /// Its type, in the format's own words.
    pub data_type: String,
    /// How its values are encoded and compressed, such as `zstd`; `-` if they are stored as they are.
    pub codec: String,
    /// Bytes as they are stored.
    pub stored_size: u64,
    /// Bytes before compression.
    pub decoded_size: u64,
}

/// The outcome of checking every hash of a file and decoding every chunk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// Chunks that were decoded.
    pub chunks: u64,
    /// Records in them.
    pub records: u64,
    /// Sum of the record sizes in bytes.
    pub decoded_size: u64,
    /// All faults, in file order: what a scan that skips damage loses to each, and why. None if the file is sound.
    pub faults: Vec<LostRegion>,
    /// Chunks with bytes that readers pass over and that no known writer leaves, in file order, and what they are.
    /// Nothing is lost with them.
    pub leftovers: Vec<LostRegion>,
}
