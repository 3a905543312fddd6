//! Times from their parts: `Timestamp`, `Duration`, `google.type.Date` and `google.type.TimeOfDay`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Date32Array, Int64Array, make_array, new_null_array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Int32Type, Int64Type, TimeUnit};

use crate::decoded::Tally;
use crate::fault::{FaultKind, Result};

const NANOS_PER_SECOND: i32 = 1_000_000_000;

/// `Timestamp` and `Duration` columns from `seconds` and `nanos`, floored to the unit of `data_type`; Int64 is
/// microseconds. The tally counts the values that lost digits.
///
/// # Errors
/// [`FaultKind::BadValue`] for a time beyond what 64 bits of the unit reach.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "a unit is a part of a second, products of 64 and 32 bits fit 128, and times are counted in memory"
)]
pub(crate) fn instants(
    parts: &[ArrayRef],
    data_type: &DataType,
    nulls: Option<&NullBuffer>,
    tally: &mut Tally,
) -> Result<ArrayRef> {
    let [seconds, nanos] = parts else { return Ok(new_null_array(data_type, 0)) };
    let seconds = seconds.as_primitive::<Int64Type>().values();
    let nanos = nanos.as_primitive::<Int32Type>().values();
    let (what, unit) = match data_type {
        DataType::Timestamp(unit, _) => ("timestamp", *unit),
        DataType::Duration(unit) => ("duration", *unit),
        _ => ("duration", TimeUnit::Microsecond),
    };
    let (per_second, name) = match unit {
        TimeUnit::Second => (1, "seconds"),
        TimeUnit::Millisecond => (1_000, "milliseconds"),
        TimeUnit::Microsecond => (1_000_000, "microseconds"),
        TimeUnit::Nanosecond => (NANOS_PER_SECOND, "nanoseconds"),
    };
    let nanos_each = NANOS_PER_SECOND / per_second;
    let ticks = |(row, (&seconds, &nanos)): (usize, (&i64, &i32))| {
        if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(None);
        }
        let sum = i128::from(seconds) * i128::from(per_second) + i128::from(nanos.div_euclid(nanos_each));
        let sum = tally.value(i64::try_from(sum).map_err(|_| {
            let reason = format!("a {what} of {seconds} s and {nanos} ns exceeds 64 bits of {name}");
            FaultKind::BadValue(reason).into()
        }))?;
        tally.truncated += u64::from(sum.is_some() && nanos.rem_euclid(nanos_each) != 0);
        Ok(sum)
    };
    let ticks = seconds.iter().zip(nanos).enumerate().map(ticks).collect::<Result<Int64Array>>()?;
    // Ticks of any unit have the layout of Int64.
    Ok(make_array(ticks.into_data().into_builder().data_type(data_type.clone()).build()?))
}

/// `google.type.Date` columns. A partial date (a part is 0) is NULL.
///
/// # Errors
/// [`FaultKind::BadValue`] for a day that no calendar has.
#[expect(clippy::indexing_slicing, reason = "all parts have as many rows")]
pub(crate) fn dates(parts: &[ArrayRef], nulls: Option<&NullBuffer>, tally: &mut Tally) -> Result<ArrayRef> {
    let [year, month, day] = parts else { return Ok(Arc::new(Date32Array::new_null(0))) };
    let [year, month, day] = [year, month, day].map(|part| part.as_primitive::<Int32Type>().values());
    let date = |row: usize| match (year[row], month[row], day[row]) {
        _ if nulls.is_some_and(|nulls| nulls.is_null(row)) => Ok(None),
        (0, ..) | (_, 0, _) | (.., 0) => Ok(None),
        (year, month, day) => tally.value(
            days_since_1970(year, month, day)
                .ok_or_else(|| FaultKind::BadValue(format!("{year}-{month}-{day} is not a date")).into()),
        ),
    };
    Ok(Arc::new((0..year.len()).map(date).collect::<Result<Date32Array>>()?))
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar, for the years 1 to 9999.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "the year is one of 1 to 9999, and the day one of its months"
)]
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

/// `google.type.TimeOfDay` columns of `data_type`: nanoseconds, or floored to microseconds. The tally counts the values
/// that lost digits.
///
/// # Errors
/// [`FaultKind::BadValue`] for a time that is not of one day.
#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "all parts have as many rows, which are counted in memory"
)]
pub(crate) fn times_of_day(
    parts: &[ArrayRef],
    data_type: &DataType,
    nulls: Option<&NullBuffer>,
    tally: &mut Tally,
) -> Result<ArrayRef> {
    let [hours, minutes, seconds, nanos] = parts else { return Ok(new_null_array(data_type, 0)) };
    let [hours, minutes, seconds, nanos] =
        [hours, minutes, seconds, nanos].map(|part| part.as_primitive::<Int32Type>().values());
    let nanos_each = if *data_type == DataType::Time64(TimeUnit::Nanosecond) { 1 } else { 1000 };
    let time = |row: usize| {
        if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(None);
        }
        let time = tally.value(nanos_of_day(hours[row], minutes[row], seconds[row], nanos[row]))?;
        tally.truncated += u64::from(time.is_some_and(|time| time % nanos_each != 0));
        Ok(time.map(|time| time / nanos_each))
    };
    let times = (0..hours.len()).map(time).collect::<Result<Int64Array>>()?;
    // Times of day have the layout of Int64.
    Ok(make_array(times.into_data().into_builder().data_type(data_type.clone()).build()?))
}

#[expect(clippy::arithmetic_side_effects, reason = "the parts are those of one day")]
fn nanos_of_day(hour: i32, minute: i32, second: i32, nano: i32) -> Result<i64> {
    let limits = [(hour, 24), (minute, 60), (second, 60), (nano, NANOS_PER_SECOND)];
    if limits.iter().any(|&(part, limit)| !(0..limit).contains(&part)) {
        let reason = format!("{hour}:{minute}:{second} and {nano} ns is not a time of day");
        return Err(FaultKind::BadValue(reason).into());
    }
    Ok(i64::from(hour * 3600 + minute * 60 + second) * i64::from(NANOS_PER_SECOND) + i64::from(nano))
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
