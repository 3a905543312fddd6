//! Strings, bytes and messages that are kept as bytes to their rows.

#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        reason = "columns have the indexes of the plan that they were made for: none is of a file"
    )
)]

use arrow::buffer::Buffer;

use super::assembly::Target;
use super::{CAPTURED, Unfit};
use crate::decode::{Walk, check_utf8};
use crate::plan::{Op, Place};
use crate::view::view;

/// Where the bytes of a leaf's values lie. Places are begins and ends, in the order in which the values were
/// noted.
#[derive(Debug, Default)]
pub struct ByteValues<'a> {
    /// What the places of [`STORED`](super::STORED) values refer to.
    pub buffer: Buffer,
    /// The [`STORED`](super::STORED) values.
    pub stored: &'a [(u32, u32)],
    /// What the places of [`CAPTURED`] values refer to.
    pub captured_buffer: Buffer,
    /// The [`CAPTURED`] values.
    pub captured: &'a [(u32, u32)],
}

/// The values against the order in which they were noted.
pub(super) struct FirstToLast<'a> {
    values: &'a ByteValues<'a>,
    stored: std::slice::Iter<'a, (u32, u32)>,
    captured: std::slice::Iter<'a, (u32, u32)>,
}

impl<'a> ByteValues<'a> {
    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.stored.is_empty() && self.captured.is_empty()
    }

    pub(super) fn first_to_last(&'a self) -> FirstToLast<'a> {
        FirstToLast { values: self, stored: self.stored.iter(), captured: self.captured.iter() }
    }
}

impl<'a> FirstToLast<'a> {
    /// The bytes of the next value.
    pub(super) fn next(&mut self, form: u8) -> Result<&'a [u8], Unfit> {
        let (buffer, begin, end) = self.place(form)?;
        buffer.get(begin..end).ok_or(Unfit)
    }

    #[inline(always)]
    fn place(&mut self, form: u8) -> Result<(&'a [u8], usize, usize), Unfit> {
        let values = self.values;
        let (buffer, place) = match form {
            CAPTURED => (values.captured_buffer.as_slice(), self.captured.next_back()),
            _ => (values.buffer.as_slice(), self.stored.next_back()),
        };
        let &(begin, end) = place.ok_or(Unfit)?;
        Ok((buffer, begin as usize, end as usize))
    }
}

/// The bit of a view that makes it one into the second buffer.
const SECOND_BUFFER: u128 = 1 << 64;

/// The view of a value, in a column whose buffers are those of stored and of captured values.
#[expect(clippy::arithmetic_side_effects, reason = "a value does not end before it begins")]
#[inline(always)]
fn view_of(form: u8, (buffer, begin, end): (&[u8], usize, usize)) -> u128 {
    let view = view(buffer, begin, end);
    if form == CAPTURED && end - begin > 12 { view | SECOND_BUFFER } else { view }
}

impl Target<'_> {
    /// Puts strings, bytes or messages to their rows.
    pub(super) fn bytes(&mut self, bytes: &ByteValues<'_>) -> Result<(), Unfit> {
        match self.slot.op {
            Op::View | Op::StrictText => self.views(bytes),
            Op::Owned { strict } => self.owned(bytes, strict),
            Op::Serialized => self.serialized(bytes),
            Op::Present => {
                self.presence();
                Ok(())
            }
            // Numbers of which all are packed.
            _ => self.numbers(None, bytes),
        }
    }

    /// Notes that values are there.
    fn presence(&mut self) {
        for &occurrence in self.occurrences.iter().rev() {
            if let Some(row) = self.row(occurrence) {
                self.place(row);
            }
        }
    }

    /// Views of strings or bytes.
    fn views(&mut self, bytes: &ByteValues<'_>) -> Result<(), Unfit> {
        let single = !matches!(self.slot.place, Place::Item(_));
        if single && !self.is_dense() || self.some_are_nowhere() {
            return self.views_one_by_one(bytes);
        }
        let column = self.slot.column as usize;
        if bytes.captured.is_empty() && bytes.stored.len() == self.occurrences.len() {
            let data = bytes.buffer.as_slice();
            let mut places = bytes.stored.iter().rev();
            let next = |_| places.next().map_or(0, |&(begin, end)| view(data, begin as usize, end as usize));
            self.fixed(|columns| &mut columns.views[column], next, |view| view);
            return Ok(());
        }
        let mut values = bytes.first_to_last();
        let mut missing = false;
        let next = |form| match values.place(form) {
            Ok(place) => view_of(form, place),
            Err(Unfit) => {
                missing = true;
                0
            }
        };
        self.fixed(|columns| &mut columns.views[column], next, |view| view);
        if missing { Err(Unfit) } else { Ok(()) }
    }

    /// Views of values of which one may replace another.
    fn views_one_by_one(&mut self, bytes: &ByteValues<'_>) -> Result<(), Unfit> {
        let column = self.slot.column as usize;
        let mut values = bytes.first_to_last();
        let mut last = None;
        for &occurrence in self.occurrences.iter().rev() {
            let form = occurrence as u8;
            let place = values.place(form)?;
            let (buffer, begin, end) = place;
            let value = buffer.get(begin..end).ok_or(Unfit)?;
            let Some(row) = self.row(occurrence) else {
                check_utf8_of(value, self.slot.op)?;
                continue;
            };
            // What is replaced would not be seen again.
            if let Some((last_row, last_value)) = last.replace((row, value))
                && last_row == row
                && self.slot.op == Op::StrictText
            {
                check_utf8(last_value)?;
            }
            let row = self.place(row);
            self.columns.views[column].set(row, view_of(form, place));
        }
        Ok(())
    }

    fn owned(&mut self, bytes: &ByteValues<'_>, strict: bool) -> Result<(), Unfit> {
        let column = self.slot.column as usize;
        let mut values = bytes.first_to_last();
        for &occurrence in self.occurrences.iter().rev() {
            let value = values.next(occurrence as u8)?;
            let Some(row) = self.row(occurrence) else {
                check_utf8_of(value, self.slot.op)?;
                continue;
            };
            let row = self.place(row);
            let strings = &mut self.columns.bytes[column];
            if strict {
                check_utf8(strings.get(row))?;
            }
            strings.replace(row, value);
        }
        Ok(())
    }

    /// Messages that are checked and kept as bytes: several of one row are one.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "messages are nested as deep as their types in the plan, and each mismatch takes bytes of its own"
    )]
    fn serialized(&mut self, bytes: &ByteValues<'_>) -> Result<(), Unfit> {
        let (column, message) = (self.slot.column as usize, self.slot.detail);
        let mut values = bytes.first_to_last();
        for &occurrence in self.occurrences.iter().rev() {
            let value = values.next(occurrence as u8)?;
            let mut walk = Walk { plan: self.plan, columns: self.columns, data: &[], mismatches: 0 };
            walk.check_message(value, message, self.depth + 1)?;
            self.mismatches += walk.mismatches;
            if let Some(row) = self.row(occurrence) {
                let row = self.place(row);
                self.columns.bytes[column].append(row, value);
            }
        }
        Ok(())
    }
}

/// Checks a value that another member of a oneof has replaced, if it may have to be text.
fn check_utf8_of(value: &[u8], op: Op) -> Result<(), Unfit> {
    match op {
        Op::View | Op::StrictText | Op::Owned { .. } => Ok(check_utf8(value)?),
        _ => Ok(()),
    }
}
