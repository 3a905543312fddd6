//! The values of a walk to the columns of a batch.

#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        reason = "columns, outputs and messages have the indexes of the plan and layout that they were made for: none is of a file"
    )
)]

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use recordfusion_core::ScanCounters;

use super::bytes::ByteValues;
use super::layout::{Layout, Leaf, LeafPlan, Message, PlannedMessage};
use super::numbers::Numbers;
use super::occurrences::{Occurrences, row_of};
use super::{NOWHERE, Unfit};
use crate::batch::BatchDecoder;
use crate::columns::Columns;
use crate::finish::ViewBuffers;
use crate::plan::{Op, Place, Plan, Slot};

/// Least bytes of a value in a record: a tag, and a byte.
const LEAST_VALUE: u64 = 2;

/// Puts the values of one walk to their rows.
pub struct Assembly<'a> {
    plan: &'a Plan,
    columns: &'a mut Columns,
    layout: &'a Layout,
    occurrences: &'a Occurrences,
    /// The rows of each message, by index; its own rows are those of one above it if it is no item.
    rows: Vec<usize>,
    mismatches: u64,
    views: Vec<Vec<Buffer>>,
}

/// What an assembly leaves behind besides the columns.
pub(crate) struct Assembled {
    /// The number of records.
    pub records: usize,
    /// Occurrences of known fields with another wire type.
    pub mismatches: u64,
    /// The buffers that views point into.
    pub buffers: ViewBuffers,
}

impl<'a> Assembly<'a> {
    /// Puts all values to their rows; `fill` does it for the leaves.
    pub(crate) fn fill(
        plan: &'a Plan,
        columns: &'a mut Columns,
        layout: &'a Layout,
        occurrences: &'a Occurrences,
        fill: impl FnOnce(&mut Self) -> Result<(), Unfit>,
    ) -> Result<Assembled, Unfit> {
        let mut assembly = Self::new(plan, columns, layout, occurrences);
        assembly.presence()?;
        fill(&mut assembly)?;
        Ok(assembly.finish())
    }

    fn new(
        plan: &'a Plan,
        columns: &'a mut Columns,
        layout: &'a Layout,
        occurrences: &'a Occurrences,
    ) -> Self {
        let records = occurrences.records;
        let rows = (0..layout.messages.len() as u16).map(|index| match layout.rows_of(Message(index)) {
            0 => records,
            message => occurrences.of_message(Message(message as u16)).len(),
        });
        let rows = rows.collect();
        let views = vec![Vec::new(); columns.views.len()];
        let mismatches = occurrences.mismatches;
        Self { plan, columns, layout, occurrences, rows, mismatches, views }
    }

    /// The number of records.
    pub fn records(&self) -> usize {
        self.rows[0]
    }

    /// Puts the numbers of a leaf to their rows; such that are packed come as `bytes`.
    ///
    /// # Errors
    /// [`Unfit`] for values that are not sound, or not those that were noted.
    pub fn numbers(
        &mut self,
        leaf: Leaf,
        numbers: impl Numbers,
        bytes: &ByteValues<'_>,
    ) -> Result<(), Unfit> {
        self.target(leaf).numbers(numbers, bytes)
    }

    /// Puts strings, bytes, or messages that are kept as a whole to their rows.
    ///
    /// # Errors
    /// [`Unfit`] for values that are not sound, or not those that were noted.
    #[expect(clippy::arithmetic_side_effects, reason = "each mismatch takes bytes of its own")]
    pub fn bytes(&mut self, leaf: Leaf, bytes: ByteValues<'_>) -> Result<(), Unfit> {
        let mut target = self.target(leaf);
        target.bytes(&bytes)?;
        let (mismatches, column) = (target.mismatches, target.slot.column as usize);
        let is_view = matches!(target.slot.op, Op::View | Op::StrictText);
        self.mismatches += mismatches;
        if is_view {
            self.views[column] = match bytes.captured.is_empty() {
                true => vec![bytes.buffer],
                false => vec![bytes.buffer, bytes.captured_buffer],
            };
        }
        Ok(())
    }

