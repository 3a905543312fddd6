//! The transposed chunk: records cut into fields, and a state machine that puts them together (section 3).

pub(crate) mod columns;
mod header;
mod rebuild;
#[cfg(test)]
mod tests;

use recordfusion_core::RecordBlock;

use crate::compression::{Block, Codec, Decompressor};
use crate::cursor::Cursor;
use crate::fault::{ChunkFault, MAX_CHUNK_SIZE};
use crate::header::ChunkHeader;

pub(crate) use header::Header;
use rebuild::{BufferPart, MARGIN, Rebuild};

/// Largest decompressed state machine header, in bytes; real ones have up to some tens of thousands. Each byte may
/// become 24 in memory.
pub(crate) const MAX_HEADER_SIZE: u64 = 4 << 20;

/// Bytes that one step puts out besides those of a buffer: a tag and a length.
const MOST_BYTES_OF_STEP: u64 = 10;

/// Transitions that one byte stands for: that of its offset, and up to three to the base itself.
const MOST_TRANSITIONS_OF_BYTE: u64 = 4;

/// Detours from one node to the next that is none: through the lists of successors of one node, then of all, which are
/// trees of blocks of 64, and no more than three detours high in a table of [`MAX_HEADER_SIZE`]; and between the two.
const MOST_DETOURS: u64 = 7;

/// Decodes transposed chunks; keeps the memory of the buckets from chunk to chunk.
#[derive(Debug, Default)]
pub struct TransposedDecoder {
    /// Whether bytes were left over in the buffers of the last chunk. Readers ignore them (section 3.6).
    pub has_leftovers: bool,
    buckets: Vec<u8>,
}

impl TransposedDecoder {
    /// Decodes the data of a transposed chunk that begins at `begin`, or of a metadata chunk with
    /// `num_records` set to 1.
    ///
    /// The header has passed [`ChunkHeader::kind`], which bounds its sizes.
    ///
    /// # Errors
    /// The checks of section 10 for transposed chunks.
    pub fn decode(
        &mut self,
        header: &ChunkHeader,
        begin: u64,
        data: &[u8],
        decompressor: &mut Decompressor,
    ) -> Result<RecordBlock, ChunkFault> {
        let parts = Parts::read(header, data, decompressor)?;
        self.read_buckets(&parts, decompressor)?;
        let Parts { table, buffers, transitions, .. } = parts;
        let transitions = decompressor.decompress_scratch(transitions)?;
        check_output_size(header, &table, &buffers, transitions.len() as u64)?;

        let (num_records, size) = (header.num_records as usize, header.decoded_data_size as usize);
        let mut rebuild = Rebuild::new(&self.buckets, buffers, num_records, size);
        rebuild.walk(&table, transitions, step_budget(header, &table, transitions.len() as u64))?;
        self.has_leftovers = !rebuild.buffers_used_up();
        rebuild.finish(begin)
    }

    /// Decompresses all buckets behind [`MARGIN`] bytes.
    fn read_buckets(&mut self, parts: &Parts<'_>, decompressor: &mut Decompressor) -> Result<(), ChunkFault> {
        let total = parts.buckets.iter().map(Block::size).fold(0, u64::saturating_add);
        let end = MARGIN.saturating_add(total as usize);
        if self.buckets.len() < end {
            self.buckets.resize(end, 0);
        }
        let mut rest = self.buckets.get_mut(MARGIN..end).unwrap_or_default();
        for &bucket in &parts.buckets {
            let (out, behind) = rest.split_at_mut(bucket.size() as usize);
            decompressor.decompress_into(bucket, out)?;
            rest = behind;
        }
        Ok(())
    }
}

/// The parts of a transposed chunk's data (section 3.2), of which only the header is decompressed.
struct Parts<'a> {
    table: Header,
    buckets: Vec<Block<'a>>,
    /// Where each buffer lies when all buckets stand one after another behind [`MARGIN`] bytes.
    buffers: Vec<BufferPart>,
    transitions: Block<'a>,
}

impl<'a> Parts<'a> {
    fn read(
        header: &ChunkHeader,
        data: &'a [u8],
        decompressor: &mut Decompressor,
    ) -> Result<Self, ChunkFault> {
        let table = Header::read(data, decompressor)?;
        Self::with_table(header, data, table)
    }

