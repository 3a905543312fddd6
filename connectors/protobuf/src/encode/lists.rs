//! Lists of every kind, and maps, as places in one array of values.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, GenericListArray, GenericListViewArray, OffsetSizeTrait};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

/// The values of lists.
#[derive(Debug)]
pub(super) struct Lists {
    /// Begin and end of each list in `values`; NULL is empty.
    pub(super) places: Vec<(usize, usize)>,
    /// The values that the lists reach to.
    pub(super) values: ArrayRef,
}

/// The lists, or the entries of the maps, of `array`.
///
/// # Errors
/// [`ArrowError::SchemaError`] for other types.
pub(super) fn lists(array: &ArrayRef) -> Result<Lists, ArrowError> {
    Ok(match array.data_type() {
        DataType::List(_) => of_list(array.as_list::<i32>()),
        DataType::LargeList(_) => of_list(array.as_list::<i64>()),
        DataType::ListView(_) => of_view(array.as_list_view::<i32>()),
        DataType::LargeListView(_) => of_view(array.as_list_view::<i64>()),
        DataType::FixedSizeList(_, size) => {
            let size = usize::try_from(*size).unwrap_or_default();
            let places = (0..array.len()).map(|row| (row * size, (row + 1) * size));
            reached(array, places, array.as_fixed_size_list().values())
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            let places = map.offsets().windows(2).map(|pair| (pair[0] as usize, pair[1] as usize));
            reached(array, places, &entries)
        }
        other => return Err(ArrowError::SchemaError(format!("values of type {other} are no lists"))),
    })
}

fn of_list<O: OffsetSizeTrait>(array: &GenericListArray<O>) -> Lists {
    let places = array.offsets().windows(2).map(|pair| (pair[0].as_usize(), pair[1].as_usize()));
    reached(array, places, array.values())
}

fn of_view<O: OffsetSizeTrait>(array: &GenericListViewArray<O>) -> Lists {
    let place = |(begin, size): (&O, &O)| (begin.as_usize(), begin.as_usize() + size.as_usize());
    reached(array, array.offsets().iter().zip(array.sizes().iter()).map(place), array.values())
}

/// Only what the lists reach to of `values`: of a batch cut from a larger one, a part.
fn reached(array: &dyn Array, places: impl Iterator<Item = (usize, usize)>, values: &ArrayRef) -> Lists {
    let kept = |(row, place): (usize, _)| if array.is_null(row) { (0, 0) } else { place };
    let mut places: Vec<(usize, usize)> = places.enumerate().map(kept).collect();
    let filled = || places.iter().filter(|(begin, end)| begin < end);
    let first = filled().map(|(begin, _)| *begin).min().unwrap_or(0);
    let last = filled().map(|(_, end)| *end).max().unwrap_or(0);
    for place in &mut places {
        *place = if place.0 < place.1 { (place.0 - first, place.1 - first) } else { (0, 0) };
    }
    Lists { places, values: values.slice(first, last - first) }
}
