//! Riegeli/records and ArrayRecord files.
//!
//! The flow of a read, and the modules along it:
//!
//! 1. The file is a sequence of chunks that is cut into blocks: [`position`] has the arithmetic, [`header`]
//!    the headers of blocks and chunks, [`hash`](mod@hash) what guards them.
//! 2. The data of a chunk are compressed blocks ([`compression`]) in one of two layouts, [`simple`] and
//!    [`transposed`]; [`decoder`] takes both to a block of records, or the second one straight to columns. [`metadata`] and [`array_record`] read
//!    the messages that are about the file.
//!
//! [`write`](mod@write) goes the other way, from records to the bytes of a file.
//!
//! These are functions on bytes without input or output. Above them, `read` fetches chunks from an object
//! store, and [`RiegeliConnector`] is what the engine sees.

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

pub mod array_record;
pub mod compression;
mod container;
mod cursor;
pub mod decoder;
pub mod fault;
pub mod hash;
pub mod header;
mod inspect;
pub mod metadata;
mod options;
pub mod position;
mod read;
mod repair;
mod scan;
pub mod simple;
mod sink;
pub mod transposed;
mod wire;
#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "the numbers here are those of records in memory and of tables made of them; what reads bytes denies this"
)]
pub mod write;

pub use container::{Riegeli, RiegeliConnector};
pub use scan::CHUNKS_COLUMNAR;
