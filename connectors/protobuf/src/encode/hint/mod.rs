//! The Arrow schema of a result, kept beside its records (section 8.1 of the mapping): with it the types that
//! messages cannot say come back.

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod fit;
mod restore;
mod sound;

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef, TimeUnit};
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use recordfusion_core::Result;

use crate::options::{DurationForm, Mapping, TimestampForm};
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
/// [`hinted_mapping`] gives, and those of times of day in any case.
pub fn apply_hint(decoded: &Schema, hint: &[u8]) -> Option<Hint> {
    let hinted = sound::read(hint)?;
    let columns = fit::fit_columns(decoded.fields(), hinted.fields())?;
    let fields = columns
        .iter()
        .zip(hinted.fields())
        .map(|(restore, field)| Arc::new(field.as_ref().clone().with_data_type(restore.data_type.clone())));
    let schema = Schema::new_with_metadata(fields.collect::<Vec<_>>(), hinted.metadata().clone());
    Some(Hint { schema: Arc::new(schema), columns })
}

/// `mapping`, changed so that no digits are lost of the times that `hint` tells of.
pub fn hinted_mapping(hint: &[u8], mapping: &Mapping) -> Mapping {
    let mut mapping = mapping.clone();
    let Some(hinted) = sound::read(hint) else { return mapping };
    let mut units = Units::default();
    hinted.fields().iter().for_each(|field| units.look(field));
    mapping.timestamp = match units.timestamps {
        [false, _] => mapping.timestamp,
        [true, false] => TimestampForm::Nanoseconds,
        [true, true] => TimestampForm::Struct,
    };
    mapping.duration = match units.durations {
        [false, _] => mapping.duration,
        [true, false] => DurationForm::Nanoseconds,
        [true, true] => DurationForm::Struct,
    };
    mapping
}

impl Hint {
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
        let wanted = indices.iter().filter_map(|&index| self.columns.get(index));
        let columns = wanted.zip(batch.columns()).map(|(restore, column)| restore.array(column));
        let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = columns.collect::<std::result::Result<_, _>>()?;
        Ok(RecordBatch::try_new_with_options(Arc::new(schema), columns, &options)?)
    }
}

/// Whether there are times in nanoseconds, and in other units.
#[derive(Debug, Default)]
struct Units {
    timestamps: [bool; 2],
    durations: [bool; 2],
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
