//! Values that were cut into fields because they look like messages, put together again (section 5.4).

use recordfusion_protobuf::shredded::Unfit;

use super::super::header::{Action, Literal, Node};
use super::parts::Part;
use super::paths::Reader;
use super::walk::Walk;

/// Most messages inside a captured value. Writers stop at 100.
const MAX_DEPTH: usize = 1 << 10;

impl Part {
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

impl<'a> Walk<'a, '_> {
    /// Appends the content of the message whose end is the node `index` to what is captured, and gives the node of
    /// its begin.
    ///
    /// The bytes come last to first, so that they are turned round when all are there.
    pub(super) fn capture_message(&mut self, index: usize) -> Result<&'a Node, Unfit> {
        let begin = self.captured.len();
        let mut open: Vec<(usize, Literal)> = Vec::new();
        let mut node = self.nodes.node(index)?;
        loop {
            let offset = if node.implicit { 0 } else { self.transitions.next().ok_or(Unfit)? };
            node = self.nodes.node(offset.saturating_add(node.base as usize))?;
            self.count_captured()?;
            match node.action {
                Action::NoOp => {}
                Action::SubmessageStart => match open.pop() {
                    Some((end, tag)) => {
                        let len =
                            u32::try_from(self.captured.len().saturating_sub(end)).map_err(|_| Unfit)?;
                        self.put_literal(Literal::varint(len));
                        self.put_literal(tag);
                    }
                    None => break,
                },
                Action::SubmessageEnd if open.len() < MAX_DEPTH => {
                    open.push((self.captured.len(), node.literal));
                }
                Action::Literal => self.put_literal(node.literal),
                Action::Varint | Action::Fixed | Action::String => self.put_value(node)?,
                _ => return Err(Unfit),
            }
        }
        if let Some(captured) = self.captured.get_mut(begin..) {
            captured.reverse();
        }
        Ok(node)
    }

    /// Counts a step, and checks that the values do not grow beyond what the records can be.
    fn count_captured(&mut self) -> Result<(), Unfit> {
        self.spend()?;
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
        self.parts.part(buffer, &mut self.buckets, self.decompressor)
    }
}
