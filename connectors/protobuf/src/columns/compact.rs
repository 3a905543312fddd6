//! Values of views that are copied, so that they do not keep alive much more than they show.
//!
//! A view points into the records of a chunk. Who holds a batch for long, as a sort does, holds all of that chunk,
//! however little of it the columns show.

use arrow::array::ByteView;
use arrow::buffer::Buffer;

use super::Fixed;

/// Most bytes of a value that lies in its view.
const MOST_INLINE: u32 = 12;

/// Whether values of so many bytes are better copied than kept in buffers of `held` bytes.
fn is_worth_a_copy(used: usize, held: usize) -> bool {
    used < held / 2
}

/// The values of columns that point into one buffer, of which `share` bytes are those of their rows: new buffers, one
/// for each column, if they use less than half of them. The views point there then.
pub(crate) fn out_of_shared(
    columns: &mut [Fixed<u128>],
    buffer: &Buffer,
    share: usize,
) -> Option<Vec<Vec<Buffer>>> {
    let used = columns.iter().map(|column| bytes_of(column.values())).fold(0, usize::saturating_add);
    if !is_worth_a_copy(used, share) {
        return None;
    }
    let copies = columns.iter_mut().map(|column| copied(column.values_mut(), std::slice::from_ref(buffer)));
    Some(copies.collect())
}

/// Likewise for columns that have their own buffers: each is looked at for itself.
pub(crate) fn out_of_own(columns: &mut [Fixed<u128>], buffers: &mut [Vec<Buffer>]) {
    for (column, buffers) in columns.iter_mut().zip(buffers) {
        let held = buffers.iter().map(Buffer::len).fold(0, usize::saturating_add);
        if is_worth_a_copy(bytes_of(column.values()), held) {
            *buffers = copied(column.values_mut(), buffers);
        }
    }
}

/// The bytes of the values that do not lie in their views.
fn bytes_of(views: &[u128]) -> usize {
    let lens = views.iter().map(|&view| view as u32).filter(|&len| len > MOST_INLINE);
    lens.fold(0, |sum, len| sum.saturating_add(len as usize))
}

/// The buffer that the values were copied to, and the views point into; none if all lie in their views. A view that
/// points nowhere, which no decoder makes, becomes the empty value.
fn copied(views: &mut [u128], buffers: &[Buffer]) -> Vec<Buffer> {
    let mut bytes = Vec::with_capacity(bytes_of(views));
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
        let all = BinaryViewArray::from_iter_values(texts.iter());
        let [buffer] = all.data_buffers() else { panic!("one buffer") };
        for (rows, copies) in [(100, false), (60, false), (40, true), (1, true), (0, true)] {
            let mut columns = [column(&all.slice(100 - rows, rows))];
            let buffers = out_of_shared(&mut columns, buffer, buffer.len());
            assert_eq!(buffers.is_some(), copies, "{rows}");
            let buffers = buffers.map_or(vec![buffer.clone()], |mut buffers| buffers.remove(0));
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
    fn what_several_columns_use_together_counts() {
        let all =
            BinaryViewArray::from_iter_values((0..100).map(|number| format!("text number {number:09}")));
        let [buffer] = all.data_buffers() else { panic!("one buffer") };
        let mut columns = [column(&all.slice(0, 40)), column(&all.slice(40, 40))];
        assert!(out_of_shared(&mut columns, buffer, buffer.len()).is_none());
    }
}
