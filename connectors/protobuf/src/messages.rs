//! Records that are messages to arrays.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray};
use arrow::buffer::{Buffer, OffsetBuffer};
use recordfusion_core::RecordBlock;

use crate::column_tree::Node;
use crate::columns::Columns;
use crate::decode::Walk;
use crate::decoded::{Arrays, Tally};
use crate::descriptor::Descriptors;
use crate::fault::Result as Decoded;
use crate::finish::{Finish, ViewBuffers};
use crate::lockstep::Lockstep;
use crate::open::RecordType;
use crate::options::{Mapping, OnBadValue};
use crate::plan::{self, Compiled, Plan, Wanted};
use crate::shredded::{Assembly, Layout, Occurrences, Unfit};

/// Decodes the messages of one scan.
#[derive(Debug)]
pub(crate) struct MessageDecoder {
    descriptors: Arc<Descriptors>,
    mapping: Arc<Mapping>,
    plan: Plan,
    columns: Columns,
    lockstep: Lockstep,
    /// What the wanted columns are in a record without fields.
    absent: Vec<ArrayRef>,
}

impl MessageDecoder {
    /// A decoder of what is wanted of the columns `tree`.
    ///
    /// # Errors
    /// [`recordfusion_core::Error::Schema`] if a column is wanted that there is not.
    pub(crate) fn new(
        record: &RecordType,
        tree: &[Node],
        mapping: &Arc<Mapping>,
        wanted: &Wanted<'_>,
    ) -> recordfusion_core::Result<Self> {
        let Compiled { plan, columns } = plan::compile(&record.descriptors, mapping, tree, wanted)?;
        let descriptors = Arc::clone(&record.descriptors);
        let mut decoder = Self {
            descriptors,
            mapping: Arc::clone(mapping),
            plan,
            columns,
            lockstep: Lockstep::default(),
            absent: Vec::new(),
        };
        if let Some(empty) = RecordBlock::new(Buffer::default(), vec![(0, 0)], 0)
            && let Ok(arrays) = decoder.decode(&empty, 0..1)
        {
            decoder.absent = arrays.columns;
        }
        Ok(decoder)
    }

    /// What the wanted columns are in a record without fields, one row each; nothing if that is no valid record.
    pub(crate) fn absent(&self) -> &[ArrayRef] {
        &self.absent
    }

    /// How many leaf columns are decoded.
    pub(crate) fn leaves(&self) -> u64 {
        self.plan.leaves
    }

    /// What is decoded.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Makes arrays of records that come shredded; `fill` puts their values to the rows.
    ///
    /// # Errors
    /// [`Unfit`] if that is the answer of `fill`, or for a fault. The decoder goes on as if nothing had been.
    pub(crate) fn assemble(
        &mut self,
        layout: &Layout,
        occurrences: &Occurrences,
        fill: impl FnOnce(&mut Assembly<'_>) -> Result<(), Unfit>,
    ) -> Result<Arrays, Unfit> {
        let assembled = Assembly::fill(&self.plan, &mut self.columns, layout, occurrences, fill);
        let arrays = assembled.and_then(|assembled| {
            Ok(self.finish(assembled.buffers, assembled.records, assembled.mismatches)?)
        });
        if arrays.is_err() {
            self.columns.clear();
        }
        arrays
    }

    /// Decodes the records `rows` of `block`.
    ///
    /// # Errors
    /// A fault of one of the records; which one it is, it does not say. The decoder goes on with the next
    /// batch as if nothing had been.
    pub(crate) fn decode(
        &mut self,
        block: &RecordBlock,
        rows: impl Iterator<Item = usize> + Clone,
    ) -> Decoded<Arrays> {
        let result = self.walk_and_finish(block, rows);
        if result.is_err() {
            self.columns.clear();
        }
        result
    }

    fn walk_and_finish(
        &mut self,
        block: &RecordBlock,
        rows: impl Iterator<Item = usize> + Clone,
    ) -> Decoded<Arrays> {
        let mut walk =
            Walk { plan: &self.plan, columns: &mut self.columns, data: block.data(), mismatches: 0 };
        let places = rows.map(|row| block.places().get(row).copied().unwrap_or_default());
        let mut count = self.lockstep.decode(&mut walk, places.clone());
        for (begin, end) in places.skip(count) {
            walk.record(count, begin, end)?;
            count = count.saturating_add(1);
        }
        let mismatches = walk.mismatches;
        self.finish(ViewBuffers::Shared(block.data().clone()), count, mismatches)
    }

    /// The arrays of records whose values are in the columns.
    #[expect(clippy::indexing_slicing, reason = "the plan has the places of its own columns")]
    fn finish(&mut self, buffers: ViewBuffers, count: usize, mismatches: u64) -> Decoded<Arrays> {
        let buffers = &buffers.compacted(&mut self.columns);
        let mut finish = Finish {
            plan: &self.plan,
            descriptors: &self.descriptors,
            mapping: &self.mapping,
            columns: &mut self.columns,
            buffers,
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
        Ok(Arrays { columns: arrays, unknown, tally, mismatches, incomplete })
    }

    #[expect(clippy::indexing_slicing, reason = "the plan has the places of its own columns")]
    fn unknown_fields(&mut self, column: u32, rows: usize) -> Decoded<ArrayRef> {
        let (offsets, bytes) = self.columns.bytes[column as usize].take::<i32>(rows)?;
        let offsets = OffsetBuffer::new(offsets.into());
        Ok(Arc::new(BinaryArray::try_new(offsets, Buffer::from_vec(bytes), None)?))
    }
}
