//! The walk over a record's bytes: each field's value goes to the buffers that the plan names.

mod packed;

use std::slice::SliceIndex;

use crate::columns::{Columns, LastMember, of_plan};
use crate::fault::{Fault, FaultKind, Result};
use crate::plan::{Encoding, Mark, Member, Op, Place, Plan, Slot, Source};
use crate::text::Utf8;
use crate::view::view;
use crate::wire::{self, MAX_DEPTH, WireFault, wire_type};
pub(crate) use packed::check_packed;

/// Walks records of one block.
pub(crate) struct Walk<'a> {
    /// What to do with each field.
    pub plan: &'a Plan,
    /// Where values go.
    pub columns: &'a mut Columns,
    /// The block's buffer, which views point into.
    pub data: &'a [u8],
    /// Occurrences of known fields with another wire type.
    pub mismatches: u64,
}

/// A message on the way: its plan, its row, and how deep it is.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    pub message: u32,
    pub row: usize,
    pub depth: u32,
    /// The field number whose end tag ends the message, or 0 for one that ends with its bytes.
    pub group: u32,
}

/// Where a message's fields lie, and where the field after it begins.
struct Extent {
    begin: usize,
    end: usize,
    next: usize,
}

impl Walk<'_> {
    /// Decodes the record at `begin..end` of the data into `row`.
    pub(crate) fn record(&mut self, row: usize, begin: u32, end: u32) -> Result<()> {
        let bytes = self.data.get(..end as usize).unwrap_or_default();
        self.message(bytes, begin as usize, Frame { message: 0, row, depth: 0, group: 0 }).map(drop)
    }

    /// Checks `bytes`, a message that is kept as it is; `message` is the plan that checks, `depth` counts the
    /// messages around it and itself.
    pub(crate) fn check_message(&mut self, bytes: &[u8], message: u32, depth: u32) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(WireFault::TooDeep.into());
        }
        self.message(bytes, 0, Frame { message, row: 0, depth, group: 0 }).map(drop)
    }

    /// Decodes the fields from `at` to the end of `bytes` or of the group, and returns where that is: for a
    /// group, where its end tag begins.
    fn message(&mut self, bytes: &[u8], mut at: usize, frame: Frame) -> Result<usize> {
        let plan = self.plan;
        let message = plan.message(frame.message);
        while at < bytes.len() {
            let begin = at;
            let tag = wire::tag(bytes, &mut at)?;
            match self.field(bytes, begin, at, tag, message.slot(tag), frame) {
                Ok(Some(next)) => at = next,
                Ok(None) => return Ok(begin),
                Err(fault) => return Err(fault.within_field(message.name(tag))),
            }
        }
        if frame.group == 0 { Ok(at) } else { Err(WireFault::GroupWithoutEnd.into()) }
    }

    /// Decodes the value at `at`, behind the `tag` at `begin`, and returns where the next field begins; `None`
    /// if the tag ends the group.
    #[expect(clippy::arithmetic_side_effects, reason = "no message that is decoded is deeper than MAX_DEPTH")]
    #[inline(always)]
    pub(crate) fn field(
        &mut self,
        bytes: &[u8],
        begin: usize,
        mut at: usize,
        tag: u32,
        slot: &Slot,
        frame: Frame,
    ) -> Result<Option<usize>> {
        match slot.op {
            Op::Varint32 => self.number(bytes, &mut at, Encoding::Varint32, slot, frame.row)?,
            Op::Zigzag32 => self.number(bytes, &mut at, Encoding::Zigzag32, slot, frame.row)?,
            Op::Fixed32 => self.number(bytes, &mut at, Encoding::Fixed32, slot, frame.row)?,
            Op::Varint64 => self.number(bytes, &mut at, Encoding::Varint64, slot, frame.row)?,
            Op::Zigzag64 => self.number(bytes, &mut at, Encoding::Zigzag64, slot, frame.row)?,
            Op::Fixed64 => self.number(bytes, &mut at, Encoding::Fixed64, slot, frame.row)?,
            Op::Bool => self.number(bytes, &mut at, Encoding::Bool, slot, frame.row)?,
            Op::StrictText => {
                let end = wire::length(bytes, &mut at)?;
                let view = view(self.data, at, end);
                let row = self.place(slot.place, frame.row)?;
                let replaced = of_plan(&mut self.columns.views, slot.column).set(row, view);
                if replaced != 0 {
                    self.check_view(replaced)?;
                }
                at = end;
            }
            Op::View => {
                let end = wire::length(bytes, &mut at)?;
                let view = view(self.data, at, end);
                let row = self.place(slot.place, frame.row)?;
                of_plan(&mut self.columns.views, slot.column).set(row, view);
                at = end;
            }
            Op::Message => {
                let row = self.place(slot.place, frame.row)?;
                at = self.submessage(bytes, at, tag, slot, row, frame.depth + 1)?.next;
            }
            Op::PassVarint => wire::pass_varint(bytes, &mut at)?,
            Op::PassFixed32 => drop(wire::fixed32(bytes, &mut at)?),
            Op::PassFixed64 => drop(wire::fixed64(bytes, &mut at)?),
            Op::PassDelimited => at = wire::length(bytes, &mut at)?,
            _ => return self.rare_field(bytes, begin, at, tag, slot, frame),
        }
        Ok(Some(at))
    }

    /// The ops that few fields have, apart from the others so that those stay small.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "no message that is decoded is deeper than MAX_DEPTH, and a mismatch takes bytes of its own"
    )]
    #[inline(never)]
    fn rare_field(
        &mut self,
        bytes: &[u8],
        begin: usize,
        mut at: usize,
        tag: u32,
        slot: &Slot,
        frame: Frame,
    ) -> Result<Option<usize>> {
        match slot.op {
            Op::ClosedEnum => {
                let number = wire::varint(bytes, &mut at)? as u32;
                match self.plan.is_known(slot.detail, number) {
                    true => self.word(number, slot, frame.row)?,
                    false => self.keep_unknown(frame, slice(bytes, begin..at)),
                }
            }
            Op::Packed(Encoding::ClosedEnum) => {
                let end = wire::length(bytes, &mut at)?;
                self.packed_closed_enum(slice(bytes, ..end), at, tag, slot, frame)?;
                at = end;
            }
            Op::MapEntry => {
                let row = self.place(slot.place, frame.row)?;
                at = self.submessage(bytes, at, tag, slot, row, frame.depth + 1)?.next;
                if self.is_withdrawn(slot, row) {
                    self.keep_unknown(frame, slice(bytes, begin..at));
                }
            }
            Op::Packed(encoding) => {
                let end = wire::length(bytes, &mut at)?;
                self.packed(slice(bytes, ..end), at, encoding, slot, frame.row)?;
                at = end;
            }
            Op::Owned { strict } => {
                let end = wire::length(bytes, &mut at)?;
                let row = self.place(slot.place, frame.row)?;
                let strings = of_plan(&mut self.columns.bytes, slot.column);
                if strict {
                    check_utf8(strings.get(row))?;
                }
                strings.replace(row, slice(bytes, at..end));
                at = end;
            }
            Op::Serialized => {
                let row = self.place(slot.place, frame.row)?;
                let extent = self.submessage(bytes, at, tag, slot, row, frame.depth + 1)?;
                of_plan(&mut self.columns.bytes, slot.column)
                    .append(row, slice(bytes, extent.begin..extent.end));
                at = extent.next;
            }
            Op::Present => {
                wire::skip(bytes, &mut at, tag, frame.depth)?;
                self.place(slot.place, frame.row)?;
            }
            Op::CheckText => {
                let end = wire::length(bytes, &mut at)?;
                check_utf8(slice(bytes, at..end))?;
                at = end;
            }
            Op::CheckPacked(encoding) => {
                let end = wire::length(bytes, &mut at)?;
                check_packed(slice(bytes, ..end), at, encoding)?;
                at = end;
            }
            _ if tag & 7 == wire_type::END_GROUP && frame.group != 0 && tag >> 3 == frame.group => {
                return Ok(None);
            }
            _ => {
                self.mismatches += u64::from(slot.op == Op::Mismatch);
                wire::skip(bytes, &mut at, tag, frame.depth)?;
                if slot.op != Op::Unwanted {
                    self.keep_unknown(frame, slice(bytes, begin..at));
                }
            }
        }
        Ok(Some(at))
    }

    #[inline(always)]
    fn number(
        &mut self,
        bytes: &[u8],
        at: &mut usize,
        encoding: Encoding,
        slot: &Slot,
        row: usize,
    ) -> Result<()> {
        match encoding {
            Encoding::Varint32 | Encoding::Zigzag32 | Encoding::Fixed32 => {
                let word = match encoding {
                    Encoding::Varint32 => wire::varint(bytes, at)? as u32,
                    Encoding::Zigzag32 => wire::zigzag32(wire::varint(bytes, at)? as u32),
                    _ => wire::fixed32(bytes, at)?,
                };
                let row = self.place(slot.place, row)?;
                of_plan(&mut self.columns.words, slot.column).set(row, word);
            }
            Encoding::Varint64 | Encoding::Zigzag64 | Encoding::Fixed64 => {
                let long = match encoding {
                    Encoding::Varint64 => wire::varint(bytes, at)?,
                    Encoding::Zigzag64 => wire::zigzag64(wire::varint(bytes, at)?),
                    _ => wire::fixed64(bytes, at)?,
                };
                let row = self.place(slot.place, row)?;
                of_plan(&mut self.columns.longs, slot.column).set(row, long);
            }
            Encoding::Bool => {
                let bit = wire::varint(bytes, at)? != 0;
                let row = self.place(slot.place, row)?;
                of_plan(&mut self.columns.bits, slot.column).put(row, bit);
            }
            Encoding::ClosedEnum => {
                let number = wire::varint(bytes, at)? as u32;
                if self.plan.is_known(slot.detail, number) {
                    self.word(number, slot, row)?;
                }
            }
        }
        Ok(())
    }

    fn word(&mut self, word: u32, slot: &Slot, row: usize) -> Result<()> {
        let row = self.place(slot.place, row)?;
        of_plan(&mut self.columns.words, slot.column).set(row, word);
        Ok(())
    }

    /// Keeps an unknown field of the record itself, if those are wanted.
    fn keep_unknown(&mut self, frame: Frame, field: &[u8]) {
        if let (Some(column), 0) = (self.plan.unknown, frame.message) {
            of_plan(&mut self.columns.bytes, column).append(frame.row, field);
        }
    }

    /// The row that a value at `place` of the message in `row` goes to.
    #[inline(always)]
    fn place(&mut self, place: Place, row: usize) -> Result<usize> {
        match place {
            Place::Row => Ok(row),
            Place::Item(items) => Ok(of_plan(&mut self.columns.items, items).push(row)),
            Place::Marked(mark) => self.mark(mark, row),
        }
    }

    #[inline(never)]
    fn mark(&mut self, mark: u32, row: usize) -> Result<usize> {
        let Mark { validity, member } = self.plan.mark(mark);
        of_plan(&mut self.columns.validity, *validity).set(row);
        match member {
            Some(member) => self.set_member(*member, row),
            None => Ok(row),
        }
    }

    /// Makes `member` the one of its oneof that is set in `row`.
    #[expect(clippy::arithmetic_side_effects, reason = "a row is less than the number of rows")]
    fn set_member(&mut self, member: Member, row: usize) -> Result<usize> {
        let Member { oneof, output, case } = member;
        if let Some((column, index)) = case {
            of_plan(&mut self.columns.words, column).set(row, index);
        }
        let now = LastMember { row, member: Some(output) };
        let last = std::mem::replace(of_plan(&mut self.columns.oneofs, oneof), now);
        if let LastMember { row: last_row, member: Some(member) } = last
            && last_row == row
            && member != output
        {
            self.take_back(member, row..row + 1)?;
        }
        Ok(row)
    }

    /// Decodes the message behind `tag`: to the end of its length or of its group.
    #[inline]
    fn submessage(
        &mut self,
        bytes: &[u8],
        mut at: usize,
        tag: u32,
        slot: &Slot,
        row: usize,
        depth: u32,
    ) -> Result<Extent> {
        if depth > MAX_DEPTH {
            return Err(WireFault::TooDeep.into());
        }
        let frame = Frame { message: slot.detail, row, depth, group: 0 };
        if tag & 7 == wire_type::START_GROUP {
            let end = self.message(bytes, at, Frame { group: tag >> 3, ..frame })?;
            let mut next = end;
            wire::tag(bytes, &mut next)?;
            return Ok(Extent { begin: at, end, next });
        }
        let end = wire::length(bytes, &mut at)?;
        self.message(slice(bytes, ..end), at, frame)?;
        Ok(Extent { begin: at, end, next: end })
    }

    /// Takes an entry out of its map if its value is a number that the closed enum does not have.
    fn is_withdrawn(&mut self, slot: &Slot, entry: usize) -> bool {
        let Some((column, closed)) = self.plan.message(slot.detail).closed_value else {
            return false;
        };
        let number = of_plan(&mut self.columns.words, column).get(entry);
        let (false, Place::Item(items)) = (self.plan.is_known(closed, number), slot.place) else {
            return false;
        };
        of_plan(&mut self.columns.items, items).withdraw(entry);
        true
    }

    /// Checks a string that a later one replaces: it would not be seen again.
    #[expect(clippy::arithmetic_side_effects, reason = "length and place in a view have 32 bits each")]
    #[cold]
    fn check_view(&self, view: u128) -> Result<()> {
        let len = view as u32 as usize;
        if len <= 12 {
            return check_utf8(slice(&view.to_le_bytes(), 4..4 + len));
        }
        let begin = (view >> 96) as usize;
        check_utf8(self.data.get(begin..begin + len).unwrap_or_default())
    }

    /// Takes back all that `rows` of an output hold: another member of the oneof was set.
    fn take_back(&mut self, output: u32, rows: std::ops::Range<usize>) -> Result<()> {
        let plan = self.plan;
        let output = plan.output(output);
        if let Some(validity) = output.validity {
            of_plan(&mut self.columns.validity, validity).erase(rows.clone());
        }
        let columns = &mut *self.columns;
        match &output.source {
            Source::Absent => {}
            Source::Words { column, .. } | Source::Enum { column, .. } | Source::Case { column, .. } => {
                of_plan(&mut columns.words, *column).erase(rows)
            }
            Source::Longs(column) => of_plan(&mut columns.longs, *column).erase(rows),
            Source::Bits(column) => of_plan(&mut columns.bits, *column).erase(rows),
            Source::Views(column) => of_plan(&mut columns.views, *column).erase(rows),
            Source::Texts { column, utf8 } => {
                for row in rows.clone().filter(|_| *utf8 == Utf8::Strict) {
                    let view = of_plan(&mut self.columns.views, *column).get(row);
                    self.check_view(view)?;
                }
                of_plan(&mut self.columns.views, *column).erase(rows);
            }
            Source::Bytes { column, utf8 } => {
                for row in rows.clone().filter(|_| *utf8 == Utf8::Strict) {
                    check_utf8(of_plan(&mut columns.bytes, *column).get(row))?;
                }
                of_plan(&mut columns.bytes, *column).erase(rows);
            }
            Source::Json { column, .. } => of_plan(&mut columns.bytes, *column).erase(rows),
            Source::Message { fields, .. } => {
                for &field in fields {
                    self.take_back(field, rows.clone())?;
                }
            }
            Source::List { items, item } => {
                let erased = of_plan(&mut columns.items, *items).erase(rows);
                self.take_back(*item, erased)?;
            }
            Source::Map { items, key, value } => {
                let erased = of_plan(&mut columns.items, *items).erase(rows);
                self.take_back(*key, erased.clone())?;
                self.take_back(*value, erased)?;
            }
        }
        Ok(())
    }
}

/// A part of `bytes` that has been found to be there.
#[inline]
fn slice<I: SliceIndex<[u8], Output = [u8]>>(bytes: &[u8], part: I) -> &[u8] {
    bytes.get(part).unwrap_or_default()
}

/// Checks strings byte by byte or in blocks, whatever is faster for their length.
pub(crate) fn check_utf8(bytes: &[u8]) -> Result<()> {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(_) => Ok(()),
        Err(_) => Err(Box::<Fault>::from(FaultKind::InvalidUtf8)),
    }
}
