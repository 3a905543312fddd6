//! Which symbols follow which, and how often (section 8.5, "Transitions").

use crate::write::transposed::pairs::{PairMap, pair};

/// One symbol that follows another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub to: u32,
    /// How often it follows.
    pub count: u64,
}

/// The walk through the symbols as a graph.
#[derive(Debug)]
pub(super) struct Graph {
    pub edges: Vec<Edge>,
    /// The edges that leave each symbol.
    pub leaving: Vec<Vec<u32>>,
    /// How often each symbol is entered; at least once.
    pub incoming: Vec<u64>,
    /// The edges in the order of the walk.
    pub walk: Vec<u32>,
    /// The symbols that the walk begins and ends with; `None` if it is empty.
    pub first: Option<u32>,
    pub last: Option<u32>,
}

impl Graph {
    /// Counts what follows what in `walk`, whose symbols are less than `symbols`.
    pub fn new(symbols: usize, walk: impl ExactSizeIterator<Item = u32>) -> Self {
        let mut graph = Self {
            edges: Vec::new(),
            leaving: vec![Vec::new(); symbols],
            incoming: vec![0; symbols],
            walk: Vec::with_capacity(walk.len()),
            first: None,
            last: None,
        };
        let mut ids = PairMap::default();
        // The edge that left the symbol the last time: mostly it does so again.
        let mut recent = vec![0u32; symbols];
        for to in walk {
            if let Some(from) = graph.last.replace(to) {
                let recent = &mut recent[from as usize];
                if graph.leaving[from as usize].is_empty() || graph.edges[*recent as usize].to != to {
                    *recent = *ids.entry(pair(from, to)).or_insert_with(|| {
                        graph.edges.push(Edge { to, count: 0 });
                        graph.leaving[from as usize].push(graph.edges.len() as u32 - 1);
                        graph.edges.len() as u32 - 1
                    });
                }
                graph.edges[*recent as usize].count += 1;
                graph.incoming[to as usize] += 1;
                graph.walk.push(*recent);
            } else {
                graph.first = Some(to);
            }
        }
        if let Some(first) = graph.first {
            let incoming = &mut graph.incoming[first as usize];
            *incoming = (*incoming).max(1);
        }
        graph
    }
}
