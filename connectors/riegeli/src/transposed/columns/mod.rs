//! From a transposed chunk to columns without putting its records together (section 5).
//!
//! The walk through the state machine is the one that rebuilds records, but what it meets goes to the
//! [`Occurrences`] of a scan. What a node is to the scan is resolved when it is first met ([`nodes`]), with the
//! path of fields that leads to it; all nodes that a byte of the transitions passes are then one word and, if
//! something in them is wanted, a few ops ([`hop`], [`program`], [`hops`]). Only afterwards the values of the wanted
//! leaves are read from their buffers, each leaf at once ([`leaves`], [`values`]), so that only the buckets with
//! wanted values are decompressed ([`buckets`]). Strings point into these.
//!
//! What a writer takes for a message because it looks like one may be a string: its bytes are put together on
//! the way ([`capture`]).
//!
//! Whatever is not as known writers write it is [`Unfit`]: records that are no messages, messages stored
//! as strings, nodes that belong to more than one path, buffers shared by paths, more than 100 levels, long
//! messages that are merged, damage of any kind. The chunk is then rebuilt, and that decides. So no fault of a chunk
//! is reported from here.
//!
//! # What is checked
//!
//! A scan of all fields looks at every byte that rebuilding looks at: each bucket is decompressed, each buffer read
//! to its end, and the bytes of the records are added up and compared with the chunk header: leaf by leaf, and only
//! those of what is not wanted on the way ([`measure`], [`size`]). So rows come from here only if they come from the
//! records, too.
//!
//! A scan of some fields checks as much of what it looks at: header, transitions, the number of steps and of records,
//! and that each buffer of a wanted field is read exactly to its end. It does not look at the buckets and buffers
//! that nobody wants, nor at `decoded_data_size`, of which it does not see all bytes. A chunk whose hash is right and
//! that is damaged there all the same gives rows to such a scan, and an error to others.

mod bounds;
mod buckets;
mod capture;
mod hop;
mod hops;
mod leaves;
mod measure;
mod nodes;
mod parts;
mod paths;
mod program;
mod size;
mod step;
#[cfg(test)]
mod tests;
mod values;
mod walk;

pub(crate) use bounds::column_bounds;

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use bytes::Bytes;
use recordfusion_core::ScanCounters;
use recordfusion_protobuf::BatchDecoder;
use recordfusion_protobuf::shredded::{Layout, MAX_ROWS, Note, Occurrences, Unfit};

use super::{Header, Parts as ChunkParts, check_output_size, step_budget};
use crate::compression::Decompressor;
use crate::fault::ChunkFault;
use crate::header::ChunkHeader;
use buckets::Buckets;
use hops::Hops;
use leaves::Values;
use nodes::Nodes;
use parts::Parts;
use size::Size;
use walk::{NOTES, Transitions, Walk};

/// Takes the columns of a scan from transposed chunks; keeps its memory from chunk to chunk.
#[derive(Debug)]
pub(crate) struct ColumnReader {
    layout: Arc<Layout>,
    occurrences: Occurrences,
    hops: Hops,
    parts: Parts,
    transitions: Vec<u8>,
    places: Vec<(u32, u32)>,
    notes: Vec<Note>,
    /// Chunks in a row that had to be rebuilt.
    unfit: u32,
}

/// Header, begin and data of a chunk, and its state machine header if that is known.
pub(crate) type Chunk<'a> = (&'a ChunkHeader, u64, &'a Bytes, Option<Header>);

/// Chunks in a row that had to be rebuilt, after which no other is tried.
const MOST_UNFIT: u32 = 8;

impl From<ChunkFault> for Unfit {
    fn from(_: ChunkFault) -> Self {
        Self
    }
}

impl ColumnReader {
    /// A reader for what `decoder` wants; `None` if that takes whole records.
    pub fn new(decoder: &BatchDecoder) -> Option<Self> {
        let layout = decoder.layout()?;
        Some(Self {
            layout,
            occurrences: Occurrences::default(),
            hops: Hops::default(),
            parts: Parts::default(),
            transitions: Vec::new(),
            places: Vec::new(),
            notes: vec![Note::default(); NOTES],
            unfit: 0,
        })
    }

