//! Edges on their way into the engines and out of them, and what comes of that.

use graphtide_graph::Time;
use graphtide_graph::clock::Now;
use graphtide_graph::store::{EdgeRef, EdgeStore};
use graphtide_graph::vertex::{Vertex, VertexTable};

use crate::ids::SignatureId;
use crate::limits::Bounds;

/// An edge on its way into the engines, with what they share.
#[derive(Clone, Copy)]
pub struct Arrival<'a> {
    /// Event time.
    pub ts: Time,
    /// When it came, on the clock of the pattern's window.
    pub at: i64,
    /// Source vertex.
    pub source: Vertex,
    /// Target vertex.
    pub target: Vertex,
    /// The edge in the shared store.
    pub edge: EdgeRef,
    /// What it satisfies by itself.
    pub satisfied: &'a [SignatureId],
    /// The shared store.
    pub store: &'a EdgeStore,
    /// Names of vertices.
    pub names: &'a VertexTable,
}

/// What became of an edge that one query edge could match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It extends no partial match and starts none: it can be in no match as this query edge (Lemma 1).
    Discarded,
    /// The matches that it completes were reported, and the engine holds no edge.
    Passed,
    /// It is part of a partial match that was stored, or completed matches.
    Used,
    /// A partial match was given up at a bound.
    Limited(Bounds),
}

/// An edge that is deleted.
#[derive(Clone, Copy, Debug)]
pub struct Deleted {
    /// The edge in the shared store.
    pub edge: EdgeRef,
    /// What both clocks showed when it came.
    pub born: Now,
    /// What they show now.
    pub now: Now,
}

/// What the deletion of an edge brings about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// Every match with the edge ends: the owner of stored matches retracts them.
    EndsMatches,
    /// What the engine reported, and nothing else.
    Reported,
}

/// What work on other threads came to since the last time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// The bounds on state, if a partial match was given up.
    pub limited: Option<Bounds>,
    /// Steps taken.
    pub taken: u64,
    /// Whether work was cut because the steps allowed were taken, or all work was to end.
    pub refused: bool,
    /// Edges that were discarded as some query edge (Lemma 1), in all.
    pub discarded: u64,
}
