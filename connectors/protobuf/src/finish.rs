//! From the buffers of a batch to Arrow arrays.
//!
//! What needs all parts of a value is done here: times from their parts, JSON, enum names, UTF-8, duplicate
//! keys of maps, and that everything below a NULL is NULL (section 1 of the mapping).

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array,
    ListArray, MapArray, StringViewArray, StructArray, UInt32Array, UInt64Array, new_null_array,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowNativeType, DataType, Fields};

use crate::column_tree::Shape;
use crate::columns::Columns;
use crate::fault::Result;
use crate::map_entries::{entries_to_keep, keep_entries};
use crate::plan::{Output, Plan, Source};
use crate::text::{strings, views_of_strings};
use crate::well_known::{self, JsonKind};

/// What was noticed while arrays were made.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Timestamps, durations and times of day that lost digits.
    pub truncated: u64,
    /// Strings that were mended.
    pub mended: u64,
}

/// Makes the arrays of one batch.
pub(crate) struct Finish<'a> {
    /// The scan's plan.
    pub plan: &'a Plan,
    /// The buffers, emptied on the way.
    pub columns: &'a mut Columns,
    /// The block's buffer.
    pub data: &'a Buffer,
    /// What was noticed.
    pub tally: Tally,
    /// Which rows lack a required field, if any does.
    pub incomplete: Option<BooleanBuffer>,
}

impl Finish<'_> {
    /// The array of `rows` rows of an output. `parent`: which rows its message is there for.
    pub(crate) fn array(
        &mut self,
        output: u32,
        rows: usize,
        parent: Option<&NullBuffer>,
    ) -> Result<ArrayRef> {
        let name = self.plan.outputs[output as usize].field.name();
        self.nameless_array(output, rows, parent).map_err(|fault| fault.within(name))
    }

    /// As [`Self::array`]; faults do not name the output.
    fn nameless_array(&mut self, output: u32, rows: usize, parent: Option<&NullBuffer>) -> Result<ArrayRef> {
        let output = &self.plan.outputs[output as usize];
        if matches!(output.source, Source::Absent) {
            return Ok(new_null_array(output.field.data_type(), rows));
        }
        let nulls = match output.validity {
            None => parent.cloned(),
            Some(validity) => {
                let present = NullBuffer::new(self.columns.validity[validity as usize].take(rows));
                if output.required {
                    self.note_missing(&present, parent);
                }
                Some(present).filter(|nulls| nulls.null_count() > 0)
            }
        };
        self.source(output, rows, nulls)
    }

    fn source(&mut self, output: &Output, rows: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let columns = &mut *self.columns;
        let data_type = output.field.data_type();
        Ok(match &output.source {
            Source::Absent => new_null_array(data_type, rows),
            Source::Words { column, signed } => {
                words(data_type, *signed, columns.words[*column as usize].take(rows), nulls)?
            }
            Source::Longs(column) => longs(data_type, columns.longs[*column as usize].take(rows), nulls)?,
            Source::Bits(column) => {
                Arc::new(BooleanArray::new(columns.bits[*column as usize].take(rows), nulls))
            }
            Source::Views(column) => {
                let views = columns.views[*column as usize].take(rows);
                Arc::new(BinaryViewArray::try_new(views.into(), [self.data.clone()], nulls)?)
            }
            Source::Texts { column, strict } => {
                let views = columns.views[*column as usize].take(rows);
                views_of_strings(views, self.data, nulls, *strict, &mut self.tally.mended)?
            }
            Source::Bytes { column, strict } => {
                let (offsets, bytes) = columns.bytes[*column as usize].take(rows)?;
                let offsets = OffsetBuffer::new(offsets.into());
                match data_type {
                    DataType::Utf8 => strings(offsets, bytes, nulls, *strict, &mut self.tally.mended)?,
                    _ => Arc::new(BinaryArray::try_new(offsets, Buffer::from_vec(bytes), nulls)?),
                }
            }
            Source::Enum { column, names } => {
                names.column(columns.words[*column as usize].take(rows), nulls)?
            }
            Source::Json { column, kind } => self.json(*column, *kind, rows, nulls.as_ref())?,
            Source::Message { shape, fields } => self.message(*shape, fields, data_type, rows, nulls)?,
            Source::List { items, item } => self.list(*items, *item, data_type, rows, nulls)?,
            Source::Map { items, key, value } => self.map(*items, [*key, *value], data_type, rows, nulls)?,
        })
    }

    fn json(
        &mut self,
        column: u32,
        kind: JsonKind,
        rows: usize,
        nulls: Option<&NullBuffer>,
    ) -> Result<ArrayRef> {
        let (offsets, bytes) = self.columns.bytes[column as usize].take(rows)?;
        let text = |row: usize| {
            let there = nulls.is_none_or(|nulls| nulls.is_valid(row));
            let message = &bytes[offsets[row] as usize..offsets[row + 1] as usize];
            there.then(|| well_known::json_text(kind, message)).transpose()
        };
        Ok(Arc::new((0..rows).map(text).collect::<Result<StringViewArray>>()?))
    }

    fn message(
        &mut self,
        shape: Shape,
        fields: &[u32],
        data_type: &DataType,
        rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let parent = if matches!(shape, Shape::Struct | Shape::Only) { nulls.as_ref() } else { None };
        let mut parts =
            fields.iter().map(|&field| self.array(field, rows, parent)).collect::<Result<Vec<ArrayRef>>>()?;
        let truncated = &mut self.tally.truncated;
        match shape {
            Shape::Only if parts.len() == 1 => Ok(parts.swap_remove(0)),
            Shape::Struct | Shape::Only => {
                Ok(Arc::new(StructArray::try_new_with_length(struct_fields(data_type), parts, nulls, rows)?))
            }
            Shape::Present => Ok(Arc::new(BooleanArray::new(BooleanBuffer::new_set(rows), nulls))),
            Shape::Timestamp => well_known::timestamps(&parts, nulls, truncated),
            Shape::Duration => well_known::durations(&parts, nulls, truncated),
            Shape::Date => well_known::dates(&parts, nulls.as_ref()),
            Shape::TimeOfDay => well_known::times_of_day(&parts, nulls, truncated),
        }
    }

    fn list(
        &mut self,
        items: u32,
        item: u32,
        data_type: &DataType,
        rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let (offsets, _) = self.columns.items[items as usize].take(rows)?;
        let values = self.below(&offsets, |finish, count| finish.nameless_array(item, count, None))?;
        let DataType::List(field) = data_type else { return Ok(new_null_array(data_type, rows)) };
        Ok(Arc::new(ListArray::try_new(Arc::clone(field), OffsetBuffer::new(offsets.into()), values, nulls)?))
    }

    fn map(
        &mut self,
        items: u32,
        parts: [u32; 2],
        data_type: &DataType,
        rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let (mut offsets, withdrawn) = self.columns.items[items as usize].take(rows)?;
        let [mut keys, mut values] = self.below(&offsets, |finish, count| {
            let [key, value] = parts.map(|part| finish.array(part, count, None));
            Ok([key?, value?])
        })?;
        if let Some(kept) = entries_to_keep(&mut offsets, &withdrawn, &keys) {
            [keys, values] = keep_entries(&kept, &keys, &values)?;
        }
        let DataType::Map(entries, _) = data_type else { return Ok(new_null_array(data_type, rows)) };
        let fields = struct_fields(entries.data_type());
        let structs = StructArray::try_new(fields, vec![keys, values], None)?;
        let offsets = OffsetBuffer::new(offsets.into());
        Ok(Arc::new(MapArray::try_new(Arc::clone(entries), offsets, structs, nulls, false)?))
    }

    /// Makes arrays of the items that `offsets` lead to. A row with an incomplete item is incomplete.
    fn below<T>(&mut self, offsets: &[i32], make: impl FnOnce(&mut Self, usize) -> Result<T>) -> Result<T> {
        let count = offsets.last().copied().unwrap_or_default() as usize;
        let above = self.incomplete.take();
        let made = make(self, count)?;
        let rows = self.incomplete.take().map(|items| {
            let lacking = |pair: &[i32]| (pair[0]..pair[1]).any(|item| items.value(item as usize));
            offsets.windows(2).map(lacking).collect::<BooleanBuffer>()
        });
        self.incomplete = either(above, rows);
        Ok(made)
    }

    fn note_missing(&mut self, present: &NullBuffer, parent: Option<&NullBuffer>) {
        if present.null_count() == parent.map_or(0, NullBuffer::null_count) {
            return;
        }
        let missing = !present.inner();
        let missing = match parent {
            Some(parent) => &missing & parent.inner(),
            None => missing,
        };
        self.incomplete = either(self.incomplete.take(), Some(missing));
    }
}

