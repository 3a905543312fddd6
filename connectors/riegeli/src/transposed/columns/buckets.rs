//! Buckets that are decompressed when something in them is wanted (section 4.3).

use arrow::buffer::Buffer;
use bytes::Bytes;

use super::super::Parts;
use super::super::rebuild::{BufferPart, MARGIN};
use crate::compression::{Block, Decompressor};
use crate::fault::ChunkFault;

/// The buckets of a chunk, and the buffers in them.
pub(super) struct Buckets<'a> {
    data: &'a Bytes,
    blocks: Vec<Block<'a>>,
    /// Where each bucket begins when all stand one after another.
    begins: Vec<usize>,
    contents: Vec<Option<Buffer>>,
    buffers: Vec<BufferPart>,
}

impl<'a> Buckets<'a> {
    /// The buckets of `parts`, which lie in `data`.
    pub fn new(parts: &Parts<'a>, data: &'a Bytes) -> Self {
        let begins = parts.buckets.iter().scan(0usize, |end, block| {
            let begin = *end;
            *end = end.saturating_add(block.size() as usize);
            Some(begin)
        });
        Self {
            data,
            blocks: parts.buckets.clone(),
            begins: begins.collect(),
            contents: vec![None; parts.buckets.len()],
            buffers: parts.buffers.clone(),
        }
    }

    /// The bytes of a buffer; decompresses its bucket the first time.
    pub fn buffer(&mut self, buffer: u32, decompressor: &mut Decompressor) -> Result<Buffer, ChunkFault> {
        let part = self.buffers.get(buffer as usize).ok_or(ChunkFault::Buckets)?;
        let (begin, len) = (part.begin.saturating_sub(MARGIN), part.len());
        if len == 0 {
            return Ok(Buffer::default());
        }
        // Of several that begin there, all but the last are empty.
        let bucket = self.begins.partition_point(|&first| first <= begin).saturating_sub(1);
        let place = (self.contents.get_mut(bucket), self.blocks.get(bucket), self.begins.get(bucket));
        let (Some(contents), Some(&block), Some(&first)) = place else { return Err(ChunkFault::Buckets) };
        let contents = match contents {
            Some(contents) => contents,
            none => none.insert(decompressor.decompress_buffer(block, self.data)?),
        };
        Ok(contents.slice_with_length(begin.saturating_sub(first), len))
    }

    /// The bytes of a buffer, of which 0 are there if it does not exist.
    pub fn len(&self, buffer: u32) -> usize {
        self.buffers.get(buffer as usize).map_or(0, BufferPart::len)
    }

    /// Decompresses the buckets that nothing was wanted of.
    pub fn check_all(&mut self, decompressor: &mut Decompressor) -> Result<(), ChunkFault> {
        let contents = self.contents.iter_mut().zip(&self.blocks);
        for (contents, &block) in contents.filter(|(contents, _)| contents.is_none()) {
            *contents = Some(decompressor.decompress_buffer(block, self.data)?);
        }
        Ok(())
    }
}
