//! A buffer that is filled from its end: the length of a message is known when its turn comes.

use super::pieces::{Piece, varint};
use super::plan::Tag;

/// Bytes written last to first.
#[derive(Debug, Default)]
pub(super) struct Backward {
    bytes: Vec<u8>,
    head: usize,
}

impl Backward {
    /// The least number of bytes of the buffer.
    const LEAST: usize = 1 << 12;

    /// Number of bytes written.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.head
    }

    /// What was written.
    pub(super) fn written(&self) -> &[u8] {
        self.bytes.get(self.head..).unwrap_or_default()
    }

    /// Forgets everything written, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.head = self.bytes.len();
    }

    /// Puts `bytes` before what was written.
    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) {
        if bytes.len() > self.head {
            self.grow(bytes.len());
        }
        let end = self.head;
        self.head -= bytes.len();
        self.bytes[self.head..end].copy_from_slice(bytes);
    }

    /// Puts a piece before what was written.
    ///
    /// All of its bytes are stored, which takes no branch on their number; what comes next goes over the rest.
    #[inline]
    pub(super) fn put_piece(&mut self, piece: Piece) {
        let bytes = piece.bytes();
        if self.head < bytes.len() {
            self.grow(bytes.len());
        }
        if let Some(target) = self.bytes.get_mut(..self.head).and_then(<[u8]>::last_chunk_mut) {
            *target = bytes;
        }
        self.head -= piece.len();
    }

    /// Puts a tag before what was written.
    #[inline]
    pub(super) fn put_tag(&mut self, tag: Tag) {
        self.put_piece(Piece::new(tag, 0, 0));
    }

    /// Puts a tag and a varint before what was written.
    #[inline]
    pub(super) fn put_varint(&mut self, tag: Tag, value: u64) {
        let (word, len) = varint(value);
        self.put_piece(Piece::new(tag, word, len));
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let written = self.len();
        let size = (2 * self.bytes.len()).max(written + more).max(Self::LEAST);
        let mut bytes = vec![0; size];
        bytes[size - written..].copy_from_slice(self.written());
        self.head = size - written;
        self.bytes = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::numbers::Words;
    use crate::encode::pieces::of_numbers;
    use crate::wire::to_varint;

    #[test]
    fn what_is_put_last_comes_first() {
        let mut buffer = Backward::default();
        let mut expected: Vec<u8> = Vec::new();
        let tag = Tag::new(1 << 20, 2);
        let tag_bytes = to_varint(8 << 20 | 2);
        for value in (0..64).map(|shift| u64::MAX >> shift).cycle().take(3000) {
            let piece = of_numbers(&Words::Varint(vec![value].into()), tag, true)[0];
            buffer.put_varint(tag, value);
            buffer.put(b"xy");
            buffer.put_tag(tag);
            buffer.put_piece(piece);
            buffer.put_piece(Piece::EMPTY);
            let value = to_varint(value);
            let parts = [&tag_bytes[..], &value, &tag_bytes, b"xy", &tag_bytes, &value];
            expected.splice(0..0, parts.concat());
        }
        assert_eq!(buffer.written(), expected);
        buffer.clear();
        assert_eq!(buffer.len(), 0);
    }
}
