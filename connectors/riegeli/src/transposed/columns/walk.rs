//! The walk through the state machine (section 3.5) that notes what a scan wants.

use recordfusion_protobuf::shredded::{CAPTURED, Leaf, Occurrences, Unfit};

use super::buckets::Buckets;
use super::capture::Part;
use super::nodes::Nodes;
use super::paths::{Paths, RECORD};
use super::step::{Kind, Step};
use super::values::FIRST_INLINE;
use crate::compression::Decompressor;

/// The state of a walk.
pub(super) struct Walk<'a, 'w> {
    pub nodes: Nodes<'a>,
    /// The offset of each transition.
    pub transitions: &'w [u8],
    pub occurrences: &'w mut Occurrences,
    pub buckets: Buckets<'a>,
    pub decompressor: &'w mut Decompressor,
    /// The bytes of values that were put together.
    pub captured: Vec<u8>,
    /// The buffers that are read on the way.
    pub parts: Vec<Option<Part>>,
    /// Most bytes of those values.
    pub most_captured: usize,
    /// Most steps from now on.
    pub budget: u64,
}

/// Where a walk stands.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct At {
    /// The node, or the base of the next transition.
    pub index: usize,
    /// The path of fields that leads there.
    pub path: u16,
    /// The node behind the last transition.
    run: usize,
    /// How many transitions are behind.
    taken: usize,
    /// The row of the message.
    row: u32,
    /// How many records have begun.
    records: u32,
}

impl At {
    /// Takes the next transition; `false` at the end.
    #[inline(always)]
    pub fn follow(&mut self, transitions: &[u8]) -> bool {
        let Some(offset) = transitions.get(self.taken) else { return false };
        self.index += usize::from(*offset);
        self.run = self.index;
        self.taken += 1;
        true
    }

    /// Enters or leaves a message.
    #[inline(always)]
    fn bound(&mut self, step: Step, paths: &Paths<'_>, occurrences: &mut Occurrences) -> Result<(), Unfit> {
        let opens = step.kind() == Kind::Open;
        let message = paths.get(if opens { step.target() } else { self.path })?.message.ok_or(Unfit)?;
        self.row = if opens { occurrences.open(message, self.row) } else { occurrences.close(message) };
        self.path = step.target();
        Ok(())
    }

    /// Passes nodes.
    #[inline(always)]
    fn pass(&mut self, step: Step) {
        self.records = self.records.saturating_add(u32::from(step.form()));
        // A choice without a branch: nothing tells when a record begins.
        self.row = if step.form() == 0 { self.row } else { self.records };
        self.path = step.target();
    }
}

/// The offsets of all transitions, which are at most `most`: a stored one says how many of offset 0 follow it.
pub(super) fn expand_transitions(stored: &[u8], most: u64, transitions: &mut Vec<u8>) -> Result<(), Unfit> {
    let repeats: usize = stored.iter().map(|stored| usize::from(stored & 3)).sum();
    if (stored.len() + repeats) as u64 > most {
        return Err(Unfit);
    }
    transitions.clear();
    transitions.resize(stored.len() + repeats, 0);
    let mut next = 0;
    for stored in stored {
        if let Some(transition) = transitions.get_mut(next) {
            *transition = stored >> 2;
        }
        next += 1 + usize::from(stored & 3);
    }
    Ok(())
}

impl Walk<'_, '_> {
    /// Walks from the first node until the transitions end, and gives the number of records.
    pub fn run(&mut self) -> Result<u32, Unfit> {
        let mut at = At { index: self.nodes.header.first, ..At::default() };
        at.run = at.index;
        while self.plain_steps(&mut at)? {
            let step = self.nodes.step(at.index, at.path)?;
            at.index = step.base();
            let mut implicit = step.implicit();
            if step.kind() == Kind::Capture {
                at.run = self.capture(&mut at, Leaf::at(step.target()), implicit)?;
                let node = self.nodes.header.nodes.get(at.run).ok_or(Unfit)?;
                (at.index, implicit) = (node.base as usize, node.implicit);
            } else {
                self.step(step, &mut at)?;
            }
            if !implicit && !at.follow(self.transitions) {
                break;
            }
        }
        let ended = at.path == RECORD && self.nodes.ends_with_a_record(at.run);
        if ended { Ok(at.records) } else { Err(Unfit) }
    }

