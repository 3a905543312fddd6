//! Which column fills which field (section 8.4).

use std::collections::HashMap;

use arrow::datatypes::Fields;
use recordfusion_core::{Error, Result, nearest_names};

use crate::descriptor::{Cardinality, Field, Message, Presence};
use crate::options::ExtraColumns;

/// A column's index and its field.
pub(super) type Match<'m> = (usize, &'m Field);

/// The field of each column: by its name, else by its name in JSON, else by its name in any case if only one
/// fits. Extensions are called `[full.name]`. `path` is the struct that the columns are in.
///
/// # Errors
/// [`Error::Schema`] for columns without a field, all of them, with the nearest names; for two columns of one
/// field; for required fields without a column.
pub(super) fn by_name<'m>(
    columns: &Fields,
    message: &'m Message,
    extra: ExtraColumns,
    path: &str,
) -> Result<Vec<Match<'m>>> {
    let mut matches: Vec<Match<'m>> = Vec::new();
    let mut unmatched = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        match find(message, column.name()) {
            Some(field) => matches.push((index, field)),
            None => unmatched.push(column.name().as_str()),
        }
    }
    if !unmatched.is_empty() && extra == ExtraColumns::Error {
        return Err(without_field(&unmatched, message, path));
    }
    check_once(&matches, columns, path)?;
    check_required(&matches, message, path)?;
    Ok(matches)
}

/// Columns and fields of a message that was made for them: in the same order.
pub(super) fn by_position(message: &Message) -> Vec<Match<'_>> {
    message.fields.iter().enumerate().collect()
}

fn find<'m>(message: &'m Message, column: &str) -> Option<&'m Field> {
    if let Some(extension) = column.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        return message.extensions.iter().find(|field| field.name == extension);
    }
    let fields = &message.fields;
    let exact = fields.iter().find(|field| field.name == column);
    exact.or_else(|| fields.iter().find(|field| field.json_name == column)).or_else(|| {
        let fits = |field: &&Field| {
            field.name.eq_ignore_ascii_case(column) || field.json_name.eq_ignore_ascii_case(column)
        };
        let mut found = fields.iter().filter(fits);
        found.next().filter(|_| found.next().is_none())
    })
}

fn without_field(columns: &[&str], message: &Message, path: &str) -> Error {
    let extensions = message.extensions.iter().map(|field| format!("[{}]", field.name));
    let names: Vec<String> =
        message.fields.iter().map(|field| field.name.clone()).chain(extensions).collect();
    let described = columns.iter().map(|column| {
        let nearest = nearest_names(column, names.iter().map(String::as_str));
        let hint =
            if nearest.is_empty() { String::new() } else { format!(" (nearest: {})", nearest.join(", ")) };
        format!("'{}'{hint}", join(path, column))
    });
    Error::Schema(format!(
        "message type {} has no field for {} {}; the option extra_columns = ignore leaves columns out",
        message.full_name,
        if columns.len() == 1 { "the column" } else { "the columns" },
        described.collect::<Vec<_>>().join(", "),
    ))
}

fn check_once(matches: &[Match<'_>], columns: &Fields, path: &str) -> Result<()> {
    let mut known = HashMap::new();
    for (index, field) in matches {
        if let Some(first) = known.insert((field.number, &field.name), *index) {
            let name = |index: usize| columns.get(index).map_or("", |column| column.name());
            return Err(Error::Schema(format!(
                "the columns '{}' and '{}' are both for the field '{}'",
                join(path, name(first)),
                join(path, name(*index)),
                field.name
            )));
        }
    }
    Ok(())
}

fn check_required(matches: &[Match<'_>], message: &Message, path: &str) -> Result<()> {
    let is_missing = |field: &&Field| {
        field.presence == Presence::Required
            && field.cardinality == Cardinality::Singular
            && !matches.iter().any(|(_, known)| known.number == field.number)
    };
    let missing: Vec<String> = message
        .fields
        .iter()
        .filter(is_missing)
        .map(|field| format!("'{}'", join(path, &field.name)))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::Schema(format!(
        "message type {} requires {}, which no column fills",
        message.full_name,
        missing.join(", ")
    )))
}

/// The path of `name` inside `path`.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_string() } else { format!("{path}.{name}") }
}
