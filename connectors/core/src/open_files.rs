//! How many files are opened at a time.

use crate::{Error, OptionInfo, Options, Result};

/// Files that are opened at a time unless the option says another number.
const DEFAULT: usize = 16;
/// The most files that may be opened at a time.
const MOST: usize = 1024;

/// The option of every format.
pub const OPEN_FILES: OptionInfo = OptionInfo::new(
    "open_files",
    "NUMBER",
    "Files that are looked up, recognised and opened at a time, 16 by default and at most 1024",
);

/// Reads the option; other names are not looked at. An empty value is none.
///
/// # Errors
/// [`Error::Option`] for what is no number, or one outside of 1 to 1024.
pub fn open_files(options: &Options) -> Result<usize> {
    let text = options.get(OPEN_FILES.name).unwrap_or_default().trim();
    if text.is_empty() {
        return Ok(DEFAULT);
    }
    let number = text.parse().ok().filter(|number| (1..=MOST).contains(number));
    number.ok_or_else(|| Error::Option {
        name: OPEN_FILES.name.to_string(),
        reason: format!("'{text}' is not a number of files from 1 to {MOST}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_is_read() {
        let read = |text: &str| open_files(&Options::new().with("open_files", text));
        for (text, expected) in [("", 16), ("1", 1), (" 100 ", 100), ("1024", 1024)] {
            assert_eq!(read(text).expect("a number"), expected, "{text}");
        }
        for text in ["0", "-1", "1025", "many", "1.5"] {
            let message = read(text).unwrap_err().to_string();
            let expected = format!("option 'open_files': '{text}' is not a number of files from 1 to 1024");
            assert_eq!(message, expected);
        }
    }
}
