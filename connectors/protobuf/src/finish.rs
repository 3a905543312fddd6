//! From the buffers of a batch to Arrow arrays.
//!
//! What needs all parts of a value is done here: times from their parts, JSON, enum names, UTF-8, duplicate
//! keys of maps, and that everything below a NULL is NULL (section 1 of the mapping).

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, BooleanArray, DictionaryArray, GenericBinaryArray, Int32Array, ListArray,
    MapArray, OffsetSizeTrait, Scalar, StructArray, new_null_array,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow::compute::kernels::zip::zip;
use arrow::compute::nullif;
use arrow::datatypes::{DataType, Fields, Int32Type};

use crate::column_tree::Shape;
use crate::columns::{Columns, compact, of_plan};
use crate::decoded::Tally;
use crate::descriptor::{Descriptors, MessageId};
use crate::fault::{FaultKind, Result};
use crate::map_entries::{entries_to_keep, keep_entries};
use crate::numbers::{longs, words};
use crate::options::{EmptyList, Mapping};
use crate::plan::{NO_MEMBER, Output, Plan, Source};
use crate::proto_json::JsonTexts;
use crate::text::{Utf8, strings, texts, views_of_strings};
use crate::well_known;

/// Makes the arrays of one batch.
pub(crate) struct Finish<'a> {
    /// The scan's plan.
    pub plan: &'a Plan,
    /// The message types.
    pub descriptors: &'a Descriptors,
    /// The options.
    pub mapping: &'a Mapping,
    /// The buffers, emptied on the way.
    pub columns: &'a mut Columns,
    /// The buffers that the views of each column point into, by index.
    pub buffers: &'a [Vec<Buffer>],
    /// What was noticed.
    pub tally: Tally,
    /// Which rows lack a required field, if any does.
    pub incomplete: Option<BooleanBuffer>,
}

/// The buffers that the views of columns point into.
pub(crate) enum ViewBuffers {
    /// That of the block of records.
    Shared(Buffer),
    /// Those of each column of views, by index.
    OfEach(Vec<Vec<Buffer>>),
}

impl ViewBuffers {
    /// The buffers of each of these columns. Values are copied to smaller ones where they use little of the bytes.
    pub(crate) fn compacted(self, columns: &mut Columns) -> Vec<Vec<Buffer>> {
        match self {
            Self::Shared(buffer) => compact::out_of_shared(&mut columns.views, &buffer),
            Self::OfEach(mut buffers) => {
                compact::out_of_own(&mut columns.views, &mut buffers);
                buffers
            }
        }
    }
}