    /// The parts of a chunk whose header is known.
    fn with_table(header: &ChunkHeader, data: &'a [u8], table: Header) -> Result<Self, ChunkFault> {
        let (codec, _, mut cursor) = split_header(data)?;
        // A bucket of no bytes stands in a header that is not compressed.
        let mut buckets = Vec::with_capacity(table.bucket_sizes.len().min(data.len()));
        let mut total = 0u64;
        // Values are part of the records; only the lengths of records that are no messages come on top.
        let limit = header.num_records.saturating_mul(10).saturating_add(header.decoded_data_size);
        for &size in &table.bucket_sizes {
            let bytes = cursor.take(size).ok_or(ChunkFault::Ends("the buckets"))?;
            let bucket =
                Block::parse(codec, bytes, "a bucket", limit.min(MAX_CHUNK_SIZE).saturating_sub(total))?;
            total = total.saturating_add(bucket.size());
            buckets.push(bucket);
        }
        let buffers = cut_buffers(&table, &buckets)?;
        let transitions = Block::parse(codec, cursor.0, "the transitions", most_transition_bytes(header))?;
        Ok(Self { table, buckets, buffers, transitions })
    }
}

/// The codec of a chunk, its state machine header, and what comes behind that.
fn split_header(data: &[u8]) -> Result<(Codec, &[u8], Cursor<'_>), ChunkFault> {
    let mut cursor = Cursor(data);
    let codec = Codec::from_byte(cursor.byte().ok_or(ChunkFault::Ends("the compression type"))?)?;
    let size = cursor.varint64().ok_or(ChunkFault::Ends("the length of the transposed header"))?;
    let table = cursor.take(size).ok_or(ChunkFault::Ends("the transposed header"))?;
    Ok((codec, table, cursor))
}

impl Header {
    /// Decompresses and parses the header of a chunk.
    ///
    /// # Errors
    /// The checks of section 10 for it.
    pub(crate) fn read(data: &[u8], decompressor: &mut Decompressor) -> Result<Self, ChunkFault> {
        let (codec, table, _) = split_header(data)?;
        let table = Block::parse(codec, table, "the transposed header", MAX_HEADER_SIZE)?;
        Self::parse(decompressor.decompress_scratch(table)?)
    }
}

/// Where each buffer lies when all buckets stand one after another behind [`MARGIN`] bytes.
fn cut_buffers(table: &Header, buckets: &[Block<'_>]) -> Result<Vec<BufferPart>, ChunkFault> {
    if table.has_non_proto && table.buffer_lengths.is_empty() {
        return Err(ChunkFault::Walk("has records that are no messages, but no buffer of their lengths"));
    }
    let mut sizes = buckets.iter().map(Block::size);
    let mut left = sizes.next().unwrap_or(0);
    let mut begin = MARGIN;
    let mut buffers = Vec::with_capacity(table.buffer_lengths.len());
    for &len in &table.buffer_lengths {
        left = left.checked_sub(len).filter(|_| !buckets.is_empty()).ok_or(ChunkFault::Buckets)?;
        let end = begin.saturating_add(len as usize);
        buffers.push(BufferPart { begin, end });
        begin = end;
        while left == 0
            && let Some(size) = sizes.next()
        {
            left = size;
        }
    }
    if left > 0 || sizes.next().is_some() { Err(ChunkFault::Buckets) } else { Ok(buffers) }
}

/// Most bytes of transitions: far more than writers need, which is about one a field.
fn most_transition_bytes(header: &ChunkHeader) -> u64 {
    const ALWAYS: u64 = 64 << 10;
    let fields = header.decoded_data_size.saturating_add(header.num_records);
    fields.saturating_mul(2).saturating_add(ALWAYS).min(MAX_CHUNK_SIZE)
}

/// Checks that the walk can make as many bytes as the chunk header claims, before they are allocated.
fn check_output_size(
    header: &ChunkHeader,
    table: &Header,
    buffers: &[BufferPart],
    transitions: u64,
) -> Result<(), ChunkFault> {
    let lens = buffers.iter().map(|buffer| buffer.len() as u64);
    let buffered = lens.fold(0, u64::saturating_add);
    let chains = transitions.saturating_mul(MOST_TRANSITIONS_OF_BYTE).saturating_add(1);
    let steps = chains.saturating_mul(table.nodes.len() as u64);
    let limit = steps.saturating_mul(MOST_BYTES_OF_STEP).saturating_add(buffered);
    let claimed = header.decoded_data_size;
    if claimed > limit {
        return Err(ChunkFault::TooLarge { what: "a decoded data size", claimed, limit });
    }
    Ok(())
}

/// The most steps of a walk, for its claimed output and for the bytes of transitions that are there.
///
/// Each step puts a byte, completes a record, or is a detour. (Of begin and end of a submessage one puts two bytes.) A
/// detour of a known writer is followed by a transition of its own, and few of them lead from one other node to the
/// next. A machine may have as many more as it has nodes.
fn step_budget(header: &ChunkHeader, table: &Header, transitions: u64) -> u64 {
    let output = header.decoded_data_size.saturating_add(header.num_records);
    let detours =
        transitions.saturating_mul(MOST_TRANSITIONS_OF_BYTE).min(output.saturating_mul(MOST_DETOURS));
    output.saturating_add(detours).saturating_add(table.nodes.len() as u64)
}
