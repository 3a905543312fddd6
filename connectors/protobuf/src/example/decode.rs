//! Records to the arrays of the wanted columns.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{Field, Schema, SchemaRef};
use recordfusion_core::RecordBlock;

use super::FeatureColumn;
use super::column::Column;
use super::message;
use super::names::Names;
use crate::fault::Result;

/// What becomes of a feature that its column cannot show: one of another kind, or with several values where
/// the column has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadValue {
    /// The record is refused.
    Error,
    /// The value is NULL, and counted.
    Null,
}

/// Decodes `tf.train.Example` records to some of the columns that show their features.
#[derive(Debug)]
pub(crate) struct ExampleDecoder {
    names: Names,
    /// By the index that [`Names`] gives, the column's place in `columns` if it is wanted.
    places: Vec<Option<usize>>,
    columns: Vec<Column>,
    on_bad_value: BadValue,
    bad_values: u64,
}

impl ExampleDecoder {
    /// A decoder for those of `columns` that are at the indices `wanted`, each at most once, in that order.
    pub(crate) fn new(columns: &[FeatureColumn], wanted: &[usize], on_bad_value: BadValue) -> Self {
        Self {
            names: Names::new(columns.iter().map(|column| column.name.as_str())),
            places: (0..columns.len()).map(|index| wanted.iter().position(|one| *one == index)).collect(),
            columns: wanted.iter().map(|&index| Column::new(columns[index].clone())).collect(),
            on_bad_value,
            bad_values: 0,
        }
    }

    /// The schema of a table with all of `columns`.
    pub(crate) fn schema(columns: &[FeatureColumn]) -> SchemaRef {
        Arc::new(Schema::new(columns.iter().map(FeatureColumn::field).collect::<Vec<Field>>()))
    }

    /// The values of the last batch that are NULL because their columns cannot show them.
    pub(crate) fn bad_values(&self) -> u64 {
        self.bad_values
    }

    /// The wanted columns of the records `rows` of `block`. Byte strings share the block's buffer. Features
    /// that are not wanted are not looked into.
    ///
    /// # Errors
    /// A fault of one of the records; which one it is, it does not say. The decoder goes on with the next
    /// batch as if nothing had been.
    pub(crate) fn decode(&mut self, block: &RecordBlock, rows: Range<usize>) -> Result<Vec<ArrayRef>> {
        self.bad_values = 0;
        let places = block.places();
        let places = places.get(rows.start..rows.end.min(places.len())).unwrap_or_default();
        let arrays = self.walk_and_finish(block, places);
        if arrays.is_err() {
            self.columns.iter_mut().for_each(Column::clear);
        }
        arrays
    }

    fn walk_and_finish(&mut self, block: &RecordBlock, places: &[(u32, u32)]) -> Result<Vec<ArrayRef>> {
        for (row, &(begin, end)) in places.iter().enumerate() {
            self.record(block.data(), row, begin as usize..end as usize)?;
        }
        let arrays = self.columns.iter_mut().map(|column| {
            column.take(block.data(), places.len()).map_err(|fault| fault.within(&column.spec.name))
        });
        arrays.collect()
    }

    fn record(&mut self, data: &[u8], row: usize, place: Range<usize>) -> Result<()> {
        let bytes = data.get(..place.end).unwrap_or_default();
        let mut all_fit = true;
        message::entries(bytes, place.start, |entry| {
            let Some(index) = self.names.find(entry.name) else { return Ok(()) };
            if let Some(place) = self.places[index] {
                let column = &mut self.columns[place];
                let fits = column.read(data, row, &entry);
                all_fit &= fits.map_err(|fault| fault.within(&column.spec.name))?;
            }
            Ok(())
        })?;
        if all_fit { Ok(()) } else { self.settle() }
    }

    /// Applies the policy to what does not fit at the end of a record: no later feature has replaced it.
    #[cold]
    fn settle(&mut self) -> Result<()> {
        for misfit in self.columns.iter_mut().filter_map(Column::take_misfit) {
            match self.on_bad_value {
                BadValue::Error => return Err(misfit),
                BadValue::Null => self.bad_values += 1,
            }
        }
        Ok(())
    }
}
