//! Counts the elements of serialized descriptors before they are decoded.
//!
//! An element of two bytes becomes a struct of hundreds of bytes, so the length of the input alone does
//! not bound the memory that decoding takes.

use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

use super::DescriptorError;

/// The most messages, fields, enums, enum values, names and options of one set of descriptors.
pub(crate) const MAX_ELEMENTS: usize = 1_000_000;

/// Message types nested deeper are refused by the decoder anyway.
const MAX_DEPTH: usize = 100;

/// Counts down from [`MAX_ELEMENTS`].
pub(crate) struct Budget {
    left: usize,
}

/// The messages of descriptor.proto that hold other ones in numbers.
#[derive(Clone, Copy)]
enum Element {
    Set,
    File,
    Message,
    Enum,
    Leaf,
}

impl Default for Budget {
    fn default() -> Self {
        Self { left: MAX_ELEMENTS }
    }
}

impl Budget {
    /// Counts a serialized `FileDescriptorProto`.
    ///
    /// # Errors
    /// [`DescriptorError::TooLarge`]; [`DescriptorError::Bytes`] if the bytes are no message.
    pub fn file(&mut self, bytes: &[u8]) -> Result<(), DescriptorError> {
        self.count(Element::File, bytes, 0)
    }

    /// Counts a serialized `FileDescriptorSet`.
    ///
    /// # Errors
    /// As [`Self::file`].
    pub fn set(&mut self, bytes: &[u8]) -> Result<(), DescriptorError> {
        self.count(Element::Set, bytes, 0)
    }

    fn count(&mut self, element: Element, mut bytes: &[u8], depth: usize) -> Result<(), DescriptorError> {
        let bad = |error: prost::DecodeError| DescriptorError::bytes(&error);
        if depth > MAX_DEPTH {
            return Err(DescriptorError::Bytes("message types are nested too deep".to_string()));
        }
        while !bytes.is_empty() {
            let (number, wire_type) = decode_key(&mut bytes).map_err(bad)?;
            if wire_type != WireType::LengthDelimited {
                skip_field(wire_type, number, &mut bytes, DecodeContext::default()).map_err(bad)?;
                continue;
            }
            self.left = self.left.checked_sub(1).ok_or(DescriptorError::TooLarge { limit: MAX_ELEMENTS })?;
            let len = decode_varint(&mut bytes).map_err(bad)?;
            let split = usize::try_from(len).ok().and_then(|len| bytes.split_at_checked(len));
            let Some((inside, rest)) = split else {
                return Err(DescriptorError::Bytes("they end too early".to_string()));
            };
            bytes = rest;
            if let Some(child) = element.child(number) {
                self.count(child, inside, depth.saturating_add(1))?;
            }
        }
        Ok(())
    }
}

impl Element {
    fn child(self, number: u32) -> Option<Self> {
        match (self, number) {
            (Self::Set, 1) => Some(Self::File),
            (Self::File, 4) | (Self::Message, 3) => Some(Self::Message),
            (Self::File, 5) | (Self::Message, 4) => Some(Self::Enum),
            (Self::File, 7) | (Self::Message, 2 | 5 | 6 | 8 | 9) | (Self::Enum, 2 | 4) => Some(Self::Leaf),
            _ => None,
        }
    }
}
