//! Records to the arrays of the wanted columns.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use recordfusion_core::RecordBlock;

use super::FeatureColumn;
use super::column::Column;
use super::message;
use super::names::Names;
use crate::decoded::{Arrays, Tally};
use crate::fault::Result;
use crate::options::{InvalidUtf8, Mapping, OnBadValue};
use crate::text::Utf8;

/// Decodes `tf.train.Example` records to some of the columns that show their features.
#[derive(Debug)]
pub(crate) struct ExampleDecoder {
    names: Names,
    /// By the index that [`Names`] gives, the column's place in `columns` if it is decoded.
    places: Vec<Option<usize>>,
    columns: Vec<Column>,
    /// The wanted columns, as places in `columns`.
    order: Vec<usize>,
    on_bad_value: OnBadValue,
    nulled: u64,
}

impl ExampleDecoder {
    /// A decoder for those of `columns` that are at the indices `wanted`. If records are judged as a whole,
    /// the others are decoded too.
    pub(crate) fn new(columns: &[FeatureColumn], wanted: &[usize], mapping: &Mapping) -> Self {
        let judged = mapping.judges_whole_records();
        let utf8 = match mapping.invalid_utf8 {
            InvalidUtf8::Auto | InvalidUtf8::Error => Utf8::Strict,
            InvalidUtf8::Replace => Utf8::Replace,
            InvalidUtf8::Null => Utf8::Null,
        };
        let decoded: Vec<usize> =
            (0..columns.len()).filter(|index| judged || wanted.contains(index)).collect();
        let place = |index: &usize| decoded.binary_search(index).ok();
        Self {
            names: Names::new(columns.iter().map(|column| column.name.as_str())),
            places: (0..columns.len()).map(|index| place(&index)).collect(),
            columns: columns
                .iter()
                .enumerate()
                .filter(|(index, _)| place(index).is_some())
                .map(|(index, column)| Column::new(column.clone(), wanted.contains(&index), utf8, mapping))
                .collect(),
            order: wanted.iter().filter_map(place).collect(),
            on_bad_value: mapping.on_bad_value,
            nulled: 0,
        }
    }

    /// How many columns are decoded.
    pub(crate) fn leaves(&self) -> u64 {
        self.columns.len() as u64
    }

    /// The wanted columns of the records `rows` of `block`. Byte strings share the block's buffer. Features
    /// that are not decoded are not looked into.
    ///
    /// # Errors
    /// A fault of one of the records; which one it is, it does not say. The decoder goes on with the next
    /// batch as if nothing had been.
    pub(crate) fn decode(
        &mut self,
        block: &RecordBlock,
        rows: impl Iterator<Item = usize>,
    ) -> Result<Arrays> {
        self.nulled = 0;
        let arrays = self.walk_and_finish(block, rows);
        if arrays.is_err() {
            self.columns.iter_mut().for_each(Column::clear);
        }
        arrays
    }

    #[expect(clippy::indexing_slicing, reason = "the order has places of columns that are decoded")]
    fn walk_and_finish(&mut self, block: &RecordBlock, rows: impl Iterator<Item = usize>) -> Result<Arrays> {
        let mut count = 0usize;
        for row in rows {
            let (begin, end) = block.places().get(row).copied().unwrap_or_default();
            self.record(block.data(), count, begin as usize..end as usize)?;
            count = count.saturating_add(1);
        }
        let mut tally = Tally { nulled: self.nulled, ..Tally::default() };
        let arrays = self.columns.iter_mut().map(|column| {
            let before = tally.clone();
            let array = column.take(block.data(), count, &mut tally);
            if !column.wanted {
                tally = before;
            }
            array.map_err(|fault| fault.within(&column.spec.name))
        });
        let arrays = arrays.collect::<Result<Vec<ArrayRef>>>()?;
        let columns = self.order.iter().map(|&place| Arc::clone(&arrays[place])).collect();
        Ok(Arrays { columns, tally, ..Arrays::default() })
    }

    fn record(&mut self, data: &[u8], row: usize, place: Range<usize>) -> Result<()> {
        let bytes = data.get(..place.end).unwrap_or_default();
        let mut all_fit = true;
        message::entries(bytes, place.start, |entry| {
            let Some(index) = self.names.find(entry.name) else { return Ok(()) };
            let place = self.places.get(index).copied().flatten();
            if let Some(column) = place.and_then(|place| self.columns.get_mut(place)) {
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
        for column in &mut self.columns {
            match (column.take_misfit(), self.on_bad_value) {
                // What nobody asks for is decoded to judge the record, and a bad value does not make it bad.
                (Some(_), _) if !column.wanted => {}
                (Some(misfit), OnBadValue::Error) => return Err(misfit),
                (Some(_), OnBadValue::Null) => self.nulled = self.nulled.saturating_add(1),
                (None, _) => {}
            }
        }
        Ok(())
    }
}
