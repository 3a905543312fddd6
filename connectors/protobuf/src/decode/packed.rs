//! Numbers of a repeated field with one length before all of them.

use super::{Frame, Walk, slice};
use crate::columns::{Fixed, Items, of_plan};
use crate::fault::Result;
use crate::plan::{Encoding, Place, Slot};
use crate::wire::{self, WireFault, wire_type};

impl Walk<'_> {
    /// Values of a repeated field with one length before all of them, up to the end of `bytes`.
    pub(crate) fn packed(
        &mut self,
        bytes: &[u8],
        mut at: usize,
        encoding: Encoding,
        slot: &Slot,
        row: usize,
    ) -> Result<()> {
        let Place::Item(items) = slot.place else { return Ok(()) };
        match encoding {
            Encoding::Fixed32 => {
                let (chunks, rest) = slice(bytes, at..).as_chunks::<4>();
                let first = of_plan(&mut self.columns.items, items).push_run(row, chunks.len());
                let values = chunks.iter().map(|chunk| u32::from_le_bytes(*chunk));
                of_plan(&mut self.columns.words, slot.column).extend(first, values);
                if rest.is_empty() { Ok(()) } else { Err(WireFault::PackedRemainder.into()) }
            }
            Encoding::Fixed64 => {
                let (chunks, rest) = slice(bytes, at..).as_chunks::<8>();
                let first = of_plan(&mut self.columns.items, items).push_run(row, chunks.len());
                let values = chunks.iter().map(|chunk| u64::from_le_bytes(*chunk));
                of_plan(&mut self.columns.longs, slot.column).extend(first, values);
                if rest.is_empty() { Ok(()) } else { Err(WireFault::PackedRemainder.into()) }
            }
            Encoding::Varint32 | Encoding::Zigzag32 => {
                let (items, words) =
                    (of_plan(&mut self.columns.items, items), of_plan(&mut self.columns.words, slot.column));
                let word = |value| match encoding {
                    Encoding::Varint32 => value as u32,
                    _ => wire::zigzag32(value as u32),
                };
                packed_varints(slice(bytes, at..), row, items, words, word)
            }
            Encoding::Varint64 | Encoding::Zigzag64 => {
                let (items, longs) =
                    (of_plan(&mut self.columns.items, items), of_plan(&mut self.columns.longs, slot.column));
                let long = |value| match encoding {
                    Encoding::Varint64 => value,
                    _ => wire::zigzag64(value),
                };
                packed_varints(slice(bytes, at..), row, items, longs, long)
            }
            Encoding::Bool | Encoding::ClosedEnum => {
                while at < bytes.len() {
                    self.number(bytes, &mut at, encoding, slot, row)?;
                }
                Ok(())
            }
        }
    }

    /// Numbers of a closed enum with one length before all of them; those that it does not have are unknown
    /// fields, each for itself.
    pub(super) fn packed_closed_enum(
        &mut self,
        bytes: &[u8],
        mut at: usize,
        tag: u32,
        slot: &Slot,
        frame: Frame,
    ) -> Result<()> {
        while at < bytes.len() {
            let begin = at;
            let number = wire::varint(bytes, &mut at)? as u32;
            match self.plan.is_known(slot.detail, number) {
                true => self.word(number, slot, frame.row)?,
                false => {
                    let tag = wire::to_varint(u64::from(tag & !7 | wire_type::VARINT));
                    self.keep_unknown(frame, &[tag.as_slice(), slice(bytes, begin..at)].concat());
                }
            }
        }
        Ok(())
    }
}

/// Appends varints to a column, as items of `row`.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "the column is made as long as the items before, and then only grows"
)]
#[inline(always)]
fn packed_varints<T: Copy>(
    bytes: &[u8],
    row: usize,
    items: &mut Items,
    column: &mut Fixed<T>,
    value: impl Fn(u64) -> T,
) -> Result<()> {
    let first = items.push_run(row, 0);
    let values = column.before(first);
    let mut at = 0;
    while at < bytes.len() {
        values.push(value(wire::varint(bytes, &mut at)?));
    }
    items.push_run(row, values.len() - first);
    Ok(())
}

/// Checks that numbers are whole, from `at` to the end of `bytes`.
#[expect(clippy::arithmetic_side_effects, reason = "no place is beyond the end of the bytes")]
pub(crate) fn check_packed(bytes: &[u8], mut at: usize, encoding: Encoding) -> Result<()> {
    let width = match encoding {
        Encoding::Fixed32 => 4,
        Encoding::Fixed64 => 8,
        _ => {
            while at < bytes.len() {
                wire::varint(bytes, &mut at)?;
            }
            return Ok(());
        }
    };
    if (bytes.len() - at).is_multiple_of(width) { Ok(()) } else { Err(WireFault::PackedRemainder.into()) }
}
