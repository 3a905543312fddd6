//! Which column a feature's name means.

use std::collections::HashMap;

/// The names of all columns. Most records have their features in the order of the record before: what came
/// after a name then is compared first, and a name is looked up only if it is another one.
#[derive(Debug)]
pub(super) struct Names {
    names: Vec<Box<[u8]>>,
    indices: HashMap<Box<[u8]>, usize>,
    /// By column, the one that last came after it; the last item is for the begin of a record.
    next: Vec<usize>,
    /// The column that was found last, or the number of columns at the begin of a record.
    last: usize,
}

impl Names {
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let names: Vec<Box<[u8]>> = names.map(|name| name.as_bytes().into()).collect();
        let indices = names.iter().cloned().zip(0..).collect();
        Self { indices, next: vec![0; names.len() + 1], last: names.len(), names }
    }

    /// A record begins.
    pub(super) fn restart(&mut self) {
        self.last = self.names.len();
    }

    /// The index of the column of this name.
    #[inline]
    pub(super) fn find(&mut self, name: &[u8]) -> Option<usize> {
        let expected = self.next[self.last];
        let index = match self.names.get(expected) {
            Some(known) if **known == *name => expected,
            _ => {
                let index = *self.indices.get(name)?;
                self.next[self.last] = index;
                index
            }
        };
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
            names.restart();
            for name in record.bytes() {
                assert_eq!(names.find(&[name]), b"abc".iter().position(|known| *known == name), "{record}");
            }
        }
        assert_eq!(Names::new(std::iter::empty()).find(b"a"), None);
    }
}
