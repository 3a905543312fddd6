//! Options as text: the same names in SQL, in the library and in the tool.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::{Error, Result};

/// An option that a connector takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionInfo {
    /// The name, in lower case.
    pub name: &'static str,
    /// What may be written: words such as `name | number | string`, the default first, or a placeholder
    /// in capitals such as `PATH`.
    pub values: &'static str,
    /// What the option does, in one line.
    pub description: &'static str,
}

impl OptionInfo {
    /// An option with what may be written and what it does.
    pub const fn new(name: &'static str, values: &'static str, description: &'static str) -> Self {
        Self { name, values, description }
    }
}

/// Option names with their values, as the user wrote them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options(BTreeMap<String, String>);

impl Options {
    /// No options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets `name` to `value`.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.insert(name.into(), value.into());
        self
    }

    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The value of `name` read as a `T`.
    ///
    /// # Errors
    /// [`Error::Option`] if the text is no `T`; `wanted` says what would be one.
    pub fn parse<T: FromStr>(&self, name: &str, wanted: &str) -> Result<Option<T>> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let bad = |_| Error::Option { name: name.to_string(), reason: format!("'{text}' is not {wanted}") };
        text.parse().map(Some).map_err(bad)
    }

    /// The value of `name` among `words`; none if it is empty or not given.
    ///
    /// # Errors
    /// [`Error::Option`] for a word that is not among them.
    pub fn choose<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<Option<T>> {
        let text = self.get(name).unwrap_or_default();
        let written = text.trim();
        if written.is_empty() {
            return Ok(None);
        }
        let known = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(written));
        known.map(|(_, value)| Some(*value)).ok_or_else(|| {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let reason = format!("'{text}' is not one of {}", words.join(", "));
            Error::Option { name: name.to_string(), reason }
        })
    }

    /// The value of `name` as a number of bytes, such as `65536`, `64K`, `1M` or `2G`; none if it is empty or not
    /// given.
    ///
    /// # Errors
    /// [`Error::Option`] if it is no such number, or one outside of `range`.
    pub fn size(&self, name: &str, range: RangeInclusive<u64>) -> Result<Option<u64>> {
        let text = self.get(name).unwrap_or_default().trim();
        if text.is_empty() {
            return Ok(None);
        }
        match parse_size(text).filter(|size| range.contains(size)) {
            Some(size) => Ok(Some(size)),
            None => Err(Error::Option {
                name: name.to_string(),
                reason: format!(
                    "'{text}' is not a number of bytes from {} to {}, such as 64K or 1M",
                    range.start(),
                    range.end()
                ),
            }),
        }
    }

    /// Names and values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Checks that every option is one of `known`.
    ///
    /// # Errors
    /// [`Error::UnknownOption`] for the first that is not, with the nearest known names.
    pub fn reject_unknown(&self, known: &[OptionInfo]) -> Result<()> {
        let names: Vec<&str> = known.iter().map(|option| option.name).collect();
        match self.0.keys().find(|name| !names.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => {
                let nearest = nearest_names(name, names.iter().copied());
                let hint = if nearest.is_empty() {
                    format!("known options are {}", names.join(", "))
                } else {
                    format!("did you mean {}?", nearest.join(" or "))
                };
                Err(Error::UnknownOption { name: name.clone(), hint })
            }
        }
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Options {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

fn parse_size(text: &str) -> Option<u64> {
    let (digits, shift) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 10),
        (at, 'm' | 'M') => (&text[..at], 20),
        (at, 'g' | 'G') => (&text[..at], 30),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// The names nearest to `name`, quoted, best first; at most three, none that is far off or much farther than
/// the best.
pub fn nearest_names<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    const NEAR: f64 = 0.75;
    const NEARLY_AS_NEAR: f64 = 0.1;
    let name = name.to_lowercase();
    let mut scored: Vec<(f64, &str)> = known
        .into_iter()
        .map(|known| (strsim::jaro_winkler(&name, &known.to_lowercase()), known))
        .filter(|(score, _)| *score >= NEAR)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.dedup();
    let best = scored.first().map_or(0.0, |(score, _)| *score);
    let near = scored.into_iter().take_while(|(score, _)| *score >= best - NEARLY_AS_NEAR);
    near.take(3).map(|(_, known)| format!("'{known}'")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[OptionInfo] = &[
        OptionInfo { name: "descriptor_set", values: "PATH", description: "" },
        OptionInfo { name: "message_type", values: "NAME", description: "" },
    ];

    #[test]
    fn an_unknown_option_names_the_nearest() {
        let options = Options::new().with("mesage_type", "a.B");
        let error = options.reject_unknown(KNOWN).unwrap_err();
        assert_eq!(error.to_string(), "unknown option 'mesage_type'; did you mean 'message_type'?");
        assert!(Options::new().with("message_type", "a.B").reject_unknown(KNOWN).is_ok());
    }

    #[test]
    fn a_far_off_option_lists_what_there_is() {
        let error = Options::new().with("zzz", "1").reject_unknown(KNOWN).unwrap_err();
        assert_eq!(error.to_string(), "unknown option 'zzz'; known options are descriptor_set, message_type");
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_named() {
        let options = Options::new().with("depth", "deep");
        let error = options.parse::<u32>("depth", "a whole number").unwrap_err();
        assert_eq!(error.to_string(), "option 'depth': 'deep' is not a whole number");
        assert_eq!(options.parse::<u32>("other", "a whole number").expect("absent"), None);
    }

    #[test]
    fn sizes_have_suffixes_and_bounds() {
        let size = |text: &str| Options::new().with("x", text).size("x", 1..=4 << 30);
        for (text, expected) in [
            ("", None),
            ("7", Some(7)),
            ("64K", Some(64 << 10)),
            (" 1m ", Some(1 << 20)),
            ("4G", Some(4 << 30)),
        ] {
            assert_eq!(size(text).expect("a size"), expected, "{text}");
        }
        for text in ["0", "5G", "K", "-1", "1.5M", "1T", "99999999999999999999", "20000000000G"] {
            let error = size(text).unwrap_err().to_string();
            assert_eq!(
                error,
                format!(
                    "option 'x': '{text}' is not a number of bytes from 1 to 4294967296, such as 64K or 1M"
                )
            );
        }
    }

    #[test]
    fn words_are_chosen_in_any_case() {
        let choose = |text: &str| Options::new().with("x", text).choose("x", &[("one", 1), ("two", 2)]);
        assert_eq!((choose("").ok(), choose(" TWO").ok()), (Some(None), Some(Some(2))));
        assert_eq!(choose("three").unwrap_err().to_string(), "option 'x': 'three' is not one of one, two");
    }
}
