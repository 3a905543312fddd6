//! What a transition makes the walk do, compiled when it is first met (section 5.7).
//!
//! A byte of the transitions leads from one explicit transition to another: to the node of its offset, through the
//! implicit ones behind it, and again from there for each of its repeats. So the byte, counted from four times the
//! base, tells all nodes that are passed, and this is what a [`Hop`] is of. Most pass nothing that the scan cares
//! for: then one load finds all there is to know. The others have a program.

use super::hop::{Hop, HopPath, MOST_STEPS};
use super::measure::{index_of, measure};
use super::nodes::Nodes;
use super::paths::Paths;
use super::program::{Last, OpKind, Program};
use super::step::{Kind, Step};
use crate::transposed::header::Node;
use recordfusion_protobuf::shredded::{Leaf, Note, Unfit};

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
    (hop.stopped(), Program { left: left as u8, ..program })
}

/// Ops that are copied at once.
const COPIED: usize = 8;

#[cold]
fn copy_last(from: Option<&[Note]>, to: &mut [Note], records: u32) -> Result<(), Unfit> {
    let from = from.unwrap_or_default();
    let to = to.get_mut(..from.len().min(COPIED)).ok_or(Unfit)?;
    to.iter_mut().zip(from).for_each(|(to, from)| *to = from.after(records));
    Ok(())
}

/// Most ops of all programs.
const MOST_OPS: usize = 1 << 20;

/// The hops of a chunk; keeps its memory from chunk to chunk.
#[derive(Debug, Default)]
pub(super) struct Hops {
    hops: Vec<Hop>,
    programs: Vec<Program>,
    ops: Vec<Note>,
    /// How many ops [`Self::new_ops`] has given.
    seen: usize,
    /// The nodes of the chain that is compiled.
    chain: Vec<(usize, Step)>,
    /// Whether the bytes of the records are counted.
    measured: bool,
}

impl Hops {
    /// Forgets all hops, and is ready for a table of nodes.
    #[expect(clippy::arithmetic_side_effects, reason = "the nodes are in memory, and larger than four hops")]
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

    /// Puts the ops of a program, behind as many records, to the first of `ops`, and maybe something behind them.
    ///
    /// # Errors
    /// [`Unfit`] if they are more.
    #[expect(clippy::arithmetic_side_effects, reason = "the loop goes up to the length")]
    #[inline(always)]
    pub fn copy(&self, program: Program, records: u32, ops: &mut [Note]) -> Result<(), Unfit> {
        let from = self.ops.get(program.first as usize..).unwrap_or_default();
        // Most are few: then the number does not matter, which cannot be foreseen.
        for at in (0..usize::from(program.len)).step_by(COPIED) {
            let (from, to) = (from.get(at..).unwrap_or_default(), ops.get_mut(at..).unwrap_or_default());
            match (from.first_chunk::<COPIED>(), to.first_chunk_mut::<COPIED>()) {
                (Some(from), Some(to)) => *to = from.map(|op| op.after(records)),
                _ => copy_last(from.get(..usize::from(program.len) - at), to, records)?,
            }
        }
        Ok(())
    }

    /// Resolves the nodes of a hop from `path` on.
    ///
    /// # Errors
    /// [`Unfit`] if one of them is.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "one of four hops of a node, of which those with repeats are not the first"
    )]
    #[cold]
    pub fn compile(&mut self, index: usize, path: HopPath, nodes: &mut Nodes<'_>) -> Result<(), Unfit> {
        let repeats = index % 4;
        if repeats == 0 {
            return self.compile_chain(index / 4, path, nodes);
        }
        // The same without repeats, and what the repeats then lead to.
        let made = match self.resolved(index - repeats, path, nodes)? {
            Some(first) if !first.0.stops() => {
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
    #[expect(clippy::arithmetic_side_effects, reason = "four hops of a node that is in the table")]
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
    #[expect(clippy::arithmetic_side_effects, reason = "four hops of a node that is in the table")]
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
        let hop = a.and_then(b).filter(|_| self.ops.len() <= MOST_OPS)?;
        let (last, left) = (behind.last.or(before.last), behind.left);
        let both = match (before.len, behind.len) {
            (_, 0) => before,
            (0, _) if a.records() == 0 => behind,
            _ => self.concatenate(before, behind, a.records()),
        };
        Some((hop, Program { last, left, ..both }))
    }

    /// The ops of two programs as one, between which records begin.
    #[expect(clippy::arithmetic_side_effects, reason = "a hop is at most 63 nodes long, of a few ops each")]
    fn concatenate(&mut self, before: Program, behind: Program, records: u32) -> Program {
        let first = self.ops.len();
        self.ops.extend_from_within(before.range());
        let middle = self.ops.len();
        self.ops.extend_from_within(behind.range());
        for op in self.ops.get_mut(middle..).unwrap_or_default() {
            *op = op.after(records);
        }
        Program { first: first as u32, len: before.len + behind.len, ..behind }
    }

    /// The hop of one node.
    ///
    /// # Errors
    /// [`Unfit`] if the node is.
    #[expect(clippy::arithmetic_side_effects, reason = "ops are only added")]
    fn single(&mut self, node: &Node, step: Step, paths: &Paths<'_>) -> Result<Made, Unfit> {
        let first = self.ops.len();
        let layout = paths.layout();
        let op = match step.kind {
            Kind::Pass | Kind::Record => None,
            Kind::Value => {
                let leaf = Leaf::at(step.target);
                Some(match layout.is_chosen(leaf) {
                    true => OpKind::Value.op(step.target, step.form),
                    false => Note::value(layout, leaf, step.form),
                })
            }
            Kind::Open => Some(match paths.get(step.behind)?.message.ok_or(Unfit)? {
                message if layout.is_chosen_message(message) => OpKind::Open.op(index_of(message)?, 0),
                message => Note::message(message),
            }),
            Kind::Mismatch => Some(OpKind::Mismatch.op(0, 0)),
            Kind::Message => Some(OpKind::Message.op(step.target, 0)),
            Kind::Capture => return Err(Unfit),
        };
        self.ops.extend(op);
        if self.measured {
            measure(node, step, paths, &mut self.ops)?;
        }
        let len = (self.ops.len() - first) as u16;
        let program = Program { first: first as u32, len, last: Last::of(node.action), left: 0 };
        let (path, behind) = (HopPath::new(step.path), HopPath::new(step.behind));
        let hop = Hop::of_node(path, behind, node.base, step.kind == Kind::Record);
        Ok((hop.with_program(len > 0), program))
    }

    /// The ops that were made since the last call.
    pub fn new_ops(&mut self) -> &[Note] {
        let first = std::mem::replace(&mut self.seen, self.ops.len());
        self.ops.get(first..).unwrap_or_default()
    }

    /// A node that is met alone as a hop, and the index of its program, until [`Self::forget_step`].
    #[expect(clippy::arithmetic_side_effects, reason = "one was added")]
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
