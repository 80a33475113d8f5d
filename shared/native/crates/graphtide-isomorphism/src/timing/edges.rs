//! The edges of the window that one pattern holds, each with the chain of partial matches that expire with it.
//!
//! Invariant: edges lie in stream order, each once however many query edges it matches. A partial match hangs at its oldest
//! edge. So when an edge expires its chain is exactly the partial matches that contain it (those older edges took away before).

use std::collections::VecDeque;

use graphtide_graph::store::{EdgeRef, find_in_order};
use graphtide_graph::vertex::Vertex;

use crate::arena::NIL;

/// An edge held by one pattern, by the low half of its sequence number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalEdge(pub u32);

/// What partial matches ask of an edge.
#[derive(Clone, Copy, Debug)]
pub struct HeldEdge {
    /// When it came, on the clock of the window.
    pub at: i64,
    /// Source; [`Vertex::NONE`] once the edge was deleted.
    pub source: Vertex,
    /// Target.
    pub target: Vertex,
    /// The edge in the shared store.
    pub edge: EdgeRef,
    /// First node of the chain.
    pub chain: u32,
}

/// The edges a pattern holds.
#[derive(Debug, Default)]
pub struct HeldEdges {
    edges: VecDeque<HeldEdge>,
    first: u32,
}

impl HeldEdges {
    /// Appends an edge, or finds it if it was appended last; says which.
    #[inline]
    pub fn hold(&mut self, at: i64, source: Vertex, target: Vertex, edge: EdgeRef) -> (LocalEdge, bool) {
        let fresh = self.edges.back().is_none_or(|last| last.edge != edge);
        if fresh {
            self.edges.push_back(HeldEdge { at, source, target, edge, chain: NIL });
        }
        (LocalEdge(self.first.wrapping_add(self.edges.len() as u32 - 1)), fresh)
    }

    /// Takes back the edge appended last, which no partial match holds.
    #[inline]
    pub fn let_go(&mut self) {
        self.edges.pop_back();
    }

    /// Removes the oldest edge if it came before `alive_from`; returns its chain.
    #[inline]
    pub fn pop_expired(&mut self, alive_from: i64) -> Option<u32> {
        let edge = self.edges.front()?;
        if edge.at >= alive_from {
            return None;
        }
        let chain = edge.chain;
        self.edges.pop_front();
        self.first = self.first.wrapping_add(1);
        Some(chain)
    }

    /// How many edges lie before this one.
    #[inline]
    pub fn age_rank(&self, edge: LocalEdge) -> u32 {
        edge.0.wrapping_sub(self.first)
    }

    /// Reads an edge.
    #[inline]
    pub fn get(&self, edge: LocalEdge) -> &HeldEdge {
        &self.edges[self.age_rank(edge) as usize]
    }

    /// The chain of an edge, to hang a node at.
    #[inline]
    pub fn chain(&mut self, edge: LocalEdge) -> &mut u32 {
        let place = self.age_rank(edge) as usize;
        &mut self.edges[place].chain
    }

    /// The edges from the newest to the oldest.
    pub fn newest_first(&self) -> impl Iterator<Item = &HeldEdge> {
        self.edges.iter().rev()
    }

    /// Marks an edge that came then as deleted, if it is held.
    pub fn delete(&mut self, at: i64, edge: EdgeRef) {
        if let Some(place) = find_in_order(&self.edges, at, edge, |held| (held.at, held.edge)) {
            self.edges[place].source = Vertex::NONE;
        }
    }

    /// Bytes they take.
    pub fn bytes(&self) -> usize {
        self.edges.len() * size_of::<HeldEdge>()
    }
}
