//! The past that a pattern brings when it comes while the stream runs.

use std::sync::Arc;

use graphtide_engine::replay::Begun;
use graphtide_graph::Time;
use graphtide_graph::batch::EdgeBatch;
use graphtide_graph::store::EdgeRef;
use hashbrown::HashSet;
use rustc_hash::FxBuildHasher;

/// Edges of the window before a pattern came.
#[derive(Clone, Copy, Debug)]
pub struct Past<'a> {
    /// Edges whose matches were never reported.
    pub unreported: &'a [Arc<EdgeBatch>],
    /// Edges after those: their matches count as reported.
    pub emitted: &'a [Arc<EdgeBatch>],
    /// Whether the pattern's matches count, from when on, and what does not follow from the edges.
    pub begun: Begun,
}

impl<'a> Past<'a> {
    /// All batches in their order.
    pub fn batches(&self) -> Vec<&'a EdgeBatch> {
        self.unreported.iter().chain(self.emitted).map(Arc::as_ref).collect()
    }
}

/// Edges of the past that a new engine takes.
#[derive(Debug, Default)]
pub struct Recalled {
    /// In their order.
    pub edges: Vec<EdgeRef>,
    /// Those whose matches were reported.
    pub emitted: HashSet<EdgeRef, FxBuildHasher>,
    /// How many arrivals of its time there were before each, those deleted since included; empty where nobody counted.
    pub before: Vec<u32>,
    /// Arrivals of the last time of all.
    pub newest: Option<(Time, u32)>,
}

impl Recalled {
    /// What is in the store; none of it is reported again.
    pub fn stored(edges: Vec<EdgeRef>) -> Self {
        Self { edges, ..Self::default() }
    }

    /// Counts an arrival, which may be deleted since.
    pub fn arrive(&mut self, ts: Time) {
        let same = self.newest.filter(|&(newest, _)| newest == ts).map_or(0, |(_, count)| count);
        self.newest = Some((ts, same + 1));
    }

    /// Keeps the edge that arrived last.
    pub fn keep(&mut self, edge: EdgeRef, is_emitted: bool) {
        self.before.push(self.newest.map_or(0, |(_, count)| count - 1));
        self.edges.push(edge);
        if is_emitted {
            self.emitted.insert(edge);
        }
    }
}
