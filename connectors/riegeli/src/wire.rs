//! The fields of a serialized protobuf message, for the few messages that the format itself uses.

use crate::cursor::Cursor;

/// A field's value as far as its wire type tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// Wire type 0.
    Varint(u64),
    /// Wire type 2.
    Bytes(&'a [u8]),
    /// Any other wire type, without its value. Of a group, start and end are two fields.
    Other,
}

/// Iterates over the fields of one message: field number and value, or an error and then nothing more.
#[derive(Debug)]
pub(crate) struct Fields<'a>(Cursor<'a>);

/// The bytes are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

impl<'a> Fields<'a> {
    pub fn new(message: &'a [u8]) -> Self {
        Self(Cursor(message))
    }

    /// The bytes of the fields that are still to come.
    pub fn rest(&self) -> &'a [u8] {
        self.0.0
    }

    fn field(&mut self) -> Option<(u32, Value<'a>)> {
        let tag = self.0.varint32()?;
        let value = match tag & 7 {
            0 => Value::Varint(self.0.varint64()?),
            1 => self.0.take(8).map(|_| Value::Other)?,
            2 => {
                let len = self.0.varint32()?;
                Value::Bytes(self.0.take(u64::from(len))?)
            }
            3 | 4 => Value::Other,
            5 => self.0.take(4).map(|_| Value::Other)?,
            _ => return None,
        };
        (tag >> 3 > 0).then_some((tag >> 3, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field().ok_or(Malformed);
        if field.is_err() {
            self.0 = Cursor(&[]);
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_wire_type_are_found() {
        let message = [
            0x08, 0xac, 0x02, 0x12, 0x01, 0x61, 0x19, 1, 2, 3, 4, 5, 6, 7, 8, 0x23, 0x08, 0x01, 0x24, 0x2d,
            1, 2, 3, 4,
        ];
        let fields: Result<Vec<_>, _> = Fields::new(&message).collect();
        let expected = vec![
            (1, Value::Varint(300)),
            (2, Value::Bytes(b"a")),
            (3, Value::Other),
            (4, Value::Other),
            (1, Value::Varint(1)),
            (4, Value::Other),
            (5, Value::Other),
        ];
        assert_eq!(fields, Ok(expected));
    }

    #[test]
    fn what_is_no_message_ends_with_an_error() {
        for message in [&[0x08][..], &[0x12, 2, 0], &[0x09, 1], &[0x2d, 1], &[0x07], &[0x00, 0x00], &[0x80]] {
            let fields: Vec<_> = Fields::new(message).collect();
            assert_eq!(fields, [Err(Malformed)], "{message:02x?}");
        }
    }
}
