//! Records that are messages to arrays, and what becomes of bad ones (section 6 of the mapping).

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, UInt32Array};
use arrow::buffer::{BooleanBuffer, Buffer, OffsetBuffer};
use arrow::compute::take;
use recordfusion_core::{Error, RecordBlock, Result, ScanCounters};

use crate::column_tree::Node;
use crate::columns::Columns;
use crate::decode::Walk;
use crate::descriptor::Descriptors;
use crate::fault::{Fault, FaultKind, Result as Decoded};
use crate::finish::{Finish, Tally};
use crate::open::RecordType;
use crate::options::{Mapping, OnBadRecord, OnBadValue};
use crate::plan::{self, Compiled, Plan, Wanted};

/// The rows that records became.
pub(crate) struct DecodedRows {
    /// The wanted columns.
    pub arrays: Vec<ArrayRef>,
    /// The unknown fields of each row, if they are wanted.
    pub unknown: Option<ArrayRef>,
    /// The record of each row, by its index in the block.
    pub rows: Vec<usize>,
    /// The records that were decoded.
    pub consumed: usize,
}

/// Decodes the messages of one scan.
#[derive(Debug)]
pub(crate) struct MessageDecoder {
    name: String,
    descriptors: Arc<Descriptors>,
    mapping: Arc<Mapping>,
    plan: Plan,
    columns: Columns,
    batches: u64,
}

/// The arrays of a batch, and what was noticed on the way.
struct Batch {
    arrays: Vec<ArrayRef>,
    unknown: Option<ArrayRef>,
    tally: Tally,
    mismatches: u64,
    incomplete: Option<BooleanBuffer>,
}

impl MessageDecoder {
    /// A decoder of what is wanted of the columns `tree`.
    ///
    /// # Errors
    /// [`Error::Schema`] if a column is wanted that there is not.
    pub(crate) fn new(
        record: &RecordType,
        tree: &[Node],
        mapping: &Arc<Mapping>,
        wanted: &Wanted<'_>,
    ) -> Result<Self> {
        let Compiled { plan, columns } = plan::compile(&record.descriptors, mapping, tree, wanted)?;
        Ok(Self {
            name: record.descriptors.message(record.message).full_name.clone(),
            descriptors: Arc::clone(&record.descriptors),
            mapping: Arc::clone(mapping),
            plan,
            columns,
            batches: 0,
        })
    }

    /// Decodes the records `rows` of `block`; only the first half of them, or of that, if a column would
    /// exceed 2 GiB.
    ///
    /// # Errors
    /// [`Error::BadRecord`], as far as the options do not say otherwise.
    pub(crate) fn decode(
        &mut self,
        file: &str,
        block: &RecordBlock,
        rows: Range<usize>,
        counters: &ScanCounters,
    ) -> Result<DecodedRows> {
        let first = self.attempt(block, rows.clone());
        let outcome = match first {
            Err(fault) if is_bad_record(&fault) && self.mapping.on_bad_record != OnBadRecord::Error => {
                self.without_bad_records(block, rows.clone(), counters)
            }
            Err(fault) => Err((rows.clone(), fault)),
            Ok(batch) => Ok((rows.clone().collect(), self.counted(batch, counters))),
        };
        match outcome {
            Ok((kept, batch)) => Ok(DecodedRows {
                arrays: batch.arrays,
                unknown: batch.unknown,
                rows: kept,
                consumed: rows.len(),
            }),
            Err((_, fault)) if matches!(fault.kind(), FaultKind::TooLarge) && rows.len() > 1 => {
                self.decode(file, block, rows.start..rows.start + rows.len() / 2, counters)
            }
            Err((rows, fault)) => {
                let (row, fault) = self.first_fault(block, rows, fault);
                let fault = fault.describe(&self.name);
                Err(Error::BadRecord { file: file.to_string(), position: block.position(row), fault })
            }
        }
    }

    /// The rows of the records that are no bad ones, with rows of NULLs for the bad ones where these are
    /// wanted, and the record of each row.
    fn without_bad_records(
        &mut self,
        block: &RecordBlock,
        rows: Range<usize>,
        counters: &ScanCounters,
    ) -> std::result::Result<(Vec<usize>, Batch), (Range<usize>, Box<Fault>)> {
        let mut bad = Vec::new();
        self.find_bad_records(block, rows.clone(), &mut bad)?;
        let good: Vec<usize> = rows.clone().filter(|row| bad.binary_search(row).is_err()).collect();
        let batch = self.attempt(block, good.iter().copied()).map_err(|fault| (rows.clone(), fault))?;
        let batch = self.counted(batch, counters);
        if self.mapping.on_bad_record == OnBadRecord::Skip {
            counters.records_skipped.add(bad.len() as u64);
            return Ok((good, batch));
        }
        counters.records_nulled.add(bad.len() as u64);
        let places: UInt32Array =
            rows.clone().map(|row| good.binary_search(&row).ok().map(|at| at as u32)).collect();
        let spread = |array: &ArrayRef| take(array, &places, None);
        let spread = |batch: Batch| {
            let arrays = batch.arrays.iter().map(spread).collect::<std::result::Result<_, _>>()?;
            let unknown = batch.unknown.as_ref().map(spread).transpose()?;
            Ok::<_, Box<Fault>>(Batch { arrays, unknown, ..batch })
        };
        let batch = spread(batch).map_err(|fault| (rows.clone(), fault))?;
        Ok((rows.collect(), batch))
    }

