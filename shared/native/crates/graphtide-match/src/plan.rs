//! Patterns and plans as the planner hands them over, in JSON.
//!
//! Everything is by position: vertices, edges and attribute columns are indexes; names are there for the output alone.

use graphtide_engine::dispatch::Asked;
use graphtide_engine::expression::Expression;
use graphtide_engine::limits::Limits;
use graphtide_engine::pattern::{EdgeSpec, Pattern, VertexSpec};
use graphtide_graph::clock::Clock;
use graphtide_simulation::Variant;
use serde::Deserialize;

use crate::shape;
use crate::simulated::{self, Simulated};

/// Edges and vertices a pattern may have: sets of them are one machine word.
pub const MAX_PARTS: usize = 64;

/// A pattern with its plan.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatternSpec {
    /// Name given by the user.
    pub name: String,
    /// Version of the pattern, part of a match's identity.
    pub version: u32,
    /// Query vertices.
    pub vertices: Vec<VertexSpec>,
    /// Query edges.
    pub edges: Vec<EdgeSpec>,
    /// Transitive closure of the timing order: pairs (earlier, later) of edges.
    pub order: Vec<(u8, u8)>,
    /// Conjuncts that must all be true.
    pub predicates: Vec<Expression>,
    /// Window length in what its clock counts: the newest and the oldest edge of a match lie less than it apart.
    pub window: i64,
    /// What the window counts.
    #[serde(default, with = "ClockSpec")]
    pub clock: Clock,
    /// Whether two query vertices may be the same data vertex.
    pub vertices_may_coincide: bool,
    /// What is reported under dual simulation; none for patterns under isomorphism.
    #[serde(default)]
    pub report: Option<ReportSpec>,
    /// How to match.
    pub plan: PlanSpec,
    /// Bounds on state and work.
    #[serde(default)]
    pub limits: Limits,
}

/// A [`Clock`] as it is written.
#[derive(Deserialize)]
#[serde(remote = "Clock", rename_all = "kebab-case")]
enum ClockSpec {
    Time,
    Edges,
}

/// What is reported of a pattern under dual simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReportSpec {
    /// The component of each arriving edge.
    Maximal,
    /// The same; its earliest edge and all before it are consumed.
    Instances,
    /// What enters and leaves the match graph.
    Changes,
}

/// An engine with what it needs to know.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "engine", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PlanSpec {
    /// Expansion lists over a TC decomposition.
    Timing {
        /// Timing sequences in join order.
        subqueries: Vec<Vec<u8>>,
        /// How partial matches are stored.
        storage: Storage,
        /// Worker threads; one means none beside the caller's.
        #[serde(default = "one")]
        threads: usize,
        /// Which lock protocol several threads follow.
        #[serde(default)]
        locking: Locking,
    },
    /// Joins along a left-deep tree over primitives of one or two edges.
    SjTree {
        /// Primitives in join order.
        leaves: Vec<Vec<u8>>,
        /// Whether a primitive beyond the first is looked for only where what it joins was found.
        lazy: bool,
    },
    /// A local search around every new edge.
    ReSearch {
        /// For every query edge, the order in which a search from it binds the others.
        orders: Vec<Vec<u8>>,
    },
    /// A local search among the edges that the timing order leaves of use.
    Filtering {
        /// For every query edge, the order in which a search from it binds the others where nothing better is known.
        orders: Vec<Vec<u8>>,
    },
    /// Dual simulation: a fixpoint for each edge.
    DdstBaseline,
    /// Dual simulation: a fixpoint where the signature of the window allows a match.
    DdstSignature {
        /// The modulus.
        prime: u32,
        /// Where the factors are drawn from.
        seed: u64,
    },
    /// Dual simulation: a fixpoint of the component, where its colours allow a match.
    DdstColoring,
}

impl PlanSpec {
    /// How a pattern under dual simulation is matched; none for an engine of isomorphism.
    pub fn simulation(&self) -> Option<Variant> {
        match *self {
            Self::Timing { .. } | Self::SjTree { .. } | Self::ReSearch { .. } | Self::Filtering { .. } => None,
            Self::DdstBaseline => Some(Variant::Baseline),
            Self::DdstSignature { prime, seed } => Some(Variant::Signature { p: prime, seed }),
            Self::DdstColoring => Some(Variant::Coloring),
        }
    }
}

fn one() -> usize {
    1
}

/// How the timing engine stores partial matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// A row of its own for every partial match.
    Independent,
    /// Match-store trees (paper 004, section 4).
    MsTree,
    /// Match-store DAG (paper 004, section 7).
    MsDag,
}

/// How concurrent transactions take their locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Locking {
    /// One item at a time, in chronological order of the wait-lists (paper 004, section 5.2).
    #[default]
    Fine,
    /// Every item a transaction may touch before it starts (the paper's comparison, section 8.2).
    All,
}

/// A plan that does not fit its pattern.
#[derive(Debug, thiserror::Error)]
#[error("pattern {pattern:?}: {reason}")]
pub struct InvalidPlan {
    /// The pattern.
    pub pattern: String,
    /// What is wrong.
    pub reason: String,
}

impl InvalidPlan {
    /// A pattern with what is wrong about its plan.
    pub fn new(spec: &PatternSpec, reason: impl Into<String>) -> Self {
        Self { pattern: spec.name.clone(), reason: reason.into() }
    }
}

