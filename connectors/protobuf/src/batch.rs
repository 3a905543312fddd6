//! Records to batches: the columns of a scan put together.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, RecordBatch, RecordBatchOptions, StringViewArray, UInt64Array, new_null_array,
};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use recordfusion_core::{Error, RecordBlock, Result, ScanCounters, compact_column};

use crate::counters::VALUES_NULLED;
use crate::decoded::Arrays;
use crate::encode::{BadValues, Hint};
use crate::extent::Extent;
use crate::fault::{Fault, FaultKind};
use crate::messages::MessageDecoder;
use crate::options::MetadataColumn;
use crate::rows::{RowDecoder, Rows};
use crate::view::view;

/// Where a column of a batch comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputColumn {
    /// The records: the index in what their decoder gives.
    Payload(usize),
    /// What is known about the records.
    Metadata(MetadataColumn),
}

/// Decodes the records of one scan, batch by batch. It keeps the sizes of the last batch's buffers for the
/// next one.
#[derive(Debug)]
pub struct BatchDecoder {
    schema: SchemaRef,
    columns: Vec<OutputColumn>,
    /// `None` for records that are plain bytes.
    rows: Option<RowDecoder>,
    restore: Option<Restore>,
    extent: Extent,
}

/// How decoded columns become those that the records were made of.
#[derive(Debug)]
pub(crate) struct Restore {
    /// What is known of those.
    pub hint: Arc<Hint>,
    /// The indices of the decoded columns among all columns of the records.
    pub columns: Vec<usize>,
    /// Full name of the message type.
    pub message: Option<String>,
    /// Whether values that are not of the columns' types are NULL.
    pub bad_values_are_null: bool,
}

impl Restore {
    /// The columns, from records of `file` at these positions.
    ///
    /// # Errors
    /// [`Error::BadRecord`] for the first record with a value that is not of its column's type.
    fn restore(
        &self,
        decoded: &[ArrayRef],
        counters: &ScanCounters,
        file: &str,
        position: impl Fn(usize) -> u64,
    ) -> Result<Vec<ArrayRef>> {
        let bad = BadValues { are_null: self.bad_values_are_null, ..BadValues::default() };
        let error = match self.hint.arrays(decoded, &self.columns, &bad) {
            Ok(arrays) => {
                counters.add(&VALUES_NULLED, bad.nulled.get());
                return Ok(arrays);
            }
            Err(error) => error,
        };
        let Some((row, column, error)) = self.hint.first_bad(decoded, &self.columns, &bad) else {
            return Err(error.into());
        };
        let reason = match error {
            ArrowError::CastError(reason) => reason,
            other => other.to_string(),
        };
        let fault: Box<Fault> = FaultKind::BadValue(reason).into();
        let fault = fault.within(column).describe(self.message.as_deref().unwrap_or_default());
        Err(Error::BadRecord { file: file.to_string(), position: position(row), fault })
    }
}

/// A batch, and how many records it took.
#[derive(Debug)]
pub struct DecodedBatch {
    /// The rows: one per record, less those that were left out.
    pub batch: RecordBatch,
    /// The records that were decoded. Less than were asked for if their columns would be too large.
    pub consumed: usize,
}

impl BatchDecoder {
    /// A decoder whose batches have these columns.
    pub(crate) fn new(
        schema: SchemaRef,
        columns: Vec<OutputColumn>,
        rows: Option<RowDecoder>,
        restore: Option<Restore>,
    ) -> Self {
        let extent = rows.as_ref().map(RowDecoder::extent).unwrap_or_default();
        Self { schema, columns, rows, restore, extent }
    }

