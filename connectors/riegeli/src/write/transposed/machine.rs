//! The state machine for a walk: which states its symbols have, and what transitions count from (section 8.5,
//! "Transitions").

use std::collections::HashMap;

use crate::write::transposed::graph::Graph;
use crate::write::transposed::states::{Item, State, States};

/// Occurrences from which on a successor gets a state for its predecessor alone.
const PRIVATE_COUNT: u64 = 10;

/// States and transitions.
#[derive(Debug)]
pub(super) struct Machine {
    pub states: States,
    /// How the walk goes on behind each symbol.
    pub exits: Vec<Exit>,
    /// The state at the end of each edge, if it belongs to the edge's begin alone.
    private: Vec<Option<u32>>,
    /// The state of each symbol in the list that all share.
    public: Vec<Option<u32>>,
    /// The state that the walk begins with.
    pub first: u32,
}

/// How the walk goes on behind a symbol.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Exit {
    /// What transitions count from; 0 if there are none.
    pub base: u32,
    /// Whether there is only one way, which no transition is stored for.
    pub implicit: bool,
    /// The state that leads from the symbol's own list to that of all.
    to_public: Option<u32>,
}

impl Machine {
    /// Arranges the states for a walk.
    pub fn new(graph: &Graph) -> Self {
        let mut machine = Self {
            states: States::default(),
            exits: vec![Exit::default(); graph.leaving.len()],
            private: vec![None; graph.edges.len()],
            public: vec![None; graph.leaving.len()],
            first: 0,
        };
        let shared = machine.add_private_lists(graph);
        machine.add_public_list(graph, &shared);
        for (symbol, edges) in graph.leaving.iter().enumerate() {
            // That the walk is over shows only where a transition is asked for.
            machine.exits[symbol].implicit = edges.len() == 1 && graph.last != Some(symbol as u32);
        }
        let states = &mut machine.states.0;
        match states.iter().position(|state| state.symbol.is_some() && state.symbol == graph.first) {
            Some(first) => machine.first = first as u32,
            None => states.push(State::default()),
        }
        machine
    }

    /// Adds the lists of states that belong to one predecessor: for what often follows it, and what follows
    /// nothing else. Returns how often each symbol is entered otherwise.
    fn add_private_lists(&mut self, graph: &Graph) -> Vec<u64> {
        let mut shared = graph.incoming.clone();
        for edge in graph.edges.iter().filter(|edge| edge.count >= PRIVATE_COUNT) {
            shared[edge.to as usize] -= edge.count;
        }
        for (symbol, edges) in graph.leaving.iter().enumerate() {
            let mut items = Vec::new();
            let mut rest = Vec::new();
            for edge in edges.iter().map(|&id| graph.edges[id as usize]) {
                let left = &mut shared[edge.to as usize];
                if edge.count < PRIVATE_COUNT && edge.count != *left {
                    rest.push(edge);
                    continue;
                }
                if edge.count < PRIVATE_COUNT {
                    *left = 0;
                }
                items.push((edge.count, Item::Symbol(edge.to)));
            }
            if items.is_empty() {
                continue;
            }
            if let [only] = rest[..] {
                shared[only.to as usize] -= only.count;
                items.push((only.count, Item::Symbol(only.to)));
            } else if !rest.is_empty() {
                items.push((rest.iter().map(|edge| edge.count).sum(), Item::Exit));
            }
            self.add_private_list(graph, symbol, &items);
        }
        shared
    }

    fn add_private_list(&mut self, graph: &Graph, symbol: usize, items: &[(u64, Item)]) {
        self.exits[symbol].base = self.states.0.len() as u32;
        let mut places = HashMap::new();
        for (item, place) in self.states.add_list(items) {
            match item {
                Item::Symbol(to) => _ = places.insert(to, place),
                Item::Exit => self.exits[symbol].to_public = Some(place),
                Item::Block { .. } => {}
            }
        }
        for &edge in &graph.leaving[symbol] {
            self.private[edge as usize] = places.get(&graph.edges[edge as usize].to).copied();
        }
    }

    /// Adds the list of states that all predecessors share, and sets the bases in it.
    fn add_public_list(&mut self, graph: &Graph, shared: &[u64]) {
        let entered = shared.iter().enumerate().filter(|(_, count)| **count > 0);
        let items: Vec<_> = entered.map(|(symbol, &count)| (count, Item::Symbol(symbol as u32))).collect();
        if items.is_empty() {
            return;
        }
        let begin = self.states.0.len() as u32;
        for (item, place) in self.states.add_list(&items) {
            if let Item::Symbol(symbol) = item {
                self.public[symbol as usize] = Some(place);
            }
        }
        for (symbol, edges) in graph.leaving.iter().enumerate() {
            let public = edges.iter().filter(|&&edge| self.private[edge as usize].is_none());
            let targets = public.filter_map(|&edge| self.public[graph.edges[edge as usize].to as usize]);
            let Some(base) = self.states.common_base(begin, targets) else { continue };
            match self.exits[symbol].to_public {
                Some(state) => self.states.0[state as usize].base = base,
                None => self.exits[symbol].base = base,
            }
        }
    }

    /// The stored transitions of the walk.
    pub fn transitions(&self, graph: &Graph) -> Vec<u8> {
        let mut transitions = Transitions::default();
        let mut from = graph.first;
        for &id in &graph.walk {
            let edge = graph.edges[id as usize];
            let exit = self.exits[from.unwrap_or_default() as usize];
            from = Some(edge.to);
            if exit.implicit {
                continue;
            }
            match (self.private[id as usize], exit.to_public, self.public[edge.to as usize]) {
                (Some(target), ..) => transitions.go(&self.states, exit.base, target),
                (None, Some(entry), Some(target)) => {
                    transitions.go(&self.states, exit.base, entry);
                    transitions.go(&self.states, self.states.0[entry as usize].base, target);
                }
                (None, None, Some(target)) => transitions.go(&self.states, exit.base, target),
                (None, _, None) => {}
            }
        }
        transitions.bytes
    }
}

/// Transitions as they are stored (section 3.5).
#[derive(Debug, Default)]
struct Transitions {
    bytes: Vec<u8>,
    route: Vec<u8>,
}

impl Transitions {
    /// Most transitions with offset 0 that the one before stands for.
    const MAX_REPEATS: u8 = 3;

    fn go(&mut self, states: &States, base: u32, target: u32) {
        states.route(base, target, &mut self.route);
        for &offset in self.route.iter().rev() {
            match self.bytes.last_mut() {
                Some(last) if offset == 0 && *last & 3 < Self::MAX_REPEATS => *last += 1,
                _ => self.bytes.push(offset << 2),
            }
        }
    }
}
