//! Decoded arrays to arrays of hinted types.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, ListArray, MapArray, NullArray, StructArray,
    make_array,
};
use arrow::buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow::compute::{CastOptions, cast_with_options, nullif};
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
    /// Those of Arrow, for values that the hinted type does not have.
    pub(super) fn array(&self, array: &ArrayRef) -> Result<ArrayRef> {
        match &self.step {
            Step::Same => Ok(Arc::clone(array)),
            Step::Cast => strict_cast(array, &self.data_type),
            Step::Then(first) => strict_cast(&first.array(array)?, &self.data_type),
            Step::Empty => Ok(Arc::new(StructArray::new_empty_fields(array.len(), array.nulls().cloned()))),
            Step::Null => Ok(Arc::new(NullArray::new(array.len()))),
            Step::Ticks => self.ticks(array),
            Step::Parts => self.parts(array.as_struct()),
            Step::Unwrap(inner) => {
                let message = array.as_struct();
                with_nulls(&inner.array(message.column(0))?, message.nulls())
            }
            Step::Struct(parts) => {
                let DataType::Struct(fields) = &self.data_type else { return Err(unplanned(array)) };
                let message = array.as_struct();
                let columns = parts.iter().zip(message.columns()).map(|(part, column)| part.array(column));
                let (columns, nulls) = (columns.collect::<Result<_>>()?, message.nulls().cloned());
                Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, nulls, message.len())?))
            }
            Step::List(item) => self.list(item, array.as_list::<i32>()),
            Step::Map(parts) => self.map(parts, array),
        }
    }

    /// The zone names no other instant: only the unit changes.
    fn ticks(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let same_zone = match (array.data_type(), &self.data_type) {
            (DataType::Timestamp(_, zone), DataType::Timestamp(unit, _)) => {
                DataType::Timestamp(*unit, zone.clone())
            }
            (_, other) => other.clone(),
        };
        retyped(&strict_cast(array, &same_zone)?, &self.data_type)
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "a unit is a part of a second, and products of 64 and 32 bits fit 128"
    )]
    fn parts(&self, message: &StructArray) -> Result<ArrayRef> {
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
            i64::try_from(ticks).map(Some).map_err(beyond)
        };
        let ticks: ArrayRef = Arc::new((0..message.len()).map(ticks).collect::<Result<Int64Array>>()?);
        retyped(&ticks, &self.data_type)
    }

    fn list(&self, item: &Restore, list: &ListArray) -> Result<ArrayRef> {
        let item_field = super::fit::item_field(&self.data_type).ok_or_else(|| unplanned(list))?;
        let values = item.array(list.values())?;
        let mut nulls = list.nulls().cloned();
        if matches!(self.data_type, DataType::FixedSizeList(_, size) if size > 0) {
            // NULL was written as empty, which no list of a fixed size is.
            let filled = list.offsets().lengths().map(|length| length > 0).collect::<BooleanBuffer>();
            nulls = NullBuffer::union(nulls.as_ref(), Some(&NullBuffer::new(filled)));
        }
        let list = ListArray::try_new(item_field, list.offsets().clone(), values, nulls)?;
        let list: ArrayRef = Arc::new(list);
        if *list.data_type() == self.data_type { Ok(list) } else { strict_cast(&list, &self.data_type) }
    }

    fn map(&self, [key, value]: &[Restore; 2], array: &ArrayRef) -> Result<ArrayRef> {
        let (entries, offsets): (&StructArray, &OffsetBuffer<i32>) = match array.as_map_opt() {
            Some(map) => (map.entries(), map.offsets()),
            None => (array.as_list::<i32>().values().as_struct(), array.as_list::<i32>().offsets()),
        };
        let DataType::Map(field, sorted) = &self.data_type else { return Err(unplanned(array)) };
        let fields = entry_fields(field).ok_or_else(|| unplanned(array))?;
        let columns = vec![key.array(entries.column(0))?, value.array(entries.column(1))?];
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

fn strict_cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    cast_with_options(array, to, &CastOptions { safe: false, ..CastOptions::default() })
}

/// 64-bit numbers as another type of them.
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
