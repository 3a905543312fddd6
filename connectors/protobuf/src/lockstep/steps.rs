//! The steps of a group of messages.

use crate::columns::Bitmap;
use crate::decode::{Frame, Walk};
use crate::plan::{Encoding, Mark, Op, Place};
use crate::view::view_of;
use crate::wire::{MAX_DEPTH, zigzag32, zigzag64};

use super::cursor::{Cursor, Window, window_at};
use super::loops::{fixed, packed_varints, pass_delimited, varints};
use super::program::{Programs, Step};

/// Messages that are decoded in lockstep, and what they need.
///
/// What returns an option returns `None` if the messages have to be walked.
pub(super) struct Group<'g, 'a> {
    /// Decodes what has no step of its own, and has the columns.
    pub walk: &'g mut Walk<'a>,
    /// The steps.
    pub programs: &'g Programs,
    /// The rows that a member was seen in, by oneof.
    pub members: &'g mut [Bitmap],
    /// Buffers for messages.
    pub buffers: &'g mut Vec<Vec<Cursor>>,
}

impl Group<'_, '_> {
    /// Decodes `messages`, of the plan's type `message`, whose rows ascend. `depth` counts the messages around
    /// them.
    pub(super) fn messages(&mut self, message: u32, messages: &mut [Cursor], depth: u32) -> Option<()> {
        for step in self.programs.steps(message) {
            self.step(step, message, messages, depth)?;
        }
        messages.iter().all(|message| message.at == message.end).then_some(())
    }

    fn step(&mut self, step: &Step, message: u32, messages: &mut [Cursor], depth: u32) -> Option<()> {
        let data = self.walk.data;
        let is_item = matches!(step.slot.place, Place::Item(_));
        match step.slot.op {
            _ if step.repeats && !step.is_delimited() => self.walked(step, message, messages, depth),
            Op::PassVarint => varints(data, step, messages, |_, _, _| Some(())),
            Op::PassFixed32 => fixed::<4>(data, step, messages, |_, _, _| Some(())),
            Op::PassFixed64 => fixed::<8>(data, step, messages, |_, _, _| Some(())),
            Op::PassDelimited => pass_delimited(data, step, messages),
            Op::Varint32 | Op::Zigzag32 | Op::Fixed32 if !is_item => self.words(step, messages),
            Op::Varint64 | Op::Zigzag64 | Op::Fixed64 if !is_item => self.longs(step, messages),
            Op::Bool if !is_item => self.bits(step, messages),
            Op::Packed(encoding) if encoding != Encoding::ClosedEnum => self.packed(step, encoding, messages),
            Op::View | Op::StrictText if is_item => self.view_items(step, messages),
            Op::View | Op::StrictText if !step.repeats => self.views(step, messages),
            Op::Message if step.is_delimited() => self.submessages(step, messages, depth),
            _ => self.walked(step, message, messages, depth),
        }
    }

    fn words(&mut self, step: &Step, messages: &mut [Cursor]) -> Option<()> {
        self.mark(step, messages)?;
        let column = self.walk.columns.words.get_mut(step.slot.column as usize)?;
        let (data, fill, rows) = (self.walk.data, column.fill(), column.first(rows(messages)));
        let mut put = move |row: usize, is_here: bool, word: u32| {
            *rows.get_mut(row)? = fill ^ (fill ^ word) & u32::from(is_here).wrapping_neg();
            Some(())
        };
        match step.slot.op {
            Op::Fixed32 => fixed(data, step, messages, move |row, is_here, bytes| {
                put(row, is_here, u32::from_le_bytes(bytes))
            }),
            Op::Zigzag32 => varints(data, step, messages, move |row, is_here, value| {
                put(row, is_here, zigzag32(value as u32))
            }),
            _ => varints(data, step, messages, move |row, is_here, value| put(row, is_here, value as u32)),
        }
    }

