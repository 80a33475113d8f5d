//! A list that must have an entry for an arriving edge to be of use: asked before anything of the pattern is touched.
//!
//! Invariant: a closed gate proves that no match comes of the edge; an open one proves nothing. Cost: one look-up.

use graphtide_graph::vertex::Vertex;

use super::access::Access;
use crate::ids::RingId;

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
    pub(super) ring: RingId,
    pub(super) access: Access,
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

    /// The ends that its list is asked for.
    #[inline]
    pub(super) fn ends(self, arriving: (Vertex, Vertex)) -> (Vertex, Vertex) {
        let vertex = |end| match end {
            End::Source => arriving.0,
            End::Target => arriving.1,
            End::Free => Vertex::NONE,
        };
        (vertex(self.source), vertex(self.target))
    }
}
