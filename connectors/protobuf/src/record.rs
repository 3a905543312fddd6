//! Records to batches: what a table of records and a scan of it hold on to.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, RecordBatch, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use recordfusion_core::{Error, Projection, RecordBlock, Result, ScanCounters};

use crate::column_tree::{self, Node};
use crate::columns::Columns;
use crate::decode::{Walk, view};
use crate::fault::{Fault, Result as Decoded};
use crate::finish::{Finish, Tally};
use crate::open::{FileDescriptors, RecordType, record_descriptors};
use crate::options::ProtobufOptions;
use crate::plan::{self, Compiled, Plan};
use crate::schema;

/// Name of the column of a table whose records are plain bytes.
const RAW_COLUMN: &str = "record";

/// How the records of a table become columns. Cheap to clone.
#[derive(Debug, Clone)]
pub struct RecordDecoder {
    schema: SchemaRef,
    payload: Payload,
}

#[derive(Debug, Clone)]
enum Payload {
    Raw,
    Message { record: RecordType, columns: Arc<[Node]> },
}

impl RecordDecoder {
    /// The decoder for what these files and options say of their records; that of [`Self::raw`] if neither
    /// names a message type.
    ///
    /// # Errors
    /// Descriptors that are missing, broken or contradictory; see [`record_descriptors`] and
    /// [`Self::message`].
    pub fn open(files: &[FileDescriptors], options: &ProtobufOptions) -> Result<Self> {
        match record_descriptors(files, options)? {
            Some(record) => Self::message(record),
            None => Ok(Self::raw()),
        }
    }

    /// Records as plain bytes: one BinaryView column `record`.
    pub fn raw() -> Self {
        let field = Field::new(RAW_COLUMN, DataType::BinaryView, true);
        Self { schema: Arc::new(Schema::new(vec![field])), payload: Payload::Raw }
    }

    /// Records that are messages: a column per field, in declaration order.
    ///
    /// # Errors
    /// [`Error::Schema`] if the message type makes more than 10 000 leaf columns.
    pub fn message(record: RecordType) -> Result<Self> {
        let columns = column_tree::columns(&record.descriptors, record.message)?;
        let schema = schema::schema(&columns);
        Ok(Self { schema, payload: Payload::Message { record, columns: columns.into() } })
    }

    /// The columns of the table. Every field is nullable, at every depth, but keys and entries of maps.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The message type and all that it needs as .proto text; `None` for plain bytes.
    pub fn proto_text(&self) -> Option<String> {
        match &self.payload {
            Payload::Raw => None,
            Payload::Message { record, .. } => Some(record.proto_text()),
        }
    }

    /// Compiles the decoding of these columns.
    ///
    /// # Errors
    /// [`Error::Schema`] if the projection names a column that there is not.
    pub fn scan(&self, projection: &Projection) -> Result<BatchDecoder> {
        let indices: Vec<usize> = projection.columns.iter().map(|column| column.index).collect();
        let schema = Arc::new(self.schema.project(&indices)?);
        let state = match &self.payload {
            Payload::Raw => State::Raw,
            Payload::Message { record, columns } => {
                let Compiled { plan, columns } = plan::compile(&record.descriptors, columns, projection)?;
                let name = record.descriptors.message(record.message).full_name.clone();
                State::Message(Box::new(MessageState { name, plan, columns, batches: 0 }))
            }
        };
        Ok(BatchDecoder { schema, state })
    }
}

/// Decodes the records of one scan, batch by batch. It keeps the sizes of the last batch's buffers for the
/// next one.
#[derive(Debug)]
pub struct BatchDecoder {
    schema: SchemaRef,
    state: State,
}

#[derive(Debug)]
enum State {
    Raw,
    Message(Box<MessageState>),
}

#[derive(Debug)]
struct MessageState {
    name: String,
    plan: Plan,
    columns: Columns,
    batches: u64,
}

/// The arrays of a batch, and what was noticed on the way.
struct Batch {
    arrays: Vec<ArrayRef>,
    tally: Tally,
    mismatches: u64,
    incomplete: Option<BooleanBuffer>,
}

