//! The walk through the state machine that rebuilds the records from the last byte to the first (3.5, 3.6).

use arrow::buffer::Buffer;
use recordfusion_core::RecordBlock;

use super::header::{Action, Header, Literal, Node};
use crate::fault::ChunkFault;

/// Bytes in front of every buffer and of the output. Values are copied in steps of this many bytes that end
/// where the value ends: what a step writes in front of the value is overwritten by what comes next.
pub(super) const MARGIN: usize = 16;

/// Most submessages open at once. Writers stop at 100.
const MAX_DEPTH: usize = 1 << 16;

/// The unread part of a buffer, as offsets into the bytes of all buffers.
#[derive(Debug, Clone, Copy)]
pub(super) struct BufferPart {
    pub begin: usize,
    pub end: usize,
}

impl BufferPart {
    pub fn len(&self) -> usize {
        self.end.saturating_sub(self.begin)
    }
}

/// A submessage whose end has been visited.
struct Open {
    end: usize,
    tag: Literal,
}

/// The state of a walk.
pub(super) struct Rebuild<'a> {
    source: &'a [u8],
    buffers: Vec<BufferPart>,
    out: Vec<u8>,
    at: usize,
    open: Vec<Open>,
    limits: Vec<u32>,
    num_records: usize,
}

impl<'a> Rebuild<'a> {
    /// `source` holds the buffers and begins with [`MARGIN`] bytes of no meaning. The caller has bounded
    /// `decoded_size`, the bytes of all records.
    pub fn new(source: &'a [u8], buffers: Vec<BufferPart>, num_records: usize, decoded_size: usize) -> Self {
        let out = vec![0; MARGIN.saturating_add(decoded_size)];
        let at = out.len();
        Self { source, buffers, out, at, open: Vec::new(), limits: Vec::new(), num_records }
    }

    /// Walks from the first node until the transitions end, in at most `budget` steps.
    pub fn walk(&mut self, header: &Header, transitions: &[u8], budget: u64) -> Result<(), ChunkFault> {
        let mut transitions = transitions.iter();
        let (mut index, mut repeat) = (header.first, 0u8);
        for _ in 0..budget {
            let node = header.nodes.get(index).ok_or(ChunkFault::Walk("leaves the table of nodes"))?;
            self.visit(node)?;
            index = node.base as usize;
            if node.implicit {
                continue;
            }
            if repeat > 0 {
                repeat = repeat.saturating_sub(1);
            } else if let Some(&transition) = transitions.next() {
                index = index.saturating_add(usize::from(transition >> 2));
                repeat = transition & 3;
            } else {
                return Ok(());
            }
        }
        Err(ChunkFault::Walk("makes too many steps for its output"))
    }

    /// The records of the chunk that begins at `begin`, if the walk ended where it should.
    pub fn finish(self, begin: u64) -> Result<RecordBlock, ChunkFault> {
        if !self.open.is_empty() {
            return Err(ChunkFault::Walk("ends inside a submessage"));
        }
        if self.limits.len() != self.num_records {
            return Err(ChunkFault::RecordCount(self.num_records as u64));
        }
        let end = self.out.len() as u32;
        if self.limits.last().copied().unwrap_or(end) as usize != self.at {
            return Err(ChunkFault::Walk("ends inside a record"));
        }
        let wrong_sum = ChunkFault::SizeSum(self.out.len().saturating_sub(MARGIN) as u64);
        if self.at != MARGIN {
            return Err(wrong_sum);
        }
        let margin = MARGIN as u32;
        let ends = self.limits.iter().rev().skip(1).copied().chain([end]);
        let places = self.limits.iter().rev().zip(ends);
        let places = places.map(|(begin, end)| (begin.saturating_sub(margin), end.saturating_sub(margin)));
        let places = places.collect();
        RecordBlock::new(Buffer::from_vec(self.out).slice(MARGIN), places, begin).ok_or(wrong_sum)
    }

    /// Whether every buffer has been read to its end.
    pub fn buffers_used_up(&self) -> bool {
        self.buffers.iter().all(|buffer| buffer.len() == 0)
    }

    #[inline(always)]
    fn visit(&mut self, node: &Node) -> Result<(), ChunkFault> {
        match node.action {
            Action::NoOp => Ok(()),
            Action::Literal => self.put_literal(node.literal),
            Action::Varint => {
                self.put_varint(node)?;
                self.put_literal(node.literal)
            }
            Action::Fixed => {
                self.put_value(node, usize::from(node.width))?;
                self.put_literal(node.literal)
            }
            Action::String => {
                let len = self.string_len(node.buffer as usize)?;
                self.put_value(node, len)?;
                self.put_literal(node.literal)
            }
            Action::MessageStart => self.complete_record(),
            Action::SubmessageEnd => self.open_submessage(node),
            Action::SubmessageStart => self.close_submessage(),
            Action::NonProto => {
                let len = self.non_proto_len()?;
                self.put_value(node, len)?;
                self.complete_record()
            }
        }
    }

    /// Makes room for `len` bytes in front of the output; gives the place where they end.
    #[expect(clippy::arithmetic_side_effects, reason = "the output never begins before its margin")]
    #[inline(always)]
    fn claim(&mut self, len: usize) -> Result<usize, ChunkFault> {
        let end = self.at;
        if len > end - MARGIN {
            return Err(ChunkFault::Walk("makes more bytes than the chunk header claims"));
        }
        self.at = end - len;
        Ok(end)
    }

