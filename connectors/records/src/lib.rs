//! What formats of byte records share: one connector over a container.
//!
//! A format says how records are found in its files, and put into them, by a [`Container`]; [`RecordConnector`] makes a
//! connector of it: records become columns by the protobuf crate, or are one column of bytes or text. The way of a read:
//!
//! ```text
//!   Container::items ──► CoalescedItems ──► RecordGroups ──► core's scan: filter, limit, batches
//!    blocks of records    small blocks       BatchDecoder,
//!    or column chunks     become large       ColumnChunk
//! ```

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

mod chunker;
mod coalesce;
mod connector;
mod container;
mod description;
mod options;
mod scan;
mod state;
mod whole_records;
mod writer;

pub use chunker::OpenChunk;
pub use coalesce::{CoalescedItems, LARGE_BLOCK, ScanItem, first_blocks};
pub use connector::RecordConnector;
pub use container::{Container, ContainerWriter};
pub use description::{FileDescription, InheritedMetadata};
pub use options::ContainerOptions;
pub use scan::{ColumnChunk, ItemStream, NoColumnChunk, RecordColumns};
pub use whole_records::{METADATA_RECORD, RECORD};