impl BatchDecoder {
    /// Decodes the records `rows` of `block` to the projected columns. Leaves that are not wanted are NULL;
    /// without columns the batch has its number of rows only. Strings and bytes share the block's buffer.
    ///
    /// # Errors
    /// [`Error::BadRecord`] for the first record that is no valid message (section 6 of the mapping) or has
    /// a value that no column can hold; `file` names the file in it. Fields that are not wanted are not
    /// looked into.
    pub fn decode(
        &mut self,
        file: &str,
        block: &RecordBlock,
        rows: Range<usize>,
        counters: &ScanCounters,
    ) -> Result<RecordBatch> {
        let rows = rows.start.min(block.len())..rows.end.min(block.len());
        let arrays = match &mut self.state {
            _ if self.schema.fields().is_empty() => Vec::new(),
            State::Raw => raw(block, rows.clone(), self.schema.fields().len())?,
            State::Message(state) => state.decode(file, block, rows.clone(), counters)?,
        };
        counters.records_decoded.add(rows.len() as u64);
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?)
    }
}

/// Whole records as a column, as often as it is wanted.
fn raw(block: &RecordBlock, rows: Range<usize>, columns: usize) -> Result<Vec<ArrayRef>> {
    let places = block.places().get(rows).unwrap_or_default();
    let views = places
        .iter()
        .map(|&(begin, end)| view(block.data(), begin as usize, end as usize))
        .collect::<Vec<u128>>();
    let array: ArrayRef = Arc::new(BinaryViewArray::try_new(views.into(), [block.data().clone()], None)?);
    Ok(vec![array; columns])
}

impl MessageState {
    fn decode(
        &mut self,
        file: &str,
        block: &RecordBlock,
        rows: Range<usize>,
        counters: &ScanCounters,
    ) -> Result<Vec<ArrayRef>> {
        let batch = match self.attempt(block, rows.clone()) {
            Ok(batch) => batch,
            Err(fault) => {
                let (row, fault) = self.first_fault(block, rows, fault);
                let fault = fault.describe(&self.name);
                return Err(Error::BadRecord {
                    file: file.to_string(),
                    position: block.position(row),
                    fault,
                });
            }
        };
        if self.batches == 0 {
            counters.fields_projected.add(self.plan.leaves);
        }
        self.batches += 1;
        counters.wire_type_mismatches.add(batch.mismatches);
        counters.timestamps_truncated.add(batch.tally.truncated);
        counters.invalid_utf8_replaced.add(batch.tally.mended);
        counters.records_incomplete.add(batch.incomplete.map_or(0, |rows| rows.count_set_bits() as u64));
        Ok(batch.arrays)
    }

    /// Decodes the records. A fault may be found only when arrays are made, and then says nothing of the
    /// record: [`Self::first_fault`] does.
    fn attempt(&mut self, block: &RecordBlock, rows: Range<usize>) -> Decoded<Batch> {
        let result = self.walk_and_finish(block, rows);
        if result.is_err() {
            self.columns.clear();
        }
        result
    }

    fn walk_and_finish(&mut self, block: &RecordBlock, rows: Range<usize>) -> Decoded<Batch> {
        let count = rows.len();
        let mut walk =
            Walk { plan: &self.plan, columns: &mut self.columns, data: block.data(), mismatches: 0 };
        for (row, &(begin, end)) in block.places().get(rows).unwrap_or_default().iter().enumerate() {
            walk.record(row, begin, end)?;
        }
        let mismatches = walk.mismatches;
        let mut finish = Finish {
            plan: &self.plan,
            columns: &mut self.columns,
            data: block.data(),
            tally: Tally::default(),
            incomplete: None,
        };
        let columns = self.plan.columns.iter();
        let made = columns.map(|&output| finish.array(output, count, None)).collect::<Decoded<Vec<_>>>()?;
        let arrays = self.plan.order.iter().map(|&index| Arc::clone(&made[index])).collect();
        let Finish { tally, incomplete, .. } = finish;
        // Members of a oneof that were decoded for their siblings only are left behind.
        self.columns.clear();
        Ok(Batch { arrays, tally, mismatches, incomplete })
    }

    /// The first record of `rows` with a fault, found by halving; `fault` is one of them.
    fn first_fault(
        &mut self,
        block: &RecordBlock,
        rows: Range<usize>,
        fault: Box<Fault>,
    ) -> (usize, Box<Fault>) {
        let (mut rows, mut fault) = (rows, fault);
        while rows.len() > 1 {
            let middle = rows.start + rows.len() / 2;
            match self.attempt(block, rows.start..middle) {
                Err(earlier) => (rows.end, fault) = (middle, earlier),
                Ok(_) => match self.attempt(block, middle..rows.end) {
                    Err(later) => (rows.start, fault) = (middle, later),
                    Ok(_) => break,
                },
            }
        }
        (rows.start, fault)
    }
}