    /// Takes steps as long as they are plain; says whether there are more. Most steps are, and these few lines
    /// decide how long a scan of a few columns takes.
    #[inline(never)]
    fn plain_steps(&mut self, place: &mut At) -> Result<bool, Unfit> {
        let (steps, paths) = (self.nodes.steps(), &self.nodes.paths);
        let (occurrences, transitions) = (&mut *self.occurrences, self.transitions);
        let (mut at, mut budget) = (*place, self.budget);
        while let Some(step) = steps.get(at.index)
            && step.is_plain(at.path)
        {
            if step.notes_value() {
                occurrences.value(at.row, Leaf::at(step.target()), step.form());
            } else if step.bounds_message() {
                at.bound(*step, paths, occurrences)?;
            } else {
                at.pass(*step);
            }
            at.index = step.base();
            if step.implicit() {
                // The others take transitions, which are no more than there are.
                budget = budget.checked_sub(1).ok_or(Unfit)?;
            } else if !at.follow(transitions) {
                *place = at;
                return Ok(false);
            }
        }
        (*place, self.budget) = (at, budget);
        Ok(true)
    }

    /// A step of any kind but [`Kind::Capture`].
    fn step(&mut self, step: Step, at: &mut At) -> Result<(), Unfit> {
        let layout = self.nodes.paths.layout();
        self.budget = self.budget.checked_sub(1).ok_or(Unfit)?;
        match step.kind() {
            Kind::Pass | Kind::Records => at.pass(step),
            Kind::Value => self.occurrences.value(at.row, Leaf::at(step.target()), step.form()),
            Kind::Member => self.member(at.row, Leaf::at(step.target()), step.form())?,
            Kind::Open | Kind::Close => at.bound(step, &self.nodes.paths, self.occurrences)?,
            Kind::Message => {
                let message = self.nodes.paths.get(step.target())?.message.ok_or(Unfit)?;
                self.nodes.paths.count_message(step.target());
                if layout.notes_opening(message) {
                    self.occurrences.open(message, at.row);
                }
            }
            Kind::Mismatch => {
                self.occurrences.mismatch();
                at.path = step.target();
            }
            Kind::Capture => return Err(Unfit),
        }
        Ok(())
    }

    /// A value of `leaf`, which is a member of a oneof. Of a closed enum only its own numbers are.
    fn member(&mut self, row: u32, leaf: Leaf, form: u8) -> Result<(), Unfit> {
        let layout = self.nodes.paths.layout();
        if layout.chooses(leaf) && !layout.counts(leaf, self.number(leaf, form)?) {
            self.occurrences.discard(leaf, form);
        } else {
            self.occurrences.member(layout, row, leaf, form);
        }
        Ok(())
    }

    /// The next varint of a leaf.
    fn number(&mut self, leaf: Leaf, form: u8) -> Result<u64, Unfit> {
        if let Some(number) = form.checked_sub(FIRST_INLINE) {
            return Ok(u64::from(number));
        }
        let source = self.nodes.paths.leaf(leaf).ok_or(Unfit)?;
        let (_, Some(buffer)) = source.numbers.ok_or(Unfit)? else { return Err(Unfit) };
        let bytes = self.part(buffer)?.take(usize::from(form) + 1)?;
        let sevens = (0..).step_by(7).zip(bytes);
        Ok(sevens.fold(0, |value, (shift, byte)| value | u64::from(byte & 0x7f).wrapping_shl(shift)))
    }

    /// Puts together a value of `leaf` whose end was just met; gives the node of its begin.
    #[cold]
    fn capture(&mut self, at: &mut At, leaf: Leaf, implicit: bool) -> Result<usize, Unfit> {
        let begin = self.captured.len();
        let last = self.capture_message(at, implicit)?;
        self.nodes.paths.captured(leaf, (begin as u32, self.captured.len() as u32));
        match self.nodes.paths.layout().is_member(leaf) {
            true => self.occurrences.member(self.nodes.paths.layout(), at.row, leaf, CAPTURED),
            false => self.occurrences.value(at.row, leaf, CAPTURED),
        }
        Ok(last)
    }
}