    /// Adds the bad records among `rows` to `bad`, found by halving.
    fn find_bad_records(
        &mut self,
        block: &RecordBlock,
        rows: Range<usize>,
        bad: &mut Vec<usize>,
    ) -> std::result::Result<(), (Range<usize>, Box<Fault>)> {
        match self.attempt(block, rows.clone()) {
            Ok(_) => Ok(()),
            Err(_) if rows.len() > 1 => {
                let middle = rows.start + rows.len() / 2;
                self.find_bad_records(block, rows.start..middle, bad)?;
                self.find_bad_records(block, middle..rows.end, bad)
            }
            Err(fault) if is_bad_record(&fault) => {
                bad.push(rows.start);
                Ok(())
            }
            Err(fault) => Err((rows, fault)),
        }
    }

    fn counted(&mut self, batch: Batch, counters: &ScanCounters) -> Batch {
        if self.batches == 0 {
            counters.fields_projected.add(self.plan.leaves);
        }
        self.batches += 1;
        counters.wire_type_mismatches.add(batch.mismatches);
        counters.timestamps_truncated.add(batch.tally.truncated);
        counters.invalid_utf8_replaced.add(batch.tally.mended);
        counters.values_nulled.add(batch.tally.nulled);
        let incomplete = batch.incomplete.as_ref().map_or(0, BooleanBuffer::count_set_bits);
        counters.records_incomplete.add(incomplete as u64);
        batch
    }

    /// Decodes the records. A fault may be found only when arrays are made, and then says nothing of the
    /// record: [`Self::first_fault`] does.
    fn attempt(&mut self, block: &RecordBlock, rows: impl Iterator<Item = usize>) -> Decoded<Batch> {
        let result = self.walk_and_finish(block, rows);
        if result.is_err() {
            self.columns.clear();
        }
        result
    }

    fn walk_and_finish(&mut self, block: &RecordBlock, rows: impl Iterator<Item = usize>) -> Decoded<Batch> {
        let mut walk =
            Walk { plan: &self.plan, columns: &mut self.columns, data: block.data(), mismatches: 0 };
        let mut count = 0;
        for row in rows {
            let (begin, end) = block.places().get(row).copied().unwrap_or_default();
            walk.record(count, begin, end)?;
            count += 1;
        }
        let mismatches = walk.mismatches;
        let mut finish = Finish {
            plan: &self.plan,
            descriptors: &self.descriptors,
            mapping: &self.mapping,
            columns: &mut self.columns,
            data: block.data(),
            tally: Tally::default(),
            incomplete: None,
        };
        let mut made = Vec::with_capacity(self.plan.columns.len());
        for column in &self.plan.columns {
            // What nobody asks for is decoded to judge the record, and a bad value does not make it bad.
            finish.tally.null_bad_values = !column.wanted || self.mapping.on_bad_value == OnBadValue::Null;
            let before = finish.tally.clone();
            made.push(finish.array(column.output, count, None)?);
            if !column.wanted {
                finish.tally = before;
            }
        }
        let arrays = self.plan.order.iter().map(|&index| Arc::clone(&made[index])).collect();
        let Finish { tally, incomplete, .. } = finish;
        let unknown = self.plan.unknown.map(|column| self.unknown_fields(column, count)).transpose()?;
        // Members of a oneof that were decoded for their siblings only are left behind.
        self.columns.clear();
        Ok(Batch { arrays, unknown, tally, mismatches, incomplete })
    }

    fn unknown_fields(&mut self, column: u32, rows: usize) -> Decoded<ArrayRef> {
        let (offsets, bytes) = self.columns.bytes[column as usize].take::<i32>(rows)?;
        let offsets = OffsetBuffer::new(offsets.into());
        Ok(Arc::new(BinaryArray::try_new(offsets, Buffer::from_vec(bytes), None)?))
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

/// Whether a fault makes the record as a whole a bad one.
fn is_bad_record(fault: &Fault) -> bool {
    matches!(fault.kind(), FaultKind::Wire(_) | FaultKind::InvalidUtf8 | FaultKind::RequiredMissing)
}
