//! The numbers of a leaf to their rows.

#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        reason = "columns have the indexes of the plan that they were made for: none is of a file"
    )
)]

use super::assembly::Target;
use super::bytes::ByteValues;
use super::{CAPTURED, STORED, Unfit};
use crate::columns::{Columns, Fixed};
use crate::decode::{Walk, check_packed};
use crate::plan::{Encoding, Op, Place};
use crate::wire::{varint, zigzag32, zigzag64};

/// The numbers of one leaf, from that of the last occurrence that was noted to that of the first: in the order
/// of the records.
pub trait Numbers: Copy {
    /// The bits of the next number, whose form is known: of a varint its value, which a signed number of 32 bits
    /// may have extended to 64. Anything if there is none left.
    fn next(&mut self, form: u8) -> u64;

    /// Whether all numbers were there, and none is left.
    fn is_complete(&self) -> bool;
}

/// No numbers.
impl Numbers for Option<std::convert::Infallible> {
    fn next(&mut self, _: u8) -> u64 {
        0
    }

    fn is_complete(&self) -> bool {
        true
    }
}

impl Target<'_> {
    /// Puts numbers to their rows, and such that are packed.
    pub(super) fn numbers(&mut self, mut numbers: impl Numbers, bytes: &ByteValues<'_>) -> Result<(), Unfit> {
        let column = self.slot.column as usize;
        let encoding = self.encoding().ok_or(Unfit)?;
        if !bytes.is_empty() || matches!(encoding, Encoding::ClosedEnum | Encoding::Bool) {
            numbers = self.one_by_one(encoding, numbers, bytes)?;
        } else {
            let next = |form| numbers.next(form);
            match encoding {
                Encoding::Varint32 | Encoding::Fixed32 => {
                    self.fixed(|columns| &mut columns.words[column], next, |bits| bits as u32);
                }
                Encoding::Zigzag32 => {
                    self.fixed(|columns| &mut columns.words[column], next, |bits| zigzag32(bits as u32));
                }
                Encoding::Varint64 | Encoding::Fixed64 => {
                    self.fixed(|columns| &mut columns.longs[column], next, |bits| bits);
                }
                Encoding::Zigzag64 => {
                    self.fixed(|columns| &mut columns.longs[column], next, zigzag64);
                }
                Encoding::Bool | Encoding::ClosedEnum => {}
            }
        }
        if numbers.is_complete() { Ok(()) } else { Err(Unfit) }
    }

    fn encoding(&self) -> Option<Encoding> {
        match self.slot.op {
            Op::Packed(encoding) => Some(encoding),
            op => op.encoding(),
        }
    }

    /// Puts values of one width to their rows: to all rows in order at once where each has one.
    #[expect(clippy::arithmetic_side_effects, reason = "the row of an occurrence has 24 bits")]
    #[inline(always)]
    pub(super) fn fixed<T: Copy, V>(
        &mut self,
        column: impl for<'c> Fn(&'c mut Columns) -> &'c mut Fixed<T>,
        mut next: impl FnMut(u8) -> V,
        value: impl Fn(V) -> T,
    ) {
        let (occurrences, rows) = (self.occurrences, self.rows);
        let mut value = |occurrence: &u32| value(next(*occurrence as u8));
        match self.slot.place {
            Place::Item(items) => {
                let items = items as usize;
                for occurrence in occurrences.iter().rev() {
                    let value = value(occurrence);
                    if let Some(row) = self.row(*occurrence) {
                        let item = self.columns.items[items].push(row);
                        column(self.columns).set(item, value);
                    }
                }
            }
            _ if self.is_dense() => {
                column(self.columns).extend(0, occurrences.iter().rev().map(value));
                self.mark_all();
            }
            _ => {
                let values = column(self.columns).first(rows);
                for occurrence in occurrences.iter().rev() {
                    let value = value(occurrence);
                    let row = rows.wrapping_sub(1 + (*occurrence >> 8) as usize);
                    if let Some(place) = values.get_mut(row) {
                        *place = value;
                    }
                }
                self.mark_rows();
            }
        }
    }

    /// Puts numbers to their rows that come in more than one way, or do not all count; gives the others.
    fn one_by_one<N: Numbers>(
        &mut self,
        encoding: Encoding,
        mut numbers: N,
        bytes: &ByteValues<'_>,
    ) -> Result<N, Unfit> {
        let mut bytes = bytes.first_to_last();
        for &occurrence in self.occurrences.iter().rev() {
            let row = self.row(occurrence);
            match (occurrence as u8, row) {
                (form @ (STORED | CAPTURED), Some(row)) => self.packed(bytes.next(form)?, encoding, row)?,
                (form @ (STORED | CAPTURED), None) => check_packed(bytes.next(form)?, 0, encoding)?,
                (form, Some(row)) => self.number(numbers.next(form), encoding, row),
                (form, None) => drop(numbers.next(form)),
            }
        }
        Ok(numbers)
    }

    fn packed(&mut self, bytes: &[u8], encoding: Encoding, row: usize) -> Result<(), Unfit> {
        if encoding == Encoding::ClosedEnum {
            let mut at = 0;
            while at < bytes.len() {
                let number = varint(bytes, &mut at).map_err(|_| Unfit)?;
                self.number(number, encoding, row);
            }
            return Ok(());
        }
        let mut walk = Walk { plan: self.plan, columns: self.columns, data: &[], mismatches: 0 };
        Ok(walk.packed(bytes, 0, encoding, &self.slot, row)?)
    }

    fn number(&mut self, bits: u64, encoding: Encoding, row: usize) {
        let word = bits as u32;
        if encoding == Encoding::ClosedEnum && !self.plan.is_known(self.slot.detail, word) {
            return;
        }
        let (row, column) = (self.place(row), self.slot.column as usize);
        let columns = &mut *self.columns;
        match encoding {
            Encoding::Varint32 | Encoding::Fixed32 | Encoding::ClosedEnum => {
                columns.words[column].set(row, word);
            }
            Encoding::Zigzag32 => drop(columns.words[column].set(row, zigzag32(word))),
            Encoding::Varint64 | Encoding::Fixed64 => drop(columns.longs[column].set(row, bits)),
            Encoding::Zigzag64 => drop(columns.longs[column].set(row, zigzag64(bits))),
            Encoding::Bool => columns.bits[column].put(row, bits != 0),
        }
    }
}
