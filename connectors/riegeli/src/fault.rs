//! What can be wrong with the bytes of a file, in plain words. The reader adds the file and the place.

use recordfusion_core::Limits;

/// The limits unless options say less.
pub const LIMITS: Limits = Limits::same(MAX_CHUNK_SIZE);

/// Largest decoded chunk and largest decompressed block, in bytes. Larger claims are refused.
pub const MAX_CHUNK_SIZE: u64 = 1 << 30;

/// Most records of one chunk. Writers count 8 bytes per record besides its own, so that a chunk within
/// [`MAX_CHUNK_SIZE`] has no more than these.
pub const MAX_CHUNK_RECORDS: u64 = MAX_CHUNK_SIZE / 8;

/// Largest decoded metadata chunk, in bytes.
pub const MAX_METADATA_SIZE: u64 = 64 << 20;

/// Damage of the container (section 1 of the specification), or of a chunk in it.
///
/// The variants tell apart what a reader that skips damage has to tell apart (section 7.5): whether the
/// end of the chunk is known, and whether a block header shows the way on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The hash of a block header is wrong.
    #[error("wrong hash of the block header at byte {block}")]
    BlockHeaderHash {
        /// Offset of the block in the file.
        block: u64,
    },
    /// A block header interrupts a chunk but says that it interrupts one that begins elsewhere.
    #[error("the block header at byte {block} belongs to a chunk that begins elsewhere")]
    PreviousChunk {
        /// Offset of the block in the file.
        block: u64,
        /// Distance from the block to the end of the chunk that it belongs to.
        next_chunk: u64,
    },
    /// A block header says that the chunk ends elsewhere than its chunk header says.
    #[error("the block header at byte {block} contradicts the length of the chunk")]
    NextChunk {
        /// Offset of the block in the file.
        block: u64,
    },
    /// The hash of the chunk header is wrong.
    #[error("wrong hash of the chunk header")]
    ChunkHeaderHash,
    /// The chunk header has the right hash, but sizes that no file can have.
    #[error(
        "the chunk claims {data_size} bytes of data and {num_records} records, more than a file can hold"
    )]
    ChunkExtent {
        /// Claimed bytes of data.
        data_size: u64,
        /// Claimed records.
        num_records: u64,
    },
    /// The file ends before the chunk header does.
    #[error("truncated: the file ends inside a chunk header")]
    TruncatedHeader,
    /// The file ends before the chunk does.
    #[error("truncated: the last {missing} bytes of the chunk are missing")]
    TruncatedChunk {
        /// Bytes between the end of the file and the end of the chunk.
        missing: u64,
    },
    /// The first chunk is another than the signature.
    #[error("the file does not begin with the signature")]
    NoSignature,
    /// The hash of the chunk data is wrong; the chunk header is right.
    #[error("wrong hash of the chunk data")]
    DataHash,
    /// Header and hashes are right, but the chunk cannot be decoded.
    #[error(transparent)]
    Chunk(#[from] ChunkFault),
}

impl Fault {
    /// Whether the file ends too early for a chunk, as far as the chunk header tells.
    pub fn is_truncation(&self) -> bool {
        matches!(self, Self::TruncatedHeader | Self::TruncatedChunk { .. })
    }
}

/// Why a chunk with the right hashes cannot be decoded (sections 1.6, 2, 3 and 6 of the specification).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChunkFault {
    /// A chunk of a type that does not exist says that it has records.
    #[error("unknown chunk type 0x{0:02x} with records")]
    UnknownType(u8),
    /// A signature, padding or metadata chunk has what it must not have.
    #[error("invalid {kind} chunk: it must have no {content}")]
    MustBeEmpty {
        /// The kind of chunk.
        kind: &'static str,
        /// What it must not have.
        content: &'static str,
    },
    /// The first byte of the chunk data names no compression algorithm.
    #[error("unknown compression type 0x{0:02x}")]
    UnknownCompression(u8),
    /// A part of the chunk is shorter than its content.
    #[error("the chunk ends within {0}, or a number in it is malformed")]
    Ends(&'static str),
    /// A part of the chunk is longer than its content.
    #[error("bytes are left over behind {0}")]
    Trailing(&'static str),
    /// A claimed size or count is beyond what is supported, or beyond what the data can hold.
    #[error("{what} of {claimed} is more than the possible {limit}")]
    TooLarge {
        /// What is claimed.
        what: &'static str,
        /// The claim.
        claimed: u64,
        /// The most that is possible here.
        limit: u64,
    },
    /// The chunk is larger than an option allows. This is no damage.
    #[error("{claimed} bytes of {what} are more than the {limit} that the option '{option}' allows")]
    Limit {
        /// What is too large.
        what: &'static str,
        /// Its size in bytes.
        claimed: u64,
        /// The most that is allowed.
        limit: u64,
        /// The option that says so.
        option: &'static str,
    },
    /// A compressed part does not decompress to its claimed size.
    #[error("{part} cannot be decompressed with {codec}: {reason}")]
    Compressed {
        /// The part of the chunk.
        part: &'static str,
        /// The algorithm.
        codec: &'static str,
        /// What the algorithm says.
        reason: String,
    },
    /// The record sizes do not add up to the decoded size of the chunk header.
    #[error("the record sizes do not add up to the {0} bytes that the chunk header claims")]
    SizeSum(u64),
    /// The number of records differs from that of the chunk header.
    #[error("the chunk does not hold the {0} records that its header claims")]
    RecordCount(u64),
    /// The buffers of a transposed chunk do not fill its buckets.
    #[error("the buffers do not fit their buckets")]
    Buckets,
    /// A node of the state machine has an invalid code, subtype, buffer or successor.
    #[error("node {node} has {fault}")]
    Node {
        /// Index of the node.
        node: usize,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// The walk through the state machine went wrong.
    #[error("the state machine {0}")]
    Walk(&'static str),
    /// The metadata or the index are no valid protobuf message.
    #[error("{0} is not a valid message")]
    Message(&'static str),
    /// The index of an ArrayRecord file contradicts itself or the file.
    #[error("the ArrayRecord footer contradicts {0}")]
    Footer(&'static str),
}