impl PatternSpec {
    /// The pattern without its plan.
    pub fn pattern(&self) -> Pattern<'_> {
        Pattern {
            name: &self.name,
            version: self.version,
            vertices: &self.vertices,
            edges: &self.edges,
            order: &self.order,
            window: self.window,
            clock: self.clock,
            vertices_may_coincide: self.vertices_may_coincide,
        }
    }

    /// What its edges ask, given the predicates that each decides alone.
    pub fn asked<'a>(&'a self, alone: &[Vec<Expression>]) -> Vec<Asked<'a>> {
        match self.report {
            None => shape::asked(self.pattern(), alone).collect(),
            Some(_) => simulated::asked(self.pattern(), alone).collect(),
        }
    }

    /// Refuses a plan that no engine could run, so that engines need no checks of their own.
    pub fn check(&self) -> Result<(), InvalidPlan> {
        if let Some(reason) = self.flaw() {
            return Err(InvalidPlan::new(self, reason));
        }
        match (self.plan.simulation(), self.report) {
            (None, None) => Ok(()),
            (Some(variant), Some(_)) => match Simulated::flaw(self, variant) {
                Some(flaw) => Err(InvalidPlan::new(self, flaw.to_string())),
                None => Ok(()),
            },
            (Some(_), None) => Err(InvalidPlan::new(self, "its engine is for patterns under dual simulation alone")),
            (None, Some(_)) => Err(InvalidPlan::new(self, "its engine is not for patterns under dual simulation")),
        }
    }

    fn flaw(&self) -> Option<&'static str> {
        let edges = self.edges.len();
        if edges == 0 || edges > MAX_PARTS || self.vertices.len() > MAX_PARTS + 1 {
            return Some("it needs 1 to 64 edges");
        }
        if self.edges.iter().any(|edge| usize::from(edge.source.max(edge.target)) >= self.vertices.len()) {
            return Some("an edge ends at a vertex that is not there");
        }
        let all: Vec<u8> = (0..edges as u8).collect();
        if self.vertices_of(&all).count_ones() as usize != self.vertices.len() {
            return Some("a vertex has no edge");
        }
        if self.order.iter().any(|&(a, b)| usize::from(a.max(b)) >= edges || a == b) {
            return Some("the order names an edge that is not there");
        }
        if self.window < 1 {
            return Some("the window must be at least one tick or edge");
        }
        match &self.plan {
            PlanSpec::Timing { subqueries, threads, .. } => {
                if *threads == 0 {
                    return Some("at least one thread is needed");
                }
                self.decomposition_flaw(subqueries)
            }
            PlanSpec::SjTree { leaves, .. } => self.tree_flaw(leaves),
            PlanSpec::ReSearch { orders } | PlanSpec::Filtering { orders } => self.search_flaw(orders),
            PlanSpec::DdstBaseline | PlanSpec::DdstSignature { .. } | PlanSpec::DdstColoring => None,
        }
    }

    fn decomposition_flaw(&self, subqueries: &[Vec<u8>]) -> Option<&'static str> {
        if !self.is_partition(subqueries) {
            return Some("the subqueries must hold every edge exactly once");
        }
        for sequence in subqueries {
            if sequence.windows(2).any(|pair| !self.order.contains(&(pair[0], pair[1]))) {
                return Some("a timing sequence is not in the pattern's order");
            }
            if !self.is_connected_prefix_by_prefix(sequence) {
                return Some("a timing sequence is not prefix-connected");
            }
        }
        self.join_order_flaw(subqueries)
    }

    fn tree_flaw(&self, leaves: &[Vec<u8>]) -> Option<&'static str> {
        if !self.is_partition(leaves) {
            return Some("the leaves must hold every edge exactly once");
        }
        if leaves.iter().any(|leaf| leaf.len() > 2) {
            return Some("a leaf may have one or two edges");
        }
        if !leaves.iter().all(|leaf| self.is_connected_prefix_by_prefix(leaf)) {
            return Some("the edges of a leaf share no vertex");
        }
        self.join_order_flaw(leaves)
    }

    fn join_order_flaw(&self, parts: &[Vec<u8>]) -> Option<&'static str> {
        let mut seen = self.vertices_of(&parts[0]);
        for part in &parts[1..] {
            let ends = self.vertices_of(part);
            if seen & ends == 0 {
                return Some("the join order is not prefix-connected");
            }
            seen |= ends;
        }
        None
    }

    /// Whether the parts, none of them empty, hold every edge exactly once.
    fn is_partition(&self, parts: &[Vec<u8>]) -> bool {
        let mut sorted: Vec<u8> = parts.concat();
        sorted.sort_unstable();
        sorted.iter().copied().eq(0..self.edges.len() as u8) && !parts.iter().any(Vec::is_empty)
    }

    fn search_flaw(&self, orders: &[Vec<u8>]) -> Option<&'static str> {
        if orders.len() != self.edges.len() {
            return Some("a search order is needed for every edge");
        }
        for (start, order) in orders.iter().enumerate() {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            if !sorted.iter().copied().eq(0..self.edges.len() as u8) || usize::from(order[0]) != start {
                return Some("a search order must start at its edge and hold every edge exactly once");
            }
            if !self.is_connected_prefix_by_prefix(order) {
                return Some("a search order is not prefix-connected");
            }
        }
        None
    }

    fn vertices_of(&self, edges: &[u8]) -> u128 {
        edges.iter().fold(0, |seen, &edge| {
            let edge = &self.edges[usize::from(edge)];
            seen | 1 << edge.source | 1 << edge.target
        })
    }

    fn is_connected_prefix_by_prefix(&self, edges: &[u8]) -> bool {
        (1..edges.len()).all(|end| self.vertices_of(&edges[..end]) & self.vertices_of(&edges[end..=end]) != 0)
    }
}
