//! What engines report: match components, as pairs of query edges and data edges.

use std::ops::Range;

pub use graphtide_engine::output::Kind;
use graphtide_graph::Time;
use graphtide_graph::store::EdgeRef;

/// A component that is reported.
#[derive(Clone, Debug)]
pub struct Component {
    /// What became of it.
    pub kind: Kind,
    /// When.
    pub detected_at: Time,
    /// Its oldest edge now; the one it had where nothing is left of it.
    pub id: EdgeRef,
    pairs: Range<usize>,
    former: Range<usize>,
}

/// Reported components, to be used again.
#[derive(Debug, Default)]
pub struct Found {
    components: Vec<Component>,
    pairs: Vec<(u8, EdgeRef)>,
    former: Vec<EdgeRef>,
}

/// How much was found at some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    components: usize,
    pairs: usize,
    former: usize,
}

impl Found {
    /// The components, in the order of their report.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// The pairs of a component, in stream order of data edges, then by query edge.
    pub fn pairs(&self, component: &Component) -> &[(u8, EdgeRef)] {
        &self.pairs[component.pairs.clone()]
    }

    /// Ids of components that it was, or was part of, before: those that merged into it, the one it split from.
    pub fn former(&self, component: &Component) -> &[EdgeRef] {
        &self.former[component.former.clone()]
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.components.clear();
        self.pairs.clear();
        self.former.clear();
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { components: self.components.len(), pairs: self.pairs.len(), former: self.former.len() }
    }

    /// Forgets what was found since.
    pub(crate) fn rewind(&mut self, mark: Mark) {
        self.components.truncate(mark.components);
        self.pairs.truncate(mark.pairs);
        self.former.truncate(mark.former);
    }

    /// How many components were found since.
    pub(crate) fn since(&self, mark: Mark) -> u64 {
        (self.components.len() - mark.components) as u64
    }

    pub(crate) fn push(
        &mut self,
        (kind, detected_at, id): (Kind, Time, EdgeRef),
        pairs: impl IntoIterator<Item = (u8, EdgeRef)>,
        former: impl IntoIterator<Item = EdgeRef>,
    ) {
        let mark = self.mark();
        self.pairs.extend(pairs);
        self.former.extend(former);
        let (pairs, former) = (mark.pairs..self.pairs.len(), mark.former..self.former.len());
        self.components.push(Component { kind, detected_at, id, pairs, former });
    }
}
