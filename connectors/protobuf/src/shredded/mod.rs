//! Records that come shredded: not as bytes, but field by field, the last field of the last record first.
//!
//! A format that stores the values of each field together need not put records together for a scan. Its own
//! walk over what the records consist of drives the column buffers instead, in three steps:
//!
//! 1. [`Layout`] says what a tag means inside a message ([`Meaning`]), so that the walk knows which values it
//!    may pass over and which bytes it has to hand over whole.
//! 2. [`Occurrences`] notes, while the walk goes backwards, which row each wanted value belongs to. No value is
//!    looked at: an occurrence is a row and a *form*, a byte with which the format tells its values apart.
//! 3. [`Assembly`] takes the values of one leaf after another and puts them to their rows, from the first
//!    record on. From there the columns are made as those of whole records are.
//!
//! Going backwards, the first member of a oneof that is met is the one that was set last: it stays, and what
//! comes before another member is *nowhere*, as is all below it. Everything else follows from the last step,
//! which goes forwards like the decoder of whole records does: later values replace earlier ones, messages
//! merge, and lists grow.
//!
//! Nothing here reports faults. Where records are not sound, or are not what this can take, the answer is
//! [`Unfit`]: the format then puts the records together, and their decoder is the judge.

mod assembly;
mod bounds;
mod bytes;
mod layout;
mod note;
mod numbers;
mod occurrences;
mod size;

pub use assembly::Assembly;
pub use bounds::FieldFacts;
pub use bytes::ByteValues;
pub use layout::{Layout, Leaf, Meaning, Message};
pub use note::Note;
pub use numbers::Numbers;
pub use occurrences::Occurrences;
pub use size::{Others, RecordSizes, ValueSizes};

use thiserror::Error;

/// Form of a value whose bytes lie in the buffer of its leaf.
pub const STORED: u8 = 0xfe;

/// Form of a value whose bytes were put together from parts.
pub const CAPTURED: u8 = 0xff;

/// Most rows of a message of one type, and most records, that can be taken at once.
pub const MAX_ROWS: usize = NOWHERE as usize;

/// The row of what another member of a oneof has replaced.
const NOWHERE: u32 = (1 << 24) - 1;

/// The records have to be put together: only their decoder can tell what becomes of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the records have to be decoded as a whole")]
pub struct Unfit;

impl From<Box<crate::fault::Fault>> for Unfit {
    fn from(_: Box<crate::fault::Fault>) -> Self {
        Self
    }
}
