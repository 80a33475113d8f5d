//! A pattern as every family knows it: its graph, its order, its window.
//!
//! Everything is by position: vertices, edges and attribute columns are indexes; names are there for the output alone.

use graphtide_graph::clock::Clock;
use serde::Deserialize;

/// A query vertex.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VertexSpec {
    /// Name given by the user.
    pub name: String,
    /// Label it must have.
    pub label: Option<String>,
    /// Data vertex it must be.
    pub key: Option<String>,
}

/// A query edge.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdgeSpec {
    /// Name given by the user.
    pub name: String,
    /// Source, a position in the vertices.
    pub source: u8,
    /// Target, a position in the vertices.
    pub target: u8,
    /// Label it must have.
    pub label: Option<String>,
}

/// A pattern without its plan.
#[derive(Clone, Copy, Debug)]
pub struct Pattern<'a> {
    /// Name given by the user.
    pub name: &'a str,
    /// Version of the pattern, part of a match's identity.
    pub version: u32,
    /// Query vertices.
    pub vertices: &'a [VertexSpec],
    /// Query edges.
    pub edges: &'a [EdgeSpec],
    /// Transitive closure of the timing order: pairs (earlier, later) of edges.
    pub order: &'a [(u8, u8)],
    /// Window length in what its clock counts: the newest and the oldest edge of a match lie less than it apart.
    pub window: i64,
    /// What the window counts.
    pub clock: Clock,
    /// Whether two query vertices may be the same data vertex.
    pub vertices_may_coincide: bool,
}

impl Pattern<'_> {
    /// Source and target of every edge.
    pub fn ends(&self) -> Vec<(u8, u8)> {
        self.edges.iter().map(|edge| (edge.source, edge.target)).collect()
    }

    /// The set of vertices that edges bind.
    pub fn vertices_of(&self, edges: &[u8]) -> u128 {
        edges.iter().fold(0, |seen, &edge| {
            let edge = &self.edges[usize::from(edge)];
            seen | 1 << edge.source | 1 << edge.target
        })
    }
}
