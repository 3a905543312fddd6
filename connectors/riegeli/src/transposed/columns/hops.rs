//! What a transition makes the walk do, compiled when it is first met (section 5.7).
//!
//! A byte of the transitions leads from one explicit transition to another: to the node of its offset, through the
//! implicit ones behind it, and again from there for each of its repeats. So the byte, counted from four times the
//! base, tells all nodes that are passed, and this is what a [`Hop`] is of. Most pass nothing that the scan cares
//! for: then one load finds all there is to know. The others have a program.

use super::nodes::Nodes;
use super::paths::Paths;
use super::step::{Kind, Step};
use crate::transposed::header::{Action, Node};
use recordfusion_protobuf::shredded::Unfit;

/// The nodes between two transitions, in one word: from the lowest bits on four times the base behind them (18
/// bits), whether there is a program, whether the hop stops, the path before (16 bits), a zero, the path behind (16
/// bits), records that begin (5 bits) and nodes (6 bits).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hop(u64);

/// The path before a hop or behind one, as the hop has it; what is above 17 bits is of no meaning.
#[derive(Debug, Clone, Copy)]
pub(super) struct HopPath(u32);

const BASE_BITS: u64 = 0x3ffff;
const PROGRAM: u64 = 1 << 18;
const STOP: u64 = 1 << BEFORE;
const BEFORE: u32 = 19;
const PATH_BITS: u32 = 0x1ffff;
const BEHIND: u32 = 36;
const RECORDS: u32 = 53;
const RECORD_BITS: u32 = 0x1f;
const STEPS: u32 = 58;

/// Most nodes of a hop.
const MOST_STEPS: u64 = 63;

/// Most ops of all programs.
const MOST_OPS: usize = 1 << 20;

impl HopPath {
    pub fn new(path: u16) -> Self {
        Self(u32::from(path) << 1)
    }

    pub fn path(self) -> u16 {
        (self.0 >> 1) as u16
    }
}

impl Hop {
    /// One that was not met.
    const UNKNOWN: Self = Self((Step::NOWHERE as u64) << (BEFORE + 1) | STOP);

    /// One whose first node has to be met alone.
    const ALONE: Self = Self(Self::UNKNOWN.0 | 1);

    /// Whether the hop is one from `path` on, and does not stop.
    #[inline(always)]
    pub fn goes_on_from(self, path: HopPath) -> bool {
        ((self.0 >> BEFORE) as u32 ^ path.0) & PATH_BITS == 0
    }

    /// Whether the hop is one from `path` on.
    pub fn is_of(self, path: HopPath) -> bool {
        (self.0 >> (BEFORE + 1)) as u16 == path.path()
    }

    /// Whether there is a program.
    #[inline(always)]
    pub fn has_program(self) -> bool {
        self.0 & PROGRAM != 0
    }

    /// Four times the node that the next transition counts from.
    #[inline(always)]
    pub fn base(self) -> usize {
        (self.0 & BASE_BITS) as usize
    }

    #[inline(always)]
    pub fn path_behind(self) -> HopPath {
        HopPath((self.0 >> BEHIND) as u32)
    }

    /// Records that begin.
    #[inline(always)]
    pub fn records(self) -> u32 {
        (self.0 >> RECORDS) as u32 & RECORD_BITS
    }

    /// Nodes that are met.
    #[inline(always)]
    pub fn steps(self) -> u64 {
        self.0 >> STEPS
    }
}

/// What one op does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpKind {
    /// Notes a value of the leaf `target`.
    Value,
    /// The same of a member of a oneof.
    Member,
    /// Enters the message `target`.
    Open,
    /// Leaves the message `target`.
    Close,
    /// Counts a field with another wire type.
    Mismatch,
    /// Notes the message at the path `target`, which is stored as a string.
    Message,
    /// Takes a string from the buffer `target`.
    String,
    /// Takes a varint of `form` bytes, which is not wanted, from the buffer `target`.
    Varint,
    /// Takes `form` bytes, which are not wanted, from the buffer `target`.
    Fixed,
    /// The end of a submessage whose tag has `form` bytes.
    End,
    /// The begin of a submessage.
    Begin,
}

