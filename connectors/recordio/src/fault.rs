//! What can be wrong with a chunk, in plain words (section 4). The reader adds the file and the place.

use recordfusion_core::Limits;

use crate::header::Layout;

/// Why the bytes at some place are no intact chunk.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The four bytes are not the magic.
    #[error("no chunk begins here: found \"{}\" instead of \"\\x04\\x03\\x02\\x01\"", .0.escape_ascii())]
    Magic(Vec<u8>),
    /// The file ends before the header does.
    #[error("truncated: the file ends inside a chunk header")]
    HeaderCut,
    /// The file ends before the payload does.
    #[error("truncated: the last {missing} bytes of the chunk are missing")]
    PayloadCut {
        /// Bytes between the end of the file and the end of the chunk.
        missing: u64,
    },
    /// The payload is too short for a record length.
    #[error("the chunk header claims a payload of {0} bytes, which is too short for a record")]
    Size(u32),
    /// The number of records is zero, or more than the payload can hold.
    #[error("the chunk header claims {claimed} records in {size} bytes of payload")]
    Count {
        /// The claim.
        claimed: u32,
        /// Bytes of payload, after decompression.
        size: u64,
    },
    /// The layout has no compressor of this code, but its low bits make one: a file that is newer than this reader,
    /// or damaged.
    #[error("the compressor word 0x{0:08x} has bits that this reader does not know")]
    CompressorBits(u32),
    /// The layout has no compressor of this code.
    #[error("unknown compressor {code} in the {} layout", .layout.name())]
    Compressor {
        /// The code.
        code: u32,
        /// The layout.
        layout: Layout,
    },
    /// The checksum of the payload is wrong.
    #[error("wrong checksum of the payload")]
    Checksum,
    /// The payload cannot be decompressed.
    #[error("the payload cannot be decompressed with {codec}: {reason}")]
    Decompression {
        /// The codec.
        codec: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A record does not lie in the payload.
    #[error("record {index} of {count} does not fit into the payload")]
    RecordCut {
        /// Index of the record in the chunk.
        index: u32,
        /// Records that the header claims.
        count: u32,
    },
    /// Bytes are left over behind the last record.
    #[error("{0} bytes are left over behind the last record")]
    LeftOver(u64),
    /// A payload or a record is larger than an option allows. This is no damage.
    #[error("{what} is more than the {limit} bytes that the option '{option}' allows")]
    Limit {
        /// What is too large.
        what: String,
        /// The limit.
        limit: u64,
        /// The option that sets it.
        option: &'static str,
    },
}

impl Fault {
    /// Whether the file ends too early for the chunk, as far as its header tells.
    pub fn is_cut(&self) -> bool {
        matches!(self, Self::HeaderCut | Self::PayloadCut { .. })
    }
}

/// The limits unless options say otherwise: 256 MiB each.
pub const LIMITS: Limits = Limits::same(256 << 20);