    /// The columns of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Decodes the records `rows` of `block`, or the first of them, to the projected columns. Leaves that are
    /// not wanted may be NULL; without columns the batch has its number of rows only. A column of strings or bytes
    /// that has most of the records' bytes shares their buffer; others have their own.
    ///
    /// # Errors
    /// [`recordfusion_core::Error::BadRecord`] for the first record that is no valid message (section 6 of
    /// the mapping) or has a value that no column can hold, unless the options say otherwise; `file` names the
    /// file in it. Fields that are not wanted are only looked into if records are judged as a whole.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "the rows of a batch are among those that are asked for, which the block has"
    )]
    pub fn decode(
        &mut self,
        file: &str,
        block: &RecordBlock,
        rows: Range<usize>,
        counters: &ScanCounters,
    ) -> Result<DecodedBatch> {
        let begin = rows.start.min(block.len());
        let rows = begin..rows.end.min(block.len());
        let rows = begin..begin + self.extent.rows_of_batch(block, &rows);
        let (block, rows) = (&block.part(rows.clone()), 0..rows.len());
        let mut decoded = match &mut self.rows {
            Some(decoder) => decoder.decode(file, block, rows, counters)?,
            None => {
                let columns = self.columns.iter().filter(|column| matches!(column, OutputColumn::Payload(_)));
                let record = record_column(block, rows.clone())?;
                Rows {
                    arrays: columns.map(|_| Arc::clone(&record)).collect(),
                    unknown: None,
                    consumed: rows.len(),
                    records: rows.collect(),
                }
            }
        };
        let (arrays, count) = (std::mem::take(&mut decoded.arrays), decoded.records.len());
        let metadata = |column| metadata(column, file, block, &decoded);
        let position = |row: usize| decoded.records.get(row).map_or(0, |&row| block.position(row));
        let arrays = self.restored(arrays, counters, file, position)?;
        let batch = self.batch(&arrays, count, counters, metadata)?;
        Ok(DecodedBatch { batch, consumed: decoded.consumed })
    }

    /// The decoded columns as the records were made of them, if that is known.
    fn restored(
        &self,
        decoded: Vec<ArrayRef>,
        counters: &ScanCounters,
        file: &str,
        position: impl Fn(usize) -> u64,
    ) -> Result<Vec<ArrayRef>> {
        match &self.restore {
            Some(restore) => restore.restore(&decoded, counters, file, position),
            None => Ok(decoded),
        }
    }

    /// The batch of the columns of `count` records and of metadata columns.
    #[expect(
        clippy::indexing_slicing,
        reason = "there is an array for each column that is wanted of the records"
    )]
    fn batch(
        &self,
        payload: &[ArrayRef],
        count: usize,
        counters: &ScanCounters,
        metadata: impl Fn(MetadataColumn) -> Result<ArrayRef>,
    ) -> Result<RecordBatch> {
        let arrays = self.columns.iter().map(|column| match column {
            OutputColumn::Payload(index) => Ok(Arc::clone(&payload[*index])),
            OutputColumn::Metadata(column) => metadata(*column),
        });
        let arrays = arrays.collect::<Result<Vec<ArrayRef>>>()?;
        counters.records_decoded.add(count as u64);
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?)
    }

    /// Whether the columns of so many rows and items with so many bytes are small enough to be made at once.
    pub(crate) fn holds(&self, rows: u64, items: u64, bytes: u64) -> bool {
        self.extent.holds(rows, items, bytes)
    }

    /// The place among the columns of the records that a column is, as it is decoded.
    pub(crate) fn payload(&self, column: usize) -> Option<usize> {
        match self.columns.get(column)? {
            OutputColumn::Payload(index) if self.restore.is_none() => Some(*index),
            _ => None,
        }
    }

    /// The decoder of messages, if nothing is wanted that needs their bytes.
    pub(crate) fn shreddable(&self) -> Option<&MessageDecoder> {
        let needs_bytes = |column: &OutputColumn| {
            matches!(column, OutputColumn::Metadata(MetadataColumn::Record | MetadataColumn::Unknown))
        };
        if self.columns.iter().any(needs_bytes) { None } else { self.rows.as_ref()?.shreddable() }
    }

    /// The decoder of messages, as [`Self::shreddable`].
    pub(crate) fn shreddable_mut(&mut self) -> Option<&mut MessageDecoder> {
        self.shreddable()?;
        self.rows.as_mut()?.shreddable_mut()
    }

    /// The batch of records that came shredded, from a file and with these positions.
    pub(crate) fn shredded_batch(
        &mut self,
        arrays: Arrays,
        file: &str,
        positions: Range<u64>,
        counters: &ScanCounters,
    ) -> Result<RecordBatch> {
        if let Some(rows) = &mut self.rows {
            rows.count(&arrays, counters);
        }
        let count = positions.end.saturating_sub(positions.start) as usize;
        let position = |row: usize| positions.start.saturating_add(row as u64);
        let columns = self.restored(arrays.columns, counters, file, position)?;
        self.batch(&columns, count, counters, |column| {
            Ok(match column {
                MetadataColumn::File => {
                    Arc::new(std::iter::repeat_n(Some(file), count).collect::<StringViewArray>())
                }
                MetadataColumn::Position => Arc::new(UInt64Array::from_iter_values(positions.clone())),
                MetadataColumn::Record | MetadataColumn::Unknown => new_null_array(&DataType::Binary, count),
            })
        })
    }
}

/// Whole records as a column.
fn record_column(block: &RecordBlock, rows: impl IntoIterator<Item = usize>) -> Result<ArrayRef> {
    let places = block.places();
    let record = |row: usize| {
        let (begin, end) = places.get(row).copied().unwrap_or_default();
        view(block.data(), begin as usize, end as usize)
    };
    let views: Vec<u128> = rows.into_iter().map(record).collect();
    let records: ArrayRef = Arc::new(BinaryViewArray::try_new(views.into(), [block.data().clone()], None)?);
    compact_column(&records)
}

/// A metadata column of the rows.
fn metadata(column: MetadataColumn, file: &str, block: &RecordBlock, decoded: &Rows) -> Result<ArrayRef> {
    let rows = decoded.records.iter().copied();
    Ok(match column {
        MetadataColumn::File => Arc::new(rows.map(|_| Some(file)).collect::<StringViewArray>()),
        MetadataColumn::Position => {
            Arc::new(rows.map(|row| block.position(row)).collect::<UInt64Array>()) as ArrayRef
        }
        MetadataColumn::Record => record_column(block, rows)?,
        MetadataColumn::Unknown => match &decoded.unknown {
            Some(unknown) => Arc::clone(unknown),
            None => new_null_array(&DataType::Binary, rows.len()),
        },
    })
}
