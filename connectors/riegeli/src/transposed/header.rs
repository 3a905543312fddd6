//! The header of a transposed chunk: buckets, buffers and the nodes of the state machine (3.3 and 3.4).

use crate::cursor::Cursor;
use crate::fault::ChunkFault;

/// The header as it stands in the chunk, checked but without the buckets' contents.
#[derive(Debug)]
pub(crate) struct Header {
    /// Compressed size of each bucket, with its size prefix.
    pub bucket_sizes: Vec<u64>,
    /// Length of each buffer.
    pub buffer_lengths: Vec<u64>,
    /// The nodes, without a cycle of implicit transitions.
    pub nodes: Vec<Node>,
    /// The node that the walk starts at.
    pub first: usize,
    /// Whether some node is of the kind [`Action::NonProto`].
    pub has_non_proto: bool,
}

/// What a visit of a node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Nothing.
    NoOp,
    /// Puts a whole record.
    NonProto,
    /// Completes a record.
    MessageStart,
    /// Puts length and tag of the innermost open submessage.
    SubmessageStart,
    /// Opens a submessage.
    SubmessageEnd,
    /// Puts the literal: a group tag, or a tag with a small value.
    Literal,
    /// Puts a varint of `width` bytes, then the literal.
    Varint,
    /// Puts `width` bytes, then the literal.
    Fixed,
    /// Puts a length and as many bytes, then the literal.
    String,
}

/// A node of the state machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    pub action: Action,
    /// Bytes of the value, for [`Action::Varint`] and [`Action::Fixed`].
    pub width: u8,
    /// Whether the walk goes on to `base` without reading a transition.
    pub implicit: bool,
    /// Index of the buffer that the value is taken from.
    pub buffer: u32,
    /// The node that transitions count from.
    pub base: u32,
    /// The tag, for [`Action::Literal`] with the value.
    pub literal: Literal,
}

/// A few bytes at the end of an array, to be put with one store.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Literal {
    pub bytes: [u8; 8],
    pub len: u8,
}

impl Literal {
    /// The shortest spelling of `value`.
    pub fn varint(mut value: u32) -> Self {
        let mut literal = Self::default();
        while value >= 0x80 {
            literal.push(value as u8 | 0x80);
            value >>= 7;
        }
        literal.push(value as u8);
        literal
    }

    fn push(&mut self, byte: u8) {
        self.bytes.rotate_left(1);
        self.bytes[7] = byte;
        self.len = self.len.saturating_add(1);
    }
}

/// What the literal of a node says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tagged {
    pub tag: u32,
    /// The value, if it stands in the node.
    pub value: Option<u8>,
}

impl Node {
    /// The tag of a node that has one.
    pub fn tagged(&self) -> Option<Tagged> {
        let Literal { bytes, len } = &self.literal;
        let mut literal = Cursor(bytes.get(bytes.len().checked_sub(usize::from(*len))?..)?);
        let tag = literal.varint32()?;
        Some(Tagged { tag, value: literal.byte() })
    }

    fn reads_buffer(&self) -> bool {
        matches!(self.action, Action::NonProto | Action::Varint | Action::Fixed | Action::String)
    }

    fn has_subtype(&self) -> bool {
        self.action == Action::Varint
    }
}

impl Header {
    /// Parses the decompressed header.
    ///
    /// # Errors
    /// The checks 10 and 12 to 17 of section 10.
    pub fn parse(bytes: &[u8]) -> Result<Self, ChunkFault> {
        let mut cursor = Cursor(bytes);
        let num_buckets = count(&mut cursor, "a number of buckets")?;
        let num_buffers = count(&mut cursor, "a number of buffers")?;
        let bucket_sizes = varints(&mut cursor, num_buckets)?;
        let buffer_lengths = varints(&mut cursor, num_buffers)?;
        let num_nodes = count(&mut cursor, "a number of nodes")?;
        let mut nodes = Vec::with_capacity(num_nodes);
        for index in 0..num_nodes {
            nodes.push(node(index, cursor.varint32().ok_or(ENDS)?)?);
        }
        read_successors(&mut cursor, &mut nodes)?;
        read_subtypes(&mut cursor, &mut nodes)?;
        read_buffers(&mut cursor, &mut nodes, num_buffers)?;
        let first = cursor.varint32().ok_or(ENDS)? as usize;
        if !cursor.is_empty() {
            return Err(ChunkFault::Trailing("the transposed header"));
        }
        if first >= num_nodes {
            return Err(ChunkFault::Node { node: first, fault: "no place in the table, but is the first" });
        }
        check_no_cycle(&nodes)?;
        let has_non_proto = nodes.iter().any(|node| node.action == Action::NonProto);
        Ok(Self { bucket_sizes, buffer_lengths, nodes, first, has_non_proto })
    }
}

