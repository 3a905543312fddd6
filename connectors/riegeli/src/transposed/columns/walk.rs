//! The walk through the state machine (section 3.5) that notes what a scan wants.

use recordfusion_protobuf::shredded::{CAPTURED, Leaf, Occurrences, Unfit};

use super::buckets::Buckets;
use super::capture::Part;
use super::nodes::Nodes;
use super::paths::RECORD;
use super::step::{Kind, Step};
use crate::compression::Decompressor;

/// The state of a walk.
pub(super) struct Walk<'a, 'w> {
    pub nodes: Nodes<'a>,
    /// The offset of each transition.
    pub transitions: &'w [u8],
    /// How many of them are behind.
    pub taken: usize,
    pub occurrences: &'w mut Occurrences,
    pub buckets: Buckets<'a>,
    pub decompressor: &'w mut Decompressor,
    /// The bytes of values that were put together.
    pub captured: Vec<u8>,
    /// The buffers below those values.
    pub parts: Vec<Option<Part>>,
    /// Most bytes of those values.
    pub most_captured: usize,
    /// Most steps from now on while they are put together.
    pub budget: u64,
}

/// The offsets of all transitions: a stored one says how many of offset 0 follow it.
pub(super) fn expand_transitions(stored: &[u8], transitions: &mut Vec<u8>) {
    let repeats: usize = stored.iter().map(|stored| usize::from(stored & 3)).sum();
    transitions.clear();
    transitions.resize(stored.len() + repeats, 0);
    let mut next = 0;
    for stored in stored {
        if let Some(transition) = transitions.get_mut(next) {
            *transition = stored >> 2;
        }
        next += 1 + usize::from(stored & 3);
    }
}

impl Walk<'_, '_> {
    /// Walks from the first node until the transitions end.
    #[inline(never)]
    pub fn run(&mut self) -> Result<(), Unfit> {
        let transitions = self.transitions;
        let (mut index, mut path, mut taken) = (self.nodes.header.first, RECORD, 0);
        let mut run = index;
        for _ in 0..self.budget {
            let step = self.nodes.step(index, path)?;
            index = step.base();
            let mut implicit = step.implicit();
            if step.is(Kind::Pass) {
                path = step.target();
            } else if step.is(Kind::Value) {
                self.occurrences.value(Leaf::at(step.target()), step.form());
            } else if step.is(Kind::Records) {
                self.occurrences.complete(u32::from(step.form()));
                path = step.target();
            } else if step.is(Kind::Open) {
                let message = self.nodes.paths.get(step.target())?.message.ok_or(Unfit)?;
                self.occurrences.open(message);
                path = step.target();
            } else if step.is(Kind::Close) {
                let message = self.nodes.paths.get(path)?.message.ok_or(Unfit)?;
                self.occurrences.close(message);
                path = step.target();
            } else if step.is(Kind::Capture) {
                self.taken = taken;
                run = self.capture(Leaf::at(step.target()), index, implicit)?;
                taken = self.taken;
                let node = self.nodes.header.nodes.get(run).ok_or(Unfit)?;
                (index, implicit) = (node.base as usize, node.implicit);
            } else {
                path = self.rare(step, path)?;
            }
            if implicit {
                continue;
            }
            match transitions.get(taken) {
                Some(offset) => index += usize::from(*offset),
                None if path == RECORD && self.nodes.ends_with_a_record(run) => return Ok(()),
                None => return Err(Unfit),
            }
            taken += 1;
            run = index;
        }
        Err(Unfit)
    }

    /// The next transition of a value that is put together, as an offset from the base; `None` at the end.
    pub fn transition(&mut self) -> Option<usize> {
        let transition = *self.transitions.get(self.taken)?;
        self.taken += 1;
        Some(usize::from(transition))
    }

    /// The steps that few fields have; gives the path that they lead to.
    #[inline(never)]
    fn rare(&mut self, step: Step, path: u16) -> Result<u16, Unfit> {
        let layout = self.nodes.paths.layout();
        match step.kind() {
            Kind::Member => {
                self.occurrences.member(layout, Leaf::at(step.target()), step.form());
                return Ok(path);
            }
            Kind::Message => {
                let message = self.nodes.paths.get(step.target())?.message.ok_or(Unfit)?;
                self.nodes.paths.count_message(step.target());
                if layout.notes_opening(message) {
                    self.occurrences.open(message);
                }
                if layout.notes_closing(message) {
                    self.occurrences.close(message);
                }
                return Ok(path);
            }
            Kind::Mismatch => self.occurrences.mismatch(),
            _ => return Err(Unfit),
        }
        Ok(step.target())
    }

    /// Puts together a value of `leaf` whose end is a node before `index`; gives the node of its begin.
    fn capture(&mut self, leaf: Leaf, index: usize, implicit: bool) -> Result<usize, Unfit> {
        let begin = self.captured.len();
        let last = self.capture_message(index, implicit)?;
        self.nodes.paths.captured(leaf, (begin as u32, self.captured.len() as u32));
        match self.nodes.paths.layout().is_member(leaf) {
            true => self.occurrences.member(self.nodes.paths.layout(), leaf, CAPTURED),
            false => self.occurrences.value(leaf, CAPTURED),
        }
        Ok(last)
    }
}
