//! Batches cut so that what they become stays small.
//!
//! A batch has a bounded number of rows, not of bytes: a dictionary or views hold a text once, and an output that says
//! it for each row may be many thousand times as large. So what goes to an output is cut by the bytes that its values
//! take when each is written for itself.

use datafusion::arrow::array::{Array, AsArray, OffsetSizeTrait, RecordBatch};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::exec_err;
use datafusion::error::Result;

/// Bytes of the values of a piece, if it has more than one row.
const PIECE_BYTES: u64 = 4 << 20;
/// Bytes of the values of a row.
const ROW_BYTES: u64 = 1 << 30;
/// What a value of fixed width takes as text, about.
const FIXED_WIDTH: u64 = 8;
/// What stands around a name in JSON.
const AROUND_NAME: u64 = 4;

/// Cuts a batch for an output that writes each value for itself.
///
/// # Errors
/// A row whose values alone take more than an output can have in one row.
pub(crate) fn columnar_pieces(batch: &RecordBatch) -> Result<Vec<RecordBatch>> {
    pieces(batch, Names::Once)
}

/// Cuts a batch for an output that writes the names of the columns too in each row.
///
/// # Errors
/// As [`columnar_pieces`].
pub(crate) fn text_pieces(batch: &RecordBatch) -> Result<Vec<RecordBatch>> {
    pieces(batch, Names::InEachRow)
}

/// How often an output writes the names of columns and fields.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Once,
    InEachRow,
}

impl Names {
    fn bytes<'a>(self, names: impl Iterator<Item = &'a String>) -> u64 {
        match self {
            Self::Once => 0,
            Self::InEachRow => names.map(|name| name.len() as u64 + AROUND_NAME).sum(),
        }
    }
}

fn pieces(batch: &RecordBatch, names: Names) -> Result<Vec<RecordBatch>> {
    let around = names.bytes(batch.schema_ref().fields().iter().map(|field| field.name()));
    let mut sizes = vec![around; batch.num_rows()];
    for column in batch.columns() {
        add_sizes(column, names, &mut sizes);
    }
    let (mut pieces, mut begin, mut bytes) = (vec![], 0, 0);
    for (row, size) in sizes.iter().enumerate() {
        if *size > ROW_BYTES {
            return exec_err!(
                "a row holds {size} bytes of values, more than the {ROW_BYTES} that one row may have in an output: \
                 select fewer columns"
            );
        }
        if bytes + size > PIECE_BYTES && row > begin {
            pieces.push(batch.slice(begin, row - begin));
            (begin, bytes) = (row, 0);
        }
        bytes += size;
    }
    if begin < batch.num_rows() {
        pieces.push(batch.slice(begin, batch.num_rows() - begin));
    }
    Ok(pieces)
}

/// Adds to `sizes`, one for each value of `array`, what the value takes.
fn add_sizes(array: &dyn Array, names: Names, sizes: &mut [u64]) {
    match array.data_type() {
        DataType::Utf8 => add_lengths(array.as_string::<i32>().offsets(), sizes),
        DataType::LargeUtf8 => add_lengths(array.as_string::<i64>().offsets(), sizes),
        DataType::Binary => add_lengths(array.as_binary::<i32>().offsets(), sizes),
        DataType::LargeBinary => add_lengths(array.as_binary::<i64>().offsets(), sizes),
        DataType::Utf8View => add_view_lengths(array.as_string_view().views(), sizes),
        DataType::BinaryView => add_view_lengths(array.as_binary_view().views(), sizes),
        DataType::Dictionary(_, _) => add_dictionary(array, names, sizes),
        DataType::List(_) => {
            add_lists(array.as_list::<i32>().offsets(), array.as_list::<i32>().values(), names, sizes)
        }
        DataType::LargeList(_) => {
            add_lists(array.as_list::<i64>().offsets(), array.as_list::<i64>().values(), names, sizes);
        }
        DataType::Map(_, _) => {
            let map = array.as_map();
            let entries: &dyn Array = map.entries();
            add_lists(map.offsets(), entries, names, sizes);
        }
        DataType::FixedSizeList(_, len) => {
            let len = usize::try_from(*len).unwrap_or(0);
            let items = item_sizes(array.as_fixed_size_list().values(), names);
            for (row, size) in sizes.iter_mut().enumerate() {
                *size += sum(&items, row * len, (row + 1) * len) + FIXED_WIDTH;
            }
        }
        DataType::Struct(fields) => {
            let around = FIXED_WIDTH + names.bytes(fields.iter().map(|field| field.name()));
            sizes.iter_mut().for_each(|size| *size += around);
            for child in array.as_struct().columns() {
                add_sizes(child, names, sizes);
            }
        }
        DataType::FixedSizeBinary(len) => {
            let len = u64::try_from(*len).unwrap_or(0);
            sizes.iter_mut().for_each(|size| *size += len);
        }
        kind => {
            // Types of other kinds that repeat nothing: their share of what they hold.
            let held =
                if kind.is_primitive() { 0 } else { array.get_buffer_memory_size() / array.len().max(1) };
            let each = FIXED_WIDTH.max(held as u64);
            sizes.iter_mut().for_each(|size| *size += each);
        }
    }
}

