//! Encodings of numbers.

use super::Op;
use crate::descriptor::Kind;
use crate::wire::wire_type;

/// How a number is encoded on the wire, and the kind of buffer that takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Varint to 32 bits.
    Varint32,
    /// Zigzag varint to 32 bits.
    Zigzag32,
    /// Four bytes.
    Fixed32,
    /// Varint to 64 bits.
    Varint64,
    /// Zigzag varint to 64 bits.
    Zigzag64,
    /// Eight bytes.
    Fixed64,
    /// Varint to one bit.
    Bool,
    /// Varint to 32 bits, unless the slot's closed enum has no such number.
    ClosedEnum,
}

impl From<Encoding> for Op {
    fn from(encoding: Encoding) -> Self {
        match encoding {
            Encoding::Varint32 => Self::Varint32,
            Encoding::Zigzag32 => Self::Zigzag32,
            Encoding::Fixed32 => Self::Fixed32,
            Encoding::Varint64 => Self::Varint64,
            Encoding::Zigzag64 => Self::Zigzag64,
            Encoding::Fixed64 => Self::Fixed64,
            Encoding::Bool => Self::Bool,
            Encoding::ClosedEnum => Self::ClosedEnum,
        }
    }
}

/// The encoding of a number's kind; of no meaning for others.
pub(super) fn encoding(kind: Kind) -> Encoding {
    match kind {
        Kind::Sint32 => Encoding::Zigzag32,
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => Encoding::Fixed32,
        Kind::Int64 | Kind::Uint64 => Encoding::Varint64,
        Kind::Sint64 => Encoding::Zigzag64,
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => Encoding::Fixed64,
        Kind::Bool => Encoding::Bool,
        _ => Encoding::Varint32,
    }
}

/// The wire type of a single number.
pub(super) fn number_type(encoding: Encoding) -> u32 {
    match encoding {
        Encoding::Fixed32 => wire_type::FIXED32,
        Encoding::Fixed64 => wire_type::FIXED64,
        _ => wire_type::VARINT,
    }
}
