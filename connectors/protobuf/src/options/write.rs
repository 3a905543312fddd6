//! How rows become messages: the options of section 8 of the mapping.

use recordfusion_core::{OptionInfo, Options, Result};

use super::choices::{Choice, choice};

/// Options of writing records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// `message`: full name of the records' message type; by default what the format calls it.
    pub message: Option<String>,
    /// `null_items`: NULLs in lists, and NULL values in maps.
    pub null_items: NullItems,
    /// `null_list`: lists and maps that are NULL.
    pub null_list: NullList,
    /// `null_to_default`: whether NULL may be written to a field without presence, as the default.
    pub null_to_default: bool,
    /// `extra_columns`: columns that a given message type has no field for.
    pub extra_columns: ExtraColumns,
    /// `arrow_schema_hint`: whether the Arrow schema goes into the file's metadata.
    pub arrow_schema_hint: ArrowSchemaHint,
}

impl WriteOptions {
    /// All options, in the order to show them.
    pub const OPTIONS: &'static [OptionInfo] = &[
        OptionInfo::new("message", "NAME", "Full name of the message type to write"),
        OptionInfo::new(
            "null_items",
            "error | drop | wrap",
            "NULLs in lists: fail, leave them out, or wrap each item in a message",
        ),
        OptionInfo::new(
            "null_list",
            "empty | error | wrap",
            "Lists and maps that are NULL: write them as empty, fail, or wrap each in a message",
        ),
        OptionInfo::new(
            "null_to_default",
            "false | true",
            "Write NULL to a field without presence as its default, instead of failing",
        ),
        OptionInfo::new(
            "extra_columns",
            "error | ignore",
            "Columns that the given message type has no field for: fail, or leave them out",
        ),
        OptionInfo::new(
            "arrow_schema_hint",
            "true | false",
            "Keep the Arrow schema in the file, so that its types come back exactly",
        ),
    ];

    /// Reads the options of [`Self::OPTIONS`]; other names are not looked at. An empty value is none.
    ///
    /// # Errors
    /// [`recordfusion_core::Error::Option`] for a value that an option does not have.
    pub fn from_options(options: &Options) -> Result<Self> {
        let message = options.get("message").map(|name| name.trim().trim_start_matches('.'));
        Ok(Self {
            message: message.filter(|name| !name.is_empty()).map(str::to_string),
            null_items: choice(options, "null_items")?,
            null_list: choice(options, "null_list")?,
            null_to_default: choice(options, "null_to_default")?,
            extra_columns: choice(options, "extra_columns")?,
            arrow_schema_hint: choice(options, "arrow_schema_hint")?,
        })
    }
}

/// What becomes of NULLs in lists, and of NULL values in maps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NullItems {
    /// An error.
    #[default]
    Error,
    /// They are left out, and counted.
    Drop,
    /// Items are messages that may lack their value. Only derived message types can be so; NULL values in
    /// maps stay errors.
    Wrap,
}

impl Choice for NullItems {
    const VALUES: &'static [(&'static str, Self)] =
        &[("error", Self::Error), ("drop", Self::Drop), ("wrap", Self::Wrap)];
}

/// What becomes of lists and maps that are NULL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NullList {
    /// They are written as empty ones, and counted.
    #[default]
    Empty,
    /// An error.
    Error,
    /// Lists are inside messages that may be absent. Only derived message types can be so.
    Wrap,
}

impl Choice for NullList {
    const VALUES: &'static [(&'static str, Self)] =
        &[("empty", Self::Empty), ("error", Self::Error), ("wrap", Self::Wrap)];
}

/// What becomes of columns that a given message type has no field for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExtraColumns {
    /// An error.
    #[default]
    Error,
    /// They are left out.
    Ignore,
}

impl Choice for ExtraColumns {
    const VALUES: &'static [(&'static str, Self)] = &[("error", Self::Error), ("ignore", Self::Ignore)];
}

/// Whether the Arrow schema goes into the file's metadata.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ArrowSchemaHint {
    /// It does.
    #[default]
    Write,
    /// It does not.
    Omit,
}

impl Choice for ArrowSchemaHint {
    const VALUES: &'static [(&'static str, Self)] = &[("true", Self::Write), ("false", Self::Omit)];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listed_words_are_the_accepted_ones_and_the_first_is_the_default() {
        for option in WriteOptions::OPTIONS.iter().filter(|option| option.values.contains(" | ")) {
            let parsed = |value: &str| WriteOptions::from_options(&Options::new().with(option.name, value));
            let words: Vec<&str> = option.values.split(" | ").collect();
            assert_eq!(parsed(words[0]).expect("a word"), WriteOptions::default(), "{}", option.name);
            for word in &words[1..] {
                assert_ne!(parsed(word).expect("a word"), WriteOptions::default(), "{}", option.name);
            }
            let message = parsed("wrong").unwrap_err().to_string();
            let expected = format!("option '{}': 'wrong' is not one of {}", option.name, words.join(", "));
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn names_lose_the_leading_dot() {
        let named = |name: &str| WriteOptions::from_options(&Options::new().with("message", name));
        assert_eq!(named(" .a.B ").expect("a name").message.as_deref(), Some("a.B"));
        assert_eq!(named("").expect("none").message, None);
    }
}