    fn longs(&mut self, step: &Step, messages: &mut [Cursor]) -> Option<()> {
        self.mark(step, messages)?;
        let column = self.walk.columns.longs.get_mut(step.slot.column as usize)?;
        let (data, fill, rows) = (self.walk.data, column.fill(), column.first(rows(messages)));
        let mut put = move |row: usize, is_here: bool, long: u64| {
            *rows.get_mut(row)? = fill ^ (fill ^ long) & u64::from(is_here).wrapping_neg();
            Some(())
        };
        match step.slot.op {
            Op::Fixed64 => fixed(data, step, messages, move |row, is_here, bytes| {
                put(row, is_here, u64::from_le_bytes(bytes))
            }),
            Op::Zigzag64 => {
                varints(data, step, messages, move |row, is_here, value| put(row, is_here, zigzag64(value)))
            }
            _ => varints(data, step, messages, put),
        }
    }

    fn bits(&mut self, step: &Step, messages: &mut [Cursor]) -> Option<()> {
        self.mark(step, messages)?;
        let column = self.walk.columns.bits.get_mut(step.slot.column as usize)?;
        varints(self.walk.data, step, messages, move |row, is_here, value| {
            column.put(row, is_here & (value != 0));
            Some(())
        })
    }

    fn views(&mut self, step: &Step, messages: &mut [Cursor]) -> Option<()> {
        self.mark(step, messages)?;
        let data = self.walk.data;
        let column = self.walk.columns.views.get_mut(step.slot.column as usize)?;
        let rows = column.first(rows(messages));
        for cursor in messages {
            if let Some(window) = step.next(data, cursor) {
                *rows.get_mut(cursor.row as usize)? = take_view(data, cursor, window, step)?;
            }
        }
        Some(())
    }

    fn view_items(&mut self, step: &Step, messages: &mut [Cursor]) -> Option<()> {
        let Place::Item(items) = step.slot.place else { return None };
        let (data, columns) = (self.walk.data, &mut *self.walk.columns);
        let items = columns.items.get_mut(items as usize)?;
        let views = columns.views.get_mut(step.slot.column as usize)?.before(items.len());
        for cursor in messages {
            while let Some(window) = step.next(data, cursor) {
                views.push(take_view(data, cursor, window, step)?);
                items.push(cursor.row as usize);
            }
        }
        Some(())
    }

    fn packed(&mut self, step: &Step, encoding: Encoding, messages: &mut [Cursor]) -> Option<()> {
        let Place::Item(items) = step.slot.place else { return None };
        let (data, columns, column) = (self.walk.data, &mut *self.walk.columns, step.slot.column as usize);
        let items = columns.items.get_mut(items as usize)?;
        match encoding {
            Encoding::Varint32 => {
                let words = columns.words.get_mut(column)?;
                packed_varints(data, step, messages, items, words, |value| value as u32)
            }
            Encoding::Varint64 => {
                let longs = columns.longs.get_mut(column)?;
                packed_varints(data, step, messages, items, longs, |value| value)
            }
            _ => {
                for cursor in messages {
                    while let Some(window) = step.next(data, cursor) {
                        let (begin, end) = cursor.take_delimited(data, window, step.width)?;
                        let row = cursor.row as usize;
                        self.walk.packed(data.get(..end)?, begin, encoding, &step.slot, row).ok()?;
                    }
                }
                Some(())
            }
        }
    }

    #[expect(clippy::arithmetic_side_effects, reason = "no message that is decoded is deeper than MAX_DEPTH")]
    fn submessages(&mut self, step: &Step, messages: &mut [Cursor], depth: u32) -> Option<()> {
        let mut below = self.buffers.pop().unwrap_or_default();
        below.clear();
        self.find_submessages(step, messages, &mut below)?;
        if !below.is_empty() {
            let depth = Some(depth + 1).filter(|depth| *depth <= MAX_DEPTH)?;
            self.messages(step.slot.detail, &mut below, depth)?;
        }
        self.buffers.push(below);
        Some(())
    }

