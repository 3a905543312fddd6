//! The table of states, made of lists: each is a tree of blocks of 64 states, so that a transition goes
//! anywhere in a few bytes and to the frequent states in one (section 8.5, "Transitions", 2, 4 and 7).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// States that a transition reaches from its base.
const REACH: u32 = 64;

/// A state of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct State {
    /// What the state stands for; `None` if it only leads on to other states.
    pub symbol: Option<u32>,
    /// What the transitions of a state without symbol count from.
    pub base: u32,
    /// The state that leads to the block of this one; `None` in the first block of a list.
    block_entry: Option<u32>,
}

/// What a state of a list stands for. Among items of the same weight, the last in this order is placed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item {
    /// A symbol.
    Symbol(u32),
    /// The way to a block of the same list, the `index`-th that was placed.
    Block { index: u32, first: u32 },
    /// The way to another list.
    Exit,
}

/// The states, list after list.
#[derive(Debug, Default)]
pub(super) struct States(pub Vec<State>);

impl States {
    /// Appends a list of items, each with its weight, and gives their places. Heavy items get small offsets
    /// in the first block of the list.
    pub fn add_list(&mut self, items: &[(u64, Item)]) -> Vec<(Item, u32)> {
        let block_size = REACH as usize;
        let entries = if items.len() <= block_size { 0 } else { (items.len() - 2) / (block_size - 1) };
        let total = items.len() + entries;
        let mut at = self.0.len() + total;
        self.0.resize(at, State::default());

        let mut heap: BinaryHeap<_> =
            items.iter().map(|&(weight, item)| Reverse((weight, Reverse(item)))).collect();
        let mut placed = Vec::with_capacity(items.len());
        let mut block = (total - 1) % block_size + 1;
        for index in 0.. {
            let mut block_weight = 0;
            for _ in 0..block {
                let Some(Reverse((weight, Reverse(item)))) = heap.pop() else { break };
                at -= 1;
                block_weight += weight;
                match item {
                    Item::Block { first, .. } => self.enter_block(at as u32, first),
                    Item::Symbol(symbol) => self.0[at].symbol = Some(symbol),
                    Item::Exit => {}
                }
                placed.push((item, at as u32));
            }
            if heap.is_empty() {
                break;
            }
            heap.push(Reverse((block_weight, Reverse(Item::Block { index, first: at as u32 }))));
            block = block_size;
        }
        placed
    }

    /// Makes `entry` the way to the block that begins at `first`.
    fn enter_block(&mut self, entry: u32, first: u32) {
        self.0[entry as usize].base = first;
        for state in self.0[first as usize..].iter_mut().take(REACH as usize) {
            state.block_entry = Some(entry);
        }
    }

    fn block_entry(&self, state: u32) -> Option<u32> {
        self.0[state as usize].block_entry
    }

    /// Where the block of `state` begins, in a list that begins at `list`.
    fn block_begin(&self, state: u32, list: u32) -> u32 {
        self.block_entry(state).map_or(list, |entry| self.0[entry as usize].base)
    }

    /// The base from which all of `targets`, states of the list that begins at `list`, can be reached, as near
    /// to them as possible; `None` without targets.
    pub fn common_base(&self, list: u32, targets: impl Iterator<Item = u32>) -> Option<u32> {
        let mut block: Option<u32> = None;
        let mut lowest = u32::MAX;
        for mut target in targets {
            loop {
                match block {
                    None => block = Some(self.block_begin(target, list)),
                    Some(begin) if begin > target => {
                        let entry = self.block_entry(begin)?;
                        lowest = lowest.min(entry);
                        block = Some(self.block_begin(entry, list));
                    }
                    Some(begin) if target - begin >= REACH => target = self.block_entry(target)?,
                    Some(_) => break,
                }
            }
            lowest = lowest.min(target);
        }
        block.map(|_| lowest)
    }

    /// The offsets that lead from `base` to `target`, the last first.
    pub fn route(&self, base: u32, mut target: u32, offsets: &mut Vec<u8>) {
        offsets.clear();
        while target < base || target - base >= REACH {
            let Some(entry) = self.block_entry(target) else { break };
            offsets.push((target - self.0[entry as usize].base) as u8);
            target = entry;
        }
        offsets.push((target - base) as u8);
    }
}
