//! Decoded arrays to arrays of hinted types.

use std::cell::Cell;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, ListArray, MapArray, NullArray, StringArray,
    StructArray, make_array,
};
use arrow::buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow::compute::{CastOptions, cast, cast_with_options, nullif};
use arrow::datatypes::{DataType, FieldRef, Fields, Int32Type, Int64Type, TimeUnit};
use arrow::error::ArrowError;

type Result<T> = std::result::Result<T, ArrowError>;

/// A way from decoded values to values of a hinted type.
#[derive(Debug)]
pub(super) struct Restore {
    /// The type of the restored values.
    pub(super) data_type: DataType,
    pub(super) step: Step,
}

/// What is done with decoded values.
#[derive(Debug)]
pub(super) enum Step {
    Same,
    Cast,
    /// Another way first, then a cast.
    Then(Box<Restore>),
    /// Booleans to structs without fields.
    Empty,
    /// Booleans to nothing.
    Null,
    /// Times of one unit to times of another.
    Ticks,
    /// Seconds and nanoseconds to times.
    Parts,
    /// Text with zeros behind the digits to decimals of a scale below 0.
    Zeros,
    /// The only child of a struct.
    Unwrap(Box<Restore>),
    Struct(Vec<Restore>),
    List(Box<Restore>),
    Map(Box<[Restore; 2]>),
}

impl Restore {
    /// The restored values of `array`.
    ///
    /// # Errors
    /// Those of Arrow, for values that the hinted type does not have, unless `bad` lets them be NULL.
    pub(super) fn array(&self, array: &ArrayRef, bad: &BadValues) -> Result<ArrayRef> {
        match &self.step {
            Step::Same => Ok(Arc::clone(array)),
            Step::Cast => bad.cast(array, &self.data_type),
            Step::Then(first) => bad.cast(&first.array(array, bad)?, &self.data_type),
            Step::Empty => Ok(Arc::new(StructArray::new_empty_fields(array.len(), array.nulls().cloned()))),
            Step::Null => Ok(Arc::new(NullArray::new(array.len()))),
            Step::Ticks => self.ticks(array, bad),
            Step::Parts => self.parts(array.as_struct(), bad),
            Step::Zeros => self.without_zeros(array, bad),
            Step::Unwrap(inner) => {
                let message = array.as_struct();
                with_nulls(&inner.array(message.column(0), bad)?, message.nulls())
            }
            Step::Struct(parts) => {
                let DataType::Struct(fields) = &self.data_type else { return Err(unplanned(array)) };
                let message = array.as_struct();
                let columns =
                    parts.iter().zip(message.columns()).map(|(part, column)| part.array(column, bad));
                let (columns, nulls) = (columns.collect::<Result<_>>()?, message.nulls().cloned());
                Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, nulls, message.len())?))
            }
            Step::List(item) => self.list(item, array.as_list::<i32>(), bad),
            Step::Map(parts) => self.map(parts, array, bad),
        }
    }

    /// The zone names no other instant: only the unit changes.
    fn ticks(&self, array: &ArrayRef, bad: &BadValues) -> Result<ArrayRef> {
        let same_zone = match (array.data_type(), &self.data_type) {
            (DataType::Timestamp(_, zone), DataType::Timestamp(unit, _)) => {
                DataType::Timestamp(*unit, zone.clone())
            }
            (_, other) => other.clone(),
        };
        retyped(&bad.cast(array, &same_zone)?, &self.data_type)
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "a unit is a part of a second, and products of 64 and 32 bits fit 128"
    )]
    fn parts(&self, message: &StructArray, bad: &BadValues) -> Result<ArrayRef> {
        let seconds = message.column(0).as_primitive::<Int64Type>();
        let nanos = message.column(1).as_primitive::<Int32Type>();
        let (DataType::Timestamp(unit, _) | DataType::Duration(unit)) = &self.data_type else {
            return Err(ArrowError::CastError(format!("{} has no seconds", self.data_type)));
        };
        let per_second = match unit {
            TimeUnit::Second => 1,
            TimeUnit::Millisecond => 1_000,
            TimeUnit::Microsecond => 1_000_000,
            TimeUnit::Nanosecond => 1_000_000_000,
        };
        let ticks = |row: usize| {
            if message.is_null(row) {
                return Ok(None);
            }
            let below_a_second = i128::from(nanos.value(row)).div_euclid(1_000_000_000 / per_second);
            let ticks = i128::from(seconds.value(row)) * per_second + below_a_second;
            let beyond = |_| ArrowError::CastError(format!("a time is beyond {}", self.data_type));
            bad.value(i64::try_from(ticks).map_err(beyond))
        };
        let ticks: ArrayRef = Arc::new((0..message.len()).map(ticks).collect::<Result<Int64Array>>()?);
        retyped(&ticks, &self.data_type)
    }

    /// Decimals of a scale below 0, which casts of text do not make: 1200 are 12 hundreds.
    fn without_zeros(&self, array: &ArrayRef, bad: &BadValues) -> Result<ArrayRef> {
        let (zeros, data_type) = below_zero(&self.data_type).ok_or_else(|| unplanned(array))?;
        let texts = cast(array, &DataType::Utf8View)?;
        let digits =
            |text: &str| match text.len().checked_sub(zeros).and_then(|end| text.split_at_checked(end)) {
                Some((digits, rest)) if !digits.is_empty() && rest.bytes().all(|byte| byte == b'0') => {
                    Ok(digits.to_string())
                }
                _ if !text.is_empty() && text.bytes().all(|byte| byte == b'0') => Ok("0".to_string()),
                _ => {
                    let reason = format!("'{text}' is no value of type {}", self.data_type);
                    Err(ArrowError::CastError(reason))
                }
            };
        let digits = |text: Option<&str>| match text {
            Some(text) => bad.value(digits(text)),
            None => Ok(None),
        };
        let digits: ArrayRef =
            Arc::new(texts.as_string_view().iter().map(digits).collect::<Result<StringArray>>()?);
        retyped(&bad.cast(&digits, &data_type)?, &self.data_type)
    }

    fn list(&self, item: &Restore, list: &ListArray, bad: &BadValues) -> Result<ArrayRef> {
        let item_field = super::fit::item_field(&self.data_type).ok_or_else(|| unplanned(list))?;
        let values = item.array(list.values(), bad)?;
        let mut nulls = list.nulls().cloned();
        if matches!(self.data_type, DataType::FixedSizeList(_, size) if size > 0) {
            // NULL was written as empty, which no list of a fixed size is.
            let filled = list.offsets().lengths().map(|length| length > 0).collect::<BooleanBuffer>();
            nulls = NullBuffer::union(nulls.as_ref(), Some(&NullBuffer::new(filled)));
        }
        let list = ListArray::try_new(item_field, list.offsets().clone(), values, nulls)?;
        let list: ArrayRef = Arc::new(list);
        if *list.data_type() == self.data_type { Ok(list) } else { bad.cast(&list, &self.data_type) }
    }

    fn map(&self, [key, value]: &[Restore; 2], array: &ArrayRef, bad: &BadValues) -> Result<ArrayRef> {
        let (entries, offsets): (&StructArray, &OffsetBuffer<i32>) = match array.as_map_opt() {
            Some(map) => (map.entries(), map.offsets()),
            None => (array.as_list::<i32>().values().as_struct(), array.as_list::<i32>().offsets()),
        };
        let DataType::Map(field, sorted) = &self.data_type else { return Err(unplanned(array)) };
        let fields = entry_fields(field).ok_or_else(|| unplanned(array))?;
        let columns = vec![key.array(entries.column(0), bad)?, value.array(entries.column(1), bad)?];
        let entries = StructArray::try_new(fields, columns, None)?;
        let nulls = array.nulls().cloned();
        Ok(Arc::new(MapArray::try_new(Arc::clone(field), offsets.clone(), entries, nulls, *sorted)?))
    }
}

