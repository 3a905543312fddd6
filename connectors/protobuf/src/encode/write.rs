//! Rows of bound columns to bytes, from the last byte to the first.

use arrow::array::Array;
use arrow::util::display::array_value_to_string;

use super::EncodeCounts;
use super::backward::Backward;
use super::bind::{Bound, BoundMessage, Values};
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
    /// Writes the value of `row` with its tag. Gives whether anything was written.
    fn write(&self, row: usize, output: &mut Output) -> Result<bool> {
        if let Some(writable) = &self.writable
            && writable.is_null(row)
        {
            return self.gap(row, output);
        }
        let keeps_default = self.plan.keeps_default;
        let buffer = &mut output.buffer;
        match &self.values {
            Values::Nothing => return Ok(false),
            Values::Varint(values) => {
                let value = values[row];
                if value == 0 && !keeps_default {
                    return Ok(false);
                }
                buffer.put_varint(value);
            }
            Values::Fixed32(values) => {
                let value = values[row];
                if value == 0 && !keeps_default {
                    return Ok(false);
                }
                buffer.put(&value.to_le_bytes());
            }
            Values::Fixed64(values) => {
                let value = values[row];
                if value == 0 && !keeps_default {
                    return Ok(false);
                }
                buffer.put(&value.to_le_bytes());
            }
            Values::Bytes(values, frame) => {
                let value = values.value(row);
                if value.is_empty() && !keeps_default {
                    return Ok(false);
                }
                let end = begin(*frame, buffer);
                buffer.put(value);
                finish(*frame, end, buffer);
            }
            Values::Present(frame) => {
                let end = begin(*frame, buffer);
                finish(*frame, end, buffer);
            }
            Values::Message(message, frame) => {
                let end = begin(*frame, buffer);
                message.write(row, output)?;
                finish(*frame, end, &mut output.buffer);
            }
            Values::List { items, places, packed } => return self.list(items, places[row], *packed, output),
            Values::Map { keys, values, places } => return self.map(keys, values, places[row], output),
        }
        output.buffer.put(self.plan.tag.bytes());
        Ok(true)
    }

    fn list(
        &self,
        items: &Bound<'_>,
        (first, last): (usize, usize),
        packed: bool,
        output: &mut Output,
    ) -> Result<bool> {
        let end = output.buffer.len();
        for item in (first..last).rev() {
            items.write(item, output).map_err(|fault| fault.within(&format!("[{}]", item - first)))?;
        }
        let written = output.buffer.len() > end;
        if packed && written {
            finish(Frame::Length, end, &mut output.buffer);
            output.buffer.put(self.plan.tag.bytes());
        }
        Ok(written)
    }

    fn map(
        &self,
        keys: &Bound<'_>,
        values: &Bound<'_>,
        (first, last): (usize, usize),
        output: &mut Output,
    ) -> Result<bool> {
        let start = output.buffer.len();
        for entry in (first..last).rev() {
            let within = |fault: Box<Fault>| fault.within(&format!("[{}]", entry - first));
            let end = output.buffer.len();
            if values.write(entry, output).map_err(within)? {
                keys.write(entry, output).map_err(within)?;
                finish(Frame::Length, end, &mut output.buffer);
                output.buffer.put(self.plan.tag.bytes());
            }
        }
        Ok(output.buffer.len() > start)
    }

    /// What becomes of a value that is NULL, or cannot be written.
    #[cold]
    fn gap(&self, row: usize, output: &mut Output) -> Result<bool> {
        if self.is_there(row) {
            return Err(Fault::new(self.explain(row)));
        }
        match &self.plan.on_null {
            OnNull::Omit(loss) => {
                output.counts.add(*loss);
                Ok(false)
            }
            OnNull::Refuse(reason) => Err(Fault::new(reason.clone())),
            OnNull::Inside => Ok(false),
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

/// Begins a message at its end; gives where that is.
fn begin(frame: Frame, buffer: &mut Backward) -> usize {
    if let Frame::Group(tag) = frame {
        buffer.put(tag.bytes());
    }
    buffer.len()
}

/// Finishes, at its beginning, a message that ends at `end`.
fn finish(frame: Frame, end: usize, buffer: &mut Backward) {
    if let Frame::Length = frame {
        buffer.put_varint((buffer.len() - end) as u64);
    }
}
