//! The walk through the state machine (section 3.5) that notes what a scan wants.

use std::collections::HashMap;

use recordfusion_protobuf::shredded::{CAPTURED, Leaf, Occurrences, Unfit};

use super::buckets::Buckets;
use super::capture::Part;
use super::nodes::{Kind, Nodes, Step};
use super::paths::RECORD;
use crate::compression::Decompressor;

/// The state of a walk.
pub(super) struct Walk<'a, 'w> {
    pub nodes: Nodes<'a>,
    pub transitions: std::slice::Iter<'w, u8>,
    /// Transitions of offset 0 that come before the next stored one.
    pub repeat: u8,
    pub occurrences: &'w mut Occurrences,
    pub buckets: Buckets<'a>,
    pub decompressor: &'w mut Decompressor,
    /// The bytes of values that were put together.
    pub captured: Vec<u8>,
    /// The buffers below those values.
    pub parts: HashMap<u32, Part>,
    /// Most bytes of those values.
    pub most_captured: usize,
    /// Most steps from now on while they are put together.
    pub budget: u64,
}

impl Walk<'_, '_> {
    /// Walks from the first node until the transitions end.
    pub fn run(&mut self) -> Result<(), Unfit> {
        let (mut index, mut path) = (self.nodes.header.first, RECORD);
        let mut run = index;
        for _ in 0..self.budget {
            let step = self.nodes.step(index, path)?;
            index = usize::from(step.base);
            let mut implicit = step.implicit;
            match step.kind {
                Kind::Pass => path = step.target,
                Kind::Records => {
                    self.occurrences.complete(u32::from(step.form));
                    path = step.target;
                }
                Kind::Value => self.occurrences.value(Leaf::at(step.target), step.form),
                Kind::Capture => {
                    let last = self.capture(Leaf::at(step.target), index, implicit)?;
                    let node = self.nodes.header.nodes.get(last).ok_or(Unfit)?;
                    (index, implicit) = (node.base as usize, node.implicit);
                }
                _ => path = self.rare(step, path)?,
            }
            if implicit {
                continue;
            }
            match self.transition() {
                Some(offset) => index += offset,
                None if path == RECORD && self.nodes.ends_with_a_record(run) => return Ok(()),
                None => return Err(Unfit),
            }
            run = index;
        }
        Err(Unfit)
    }

    /// The next transition, as an offset from the base; `None` at the end.
    #[inline(always)]
    pub fn transition(&mut self) -> Option<usize> {
        if self.repeat > 0 {
            self.repeat -= 1;
            return Some(0);
        }
        let transition = *self.transitions.next()?;
        self.repeat = transition & 3;
        Some(usize::from(transition >> 2))
    }

    /// The steps that few fields have; gives the path that they lead to.
    fn rare(&mut self, step: Step, path: u16) -> Result<u16, Unfit> {
        let layout = self.nodes.paths.layout();
        match step.kind {
            Kind::Member => {
                self.occurrences.member(layout, Leaf::at(step.target), step.form);
                return Ok(path);
            }
            Kind::Open => {
                let message = self.nodes.paths.get(step.target)?.message.ok_or(Unfit)?;
                self.occurrences.open(layout, message);
            }
            Kind::Close => {
                let message = self.nodes.paths.get(path)?.message.ok_or(Unfit)?;
                self.occurrences.close(message);
            }
            Kind::Message => {
                let message = self.nodes.paths.get(step.target)?.message.ok_or(Unfit)?;
                self.nodes.paths.count_message(step.target);
                if layout.notes_opening(message) {
                    self.occurrences.open(layout, message);
                }
                if layout.notes_closing(message) {
                    self.occurrences.close(message);
                }
                return Ok(path);
            }
            Kind::Mismatch => self.occurrences.mismatch(),
            _ => return Err(Unfit),
        }
        Ok(step.target)
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
