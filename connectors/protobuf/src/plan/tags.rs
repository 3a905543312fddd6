//! From tag to slot.

use crate::wire::{tag_of, wire_type};

/// Field numbers up to this are always in the table; larger ones if the fields are not too sparse.
const DENSE_NUMBERS: u32 = 31;

/// From tags to indices of slots: a table for the smaller field numbers, a sorted list for the others.
#[derive(Debug)]
pub(super) struct TagTable {
    dense: Vec<u32>,
    sparse: Vec<(u32, u32)>,
}

impl TagTable {
    /// The index for fields that are not known.
    pub(super) const UNKNOWN: u32 = 0;
    /// The index for known fields with another wire type.
    pub(super) const MISMATCH: u32 = 1;
    /// The index for known fields that are not wanted and of wire type 0; those of the others follow.
    pub(super) const UNWANTED: u32 = 2;

    /// A table in which every wire type of the field `numbers` is a mismatch.
    #[expect(clippy::arithmetic_side_effects, reason = "a field number has 29 bits")]
    pub(super) fn new(numbers: &[u32]) -> Self {
        let limit = DENSE_NUMBERS.max((numbers.len() as u32).saturating_mul(8));
        let largest = numbers.iter().copied().filter(|&number| number <= limit).max();
        let mut dense = vec![Self::UNKNOWN; largest.map_or(0, |number| tag_of(number + 1, 0) as usize)];
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
                Some(place) => *place = Self::MISMATCH,
                None => sparse.push((tag, Self::MISMATCH)),
            }
        }
        sparse.sort_unstable_by_key(|&(tag, _)| tag);
        Self { dense, sparse }
    }

    /// Lets `tag`, of one of the field numbers, lead to `index`.
    pub(super) fn set(&mut self, tag: u32, index: u32) {
        if let Some(place) = self.dense.get_mut(tag as usize) {
            *place = index;
        } else if let Ok(at) = self.sparse.binary_search_by_key(&tag, |&(tag, _)| tag)
            && let Some((_, place)) = self.sparse.get_mut(at)
        {
            *place = index;
        }
    }

    /// The index that `tag` leads to.
    #[inline(always)]
    pub(super) fn get(&self, tag: u32) -> u32 {
        match self.dense.get(tag as usize) {
            Some(&index) => index,
            None => self.get_sparse(tag),
        }
    }

    #[cold]
    fn get_sparse(&self, tag: u32) -> u32 {
        let found = self.sparse.binary_search_by_key(&tag, |&(tag, _)| tag);
        found.ok().and_then(|at| self.sparse.get(at)).map_or(Self::UNKNOWN, |&(_, index)| index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_and_far_numbers_are_found() {
        let mut table = TagTable::new(&[1, 15, 31, 536_870_911]);
        for (index, number) in (8..).zip([1, 15, 31, 536_870_911]) {
            table.set(tag_of(number, wire_type::VARINT), index);
            assert_eq!(table.get(tag_of(number, wire_type::VARINT)), index);
            assert_eq!(table.get(tag_of(number, wire_type::FIXED64)), TagTable::MISMATCH);
            assert_eq!(table.get(tag_of(number, wire_type::END_GROUP)), TagTable::UNKNOWN);
        }
        assert_eq!(table.get(tag_of(2, wire_type::VARINT)), TagTable::UNKNOWN);
        assert_eq!(table.get(tag_of(32, wire_type::VARINT)), TagTable::UNKNOWN);
    }
}