const ENDS: ChunkFault = ChunkFault::Ends("the transposed header");

/// A count of things that take at least one byte each of what follows.
fn count(cursor: &mut Cursor<'_>, what: &'static str) -> Result<usize, ChunkFault> {
    let claimed = u64::from(cursor.varint32().ok_or(ENDS)?);
    if claimed > cursor.len() {
        return Err(ChunkFault::TooLarge { what, claimed, limit: cursor.len() });
    }
    Ok(claimed as usize)
}

fn varints(cursor: &mut Cursor<'_>, count: usize) -> Result<Vec<u64>, ChunkFault> {
    (0..count).map(|_| cursor.varint64().ok_or(ENDS)).collect()
}

/// The node of a code, before successor, subtype and buffer are known.
fn node(index: usize, code: u32) -> Result<Node, ChunkFault> {
    let (action, width, tag) = match (code, code & 7) {
        (0, _) => (Action::NoOp, 0, None),
        (1, _) => (Action::NonProto, 0, None),
        (2, _) => (Action::SubmessageStart, 0, None),
        (3, _) => (Action::MessageStart, 0, None),
        (4..8, _) | (_, 7) => return Err(ChunkFault::Node { node: index, fault: "an invalid code" }),
        (_, 0) => (Action::Varint, 0, Some(code)),
        (_, 1) => (Action::Fixed, 8, Some(code)),
        (_, 2) => (Action::String, 0, Some(code)),
        (_, 5) => (Action::Fixed, 4, Some(code)),
        (_, 6) => (Action::SubmessageEnd, 0, Some(code.saturating_sub(4))),
        _ => (Action::Literal, 0, Some(code)),
    };
    let literal = tag.map(Literal::varint).unwrap_or_default();
    Ok(Node { action, width, implicit: false, buffer: 0, base: 0, literal })
}

fn read_successors(cursor: &mut Cursor<'_>, nodes: &mut [Node]) -> Result<(), ChunkFault> {
    let num_nodes = nodes.len() as u64;
    for (index, node) in nodes.iter_mut().enumerate() {
        let next = u64::from(cursor.varint32().ok_or(ENDS)?);
        node.implicit = next >= num_nodes;
        let base = if node.implicit { next.saturating_sub(num_nodes) } else { next };
        if base >= num_nodes {
            return Err(ChunkFault::Node { node: index, fault: "a successor outside the table" });
        }
        node.base = base as u32;
    }
    Ok(())
}

fn read_subtypes(cursor: &mut Cursor<'_>, nodes: &mut [Node]) -> Result<(), ChunkFault> {
    for (index, node) in nodes.iter_mut().enumerate().filter(|(_, node)| node.has_subtype()) {
        match cursor.byte().ok_or(ENDS)? {
            subtype @ 0..=9 => node.width = subtype.saturating_add(1),
            subtype @ 10..=137 => {
                node.action = Action::Literal;
                node.literal.push(subtype.saturating_sub(10));
            }
            _ => return Err(ChunkFault::Node { node: index, fault: "an invalid subtype" }),
        }
    }
    Ok(())
}

fn read_buffers(cursor: &mut Cursor<'_>, nodes: &mut [Node], num_buffers: usize) -> Result<(), ChunkFault> {
    for (index, node) in nodes.iter_mut().enumerate().filter(|(_, node)| node.reads_buffer()) {
        node.buffer = cursor.varint32().ok_or(ENDS)?;
        if node.buffer as usize >= num_buffers {
            return Err(ChunkFault::Node { node: index, fault: "a buffer that does not exist" });
        }
    }
    Ok(())
}

/// Follows the implicit transitions from every node, each of them once.
fn check_no_cycle(nodes: &[Node]) -> Result<(), ChunkFault> {
    const UNSEEN: u32 = u32::MAX;
    let mut seen_from = vec![UNSEEN; nodes.len()];
    for start in 0..nodes.len() {
        let mut index = start;
        while let (Some(node), Some(seen)) = (nodes.get(index), seen_from.get_mut(index)) {
            if *seen == start as u32 {
                return Err(ChunkFault::Node { node: index, fault: "a cycle of implicit transitions" });
            }
            if *seen != UNSEEN || !node.implicit {
                break;
            }
            *seen = start as u32;
            index = node.base as usize;
        }
    }
    Ok(())
}
