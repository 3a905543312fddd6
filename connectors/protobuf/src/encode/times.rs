//! Times as the parts of their messages: `Timestamp`, `Duration`, `google.type.Date` and
//! `google.type.TimeOfDay`.

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, TimeUnit};
use arrow::error::ArrowError;

use super::plan::{FieldPlan, Form, OnNull, Place, Tag};
use crate::descriptor::Kind;
use crate::wire::wire_type;

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
const MILLIS_PER_DAY: i64 = 86_400_000;
/// The years 1 to 9999, in seconds since 1970.
const TIMESTAMP_SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;
/// The years 1 to 9999, in days since 1970.
const DATE_DAYS: std::ops::RangeInclusive<i64> = -719_162..=2_932_896;
/// 10,000 years, in seconds.
const MAX_DURATION_SECONDS: u64 = 315_576_000_000;

/// A message of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parts {
    /// `seconds` and `nanos`.
    Timestamp,
    /// `seconds` and `nanos`.
    Duration,
    /// `year`, `month` and `day`.
    Date,
    /// `hours`, `minutes`, `seconds` and `nanos`.
    TimeOfDay,
}

impl Parts {
    /// What values have to be.
    pub(super) fn range(self) -> &'static str {
        match self {
            Self::Timestamp => "is not a time of the years 1 to 9999",
            Self::Duration => "is more than 10,000 years",
            Self::Date => "is not a day of the years 1 to 9999",
            Self::TimeOfDay => "is not a time of day",
        }
    }

    fn count(self) -> u32 {
        match self {
            Self::Timestamp | Self::Duration => 2,
            Self::Date => 3,
            Self::TimeOfDay => 4,
        }
    }
}

/// The plans of the parts.
pub(super) fn part_fields(parts: Parts) -> Vec<FieldPlan> {
    let part = |number| FieldPlan {
        name: String::new(),
        place: Place::Itself,
        tag: Tag::new(number, wire_type::VARINT),
        keeps_default: false,
        on_null: OnNull::Omit(None),
        form: Form::Number(Kind::Int64),
    };
    (1..=parts.count()).map(part).collect()
}

/// The parts of every value, and which values have them.
///
/// # Errors
/// Those of Arrow, for types that are no times.
pub(super) fn split(
    parts: Parts,
    array: &ArrayRef,
) -> Result<(Vec<ScalarBuffer<u64>>, Option<NullBuffer>), ArrowError> {
    let ticks = cast(array, &DataType::Int64)?;
    let ticks = ticks.as_primitive::<Int64Type>();
    let per_second = ticks_per_second(array.data_type());
    Ok(match parts {
        Parts::Timestamp => each(ticks, |ticks| timestamp(ticks, per_second)),
        Parts::Duration => each(ticks, |ticks| duration(ticks, per_second)),
        Parts::Date if *array.data_type() == DataType::Date64 => {
            each(ticks, |millis| date(millis / MILLIS_PER_DAY).filter(|_| millis % MILLIS_PER_DAY == 0))
        }
        Parts::Date => each(ticks, date),
        Parts::TimeOfDay => each(ticks, |ticks| time_of_day(ticks, per_second)),
    })
}

/// Int64 is of microseconds.
fn ticks_per_second(data_type: &DataType) -> i64 {
    match data_type {
        DataType::Timestamp(unit, _)
        | DataType::Duration(unit)
        | DataType::Time32(unit)
        | DataType::Time64(unit) => match unit {
            TimeUnit::Second => 1,
            TimeUnit::Millisecond => 1_000,
            TimeUnit::Microsecond => 1_000_000,
            TimeUnit::Nanosecond => NANOS_PER_SECOND,
        },
        _ => 1_000_000,
    }
}

