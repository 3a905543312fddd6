//! The names of columns (section 5 of the mapping, names).

use std::collections::HashMap;

use recordfusion_core::{Error, Result};

use super::{Form, Node};
use crate::descriptor::{Field, json_name};
use crate::options::Names;

/// The column name of a field.
pub(super) fn column_name(names: Names, field: &Field) -> String {
    match names {
        Names::Proto => field.name.clone(),
        Names::Json => field.json_name.clone(),
        Names::Lower => field.name.to_lowercase(),
    }
}

/// The column name of an extension: its full name in brackets.
pub(super) fn extension_name(names: Names, extension: &Field) -> String {
    match names {
        Names::Lower => format!("[{}]", extension.name.to_lowercase()),
        Names::Proto | Names::Json => format!("[{}]", extension.name),
    }
}

/// The name of the column that tells the member of a oneof.
pub(super) fn case_name(names: Names, oneof: &str) -> String {
    let name = format!("{oneof}_case");
    match names {
        Names::Proto => name,
        Names::Json => json_name(&name),
        Names::Lower => name.to_lowercase(),
    }
}

/// Checks that no two columns of a message have one name.
///
/// # Errors
/// [`Error::Schema`] that names both fields.
pub(super) fn check_distinct(message: &str, columns: &[Node]) -> Result<()> {
    let mut seen: HashMap<&str, &Node> = HashMap::new();
    for column in columns.iter().filter(|column| column.shown) {
        if let Some(other) = seen.insert(column.field.name(), column) {
            let is_case = |node: &Node| matches!(node.form, Form::Case { .. });
            let option = match is_case(column) || is_case(other) {
                true => "option 'oneof_case' adds one of them",
                false => "option 'names' says how columns are named",
            };
            return Err(Error::Schema(format!(
                "'{}' and '{}' of message type {message} both make a column '{}' ({option})",
                other.name,
                column.name,
                column.field.name()
            )));
        }
    }
    Ok(())
}