fn add_lengths<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>, sizes: &mut [u64]) {
    for (size, bounds) in sizes.iter_mut().zip(offsets.windows(2)) {
        *size += (bounds[1].as_usize() - bounds[0].as_usize()) as u64;
    }
}

/// The length of a view is in its lowest 32 bits.
fn add_view_lengths(views: &[u128], sizes: &mut [u64]) {
    for (size, view) in sizes.iter_mut().zip(views) {
        *size += u64::from(*view as u32);
    }
}

fn add_dictionary(array: &dyn Array, names: Names, sizes: &mut [u64]) {
    let dictionary = array.as_any_dictionary();
    if dictionary.values().is_empty() {
        return;
    }
    let mut values = vec![0; dictionary.values().len()];
    add_sizes(dictionary.values(), names, &mut values);
    let keys = dictionary.normalized_keys();
    for (row, (size, key)) in sizes.iter_mut().zip(keys).enumerate() {
        // What stands below a NULL is never written.
        if array.is_valid(row) {
            *size += values[key];
        }
    }
}

fn add_lists<O: OffsetSizeTrait>(
    offsets: &OffsetBuffer<O>,
    values: &dyn Array,
    names: Names,
    sizes: &mut [u64],
) {
    let first = offsets.first().map_or(0, |offset| offset.as_usize());
    let last = offsets.last().map_or(0, |offset| offset.as_usize());
    let items = item_sizes(&values.slice(first, last - first), names);
    for (size, bounds) in sizes.iter_mut().zip(offsets.windows(2)) {
        *size += sum(&items, bounds[0].as_usize() - first, bounds[1].as_usize() - first) + FIXED_WIDTH;
    }
}

/// The sizes of all items before each, so that those of a list are one subtraction.
fn item_sizes(items: &dyn Array, names: Names) -> Vec<u64> {
    let mut sizes = vec![0; items.len() + 1];
    add_sizes(items, names, &mut sizes[1..]);
    let mut total = 0;
    for size in &mut sizes {
        total += *size;
        *size = total;
    }
    sizes
}

