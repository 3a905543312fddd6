//! Enum numbers to the names that a column shows (section 3 of the mapping).

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, DictionaryArray, Int32Array, StringArray};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type};

use crate::descriptor::Enum;
use crate::fault::Result;
use crate::numbers::words;
use crate::options::EnumForm;
use crate::text::texts;

/// Numbers below this are looked up in a table.
const DENSE: usize = 1024;

/// The names of an enum type as the values of a dictionary, and the key of each number.
#[derive(Debug)]
pub(crate) struct EnumNames {
    names: ArrayRef,
    dense: Vec<Option<i32>>,
    sparse: HashMap<i32, i32>,
    first: i32,
}

impl EnumNames {
    /// One name per number, the first declared, in declaration order.
    pub(crate) fn new(enumeration: &Enum) -> Self {
        let mut sparse = HashMap::new();
        let mut names = Vec::new();
        for value in &enumeration.values {
            sparse.entry(value.number).or_insert_with(|| {
                let key = names.len() as i32;
                names.push(value.name.as_str());
                key
            });
        }
        let small = sparse.keys().filter_map(|&number| usize::try_from(number).ok()).filter(|&n| n < DENSE);
        let dense = small.max().into_iter().flat_map(|largest| 0..=largest);
        Self {
            dense: dense.map(|number| sparse.get(&(number as i32)).copied()).collect(),
            sparse,
            names: Arc::new(StringArray::from(names)),
            first: enumeration.values.first().map_or(0, |value| value.number),
        }
    }

    /// The number of the first declared value, which is the default.
    pub(crate) fn first(&self) -> i32 {
        self.first
    }

    /// The dictionary key of `number`, if the enum has it.
    #[inline]
    pub(crate) fn key(&self, number: i32) -> Option<i32> {
        match self.dense.get(number as usize) {
            Some(&key) => key,
            None => self.sparse.get(&number).copied(),
        }
    }

    /// A column of numbers as `shown`, of type `data_type`. Numbers without a name show as their digits.
    pub(crate) fn column(
        &self,
        shown: EnumForm,
        data_type: &DataType,
        numbers: Vec<u32>,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        match shown {
            EnumForm::Name => self.dictionary(numbers, nulls),
            EnumForm::Number => words(data_type, true, numbers, nulls),
            EnumForm::String => {
                let dictionary = self.dictionary(numbers, nulls)?;
                Ok(cast(&dictionary, data_type)?)
            }
        }
    }

    /// The dictionary of a column of numbers. Unknown ones show as digits, in a copy of the names made for
    /// this column.
    fn dictionary(&self, numbers: Vec<u32>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let mut unknown: Vec<i32> = Vec::new();
        let mut unknown_keys = HashMap::new();
        let named = self.names.len() as i32;
        let key = |number: u32| {
            let number = number as i32;
            self.key(number).unwrap_or_else(|| {
                *unknown_keys.entry(number).or_insert_with(|| {
                    let key = named.saturating_add(unknown.len() as i32);
                    unknown.push(number);
                    key
                })
            })
        };
        let keys = Int32Array::new(numbers.into_iter().map(key).collect(), nulls);
        let names =
            if unknown.is_empty() { Arc::clone(&self.names) } else { self.names_and_digits(&unknown)? };
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, names)?))
    }

    /// The names, and behind them the digits of `unknown`.
    ///
    /// # Errors
    /// [`FaultKind::TooLarge`](crate::fault::FaultKind::TooLarge) beyond what 32-bit offsets reach.
    fn names_and_digits(&self, unknown: &[i32]) -> Result<ArrayRef> {
        let names = self.names.as_any().downcast_ref::<StringArray>();
        let names = names.into_iter().flatten().flatten().map(str::to_string);
        let names = names.chain(unknown.iter().map(i32::to_string));
        texts(names.map(|name| Ok(Some(name))), &DataType::Utf8)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, AsArray};

    use super::*;
    use crate::descriptor::EnumValue;

    fn names(values: &[(&str, i32)]) -> EnumNames {
        let value = |&(name, number): &(&str, i32)| EnumValue { name: name.to_string(), number };
        let values = values.iter().map(value).collect();
        EnumNames::new(&Enum { full_name: "E".to_string(), values, closed: false })
    }

    fn texts(column: &ArrayRef) -> Vec<String> {
        let texts = cast(column, &DataType::Utf8).expect("a dictionary of text");
        texts.as_string::<i32>().iter().flatten().map(str::to_string).collect()
    }

    #[test]
    fn numbers_show_as_the_first_name_or_as_digits() {
        let names = names(&[("ZERO", 0), ("ONE", 1), ("UNO", 1), ("FAR", 1 << 30), ("MINUS", -5)]);
        let numbers = [0, 1, 1 << 30, -5i32 as u32, 7, -1i32 as u32, 7].to_vec();
        let column = names.dictionary(numbers, None).expect("keys are in range");
        assert_eq!(texts(&column), ["ZERO", "ONE", "FAR", "MINUS", "7", "-1", "7"]);
    }

    #[test]
    fn columns_without_unknown_numbers_share_the_names() {
        let names = names(&[("A", 0), ("B", 1)]);
        let [one, two] =
            [[0, 1], [1, 1]].map(|numbers| names.dictionary(numbers.to_vec(), None).expect("known"));
        let values =
            |column: &ArrayRef| column.as_dictionary::<Int32Type>().values().to_data().buffers()[1].as_ptr();
        assert_eq!(values(&one), values(&two));
    }
}
