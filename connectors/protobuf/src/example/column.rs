//! The values of one feature, by row.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, Float32Array, Int64Array, ListArray};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field};

use super::message::{self, Entry, Member};
use super::{FeatureColumn, FeatureKind};
use crate::columns::{Bitmap, Items};
use crate::decoded::Tally;
use crate::fault::{Fault, FaultKind, Result};
use crate::options::{EmptyList, Mapping};
use crate::text::{Utf8, views_of_strings};
use crate::view::view;

/// The buffers of a column. Rows that no feature came for are NULL.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) spec: FeatureColumn,
    values: Values,
    /// Which values belong to which row of a list.
    items: Items,
    /// Which rows are not NULL.
    present: Bitmap,
    /// What the column cannot show of the record that was read last.
    misfit: Option<Misfit>,
    /// Whether the column is asked for.
    pub(super) wanted: bool,
    /// What becomes of strings that are not UTF-8.
    utf8: Utf8,
    /// The type of the array.
    data_type: DataType,
    /// Whether an empty list is NULL.
    empty_is_null: bool,
}

/// A feature that does not fit its column.
#[derive(Debug)]
struct Misfit {
    member: Member,
    count: usize,
}

/// Values one after the other: of a scalar one for each row, of a list as many as the rows have together.
#[derive(Debug)]
enum Values {
    Int64(Vec<i64>),
    Float(Vec<f32>),
    /// Views into the block's buffer.
    Bytes(Vec<u128>),
}

impl Column {
    pub(super) fn new(spec: FeatureColumn, wanted: bool, utf8: Utf8, mapping: &Mapping) -> Self {
        let values = match spec.kind.member() {
            Member::Int64 => Values::Int64(Vec::new()),
            Member::Float => Values::Float(Vec::new()),
            Member::Bytes => Values::Bytes(Vec::new()),
        };
        Self {
            data_type: spec.field(mapping).data_type().clone(),
            empty_is_null: spec.list && mapping.empty_list == EmptyList::Null,
            spec,
            values,
            items: Items::default(),
            present: Bitmap::default(),
            misfit: None,
            wanted,
            utf8,
        }
    }