fn either(left: Option<BooleanBuffer>, right: Option<BooleanBuffer>) -> Option<BooleanBuffer> {
    match (left, right) {
        (Some(left), Some(right)) => Some(&left | &right),
        (left, right) => left.or(right),
    }
}

fn struct_fields(data_type: &DataType) -> Fields {
    match data_type {
        DataType::Struct(fields) => fields.clone(),
        _ => Fields::empty(),
    }
}

/// The values as numbers of another type of the same width.
fn reinterpret<T: ArrowNativeType>(values: Vec<impl ArrowNativeType>) -> ScalarBuffer<T> {
    ScalarBuffer::from(Buffer::from_vec(values))
}

fn words(
    data_type: &DataType,
    signed: bool,
    values: Vec<u32>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    Ok(match data_type {
        DataType::UInt32 => Arc::new(UInt32Array::try_new(values.into(), nulls)?),
        DataType::Float32 => Arc::new(Float32Array::try_new(reinterpret(values), nulls)?),
        DataType::Int64 => {
            let widen = |word: u32| if signed { i64::from(word as i32) } else { i64::from(word) };
            Arc::new(Int64Array::try_new(values.into_iter().map(widen).collect(), nulls)?)
        }
        _ => Arc::new(Int32Array::try_new(reinterpret(values), nulls)?),
    })
}

fn longs(data_type: &DataType, values: Vec<u64>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    Ok(match data_type {
        DataType::UInt64 => Arc::new(UInt64Array::try_new(values.into(), nulls)?),
        DataType::Float64 => Arc::new(Float64Array::try_new(reinterpret(values), nulls)?),
        _ => Arc::new(Int64Array::try_new(reinterpret(values), nulls)?),
    })
}
