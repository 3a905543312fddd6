//! The walk through the state machine (section 3.5) that notes what a scan wants.

use std::slice::Iter;

use recordfusion_protobuf::shredded::{CAPTURED, Leaf, Message, Note, Occurrences, Unfit};

use super::buckets::Buckets;
use super::hop::HopPath;
use super::hops::Hops;
use super::nodes::Nodes;
use super::parts::Parts;
use super::paths::RECORD;
use super::program::{Last, OpKind, string_buffer};
use super::size::Size;
use super::step::{Kind, Step};
use super::values::FIRST_INLINE;
use crate::compression::Decompressor;
use crate::transposed::header::Node;

/// The state of a walk.
pub(super) struct Walk<'a, 'w> {
    pub nodes: Nodes<'a>,
    pub transitions: Transitions<'w>,
    pub occurrences: &'w mut Occurrences,
    pub buckets: Buckets<'a>,
    pub decompressor: &'w mut Decompressor,
    /// The bytes of values that were put together.
    pub captured: Vec<u8>,
    /// Most bytes of those values.
    pub most_captured: usize,
    /// The buffers that are read on the way.
    pub parts: &'w mut Parts,
    /// The bytes of the records, if they are counted.
    pub size: Size,
    /// The ops that are executed together: [`NOTES`].
    pub notes: &'w mut Vec<Note>,
    /// Most nodes from now on.
    pub budget: u64,
    /// Most ops from now on.
    pub most_ops: usize,
}

/// The transitions that are left.
#[derive(Debug, Clone)]
pub(super) struct Transitions<'w> {
    bytes: Iter<'w, u8>,
    /// How many of offset 0 come before the next byte.
    repeats: usize,
}

impl<'w> Transitions<'w> {
    pub fn new(bytes: &'w [u8]) -> Self {
        Self { bytes: bytes.iter(), repeats: 0 }
    }

    /// The offset of the next transition.
    pub fn next(&mut self) -> Option<usize> {
        if let Some(left) = self.repeats.checked_sub(1) {
            self.repeats = left;
            return Some(0);
        }
        let byte = usize::from(*self.bytes.next()?);
        self.repeats = byte % 4;
        Some(byte / 4)
    }
}

/// Where a walk stands.
#[derive(Debug, Clone, Copy)]
struct At {
    /// Four times the next node, and how often the transition behind it is repeated.
    hop: usize,
    /// The path of fields that leads there.
    path: HopPath,
    /// How many records have begun.
    records: u32,
}

/// Why the walk stops.
#[derive(Clone, Copy)]
enum Stop {
    /// The next hop is not known, or stops.
    Hop,
    /// There may be more.
    Full,
    /// There is no other transition. What was met last.
    End(Last),
}

/// A hop with a program: its index, and above that the number of records before it.
type Event = u64;

#[inline(always)]
fn event(hop: usize, records: u32) -> Event {
    u64::from(records) << 32 | hop as u64
}

/// Most hops with a program that are executed together.
const EVENTS: usize = 256;

/// Most ops that are executed together: more than a program has.
pub(super) const NOTES: usize = 1024;

