//! The paths of fields that a chunk has, and the buffers of the leaves at their ends.

use std::collections::HashMap;

use recordfusion_protobuf::shredded::{Layout, Leaf, Meaning, Message, Unfit};

/// Messages and groups inside each other, at most: more are a matter of the records' decoder.
const MAX_DEPTH: u8 = 100;

/// The last three bits of tags.
pub(super) mod wire_type {
    pub const VARINT: u32 = 0;
    pub const LENGTH_DELIMITED: u32 = 2;
    pub const START_GROUP: u32 = 3;
    pub const END_GROUP: u32 = 4;
}

/// The path of the record itself.
pub(super) const RECORD: u16 = 0;

/// A path of fields, and what lies at its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Path {
    /// The path without its last field.
    pub parent: u16,
    /// The tag of the last field: of a group that of its start.
    pub tag: u32,
    /// The message, if it is wanted.
    pub message: Option<Message>,
    depth: u8,
}

/// How the numbers of a leaf are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberKind {
    Varint,
    Fixed32,
    Fixed64,
}

/// Where the values of a leaf lie.
#[derive(Debug, Clone, Default)]
pub(super) struct LeafSource {
    /// How numbers are stored, and their buffer if not all of them stand in nodes.
    pub numbers: Option<(NumberKind, Option<u32>)>,
    /// The buffer of strings.
    pub strings: Option<u32>,
    /// The places of captured values.
    pub captured: Vec<(u32, u32)>,
}

/// Who reads a buffer. Known writers have one for each path and wire type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    Nobody,
    Numbers(Leaf),
    Strings(Leaf),
    Messages(u16),
    Capture,
}

/// All paths that were met so far.
#[derive(Debug)]
pub(super) struct Paths<'a> {
    layout: &'a Layout,
    paths: Vec<Path>,
    below: HashMap<(u16, u32), u16>,
    /// By leaf.
    leaves: Vec<LeafSource>,
    /// Who reads each buffer, if it is known.
    readers: Vec<Option<Reader>>,
    /// The buffers of messages that are stored as strings, and how many there are.
    stored_messages: HashMap<u16, (u32, usize)>,
}

impl<'a> Paths<'a> {
    pub fn new(layout: &'a Layout, buffers: usize) -> Self {
        let record = Path { parent: RECORD, tag: 0, message: Some(Layout::RECORD), depth: 0 };
        Self {
            layout,
            paths: vec![record],
            below: HashMap::new(),
            leaves: vec![LeafSource::default(); layout.leaves()],
            readers: vec![None; buffers],
            stored_messages: HashMap::new(),
        }
    }

    #[inline]
    pub fn get(&self, path: u16) -> Result<Path, Unfit> {
        self.paths.get(usize::from(path)).copied().ok_or(Unfit)
    }

    /// What the tag means at the end of a path.
    pub fn meaning(&self, path: u16, tag: u32) -> Result<Meaning, Unfit> {
        let message = self.get(path)?.message;
        Ok(message.map_or(Meaning::Unwanted, |message| self.layout.meaning(message, tag)))
    }

    /// The path that the field of this tag leads to.
    #[expect(clippy::arithmetic_side_effects, reason = "a depth is MAX_DEPTH at most")]
    pub fn below(&mut self, parent: u16, tag: u32) -> Result<u16, Unfit> {
        if let Some(&known) = self.below.get(&(parent, tag)) {
            return Ok(known);
        }
        let above = self.get(parent)?;
        let depth = above.depth + 1;
        let path = u16::try_from(self.paths.len()).map_err(|_| Unfit)?;
        if depth > MAX_DEPTH {
            return Err(Unfit);
        }
        let message = match self.meaning(parent, tag)? {
            Meaning::Message(message) => Some(message),
            _ => None,
        };
        self.paths.push(Path { parent, tag, message, depth });
        self.below.insert((parent, tag), path);
        Ok(path)
    }

    /// Notes who reads a buffer.
    ///
    /// # Errors
    /// [`Unfit`] if another one does.
    pub fn claim(&mut self, buffer: u32, reader: Reader) -> Result<(), Unfit> {
        let known = self.readers.get_mut(buffer as usize).ok_or(Unfit)?;
        if *known.get_or_insert(reader) == reader { Ok(()) } else { Err(Unfit) }
    }

    /// Notes where numbers of a leaf lie.
    pub fn numbers(&mut self, leaf: Leaf, kind: NumberKind, buffer: Option<u32>) -> Result<(), Unfit> {
        if let Some(buffer) = buffer {
            self.claim(buffer, Reader::Numbers(leaf))?;
        }
        let source = self.leaves.get_mut(leaf.index()).ok_or(Unfit)?;
        let (known_kind, known) = source.numbers.get_or_insert((kind, buffer));
        let same = buffer.is_none_or(|buffer| *known.get_or_insert(buffer) == buffer);
        if same && *known_kind == kind { Ok(()) } else { Err(Unfit) }
    }

    /// Notes where strings of a leaf lie.
    pub fn strings(&mut self, leaf: Leaf, buffer: u32) -> Result<(), Unfit> {
        self.claim(buffer, Reader::Strings(leaf))?;
        let source = self.leaves.get_mut(leaf.index()).ok_or(Unfit)?;
        let known = *source.strings.get_or_insert(buffer);
        if known == buffer { Ok(()) } else { Err(Unfit) }
    }

    /// Notes where the messages of a path lie that are stored as strings.
    pub fn messages(&mut self, path: u16, buffer: u32) -> Result<(), Unfit> {
        self.claim(buffer, Reader::Messages(path))?;
        let &mut (known, _) = self.stored_messages.entry(path).or_insert((buffer, 0));
        if known == buffer { Ok(()) } else { Err(Unfit) }
    }

    /// A message that is stored as a string.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "each is a step of the walk, and 64 bits are counted of those"
    )]
    pub fn count_message(&mut self, path: u16) {
        if let Some((_, count)) = self.stored_messages.get_mut(&path) {
            *count += 1;
        }
    }

    /// A value of a leaf that was captured.
    pub fn captured(&mut self, leaf: Leaf, place: (u32, u32)) {
        if let Some(source) = self.leaves.get_mut(leaf.index()) {
            source.captured.push(place);
        }
    }

    /// The sources of a leaf's values.
    pub fn leaf(&self, leaf: Leaf) -> Option<&LeafSource> {
        self.leaves.get(leaf.index())
    }

    /// The buffers of messages that are stored as strings, with their number.
    pub fn stored_messages(&self) -> impl Iterator<Item = (u32, usize)> {
        self.stored_messages.values().copied()
    }

    /// The message at the end of a path, if the bytes of its fields need not be counted on the way: it is wanted, and
    /// its row is not chosen.
    pub fn measured(&self, path: u16) -> Result<Option<Message>, Unfit> {
        let message = self.get(path)?.message;
        Ok(message.filter(|&message| !self.layout.is_chosen_message(message)))
    }

    pub fn layout(&self) -> &'a Layout {
        self.layout
    }
}
