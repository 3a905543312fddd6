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
use print::Printer;
use types::Types;

/// Makes texts of messages.
pub(crate) struct JsonTexts<'a>(Types<'a>);

impl<'a> JsonTexts<'a> {
    /// Of messages with types of `descriptors`.
    pub(crate) fn new(descriptors: &'a Descriptors) -> Self {
        Self(Types::new(descriptors))
    }

    /// The canonical ProtoJSON text of a serialized message, without spaces. Fields stand in the order of
    /// their numbers, extensions behind them; invalid UTF-8 is replaced by U+FFFD.
    ///
    /// # Errors
    /// [`FaultKind::Wire`](crate::fault::FaultKind::Wire) for bytes that are no message, also where a later
    /// value takes their place, and [`FaultKind::BadValue`](crate::fault::FaultKind::BadValue) for a value
    /// that ProtoJSON cannot say.
    pub(crate) fn text(&mut self, message: MessageId, bytes: &'a [u8]) -> Result<String> {
        let record = read::record(&mut self.0, message, bytes, 0)?;
        Printer::new(&mut self.0).print(&record)
    }
}
