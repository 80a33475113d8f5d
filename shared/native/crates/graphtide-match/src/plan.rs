//! Patterns and plans as the planner hands them over, in JSON.
//!
//! Everything is by position: vertices, edges and attribute columns are indexes; names are there for the output alone.

use graphtide_engine::dispatch::Asked;
use graphtide_engine::expression::Expression;
use graphtide_engine::limits::Limits;
use graphtide_engine::output::PatternNames;
use graphtide_engine::pattern::{EdgeSpec, Pattern, VertexSpec};
use graphtide_graph::clock::Clock;
use graphtide_isomorphism::plan::{SearchPlan, TimingPlan, TreePlan};
use graphtide_isomorphism::shape;
use graphtide_simulation::simulated::{self, Simulated};
use graphtide_simulation::{Report, Variant};
use serde::Deserialize;

/// Edges and vertices a pattern may have: sets of them are one machine word.
pub const MAX_PARTS: usize = 64;

/// A pattern with its plan.
#[derive(Clone, Debug, PartialEq, Deserialize)]
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
    pub report: Option<Report>,
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

/// An engine with what it needs to know.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "engine", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PlanSpec {
    /// Expansion lists over a TC decomposition.
    Timing(TimingPlan),
    /// Joins along a left-deep tree over primitives of one or two edges.
    SjTree(TreePlan),
    /// A local search around every new edge.
    ReSearch(SearchPlan),
    /// A local search among the edges that the timing order leaves of use.
    Filtering(SearchPlan),
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
            Self::Timing(_) | Self::SjTree(_) | Self::ReSearch(_) | Self::Filtering(_) => None,
            Self::DdstBaseline => Some(Variant::Baseline),
            Self::DdstSignature { prime, seed } => Some(Variant::Signature { p: prime, seed }),
            Self::DdstColoring => Some(Variant::Coloring),
        }
    }
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

    /// The names under which it tells of matches.
    pub fn names(&self) -> PatternNames {
        PatternNames::new(&self.pattern(), self.report == Some(Report::Changes))
    }

    /// The same without the names and versions of the pattern and its parts: what engines depend on.
    #[must_use]
    pub fn anonymous(&self) -> Self {
        let mut same = Self { name: String::new(), version: 0, ..self.clone() };
        same.vertices.iter_mut().for_each(|vertex| vertex.name.clear());
        same.edges.iter_mut().for_each(|edge| edge.name.clear());
        same
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
            (Some(variant), Some(report)) => match Simulated::flaw(&self.pattern(), report, variant) {
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
        let (pattern, all) = (self.pattern(), (0..edges as u8).collect::<Vec<u8>>());
        if pattern.vertices_of(&all).count_ones() as usize != self.vertices.len() {
            return Some("a vertex has no edge");
        }
        if self.order.iter().any(|&(a, b)| usize::from(a.max(b)) >= edges || a == b) {
            return Some("the order names an edge that is not there");
        }
        if self.window < 1 {
            return Some("the window must be at least one tick or edge");
        }
        match &self.plan {
            PlanSpec::Timing(plan) => plan.flaw(&pattern),
            PlanSpec::SjTree(plan) => plan.flaw(&pattern),
            PlanSpec::ReSearch(plan) | PlanSpec::Filtering(plan) => plan.flaw(&pattern),
            PlanSpec::DdstBaseline | PlanSpec::DdstSignature { .. } | PlanSpec::DdstColoring => None,
        }
    }
}
