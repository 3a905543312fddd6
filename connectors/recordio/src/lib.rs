//! RecordIO files of the PaddlePaddle family: chunks that begin with the bytes `04 03 02 01`.
//!
//! The flow of a read, and the modules along it:
//!
//! 1. A file is chunks, back to back: [`header`] has the chunk header in its three layouts, [`checksum`] what guards
//!    the payload.
//! 2. [`payload`] takes a payload to a block of records; [`framing`] has the two framings of Snappy.
//!
//! [`write`](mod@write) goes the other way, from records to chunks.
//!
//! These are functions on bytes without input or output. Above them, `read` fetches chunks from an object store,
//! strictly or passing over damage, and [`RecordioConnector`] is what the engine sees.

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

pub mod checksum;
mod container;
pub mod fault;
pub mod framing;
pub mod header;
mod inspect;
mod options;
pub mod payload;
mod read;
mod repair;
mod scan;
mod sink;
pub mod write;

pub use container::{Recordio, RecordioConnector};
pub use options::ReadOptions;
