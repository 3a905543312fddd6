//! Texts of single values: numbers, strings, bytes, and the well-known messages that show as a string.

use arrow::temporal_conversions::timestamp_s_to_datetime;

use crate::fault::{FaultKind, Result};

const NANOS_PER_SECOND: i32 = 1_000_000_000;

/// The years 1 to 9999, in seconds since 1970.
const TIMESTAMP_SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// About 10,000 years, in seconds.
const MAX_DURATION_SECONDS: u64 = 315_576_000_000;

/// A `Timestamp` in RFC 3339, in UTC with 0, 3, 6 or 9 digits behind the seconds.
///
/// # Errors
/// [`FaultKind::BadValue`] for a time that is not of the years 1 to 9999, or nanoseconds beyond one second.
pub(super) fn timestamp(seconds: i64, nanos: i32) -> Result<String> {
    let valid = TIMESTAMP_SECONDS.contains(&seconds) && (0..NANOS_PER_SECOND).contains(&nanos);
    match timestamp_s_to_datetime(seconds).filter(|_| valid) {
        Some(time) => Ok(format!("{}{}Z", time.format("%Y-%m-%dT%H:%M:%S"), fraction(nanos.unsigned_abs()))),
        None => bad_value(format!("{seconds} s and {nanos} ns is no time of the years 1 to 9999")),
    }
}

/// A `Duration` in seconds with 0, 3, 6 or 9 digits behind them.
///
/// # Errors
/// [`FaultKind::BadValue`] for more than 10,000 years, nanoseconds beyond one second, and two signs.
pub(super) fn duration(seconds: i64, nanos: i32) -> Result<String> {
    let [negative, positive] = [seconds < 0 || nanos < 0, seconds > 0 || nanos > 0];
    let (seconds_size, nanos_size) = (seconds.unsigned_abs(), nanos.unsigned_abs());
    if seconds_size > MAX_DURATION_SECONDS
        || nanos_size >= NANOS_PER_SECOND.unsigned_abs()
        || (negative && positive)
    {
        return bad_value(format!("{seconds} s and {nanos} ns is no duration"));
    }
    let sign = if negative { "-" } else { "" };
    Ok(format!("{sign}{seconds_size}{}s", fraction(nanos_size)))
}

/// The digits of less than one second, with the point before them.
fn fraction(nanos: u32) -> String {
    match nanos {
        0 => String::new(),
        _ if nanos.is_multiple_of(1_000_000) => format!(".{:03}", nanos / 1_000_000),
        _ if nanos.is_multiple_of(1_000) => format!(".{:06}", nanos / 1_000),
        _ => format!(".{nanos:09}"),
    }
}

/// A path of a `FieldMask` in lowerCamelCase.
///
/// # Errors
/// [`FaultKind::BadValue`] for a path that cannot be told from its lowerCamelCase again.
pub(super) fn camel_case(path: &str) -> Result<String> {
    let mut camel = String::with_capacity(path.len());
    let mut characters = path.chars();
    while let Some(character) = characters.next() {
        let written = match character {
            '_' => characters.next().filter(char::is_ascii_lowercase).map(|lower| lower.to_ascii_uppercase()),
            'A'..='Z' => None,
            other => Some(other),
        };
        let Some(written) = written else {
            return bad_value(format!("the field mask path '{path}' has no lowerCamelCase form"));
        };
        camel.push(written);
    }
    Ok(camel)
}

/// Standard base64 with padding.
#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a chunk has up to three bytes and a sextet six bits, and bytes in memory make fewer digits than usize counts"
)]
pub(super) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: [u8; 64] = *b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0, |word, byte| word << 8 | usize::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let sextet = word >> (18 - 6 * digit) & 63;
            text.push(if digit > chunk.len() { '=' } else { ALPHABET[sextet].into() });
        }
    }
    text
}

/// Writes a number in its shortest digits.
///
/// # Errors
/// [`FaultKind::BadValue`] for a number that JSON cannot say.
pub(super) fn write_number(number: f64, text: &mut String) -> Result<()> {
    if !number.is_finite() {
        return Err(FaultKind::BadValue(format!("JSON has no number {number}")).into());
    }
    // Integers that a double holds exactly are written without a fraction.
    if number.trunc() == number && number.abs() < 9_007_199_254_740_992.0 {
        text.push_str(&format!("{number:.0}"));
    } else {
        text.push_str(&format!("{number:?}"));
    }
    Ok(())
}

/// Writes a string in quotes, with the escapes that JSON asks for.
pub(super) fn write_string(string: &str, text: &mut String) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            control if control < ' ' => text.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => text.push(other),
        }
    }
    text.push('"');
}

fn bad_value<T>(reason: String) -> Result<T> {
    Err(FaultKind::BadValue(reason).into())
}
