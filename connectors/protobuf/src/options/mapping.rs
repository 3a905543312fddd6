//! How protobuf values become Arrow columns: the options of sections 2 to 6 of the mapping.

use recordfusion_core::{Error, Options, Result};

use super::choices::{
    Absent, AnyForm, ClosedEnum, DurationForm, EmptyList, EmptyMessage, EnumForm, Extensions, Implicit,
    InvalidUtf8, MapForm, MapKeys, Names, Nullability, OnBadRecord, OnBadValue, Recursion, Required,
    StringType, TimeOfDayForm, TimestampForm, Unsigned, choice,
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
    pub time_of_day: TimeOfDayForm,
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
            time_of_day: choice(options, "time_of_day")?,
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

    /// The same with the columns that there are by default: only what is about bad data stays.
    pub(crate) fn with_usual_columns(&self) -> Self {
        let Self { on_bad_record, on_bad_value, invalid_utf8, required, closed_enum, .. } = *self;
        Self { on_bad_record, on_bad_value, invalid_utf8, required, closed_enum, ..Self::default() }
    }

    /// The options that make other columns than there are by default.
    pub(crate) fn options_of_columns(&self) -> Vec<&'static str> {
        let usual = Self::default();
        let options = [
            ("string_type", self.string_type != usual.string_type),
            ("enum", self.enums != usual.enums),
            ("unsigned", self.unsigned != usual.unsigned),
            ("map", self.map != usual.map),
            ("map_keys", self.map_keys != usual.map_keys),
            ("extensions", self.extensions != usual.extensions),
            ("empty_message", self.empty_message != usual.empty_message),
            ("timestamp", self.timestamp != usual.timestamp),
            ("duration", self.duration != usual.duration),
            ("time_of_day", self.time_of_day != usual.time_of_day),
            ("any", self.any != usual.any),
            ("recursion", self.recursion != usual.recursion),
            ("recursion_depth", self.recursion_depth != usual.recursion_depth),
            ("names", self.names != usual.names),
            ("oneof_case", self.oneof_case != usual.oneof_case),
        ];
        options.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name).collect()
    }

    /// Whether rows depend on all of a record, also on what a query does not ask for.
    pub(crate) fn judges_whole_records(&self) -> bool {
        self.on_bad_record != OnBadRecord::Error || self.required == Required::Strict
    }
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
