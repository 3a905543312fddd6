//! The Arrow schema of a result, kept beside its records (section 8.1 of the mapping): with it the types that
//! messages cannot say come back.

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod fit;
mod follow;
mod restore;
mod sound;
mod zones;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use recordfusion_core::{Error, Result};

use crate::options::{DurationForm, Mapping, TimeOfDayForm, TimestampForm};
pub(crate) use restore::BadValues;
use restore::Restore;

/// The schema as an encapsulated Arrow IPC message, which `pyarrow.ipc.read_schema` and its like read.
pub fn schema_hint(schema: &Schema) -> Vec<u8> {
    let mut tracker = DictionaryTracker::new(false);
    let options = IpcWriteOptions::default();
    let encoded =
        IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(schema, &mut tracker, &options);
    let mut message = encoded.ipc_message;
    message.resize(message.len().next_multiple_of(8), 0);
    let len = u32::try_from(message.len()).unwrap_or_default();
    [&[0xff; 4], &len.to_le_bytes()[..], &message].concat()
}

/// How decoded columns become those that a hint tells of.
#[derive(Debug)]
pub struct Hint {
    schema: SchemaRef,
    columns: Vec<Restore>,
}

/// How the columns `decoded` become those of the schema in `hint`; `None` if they are not of its records, or
/// the bytes are no hint.
///
/// All but this comes back: fields inside of columns are nullable; keys of dictionaries have at least 32 bits,
/// as batches may be larger than they were; digits below microseconds, unless the decoder has the mapping that
/// [`hinted_mapping`] gives.
pub fn apply_hint(decoded: &Schema, hint: &[u8]) -> Option<Hint> {
    let hinted = sound::read(hint)?;
    let columns = fit::fit_columns(decoded.fields(), hinted.fields())?;
    Some(Hint::new(&hinted, hinted.fields(), columns.into_iter().collect::<Option<_>>()?))
}

/// As [`apply_hint`] for the columns `now` that options make. `usual` are those that there are without the options:
/// what an option is about follows the option, everything else the hint.
///
/// # Errors
/// The name of the first column that can follow neither.
pub(crate) fn apply_hint_under_options(
    usual: &Fields,
    now: &Fields,
    hint: &[u8],
) -> std::result::Result<Option<Hint>, String> {
    let Some(hinted) = sound::read(hint) else { return Ok(None) };
    let of_its_records = fit::fit_columns(usual, hinted.fields());
    if !of_its_records.is_some_and(|columns| columns.iter().all(Option::is_some)) {
        return Ok(None);
    }
    let fields = follow::follow_fields(usual, now, hinted.fields());
    let Some(columns) = fit::fit_places(now, &fields) else { return Ok(None) };
    match columns.iter().position(Option::is_none) {
        Some(at) => Err(now.get(at).map(|field| field.name().clone()).unwrap_or_default()),
        None => Ok(Some(Hint::new(&hinted, &fields, columns.into_iter().flatten().collect()))),
    }
}

/// The schema as [`schema_hint`], for records of columns that are decoded as `decoded`.
///
/// # Errors
/// [`Error::Schema`] for the first column that would not come back as it is.
pub(crate) fn kept_schema_hint(schema: &Schema, decoded: &Fields) -> Result<Vec<u8>> {
    let hint = schema_hint(schema);
    let refused = |field: &Field, reason: &str| {
        Error::Schema(format!(
            "column '{}' of type {} {reason}; cast it to another type, or write without the Arrow schema (option \
             arrow_schema_hint = false)",
            field.name(),
            field.data_type()
        ))
    };
    if let Some((field, reason)) = zones::first_unknown(schema.fields()) {
        return Err(refused(field, &reason));
    }
    let columns = sound::read(&hint).and_then(|hinted| fit::fit_columns(decoded, hinted.fields()));
    let columns = columns.unwrap_or_default();
    let comes_back = |at: usize| columns.get(at).is_some_and(Option::is_some);
    match schema.fields().iter().enumerate().find(|(at, _)| !comes_back(*at)) {
        Some((_, field)) => Err(refused(field, "could not be read again as that type")),
        None => Ok(hint),
    }
}

/// `mapping`, changed so that no digits are lost of the times that `hint` tells of, where it has the default units.
pub fn hinted_mapping(hint: &[u8], mapping: &Mapping) -> Mapping {
    let mut mapping = mapping.clone();
    let Some(hinted) = sound::read(hint) else { return mapping };
    let mut units = Units::default();
    hinted.fields().iter().for_each(|field| units.look(field));
    if mapping.timestamp == TimestampForm::default() {
        mapping.timestamp = match units.timestamps {
            [false, _] => mapping.timestamp,
            [true, false] => TimestampForm::Nanoseconds,
            [true, true] => TimestampForm::Struct,
        };
    }
    if mapping.duration == DurationForm::default() {
        mapping.duration = match units.durations {
            [false, _] => mapping.duration,
            [true, false] => DurationForm::Nanoseconds,
            [true, true] => DurationForm::Struct,
        };
    }
    if units.has_nanos_of_day {
        // A day has few enough of them for every unit.
        mapping.time_of_day = TimeOfDayForm::Nanoseconds;
    }
    mapping
}