/// Something that is done between two transitions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Op {
    pub kind: OpKind,
    /// The form of a value, or a number of bytes.
    pub form: u8,
    /// Records that begin before it, and behind the op before.
    pub records: u8,
    pub target: u16,
    /// Bytes of the records before it, back to the last [`OpKind::End`] or [`OpKind::Begin`]; only these two have it.
    pub size: u16,
}

/// All ops between two transitions.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Program {
    first: u32,
    len: u16,
    /// Bytes of the records behind the last op that has some.
    pub size: u16,
    /// What the last node is that is not passed without effect.
    pub last: Last,
    /// Repeats that are left behind the base, if the hop stops: no transition comes before the base then.
    pub left: u8,
    /// Records that begin behind the last op.
    records: u8,
}

/// What was met last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Last {
    /// Nothing that has an effect.
    #[default]
    Nothing,
    /// The begin of a record.
    Record,
    /// Something inside a record.
    Inside,
}

impl Last {
    pub fn of(action: Action) -> Self {
        match action {
            Action::NoOp => Self::Nothing,
            Action::MessageStart => Self::Record,
            _ => Self::Inside,
        }
    }

    /// What was met last behind something else.
    pub fn or(self, before: Self) -> Self {
        if self == Self::Nothing { before } else { self }
    }
}

impl Program {
    fn range(self) -> std::ops::Range<usize> {
        let first = self.first as usize;
        first..first + usize::from(self.len)
    }
}

/// A hop and its program.
pub(super) type Made = (Hop, Program);

/// What follows the nodes of a chain of implicit transitions.
#[derive(Clone, Copy)]
enum ChainEnd {
    Transition,
    /// A node whose hop is known.
    Known(Made),
    /// A node that has to be met alone, or too far away.
    Stop,
}

/// A hop that its base follows without a transition, with some repeats left.
fn stopped((hop, program): Made, left: usize) -> Made {
    (Hop(hop.0 | STOP), Program { left: left as u8, ..program })
}

/// The hops of a chunk; keeps its memory from chunk to chunk.
#[derive(Debug, Default)]
pub(super) struct Hops {
    hops: Vec<Hop>,
    programs: Vec<Program>,
    ops: Vec<Op>,
    /// How many ops [`Self::new_ops`] has given.
    seen: usize,
    /// The nodes of the chain that is compiled.
    chain: Vec<(usize, Step)>,
    /// Whether the bytes of the records are counted.
    measured: bool,
}

impl Hops {
    /// Forgets all hops, and is ready for a table of nodes.
    pub fn reset(&mut self, nodes: usize, measured: bool) {
        self.hops.clear();
        self.hops.resize(4 * nodes, Hop::UNKNOWN);
        self.programs.resize(4 * nodes, Program::default());
        self.ops.clear();
        self.seen = 0;
        self.measured = measured;
    }

    /// The hop of four times a node and a number of repeats.
    #[inline(always)]
    pub fn get(&self, index: usize) -> Option<Hop> {
        self.hops.get(index).copied()
    }

    pub fn is_known(&self, index: usize) -> bool {
        self.hops.get(index).is_some_and(|hop| *hop != Hop::UNKNOWN)
    }

    /// The program of a hop that has one.
    #[inline(always)]
    pub fn program(&self, index: usize) -> Program {
        self.programs.get(index).copied().unwrap_or_default()
    }

    #[inline(always)]
    pub fn ops(&self, program: Program) -> &[Op] {
        self.ops.get(program.range()).unwrap_or_default()
    }

    /// Resolves the nodes of a hop from `path` on.
    ///
    /// # Errors
    /// [`Unfit`] if one of them is.
    #[cold]
    pub fn compile(&mut self, index: usize, path: HopPath, nodes: &mut Nodes<'_>) -> Result<(), Unfit> {
        let repeats = index % 4;
        if repeats == 0 {
            return self.compile_chain(index / 4, path, nodes);
        }
        // The same without repeats, and what the repeats then lead to.
        let made = match self.resolved(index - repeats, path, nodes)? {
            Some(first) if first.0.0 & STOP == 0 => {
                let rest = first.0.base() + repeats - 1;
                let rest = self.resolved(rest, first.0.path_behind(), nodes)?;
                let both = rest.and_then(|rest| self.join(first, rest));
                Some(both.unwrap_or(stopped(first, repeats - 1)))
            }
            first => first.map(|first| stopped(first, repeats)),
        };
        self.set(index, made);
        Ok(())
    }

