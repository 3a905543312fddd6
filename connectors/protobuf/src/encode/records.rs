//! Batches of rows to serialized records.

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use recordfusion_core::{Error, Result};

use super::bind::{BoundMessage, check_fields};
use super::compile::Compiler;
use super::derive::{DerivedType, derive};
use super::fault::Fault;
use super::origin::{is_binary, is_text, plain};
use super::plan::MessagePlan;
use super::write::Output;
use crate::descriptor::Message;
use crate::open::RecordType;
use crate::options::WriteOptions;

/// Name of the column that holds whole records.
pub(crate) const RECORD: &str = "_record";
/// Name of the column that holds fields unknown to the message type.
const UNKNOWN: &str = "_unknown";
/// Rows that are encoded together: what is made of them on the way stays in the processor's cache.
const ROWS: usize = 1024;
/// The longest record, in bytes.
const MAX_RECORD: usize = i32::MAX as usize;

/// The message type of the records to write.
#[derive(Debug, Clone)]
pub enum Target<'a> {
    /// One that is made for the columns; its full name unless the option `message` gives another.
    Derived(&'a str),
    /// This one.
    Given(RecordType),
}

/// Serialized records, one behind the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EncodedRecords {
    /// The bytes of all records.
    pub bytes: Vec<u8>,
    /// Where each record ends in `bytes`.
    pub ends: Vec<usize>,
}

impl EncodedRecords {
    /// The records.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, &end)| self.bytes.get(begin..end).unwrap_or_default())
    }

    /// Forgets all but the first `len` records.
    fn truncate(&mut self, len: usize) {
        self.ends.truncate(len);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
    }

    /// Forgets the records, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

/// What records could not say of the rows, and the options let pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EncodeCounts {
    /// Lists and maps that were NULL, and are written as empty.
    pub null_lists: u64,
    /// Items of lists and values of maps that were NULL, and are left out.
    pub null_items: u64,
    /// Values that were NULL, and are read back as the default of their type.
    pub null_values: u64,
}

/// Encodes the rows of one result.
#[derive(Debug)]
pub struct RecordEncoder {
    schema: SchemaRef,
    plan: Plan,
    message: Option<RecordType>,
    derived: Option<DerivedType>,
    output: Output,
    rows: u64,
}

#[derive(Debug)]
enum Plan {
    /// The column `_record` is the record.
    Record,
    /// A message, with the column of this index behind it.
    Message { plan: MessagePlan, unknown: Option<usize> },
}

impl RecordEncoder {
    /// The encoder of rows of `schema` as records of `target`. A schema of nothing but a column
    /// `_record` of bytes or text is of records as they are; a binary column `_unknown` beside others is of fields to append
    /// to records of a given message type.
    ///
    /// # Errors
    /// All that can be wrong without data: [`Error::Schema`] for columns that have no field or do not fit it,
    /// and for required fields without a column; whatever [`derive()`] refuses.
    pub fn new(schema: SchemaRef, target: Target<'_>, options: &WriteOptions) -> Result<Self> {
        let (message, derived) = match target {
            Target::Given(record) => (Some(record), None),
            Target::Derived(_) if is_record(schema.fields()) => (None, None),
            Target::Derived(name) => {
                let derived = derive(&schema, options, name)?;
                (Some(derived.record.clone()), Some(derived))
            }
        };
        let plan = plan(&schema, message.as_ref(), derived.is_some(), options)?;
        Ok(Self { schema, plan, message, derived, output: Output::default(), rows: 0 })
    }

    /// Whether the rows are whole records, which are written as they are.
    pub fn takes_whole_records(&self) -> bool {
        matches!(self.plan, Plan::Record)
    }

    /// The message type of the records; `None` if `_record` is written and none was given.
    pub fn message(&self) -> Option<&RecordType> {
        self.message.as_ref()
    }

    /// The message type that was made for the columns.
    pub fn derived(&self) -> Option<&DerivedType> {
        self.derived.as_ref()
    }

    /// What the records could not say so far.
    pub fn counts(&self) -> EncodeCounts {
        self.output.counts
    }

