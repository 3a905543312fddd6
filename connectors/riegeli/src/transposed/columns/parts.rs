//! Buffers that are read on the way, value by value.

use arrow::buffer::Buffer;
use recordfusion_protobuf::shredded::Unfit;

use super::buckets::Buckets;
use super::values::string_place;
use crate::compression::Decompressor;

/// A buffer, and how far it is read.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// `None` if it was not begun.
    bytes: Option<Buffer>,
    at: usize,
    /// Begin and end of each string.
    places: Vec<(u32, u32)>,
}

impl Part {
    /// The next `len` bytes.
    pub fn take(&mut self, len: usize) -> Result<&[u8], Unfit> {
        let end = self.at.checked_add(len).ok_or(Unfit)?;
        let bytes = self.bytes.as_deref().and_then(|bytes| bytes.get(self.at..end)).ok_or(Unfit)?;
        self.at = end;
        Ok(bytes)
    }

    /// The next string, with its length.
    #[inline]
    pub fn take_string(&mut self) -> Result<&[u8], Unfit> {
        let (begin, bytes) = (self.at, self.bytes.as_deref().ok_or(Unfit)?);
        let (_, end) = string_place(bytes, begin)?;
        self.at = end;
        bytes.get(begin..end).ok_or(Unfit)
    }
}

/// The parts of a chunk's buffers; keeps its memory from chunk to chunk.
#[derive(Debug, Default)]
pub(super) struct Parts(Vec<Part>);

impl Parts {
    /// Forgets all parts, and is ready for a number of buffers.
    pub fn reset(&mut self, buffers: usize) {
        self.close();
        self.0.resize_with(buffers, Part::default);
    }

    /// Lets go of the buffers.
    pub fn close(&mut self) {
        for part in self.0.iter_mut().filter(|part| part.bytes.is_some()) {
            (part.bytes, part.at) = (None, 0);
            part.places.clear();
        }
    }

    /// The unread part of a buffer.
    pub fn part(
        &mut self,
        buffer: u32,
        buckets: &mut Buckets<'_>,
        decompressor: &mut Decompressor,
    ) -> Result<&mut Part, Unfit> {
        let part = self.0.get_mut(buffer as usize).ok_or(Unfit)?;
        if part.bytes.is_none() {
            part.bytes = Some(buckets.buffer(buffer, decompressor)?);
        }
        Ok(part)
    }

    /// Notes the place of the next string of a buffer that is open, and gives the bytes that it takes with its length.
    #[expect(clippy::arithmetic_side_effects, reason = "a string does not end before its length")]
    #[inline(always)]
    pub fn take_string(&mut self, buffer: u16) -> Result<usize, Unfit> {
        let part = self.0.get_mut(usize::from(buffer)).ok_or(Unfit)?;
        let (before, bytes) = (part.at, part.bytes.as_deref().ok_or(Unfit)?);
        let (begin, end) = string_place(bytes, before)?;
        part.places.push((begin as u32, end as u32));
        part.at = end;
        Ok(end - before)
    }

    /// The places of the strings of a buffer, if they were noted.
    pub fn places(&self, buffer: u32) -> Option<&[(u32, u32)]> {
        let part = self.0.get(buffer as usize)?;
        Some(part.places.as_slice()).filter(|places| !places.is_empty())
    }

    /// Whether all that were begun are read to their end.
    pub fn are_read(&self) -> bool {
        self.0.iter().all(|part| part.bytes.as_deref().is_none_or(|bytes| bytes.len() == part.at))
    }
}
