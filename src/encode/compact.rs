//! Columns without the bytes that they share with others: string views keep the chunk alive that they point into,
//! and Arrow IPC would write it once for every such column.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, make_array};
use datafusion::arrow::datatypes::DataType;
use datafusion::error::Result;

/// The same values, with buffers that hold nothing else.
///
/// # Errors
/// None for valid arrays; Arrow checks what is put together again.
pub(crate) fn compact(column: &ArrayRef) -> Result<ArrayRef> {
    match column.data_type() {
        DataType::Utf8View => Ok(Arc::new(column.as_string_view().gc())),
        DataType::BinaryView => Ok(Arc::new(column.as_binary_view().gc())),
        _ if column.to_data().child_data().is_empty() => Ok(Arc::clone(column)),
        _ => {
            let data = column.to_data();
            let children = data.child_data().iter().map(|child| {
                let child = compact(&make_array(child.clone()))?;
                Ok(child.to_data())
            });
            let children = children.collect::<Result<Vec<_>>>()?;
            Ok(make_array(data.into_builder().child_data(children).build()?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{ListArray, StringViewArray, StructArray};
    use datafusion::arrow::buffer::OffsetBuffer;
    use datafusion::arrow::datatypes::Field;

    #[test]
    fn views_at_any_depth_let_go_of_what_they_share() {
        let texts: Vec<String> = (0..1000).map(|n| format!("a text of some length, number {n}")).collect();
        let views: ArrayRef = Arc::new(StringViewArray::from_iter_values(texts).slice(10, 4));
        let item = Arc::new(Field::new("item", DataType::Utf8View, true));
        let list = ListArray::new(item, OffsetBuffer::from_lengths([3, 1]), Arc::clone(&views), None);
        let list: ArrayRef = Arc::new(list);
        let field = Arc::new(Field::new("list", list.data_type().clone(), true));
        let nested: ArrayRef = Arc::new(StructArray::from(vec![(field, list)]));
        for column in [views, nested] {
            let compacted = compact(&column).expect("valid");
            assert_eq!(&compacted, &column);
            assert!(column.get_buffer_memory_size() > 30_000);
            assert!(compacted.get_buffer_memory_size() < 1_000, "{}", column.data_type());
        }
    }
}
