//! Times from their parts: `Timestamp`, `Duration`, `google.type.Date` and `google.type.TimeOfDay`.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, AsArray, Date32Array, DurationMicrosecondArray, Time64MicrosecondArray,
    TimestampMicrosecondArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{Int32Type, Int64Type};

use crate::fault::{FaultKind, Result};

const NANOS_PER_SECOND: i32 = 1_000_000_000;

/// `Timestamp` columns from `seconds` and `nanos`, floored to microseconds. `truncated` counts the values
/// that lost digits.
///
/// # Errors
/// [`FaultKind::BadValue`] for a time beyond what 64 bits of microseconds reach.
pub(crate) fn timestamps(
    parts: &[ArrayRef],
    nulls: Option<NullBuffer>,
    truncated: &mut u64,
) -> Result<ArrayRef> {
    let values = micros(parts, "timestamp", truncated)?;
    Ok(Arc::new(TimestampMicrosecondArray::try_new(values.into(), nulls)?.with_timezone("UTC")))
}

/// `Duration` columns from `seconds` and `nanos`, floored to microseconds. `truncated` counts the values
/// that lost digits.
///
/// # Errors
/// [`FaultKind::BadValue`] for a duration beyond what 64 bits of microseconds reach.
pub(crate) fn durations(
    parts: &[ArrayRef],
    nulls: Option<NullBuffer>,
    truncated: &mut u64,
) -> Result<ArrayRef> {
    let values = micros(parts, "duration", truncated)?;
    Ok(Arc::new(DurationMicrosecondArray::try_new(values.into(), nulls)?))
}

fn micros(parts: &[ArrayRef], what: &str, truncated: &mut u64) -> Result<Vec<i64>> {
    let [seconds, nanos] = parts else { return Ok(Vec::new()) };
    let seconds = seconds.as_primitive::<Int64Type>().values();
    let nanos = nanos.as_primitive::<Int32Type>().values();
    let micros = |(&seconds, &nanos): (&i64, &i32)| {
        *truncated += u64::from(nanos.rem_euclid(1000) != 0);
        let sum = i128::from(seconds) * 1_000_000 + i128::from(nanos.div_euclid(1000));
        i64::try_from(sum).map_err(|_| {
            let reason = format!("a {what} of {seconds} s and {nanos} ns exceeds 64 bits of microseconds");
            FaultKind::BadValue(reason).into()
        })
    };
    seconds.iter().zip(nanos).map(micros).collect()
}

/// `google.type.Date` columns. A partial date (a part is 0) is NULL.
///
/// # Errors
/// [`FaultKind::BadValue`] for a day that no calendar has.
pub(crate) fn dates(parts: &[ArrayRef], nulls: Option<&NullBuffer>) -> Result<ArrayRef> {
    let [year, month, day] = parts else { return Ok(Arc::new(Date32Array::new_null(0))) };
    let [year, month, day] = [year, month, day].map(|part| part.as_primitive::<Int32Type>().values());
    let date = |row: usize| match (year[row], month[row], day[row]) {
        _ if nulls.is_some_and(|nulls| nulls.is_null(row)) => Ok(None),
        (0, ..) | (_, 0, _) | (.., 0) => Ok(None),
        (year, month, day) => match days_since_1970(year, month, day) {
            Some(days) => Ok(Some(days)),
            None => Err(FaultKind::BadValue(format!("{year}-{month}-{day} is not a date")).into()),
        },
    };
    Ok(Arc::new((0..year.len()).map(date).collect::<Result<Date32Array>>()?))
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar, for the years 1 to 9999.
fn days_since_1970(year: i32, month: i32, day: i32) -> Option<i32> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let february = if leap { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before = lengths.get(..usize::try_from(month).ok()?.checked_sub(1)?)?;
    let length = *lengths.get(before.len())?;
    if !(1..=9999).contains(&year) || !(1..=length).contains(&day) {
        return None;
    }
    let years = year - 1;
    let days_before_year = 365 * years + years / 4 - years / 100 + years / 400;
    Some(days_before_year + before.iter().sum::<i32>() + day - 1 - 719_162)
}

/// `google.type.TimeOfDay` columns, floored to microseconds. `truncated` counts the values that lost digits.
///
/// # Errors
/// [`FaultKind::BadValue`] for a time that is not of one day.
pub(crate) fn times_of_day(
    parts: &[ArrayRef],
    nulls: Option<NullBuffer>,
    truncated: &mut u64,
) -> Result<ArrayRef> {
    let [hours, minutes, seconds, nanos] = parts else {
        return Ok(Arc::new(Time64MicrosecondArray::new_null(0)));
    };
    let [hours, minutes, seconds, nanos] =
        [hours, minutes, seconds, nanos].map(|part| part.as_primitive::<Int32Type>().values());
    let time = |row: usize| {
        let (hour, minute, second, nano) = (hours[row], minutes[row], seconds[row], nanos[row]);
        let limits = [(hour, 24), (minute, 60), (second, 60), (nano, NANOS_PER_SECOND)];
        if limits.iter().any(|&(part, limit)| !(0..limit).contains(&part)) {
            let reason = format!("{hour}:{minute}:{second} and {nano} ns is not a time of day");
            return Err(FaultKind::BadValue(reason).into());
        }
        *truncated += u64::from(nano % 1000 != 0);
        Ok(i64::from(hour * 3600 + minute * 60 + second) * 1_000_000 + i64::from(nano / 1000))
    };
    let values = (0..hours.len()).map(time).collect::<Result<Vec<i64>>>()?;
    Ok(Arc::new(Time64MicrosecondArray::try_new(values.into(), nulls)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_count_from_1970() {
        let cases = [
            ((1970, 1, 1), Some(0)),
            ((1969, 12, 31), Some(-1)),
            ((2000, 2, 29), Some(11_016)),
            ((1, 1, 1), Some(-719_162)),
            ((9999, 12, 31), Some(2_932_896)),
            ((1900, 2, 29), None),
            ((2024, 13, 1), None),
            ((2024, 4, 31), None),
            ((2024, -1, 1), None),
            ((10_000, 1, 1), None),
        ];
        for ((year, month, day), days) in cases {
            assert_eq!(days_since_1970(year, month, day), days, "{year}-{month}-{day}");
        }
    }
}
