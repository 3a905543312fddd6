//! From a transposed chunk to columns without putting its records together (section 5).
//!
//! The walk through the state machine is the one that rebuilds records, but what it meets goes to the
//! [`Occurrences`] of a scan. What a node is to the scan is resolved when it is first met ([`nodes`]), with the
//! path of fields that leads to it; runs of nodes that the scan does not care for are passed at one step. Only
//! afterwards the values of the wanted leaves are read from their buffers, each leaf at once ([`values`]), so
//! that only the buckets with wanted values are decompressed ([`buckets`]). Strings point into these.
//!
//! What a writer takes for a message because it looks like one may be a string: its bytes are put together on
//! the way ([`capture`]).
//!
//! Whatever is not as known writers write it is [`Unfit`]: records that are no messages, messages stored
//! as strings, nodes that belong to more than one path, buffers shared by paths, more than 100 levels, damage of
//! any kind. The chunk is then rebuilt, and that decides. So no fault of a chunk is reported from here.

mod buckets;
mod capture;
mod nodes;
mod paths;
mod step;
#[cfg(test)]
mod tests;
mod values;
mod walk;

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use bytes::Bytes;
use recordfusion_core::ScanCounters;
use recordfusion_protobuf::BatchDecoder;
use recordfusion_protobuf::shredded::{
    Assembly, ByteValues, Layout, Leaf, MAX_ROWS, Occurrences, STORED, Unfit,
};

use super::{Parts, step_budget};
use crate::compression::Decompressor;
use crate::fault::ChunkFault;
use crate::header::ChunkHeader;
use buckets::Buckets;
use nodes::Nodes;
use paths::{LeafSource, NumberKind};
use values::{Fixed, Varints, string_places};
use walk::{Walk, expand_transitions};

/// Takes the columns of a scan from transposed chunks; keeps its memory from chunk to chunk.
#[derive(Debug)]
pub(crate) struct ColumnReader {
    layout: Arc<Layout>,
    occurrences: Occurrences,
    transitions: Vec<u8>,
    places: Vec<(u32, u32)>,
    /// Chunks in a row that had to be rebuilt.
    unfit: u32,
}

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
        let (occurrences, transitions, places) = Default::default();
        Some(Self { layout, occurrences, transitions, places, unfit: 0 })
    }

    /// All records of the chunk that begins at `begin` as a batch.
    ///
    /// The header has passed [`ChunkHeader::kind`], which bounds its sizes.
    ///
    /// # Errors
    /// [`Unfit`] if the chunk has to be rebuilt.
    pub fn read(
        &mut self,
        chunk: (&ChunkHeader, u64, &Bytes),
        decoder: &mut BatchDecoder,
        file: &str,
        decompressor: &mut Decompressor,
        counters: &ScanCounters,
    ) -> Result<RecordBatch, Unfit> {
        if self.unfit == MOST_UNFIT {
            return Err(Unfit);
        }
        let batch = self.attempt(chunk, decoder, file, decompressor, counters);
        self.unfit = if batch.is_ok() { 0 } else { self.unfit + 1 };
        batch
    }

    fn attempt(
        &mut self,
        (header, begin, data): (&ChunkHeader, u64, &Bytes),
        decoder: &mut BatchDecoder,
        file: &str,
        decompressor: &mut Decompressor,
        counters: &ScanCounters,
    ) -> Result<RecordBatch, Unfit> {
        if header.num_records >= MAX_ROWS as u64 {
            return Err(Unfit);
        }
        let parts = Parts::read(header, data, decompressor)?;
        if parts.table.has_non_proto || parts.table.nodes.len() > Nodes::MOST {
            return Err(Unfit);
        }
        let stored = decompressor.decompress_scratch(parts.transitions)?;
        let budget = step_budget(header, &parts.table, stored.len() as u64);
        expand_transitions(stored, most_transitions(header), &mut self.transitions)?;
        self.occurrences.reset(&self.layout);
        let mut walk = Walk {
            nodes: Nodes::new(&parts, &self.layout),
            parts: vec![None; parts.buffers.len()],
            budget,
            transitions: &self.transitions,
            occurrences: &mut self.occurrences,
            buckets: Buckets::new(&parts, data),
            decompressor: &mut *decompressor,
            captured: Vec::new(),
            most_captured: header.decoded_data_size as usize,
        };
        let records = walk.run()?;
        let Walk { nodes, buckets, captured, .. } = walk;
        if u64::from(records) != header.num_records {
            return Err(Unfit);
        }
        self.occurrences.finish(records)?;
        let captured = Buffer::from_vec(captured);
        let mut values = Values { nodes, buckets, decompressor, captured, places: &mut self.places };
        let occurrences = &self.occurrences;
        decoder.assemble(&self.layout, occurrences, file, begin, counters, |assembly| {
            values.check_messages()?;
            occurrences.met().try_for_each(|(leaf, forms)| values.put(leaf, forms, assembly))
        })
    }
}

/// The most transitions that a walk may take: far more than writers need, which is about one a field.
fn most_transitions(header: &ChunkHeader) -> u64 {
    const MOST: u64 = 1 << 28;
    let fields = header.decoded_data_size.saturating_add(header.num_records);
    fields.saturating_mul(4).saturating_add(1024).min(MOST)
}

/// The values of a chunk after its walk.
struct Values<'a> {
    nodes: Nodes<'a>,
    buckets: Buckets<'a>,
    decompressor: &'a mut Decompressor,
    captured: Buffer,
    places: &'a mut Vec<(u32, u32)>,
}

impl Values<'_> {
    /// Checks that messages that are stored as strings are empty.
    fn check_messages(&mut self) -> Result<(), Unfit> {
        for (buffer, count) in self.nodes.paths.stored_messages() {
            let bytes = self.buckets.buffer(buffer, self.decompressor)?;
            if bytes.get(..count).is_none_or(|lengths| lengths.iter().any(|len| *len != 0)) {
                return Err(Unfit);
            }
        }
        Ok(())
    }

    fn put(
        &mut self,
        leaf: Leaf,
        mut forms: impl ExactSizeIterator<Item = u8>,
        assembly: &mut Assembly<'_>,
    ) -> Result<(), Unfit> {
        let LeafSource { numbers, strings, captured } = self.nodes.paths.leaf(leaf).ok_or(Unfit)?;
        let stored = match (numbers, strings) {
            (_, None) => 0,
            (None, Some(_)) => forms.len() - captured.len(),
            _ => forms.by_ref().filter(|form| *form == STORED).count(),
        };
        let mut bytes = ByteValues { captured, captured_buffer: self.captured.clone(), ..Default::default() };
        if let Some(buffer) = strings {
            bytes.buffer = self.buckets.buffer(*buffer, self.decompressor)?;
            string_places(&bytes.buffer, stored, self.places)?;
            bytes.stored = self.places;
        }
        let Some((kind, buffer)) = numbers else {
            return assembly.bytes(leaf, bytes);
        };
        let buffer = match buffer {
            Some(buffer) => self.buckets.buffer(*buffer, self.decompressor)?,
            None => Buffer::default(),
        };
        match kind {
            NumberKind::Varint => assembly.numbers(leaf, &mut Varints::new(&buffer), &bytes),
            NumberKind::Fixed32 => assembly.numbers(leaf, &mut Fixed::<4>::new(&buffer), &bytes),
            NumberKind::Fixed64 => assembly.numbers(leaf, &mut Fixed::<8>::new(&buffer), &bytes),
        }
    }
}