    #[expect(clippy::indexing_slicing, reason = "what is claimed lies in the output")]
    #[inline(always)]
    fn put_literal(&mut self, literal: Literal) -> Result<(), ChunkFault> {
        let end = self.claim(usize::from(literal.len))?;
        if let Some(out) = self.out[..end].last_chunk_mut() {
            *out = literal.bytes;
        }
        Ok(())
    }

    /// Takes the next `len` bytes of a buffer; gives the place in the source where they end.
    #[expect(clippy::arithmetic_side_effects, reason = "a part never begins behind its end")]
    #[inline(always)]
    fn take(&mut self, buffer: usize, len: usize) -> Result<usize, ChunkFault> {
        let part =
            self.buffers.get_mut(buffer).ok_or(ChunkFault::Walk("reads a buffer that does not exist"))?;
        if len > part.end - part.begin {
            return Err(ChunkFault::Walk("reads beyond the end of a buffer"));
        }
        part.begin += len;
        Ok(part.begin)
    }

    #[expect(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        reason = "what is taken lies in the buffers, what is claimed in the output, and both are at least as long"
    )]
    #[inline(always)]
    fn put_value(&mut self, node: &Node, len: usize) -> Result<(), ChunkFault> {
        let from_end = self.take(node.buffer as usize, len)?;
        let to_end = self.claim(len)?;
        let (source, out) = (&self.source[..from_end], &mut self.out[..to_end]);
        if len > MARGIN {
            out[to_end - len..].copy_from_slice(&source[from_end - len..]);
        } else if let (Some(source), Some(out)) = (source.last_chunk::<MARGIN>(), out.last_chunk_mut()) {
            *out = *source;
        }
        Ok(())
    }

    /// Varints lie in their buffer without the bits that say that more bytes follow.
    #[expect(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        reason = "as for other values; a varint has at most 10 bytes, which are fewer than the margin"
    )]
    #[inline(always)]
    fn put_varint(&mut self, node: &Node) -> Result<(), ChunkFault> {
        const BITS: u128 = 0x8080_8080_8080_8080_8080_8080_8080_8080;
        let len = usize::from(node.width);
        let from_end = self.take(node.buffer as usize, len)?;
        let to_end = self.claim(len)?;
        let (source, out) = (&self.source[..from_end], &mut self.out[..to_end]);
        if let (Some(source), Some(out)) = (source.last_chunk::<MARGIN>(), out.last_chunk_mut::<MARGIN>()) {
            let bytes = u128::from_le_bytes(*source);
            if (bytes >> (8 * (MARGIN - len))) & BITS != 0 {
                return Err(ChunkFault::Walk("reads a malformed varint"));
            }
            *out = (bytes | BITS >> 8).to_le_bytes();
        }
        Ok(())
    }

    /// The bytes of the next string with its length, of which nothing is taken yet.
    #[inline(always)]
    fn string_len(&self, buffer: usize) -> Result<usize, ChunkFault> {
        let malformed = ChunkFault::Walk("reads a malformed string length");
        let rest = self.buffers.get(buffer).and_then(|part| self.source.get(part.begin..part.end));
        let (len, prefix) = rest.and_then(varint32).ok_or(malformed)?;
        Ok(prefix.saturating_add(len as usize))
    }

    /// Takes the length of the next record that is no message, from the last buffer.
    fn non_proto_len(&mut self) -> Result<usize, ChunkFault> {
        let malformed = ChunkFault::Walk("reads a malformed record length");
        let part = self.buffers.last_mut().ok_or(malformed.clone())?;
        let rest = self.source.get(part.begin..part.end);
        let (len, prefix) = rest.and_then(varint32).ok_or(malformed)?;
        part.begin = part.begin.saturating_add(prefix);
        Ok(len as usize)
    }

    fn complete_record(&mut self) -> Result<(), ChunkFault> {
        if !self.open.is_empty() {
            return Err(ChunkFault::Walk("begins a record inside a submessage"));
        }
        if self.limits.len() == self.num_records {
            return Err(ChunkFault::RecordCount(self.num_records as u64));
        }
        self.limits.push(self.at as u32);
        Ok(())
    }

    fn open_submessage(&mut self, node: &Node) -> Result<(), ChunkFault> {
        if self.open.len() == MAX_DEPTH {
            return Err(ChunkFault::Walk("opens too many submessages"));
        }
        self.open.push(Open { end: self.at, tag: node.literal });
        Ok(())
    }

    fn close_submessage(&mut self) -> Result<(), ChunkFault> {
        let open = self.open.pop().ok_or(ChunkFault::Walk("closes a submessage that is not open"))?;
        // The output is at most 1 GiB long.
        self.put_literal(Literal::varint(open.end.saturating_sub(self.at) as u32))?;
        self.put_literal(open.tag)
    }
}

/// A varint of at most 32 bits and the number of its bytes.
#[inline(always)]
fn varint32(bytes: &[u8]) -> Option<(u32, usize)> {
    match bytes {
        [first, ..] if *first < 0x80 => Some((u32::from(*first), 1)),
        _ => {
            let mut cursor = crate::cursor::Cursor(bytes);
            let value = cursor.varint32()?;
            Some((value, bytes.len().saturating_sub(cursor.0.len())))
        }
    }
}
