//! The canonical ProtoJSON of any message: wire bytes to a tree of fields (`read`), the tree to text (`print`).
//!
//! What a message means is protobuf's: the last value of a field wins, messages merge, the last member of a
//! oneof clears the others. The text is what protobuf's own printers write by default.

mod forms;
mod print;
mod read;
#[cfg(test)]
mod tests;
mod types;

use crate::descriptor::{Descriptors, MessageId};
use crate::fault::Result;
use crate::options::Mapping;
use print::Printer;
use types::Types;

/// Makes texts of messages.
pub(crate) struct JsonTexts<'a> {
    types: Types<'a>,
    mapping: &'a Mapping,
    /// What was noticed so far.
    pub notes: Notes,
}

/// What was noticed of strings that are not UTF-8.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Those that were mended.
    pub mended: u64,
    /// Those that are null.
    pub nulled: u64,
}

impl<'a> JsonTexts<'a> {
    /// Of messages with types of `descriptors`.
    pub(crate) fn new(descriptors: &'a Descriptors, mapping: &'a Mapping) -> Self {
        Self { types: Types::new(descriptors), mapping, notes: Notes::default() }
    }

    /// The canonical ProtoJSON text of a serialized message, without spaces. Fields stand in the order of
    /// their numbers, extensions behind them; what becomes of invalid UTF-8 is what the options say.
    ///
    /// # Errors
    /// [`FaultKind::Wire`](crate::fault::FaultKind::Wire) for bytes that are no message, also where a later
    /// value takes their place, [`FaultKind::InvalidUtf8`](crate::fault::FaultKind::InvalidUtf8), and
    /// [`FaultKind::BadValue`](crate::fault::FaultKind::BadValue) for a value that ProtoJSON cannot say.
    pub(crate) fn text(&mut self, message: MessageId, bytes: &'a [u8]) -> Result<String> {
        let record = read::record(&mut self.types, message, bytes, 0)?;
        Printer::new(&mut self.types, self.mapping, &mut self.notes).print(&record)
    }
}
