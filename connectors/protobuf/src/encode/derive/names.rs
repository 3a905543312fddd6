//! Names of fields, message types and enums that are made from column names (section 8.2, names).

use std::collections::HashSet;

use arrow::datatypes::Fields;
use recordfusion_core::{Error, Result};

use crate::descriptor::json_name;

/// What a column's field is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldName {
    /// The name: an identifier.
    pub name: String,
    /// The name in JSON, where it is not the one that the name makes.
    pub json_name: Option<String>,
}

/// The names of the fields of these columns, in their order. Names that are identifiers are kept.
///
/// # Errors
/// [`Error::Schema`] for two columns of one name.
pub(crate) fn field_names(columns: &Fields) -> Result<Vec<FieldName>> {
    let mut known = HashSet::new();
    if let Some(twice) = columns.iter().find(|column| !known.insert(column.name())) {
        return Err(Error::Schema(format!("two columns are called '{}'; give them aliases", twice.name())));
    }
    let mut taken = Taken::default();
    let mut names = vec![String::new(); columns.len()];
    for kept in [true, false] {
        for (name, column) in names.iter_mut().zip(columns) {
            if is_identifier(column.name()) == kept {
                *name = taken.take(&identifier(column.name()));
            }
        }
    }
    let named = |(name, column): (String, &arrow::datatypes::FieldRef)| {
        let json_name = (name != *column.name()).then(|| column.name().clone());
        FieldName { name, json_name }
    };
    let mut fields: Vec<FieldName> = names.into_iter().zip(columns).map(named).collect();
    let mut in_json = HashSet::new();
    let shown = |field: &FieldName| field.json_name.clone().unwrap_or_else(|| json_name(&field.name));
    if !fields.iter().all(|field| in_json.insert(shown(field))) {
        // The names of the columns differ, so that they can be the names in JSON.
        for (field, column) in fields.iter_mut().zip(columns) {
            field.json_name = Some(column.name().clone());
        }
    }
    Ok(fields)
}

/// Names of fields that are given away. Compilers of proto3 refuse two that differ only in case and
/// underscores.
#[derive(Debug, Default)]
struct Taken(HashSet<String>);

impl Taken {
    fn take(&mut self, wanted: &str) -> String {
        let bare = |name: &str| name.replace('_', "").to_lowercase();
        let name = first_free(wanted, |name| !self.0.contains(&bare(name)));
        self.0.insert(bare(&name));
        name
    }
}

/// The first of `wanted`, `wanted_2`, `wanted_3`, ... that is free.
fn first_free(wanted: &str, free: impl Fn(&String) -> bool) -> String {
    let numbered = (2u64..).map(|number| format!("{wanted}_{number}"));
    [wanted.to_string()].into_iter().chain(numbered).find(free).unwrap_or_default()
}

/// Takes the first of `wanted`, `wanted_2`, ... that is not in `taken`.
pub(super) fn take(taken: &mut HashSet<String>, wanted: &str) -> String {
    let name = first_free(wanted, |name| !taken.contains(name));
    taken.insert(name.clone());
    name
}

/// Whether a name can be a field's.
pub(super) fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `name` with `_` for each character that a name cannot have, and `f` before a digit that it begins with.
fn identifier(name: &str) -> String {
    let kept = |character: char| if character.is_ascii_alphanumeric() { character } else { '_' };
    let name: String = name.chars().map(kept).collect();
    match name.bytes().next() {
        None => "_".to_string(),
        Some(b'0'..=b'9') => format!("f{name}"),
        Some(_) => name,
    }
}

/// The name of a message type for a field.
pub(super) fn message_name(field: &str) -> String {
    let name = upper_camel(field);
    if is_identifier(&name) { name } else { format!("M{name}") }
}

/// A name without underscores, with a capital at the beginning of each word. The entry type of a map field is
/// called so, with `Entry` behind it.
pub(super) fn upper_camel(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut capital = true;
    for character in name.chars() {
        match character {
            '_' => capital = true,
            _ if std::mem::take(&mut capital) => camel.push(character.to_ascii_uppercase()),
            _ => camel.push(character),
        }
    }
    camel
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field};

    use super::*;

    fn columns(names: &[&str]) -> Fields {
        names.iter().map(|name| Field::new(*name, DataType::Int32, true)).collect()
    }

    #[test]
    fn names_become_identifiers() {
        type Named = (&'static str, Option<&'static str>);
        let cases: &[(&[&str], &[Named])] = &[
            (
                &["a", "b_c", "_x", "Größe"],
                &[("a", None), ("b_c", None), ("_x", None), ("Gr__e", Some("Größe"))],
            ),
            (
                &["count(*)", "1a", ""],
                &[("count___", Some("count(*)")), ("f1a", Some("1a")), ("_", Some(""))],
            ),
            (&["a b", "a_b", "a.b"], &[("a_b_2", Some("a b")), ("a_b", None), ("a_b_3", Some("a.b"))]),
            (&["a_b", "aB"], &[("a_b", Some("a_b")), ("aB_2", Some("aB"))]),
            (&["x", "X"], &[("x", None), ("X_2", Some("X"))]),
            (&["ab", "a_b", "_"], &[("ab", None), ("a_b_2", Some("a_b")), ("_", None)]),
        ];
        for (given, expected) in cases {
            let names = field_names(&columns(given)).expect("distinct");
            let names: Vec<_> =
                names.iter().map(|field| (field.name.as_str(), field.json_name.as_deref())).collect();
            assert_eq!(names, *expected, "{given:?}");
        }
    }

    #[test]
    fn one_name_twice_is_an_error() {
        let error = field_names(&columns(&["a", "b", "a"])).unwrap_err();
        assert_eq!(error.to_string(), "two columns are called 'a'; give them aliases");
    }

    #[test]
    fn message_types_are_named_after_fields() {
        for (field, name) in
            [("address", "Address"), ("home_address", "HomeAddress"), ("_1", "M1"), ("_", "M")]
        {
            assert_eq!(message_name(field), name);
        }
    }
}
