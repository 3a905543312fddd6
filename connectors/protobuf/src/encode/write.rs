//! Rows of bound columns to bytes, from the last byte to the first.

use arrow::array::Array;
use arrow::util::display::array_value_to_string;

use super::EncodeCounts;
use super::backward::Backward;
use super::bind::{Bound, BoundMessage, Rest};
use super::fault::{Fault, Result};
use super::json;
use super::plan::{Form, Frame, Loss, OnNull};
use crate::schema::keyword;

/// Where rows are written to.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) buffer: Backward,
    pub(super) counts: EncodeCounts,
}

impl BoundMessage<'_> {
    /// Writes the message of `row`.
    ///
    /// # Errors
    /// A value that cannot be written; two members of one oneof.
    pub(super) fn write(&self, row: usize, output: &mut Output) -> Result<()> {
        for oneof in self.oneofs {
            let members = oneof.members.iter().filter_map(|&member| self.fields.get(member));
            let mut set = members.filter(|member| member.is_there(row));
            if let (Some(first), Some(second)) = (set.next(), set.next()) {
                let [first, second] = [first, second].map(|member| member.plan.name.as_str());
                return Err(Fault::new(format!(
                    "it is set, and so is '{first}', but only one member of the oneof '{}' can be",
                    oneof.name
                ))
                .within(second));
            }
        }
        for field in self.fields.iter().rev() {
            field.write(row, output).map_err(|fault| fault.within(&field.plan.name))?;
        }
        Ok(())
    }
}

impl Bound<'_> {
    /// Writes the value of `row` with its tag, unless it is left out.
    #[inline(always)]
    fn write(&self, row: usize, output: &mut Output) -> Result<()> {
        match self.pieces.get(row) {
            Some(piece) if !piece.is_head() => {
                output.buffer.put_piece(*piece);
                Ok(())
            }
            _ => self.write_rest(row, output),
        }
    }

    /// Writes a value that is more than a piece.
    #[inline(never)]
    fn write_rest(&self, row: usize, output: &mut Output) -> Result<()> {
        if let Some(writable) = &self.writable
            && writable.is_null(row)
        {
            return self.gap(row, output);
        }
        let end = output.buffer.len();
        match &self.rest {
            Rest::Nothing => {}
            Rest::Bytes(values, end) => {
                output.buffer.put_tag(*end);
                output.buffer.put(values.value(row));
                output.buffer.put_piece(self.pieces[row]);
            }
            Rest::Message(message, Frame::Length) => {
                message.write(row, output)?;
                self.finish(end, &mut output.buffer);
            }
            Rest::Message(message, Frame::Group(end)) => {
                output.buffer.put_tag(*end);
                message.write(row, output)?;
                output.buffer.put_tag(self.plan.tag);
            }
            Rest::List { items, places, packed } => {
                let (first, last) = places[row];
                for item in (first..last).rev() {
                    items
                        .write(item, output)
                        .map_err(|fault| fault.within(&format!("[{}]", item - first)))?;
                }
                if *packed && output.buffer.len() > end {
                    self.finish(end, &mut output.buffer);
                }
            }
            Rest::Map { keys, values, places } => {
                let (first, last) = places[row];
                for entry in (first..last).rev() {
                    let within = |fault: Box<Fault>| fault.within(&format!("[{}]", entry - first));
                    self.entry(keys, values, entry, output).map_err(within)?;
                }
            }
        }
        Ok(())
    }

    /// Writes an entry of a map, unless its value is left out.
    fn entry(&self, keys: &Bound<'_>, values: &Bound<'_>, entry: usize, output: &mut Output) -> Result<()> {
        let end = output.buffer.len();
        values.write(entry, output)?;
        if output.buffer.len() > end {
            keys.write(entry, output)?;
            self.finish(end, &mut output.buffer);
        }
        Ok(())
    }

    /// Writes tag and length of what ends at `end`.
    #[inline]
    fn finish(&self, end: usize, buffer: &mut Backward) {
        buffer.put_varint(self.plan.tag, (buffer.len() - end) as u64);
    }

    /// What becomes of a value that is NULL, or cannot be written.
    #[cold]
    fn gap(&self, row: usize, output: &mut Output) -> Result<()> {
        if self.is_there(row) {
            return Err(Fault::new(self.explain(row)));
        }
        match &self.plan.on_null {
            OnNull::Omit(loss) => {
                output.counts.add(*loss);
                Ok(())
            }
            OnNull::Refuse(reason) => Err(Fault::new(reason.clone())),
            OnNull::Inside => Ok(()),
        }
    }

    /// Why the value of `row` cannot be written.
    fn explain(&self, row: usize) -> String {
        let value = array_value_to_string(&self.source, row).unwrap_or_default();
        let shown: String = value.chars().take(100).collect();
        match &self.plan.form {
            Form::Number(kind) => {
                let hint =
                    if self.source.data_type().is_floating() { "; a cast in SQL rounds it" } else { "" };
                format!("{shown} is not exactly a value of {}{hint}", keyword(*kind))
            }
            Form::Enum(numbers) => numbers.explain(&shown),
            Form::Json(kind, depth, _) => json::serialize(*kind, &value, *depth).err().unwrap_or_default(),
            Form::Serialized(_) => "the bytes are not a serialized message".to_string(),
            Form::Present(_) => {
                "it is false, but a message without fields is there (true) or not (NULL)".to_string()
            }
            Form::Parts(parts, ..) => format!("{shown} {}", parts.range()),
            _ => format!("{shown} cannot be written"),
        }
    }
}

impl EncodeCounts {
    fn add(&mut self, loss: Option<Loss>) {
        match loss {
            None => {}
            Some(Loss::List) => self.null_lists += 1,
            Some(Loss::Item) => self.null_items += 1,
            Some(Loss::Value) => self.null_values += 1,
        }
    }
}
