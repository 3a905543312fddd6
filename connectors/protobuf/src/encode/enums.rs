//! Numbers of enums from names, digits and numbers (section 8.4).

use std::collections::{HashMap, HashSet};

use arrow::array::{Array, ArrayRef, AsArray, Int32Array};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Int32Type};
use arrow::error::ArrowError;
use recordfusion_core::nearest_names;

use super::numbers::exact;
use super::origin::plain;
use crate::descriptor::Enum;

/// The numbers of an enum by name.
#[derive(Debug)]
pub(super) struct EnumNumbers {
    full_name: String,
    by_name: HashMap<String, i32>,
    /// The numbers that there are, if the enum is closed.
    closed: Option<HashSet<i32>>,
}

impl EnumNumbers {
    pub(super) fn new(enumeration: &Enum) -> Self {
        let values = &enumeration.values;
        let numbers = || values.iter().map(|value| value.number).collect();
        Self {
            full_name: enumeration.full_name.clone(),
            by_name: values.iter().map(|value| (value.name.clone(), value.number)).collect(),
            closed: enumeration.closed.then(numbers),
        }
    }

    /// The numbers of a column of names or numbers; NULL for what the enum does not have. Names of a
    /// dictionary are looked up once.
    pub(super) fn numbers(&self, array: &ArrayRef) -> Result<Int32Array, ArrowError> {
        if let Some(dictionary) = array.as_any_dictionary_opt() {
            let numbers: ArrayRef = std::sync::Arc::new(self.numbers(dictionary.values())?);
            return Ok(take(&numbers, dictionary.keys(), None)?.as_primitive::<Int32Type>().clone());
        }
        if plain(array.data_type()).is_integer() {
            let numbers = exact(array, &DataType::Int32)?;
            let numbers = numbers.as_primitive::<Int32Type>();
            return Ok(numbers.iter().map(|number| self.known(number?)).collect());
        }
        let names = cast(array, &DataType::Utf8View)?;
        let names = names.as_string_view();
        Ok(names.iter().map(|name| self.number(name?)).collect())
    }

    fn number(&self, name: &str) -> Option<i32> {
        self.by_name.get(name).copied().or_else(|| self.known(digits(name)?))
    }

    fn known(&self, number: i32) -> Option<i32> {
        let known = self.closed.as_ref().is_none_or(|numbers| numbers.contains(&number));
        known.then_some(number)
    }

    /// Why `value` is none of the enum's.
    pub(super) fn explain(&self, value: &str) -> String {
        let mut names: Vec<&str> = self.by_name.keys().map(String::as_str).collect();
        names.sort_unstable();
        let nearest = nearest_names(value, names);
        let hint = if nearest.is_empty() {
            String::new()
        } else {
            format!("; did you mean {}?", nearest.join(" or "))
        };
        format!("'{value}' is no value of the enum {}{hint}", self.full_name)
    }
}

/// The number that its decimal digits show as.
fn digits(text: &str) -> Option<i32> {
    let number: i32 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}