    /// All records of the chunk that begins at `begin` as a batch.
    ///
    /// The header has passed [`ChunkHeader::kind`], which bounds its sizes.
    ///
    /// # Errors
    /// [`Unfit`] if the chunk has to be rebuilt.
    pub fn read(
        &mut self,
        chunk: Chunk<'_>,
        decoder: &mut BatchDecoder,
        file: &str,
        decompressor: &mut Decompressor,
        counters: &ScanCounters,
    ) -> Result<RecordBatch, Unfit> {
        if self.unfit == MOST_UNFIT {
            return Err(Unfit);
        }
        let batch = self.attempt(chunk, decoder, file, decompressor, counters);
        self.unfit = if batch.is_ok() { 0 } else { self.unfit.saturating_add(1) };
        batch
    }

    fn attempt(
        &mut self,
        (header, begin, data, table): Chunk<'_>,
        decoder: &mut BatchDecoder,
        file: &str,
        decompressor: &mut Decompressor,
        counters: &ScanCounters,
    ) -> Result<RecordBatch, Unfit> {
        if header.num_records >= MAX_ROWS as u64 {
            return Err(Unfit);
        }
        let chunk = match table {
            Some(table) => ChunkParts::with_table(header, data, table)?,
            None => ChunkParts::read(header, data, decompressor)?,
        };
        if chunk.table.has_non_proto || chunk.table.nodes.len() > Nodes::MOST {
            return Err(Unfit);
        }
        if chunk.transitions.size() > most_transitions(header) {
            return Err(Unfit);
        }
        let transitions = decompressor.decompress_to(chunk.transitions, &mut self.transitions)?;
        let len = transitions.len() as u64;
        check_output_size(header, &chunk.table, &chunk.buffers, len)?;
        self.occurrences.reset(&self.layout);
        self.hops.reset(chunk.table.nodes.len(), self.layout.is_complete());
        self.parts.reset(chunk.buffers.len());
        let mut walk = Walk {
            nodes: Nodes::new(&chunk, &self.layout),
            transitions: Transitions::new(transitions),
            occurrences: &mut self.occurrences,
            buckets: Buckets::new(&chunk, data),
            decompressor: &mut *decompressor,
            captured: Vec::new(),
            most_captured: header.decoded_data_size as usize,
            parts: &mut self.parts,
            size: Size::default(),
            notes: &mut self.notes,
            budget: step_budget(header, &chunk.table, len),
            most_ops: most_ops(header),
        };
        let records = walk.run(&mut self.hops)?;
        let Walk { nodes, mut buckets, captured, size, .. } = walk;
        if u64::from(records) != header.num_records || !self.parts.are_read() {
            return Err(Unfit);
        }
        if self.layout.is_complete() {
            buckets.check_all(decompressor)?;
        }
        self.occurrences.finish(records)?;
        let captured = Buffer::from_vec(captured);
        let (parts, places) = (&self.parts, &mut self.places);
        let longest = vec![0; self.layout.leaves()];
        let mut values = Values { nodes, buckets, decompressor, captured, parts, places, longest };
        let occurrences = &self.occurrences;
        let batch = decoder.assemble(&self.layout, occurrences, file, begin, counters, |assembly| {
            values.check_messages()?;
            occurrences.met().try_for_each(|(leaf, forms)| values.put(leaf, forms, assembly))?;
            match self.layout.is_complete() {
                true => values.check_size(occurrences, size, header.decoded_data_size),
                false => Ok(()),
            }
        });
        self.parts.close();
        batch
    }
}

/// The most bytes of transitions: far more than writers need, which is less than one a field.
fn most_transitions(header: &ChunkHeader) -> u64 {
    const MOST: u64 = 1 << 28;
    let fields = header.decoded_data_size.saturating_add(header.num_records);
    fields.saturating_mul(4).saturating_add(1024).min(MOST)
}

/// The most ops of a walk: each field has two bytes at least, and makes four of them at most.
fn most_ops(header: &ChunkHeader) -> usize {
    usize::try_from(header.decoded_data_size.saturating_mul(2)).unwrap_or(usize::MAX)
}
