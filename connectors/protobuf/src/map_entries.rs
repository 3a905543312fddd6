//! Duplicate keys of a map: the last entry wins, in the place of the first (section 5 of the mapping).

use std::collections::HashMap;
use std::hash::Hash;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Decimal128Type, Int32Type, Int64Type, UInt32Type, UInt64Type};

use crate::fault::Result;

/// Maps of up to this many entries are compared pair by pair.
const FEW: usize = 8;

/// The entries that stay, in order, with `offsets` made theirs; `None` if all do.
pub(crate) fn entries_to_keep(
    offsets: &mut [i32],
    withdrawn: &[usize],
    keys: &ArrayRef,
) -> Option<UInt32Array> {
    match keys.data_type() {
        DataType::Utf8 => {
            let keys = keys.as_string::<i32>();
            keep_by(offsets, withdrawn, |entry| keys.value(entry))
        }
        DataType::LargeUtf8 => {
            let keys = keys.as_string::<i64>();
            keep_by(offsets, withdrawn, |entry| keys.value(entry))
        }
        DataType::Utf8View => {
            let keys = keys.as_string_view();
            keep_by(offsets, withdrawn, |entry| keys.value(entry))
        }
        DataType::Int32 => keep_by_number::<Int32Type>(offsets, withdrawn, keys),
        DataType::Int64 => keep_by_number::<Int64Type>(offsets, withdrawn, keys),
        DataType::UInt32 => keep_by_number::<UInt32Type>(offsets, withdrawn, keys),
        DataType::UInt64 => keep_by_number::<UInt64Type>(offsets, withdrawn, keys),
        DataType::Decimal128(..) => keep_by_number::<Decimal128Type>(offsets, withdrawn, keys),
        _ => {
            let keys = keys.as_boolean().values();
            keep_by(offsets, withdrawn, |entry| keys.value(entry))
        }
    }
}

#[expect(clippy::indexing_slicing, reason = "entries are those that the offsets lead to, and each has a key")]
fn keep_by_number<T: ArrowPrimitiveType<Native: Hash + Eq>>(
    offsets: &mut [i32],
    withdrawn: &[usize],
    keys: &ArrayRef,
) -> Option<UInt32Array> {
    let keys = keys.as_primitive::<T>().values();
    keep_by(offsets, withdrawn, |entry| keys[entry])
}

/// The keys and values of the entries that stay.
///
/// # Errors
/// Those of Arrow's `take`.
pub(crate) fn keep_entries(kept: &UInt32Array, keys: &ArrayRef, values: &ArrayRef) -> Result<[ArrayRef; 2]> {
    Ok([take(keys, kept, None)?, take(values, kept, None)?])
}

fn keep_by<K: Hash + Eq>(
    offsets: &mut [i32],
    withdrawn: &[usize],
    key: impl Fn(usize) -> K,
) -> Option<UInt32Array> {
    let rows = || offsets.array_windows().map(|&[begin, end]| begin as usize..end as usize);
    if withdrawn.is_empty() && rows().all(|row| are_distinct(row, &key)) {
        return None;
    }
    let mut kept: Vec<u32> = Vec::new();
    let mut ends = Vec::new();
    let mut withdrawn = withdrawn.iter().copied().peekable();
    for row in rows() {
        let mut places = HashMap::new();
        for entry in row {
            if withdrawn.next_if_eq(&entry).is_some() {
                continue;
            }
            let place = *places.entry(key(entry)).or_insert(kept.len());
            match kept.get_mut(place) {
                Some(earlier) => *earlier = entry as u32,
                None => kept.push(entry as u32),
            }
        }
        ends.push(kept.len() as i32);
    }
    offsets.iter_mut().skip(1).zip(ends).for_each(|(offset, end)| *offset = end);
    Some(kept.into())
}

fn are_distinct<K: Hash + Eq>(entries: std::ops::Range<usize>, key: impl Fn(usize) -> K) -> bool {
    if entries.len() > FEW {
        let count = entries.len();
        return entries.map(key).collect::<std::collections::HashSet<K>>().len() == count;
    }
    entries.clone().all(|entry| (entries.start..entry).all(|earlier| key(earlier) != key(entry)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, StringArray};

    use super::*;

    #[test]
    fn the_last_entry_takes_the_place_of_the_first() {
        let keys: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "a", "b", "c", "x", "x"]));
        let mut offsets = [0, 5, 5, 7];
        let kept = entries_to_keep(&mut offsets, &[], &keys).expect("there are duplicates");
        assert_eq!(kept.values().as_ref(), [2, 3, 4, 6]);
        assert_eq!(offsets, [0, 3, 3, 4]);
    }

    #[test]
    fn withdrawn_entries_are_as_if_never_seen() {
        let keys: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 1, 3]));
        let mut offsets = [0, 3, 4];
        let kept = entries_to_keep(&mut offsets, &[2, 3], &keys).expect("some are withdrawn");
        assert_eq!((kept.values().as_ref(), offsets), ([0, 1].as_slice(), [0, 2, 2]));
    }

    #[test]
    fn distinct_keys_stay_as_they_are() {
        let keys: ArrayRef = Arc::new(Int64Array::from_iter_values((0..100).chain([0])));
        let mut offsets = [0, 100, 101];
        assert!(entries_to_keep(&mut offsets, &[], &keys).is_none());
        let keys: ArrayRef = Arc::new(Int64Array::from_iter_values((0..100).chain([0])));
        assert_eq!(entries_to_keep(&mut [0, 101], &[], &keys).expect("key 0 is there twice").len(), 100);
    }
}
