//! Columns of whole records: the one rule for what they are called and when they are meant.
//!
//! A table whose records are no messages has one column [`RECORD`]; beside the columns of messages, whole records
//! are the metadata column [`METADATA_RECORD`]. On the way back, a single column of either name is the records as they
//! are: always if it is [`METADATA_RECORD`]; if it is [`RECORD`] where no message type is known, so that no field of
//! that name can be meant, and where the file does not keep the columns' types anyway.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema};
use recordfusion_core::{ChunkJob, Chunker, Error, Result};

use crate::chunker::{OpenChunk, push_records};

/// The column of a table whose records are no messages.
pub const RECORD: &str = "record";
/// The metadata column of whole records.
pub const METADATA_RECORD: &str = "_record";

/// Where rows of a single column may be meant as whole records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Rows of a table whose records are no messages: its column is the records.
    OfPlainRecords,
    /// Rows of any origin, for files that do not keep the types of columns.
    WithoutType,
    /// Rows of any origin, for files that keep the types of columns: a message keeps more of a column than bytes do.
    WithType,
}

/// Whether the only column of the rows to write is whole records, if no message type is given for them.
pub(crate) fn is_whole_record(schema: &Schema, meaning: Meaning) -> bool {
    let [column] = &schema.fields()[..] else { return false };
    is_bytes_or_text(column)
        && match column.name().as_str() {
            METADATA_RECORD => true,
            RECORD => meaning != Meaning::WithType,
            _ => false,
        }
}

/// Whether the only column is the metadata column of whole records, whose message type is known.
pub(crate) fn is_metadata_record(schema: &Schema) -> bool {
    matches!(&schema.fields()[..], [column] if column.name() == METADATA_RECORD)
}

fn is_bytes_or_text(column: &Field) -> bool {
    use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary, LargeUtf8, Utf8, Utf8View};
    matches!(
        column.data_type(),
        Binary | BinaryView | FixedSizeBinary(_) | LargeBinary | LargeUtf8 | Utf8 | Utf8View
    )
}

/// Gathers records that are rows of one column of bytes or text.
pub(crate) struct WholeRecordChunker {
    chunk: Box<dyn OpenChunk>,
    /// Rows before the batch.
    rows: u64,
}

impl WholeRecordChunker {
    pub(crate) fn new(chunk: Box<dyn OpenChunk>) -> Self {
        Self { chunk, rows: 0 }
    }
}

impl Chunker for WholeRecordChunker {
    fn push(&mut self, batch: &RecordBatch) -> Result<Vec<ChunkJob>> {
        let records = records_of(batch)?;
        if let Some(row) = (0..records.len()).find(|&row| records.is_null(row)) {
            let column = batch.schema_ref().field(0).name().clone();
            let reason = "it is NULL, and a record cannot be".to_string();
            return Err(Error::BadValue { column, row: self.rows.saturating_add(row as u64), reason });
        }
        self.rows = self.rows.saturating_add(batch.num_rows() as u64);
        push_records(records.iter().flatten(), self.chunk.as_mut())
    }

    fn finish(&mut self) -> Result<Vec<ChunkJob>> {
        Ok(if self.chunk.is_empty() { Vec::new() } else { vec![self.chunk.close()] })
    }
}

/// The only column of a batch as bytes.
fn records_of(batch: &RecordBatch) -> Result<BinaryViewArray> {
    let [column] = batch.columns() else {
        return Err(Error::Schema("the batch has other columns than the writer was made for".to_string()));
    };
    let column: ArrayRef = match column.data_type() {
        DataType::FixedSizeBinary(_) => cast(column, &DataType::Binary)?,
        DataType::Utf8 | DataType::LargeUtf8 => cast(column, &DataType::Utf8View)?,
        _ => Arc::clone(column),
    };
    Ok(cast(&column, &DataType::BinaryView)?.as_binary_view().clone())
}
