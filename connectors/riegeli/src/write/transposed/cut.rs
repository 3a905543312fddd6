//! Cuts records into fields: the sequence of symbols that the state machine will walk, and where the value of
//! each lies (section 8.5, "What is cut" and "Symbols").

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

use std::ops::Range;

use crate::cursor::Cursor;
use crate::write::chunk::ChunkRecords;
use crate::write::transposed::canonical::{
    FIXED32, FIXED64, Field, GROUP_END, GROUP_START, LENGTH_DELIMITED, Recogniser, VARINT,
};
use crate::write::transposed::pairs::{PairMap, pair};

/// The path of the record itself.
const ROOT: u32 = 0;
/// The path of records that are kept whole.
const NON_PROTO: u32 = 1;

/// Open submessages and groups within which nothing more is cut.
const MAX_DEPTH: usize = 100;

/// Most symbols and steps of a chunk, so that records of a great many different fields, or of tiny ones, do not take
/// memory that is in no proportion to their bytes: some 400 bytes for each symbol and 16 for each step.
const MOST_SYMBOLS: usize = 1 << 17;
const MOST_STEPS: usize = 1 << 25;

/// Varints of one byte up to this value are part of the state machine.
const MAX_INLINE: u8 = 3;
/// What the subtypes of such varints begin with.
const INLINE: u8 = 10;

/// Node codes that are no tags (section 3.4).
const CODE_NON_PROTO: u32 = 1;
const CODE_SUBMESSAGE_START: u32 = 2;
const CODE_MESSAGE_START: u32 = 3;
/// What a submessage's tag and the code of its end differ by.
const SUBMESSAGE_END: u32 = 4;

/// The kinds of buffers, in the order of their buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BufferClass {
    Varint,
    Fixed32,
    Fixed64,
    String,
    NonProto,
}

/// A place in messages: a tag below the tags of submessages and groups.
#[derive(Debug)]
pub(super) struct Path {
    pub parent: u32,
    pub tag: u32,
    pub class: BufferClass,
    /// Bytes of all values.
    pub size: u64,
    /// The symbols of the path, by slot; [`ABSENT`] where there is none yet.
    symbols: [u32; SLOTS],
    /// The path that came next the last time, below this one and beside it, or [`ROOT`].
    first_child: u32,
    next: u32,
}

/// Slots are the subtypes of varints; other fields use the first three.
const SLOTS: usize = (INLINE + MAX_INLINE + 1) as usize;
const SLOT_VALUE: u8 = 0;
const SLOT_START: u8 = 1;
const SLOT_END: u8 = 2;
const ABSENT: u32 = u32::MAX;

/// What a state of the state machine stands for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Symbol {
    pub code: u32,
    pub subtype: Option<u8>,
    /// The path whose buffer takes the value.
    pub path: Option<u32>,
}

/// An occurrence of a symbol, with the place of its value in the records' data.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub symbol: u32,
    pub begin: u32,
    pub len: u32,
}

/// The records of a chunk, cut.
#[derive(Debug, Default)]
pub(super) struct Cut {
    pub paths: Vec<Path>,
    pub symbols: Vec<Symbol>,
    /// The steps of all records, from the first record on.
    pub steps: Vec<Step>,
    ids: PairMap<u32>,
    recogniser: Recogniser,
    /// The memory of [`Self::message`].
    open: Vec<Open>,
}

/// A submessage or group that is being cut.
#[derive(Debug)]
struct Open {
    path: u32,
    /// Offset of its end; of a group, none.
    end: Option<usize>,
    /// The last path in it, or [`ROOT`].
    last: u32,
}

impl Cut {
    /// Cuts all records; `None` if that makes too many symbols or steps.
    pub fn new(records: &ChunkRecords) -> Option<Self> {
        let mut cut = Self::empty();
        for (begin, end) in records.places() {
            if cut.is_too_large() {
                return None;
            }
            let record = records.data().get(begin as usize..end as usize).unwrap_or_default();
            if cut.recogniser.is_message(record) {
                cut.step(ROOT, SLOT_VALUE, 0..0);
                cut.message(records.data(), begin as usize..end as usize);
            } else {
                cut.step(NON_PROTO, SLOT_VALUE, begin as usize..end as usize);
            }
        }
        (!cut.is_too_large()).then_some(cut)
    }

    /// All records as they are.
    pub fn whole(records: &ChunkRecords) -> Self {
        let mut cut = Self::empty();
        for (begin, end) in records.places() {
            cut.step(NON_PROTO, SLOT_VALUE, begin as usize..end as usize);
        }
        cut
    }

    fn empty() -> Self {
        let mut cut = Self::default();
        for _ in [ROOT, NON_PROTO] {
            cut.add_path(ROOT, 0, BufferClass::NonProto);
        }
        cut
    }

    fn is_too_large(&self) -> bool {
        self.symbols.len() > MOST_SYMBOLS || self.steps.len() > MOST_STEPS
    }

