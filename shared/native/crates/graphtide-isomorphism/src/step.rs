//! One edge to look up in the postings, given the edges bound before it: where to look, and what a candidate must satisfy.
//!
//! Invariant: a candidate of [`Step::range`] that [`Step::misfit`] lets pass and whose predicates hold extends the bound edges.
//! They become a match of the sub-pattern over them and the step's edge.
//! Cost: O(1) a candidate for patterns of bounded size.

use graphtide_engine::ids::RingId;
use graphtide_engine::lists::{Access, Entry};
use graphtide_engine::trace::Reason;
use graphtide_graph::clock;
use graphtide_graph::store::EdgeRef;
use graphtide_graph::vertex::Vertex;

use crate::shape::{Shape, bits};

/// One edge to bind, given those before it.
#[derive(Clone, Debug)]
pub struct Step {
    /// The edge.
    pub edge: u8,
    /// Lists of edges of its signature.
    pub ring: RingId,
    /// Which of its ends are bound.
    pub access: Access,
    /// Its source.
    pub source: u8,
    /// Its target.
    pub target: u8,
    /// Predicates across edges that it decides.
    pub predicates: Vec<u16>,
    /// Vertices already bound that a new one must differ from.
    differ: Vec<u8>,
    /// Bound edges that must be earlier.
    after: Vec<u8>,
    /// Bound edges that must be later.
    before: Vec<u8>,
    /// Bound edges that it must not be.
    distinct: Vec<u8>,
}

impl Step {
    /// Compiles the look-up of an edge that shares a vertex with the `bound` edges.
    pub fn new(shape: &Shape, bound: u64, edge: u8, ring: RingId) -> Self {
        let seen = shape.vertices_of(bound);
        let (source, target) = shape.ends[usize::from(edge)];
        let (has_source, has_target) = (seen >> source & 1 == 1, seen >> target & 1 == 1);
        let ordered =
            |precedes: &dyn Fn(usize) -> bool| bits(bound).filter(|&other| precedes(other)).map(|other| other as u8).collect();
        Self {
            edge,
            ring,
            access: match (has_source, has_target) {
                (true, true) => Access::Both,
                (true, false) => Access::Source,
                (false, _) => Access::Target,
            },
            source,
            target,
            differ: if shape.vertices_may_coincide || (has_source && has_target) {
                Vec::new()
            } else {
                (0..128).filter(|&vertex| seen >> vertex & 1 == 1).collect()
            },
            after: ordered(&|other| shape.precedes(other, usize::from(edge))),
            before: ordered(&|other| shape.precedes(usize::from(edge), other)),
            distinct: shape.may_coincide(1 << edge, bound).into_iter().map(|(_, other)| other).collect(),
            predicates: shape.predicates_between(bound, 1 << edge),
        }
    }

    /// Earliest and latest instant that the window and the order allow; none if none is left. `at` says when bound edges came.
    #[inline]
    pub fn range(&self, alive_from: i64, at: impl Fn(u8) -> i64) -> Option<(i64, i64)> {
        let mut earliest = alive_from;
        for &edge in &self.after {
            earliest = earliest.max(clock::find_next(at(edge))?);
        }
        let mut latest = i64::MAX;
        for &edge in &self.before {
            latest = latest.min(at(edge).checked_sub(1)?);
        }
        (earliest <= latest).then_some((earliest, latest))
    }

    /// Why an edge of the list, not too old, cannot be this one. It is later than `latest`, deleted, brings a vertex that is
    /// not new, or is bound already.
    // Compiled with tracing and without, it would else be a call in both.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub fn misfit(&self, entry: &Entry, latest: i64, edges: &[EdgeRef], vertices: &[Vertex]) -> Option<Reason> {
        if entry.at > latest {
            return Some(Reason::Order);
        }
        if entry.deleted {
            return Some(Reason::Deleted);
        }
        let brought = match self.access {
            Access::Source => entry.target,
            Access::Target => entry.source,
            Access::Both => Vertex::NONE,
        };
        let is_new = self.differ.iter().all(|&other| vertices[usize::from(other)] != brought)
            && self.distinct.iter().all(|&other| edges[usize::from(other)] != entry.edge);
        (!is_new).then_some(Reason::Distinct)
    }
}

/// Why an edge of a list is too old: for the window, or else for the order.
#[inline]
pub fn too_old(entry: &Entry, alive_from: i64) -> Reason {
    if entry.at < alive_from { Reason::Window } else { Reason::Order }
}
