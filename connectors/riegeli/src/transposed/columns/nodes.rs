//! What each node of a chunk is to the scan, resolved when the walk first comes to it.

use recordfusion_protobuf::shredded::{Layout, Leaf, Meaning, STORED, Unfit};

use super::super::Parts;
use super::super::header::{Action, Header, Node, Tagged};
use super::paths::{NumberKind, Paths, RECORD, Reader};
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

    /// Most nodes that are passed at one step, so that a node is looked at no more often.
    const LONGEST_RUN: usize = 64;

    pub fn new(parts: &'a Parts<'_>, layout: &'a Layout) -> Self {
        let header = &parts.table;
        let steps = vec![Step::UNRESOLVED; header.nodes.len()];
        Self { header, paths: Paths::new(layout, parts.buffers.len()), steps }
    }

    /// The steps that are known, by node.
    #[inline(always)]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The step at a node to which `path` leads.
    #[inline(always)]
    pub fn step(&mut self, index: usize, path: u16) -> Result<Step, Unfit> {
        match self.steps.get(index) {
            Some(step) if step.path() == path => Ok(*step),
            _ => self.new_step(index, path),
        }
    }

    /// Resolves a node, and what can be passed together with it.
    #[cold]
    #[inline(never)]
    fn new_step(&mut self, index: usize, path: u16) -> Result<Step, Unfit> {
        let mut step = self.single_step(index, path)?;
        for _ in 1..Self::LONGEST_RUN {
            let Some(behind) = step.path_behind().filter(|_| step.implicit()) else { break };
            let next = self.single_step(step.base(), behind)?;
            let Some(both) = step.followed_by(next) else { break };
            step = both;
        }
        // Detours belong to no path.
        if let Some(known) = self.steps.get_mut(index).filter(|known| known.path() == path) {
            *known = step;
        }
        Ok(step)
    }

    /// The step at one node.
    fn single_step(&mut self, index: usize, path: u16) -> Result<Step, Unfit> {
        let known = *self.steps.get(index).ok_or(Unfit)?;
        if known.path() == path {
            return Ok(known);
        }
        let node = *self.header.nodes.get(index).ok_or(Unfit)?;
        let (kind, target, form) = match node.action {
            Action::NoOp => (Kind::Pass, path, 0),
            _ if known != Step::UNRESOLVED => return Err(Unfit),
            _ => self.resolve(&node, path)?,
        };
        let base = u16::try_from(node.base).map_err(|_| Unfit)?;
        let step = Step::new(path, kind, target, form).to(base, node.implicit);
        if node.action != Action::NoOp {
            self.steps[index] = step;
        }
        Ok(step)
    }

    /// Kind, target and form of the step at a node.
    fn resolve(&mut self, node: &Node, path: u16) -> Result<(Kind, u16, u8), Unfit> {
        match node.action {
            Action::NoOp | Action::NonProto => Err(Unfit),
            Action::MessageStart if path == RECORD => Ok((Kind::Records, RECORD, 1)),
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
    ) -> Result<(Kind, u16, u8), Unfit> {
        match self.paths.meaning(path, tag)? {
            Meaning::Number(leaf) => {
                self.paths.numbers(leaf, kind, buffer)?;
                self.value(leaf, form)
            }
            meaning => self.passed(path, meaning, buffer),
        }
    }

    fn string(&mut self, path: u16, tag: u32, buffer: u32) -> Result<(Kind, u16, u8), Unfit> {
        match self.paths.meaning(path, tag)? {
            Meaning::Bytes(leaf) => {
                self.paths.strings(leaf, buffer)?;
                self.value(leaf, STORED)
            }
            Meaning::Message(_) => {
                let below = self.paths.below(path, tag)?;
                self.paths.messages(below, buffer)?;
                Ok((Kind::Message, below, 0))
            }
            meaning => self.passed(path, meaning, Some(buffer)),
        }
    }

    fn value(&self, leaf: Leaf, form: u8) -> Result<(Kind, u16, u8), Unfit> {
        let kind = if self.paths.layout().is_member(leaf) { Kind::Member } else { Kind::Value };
        Ok((kind, leaf.index() as u16, form))
    }

    /// A value that is not wanted.
    fn passed(&mut self, path: u16, meaning: Meaning, buffer: Option<u32>) -> Result<(Kind, u16, u8), Unfit> {
        if let Some(buffer) = buffer {
            self.paths.claim(buffer, Reader::Nobody)?;
        }
        let kind = if meaning == Meaning::Mismatch { Kind::Mismatch } else { Kind::Pass };
        Ok((kind, path, 0))
    }

    /// The end of a message or group, which is met first.
    fn open(&mut self, path: u16, tag: u32) -> Result<(Kind, u16, u8), Unfit> {
        let meaning = self.paths.meaning(path, tag)?;
        if let Meaning::Bytes(leaf) = meaning {
            return Ok((Kind::Capture, leaf.index() as u16, 0));
        }
        let below = self.paths.below(path, tag)?;
        let kind = match meaning {
            Meaning::Mismatch => Kind::Mismatch,
            Meaning::Message(message) if self.paths.layout().notes_opening(message) => Kind::Open,
            _ => Kind::Pass,
        };
        Ok((kind, below, 0))
    }

    /// The begin of a message or group.
    fn close(&mut self, path: u16, wire: u32) -> Result<(Kind, u16, u8), Unfit> {
        let here = self.paths.get(path)?;
        if path == RECORD || here.tag & 7 != wire {
            return Err(Unfit);
        }
        let noted = here.message.is_some_and(|message| self.paths.layout().notes_closing(message));
        Ok((if noted { Kind::Close } else { Kind::Pass }, here.parent, 0))
    }

    /// Whether the nodes from `index` to the next transition have a record begin as the last thing they do.
    pub fn ends_with_a_record(&self, mut index: usize) -> bool {
        let mut ends = false;
        for _ in 0..=self.header.nodes.len() {
            let Some(node) = self.header.nodes.get(index) else { return false };
            match node.action {
                Action::MessageStart => ends = true,
                Action::NoOp => {}
                _ => ends = false,
            }
            if !node.implicit {
                return ends;
            }
            index = node.base as usize;
        }
        false
    }
}

fn tag_of(node: &Node) -> Result<Tagged, Unfit> {
    node.tagged().ok_or(Unfit)
}

mod wire_type {
    pub const VARINT: u32 = 0;
    pub const LENGTH_DELIMITED: u32 = 2;
    pub const START_GROUP: u32 = 3;
    pub const END_GROUP: u32 = 4;
}
