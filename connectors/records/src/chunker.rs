//! Rows to the chunks of a format of byte records.

use arrow::array::RecordBatch;
use recordfusion_core::{ChunkJob, Chunker, Result};
use recordfusion_protobuf::{EncodedRecords, RecordEncoder};

/// The open chunk of a file, and what becomes of it when it is full.
pub trait OpenChunk: Send {
    /// Whether a record of `len` bytes goes into this chunk, and not into the next one.
    fn has_room(&self, len: usize) -> bool;

    /// Adds a record.
    ///
    /// # Errors
    /// Those of the format.
    fn push(&mut self, record: &[u8]) -> Result<()>;

    /// Whether the chunk has no record.
    fn is_empty(&self) -> bool;

    /// Closes the chunk; the next one is open then.
    fn close(&mut self) -> ChunkJob;
}

/// Serializes rows, and gathers them to chunks.
pub(crate) struct RecordChunker {
    encoder: RecordEncoder,
    /// Those of one batch.
    records: EncodedRecords,
    chunk: Box<dyn OpenChunk>,
}

impl RecordChunker {
    /// Serializes rows with `encoder`; `chunk` is the first one.
    pub(crate) fn new(encoder: RecordEncoder, chunk: Box<dyn OpenChunk>) -> Self {
        Self { encoder, records: EncodedRecords::default(), chunk }
    }
}

impl Chunker for RecordChunker {
    fn push(&mut self, batch: &RecordBatch) -> Result<Vec<ChunkJob>> {
        self.records.clear();
        self.encoder.encode(batch, &mut self.records)?;
        push_records(self.records.iter(), self.chunk.as_mut())
    }

    fn finish(&mut self) -> Result<Vec<ChunkJob>> {
        Ok(if self.chunk.is_empty() { Vec::new() } else { vec![self.chunk.close()] })
    }

    fn losses(&self) -> Vec<(&'static str, u64)> {
        let counts = self.encoder.counts();
        vec![
            ("null_lists_emptied", counts.null_lists),
            ("null_items_dropped", counts.null_items),
            ("null_values_defaulted", counts.null_values),
        ]
    }
}

/// Adds records to the open chunk, and gives the chunks that are now complete.
///
/// # Errors
/// Those of [`OpenChunk::push`].
pub(crate) fn push_records<'a>(
    records: impl Iterator<Item = &'a [u8]>,
    chunk: &mut dyn OpenChunk,
) -> Result<Vec<ChunkJob>> {
    let mut jobs = Vec::new();
    for record in records {
        if !chunk.has_room(record.len()) {
            jobs.push(chunk.close());
        }
        chunk.push(record)?;
    }
    Ok(jobs)
}
