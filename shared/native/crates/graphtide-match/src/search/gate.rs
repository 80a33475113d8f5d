//! A list that must have an entry for an arriving edge to be of use: asked before anything of the pattern is touched.
//!
//! Invariant: a closed gate proves that no match comes of the edge; an open one proves nothing. Cost: one look-up.

use graphtide_graph::vertex::Vertex;

use crate::search::postings::{Access, Postings, RingId};

/// Which end of the arriving edge is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Source,
    Target,
    Free,
}

/// A list at the ends of an arriving edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    ring: RingId,
    access: Access,
    source: End,
    target: End,
}

impl Gate {
    /// The list of another query edge, `wanted` by source and target, for an edge that arrives with the ends `arriving`.
    pub fn new(ring: RingId, access: Access, wanted: (u8, u8), arriving: (u8, u8)) -> Self {
        let end = |vertex: u8| match vertex {
            vertex if vertex == arriving.0 => End::Source,
            vertex if vertex == arriving.1 => End::Target,
            _ => End::Free,
        };
        Self { ring, access, source: end(wanted.0), target: end(wanted.1) }
    }

    #[inline]
    fn ends(self, source: Vertex, target: Vertex) -> (Vertex, Vertex) {
        let vertex = |end| match end {
            End::Source => source,
            End::Target => target,
            End::Free => Vertex::NONE,
        };
        (vertex(self.source), vertex(self.target))
    }

    /// Whether the list has an entry.
    #[inline]
    pub fn is_open(self, postings: &Postings, source: Vertex, target: Vertex) -> bool {
        let (source, target) = self.ends(source, target);
        postings.has_any(self.ring, self.access, source, target)
    }

    /// Whether the list has an entry from that instant on, on its clock.
    #[inline]
    pub fn is_open_since(self, earliest: i64, postings: &Postings, source: Vertex, target: Vertex) -> bool {
        let (source, target) = self.ends(source, target);
        postings.newest(self.ring, self.access, source, target).is_some_and(|entry| entry.at >= earliest)
    }
}
