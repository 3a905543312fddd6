//! From tag to slot.

use crate::wire::{tag_of, wire_type};

/// Field numbers up to this are always in the table; larger ones if the fields are not too sparse.
const DENSE_NUMBERS: u32 = 31;

/// What a tag leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Entry(u32);

impl Entry {
    /// A field that is not known, or not wanted.
    pub(crate) const UNKNOWN: Self = Self(0);
    /// A known field with another wire type.
    pub(crate) const MISMATCH: Self = Self(1);

    /// The slot of this index.
    pub(crate) fn slot(index: usize) -> Self {
        Self(index as u32 + 2)
    }

    /// The index of the slot, if it is one.
    #[inline(always)]
    pub(crate) fn index(self) -> Option<usize> {
        self.0.checked_sub(2).map(|index| index as usize)
    }
}

/// Entries by tag: a table for the smaller field numbers, a sorted list for the others.
#[derive(Debug, Default)]
pub(crate) struct TagTable {
    dense: Vec<Entry>,
    sparse: Vec<(u32, Entry)>,
}

impl TagTable {
    /// A table in which every wire type of the field `numbers` is a mismatch.
    pub(crate) fn new(numbers: &[u32]) -> Self {
        let limit = DENSE_NUMBERS.max(8 * numbers.len() as u32);
        let largest = numbers.iter().copied().filter(|&number| number <= limit).max();
        let mut dense = vec![Entry::UNKNOWN; largest.map_or(0, |number| tag_of(number + 1, 0) as usize)];
        let mut sparse = Vec::new();
        let types = [
            wire_type::VARINT,
            wire_type::FIXED64,
            wire_type::LENGTH_DELIMITED,
            wire_type::START_GROUP,
            wire_type::FIXED32,
        ];
        for tag in numbers.iter().flat_map(|&number| types.map(|wire_type| tag_of(number, wire_type))) {
            match dense.get_mut(tag as usize) {
                Some(place) => *place = Entry::MISMATCH,
                None => sparse.push((tag, Entry::MISMATCH)),
            }
        }
        sparse.sort_unstable_by_key(|&(tag, _)| tag);
        Self { dense, sparse }
    }

    /// Lets `tag`, of one of the field numbers, lead to `entry`.
    pub(crate) fn set(&mut self, tag: u32, entry: Entry) {
        if let Some(place) = self.dense.get_mut(tag as usize) {
            *place = entry;
        } else if let Ok(index) = self.sparse.binary_search_by_key(&tag, |&(tag, _)| tag) {
            self.sparse[index].1 = entry;
        }
    }

    /// What `tag` leads to.
    #[inline(always)]
    pub(crate) fn get(&self, tag: u32) -> Entry {
        match self.dense.get(tag as usize) {
            Some(&entry) => entry,
            None => self.get_sparse(tag),
        }
    }

    #[cold]
    fn get_sparse(&self, tag: u32) -> Entry {
        let found = self.sparse.binary_search_by_key(&tag, |&(tag, _)| tag);
        found.map_or(Entry::UNKNOWN, |index| self.sparse[index].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_and_far_numbers_are_found() {
        let mut table = TagTable::new(&[1, 15, 31, 536_870_911]);
        for (index, number) in [1, 15, 31, 536_870_911].into_iter().enumerate() {
            table.set(tag_of(number, wire_type::VARINT), Entry::slot(index));
            assert_eq!(table.get(tag_of(number, wire_type::VARINT)).index(), Some(index));
            assert_eq!(table.get(tag_of(number, wire_type::FIXED64)), Entry::MISMATCH);
            assert_eq!(table.get(tag_of(number, wire_type::END_GROUP)), Entry::UNKNOWN);
        }
        assert_eq!(table.get(tag_of(2, wire_type::VARINT)), Entry::UNKNOWN);
        assert_eq!(table.get(tag_of(32, wire_type::VARINT)), Entry::UNKNOWN);
    }
}