    /// The hop from `path` on; `None` if its first node has to be met alone.
    fn resolved(
        &mut self,
        index: usize,
        path: HopPath,
        nodes: &mut Nodes<'_>,
    ) -> Result<Option<Made>, Unfit> {
        if !self.is_known(index) {
            self.compile(index, path, nodes)?;
        }
        let hop = self.get(index).ok_or(Unfit)?;
        Ok(hop.is_of(path).then(|| (hop, self.program(index))))
    }

    /// Makes the hops without repeats of a node and of those that follow it implicitly.
    fn compile_chain(&mut self, first: usize, path: HopPath, nodes: &mut Nodes<'_>) -> Result<(), Unfit> {
        let mut chain = std::mem::take(&mut self.chain);
        chain.clear();
        let end = self.follow_chain((first, path), &mut chain, nodes)?;
        let mut made = None;
        for &(index, step) in chain.iter().rev() {
            let single = self.single(nodes.node(index)?, step, &nodes.paths)?;
            let joined = match (made, end) {
                (Some(behind), _) | (None, ChainEnd::Known(behind)) => self.join(single, behind),
                (None, ChainEnd::Transition) => Some(single),
                (None, ChainEnd::Stop) => None,
            };
            made = Some(joined.unwrap_or(stopped(single, 0)));
            self.set(4 * index, made);
        }
        if chain.is_empty() {
            self.set(4 * first, None);
        }
        self.chain = chain;
        Ok(())
    }

    /// Resolves the nodes of a chain up to where it ends.
    fn follow_chain(
        &self,
        (mut index, mut path): (usize, HopPath),
        chain: &mut Vec<(usize, Step)>,
        nodes: &mut Nodes<'_>,
    ) -> Result<ChainEnd, Unfit> {
        while chain.len() < MOST_STEPS as usize {
            if let Some(known) = self.get(4 * index).filter(|hop| !chain.is_empty() && hop.is_of(path)) {
                return Ok(ChainEnd::Known((known, self.program(4 * index))));
            }
            let step = nodes.step(index, path.path())?;
            if step.kind == Kind::Capture {
                break;
            }
            chain.push((index, step));
            let node = nodes.node(index)?;
            if !node.implicit {
                return Ok(ChainEnd::Transition);
            }
            (index, path) = (node.base as usize, HopPath::new(step.behind));
        }
        Ok(ChainEnd::Stop)
    }

    fn set(&mut self, index: usize, made: Option<Made>) {
        if let (Some(hop), Some(program)) = (self.hops.get_mut(index), self.programs.get_mut(index)) {
            (*hop, *program) = made.unwrap_or((Hop::ALONE, Program::default()));
        }
    }

    /// One hop after another as one, if it is short enough.
    fn join(&mut self, (a, before): Made, (b, behind): Made) -> Option<Made> {
        let (steps, records) = (a.steps() + b.steps(), a.records() + b.records());
        if steps > MOST_STEPS || records > RECORD_BITS || self.ops.len() > MOST_OPS {
            return None;
        }
        let (last, left) = (behind.last.or(before.last), behind.left);
        let size = before.size + behind.size;
        let program = if behind.len == 0 {
            Program { size, last, left, records: before.records + behind.records, ..before }
        } else if before.len == 0 && before.size == 0 && before.records == 0 {
            Program { last, ..behind }
        } else {
            Program { last, ..self.concatenate(before, behind) }
        };
        let before = a.0 & u64::from(PATH_BITS & !1) << BEFORE;
        let behind = b.0 & (u64::from(PATH_BITS) << BEHIND | BASE_BITS | STOP);
        let counts = u64::from(records) << RECORDS | steps << STEPS;
        Some((Hop(before | behind | counts | (a.0 | b.0) & PROGRAM), program))
    }