fn sum(before: &[u64], begin: usize, end: usize) -> u64 {
    before[end] - before[begin]
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{
        ArrayRef, DictionaryArray, Int32Array, ListArray, MapBuilder, StringArray, StringBuilder,
        StringViewArray, StringViewBuilder, StructArray,
    };
    use datafusion::arrow::datatypes::{Field, Int32Type};

    use super::*;

    const LONG: usize = 1 << 20;
    const ROWS: usize = 100;

    /// A text of [`LONG`] bytes in each of [`ROWS`] rows, which is in memory once.
    fn repeated() -> DictionaryArray<Int32Type> {
        let text = StringArray::from(vec!["x".repeat(LONG)]);
        DictionaryArray::new(Int32Array::from(vec![0; ROWS]), Arc::new(text))
    }

    fn views() -> StringViewArray {
        let mut builder = StringViewBuilder::new();
        let block = builder.append_block("x".repeat(LONG).into_bytes().into());
        for _ in 0..ROWS {
            builder.try_append_view(block, 0, LONG as u32).expect("inside of the block");
        }
        builder.finish()
    }

    fn list_of(items: ArrayRef) -> ArrayRef {
        let field = Arc::new(Field::new("item", items.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths(vec![1; items.len()]);
        Arc::new(ListArray::new(field, offsets, items, None))
    }

    fn struct_of(child: ArrayRef) -> ArrayRef {
        let field = Arc::new(Field::new("child", child.data_type().clone(), true));
        Arc::new(StructArray::from(vec![(field, child)]))
    }

    fn map() -> ArrayRef {
        let mut builder = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
        let text = "x".repeat(LONG);
        for _ in 0..ROWS {
            builder.keys().append_value("k");
            builder.values().append_value(&text);
            builder.append(true).expect("equal lengths");
        }
        Arc::new(builder.finish())
    }

    #[test]
    fn repeated_text_is_cut_at_any_depth() {
        let repeated: ArrayRef = Arc::new(repeated());
        let views: ArrayRef = Arc::new(views());
        let columns = [
            Arc::clone(&repeated),
            Arc::clone(&views),
            list_of(Arc::clone(&repeated)),
            list_of(struct_of(list_of(views))),
            struct_of(repeated),
            map(),
        ];
        for column in columns {
            let kind = column.data_type().clone();
            // A slice begins at other offsets.
            let batch = RecordBatch::try_from_iter([("c", column)]).expect("one column").slice(1, ROWS - 1);
            for pieces in [columnar_pieces(&batch), text_pieces(&batch)] {
                let pieces = pieces.expect("small rows");
                assert_eq!(pieces.iter().map(RecordBatch::num_rows).sum::<usize>(), ROWS - 1, "{kind}");
                let largest = pieces.iter().map(RecordBatch::num_rows).max().expect("pieces");
                assert!((1..=PIECE_BYTES as usize / LONG).contains(&largest), "{kind}: {largest}");
            }
        }
    }

    #[test]
    fn rows_that_say_no_text_are_not_cut() {
        let nulls = DictionaryArray::<Int32Type>::new(
            Int32Array::from(vec![None; ROWS]),
            Arc::new(StringArray::from(vec!["x".repeat(LONG)])),
        );
        let none = DictionaryArray::<Int32Type>::new(
            Int32Array::from(vec![None; ROWS]),
            Arc::new(StringArray::from(Vec::<String>::new())),
        );
        let numbers = Int32Array::from_iter_values(0..ROWS as i32);
        let columns: [ArrayRef; 3] = [Arc::new(nulls), Arc::new(none), Arc::new(numbers)];
        for column in columns {
            let batch = RecordBatch::try_from_iter([("c", column)]).expect("one column");
            assert_eq!(columnar_pieces(&batch).expect("small rows"), [batch]);
        }
    }

    #[test]
    fn long_names_count_where_each_row_says_them() {
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..ROWS as i32));
        let batch = RecordBatch::try_from_iter([("n".repeat(LONG), numbers)]).expect("one column");
        assert_eq!(columnar_pieces(&batch).expect("small rows").len(), 1);
        assert!(text_pieces(&batch).expect("small rows").len() > ROWS / 5);
    }

    #[test]
    fn a_row_that_is_too_large_is_refused() {
        let text: ArrayRef = Arc::new(repeated());
        let field = Arc::new(Field::new("item", text.data_type().clone(), true));
        let keys = Int32Array::from(vec![0; 2000]);
        let items = DictionaryArray::<Int32Type>::new(keys, Arc::clone(text.as_any_dictionary().values()));
        let list: ArrayRef =
            Arc::new(ListArray::new(field, OffsetBuffer::from_lengths([2000]), Arc::new(items), None));
        let batch = RecordBatch::try_from_iter([("c", list)]).expect("one column");
        let error = columnar_pieces(&batch).expect_err("2 GB in a row").to_string();
        assert!(error.contains("one row"), "{error}");
    }
}
