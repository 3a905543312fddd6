//! How protobuf values become Arrow columns: the options of sections 2 to 6 of the mapping.

use recordfusion_core::{Error, Options, Result};

use super::choices::{
    Absent, AnyForm, ClosedEnum, DurationForm, EmptyList, EmptyMessage, EnumForm, Extensions, Implicit,
    InvalidUtf8, MapForm, MapKeys, Names, Nullability, OnBadRecord, OnBadValue, Recursion, Required,
    StringType, TimestampForm, Unsigned,
};

/// The options of the mapping, under their own names; `enums` is the option `enum`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Mapping {
    pub string_type: StringType,
    pub enums: EnumForm,
    pub closed_enum: ClosedEnum,
    pub unsigned: Unsigned,
    pub implicit: Implicit,
    pub absent: Absent,
    pub required: Required,
    pub empty_list: EmptyList,
    pub map: MapForm,
    pub map_keys: MapKeys,
    pub extensions: Extensions,
    pub empty_message: EmptyMessage,
    pub timestamp: TimestampForm,
    pub duration: DurationForm,
    pub any: AnyForm,
    pub recursion: Recursion,
    pub recursion_depth: RecursionDepth,
    pub names: Names,
    pub nullability: Nullability,
    pub oneof_case: bool,
    pub invalid_utf8: InvalidUtf8,
    pub on_bad_record: OnBadRecord,
    pub on_bad_value: OnBadValue,
}

impl Mapping {
    /// Reads the options of the mapping; other names are not looked at.
    ///
    /// # Errors
    /// [`Error::Option`] for a value that an option does not have, and for options that exclude each other.
    pub fn from_options(options: &Options) -> Result<Self> {
        let mapping = Self {
            string_type: choice(options, "string_type")?,
            enums: choice(options, "enum")?,
            closed_enum: choice(options, "closed_enum")?,
            unsigned: choice(options, "unsigned")?,
            implicit: choice(options, "implicit")?,
            absent: choice(options, "absent")?,
            required: choice(options, "required")?,
            empty_list: choice(options, "empty_list")?,
            map: choice(options, "map")?,
            map_keys: choice(options, "map_keys")?,
            extensions: choice(options, "extensions")?,
            empty_message: choice(options, "empty_message")?,
            timestamp: choice(options, "timestamp")?,
            duration: choice(options, "duration")?,
            any: choice(options, "any")?,
            recursion: choice(options, "recursion")?,
            recursion_depth: RecursionDepth::from_options(options)?,
            names: choice(options, "names")?,
            nullability: choice(options, "nullability")?,
            oneof_case: choice(options, "oneof_case")?,
            invalid_utf8: choice(options, "invalid_utf8")?,
            on_bad_record: choice(options, "on_bad_record")?,
            on_bad_value: choice(options, "on_bad_value")?,
        };
        if mapping.nullability == Nullability::Proto && mapping.on_bad_record == OnBadRecord::Null {
            let reason =
                "on_bad_record = null makes rows of NULLs, which columns that are NOT NULL cannot hold";
            return Err(Error::Option { name: "nullability".to_string(), reason: reason.to_string() });
        }
        Ok(mapping)
    }

    /// Whether rows depend on all of a record, also on what a query does not ask for.
    pub(crate) fn judges_whole_records(&self) -> bool {
        self.on_bad_record != OnBadRecord::Error || self.required == Required::Strict
    }
}

/// A value of an option that has few of them.
pub(super) trait Choice: Copy + Default + 'static {
    /// What may be written, and what it means.
    const VALUES: &'static [(&'static str, Self)];
}

/// The value of an option, or its default.
pub(super) fn choice<T: Choice>(options: &Options, name: &str) -> Result<T> {
    let text = options.get(name).unwrap_or_default();
    let written = text.trim();
    if written.is_empty() {
        return Ok(T::default());
    }
    let known = T::VALUES.iter().find(|(value, _)| value.eq_ignore_ascii_case(written));
    known.map(|(_, value)| *value).ok_or_else(|| {
        let values: Vec<&str> = T::VALUES.iter().map(|(value, _)| *value).collect();
        let reason = format!("'{text}' is not one of {}", values.join(", "));
        Error::Option { name: name.to_string(), reason }
    })
}

impl Choice for bool {
    const VALUES: &'static [(&'static str, Self)] = &[("false", false), ("true", true)];
}

/// How often a recursive message type is expanded below its first place: 0 to 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecursionDepth(u8);

impl RecursionDepth {
    /// The largest depth.
    const MAX: u8 = 16;

    /// A depth; `None` beyond 16.
    pub fn new(levels: u8) -> Option<Self> {
        (levels <= Self::MAX).then_some(Self(levels))
    }

    /// How often a message type stands on a path, its first place included.
    pub(crate) fn places(self) -> usize {
        usize::from(self.0) + 1
    }

    fn from_options(options: &Options) -> Result<Self> {
        let text = options.get("recursion_depth").unwrap_or_default().trim();
        if text.is_empty() {
            return Ok(Self::default());
        }
        text.parse().ok().and_then(Self::new).ok_or_else(|| {
            let reason = format!("'{text}' is not a whole number from 0 to {}", Self::MAX);
            Error::Option { name: "recursion_depth".to_string(), reason }
        })
    }
}

impl Default for RecursionDepth {
    fn default() -> Self {
        Self(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_in_any_case() {
        let options = Options::new()
            .with("enum", "NUMBER")
            .with("recursion_depth", "16")
            .with("oneof_case", "true")
            .with("other", "ignored");
        let expected = Mapping {
            enums: EnumForm::Number,
            recursion_depth: RecursionDepth(16),
            oneof_case: true,
            ..Mapping::default()
        };
        assert_eq!(Mapping::from_options(&options).expect("good options"), expected);
    }

    #[test]
    fn other_values_are_named() {
        let cases = [
            ("enum", "nam", "option 'enum': 'nam' is not one of name, number, string"),
            ("recursion_depth", "17", "option 'recursion_depth': '17' is not a whole number from 0 to 16"),
            ("recursion_depth", "-1", "option 'recursion_depth': '-1' is not a whole number from 0 to 16"),
            ("oneof_case", "yes", "option 'oneof_case': 'yes' is not one of false, true"),
        ];
        for (name, value, message) in cases {
            let error = Mapping::from_options(&Options::new().with(name, value)).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn rows_of_nulls_need_nullable_columns() {
        let options = Options::new().with("nullability", "proto").with("on_bad_record", "null");
        assert!(Mapping::from_options(&options).unwrap_err().to_string().starts_with("option 'nullability'"));
    }
}