    /// Cuts the message at `place`, which is in its shortest spelling, as long as that is not too large.
    fn message(&mut self, data: &[u8], place: Range<usize>) {
        let mut cursor = Cursor(data.get(place.start..).unwrap_or_default());
        let mut open = std::mem::take(&mut self.open);
        open.push(Open { path: ROOT, end: Some(place.end), last: ROOT });
        while !self.is_too_large()
            && let Some(top) = open.last_mut()
        {
            let at = data.len().saturating_sub(cursor.0.len());
            if top.end == Some(at) {
                let path = top.path;
                open.pop();
                if !open.is_empty() {
                    self.step(path, SLOT_END, 0..0);
                }
                continue;
            }
            let Some(field) = Field::read(&mut cursor) else { break };
            let end = data.len().saturating_sub(cursor.0.len());
            let value = end.saturating_sub(field.value.len())..end;
            let path = self.child(top, field.tag);
            match field.tag & 7 {
                GROUP_START => {
                    self.step(path, SLOT_VALUE, 0..0);
                    open.push(Open { path, end: None, last: ROOT });
                }
                GROUP_END => {
                    self.step(path, SLOT_VALUE, 0..0);
                    open.pop();
                }
                LENGTH_DELIMITED
                    if !field.payload.is_empty()
                        && open.len() <= MAX_DEPTH
                        && self.recogniser.is_message(field.payload) =>
                {
                    self.step(path, SLOT_START, 0..0);
                    // The order of symbols decides between equals, and the end comes right behind the start.
                    self.symbol(path, SLOT_END);
                    cursor = Cursor(data.get(end.saturating_sub(field.payload.len())..).unwrap_or_default());
                    open.push(Open { path, end: Some(end), last: ROOT });
                }
                VARINT => match *field.value {
                    [value] if value <= MAX_INLINE => self.step(path, INLINE.saturating_add(value), 0..0),
                    _ => self.step(path, (field.value.len() as u8).saturating_sub(1), value),
                },
                _ => self.step(path, SLOT_VALUE, value),
            }
        }
        open.clear();
        self.open = open;
    }

    /// The path of `tag` in `open`. Mostly it is the one that came at this place before.
    #[expect(clippy::indexing_slicing, reason = "paths are numbered as they are made")]
    fn child(&mut self, open: &mut Open, tag: u32) -> u32 {
        let (parent, last) = (open.path, open.last);
        let guess = match last {
            ROOT => self.paths[parent as usize].first_child,
            last => self.paths[last as usize].next,
        };
        let guessed = &self.paths[guess as usize];
        if guess != ROOT && guessed.parent == parent && guessed.tag == tag {
            open.last = guess;
            return guess;
        }
        let path = match self.ids.get(&pair(parent, tag)) {
            Some(&path) => path,
            None => {
                let class = match tag & 7 {
                    FIXED32 => BufferClass::Fixed32,
                    FIXED64 => BufferClass::Fixed64,
                    LENGTH_DELIMITED => BufferClass::String,
                    _ => BufferClass::Varint,
                };
                let path = self.add_path(parent, tag, class);
                self.ids.insert(pair(parent, tag), path);
                path
            }
        };
        match last {
            ROOT => self.paths[parent as usize].first_child = path,
            last => self.paths[last as usize].next = path,
        }
        open.last = path;
        path
    }

    fn add_path(&mut self, parent: u32, tag: u32, class: BufferClass) -> u32 {
        let (id, symbols) = (self.paths.len() as u32, [ABSENT; SLOTS]);
        self.paths.push(Path { parent, tag, class, size: 0, symbols, first_child: ROOT, next: ROOT });
        id
    }

    /// The symbol of a slot of a path, new if there is none yet.
    #[expect(
        clippy::indexing_slicing,
        reason = "paths are numbered as they are made, and slots are fewer than SLOTS"
    )]
    fn symbol(&mut self, path: u32, slot: u8) -> u32 {
        let path_entry = &mut self.paths[path as usize];
        let symbol = &mut path_entry.symbols[usize::from(slot)];
        if *symbol == ABSENT {
            *symbol = self.symbols.len() as u32;
            self.symbols.push(Symbol::of(path, path_entry.tag, slot));
        }
        *symbol
    }

    /// Appends a step with the value at a place of the records' data.
    #[expect(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        reason = "paths are numbered as they are made; the values of a path are not longer than the data"
    )]
    fn step(&mut self, path: u32, slot: u8, value: Range<usize>) {
        let (symbol, begin, len) = (self.symbol(path, slot), value.start as u32, value.len() as u32);
        self.paths[path as usize].size += u64::from(len);
        self.steps.push(Step { symbol, begin, len });
    }
}

impl Symbol {
    /// The symbol of a slot.
    fn of(path: u32, tag: u32, slot: u8) -> Self {
        let plain = |code| Self { code, subtype: None, path: None };
        match (path, tag & 7, slot) {
            (ROOT, ..) => plain(CODE_MESSAGE_START),
            (NON_PROTO, ..) => Self { path: Some(path), ..plain(CODE_NON_PROTO) },
            (_, LENGTH_DELIMITED, SLOT_START) => plain(CODE_SUBMESSAGE_START),
            (_, LENGTH_DELIMITED, SLOT_END) => plain(tag.saturating_add(SUBMESSAGE_END)),
            (_, GROUP_START | GROUP_END, _) => plain(tag),
            (_, VARINT, subtype) => {
                Self { code: tag, subtype: Some(subtype), path: (subtype < INLINE).then_some(path) }
            }
            _ => Self { path: Some(path), ..plain(tag) },
        }
    }

    /// Whether the value is a whole record, whose length is kept apart.
    pub fn is_non_proto(&self) -> bool {
        self.code == CODE_NON_PROTO
    }
}