fn each<const N: usize>(
    ticks: &Int64Array,
    split: impl Fn(i64) -> Option<[i64; N]>,
) -> (Vec<ScalarBuffer<u64>>, Option<NullBuffer>) {
    let mut columns = vec![Vec::with_capacity(ticks.len()); N];
    let valid = ticks.values().iter().map(|&ticks| {
        let parts = split(ticks);
        for (column, part) in columns.iter_mut().zip(parts.unwrap_or([0; N])) {
            column.push(part as u64);
        }
        parts.is_some()
    });
    let valid = NullBuffer::new(valid.collect::<BooleanBuffer>());
    let nulls = NullBuffer::union(ticks.nulls(), Some(&valid)).filter(|nulls| nulls.null_count() > 0);
    (columns.into_iter().map(ScalarBuffer::from).collect(), nulls)
}

fn timestamp(ticks: i64, per_second: i64) -> Option<[i64; 2]> {
    let seconds = ticks.div_euclid(per_second);
    let nanos = ticks.rem_euclid(per_second) * (NANOS_PER_SECOND / per_second);
    TIMESTAMP_SECONDS.contains(&seconds).then_some([seconds, nanos])
}

/// Both parts have the sign of the whole.
fn duration(ticks: i64, per_second: i64) -> Option<[i64; 2]> {
    let (seconds, nanos) = (ticks / per_second, ticks % per_second * (NANOS_PER_SECOND / per_second));
    let whole = seconds.unsigned_abs();
    let fits = whole < MAX_DURATION_SECONDS || (whole == MAX_DURATION_SECONDS && nanos == 0);
    fits.then_some([seconds, nanos])
}

fn time_of_day(ticks: i64, per_second: i64) -> Option<[i64; 4]> {
    let seconds = ticks / per_second;
    let nanos = ticks % per_second * (NANOS_PER_SECOND / per_second);
    let fits = ticks >= 0 && seconds < SECONDS_PER_DAY;
    fits.then_some([seconds / 3600, seconds / 60 % 60, seconds % 60, nanos])
}

/// The day of the proleptic Gregorian calendar that is `days` after 1970-01-01.
fn date(days: i64) -> Option<[i64; 3]> {
    if !DATE_DAYS.contains(&days) {
        return None;
    }
    // Years that begin in March have their leap day at the end. Day 0 is the first of March of the year 0.
    let days = days + 719_468;
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // From March on, five months have 153 days.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let january_or_later = month >= 10;
    let month = if january_or_later { month - 9 } else { month + 3 };
    Some([400 * cycle + year + i64::from(january_or_later), month, day])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_count_on_through_the_calendar() {
        let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let mut expected = [1, 1, 1];
        for days in DATE_DAYS {
            assert_eq!(date(days), Some(expected));
            let [year, month, day] = expected;
            let february = if leap(year) { 29 } else { 28 };
            let length = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize - 1];
            expected = match (day < length, month < 12) {
                (true, _) => [year, month, day + 1],
                (false, true) => [year, month + 1, 1],
                (false, false) => [year + 1, 1, 1],
            };
        }
        assert_eq!(expected, [10_000, 1, 1]);
        assert_eq!([*DATE_DAYS.start() - 1, *DATE_DAYS.end() + 1].map(date), [None, None]);
    }

    #[test]
    fn times_split_within_their_ranges() {
        assert_eq!(timestamp(-1, 1_000), Some([-1, 999_000_000]));
        assert_eq!(timestamp(253_402_300_800, 1), None);
        assert_eq!(timestamp(-62_135_596_801, 1), None);
        assert_eq!(duration(-1_500, 1_000), Some([-1, -500_000_000]));
        assert_eq!(duration(-315_576_000_000, 1), Some([-315_576_000_000, 0]));
        assert_eq!(duration(315_576_000_000_001, 1_000), None);
        assert_eq!(time_of_day(86_399_999_999_999, NANOS_PER_SECOND), Some([23, 59, 59, 999_999_999]));
        assert_eq!(time_of_day(86_400, 1), None);
        assert_eq!(time_of_day(-1, 1), None);
    }
}