    /// Makes the feature in `entry` the one of `row`, the last row so far, and returns whether it fits. One
    /// that does not is NULL, and [`Self::take_misfit`] says why.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "a row is less than the number of rows, the values only grow behind the first, and each takes a byte"
    )]
    pub(super) fn read(&mut self, data: &[u8], row: usize, entry: &Entry<'_>) -> Result<bool> {
        let own = self.spec.kind.member();
        let first = if self.spec.list { self.items.erase(row..row + 1).start } else { row };
        self.values.resize(first);
        let mut held = None;
        let mut foreign = 0;
        entry.lists(|member, list, at| {
            if held.replace(member).is_some_and(|before| before != member) {
                self.values.resize(first);
                foreign = 0;
            }
            if member == own {
                self.values.read(data, list, at)
            } else {
                foreign += member.count(list, at)?;
                Ok(())
            }
        })?;
        let count = self.values.len() - first + foreign;
        let fits = held.is_none_or(|member| member == own) && (self.spec.list || count <= 1);
        let enough = if self.spec.list { !self.empty_is_null || count > 0 } else { count == 1 };
        let present = fits && held.is_some() && enough;
        if !present {
            self.values.resize(first);
        } else if self.spec.list {
            self.items.push_run(row, count);
        }
        self.present.put(row, present);
        self.misfit = held.filter(|_| !fits).map(|member| Misfit { member, count });
        Ok(fits)
    }

    /// Why the feature that was read last does not fit the column, if it does not.
    pub(super) fn take_misfit(&mut self) -> Option<Box<Fault>> {
        let Misfit { member, count } = self.misfit.take()?;
        let FeatureColumn { name, kind: own, list } = &self.spec;
        let kind = if member == own.member() { *own } else { FeatureKind::of(member) };
        let held = if count == 1 { format!("one {kind} value") } else { format!("{count} {kind} values") };
        let wanted = if *list { format!("a list of {own} values") } else { format!("one {own} value") };
        let fault = FaultKind::BadValue(format!(
            "it has {held}, the column {wanted}; write {name}:{kind}[] in option features"
        ));
        Some(Box::<Fault>::from(fault).within(name))
    }

    /// The array of `rows` rows, with views into `data`; the column is empty afterwards.
    ///
    /// # Errors
    /// [`FaultKind::InvalidUtf8`] for a string that is none; [`FaultKind::TooLarge`] for lists beyond what
    /// 32-bit offsets reach.
    pub(super) fn take(&mut self, data: &Buffer, rows: usize, tally: &mut Tally) -> Result<ArrayRef> {
        let text = (self.spec.kind == FeatureKind::String).then_some(self.utf8);
        let present = NullBuffer::new(self.present.take(rows));
        let nulls = Some(present).filter(|present| present.null_count() > 0);
        if !self.spec.list {
            self.values.resize(rows);
            let array = self.values.take(text, data, nulls, tally)?;
            return self.typed(array);
        }
        let (offsets, _) = self.items.take(rows)?;
        let values = self.values.take(text, data, None, tally)?;
        let offsets = OffsetBuffer::new(offsets.into());
        let item = Arc::new(Field::new("item", values.data_type().clone(), true));
        self.typed(Arc::new(ListArray::try_new(item, offsets, values, nulls)?))
    }

    /// The array in the column's type.
    fn typed(&self, array: ArrayRef) -> Result<ArrayRef> {
        if *array.data_type() == self.data_type { Ok(array) } else { Ok(cast(&array, &self.data_type)?) }
    }

    /// Forgets all rows, after a batch that was given up.
    pub(super) fn clear(&mut self) {
        self.values.resize(0);
        self.items.clear();
        self.present.clear();
        self.misfit = None;
    }
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::Int64(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::Bytes(values) => values.len(),
        }
    }

    /// Drops what is beyond `len`, or fills up with zeros and empty byte strings.
    fn resize(&mut self, len: usize) {
        match self {
            Self::Int64(values) => values.resize(len, 0),
            Self::Float(values) => values.resize(len, 0.0),
            Self::Bytes(values) => values.resize(len, 0),
        }
    }

    /// Appends the values of a list from `at` to the end of `list`.
    fn read(&mut self, data: &[u8], list: &[u8], at: usize) -> Result<()> {
        match self {
            Self::Int64(values) => message::int64s(list, at, |value| values.push(value)),
            Self::Float(values) => message::floats(list, at, |run| {
                values.extend(run.iter().map(|bytes| f32::from_le_bytes(*bytes)));
            }),
            Self::Bytes(values) => {
                message::byte_strings(list, at, |begin, end| values.push(view(data, begin, end)))
            }
        }
    }

    /// The values as an array, of strings if byte strings are `text`; there is room for as many again afterwards.
    fn take(
        &mut self,
        text: Option<Utf8>,
        data: &Buffer,
        nulls: Option<NullBuffer>,
        tally: &mut Tally,
    ) -> Result<ArrayRef> {
        Ok(match self {
            Self::Int64(values) => Arc::new(Int64Array::try_new(renew(values).into(), nulls)?),
            Self::Float(values) => Arc::new(Float32Array::try_new(renew(values).into(), nulls)?),
            Self::Bytes(views) => match text {
                Some(utf8) => views_of_strings(renew(views), vec![data.clone()], nulls, utf8, tally)?,
                None => Arc::new(BinaryViewArray::try_new(renew(views).into(), [data.clone()], nulls)?),
            },
        })
    }
}

fn renew<T>(values: &mut Vec<T>) -> Vec<T> {
    let room = Vec::with_capacity(values.len());
    std::mem::replace(values, room)
}