    fn target(&mut self, leaf: Leaf) -> Target<'_> {
        let &LeafPlan { slot, holder, .. } = &self.layout.leaves[leaf.index()];
        Target {
            plan: self.plan,
            columns: self.columns,
            slot,
            occurrences: self.occurrences.of(leaf),
            rows: self.rows[usize::from(holder.0)],
            depth: self.layout.message(holder).depth,
            mismatches: 0,
        }
    }

    /// Notes which messages are there, and which member each oneof has: what the walk alone tells.
    ///
    /// # Errors
    /// [`Unfit`] for a row that there is not.
    fn presence(&mut self) -> Result<(), Unfit> {
        for (index, planned) in (0..).zip(&self.layout.messages) {
            let rows = self.rows[usize::from(planned.holder.0)];
            let met = self.occurrences.of_message(Message(index)).iter().rev();
            let met = met.map(|&occurrence| from_first(row_of(occurrence), rows).ok_or(Unfit));
            match planned.place {
                Place::Row => {}
                Place::Marked(mark) => {
                    let validity = self.plan.marks[mark as usize].validity;
                    for row in met {
                        self.columns.validity[validity as usize].set(row?);
                    }
                }
                Place::Item(items) => {
                    for row in met {
                        self.columns.items[items as usize].push(row?);
                    }
                }
            }
        }
        for case in self.occurrences.cases.iter().rev() {
            let rows = self.rows[usize::from(case.holder.0)];
            let (column, member) = case.shown;
            self.columns.words[column as usize].set(from_first(case.row, rows).ok_or(Unfit)?, member);
        }
        Ok(())
    }

    /// Takes entries out of their maps whose value is a number that a closed enum does not have.
    fn finish(self) -> Assembled {
        for (index, PlannedMessage { plan, place, .. }) in self.layout.messages.iter().enumerate() {
            let closed = self.plan.messages[*plan as usize].closed_value;
            if let (Some((column, closed)), Place::Item(items)) = (closed, place) {
                for entry in 0..self.rows[index] {
                    let number = self.columns.words[column as usize].get(entry);
                    if !self.plan.is_known(closed, number) {
                        self.columns.items[*items as usize].withdraw(entry);
                    }
                }
            }
        }
        let buffers = ViewBuffers::OfEach(self.views);
        Assembled { records: self.rows[0], mismatches: self.mismatches, buffers }
    }
}

impl BatchDecoder {
    /// What the tags of the records mean to this scan; `None` if it needs whole records.
    pub fn layout(&self) -> Option<Arc<Layout>> {
        Layout::compile(self.shreddable()?.plan()).map(Arc::new)
    }

    /// A batch of the records that `occurrences` has, of which the first has the position `position`. `fill` puts
    /// the values to their rows.
    ///
    /// # Errors
    /// [`Unfit`] if that is the answer of `fill`, or if a value is not sound. The decoder is then as if nothing
    /// had been.
    pub fn assemble(
        &mut self,
        layout: &Layout,
        occurrences: &Occurrences,
        file: &str,
        position: u64,
        counters: &ScanCounters,
        fill: impl FnOnce(&mut Assembly<'_>) -> Result<(), Unfit>,
    ) -> Result<RecordBatch, Unfit> {
        let rows = occurrences.records;
        let (items, values) = occurrences.extent();
        if !self.holds(rows as u64, items, values.saturating_mul(LEAST_VALUE)) {
            return Err(Unfit);
        }
        let positions = position..position.checked_add(rows as u64).ok_or(Unfit)?;
        let messages = self.shreddable_mut().ok_or(Unfit)?;
        let arrays = messages.assemble(layout, occurrences, fill)?;
        self.shredded_batch(arrays, file, positions, counters).map_err(|_| Unfit)
    }
}

/// The row that is counted from the last of so many, counted from the first; `None` if there is none.
#[expect(clippy::arithmetic_side_effects, reason = "the row is less than the number of rows")]
#[inline(always)]
fn from_first(row: u32, rows: usize) -> Option<usize> {
    let row = row as usize;
    (row < rows).then(|| rows - 1 - row)
}

/// Where the values of one leaf go.
pub(super) struct Target<'a> {
    pub plan: &'a Plan,
    pub columns: &'a mut Columns,
    pub slot: Slot,
    /// Row and form of each value, from the last to the first.
    pub occurrences: &'a [u32],
    /// The rows of the message that holds the values.
    pub rows: usize,
    /// Messages around that message.
    pub depth: u32,
    /// Occurrences of known fields with another wire type, in messages that are kept as a whole.
    pub mismatches: u64,
}

impl Target<'_> {
    /// The row of an occurrence, `None` for what is nowhere.
    #[inline(always)]
    pub fn row(&self, occurrence: u32) -> Option<usize> {
        from_first(row_of(occurrence), self.rows)
    }

    /// Whether every row has one value.
    pub fn is_dense(&self) -> bool {
        // Without an early end, which takes many at once.
        let others =
            (0..).zip(self.occurrences).fold(0, |others, (row, &next)| others | (row_of(next) ^ row));
        self.occurrences.len() == self.rows && others == 0
    }

    pub fn some_are_nowhere(&self) -> bool {
        self.occurrences.iter().fold(0, |most, &occurrence| most.max(row_of(occurrence))) == NOWHERE
    }

    /// The place in the column of a value of the row, which is there from now on.
    #[inline]
    pub fn place(&mut self, row: usize) -> usize {
        match self.slot.place {
            Place::Row => {}
            Place::Item(items) => return self.columns.items[items as usize].push(row),
            Place::Marked(mark) => {
                let validity = self.plan.marks[mark as usize].validity;
                self.columns.validity[validity as usize].set(row);
            }
        }
        row
    }

    /// Notes that all rows are there.
    pub fn mark_all(&mut self) {
        if let Place::Marked(mark) = self.slot.place {
            let validity = self.plan.marks[mark as usize].validity;
            self.columns.validity[validity as usize].set_first(self.rows);
        }
    }

    /// Notes that the rows with occurrences are there.
    pub fn mark_rows(&mut self) {
        if let Place::Marked(mark) = self.slot.place {
            let validity = self.plan.marks[mark as usize].validity as usize;
            for &occurrence in self.occurrences.iter().rev() {
                if let Some(row) = self.row(occurrence) {
                    self.columns.validity[validity].set(row);
                }
            }
        }
    }
}
