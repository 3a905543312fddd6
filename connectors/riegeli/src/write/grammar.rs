//! The text form of options (section 6.3): items `key:value`, separated by commas.

use std::fmt;
use std::str::FromStr;

use recordfusion_core::nearest_names;

use crate::write::error::OptionsError;
use crate::write::options::{Compression, FRACTION, MOST_PADDING, PADDING, SIZE, WriterOptions};

const KEYS: [&str; 14] = [
    "default",
    "transpose",
    "uncompressed",
    "brotli",
    "zstd",
    "snappy",
    "window_log",
    "brotli_encoder",
    "chunk_size",
    "bucket_fraction",
    "padding",
    "initial_padding",
    "final_padding",
    "parallelism",
];

/// The items of a text, each key at most once.
pub(super) struct Items<'a>(Vec<(&'static str, &'a str)>);

impl<'a> Items<'a> {
    /// Splits `text` into items with keys out of `keys`.
    ///
    /// # Errors
    /// [`OptionsError::Unknown`], [`OptionsError::Twice`].
    pub fn parse(text: &'a str, keys: &[&'static str]) -> Result<Self, OptionsError> {
        let mut items = Self(Vec::new());
        for item in text.split(',').filter(|item| !item.is_empty()) {
            let (name, value) = item.split_once(':').unwrap_or((item, ""));
            let Some(&key) = keys.iter().find(|key| **key == name) else {
                return Err(unknown(name, keys));
            };
            if items.get(key).is_some() {
                return Err(OptionsError::Twice(key));
            }
            items.0.push((key, value));
        }
        Ok(items)
    }

    /// The value of `key` if it is given; empty if the key stands alone.
    fn get(&self, key: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, _)| *known == key).map(|&(_, value)| value)
    }

    /// Where the item `key` stands.
    fn place(&self, key: &str) -> Option<usize> {
        self.0.iter().position(|(known, _)| *known == key)
    }

    /// Reads the value of `key` with `read`; `expected` says what it takes.
    ///
    /// # Errors
    /// [`OptionsError::Value`] if `read` takes it not.
    pub fn read<T>(
        &self,
        key: &'static str,
        expected: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, OptionsError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| OptionsError::value(key, value, expected))
    }

    /// Whether `key` is given, which takes no value.
    fn flag(&self, key: &'static str) -> Result<bool, OptionsError> {
        let given =
            self.read(key, "allowed, as the option takes no value", |value| value.is_empty().then_some(()));
        Ok(given?.is_some())
    }

    /// A switch: `true`, `false`, or nothing for `true`.
    pub fn switch(&self, key: &'static str) -> Result<bool, OptionsError> {
        let value = self.read(key, "'true' or 'false'", |value| match value {
            "" | "true" => Some(true),
            "false" => Some(false),
            _ => None,
        });
        Ok(value?.unwrap_or(false))
    }

    /// The compression that the items choose, else `default`.
    ///
    /// # Errors
    /// [`OptionsError::Conflict`], [`OptionsError::Value`].
    pub fn compression(&self, default: Compression) -> Result<Compression, OptionsError> {
        self.check_conflicts()?;
        let window_log =
            self.read("window_log", "'auto' or a number from 10 to 31", |value| match value {
                "auto" => Some(None),
                number => number.parse().ok().filter(|log| (10..=31).contains(log)).map(Some),
            })?;
        let none = self.flag("uncompressed")?.then_some(Compression::None);
        // Level 2 of the reference searches for matches in another way, which the encoder here does not know.
        let snappy =
            self.read("snappy", "1, the only level of snappy that can be written here", |value| {
                matches!(value, "" | "1").then_some(Compression::Snappy)
            })?;
        let zstd = self.read("zstd", "a level from -131072 to 22", |value| {
            Some(Compression::Zstd { level: level(value, 3)?, window_log: None })
        })?;
        let brotli = self.read("brotli", "a level from 0 to 11", |value| {
            Some(Compression::Brotli { level: level(value, 6)?, window_log: None })
        })?;
        let named = none.or(snappy).or(zstd).or(brotli);
        let compression = named.unwrap_or(default).with_window(window_log.flatten());
        compression.check()?;
        Ok(compression)
    }

    fn check_conflicts(&self) -> Result<(), OptionsError> {
        let groups: [&[&'static str]; 3] = [
            &["uncompressed", "brotli", "zstd", "snappy"],
            &["uncompressed", "window_log"],
            &["snappy", "window_log"],
        ];
        for group in groups {
            let mut given = group.iter().filter(|key| self.get(key).is_some());
            if let (Some(first), Some(second)) = (given.next(), given.next()) {
                return Err(OptionsError::Conflict(first, second));
            }
        }
        Ok(())
    }

    fn check_order(&self) -> Result<(), OptionsError> {
        if self.flag("default")? && self.place("default") != Some(0) {
            return Err(OptionsError::Order { key: "default", other: "all others" });
        }
        for other in ["initial_padding", "final_padding"] {
            if let (Some(both), Some(one)) = (self.place("padding"), self.place(other))
                && one < both
            {
                return Err(OptionsError::Order { key: "padding", other });
            }
        }
        Ok(())
    }
}

