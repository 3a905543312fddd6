//! What a text says of the values of an enum, by what the columns tell of them.

use arrow::datatypes::Field;

use crate::schema::{PROTO_ENUM, PROTO_ENUM_VALUES};

/// The values of the enum of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnumValues<'a> {
    /// Full name of the enum type.
    pub type_name: &'a str,
    /// Names and numbers, in declaration order.
    values: Vec<(&'a str, i32)>,
}

/// What a text is among the values of an enum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnumText<'a> {
    /// The name that its number shows as, or digits of a number without a name.
    Shown,
    /// Another name of a number that shows as this one.
    Alias(&'a str),
    /// The digits of a number that shows as this name.
    Number(&'a str),
    /// No value.
    Unknown,
}

impl<'a> EnumValues<'a> {
    /// The values of the enum of this column; `None` if it is of no enum, or of one with too many values to tell.
    pub fn of(field: &'a Field) -> Option<Self> {
        let of_metadata = |key: &str| field.metadata().get(key).map(String::as_str);
        let values = of_metadata(PROTO_ENUM_VALUES)?.split(',').map(|value| {
            let (name, number) = value.split_once('=')?;
            Some((name, number.parse().ok()?))
        });
        let values = values.collect::<Option<_>>()?;
        Some(Self { type_name: of_metadata(PROTO_ENUM).unwrap_or_default(), values })
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        self.values.iter().map(|(name, _)| *name)
    }

    /// What `text` is among the values.
    pub fn meaning(&self, text: &str) -> EnumText<'a> {
        let by_name = self.values.iter().find(|(name, _)| *name == text).map(|(_, number)| *number);
        let Some(number) = by_name.or_else(|| text.parse().ok()) else { return EnumText::Unknown };
        // The first name of a number is the one that shows.
        match (self.values.iter().find(|(_, other)| *other == number), by_name) {
            (Some((shown, _)), Some(_)) if *shown == text => EnumText::Shown,
            (Some((shown, _)), Some(_)) => EnumText::Alias(shown),
            (Some((shown, _)), None) => EnumText::Number(shown),
            (None, _) if number.to_string() == text => EnumText::Shown,
            (None, _) => EnumText::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use arrow::datatypes::DataType;

    use super::*;

    #[test]
    fn a_text_is_a_name_an_alias_a_number_or_nothing() {
        let metadata = [(PROTO_ENUM, "a.E"), (PROTO_ENUM_VALUES, "ZERO=0,ONE=1,UNO=1,MINUS=-5")];
        let metadata: HashMap<_, _> =
            metadata.into_iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let field = Field::new("e", DataType::Utf8, true).with_metadata(metadata);
        let values = EnumValues::of(&field).expect("an enum");
        assert_eq!(values.type_name, "a.E");
        assert_eq!(values.names().collect::<Vec<_>>(), ["ZERO", "ONE", "UNO", "MINUS"]);
        for (text, meaning) in [
            ("ONE", EnumText::Shown),
            ("UNO", EnumText::Alias("ONE")),
            ("1", EnumText::Number("ONE")),
            ("-5", EnumText::Number("MINUS")),
            ("7", EnumText::Shown),
            ("-1", EnumText::Shown),
            ("07", EnumText::Unknown),
            ("+7", EnumText::Unknown),
            ("one", EnumText::Unknown),
            ("", EnumText::Unknown),
            ("4000000000", EnumText::Unknown),
        ] {
            assert_eq!(values.meaning(text), meaning, "{text}");
        }
        assert_eq!(EnumValues::of(&Field::new("x", DataType::Utf8, true)), None);
    }
}
