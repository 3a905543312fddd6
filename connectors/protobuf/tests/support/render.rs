//! Arrow values as JSON, in the spelling of the conformance cases.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, make_array};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimeUnit, UInt32Type, UInt64Type,
};
use serde_json::{Map, Value, json};

/// A row as an object: every column, NULL included.
pub fn row(batch: &RecordBatch, row: usize) -> Value {
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns());
    Value::Object(columns.map(|(field, column)| (field.name().clone(), value(column, row))).collect())
}

/// The value of a row of a column.
pub fn value(array: &ArrayRef, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Boolean => json!(array.as_boolean().value(row)),
        DataType::Int32 => json!(array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => json!(array.as_primitive::<Int64Type>().value(row)),
        DataType::UInt32 => json!(array.as_primitive::<UInt32Type>().value(row)),
        DataType::UInt64 => json!(array.as_primitive::<UInt64Type>().value(row)),
        DataType::Float32 => float(f64::from(array.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(..) => json!(array.as_primitive::<Decimal128Type>().value(row).to_string()),
        DataType::Utf8 => json!(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => json!(array.as_string::<i64>().value(row)),
        DataType::Utf8View => json!(array.as_string_view().value(row)),
        DataType::Binary => json!(base64(array.as_binary::<i32>().value(row))),
        DataType::LargeBinary => json!(base64(array.as_binary::<i64>().value(row))),
        DataType::BinaryView => json!(base64(array.as_binary_view().value(row))),
        DataType::Dictionary(..) => {
            let dictionary = array.as_dictionary::<Int32Type>();
            value(dictionary.values(), dictionary.keys().value(row) as usize)
        }
        DataType::Timestamp(unit, _) => json!(timestamp(ticks(array, row), *unit)),
        DataType::Duration(unit) => json!(duration(ticks(array, row), *unit)),
        DataType::Date32 => json!(date(i64::from(array.as_primitive::<Date32Type>().value(row)))),
        DataType::Time64(_) => {
            json!(time(array.as_primitive::<Time64MicrosecondType>().value(row), TimeUnit::Microsecond))
        }
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            (0..items.len()).map(|item| value(&items, item)).collect()
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let [keys, values] = [entries.column(0), entries.column(1)];
            (0..entries.len()).map(|at| json!({"key": value(keys, at), "value": value(values, at)})).collect()
        }
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            let named = |(field, column): (&std::sync::Arc<arrow::datatypes::Field>, &ArrayRef)| {
                (field.name().clone(), value(column, row))
            };
            Value::Object(columns.map(named).collect::<Map<_, _>>())
        }
        other => panic!("no column has the type {other}"),
    }
}

fn float(value: f64) -> Value {
    match value {
        value if value.is_nan() => json!("NaN"),
        f64::INFINITY => json!("Infinity"),
        f64::NEG_INFINITY => json!("-Infinity"),
        value => json!(value),
    }
}

/// Standard base64 with padding.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().enumerate().fold(0u32, |word, (at, byte)| word | u32::from(*byte) << (16 - 8 * at));
        for digit in 0..4 {
            let index = (word >> (18 - 6 * digit)) as usize & 63;
            text.push(if digit <= chunk.len() { DIGITS[index] as char } else { '=' });
        }
    }
    text
}

/// The number behind a time of any unit.
fn ticks(array: &ArrayRef, row: usize) -> i64 {
    let ticks = array.to_data().into_builder().data_type(DataType::Int64).build().expect("the same layout");
    make_array(ticks).as_primitive::<Int64Type>().value(row)
}

/// Ticks of a second, and how many digits they have.
fn resolution(unit: TimeUnit) -> (i64, usize) {
    match unit {
        TimeUnit::Second => (1, 0),
        TimeUnit::Millisecond => (1_000, 3),
        TimeUnit::Microsecond => (1_000_000, 6),
        TimeUnit::Nanosecond => (1_000_000_000, 9),
    }
}

fn timestamp(ticks: i64, unit: TimeUnit) -> String {
    let day = 86_400 * resolution(unit).0;
    format!("{}T{}Z", date(ticks.div_euclid(day)), time(ticks.rem_euclid(day), unit))
}

fn duration(ticks: i64, unit: TimeUnit) -> String {
    let (per_second, _) = resolution(unit);
    let sign = if ticks < 0 { "-" } else { "" };
    let ticks = ticks.unsigned_abs();
    let seconds = ticks / per_second as u64;
    format!("{sign}{seconds}{}s", fraction((ticks % per_second as u64) as i64, unit))
}

fn time(ticks: i64, unit: TimeUnit) -> String {
    let (per_second, _) = resolution(unit);
    let seconds = ticks / per_second;
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    clock + &fraction(ticks % per_second, unit)
}

fn fraction(ticks: i64, unit: TimeUnit) -> String {
    match resolution(unit).1 {
        0 => String::new(),
        digits => format!(".{ticks:0digits$}"),
    }
}

/// A day of the proleptic Gregorian calendar, found by stepping over whole years and months.
fn date(days: i64) -> String {
    let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let cycles = days.div_euclid(146_097);
    let (mut year, mut day) = (1970 + 400 * cycles, days.rem_euclid(146_097));
    while day >= 365 + i64::from(leap(year)) {
        day -= 365 + i64::from(leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + i64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    let sign = if year > 9999 { "+" } else { "" };
    format!("{sign}{year:04}-{month:02}-{:02}", day + 1)
}
