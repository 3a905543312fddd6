//! Which columns, and which leaves inside them, a scan decodes.

use std::collections::BTreeMap;

/// The columns of a scan's batches, in order. A column may be wanted in part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Projection {
    /// The wanted columns, in the order of the batches.
    pub columns: Vec<ColumnProjection>,
}

/// One wanted column of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnProjection {
    /// Index in the table's schema.
    pub index: usize,
    /// What of it is wanted.
    pub selection: Selection,
}

/// What is wanted of a column. Columns keep their type: a leaf that is not wanted is NULL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// Everything below.
    All,
    /// These fields of the struct. Lists are looked through to their items, maps to their values.
    /// Empty: only whether the struct, list, map or string is there, and how long the list or map is.
    Fields(BTreeMap<String, Selection>),
}

impl Projection {
    /// All of the first `columns` columns.
    pub fn all(columns: usize) -> Self {
        let column = |index| ColumnProjection { index, selection: Selection::All };
        Self { columns: (0..columns).map(column).collect() }
    }
}

impl Selection {
    /// Nothing but presence; the start for [`Self::add`].
    pub fn none() -> Self {
        Self::Fields(BTreeMap::new())
    }

    /// Adds the leaf or subtree at `path`; an empty path wants everything.
    pub fn add(&mut self, path: &[&str]) {
        match (path.split_first(), &mut *self) {
            (None, _) => *self = Self::All,
            (Some(_), Self::All) => {}
            (Some((first, rest)), Self::Fields(fields)) => {
                fields.entry((*first).to_string()).or_insert_with(Self::none).add(rest);
            }
        }
    }

    /// Adds whether the struct, list or map at `path` is there, and how long it is.
    pub fn add_shape(&mut self, path: &[&str]) {
        if let (Some((first, rest)), Self::Fields(fields)) = (path.split_first(), self) {
            fields.entry((*first).to_string()).or_insert_with(Self::none).add_shape(rest);
        }
    }

    /// Adds all that `other` wants.
    pub fn merge(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::All, _) => {}
            (_, Self::All) => *self = Self::All,
            (Self::Fields(fields), Self::Fields(others)) => {
                for (name, other) in others {
                    fields.entry(name.clone()).or_insert_with(Self::none).merge(other);
                }
            }
        }
    }

    /// What is wanted of the field `name`: `None` if nothing is.
    pub fn field(&self, name: &str) -> Option<&Self> {
        match self {
            Self::All => Some(&Self::All),
            Self::Fields(fields) => fields.get(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_field_absorbs_its_parts() {
        let mut selection = Selection::none();
        selection.add(&["a", "b"]);
        selection.add(&["c"]);
        assert_eq!(selection.field("a").and_then(|a| a.field("x")), None);
        selection.add(&["a"]);
        selection.add(&["a", "z"]);
        assert_eq!(selection.field("a"), Some(&Selection::All));
        assert_eq!(selection.field("d"), None);
        selection.add(&[]);
        assert_eq!(selection, Selection::All);
    }

    #[test]
    fn merged_selections_want_what_either_wants() {
        let of = |paths: &[&[&str]]| {
            let mut selection = Selection::none();
            paths.iter().for_each(|path| selection.add(path));
            selection
        };
        for (one, other, both) in [
            (of(&[]), of(&[&["a"]]), of(&[&["a"]])),
            (of(&[&["a", "b"]]), of(&[&["a", "c"], &["d"]]), of(&[&["a", "b"], &["a", "c"], &["d"]])),
            (of(&[&["a", "b"]]), of(&[&["a"]]), of(&[&["a"]])),
            (of(&[&["a"]]), Selection::All, Selection::All),
        ] {
            for (mut left, right) in [(one.clone(), &other), (other.clone(), &one)] {
                left.merge(right);
                assert_eq!(left, both);
            }
        }
    }
}
