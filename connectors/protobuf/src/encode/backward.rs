//! A buffer that is filled from its end: the length of a message is known when its turn comes.

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

    /// Puts a varint before what was written.
    #[inline]
    pub(super) fn put_varint(&mut self, mut value: u64) {
        if value < 0x80 {
            return self.put(&[value as u8]);
        }
        let mut bytes = [0; 10];
        let mut len = 0;
        while value >= 0x80 {
            bytes[len] = value as u8 | 0x80;
            value >>= 7;
            len += 1;
        }
        bytes[len] = value as u8;
        self.put(&bytes[..=len]);
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
    use crate::wire::to_varint;

    #[test]
    fn what_is_put_last_comes_first() {
        let mut buffer = Backward::default();
        let mut expected: Vec<u8> = Vec::new();
        for value in (0..64).map(|shift| u64::MAX >> shift).cycle().take(3000) {
            buffer.put_varint(value);
            buffer.put(b"xy");
            expected.splice(0..0, [b"xy".as_slice(), &to_varint(value)].concat());
        }
        assert_eq!(buffer.written(), expected);
        buffer.clear();
        assert_eq!(buffer.len(), 0);
    }
}
