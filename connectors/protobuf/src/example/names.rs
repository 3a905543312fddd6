//! Which column a feature's name means.

use std::collections::HashMap;

/// The names of all columns. Most records have their features in the order of the record before: what came
/// after a name then is compared first, and a name is looked up only if it is another one.
#[derive(Debug)]
pub(super) struct Names {
    names: Vec<Box<[u8]>>,
    indices: HashMap<Box<[u8]>, usize>,
    /// By column, the one that came after it the last time, if need be in the next record.
    next: Vec<usize>,
    /// The column that was found last.
    last: usize,
}

impl Names {
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let names: Vec<Box<[u8]>> = names.map(|name| name.as_bytes().into()).collect();
        let indices = names.iter().cloned().zip(0..).collect();
        Self { indices, next: vec![0; names.len()], last: 0, names }
    }

    /// The index of the column of this name.
    #[inline]
    pub(super) fn find(&mut self, name: &[u8]) -> Option<usize> {
        let expected = self.next.get_mut(self.last)?;
        match self.names.get(*expected) {
            Some(known) if **known == *name => {}
            _ => *expected = *self.indices.get(name)?,
        }
        let index = *expected;
        self.last = index;
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_order() {
        let mut names = Names::new(["a", "b", "c"].into_iter());
        for record in ["abc", "abc", "cab", "b", "", "xaxbxc", "aab", "cba", "abc"] {
            for name in record.bytes() {
                assert_eq!(names.find(&[name]), b"abc".iter().position(|known| *known == name), "{record}");
            }
        }
        assert_eq!(Names::new(std::iter::empty()).find(b"a"), None);
    }
}