fn unknown(name: &str, keys: &[&'static str]) -> OptionsError {
    let nearest = nearest_names(name, keys.iter().copied());
    let hint = if nearest.is_empty() {
        format!("known options are {}", keys.join(", "))
    } else {
        format!("did you mean {}?", nearest.join(" or "))
    };
    OptionsError::Unknown { key: name.to_string(), hint }
}

fn level<T: FromStr>(value: &str, default: T) -> Option<T> {
    if value.is_empty() { Some(default) } else { value.parse().ok() }
}

/// Suffixes of sizes, as powers of two, the largest first.
const SUFFIXES: [(char, u32); 8] =
    [('E', 60), ('P', 50), ('T', 40), ('G', 30), ('M', 20), ('K', 10), ('k', 10), ('B', 0)];

/// A size in bytes: a number that is not negative, maybe with a suffix; rounded.
pub(super) fn size(text: &str) -> Option<u64> {
    let split = |(suffix, power)| text.strip_suffix(suffix).map(|number| (number, 1u64 << power));
    let (number, factor) = SUFFIXES.into_iter().find_map(split).unwrap_or((text, 1));
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    let digits = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let bytes = (number.parse::<f64>().ok().filter(|_| digits)? * factor as f64).round();
    (bytes < u64::MAX as f64).then_some(bytes as u64)
}

/// A size in bytes in its shortest spelling.
pub(super) struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let divides = |&(_, power): &(char, u32)| self.0 != 0 && self.0.is_multiple_of(1 << power);
        match SUFFIXES.iter().find(|suffix| divides(suffix)) {
            Some(&(suffix, power)) if power > 0 => write!(formatter, "{}{suffix}", self.0 >> power),
            _ => write!(formatter, "{}", self.0),
        }
    }
}

fn positive_size(text: &str) -> Option<u64> {
    size(text).filter(|&bytes| bytes > 0)
}

fn padding(text: &str) -> Option<u64> {
    if text.is_empty() { Some(64 << 10) } else { positive_size(text).filter(|&size| size <= MOST_PADDING) }
}

impl FromStr for WriterOptions {
    type Err = OptionsError;

    /// Reads the text form of options. Those that have no effect on the file but name the reference
    /// implementation's own parts (`brotli_encoder`) are checked and otherwise ignored.
    fn from_str(text: &str) -> Result<Self, OptionsError> {
        let items = Items::parse(text, &KEYS)?;
        items.check_order()?;
        let encoders = ["rbrotli_or_cbrotli", "cbrotli", "rbrotli"];
        items.read("brotli_encoder", "'rbrotli_or_cbrotli', 'cbrotli' or 'rbrotli'", |value| {
            encoders.contains(&value).then_some(())
        })?;
        let chunk_size = items.read("chunk_size", SIZE, |value| match value {
            "auto" => Some(None),
            value => positive_size(value).map(Some),
        })?;
        let bucket_fraction = items.read("bucket_fraction", FRACTION, |value| {
            value.parse().ok().filter(|fraction| (0.0..=1.0).contains(fraction))
        })?;
        let both = items.read("padding", PADDING, padding)?.unwrap_or(1);
        let parallelism = items.read("parallelism", "a whole number", |value| value.parse().ok())?;
        Ok(Self {
            transpose: items.switch("transpose")?,
            compression: items.compression(Compression::default())?,
            chunk_size: chunk_size.flatten(),
            bucket_fraction: bucket_fraction.unwrap_or(1.0),
            initial_padding: items.read("initial_padding", PADDING, padding)?.unwrap_or(both),
            final_padding: items.read("final_padding", PADDING, padding)?.unwrap_or(both),
            parallelism: parallelism.unwrap_or(0),
        })
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let window = match self {
            Self::None => return formatter.write_str("uncompressed"),
            Self::Snappy => return formatter.write_str("snappy"),
            Self::Brotli { level, window_log } => {
                write!(formatter, "brotli:{level}")?;
                window_log
            }
            Self::Zstd { level, window_log } => {
                write!(formatter, "zstd:{level}")?;
                window_log
            }
        };
        window.map_or(Ok(()), |log| write!(formatter, ",window_log:{log}"))
    }
}

impl fmt::Display for WriterOptions {
    /// The compression, and what differs from the defaults.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.transpose {
            formatter.write_str("transpose,")?;
        }
        write!(formatter, "{}", self.compression)?;
        if let Some(size) = self.chunk_size {
            write!(formatter, ",chunk_size:{}", Size(size))?;
        }
        if self.bucket_fraction != 1.0 {
            write!(formatter, ",bucket_fraction:{}", self.bucket_fraction)?;
        }
        for (key, size) in [("initial_padding", self.initial_padding), ("final_padding", self.final_padding)]
        {
            if size != 1 {
                write!(formatter, ",{key}:{}", Size(size))?;
            }
        }
        match self.parallelism {
            0 => Ok(()),
            tasks => write!(formatter, ",parallelism:{tasks}"),
        }
    }
}