impl<'a> Walk<'a, '_> {
    /// Walks from the first node until the transitions end, and gives the number of records.
    #[expect(clippy::arithmetic_side_effects, reason = "the first node is in the table")]
    pub fn run(&mut self, hops: &mut Hops) -> Result<u32, Unfit> {
        let mut at = At { hop: 4 * self.nodes.header.first, path: HopPath::new(RECORD), records: 0 };
        let mut log = [0; EVENTS];
        let last = loop {
            let (events, stop) = self.hop(hops, &mut at, &mut log)?;
            self.execute(hops, log.get(..events).unwrap_or_default())?;
            let stop = match stop {
                Stop::Hop => self.pass(hops, &mut at)?,
                stop => stop,
            };
            if let Stop::End(last) = stop {
                break last;
            }
        };
        let is_whole = last == Last::Record && at.path.path() == RECORD;
        if is_whole { Ok(at.records) } else { Err(Unfit) }
    }

    /// Goes from transition to transition as long as the hops are known, and logs those with a program. These few
    /// lines decide how long a scan of a few columns takes: nothing in them depends on what is wanted but what is
    /// loaded.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "a base is a few bits of a word, and there is an event for each place of the log at most"
    )]
    #[inline(never)]
    fn hop(&mut self, hops: &Hops, from: &mut At, log: &mut [Event; EVENTS]) -> Result<(usize, Stop), Unfit> {
        let (mut at, mut transitions, mut budget) = (*from, self.transitions.bytes.clone(), self.budget);
        let mut events = 0;
        let stop = loop {
            let hop = hops.get(at.hop).ok_or(Unfit)?;
            let Some(place) = log.get_mut(events) else { break Stop::Full };
            if !hop.goes_on_from(at.path) {
                break Stop::Hop;
            }
            *place = event(at.hop, at.records);
            events += usize::from(hop.has_program());
            budget = budget.checked_sub(hop.steps()).ok_or(Unfit)?;
            at.records = at.records.wrapping_add(hop.records());
            at.path = hop.path_behind();
            match transitions.next() {
                Some(byte) => at.hop = hop.base() + usize::from(*byte),
                None => break Stop::End(hops.program(at.hop).last),
            }
        };
        (*from, self.transitions.bytes, self.budget) = (at, transitions, budget);
        Ok((events, stop))
    }

    /// Passes a hop that stops, or resolves one that is not known.
    #[expect(clippy::arithmetic_side_effects, reason = "a base is a few bits of a word")]
    fn pass(&mut self, hops: &mut Hops, at: &mut At) -> Result<Stop, Unfit> {
        if !hops.is_known(at.hop) {
            hops.compile(at.hop, at.path, &mut self.nodes)?;
            self.open_parts(hops.new_ops())?;
            return Ok(Stop::Hop);
        }
        let hop = hops.get(at.hop).ok_or(Unfit)?;
        if !hop.is_of(at.path) {
            return self.step(hops, at);
        }
        self.execute(hops, &[event(at.hop, at.records)])?;
        self.budget = self.budget.checked_sub(hop.steps()).ok_or(Unfit)?;
        at.hop = hop.base() + usize::from(hops.program(at.hop).left);
        (at.path, at.records) = (hop.path_behind(), at.records.wrapping_add(hop.records()));
        Ok(Stop::Hop)
    }

    /// Opens the buffers that ops take strings from.
    fn open_parts(&mut self, ops: &[Note]) -> Result<(), Unfit> {
        let mut buffers = ops.iter().filter_map(|op| string_buffer(*op));
        buffers.try_for_each(|buffer| self.part(buffer).map(drop))
    }

    /// Meets one node, and all of the message that it is the end of if that is a value.
    #[expect(clippy::arithmetic_side_effects, reason = "a base is 32 bits wide")]
    fn step(&mut self, hops: &mut Hops, at: &mut At) -> Result<Stop, Unfit> {
        let index = at.hop / 4;
        let step = self.nodes.step(index, at.path.path())?;
        let mut node = self.nodes.node(index)?;
        self.spend()?;
        self.transitions.repeats = at.hop % 4;
        if step.kind == Kind::Capture {
            node = self.capture(index, step, at.records)?;
        } else {
            let (index, hop) = hops.step(node, step, &self.nodes.paths)?;
            self.open_parts(hops.new_ops())?;
            self.execute(hops, &[event(index, at.records)])?;
            hops.forget_step();
            at.records = at.records.wrapping_add(hop.records());
        }
        at.path = HopPath::new(step.behind);
        let repeats = self.transitions.repeats;
        let next = match repeats.checked_sub(1) {
            _ if node.implicit => repeats,
            Some(left) => left,
            None => match self.transitions.bytes.next() {
                Some(byte) => usize::from(*byte),
                None => return Ok(Stop::End(Last::of(node.action))),
            },
        };
        at.hop = 4 * node.base as usize + next;
        Ok(Stop::Hop)
    }

    /// Counts a node that was met.
    pub fn spend(&mut self) -> Result<(), Unfit> {
        self.budget = self.budget.checked_sub(1).ok_or(Unfit)?;
        Ok(())
    }

    /// Executes the programs of a log.
    #[inline(never)]
    fn execute(&mut self, hops: &Hops, log: &[Event]) -> Result<(), Unfit> {
        let mut notes = std::mem::take(self.notes);
        let executed = self.execute_with(&mut notes, hops, log);
        *self.notes = notes;
        executed
    }

    #[expect(clippy::arithmetic_side_effects, reason = "no more is added than the notes have room for")]
    #[inline(always)]
    fn execute_with(&mut self, notes: &mut [Note], hops: &Hops, log: &[Event]) -> Result<(), Unfit> {
        let mut len = 0;
        for event in log {
            let program = hops.program(*event as u32 as usize);
            if len + usize::from(program.len) > notes.len() {
                self.take(notes.get(..len).unwrap_or_default())?;
                len = 0;
            }
            hops.copy(program, (event >> 32) as u32, notes.get_mut(len..).unwrap_or_default())?;
            len += usize::from(program.len);
        }
        self.take(notes.get(..len).unwrap_or_default())
    }

    /// Executes ops.
    fn take(&mut self, mut ops: &[Note]) -> Result<(), Unfit> {
        self.most_ops = self.most_ops.checked_sub(ops.len()).ok_or(Unfit)?;
        loop {
            let noted = self.occurrences.note_all(ops);
            let Some((op, behind)) = ops.get(noted..).and_then(<[Note]>::split_first) else { return Ok(()) };
            self.other(*op)?;
            ops = behind;
        }
    }

    fn other(&mut self, op: Note) -> Result<(), Unfit> {
        let layout = self.nodes.paths.layout();
        match OpKind::of(op).ok_or(Unfit)? {
            OpKind::Value => self.value(op.records(), Leaf::at(op.target()), op.form())?,
            OpKind::Open => self.occurrences.open(layout, Message::at(op.target()), op.records()),
            OpKind::Mismatch => self.occurrences.mismatch(),
            OpKind::Message => {
                let message = self.nodes.paths.get(op.target())?.message.ok_or(Unfit)?;
                self.nodes.paths.count_message(op.target());
                self.occurrences.open(layout, message, op.records());
            }
            OpKind::Bytes => self.size.add(op.form().into()),
            OpKind::String => self.size.add(self.parts.take_string(op.target())?),
            OpKind::End => self.size.end(op.form()),
            OpKind::Begin => self.size.begin()?,
            OpKind::Give => {
                let message = Message::at(op.target());
                self.size.give(message.index(), self.occurrences.row(layout, message, op.records()));
            }
            OpKind::Varint => {
                let bytes = self.part(op.target().into())?.take(op.form().into())?;
                if bytes.iter().any(|byte| byte & 0x80 != 0) {
                    return Err(Unfit);
                }
                self.size.add(op.form().into());
            }
            OpKind::Fixed => {
                self.part(op.target().into())?.take(op.form().into())?;
                self.size.add(op.form().into());
            }
        }
        Ok(())
    }

    /// A value of `leaf`, whose row is chosen. Members of a closed enum are only its own numbers.
    fn value(&mut self, records: u32, leaf: Leaf, form: u8) -> Result<(), Unfit> {
        let layout = self.nodes.paths.layout();
        if layout.chooses(leaf) && !layout.counts(leaf, self.number(leaf, form)?) {
            self.occurrences.discard(layout, leaf, form);
        } else {
            self.occurrences.value(layout, records, leaf, form);
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

    /// Puts together a value whose end is the node `index`; gives the node of its begin.
    #[expect(clippy::arithmetic_side_effects, reason = "values are only added")]
    fn capture(&mut self, index: usize, step: Step, records: u32) -> Result<&'a Node, Unfit> {
        let (begin, leaf) = (self.captured.len(), Leaf::at(step.target));
        let last = self.capture_message(index)?;
        let layout = self.nodes.paths.layout();
        if layout.needs_counting(leaf) {
            let tag = self.nodes.node(index)?.literal.len;
            self.size.submessage(self.captured.len() - begin, tag);
            if let Some(holder) = self.nodes.paths.measured(step.path)? {
                self.size.give(holder.index(), self.occurrences.row(layout, holder, records));
            }
        }
        self.nodes.paths.captured(leaf, (begin as u32, self.captured.len() as u32));
        self.occurrences.value(layout, records, leaf, CAPTURED);
        Ok(last)
    }
}