    /// The ops of two programs as one.
    fn concatenate(&mut self, before: Program, behind: Program) -> Program {
        let first = self.ops.len();
        self.ops.extend_from_within(before.range());
        let middle = self.ops.len();
        self.ops.extend_from_within(behind.range());
        let ops = self.ops.get_mut(middle..).unwrap_or_default();
        if let Some(first) = ops.first_mut() {
            first.records += before.records;
        }
        let sized = ops.iter_mut().find(|op| matches!(op.kind, OpKind::End | OpKind::Begin));
        let size = match sized {
            Some(sized) => {
                sized.size += before.size;
                behind.size
            }
            None => before.size + behind.size,
        };
        Program { first: first as u32, len: before.len + behind.len, size, ..behind }
    }

    /// The hop of one node.
    ///
    /// # Errors
    /// [`Unfit`] if the node is.
    fn single(&mut self, node: &Node, step: Step, paths: &Paths<'_>) -> Result<Made, Unfit> {
        let first = self.ops.len();
        let message = |path: u16| {
            let message = paths.get(path)?.message.ok_or(Unfit)?;
            u16::try_from(message.index()).map_err(|_| Unfit)
        };
        match step.kind {
            Kind::Pass | Kind::Record => {}
            Kind::Value => self.push(OpKind::Value, step.form, step.target),
            Kind::Member => self.push(OpKind::Member, step.form, step.target),
            Kind::Open => self.push(OpKind::Open, 0, message(step.behind)?),
            Kind::Close => self.push(OpKind::Close, 0, message(step.path)?),
            Kind::Mismatch => self.push(OpKind::Mismatch, 0, 0),
            Kind::Message => self.push(OpKind::Message, 0, step.target),
            Kind::Capture => return Err(Unfit),
        }
        let size = if self.measured { self.measure(node, step, paths)? } else { 0 };
        let len = (self.ops.len() - first) as u16;
        let records = u8::from(step.kind == Kind::Record);
        let program =
            Program { first: first as u32, len, size, last: Last::of(node.action), left: 0, records };
        let hop = Hop(u64::from(4 * node.base)
            | if self.measured || len > 0 { PROGRAM } else { 0 }
            | u64::from(HopPath::new(step.path).0) << BEFORE
            | u64::from(HopPath::new(step.behind).0) << BEHIND
            | u64::from(records) << RECORDS
            | 1 << STEPS);
        Ok((hop, program))
    }

    /// Adds the ops that count the bytes of a node and take what is not wanted, and gives the bytes that no op has.
    fn measure(&mut self, node: &Node, step: Step, paths: &Paths<'_>) -> Result<u16, Unfit> {
        let buffer = || u16::try_from(node.buffer).map_err(|_| Unfit);
        let literal = u16::from(node.literal.len);
        let is_wanted = matches!(step.kind, Kind::Value | Kind::Member);
        match node.action {
            Action::SubmessageEnd => {
                self.push(OpKind::End, node.literal.len, 0);
                return Ok(0);
            }
            Action::SubmessageStart => self.push(OpKind::Begin, 0, 0),
            Action::String if !is_wanted || paths.get(step.path)?.in_submessage => {
                self.push(OpKind::String, 0, buffer()?);
            }
            Action::Varint if !is_wanted => self.push(OpKind::Varint, node.width, buffer()?),
            Action::Fixed if !is_wanted => self.push(OpKind::Fixed, node.width, buffer()?),
            _ => return Ok(literal + u16::from(node.width)),
        }
        Ok(literal)
    }

    fn push(&mut self, kind: OpKind, form: u8, target: u16) {
        self.ops.push(Op { kind, form, records: 0, target, size: 0 });
    }

    /// The ops that were made since the last call.
    pub fn new_ops(&mut self) -> &[Op] {
        let first = std::mem::replace(&mut self.seen, self.ops.len());
        self.ops.get(first..).unwrap_or_default()
    }

    /// A node that is met alone as a hop, and the index of its program, until [`Self::forget_step`].
    pub fn step(&mut self, node: &Node, step: Step, paths: &Paths<'_>) -> Result<(usize, Hop), Unfit> {
        let (hop, program) = self.single(node, step, paths)?;
        self.programs.push(program);
        Ok((self.programs.len() - 1, hop))
    }

    /// Takes back what [`Self::step`] made.
    pub fn forget_step(&mut self) {
        if let Some(program) = self.programs.pop() {
            self.ops.truncate(program.first as usize);
            self.seen = self.ops.len();
        }
    }
}