    /// Appends the records of `batch` to `records`. If it fails, `records` is as before.
    ///
    /// # Errors
    /// [`Error::BadValue`] for the first row that cannot be written; [`Error::Schema`] for a batch of other
    /// columns.
    pub fn encode(&mut self, batch: &RecordBatch, records: &mut EncodedRecords) -> Result<()> {
        self.check_columns(batch)?;
        let (counts, first) = (self.output.counts, records.ends.len());
        for begin in (0..batch.num_rows()).step_by(ROWS) {
            let rows = batch.slice(begin, ROWS.min(batch.num_rows() - begin));
            if let Err(error) = self.encode_rows(&rows, self.rows + begin as u64, records) {
                records.truncate(first);
                self.output.counts = counts;
                return Err(error);
            }
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Appends the records of `batch`, whose first row has the number `first`.
    fn encode_rows(&mut self, batch: &RecordBatch, first: u64, records: &mut EncodedRecords) -> Result<()> {
        let result = match &self.plan {
            Plan::Record => copy_records(batch.column(0), records),
            Plan::Message { plan, unknown } => {
                let message = BoundMessage::new(plan, batch.columns())?;
                let unknown = unknown.map(|index| as_bytes(batch.column(index))).transpose()?;
                write_rows(&message, unknown.as_ref(), batch.num_rows(), &mut self.output, records)
            }
        };
        result.map_err(|(row, fault)| fault.at(first + row as u64))
    }

    fn check_columns(&self, batch: &RecordBatch) -> Result<()> {
        let schema = batch.schema_ref();
        let same = |(one, other): (&std::sync::Arc<Field>, &std::sync::Arc<Field>)| {
            one.data_type().equals_datatype(other.data_type())
        };
        let (planned, given) = (self.schema.fields(), schema.fields());
        if planned.len() == given.len() && planned.iter().zip(given).all(same) {
            return Ok(());
        }
        Err(Error::Schema("the columns of the batch are not those that the encoder was made for".to_string()))
    }
}

/// Whether the columns are one of whole records, of bytes or text.
fn is_record(columns: &Fields) -> bool {
    let is_whole = |column: &Field| {
        is_bytes_called(column, RECORD) || (column.name() == RECORD && is_text(plain(column.data_type())))
    };
    matches!(&columns[..], [only] if is_whole(only))
}

fn is_bytes_called(column: &Field, name: &str) -> bool {
    column.name() == name && is_binary(plain(column.data_type()))
}

fn plan(schema: &Schema, record: Option<&RecordType>, derived: bool, options: &WriteOptions) -> Result<Plan> {
    let has_field = |message: &Message, name: &str| message.fields.iter().any(|field| field.name == name);
    let Some(record) = record else { return Ok(Plan::Record) };
    let message = record.descriptors.message(record.message);
    if is_record(schema.fields()) && !has_field(message, RECORD) {
        return Ok(Plan::Record);
    }
    let is_unknown =
        |column: &Field| !derived && is_bytes_called(column, UNKNOWN) && !has_field(message, UNKNOWN);
    let unknown = schema.fields().iter().position(|column| is_unknown(column));
    let compiler = Compiler { descriptors: &record.descriptors, options, derived };
    let plan = compiler.message_of_columns(schema.fields(), unknown, record.message)?;
    Ok(Plan::Message { plan, unknown })
}

type RowFault = (usize, Box<Fault>);

/// Writes the rows from the last to the first. After a fault only those before it are looked at, for one that
/// comes earlier.
fn write_rows(
    message: &BoundMessage<'_>,
    unknown: Option<&BinaryViewArray>,
    rows: usize,
    output: &mut Output,
    records: &mut EncodedRecords,
) -> std::result::Result<(), RowFault> {
    output.buffer.clear();
    let first = records.ends.len();
    // How much was written when each row was, the last row first.
    let mut written = Vec::with_capacity(rows);
    let mut fault = None;
    for row in (0..rows).rev() {
        let before = output.buffer.len();
        match write_row(message, unknown, row, output, before) {
            Ok(()) => written.push(output.buffer.len()),
            Err(found) => {
                fault = Some((row, found));
                output.buffer.clear();
            }
        }
    }
    if let Some(fault) = fault {
        return Err(fault);
    }
    let total = output.buffer.len();
    let end = records.bytes.len() + total;
    records.bytes.extend_from_slice(output.buffer.written());
    // A row ends where those that were written before it begin.
    let behind = [0].into_iter().chain(written.iter().copied()).take(rows);
    records.ends.extend(behind.map(|behind| end - behind));
    if let Some(ends) = records.ends.get_mut(first..) {
        ends.reverse();
    }
    Ok(())
}

fn write_row(
    message: &BoundMessage<'_>,
    unknown: Option<&BinaryViewArray>,
    row: usize,
    output: &mut Output,
    before: usize,
) -> std::result::Result<(), Box<Fault>> {
    if let Some(unknown) = unknown.filter(|unknown| unknown.is_valid(row)) {
        let fields = unknown.value(row);
        check_fields(fields)
            .map_err(|fault| Fault::new(format!("the bytes are no fields: {fault}")).within(UNKNOWN))?;
        output.buffer.put(fields);
    }
    message.write(row, output)?;
    let size = output.buffer.len() - before;
    if size > MAX_RECORD {
        return Err(Fault::new(format!("the record has {size} bytes, which is more than 2 GiB")));
    }
    Ok(())
}

/// Copies the records of a column.
fn copy_records(column: &ArrayRef, records: &mut EncodedRecords) -> std::result::Result<(), RowFault> {
    let bytes = as_bytes(column).map_err(|error| (0, Fault::new(error.to_string())))?;
    if let Some(row) = (0..bytes.len()).find(|&row| bytes.is_null(row)) {
        return Err((row, Fault::new("it is NULL, and a record cannot be").within(RECORD)));
    }
    for record in bytes.iter().flatten() {
        records.bytes.extend_from_slice(record);
        records.ends.push(records.bytes.len());
    }
    Ok(())
}

fn as_bytes(column: &ArrayRef) -> Result<BinaryViewArray> {
    let column = match column.data_type() {
        DataType::FixedSizeBinary(_) => cast(column, &DataType::Binary)?,
        _ => std::sync::Arc::clone(column),
    };
    Ok(cast(&column, &DataType::BinaryView)?.as_binary_view().clone())
}
