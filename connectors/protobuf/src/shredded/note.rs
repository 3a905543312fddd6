//! What a walk notes, as one word.

use super::layout::{Layout, Leaf, Message};

/// A value of a leaf or an end of a message, to be noted in its row: from the lowest bits on the form (8 bits), the
/// list of [`Occurrences`](super::Occurrences) that it goes to (16 bits), whether it is something else (8 bits), and
/// the records that have begun (32 bits).
///
/// What is between two records is known before it is met, so that words are made once, and count records from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Note(u64);

const FORM: u64 = 0xff;
const OTHER: u32 = 24;
const RECORDS: u32 = 32;

impl Note {
    /// A value of `leaf`. Not of one whose row the layout [chooses](Layout::is_chosen).
    pub fn value(layout: &Layout, leaf: Leaf, form: u8) -> Self {
        Self((layout.list_of(leaf) as u64) << 8 | u64::from(form))
    }

    /// The end of `message`, which a walk backwards meets first. Not of one whose row the layout
    /// [chooses](Layout::is_chosen_message).
    pub fn message(message: Message) -> Self {
        Self((message.index() as u64) << 8)
    }

    /// Something else that `kind`, which is not 0, tells, with two numbers.
    pub fn other(kind: u8, target: u16, form: u8) -> Self {
        Self(u64::from(kind) << OTHER | u64::from(target) << 8 | u64::from(form))
    }

    /// The same behind as many more records.
    #[inline(always)]
    #[must_use]
    pub fn after(self, records: u32) -> Self {
        Self(self.0.wrapping_add(u64::from(records) << RECORDS))
    }

    /// The kind of something else, 0 if it is none.
    #[inline(always)]
    pub fn kind(self) -> u8 {
        (self.0 >> OTHER) as u8
    }

    /// The list, or a number of something else.
    #[inline(always)]
    pub fn target(self) -> u16 {
        (self.0 >> 8) as u16
    }

    /// The form, or a number of something else.
    #[inline(always)]
    pub fn form(self) -> u8 {
        (self.0 & FORM) as u8
    }

    /// The records that have begun.
    #[inline(always)]
    pub fn records(self) -> u32 {
        (self.0 >> RECORDS) as u32
    }
}
