//! Columns that keep no more memory than they show.
//!
//! Slices share the buffers of what they are cut from, and views point into buffers that others fill too. Who holds a
//! batch for long, as a sort does, holds all of them, and counts them again for each batch.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, GenericByteViewArray, ListArray, MapArray, MutableArrayData, RecordBatch,
    RecordBatchOptions, StructArray, make_array,
};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{ByteViewType, DataType};

use crate::Result;

/// Most bytes of a value that lies in its view.
const MOST_INLINE: u32 = 12;

/// Whether values of so many bytes are better copied than kept in buffers of `held` bytes. No two columns are worth
/// keeping the same buffer for, so that it counts once.
pub fn is_worth_a_copy(used: usize, held: usize) -> bool {
    used <= held / 2
}

/// The bytes of the values that do not lie in their views.
pub fn bytes_of_views(views: &[u128]) -> usize {
    let lens = views.iter().map(|&view| view as u32);
    lens.fold(0, |sum: usize, len| sum.saturating_add(if len > MOST_INLINE { len as usize } else { 0 }))
}

/// The rows of a batch, copied where what they use is at most half of the memory that they keep.
///
/// # Errors
/// [`crate::Error::Arrow`] if the parts of a column do not fit together, which those of an array do.
pub fn compact(batch: &RecordBatch) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(compact_column).collect::<Result<_>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(batch.schema(), columns, &options)?)
}

/// As [`compact`], for one column.
///
/// # Errors
/// As [`compact`].
pub fn compact_column(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        DataType::Utf8View => compact_views(array, array.as_string_view())?,
        DataType::BinaryView => compact_views(array, array.as_binary_view())?,
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns().iter().map(compact_column).collect::<Result<_>>()?;
            let nulls = array.nulls().cloned();
            Arc::new(StructArray::try_new_with_length(fields.clone(), columns, nulls, array.len())?)
        }
        DataType::List(field) => {
            let list = array.as_list::<i32>();
            let (offsets, begin, len) = from_zero(list.offsets());
            let values = compact_column(&list.values().slice(begin, len))?;
            Arc::new(ListArray::try_new(Arc::clone(field), offsets, values, array.nulls().cloned())?)
        }
        DataType::Map(field, sorted) => {
            let map = array.as_map();
            let (offsets, begin, len) = from_zero(map.offsets());
            let entries: ArrayRef = Arc::new(map.entries().slice(begin, len));
            let entries = compact_column(&entries)?.as_struct().clone();
            let nulls = array.nulls().cloned();
            Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *sorted)?)
        }
        _ => compact_values(array)?,
    })
}

fn compact_views<T: ByteViewType>(array: &ArrayRef, views: &GenericByteViewArray<T>) -> Result<ArrayRef> {
    let held = views.data_buffers().iter().map(Buffer::capacity).fold(0, usize::saturating_add);
    let used = bytes_of_views(views.views());
    match (used, is_worth_a_copy(used, held)) {
        // The views alone; they may be a slice.
        (0, _) => compact_values(&(Arc::new(without_buffers(views)?) as ArrayRef)),
        (_, true) => Ok(Arc::new(views.gc())),
        (_, false) => Ok(Arc::clone(array)),
    }
}

fn without_buffers<T: ByteViewType>(views: &GenericByteViewArray<T>) -> Result<GenericByteViewArray<T>> {
    Ok(GenericByteViewArray::try_new(views.views().clone(), Vec::new(), views.nulls().cloned())?)
}

/// Columns whose slices lie in slices of their buffers.
fn compact_values(array: &ArrayRef) -> Result<ArrayRef> {
    let data = array.to_data();
    if !is_worth_a_copy(data.get_slice_memory_size()?, data.get_buffer_memory_size()) {
        return Ok(Arc::clone(array));
    }
    let mut copied = MutableArrayData::new(vec![&data], false, data.len());
    copied.try_extend(0, 0, data.len())?;
    Ok(make_array(copied.freeze()))
}

