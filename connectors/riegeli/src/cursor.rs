//! Reading numbers and slices from the front of a slice. Everything is `None` where the bytes do not suffice.

/// The rest of a slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    /// Number of bytes left.
    pub fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Whether no byte is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(len).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    /// A varint of at most 64 bits; longer spellings than needed are accepted.
    #[inline]
    pub fn varint64(&mut self) -> Option<u64> {
        match *self.0 {
            [a, ref rest @ ..] if a < 0x80 => {
                self.0 = rest;
                Some(u64::from(a))
            }
            [a, b, ref rest @ ..] if b < 0x80 => {
                self.0 = rest;
                Some(u64::from(a & 0x7f) | u64::from(b) << 7)
            }
            _ => self.long_varint(),
        }
    }

    /// A varint of at most 32 bits.
    pub fn varint32(&mut self) -> Option<u32> {
        let before = self.0;
        let value = u32::try_from(self.varint64()?).ok()?;
        (before.len().saturating_sub(self.0.len()) <= 5).then_some(value)
    }

    fn long_varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                return None;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_end_where_their_bytes_say() {
        let ten = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        let too_much = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        let cases: [(&[u8], Option<u64>, Option<u32>); 10] = [
            (&[], None, None),
            (&[0x05], Some(5), Some(5)),
            (&[0x81, 0x00], Some(1), Some(1)),
            (&[0xac, 0x02], Some(300), Some(300)),
            (&[0xac, 0x82], None, None),
            (&[0xff, 0xff, 0xff, 0xff, 0x0f], Some(0xffff_ffff), Some(0xffff_ffff)),
            (&[0xff, 0xff, 0xff, 0xff, 0x1f], Some(0x1_ffff_ffff), None),
            (&[0x80, 0x80, 0x80, 0x80, 0x80, 0x00], Some(0), None),
            (&ten, Some(u64::MAX), None),
            (&too_much, None, None),
        ];
        for (bytes, value64, value32) in cases {
            let mut cursor = Cursor(bytes);
            assert_eq!(cursor.varint64(), value64, "{bytes:02x?}");
            assert!(value64.is_none() || cursor.is_empty(), "{bytes:02x?}");
            assert_eq!(Cursor(bytes).varint32(), value32, "{bytes:02x?}");
        }
    }
}
