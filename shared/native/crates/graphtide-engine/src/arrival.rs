//! An edge on its way into the engines, and what came of it.

use graphtide_graph::Time;
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
    /// It is part of a partial match that was stored, or completed matches.
    Used,
    /// A partial match was given up at a bound.
    Limited(Bounds),
}
