//! Values of views that are copied, so that they do not keep alive much more than they show.
//!
//! A view points into the records of a chunk. Who holds a batch for long, as a sort does, holds all of that chunk,
//! however little of it the columns show.

use arrow::array::ByteView;
use arrow::buffer::Buffer;
use recordfusion_core::{bytes_of_views, is_worth_a_copy};

use super::Fixed;

/// Most bytes of a value that lies in its view.
const MOST_INLINE: u32 = 12;

/// The buffers of columns that point into one. At most one of them goes on to: the others have new ones, and the views
/// point there then.
pub(crate) fn out_of_shared(columns: &mut [Fixed<u128>], buffer: &Buffer) -> Vec<Vec<Buffer>> {
    let mut buffers = vec![vec![buffer.clone()]; columns.len()];
    out_of_own(columns, &mut buffers);
    buffers
}

/// Likewise for columns that have their own buffers: each is looked at for itself.
pub(crate) fn out_of_own(columns: &mut [Fixed<u128>], buffers: &mut [Vec<Buffer>]) {
    for (column, buffers) in columns.iter_mut().zip(buffers) {
        let held = buffers.iter().map(Buffer::capacity).fold(0, usize::saturating_add);
        if is_worth_a_copy(bytes_of_views(column.values()), held) {
            *buffers = copied(column.values_mut(), buffers);
        }
    }
}

/// The buffer that the values were copied to, and the views point into; none if all lie in their views. A view that
/// points nowhere, which no decoder makes, becomes the empty value.
fn copied(views: &mut [u128], buffers: &[Buffer]) -> Vec<Buffer> {
    let mut bytes = Vec::with_capacity(bytes_of_views(views));
    for place in views {
        let view = ByteView::from(*place);
        if view.length <= MOST_INLINE {
            continue;
        }
        let begin = view.offset as usize;
        let data = buffers.get(view.buffer_index as usize);
        let value = data.and_then(|data| data.get(begin..begin.checked_add(view.length as usize)?));
        *place = match (value, u32::try_from(bytes.len())) {
            (Some(value), Ok(offset)) => {
                bytes.extend_from_slice(value);
                ByteView { buffer_index: 0, offset, ..view }.as_u128()
            }
            _ => 0,
        };
    }
    if bytes.is_empty() { Vec::new() } else { vec![Buffer::from_vec(bytes)] }
}

#[cfg(test)]
mod tests {
    use arrow::array::BinaryViewArray;

    use super::*;

    /// A column of the values of `array`.
    fn column(array: &BinaryViewArray) -> Fixed<u128> {
        let mut column = Fixed::new(0);
        array.views().iter().enumerate().for_each(|(row, &view)| {
            column.set(row, view);
        });
        column
    }

    fn values(column: &mut Fixed<u128>, rows: usize, buffers: Vec<Buffer>) -> BinaryViewArray {
        BinaryViewArray::try_new(column.take(rows).into(), buffers, None).expect("views into the buffers")
    }

    #[test]
    fn few_values_are_copied_and_many_are_not() {
        let texts: Vec<String> = (0..100).map(|number| format!("text number {number} of many")).collect();
        let all = BinaryViewArray::from_iter_values(texts.iter()).gc();
        let [buffer] = all.data_buffers() else { panic!("one buffer") };
        for (rows, copies) in [(100, false), (60, false), (40, true), (1, true), (0, true)] {
            let mut columns = [column(&all.slice(100 - rows, rows))];
            let buffers = out_of_shared(&mut columns, buffer).remove(0);
            assert_eq!(buffers.first().map(Buffer::as_ptr) != Some(buffer.as_ptr()), copies, "{rows}");
            let held: usize = buffers.iter().map(Buffer::len).sum();
            assert!(!copies || held < buffer.len() / 2, "{rows}: {held}");
            let found = values(&mut columns[0], rows, buffers);
            assert!(found.iter().flatten().eq(texts[100 - rows..].iter().map(String::as_bytes)), "{rows}");
            let mut columns = [column(&all.slice(100 - rows, rows))];
            let mut own = [vec![buffer.clone()]];
            out_of_own(&mut columns, &mut own);
            let [own] = own;
            assert_eq!(own.iter().map(Buffer::len).sum::<usize>() < buffer.len(), copies, "{rows}");
            assert_eq!(values(&mut columns[0], rows, own), found, "{rows}");
        }
    }

    #[test]
    fn no_two_columns_keep_the_same_buffer() {
        let texts = (0..100).map(|number| format!("text number {number:09}"));
        let all = BinaryViewArray::from_iter_values(texts).gc();
        let [buffer] = all.data_buffers() else { panic!("one buffer") };
        for cut in [0, 10, 40, 50, 60, 100] {
            let mut columns = [column(&all.slice(0, cut)), column(&all.slice(cut, 100 - cut))];
            let buffers = out_of_shared(&mut columns, buffer);
            let kept = buffers.iter().flatten().filter(|other| other.as_ptr() == buffer.as_ptr());
            assert_eq!(kept.count(), usize::from(cut != 50), "{cut}");
            let held: usize = buffers.iter().flatten().map(Buffer::capacity).sum();
            assert!(held <= buffer.capacity() * 3 / 2, "{cut}: {held}");
        }
    }
}
