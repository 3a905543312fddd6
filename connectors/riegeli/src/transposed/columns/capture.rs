//! Values that were cut into fields because they look like messages, put together again (section 5.4).

use arrow::buffer::Buffer;
use recordfusion_protobuf::shredded::Unfit;

use super::super::header::{Action, Literal, Node};
use super::paths::Reader;
use super::walk::{At, Walk};
use crate::cursor::Cursor;

/// Most messages inside a captured value. Writers stop at 100.
const MAX_DEPTH: usize = 1 << 10;

/// The unread part of a buffer below a captured value.
#[derive(Clone)]
pub(super) struct Part {
    bytes: Buffer,
    at: usize,
}

impl Part {
    /// The next `len` bytes.
    pub fn take(&mut self, len: usize) -> Result<&[u8], Unfit> {
        let end = self.at.checked_add(len).ok_or(Unfit)?;
        let bytes = self.bytes.get(self.at..end).ok_or(Unfit)?;
        self.at = end;
        Ok(bytes)
    }

    /// The next string, with its length.
    fn take_string(&mut self) -> Result<&[u8], Unfit> {
        let rest = self.bytes.get(self.at..).ok_or(Unfit)?;
        let mut cursor = Cursor(rest);
        let len = cursor.varint32().ok_or(Unfit)? as usize;
        let prefix = rest.len() - cursor.len() as usize;
        self.take(prefix.checked_add(len).ok_or(Unfit)?)
    }

    /// Appends the value of a node, its last byte first.
    fn put_value(&mut self, node: &Node, captured: &mut Vec<u8>) -> Result<(), Unfit> {
        match node.action {
            Action::String => captured.extend(self.take_string()?.iter().rev()),
            Action::Fixed => captured.extend(self.take(usize::from(node.width))?.iter().rev()),
            _ => {
                let bytes = self.take(usize::from(node.width))?;
                if bytes.iter().any(|byte| byte & 0x80 != 0) {
                    return Err(Unfit);
                }
                // All but the last byte say that more follow; the last comes first.
                let continued = std::iter::once(0).chain(std::iter::repeat(0x80));
                captured.extend(bytes.iter().rev().zip(continued).map(|(byte, bit)| byte | bit));
            }
        }
        Ok(())
    }
}

impl Walk<'_, '_> {
    /// Appends the content of the message whose end was just met to what is captured, and gives the node of its
    /// begin. The walk is `at` the node, or the base of the transition, behind the end.
    ///
    /// The bytes come last to first, so that they are turned round when all are there.
    pub(super) fn capture_message(&mut self, at: &mut At, mut implicit: bool) -> Result<usize, Unfit> {
        let begin = self.captured.len();
        let mut open: Vec<(usize, Literal)> = Vec::new();
        loop {
            if !implicit && !at.follow(self.transitions) {
                return Err(Unfit);
            }
            let node = *self.nodes.header.nodes.get(at.index).ok_or(Unfit)?;
            match node.action {
                Action::NoOp => {}
                Action::SubmessageStart => match open.pop() {
                    Some((end, tag)) => {
                        let len = u32::try_from(self.captured.len() - end).map_err(|_| Unfit)?;
                        self.put_literal(Literal::varint(len));
                        self.put_literal(tag);
                    }
                    None => break,
                },
                Action::SubmessageEnd if open.len() < MAX_DEPTH => {
                    open.push((self.captured.len(), node.literal));
                }
                Action::Literal => self.put_literal(node.literal),
                Action::Varint | Action::Fixed | Action::String => self.put_value(&node)?,
                _ => return Err(Unfit),
            }
            self.spend()?;
            (at.index, implicit) = (node.base as usize, node.implicit);
        }
        if let Some(captured) = self.captured.get_mut(begin..) {
            captured.reverse();
        }
        Ok(at.index)
    }

    /// Counts a step, and checks that the values do not grow beyond what the records can be.
    fn spend(&mut self) -> Result<(), Unfit> {
        self.budget = self.budget.checked_sub(1).ok_or(Unfit)?;
        if self.captured.len() > self.most_captured { Err(Unfit) } else { Ok(()) }
    }

    fn put_literal(&mut self, Literal { bytes, len }: Literal) {
        self.captured.extend(bytes.iter().rev().take(usize::from(len)));
    }

    fn put_value(&mut self, node: &Node) -> Result<(), Unfit> {
        self.nodes.paths.claim(node.buffer, Reader::Capture)?;
        let mut captured = std::mem::take(&mut self.captured);
        let put = self.part(node.buffer).and_then(|part| part.put_value(node, &mut captured));
        self.captured = captured;
        self.put_literal(node.literal);
        put
    }

    /// The unread part of a buffer that is read on the way.
    pub(super) fn part(&mut self, buffer: u32) -> Result<&mut Part, Unfit> {
        match self.parts.get_mut(buffer as usize).ok_or(Unfit)? {
            Some(part) => Ok(part),
            none => {
                let bytes = self.buckets.buffer(buffer, self.decompressor)?;
                Ok(none.insert(Part { bytes, at: 0 }))
            }
        }
    }
}