impl Hint {
    fn new(hinted: &Schema, fields: &Fields, columns: Vec<Restore>) -> Self {
        let typed = |(restore, field): (&Restore, &FieldRef)| {
            Arc::new(field.as_ref().clone().with_data_type(restore.data_type.clone()))
        };
        let fields: Vec<FieldRef> = columns.iter().zip(fields).map(typed).collect();
        let schema = Schema::new_with_metadata(fields, hinted.metadata().clone());
        Self { schema: Arc::new(schema), columns }
    }

    /// What is wrong with the first column that has a time zone that is not known.
    pub(crate) fn unknown_zone(&self) -> Option<String> {
        let (field, reason) = zones::first_unknown(self.schema.fields())?;
        Some(format!("column '{}' {reason}", field.name()))
    }

    /// The same with columns that may be NULL.
    #[must_use]
    pub fn nullable(self) -> Self {
        let nullable = |field: &FieldRef| Arc::new(field.as_ref().clone().with_nullable(true));
        let fields: Vec<FieldRef> = self.schema.fields().iter().map(nullable).collect();
        let schema = Schema::new_with_metadata(fields, self.schema.metadata().clone());
        Self { schema: Arc::new(schema), ..self }
    }

    /// The columns, as the hint tells of them.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The decoded columns `indices` of a batch as the hint tells of them.
    ///
    /// # Errors
    /// [`recordfusion_core::Error::Arrow`] for values that are not of the hint's types.
    pub fn restore(&self, batch: &RecordBatch, indices: &[usize]) -> Result<RecordBatch> {
        let schema = self.schema.project(indices)?;
        let columns = self.arrays(batch.columns(), indices, &BadValues::default())?;
        let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::new(schema), columns, &options)?)
    }

    /// The decoded columns `indices` as the hint tells of them.
    ///
    /// # Errors
    /// Those of Arrow for values that are not of the hint's types, unless `bad` lets them be NULL.
    pub(crate) fn arrays(
        &self,
        decoded: &[ArrayRef],
        indices: &[usize],
        bad: &BadValues,
    ) -> std::result::Result<Vec<ArrayRef>, ArrowError> {
        let wanted = indices.iter().filter_map(|&index| self.columns.get(index));
        wanted.zip(decoded).map(|(restore, column)| restore.array(column, bad)).collect()
    }

    /// The first row that [`Self::arrays`] fails for, its column, and why.
    pub(crate) fn first_bad(
        &self,
        decoded: &[ArrayRef],
        indices: &[usize],
        bad: &BadValues,
    ) -> Option<(usize, &str, ArrowError)> {
        let columns = indices.iter().zip(decoded).filter_map(|(&index, column)| {
            let (restore, field) = (self.columns.get(index)?, self.schema.fields().get(index)?);
            restore.array(column, bad).is_err().then_some((restore, field, column))
        });
        let firsts = columns.filter_map(|(restore, field, column)| {
            let fails = |row: usize| restore.array(&column.slice(row, 1), bad).err();
            let (row, error) = (0..column.len()).find_map(|row| Some((row, fails(row)?)))?;
            Some((row, field.name().as_str(), error))
        });
        firsts.min_by_key(|(row, ..)| *row)
    }
}

/// Whether there are times in nanoseconds, and in other units.
#[derive(Debug, Default)]
struct Units {
    timestamps: [bool; 2],
    durations: [bool; 2],
    has_nanos_of_day: bool,
}

impl Units {
    fn look(&mut self, field: &FieldRef) {
        self.look_at(field.data_type());
    }

    #[expect(clippy::indexing_slicing, reason = "there are two of each, and a bool is 0 or 1")]
    fn look_at(&mut self, data_type: &DataType) {
        match data_type {
            DataType::Timestamp(unit, _) => {
                self.timestamps[usize::from(*unit != TimeUnit::Nanosecond)] = true
            }
            DataType::Duration(unit) => self.durations[usize::from(*unit != TimeUnit::Nanosecond)] = true,
            DataType::Time64(TimeUnit::Nanosecond) => self.has_nanos_of_day = true,
            DataType::Dictionary(_, values) => self.look_at(values),
            DataType::RunEndEncoded(_, inner)
            | DataType::List(inner)
            | DataType::LargeList(inner)
            | DataType::ListView(inner)
            | DataType::LargeListView(inner)
            | DataType::FixedSizeList(inner, _)
            | DataType::Map(inner, _) => self.look(inner),
            DataType::Struct(fields) => fields.iter().for_each(|field| self.look(field)),
            _ => {}
        }
    }
}
