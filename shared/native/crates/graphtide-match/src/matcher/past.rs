//! The past that a pattern brings when it comes while the stream runs.

use std::sync::Arc;

use graphtide_engine::replay::Begun;
use graphtide_graph::batch::EdgeBatch;

/// Edges of the window before a pattern came.
#[derive(Clone, Copy, Debug)]
pub struct Past<'a> {
    /// Edges that complete matches of which nobody was told.
    pub untold: &'a [Arc<EdgeBatch>],
    /// Edges after those: their matches count as reported.
    pub told: &'a [Arc<EdgeBatch>],
    /// Whether the pattern's matches count, from when on, and what does not follow from the edges.
    pub begun: Begun,
}

impl<'a> Past<'a> {
    /// All batches in their order.
    pub fn batches(&self) -> Vec<&'a EdgeBatch> {
        self.untold.iter().chain(self.told).map(Arc::as_ref).collect()
    }
}