    /// Adds the messages that the field is in `messages` to `below`.
    fn find_submessages(
        &mut self,
        step: &Step,
        messages: &mut [Cursor],
        below: &mut Vec<Cursor>,
    ) -> Option<()> {
        self.mark(step, messages)?;
        let (data, columns) = (self.walk.data, &mut *self.walk.columns);
        let mut items = match step.slot.place {
            Place::Item(items) => Some(columns.items.get_mut(items as usize)?),
            _ => None,
        };
        for cursor in messages {
            while let Some(window) = step.next(data, cursor) {
                let (begin, end) = cursor.take_delimited(data, window, step.width)?;
                let row = match &mut items {
                    Some(items) => items.push(cursor.row as usize) as u32,
                    None => cursor.row,
                };
                below.push(Cursor { at: begin as u32, end: end as u32, row });
                if items.is_none() {
                    break;
                }
            }
        }
        Some(())
    }

    /// Lets the walk decode the field, as often as it comes, in one message after the other.
    #[expect(clippy::arithmetic_side_effects, reason = "a place has 32 bits, and a tag five bytes")]
    fn walked(&mut self, step: &Step, message: u32, messages: &mut [Cursor], depth: u32) -> Option<()> {
        self.claim_member(step, messages)?;
        let data = self.walk.data;
        for cursor in messages {
            let bytes = data.get(..cursor.end as usize)?;
            while step.is_next(data, cursor) {
                let begin = cursor.at as usize;
                let frame = Frame { message, row: cursor.row as usize, depth, group: 0 };
                let next = self.walk.field(bytes, begin, begin + step.width, step.tag, &step.slot, frame);
                cursor.at = next.ok()?? as u32;
            }
        }
        Some(())
    }

    /// Notes the messages in which the field comes.
    fn mark(&mut self, step: &Step, messages: &[Cursor]) -> Option<()> {
        let Place::Marked(mark) = step.slot.place else { return Some(()) };
        self.claim_member(step, messages)?;
        let Mark { validity, member } = self.walk.plan.marks.get(mark as usize)?;
        let columns = &mut *self.walk.columns;
        let validity = columns.validity.get_mut(*validity as usize)?;
        let case = member.and_then(|member| member.case);
        let mut case =
            case.and_then(|(column, index)| Some((columns.words.get_mut(column as usize)?, index)));
        for cursor in messages.iter().filter(|cursor| step.is_next(self.walk.data, cursor)) {
            validity.set(cursor.row as usize);
            if let Some((column, index)) = &mut case {
                column.set(cursor.row as usize, *index);
            }
        }
        Some(())
    }

    /// Sees to it that of each oneof at most one member comes in a message: which one stays is for the walk.
    fn claim_member(&mut self, step: &Step, messages: &[Cursor]) -> Option<()> {
        let Place::Marked(mark) = step.slot.place else { return Some(()) };
        let Some(member) = self.walk.plan.marks.get(mark as usize)?.member else { return Some(()) };
        let rows = self.members.get_mut(member.oneof as usize)?;
        for cursor in messages.iter().filter(|cursor| step.is_next(self.walk.data, cursor)) {
            if rows.get(cursor.row as usize) {
                return None;
            }
            rows.set(cursor.row as usize);
        }
        Some(())
    }
}

/// The view of the string or bytes that come next.
#[expect(clippy::arithmetic_side_effects, reason = "a value does not end before it begins")]
#[inline(always)]
fn take_view(data: &[u8], cursor: &mut Cursor, window: &Window, step: &Step) -> Option<u128> {
    let (begin, end) = cursor.take_delimited(data, window, step.width)?;
    Some(view_of(window_at(data, begin)?, begin, end - begin))
}

/// The rows that a column needs for these messages.
#[expect(clippy::arithmetic_side_effects, reason = "a row has 32 bits")]
fn rows(messages: &[Cursor]) -> usize {
    messages.last().map_or(0, |last| last.row as usize + 1)
}