fn entry_fields(entries: &FieldRef) -> Option<Fields> {
    match entries.data_type() {
        DataType::Struct(fields) => Some(fields.clone()),
        _ => None,
    }
}

/// What becomes of values that the hinted types do not have.
#[derive(Debug, Default)]
pub(crate) struct BadValues {
    /// They are NULL, and no error.
    pub(crate) are_null: bool,
    /// How many are.
    pub(crate) nulled: Cell<u64>,
}

impl BadValues {
    fn cast(&self, array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
        let made =
            cast_with_options(array, to, &CastOptions { safe: self.are_null, ..CastOptions::default() })?;
        if self.are_null {
            self.count(made.logical_null_count().saturating_sub(array.logical_null_count()));
        }
        Ok(made)
    }

    /// The value, or NULL for a bad one where that is wanted.
    fn value<T>(&self, value: Result<T>) -> Result<Option<T>> {
        match value {
            Err(_) if self.are_null => {
                self.count(1);
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    fn count(&self, values: usize) {
        self.nulled.set(self.nulled.get().saturating_add(values as u64));
    }
}

/// The list type `like` with other items.
pub(super) fn with_item(like: &DataType, item: FieldRef) -> DataType {
    match like {
        DataType::LargeList(_) => DataType::LargeList(item),
        DataType::ListView(_) => DataType::ListView(item),
        DataType::LargeListView(_) => DataType::LargeListView(item),
        DataType::FixedSizeList(_, size) => DataType::FixedSizeList(item, *size),
        _ => DataType::List(item),
    }
}

/// How many zeros the text of a decimal has behind its digits, and the type of those digits; `None` unless its scale is
/// below 0.
pub(super) fn below_zero(data_type: &DataType) -> Option<(usize, DataType)> {
    let (scale, digits) = match data_type {
        DataType::Decimal32(precision, scale) => (*scale, DataType::Decimal32(*precision, 0)),
        DataType::Decimal64(precision, scale) => (*scale, DataType::Decimal64(*precision, 0)),
        DataType::Decimal128(precision, scale) => (*scale, DataType::Decimal128(*precision, 0)),
        DataType::Decimal256(precision, scale) => (*scale, DataType::Decimal256(*precision, 0)),
        _ => return None,
    };
    (scale < 0).then(|| (usize::from(scale.unsigned_abs()), digits))
}

/// Numbers as another type of the same layout.
fn retyped(array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    Ok(make_array(array.to_data().into_builder().data_type(data_type.clone()).build()?))
}

/// `array` with NULL where `nulls` has it too.
fn with_nulls(array: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<ArrayRef> {
    match nulls {
        Some(nulls) => nullif(array, &BooleanArray::new(!nulls.inner(), None)),
        None => Ok(Arc::clone(array)),
    }
}

fn unplanned(array: &dyn Array) -> ArrowError {
    ArrowError::SchemaError(format!("values of type {} were not planned for", array.data_type()))
}