/// The offsets of a slice of lists counted from its first item, and which items are its own: from where on, how many.
fn from_zero(offsets: &OffsetBuffer<i32>) -> (OffsetBuffer<i32>, usize, usize) {
    let begin = offsets.first().copied().unwrap_or_default();
    let moved: ScalarBuffer<i32> = offsets.iter().map(|offset| offset.saturating_sub(begin)).collect();
    let len = moved.last().copied().unwrap_or_default();
    (OffsetBuffer::new(moved), begin as usize, len as usize)
}

#[cfg(test)]
mod tests {
    use arrow::array::{BinaryViewArray, BooleanArray, Int64Array, StringViewArray};
    use arrow::datatypes::{Field, Fields, Schema};

    use super::*;

    const ROWS: usize = 1000;

    /// Columns of all kinds, of so many rows.
    fn batch() -> RecordBatch {
        let texts = || (0..ROWS).map(|row| (row % 7 != 0).then(|| format!("the text of row number {row}")));
        let numbers: ArrayRef = Arc::new((0..ROWS as i64).map(Some).collect::<Int64Array>());
        let text: ArrayRef = Arc::new(texts().collect::<StringViewArray>().gc());
        let short: ArrayRef =
            Arc::new((0..ROWS).map(|row| Some(row.to_string())).collect::<StringViewArray>());
        let bytes: ArrayRef = Arc::new(texts().collect::<BinaryViewArray>().gc());
        let bits: ArrayRef = Arc::new((0..ROWS).map(|row| Some(row % 3 == 0)).collect::<BooleanArray>());
        let field = |name: &str, array: &ArrayRef| Field::new(name, array.data_type().clone(), true);
        let fields = Fields::from(vec![field("n", &numbers), field("t", &text)]);
        let both = StructArray::new(fields, vec![Arc::clone(&numbers), Arc::clone(&text)], None);
        let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(1, ROWS));
        let item = Arc::new(field("item", &text));
        let list: ArrayRef =
            Arc::new(ListArray::new(item, offsets.clone(), Arc::clone(&text), text.nulls().cloned()));
        let entries =
            Fields::from(vec![Field::new("key", DataType::Utf8View, false), field("value", &bytes)]);
        let entries = StructArray::new(entries, vec![Arc::clone(&short), Arc::clone(&bytes)], None);
        let entry = Arc::new(Field::new("entries", entries.data_type().clone(), false));
        let map: ArrayRef = Arc::new(MapArray::new(entry, offsets, entries, None, false));
        let columns = [numbers, text, short, bytes, bits, Arc::new(both), list, map];
        let schema = Schema::new(columns.iter().map(|array| field("c", array)).collect::<Vec<_>>());
        RecordBatch::try_new(Arc::new(schema), columns.to_vec()).expect("columns of one length")
    }

    #[test]
    fn small_parts_keep_little_and_show_the_same() {
        let batch = batch();
        let whole = batch.get_array_memory_size();
        for (begin, len) in [(0, 1), (500, 100), (900, 100), (0, 400), (999, 1), (7, 0)] {
            let part = batch.slice(begin, len);
            let compact = compact(&part).expect("sound");
            assert_eq!(compact, part, "{begin}+{len}");
            let kept = compact.get_array_memory_size();
            assert!(kept < whole * (len + 100) / ROWS, "{begin}+{len}: {kept} of {whole}");
        }
    }

    #[test]
    fn what_is_used_is_not_copied() {
        let batch = batch();
        let found = compact(&batch.slice(100, 900)).expect("sound");
        let data = |batch: &RecordBatch| batch.column(1).as_string_view().data_buffers()[0].as_ptr();
        assert_eq!(data(&found), data(&batch));
        let numbers = |batch: &RecordBatch| batch.column(0).to_data().buffers()[0].data_ptr();
        assert_eq!(numbers(&found), numbers(&batch));
    }
}
