//! The contract between RecordFusion and its record file connectors.
//!
//! A connector knows the bytes of one format; nothing here or in a connector knows DataFusion.
//! The flow of a read:
//!
//! 1. [`Connector::recognises`] looks at a file's first bytes.
//! 2. [`Connector::open`] reads what the files say of themselves and the [`Options`], and gives a
//!    [`Table`]: one Arrow schema for all of them.
//! 3. [`Table::scan`] turns a byte range of one [`RecordFile`] into record batches, for the columns of a
//!    [`Projection`]. *A chunk belongs to the range that holds its first byte*, so that any partition
//!    of a file into ranges gives each record exactly once.
//!
//! [`scan()`] makes the batches of a format's [`RowGroups`]: it applies the [`RowFilter`] of the request, and decodes no
//! more of a row group than it needs to.
//!
//! The flow of a write: [`Writing::writer`] makes the plan for a schema and options; a [`Chunker`] cuts batches
//! into chunks, which are encoded in parallel, and an [`Assembler`] makes the file of them.
//!
//! Formats that hold byte records pass a [`RecordBlock`] from the container to the payload decoder:
//! one shared buffer with the place and the position of each record. [`row_counts`] makes batches of nothing but a
//! number of rows.
//!
//! Where bytes do not tell chunks of the file from bytes inside of records, a part of a file makes sure that the next
//! one begins right: [`RangeEnd`], [`Split`].
//!
//! What becomes of damage is the user's choice, [`OnCorruption`]: whatever is passed over is counted and kept as a
//! [`LostRegion`] in the [`ScanCounters`]. [`Verifying::verify`] finds all of it, and [`Repairing::repair`] copies
//! what is whole to a file without it. [`Limits`] bound the memory that any file can take.

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::arithmetic_side_effects
    )
)]

mod block;
mod bounds;
mod compact;
mod connector;
mod corruption;
mod count;
mod counters;
mod error;
mod file;
mod filter;
mod inspection;
mod limits;
mod local_file;
mod open_files;
mod options;
mod projection;
mod read_ahead;
mod scan;
mod short_reads;
mod split;
mod write;

pub use block::{RecordBlock, RecordBlockBuilder};
pub use bounds::{ColumnBounds, Nulls};
pub use compact::{bytes_of_views, compact, compact_column, is_worth_a_copy};
pub use connector::{
    BatchStream, BlockStream, ByteRecords, ByteStream, Connector, FileStatistics, Messages, Repairing,
    ScanRequest, Table, TableWriting, Verifying, Writing,
};
pub use corruption::{LostRegion, LostRegions, OnCorruption, OnTruncated};
pub use count::row_counts;
pub use counters::{Counter, CounterInfo, ScanCounters, Unit};
pub use error::{Error, Result};
pub use file::RecordFile;
pub use filter::RowFilter;
pub use inspection::{ChunkSummary, ColumnSummary, Inspection, Verification};
pub use limits::Limits;
pub use open_files::{OPEN_FILES, open_files};
pub use options::{OptionInfo, Options, nearest_names};
pub use projection::{ColumnProjection, Projection, Selection};
pub use read_ahead::ReadAhead;
pub use scan::{RestOfRows, RowGroup, RowGroups, ScanPlan, scan};
pub use short_reads::ShortReads;
pub use split::{RangeEnd, SearchBudget, Split};
pub use write::{Assembler, ChunkJob, Chunker, EncodedChunk, MessageType, Writer};
