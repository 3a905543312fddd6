//! Field numbers of columns (section 8.2, numbers).

use std::collections::HashSet;

use arrow::datatypes::Fields;

use crate::encode::origin::field_id;

/// The highest field number.
const MAX: i32 = (1 << 29) - 1;

/// Whether a field may have this number.
fn is_valid(number: i32) -> bool {
    (1..=MAX).contains(&number) && !(19_000..20_000).contains(&number)
}

/// The numbers of the fields of these columns: those that the columns came with if they differ, and above
/// them the others; else 1, 2, ...
pub(super) fn field_numbers(columns: &Fields) -> Vec<i32> {
    let own: Vec<Option<i32>> = columns.iter().map(|column| field_id(column)).collect();
    let mut seen = HashSet::new();
    let keep = own.iter().flatten().all(|&number| is_valid(number) && seen.insert(number));
    let highest = own.iter().flatten().max().filter(|_| keep).copied().unwrap_or(0);
    let numbers = |own: &[Option<i32>], highest: i32| -> Vec<i32> {
        let mut free = (highest + 1..=MAX).filter(|&number| is_valid(number));
        own.iter().map_while(|own| own.or_else(|| free.next())).collect()
    };
    let kept = if keep { numbers(&own, highest) } else { Vec::new() };
    if kept.len() == own.len() { kept } else { numbers(&vec![None; own.len()], 0) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use arrow::datatypes::{DataType, Field};

    use super::*;

    #[test]
    fn numbers_are_kept_if_they_differ() {
        let cases: &[(&[Option<i32>], &[i32])] = &[
            (&[None, None, None], &[1, 2, 3]),
            (&[Some(7), None, Some(3), None], &[7, 8, 3, 9]),
            (&[Some(1), Some(1), None], &[1, 2, 3]),
            (&[Some(0), Some(5)], &[1, 2]),
            (&[Some(19_500)], &[1]),
            (&[Some(18_999), None], &[18_999, 20_000]),
            (&[Some(MAX)], &[MAX]),
            (&[Some(MAX), None], &[1, 2]),
            (&[], &[]),
        ];
        for (own, expected) in cases {
            let field = |number: &Option<i32>| {
                let id = |number: &i32| ("PARQUET:field_id".to_string(), number.to_string());
                let metadata: HashMap<_, _> = number.iter().map(id).collect();
                Field::new("x", DataType::Int32, true).with_metadata(metadata)
            };
            assert_eq!(field_numbers(&own.iter().map(field).collect()), *expected, "{own:?}");
        }
    }

    #[test]
    fn reserved_numbers_are_passed_over() {
        let columns: Fields = (0..19_001).map(|_| Field::new("x", DataType::Int32, true)).collect();
        assert_eq!(field_numbers(&columns)[18_997..], [18_998, 18_999, 20_000, 20_001]);
    }
}