impl Finish<'_> {
    /// The array of `rows` rows of an output. `parent`: which rows its message is there for.
    pub(crate) fn array(
        &mut self,
        output: u32,
        rows: usize,
        parent: Option<&NullBuffer>,
    ) -> Result<ArrayRef> {
        let name = self.plan.output(output).field.name();
        self.nameless_array(output, rows, parent).map_err(|fault| fault.within(name))
    }

    /// As [`Self::array`]; faults do not name the output.
    fn nameless_array(&mut self, output: u32, rows: usize, parent: Option<&NullBuffer>) -> Result<ArrayRef> {
        let output = self.plan.output(output);
        if matches!(output.source, Source::Absent) {
            return Ok(new_null_array(output.field.data_type(), rows));
        }
        let Some(validity) = output.validity else { return self.source(output, rows, parent.cloned()) };
        let present = NullBuffer::new(of_plan(&mut self.columns.validity, validity).take(rows));
        if output.required {
            self.note_missing(&present, parent)?;
        }
        if let Some(fill) = &output.fill {
            let array = self.source(output, rows, None)?;
            return filled(&array, fill, &present, parent);
        }
        self.source(output, rows, Some(present).filter(|nulls| nulls.null_count() > 0))
    }

    fn source(&mut self, output: &Output, rows: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let columns = &mut *self.columns;
        let data_type = output.field.data_type();
        // Rows whose value is the default of its type are NULL if it is to be hidden.
        let visible = |nulls, others: &mut dyn Iterator<Item = bool>| match output.hidden {
            true => both(nulls, &others.collect()),
            false => nulls,
        };
        Ok(match &output.source {
            Source::Absent => new_null_array(data_type, rows),
            Source::Words { column, signed } => {
                let values = of_plan(&mut columns.words, *column).take(rows);
                let nulls = visible(nulls, &mut values.iter().map(|&value| value != 0));
                words(data_type, *signed, values, nulls)?
            }
            Source::Longs(column) => {
                let values = of_plan(&mut columns.longs, *column).take(rows);
                let nulls = visible(nulls, &mut values.iter().map(|&value| value != 0));
                longs(data_type, values, nulls)?
            }
            Source::Bits(column) => {
                let bits = of_plan(&mut columns.bits, *column).take(rows);
                let nulls = visible(nulls, &mut bits.iter());
                Arc::new(BooleanArray::new(bits, nulls))
            }
            Source::Views(column) => {
                let views = of_plan(&mut columns.views, *column).take(rows);
                let nulls = visible(nulls, &mut views.iter().map(|&view| view != 0));
                Arc::new(BinaryViewArray::try_new(views.into(), self.buffers_of(*column), nulls)?)
            }
            Source::Texts { column, utf8 } => {
                let views = of_plan(&mut columns.views, *column).take(rows);
                let nulls = visible(nulls, &mut views.iter().map(|&view| view != 0));
                views_of_strings(views, self.buffers_of(*column), nulls, *utf8, &mut self.tally)?
            }
            Source::Bytes { column, utf8 } => match data_type {
                DataType::LargeUtf8 | DataType::LargeBinary => {
                    self.bytes::<i64>(*column, *utf8, output, rows, nulls)?
                }
                _ => self.bytes::<i32>(*column, *utf8, output, rows, nulls)?,
            },
            Source::Enum { column, names, shown } => {
                let numbers = of_plan(&mut columns.words, *column).take(rows);
                let nulls = visible(nulls, &mut numbers.iter().map(|&number| number != 0));
                names.column(*shown, data_type, numbers, nulls)?
            }
            Source::Case { column, names } => {
                let members = of_plan(&mut columns.words, *column).take(rows);
                let nulls = both(nulls, &members.iter().map(|&member| member != NO_MEMBER).collect());
                let keys =
                    Int32Array::try_new(members.into_iter().map(|member| member as i32).collect(), nulls)?;
                Arc::new(DictionaryArray::<Int32Type>::try_new(keys, Arc::clone(names))?)
            }
            Source::Json { column, message } => {
                self.json(*column, *message, data_type, rows, nulls.as_ref())?
            }
            Source::Message { shape, fields } => self.message(*shape, fields, data_type, rows, nulls)?,
            Source::List { items, item } => self.list(*items, *item, data_type, rows, nulls)?,
            Source::Map { items, key, value } => self.map(*items, [*key, *value], data_type, rows, nulls)?,
        })
    }

    fn buffers_of(&self, column: u32) -> Vec<Buffer> {
        self.buffers.get(column as usize).cloned().unwrap_or_default()
    }

    /// Strings or bytes that lie in a buffer of their own.
    fn bytes<O: OffsetSizeTrait>(
        &mut self,
        column: u32,
        utf8: Utf8,
        output: &Output,
        rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let (offsets, bytes) = of_plan(&mut self.columns.bytes, column).take::<O>(rows)?;
        let nulls = match output.hidden {
            true => both(nulls, &offsets.array_windows().map(|[begin, end]| begin != end).collect()),
            false => nulls,
        };
        let offsets = OffsetBuffer::new(offsets.into());
        match output.field.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 => strings(offsets, bytes, nulls, utf8, &mut self.tally),
            _ => Ok(Arc::new(GenericBinaryArray::try_new(offsets, Buffer::from_vec(bytes), nulls)?)),
        }
    }

    fn json(
        &mut self,
        column: u32,
        message: MessageId,
        data_type: &DataType,
        rows: usize,
        nulls: Option<&NullBuffer>,
    ) -> Result<ArrayRef> {
        let (offsets, bytes) = of_plan(&mut self.columns.bytes, column).take::<i64>(rows)?;
        let mut json = JsonTexts::new(self.descriptors, self.mapping);
        let text = |(row, &[begin, end]): (usize, &[i64; 2])| {
            if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                return Ok(None);
            }
            let bytes = bytes.get(begin as usize..end as usize).unwrap_or_default();
            self.tally.value(json.text(message, bytes))
        };
        let texts = texts(offsets.array_windows().enumerate().map(text), data_type)?;
        self.tally.mended = self.tally.mended.saturating_add(json.notes.mended);
        self.tally.nulled = self.tally.nulled.saturating_add(json.notes.nulled);
        Ok(texts)
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
        match shape {
            Shape::Only if parts.len() == 1 => Ok(parts.swap_remove(0)),
            Shape::Struct | Shape::Only => {
                Ok(Arc::new(StructArray::try_new_with_length(struct_fields(data_type), parts, nulls, rows)?))
            }
            Shape::Present => Ok(Arc::new(BooleanArray::new(BooleanBuffer::new_set(rows), nulls))),
            Shape::Timestamp | Shape::Duration => {
                well_known::instants(&parts, data_type, nulls.as_ref(), &mut self.tally)
            }
            Shape::Date => well_known::dates(&parts, nulls.as_ref(), &mut self.tally),
            Shape::TimeOfDay => well_known::times_of_day(&parts, data_type, nulls.as_ref(), &mut self.tally),
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
        let (offsets, _) = of_plan(&mut self.columns.items, items).take(rows)?;
        let values = self.below(&offsets, |finish, count| finish.nameless_array(item, count, None))?;
        let DataType::List(field) = data_type else { return Ok(new_null_array(data_type, rows)) };
        let nulls = self.without_empty(&offsets, nulls);
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
        let (mut offsets, withdrawn) = of_plan(&mut self.columns.items, items).take(rows)?;
        let [mut keys, mut values] = self.below(&offsets, |finish, count| {
            let [key, value] = parts.map(|part| finish.array(part, count, None));
            Ok([key?, value?])
        })?;
        if let Some(kept) = entries_to_keep(&mut offsets, &withdrawn, &keys) {
            [keys, values] = keep_entries(&kept, &keys, &values)?;
        }
        let nulls = self.without_empty(&offsets, nulls);
        let offsets = OffsetBuffer::new(offsets.into());
        let structs =
            |entries: &DataType| StructArray::try_new(struct_fields(entries), vec![keys, values], None);
        match data_type {
            DataType::Map(entries, _) => {
                let structs = structs(entries.data_type())?;
                Ok(Arc::new(MapArray::try_new(Arc::clone(entries), offsets, structs, nulls, false)?))
            }
            DataType::List(item) => {
                let structs = Arc::new(structs(item.data_type())?);
                Ok(Arc::new(ListArray::try_new(Arc::clone(item), offsets, structs, nulls)?))
            }
            _ => Ok(new_null_array(data_type, rows)),
        }
    }

    /// The rows that are there, without those of empty lists if these are to be NULL.
    fn without_empty(&self, offsets: &[i32], nulls: Option<NullBuffer>) -> Option<NullBuffer> {
        match self.mapping.empty_list {
            EmptyList::Empty => nulls,
            EmptyList::Null => {
                both(nulls, &offsets.array_windows().map(|[begin, end]| begin != end).collect())
            }
        }
    }

    /// Makes arrays of the items that `offsets` lead to. A row with an incomplete item is incomplete.
    fn below<T>(&mut self, offsets: &[i32], make: impl FnOnce(&mut Self, usize) -> Result<T>) -> Result<T> {
        let count = offsets.last().copied().unwrap_or_default() as usize;
        let above = self.incomplete.take();
        let made = make(self, count)?;
        let rows = self.incomplete.take().map(|items| {
            let lacking = |&[begin, end]: &[i32; 2]| (begin..end).any(|item| items.value(item as usize));
            offsets.array_windows().map(lacking).collect::<BooleanBuffer>()
        });
        self.incomplete = either(above, rows);
        Ok(made)
    }

    /// Notes the rows that lack a required field.
    fn note_missing(&mut self, present: &NullBuffer, parent: Option<&NullBuffer>) -> Result<()> {
        if present.null_count() == parent.map_or(0, NullBuffer::null_count) {
            return Ok(());
        }
        if self.plan.strict_required {
            return Err(FaultKind::RequiredMissing.into());
        }
        let missing = !present.inner();
        let missing = match parent {
            Some(parent) => &missing & parent.inner(),
            None => missing,
        };
        self.incomplete = either(self.incomplete.take(), Some(missing));
        Ok(())
    }
}

/// `array` with `fill` in the rows that are not present but that the parent has.
fn filled(
    array: &ArrayRef,
    fill: &ArrayRef,
    present: &NullBuffer,
    parent: Option<&NullBuffer>,
) -> Result<ArrayRef> {
    let present = BooleanArray::new(present.inner().clone(), None);
    let filled = zip(&present, array, &Scalar::new(Arc::clone(fill)))?;
    match parent {
        Some(parent) => Ok(nullif(&filled, &BooleanArray::new(!parent.inner(), None))?),
        None => Ok(filled),
    }
}

/// Rows that are in both.
fn both(nulls: Option<NullBuffer>, there: &BooleanBuffer) -> Option<NullBuffer> {
    let nulls = match nulls {
        Some(nulls) => NullBuffer::new(nulls.inner() & there),
        None => NullBuffer::new(there.clone()),
    };
    Some(nulls).filter(|nulls| nulls.null_count() > 0)
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
