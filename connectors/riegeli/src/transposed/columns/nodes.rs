//! What each node of a chunk is to the scan, resolved when the walk first comes to it.

use recordfusion_protobuf::shredded::{Layout, Leaf, Meaning, STORED, Unfit};

use super::super::Parts;
use super::super::header::{Action, Header, Node, Tagged};
use super::paths::{NumberKind, Paths, RECORD, Reader, wire_type};
use super::step::{Kind, Step};
use super::values::FIRST_INLINE;

/// The nodes of a chunk.
pub(super) struct Nodes<'a> {
    pub header: &'a Header,
    pub paths: Paths<'a>,
    steps: Vec<Step>,
}

impl<'a> Nodes<'a> {
    /// Most nodes, so that 16 bits tell them and the paths apart.
    pub const MOST: usize = 0xfffe;

    pub fn new(parts: &'a Parts<'_>, layout: &'a Layout) -> Self {
        let header = &parts.table;
        let steps = vec![Step::UNRESOLVED; header.nodes.len()];
        Self { header, paths: Paths::new(layout, parts.buffers.len()), steps }
    }

    /// A node of the table.
    #[inline]
    pub fn node(&self, index: usize) -> Result<&'a Node, Unfit> {
        self.header.nodes.get(index).ok_or(Unfit)
    }

    /// The step at a node to which `path` leads; resolves the node when the walk first comes to it.
    pub fn step(&mut self, index: usize, path: u16) -> Result<Step, Unfit> {
        let known = *self.steps.get(index).ok_or(Unfit)?;
        if known.path == path {
            return Ok(known);
        }
        let node = self.node(index)?;
        if node.action == Action::NoOp {
            // Detours belong to no path.
            return Ok(Step::pass(path, path));
        }
        if known != Step::UNRESOLVED {
            return Err(Unfit);
        }
        let step = self.resolve(node, path)?;
        *self.steps.get_mut(index).ok_or(Unfit)? = step;
        Ok(step)
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "a tag with a wire type is not 0, and an inline value below 128"
    )]
    fn resolve(&mut self, node: &Node, path: u16) -> Result<Step, Unfit> {
        match node.action {
            Action::NoOp | Action::NonProto => Err(Unfit),
            Action::MessageStart if path == RECORD => Ok(Step::pass(RECORD, RECORD).of(Kind::Record)),
            Action::MessageStart => Err(Unfit),
            Action::SubmessageStart => self.close(path, wire_type::LENGTH_DELIMITED),
            Action::SubmessageEnd => self.open(path, tag_of(node)?.tag),
            Action::Literal => {
                let Tagged { tag, value } = tag_of(node)?;
                match (tag & 7, value) {
                    (wire_type::END_GROUP, None) => self.open(path, tag - 1),
                    (wire_type::START_GROUP, None) if self.paths.get(path)?.tag == tag => {
                        self.close(path, wire_type::START_GROUP)
                    }
                    (wire_type::VARINT, Some(value)) => {
                        self.number(path, tag, NumberKind::Varint, None, FIRST_INLINE + value)
                    }
                    _ => Err(Unfit),
                }
            }
            Action::Varint => {
                let form = node.width.checked_sub(1).ok_or(Unfit)?;
                self.number(path, tag_of(node)?.tag, NumberKind::Varint, Some(node.buffer), form)
            }
            Action::Fixed => {
                let kind = if node.width == 4 { NumberKind::Fixed32 } else { NumberKind::Fixed64 };
                self.number(path, tag_of(node)?.tag, kind, Some(node.buffer), 0)
            }
            Action::String => self.string(path, tag_of(node)?.tag, node.buffer),
        }
    }

    fn number(
        &mut self,
        path: u16,
        tag: u32,
        kind: NumberKind,
        buffer: Option<u32>,
        form: u8,
    ) -> Result<Step, Unfit> {
        match self.paths.meaning(path, tag)? {
            Meaning::Number(leaf) => {
                self.paths.numbers(leaf, kind, buffer)?;
                Ok(value(path, path, leaf, form))
            }
            Meaning::Present(leaf) => {
                if let Some(buffer) = buffer {
                    self.paths.claim(buffer, Reader::Nobody)?;
                }
                Ok(value(path, path, leaf, STORED))
            }
            meaning => self.passed(path, meaning, buffer),
        }
    }

    fn string(&mut self, path: u16, tag: u32, buffer: u32) -> Result<Step, Unfit> {
        match self.paths.meaning(path, tag)? {
            Meaning::Bytes(leaf) => {
                self.paths.strings(leaf, buffer)?;
                Ok(value(path, path, leaf, STORED))
            }
            Meaning::Present(leaf) => {
                self.paths.claim(buffer, Reader::Nobody)?;
                Ok(value(path, path, leaf, STORED))
            }
            Meaning::Message(_) => {
                let target = self.paths.below(path, tag)?;
                self.paths.messages(target, buffer)?;
                Ok(Step { kind: Kind::Message, target, ..Step::pass(path, path) })
            }
            meaning => self.passed(path, meaning, Some(buffer)),
        }
    }

    /// A value that is not wanted.
    fn passed(&mut self, path: u16, meaning: Meaning, buffer: Option<u32>) -> Result<Step, Unfit> {
        if let Some(buffer) = buffer {
            self.paths.claim(buffer, Reader::Nobody)?;
        }
        let kind = if meaning == Meaning::Mismatch { Kind::Mismatch } else { Kind::Pass };
        Ok(Step::pass(path, path).of(kind))
    }

    /// The end of a message or group, which is met first.
    fn open(&mut self, path: u16, tag: u32) -> Result<Step, Unfit> {
        let meaning = self.paths.meaning(path, tag)?;
        if let Meaning::Bytes(leaf) = meaning {
            let target = leaf.index() as u16;
            return Ok(Step { kind: Kind::Capture, target, ..Step::pass(path, path) });
        }
        let below = self.paths.below(path, tag)?;
        let step = Step::pass(path, below);
        Ok(match meaning {
            Meaning::Present(leaf) => value(path, below, leaf, STORED),
            Meaning::Mismatch => step.of(Kind::Mismatch),
            Meaning::Message(_) => step.of(Kind::Open),
            _ => step,
        })
    }

    /// The begin of a message or group.
    fn close(&mut self, path: u16, wire: u32) -> Result<Step, Unfit> {
        let here = self.paths.get(path)?;
        if path == RECORD || here.tag & 7 != wire {
            return Err(Unfit);
        }
        Ok(Step::pass(path, here.parent))
    }
}

fn value(path: u16, behind: u16, leaf: Leaf, form: u8) -> Step {
    Step { path, behind, kind: Kind::Value, target: leaf.index() as u16, form }
}

fn tag_of(node: &Node) -> Result<Tagged, Unfit> {
    node.tagged().ok_or(Unfit)
}
