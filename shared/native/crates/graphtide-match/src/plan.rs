//! Patterns and plans as the planner hands them over, in JSON.
//!
//! Everything is by position: vertices, edges and attribute columns are indexes; names are there for the output alone.

use graphtide_algebra::plan as algebra;
use graphtide_engine::dispatch::Asked;
use graphtide_engine::expression::Expression;
use graphtide_engine::limits::Limits;
use graphtide_engine::output::{IntervalNames, PatternNames, ReturnsSpec};
use graphtide_engine::pattern::{EdgeSpec, Pattern, VertexSpec};
use graphtide_events::plan::{self as events, BranchSpec};
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
    /// What is returned of matches.
    #[serde(default)]
    pub returns: ReturnsSpec,
    /// Which matches are emitted.
    #[serde(default)]
    pub deduplication: DeduplicationSpec,
    /// How to match.
    pub plan: PlanSpec,
    /// Bounds on state and work.
    #[serde(default)]
    pub limits: Limits,
}

/// Which matches are emitted, if not all are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeduplicationSpec {
    /// Of those that have the same edges the first.
    #[serde(default)]
    pub is_distinct: bool,
    /// Of those that have the same key the first in each interval.
    #[serde(default)]
    pub once: Option<OnePerSpec>,
}

/// How often one is emitted for each key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnePerSpec {
    /// The length of an interval as a fraction of ticks: so many, in so many parts.
    pub every: (i64, i64),
    /// Ticks in which an emitted match may be retracted.
    pub lookback: i64,
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

/// What a matcher matches: by number, patterns of subgraphs, none where another has the number; event patterns in units; graph
/// queries.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatcherSpec {
    /// By number.
    pub patterns: Vec<Option<PatternSpec>>,
    /// Units of event patterns.
    #[serde(default)]
    pub units: Vec<EventUnitSpec>,
    /// Graph queries.
    #[serde(default)]
    pub graph_queries: Vec<GraphQuerySpec>,
}

/// A streaming graph query with its plan.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphQuerySpec {
    /// Its number; none where the matcher gives it one.
    #[serde(default)]
    pub number: Option<u32>,
    /// Name given by the user.
    pub name: String,
    /// Version of the query, part of a result's identity.
    pub version: u32,
    /// The plan.
    pub plan: algebra::PlanSpec,
    /// Bounds on state and work.
    #[serde(default)]
    pub limits: Limits,
}

impl GraphQuerySpec {
    /// Refuses a plan that could not run.
    pub fn check(&self) -> Result<(), InvalidPlan> {
        self.plan.check().map_err(|error| InvalidPlan { pattern: self.name.clone(), reason: error.to_string() })
    }

    /// The names under which it reports results.
    pub fn names(&self) -> PatternNames {
        let outputs = self.plan.outputs.iter().map(|each| (each.label.clone(), each.columns.clone(), each.is_appended));
        PatternNames::of_intervals(&self.name, self.version, IntervalNames::new(outputs, &self.plan.labels))
    }
}

/// Event patterns that one plan matches.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventUnitSpec {
    /// The plan.
    pub plan: events::PlanSpec,
    /// The patterns, in the order of the plan.
    pub patterns: Vec<EventPatternSpec>,
    /// Attributes that records have.
    pub width: usize,
    /// Bounds on the state and the work of each pattern; the unit may take as much as all of them.
    #[serde(default)]
    pub limits: Limits,
}

/// The names of an event pattern.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventPatternSpec {
    /// Its number; none where the matcher gives it one.
    #[serde(default)]
    pub number: Option<u32>,
    /// Name given by the user.
    pub name: String,
    /// Version of the pattern, part of a match's identity.
    pub version: u32,
    /// Names of its events in the order of the text, with whether each is a list.
    pub events: Vec<(String, bool)>,
    /// Its branches, in the order of the plan.
    pub branches: Vec<BranchSpec>,
    /// Names of what it returns.
    #[serde(default)]
    pub fields: Vec<String>,
    /// Which of its matches are emitted once; of those with the same events its plan emits the first.
    #[serde(default)]
    pub once: Option<OnePerSpec>,
}

impl From<Vec<PatternSpec>> for MatcherSpec {
    fn from(patterns: Vec<PatternSpec>) -> Self {
        Self { patterns: patterns.into_iter().map(Some).collect(), ..Self::default() }
    }
}

impl EventUnitSpec {
    /// The name of its first pattern, for who reads of an error.
    pub fn name(&self) -> String {
        self.patterns.first().map(|pattern| pattern.name.clone()).unwrap_or_default()
    }

    /// Refuses names that do not fit the plan, so that nobody needs to check again.
    pub fn check(&self) -> Result<(), InvalidPlan> {
        let refused = |reason: &str| Err(InvalidPlan { pattern: self.name(), reason: reason.to_owned() });
        if self.patterns.is_empty() || self.patterns.len() != self.plan.patterns.len() {
            return refused("its unit has not as many patterns as the plan");
        }
        for (pattern, plan) in self.patterns.iter().zip(&self.plan.patterns) {
            if pattern.fields.len() != plan.returns.as_ref().map_or(0, |returns| returns.fields.len()) {
                return refused("it has not as many names of fields as it returns");
            }
            if pattern.once.is_some_and(|once| !once.is_fit()) {
                return refused(NO_INTERVAL);
            }
            if pattern.branches.len() != plan.branches.len() {
                return refused("its names are not those of as many branches as the plan has");
            }
            for (branch, &vertex) in pattern.branches.iter().zip(&plan.branches) {
                let slots = self.plan.vertices.get(vertex as usize).map(|vertex| vertex.slots.len());
                let names = branch.events.iter().chain(branch.by_type.iter().map(|(.., name)| name));
                if slots != Some(branch.events.len())
                    || names.into_iter().any(|&name| usize::from(name) >= pattern.events.len())
                {
                    return refused("the names of a branch are not those of its slots");
                }
            }
        }
        Ok(())
    }
}

/// Why a pattern with an empty interval is refused.
const NO_INTERVAL: &str = "the interval of ONE PER must be positive";

impl OnePerSpec {
    fn is_fit(self) -> bool {
        self.every.0 > 0 && self.every.1 > 0 && self.lookback > 0
    }
}

impl EventPatternSpec {
    /// The vertices of a plan that its matches come from, ascending.
    pub fn vertices(&self, plan: &events::PlanSpec, place: usize) -> Vec<u32> {
        let mut found: Vec<u32> = Vec::new();
        let mut waiting = plan.patterns[place].branches.clone();
        while let Some(vertex) = waiting.pop() {
            if !found.contains(&vertex) {
                found.push(vertex);
                waiting.extend(plan.vertices[vertex as usize].parents.iter().map(|parent| parent.vertex));
            }
        }
        found.sort_unstable();
        found
    }

    /// The names under which it reports matches.
    pub fn names(&self) -> PatternNames {
        PatternNames::of_events(&self.name, self.version, self.events.iter().cloned(), &self.fields)
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

    /// The names under which it reports matches, and its fields, with the store's numbers of their columns.
    pub fn names(&self, column: impl FnMut(u16) -> u16) -> PatternNames {
        let mut returns = self.returns.clone();
        returns.renumber(column);
        PatternNames::new(&self.pattern(), self.report == Some(Report::Changes), returns)
    }

    /// The same without the names and versions of the pattern and its parts: what engines depend on.
    #[must_use]
    pub fn anonymous(&self) -> Self {
        let mut same = Self { name: String::new(), version: 0, ..self.clone() };
        same.vertices.iter_mut().for_each(|vertex| vertex.name.clear());
        same.edges.iter_mut().for_each(|edge| edge.name.clear());
        same.returns.fields.iter_mut().for_each(|field| field.name.clear());
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
        if self.deduplication.once.is_some_and(|once| !once.is_fit()) {
            return Some(NO_INTERVAL);
        }
        if !self.returns.is_fit(edges, self.vertices.len()) {
            return Some("it returns what there is not");
        }
        match &self.plan {
            PlanSpec::Timing(plan) => plan.flaw(&pattern),
            PlanSpec::SjTree(plan) => plan.flaw(&pattern),
            PlanSpec::ReSearch(plan) | PlanSpec::Filtering(plan) => plan.flaw(&pattern),
            PlanSpec::DdstBaseline | PlanSpec::DdstSignature { .. } | PlanSpec::DdstColoring => None,
        }
    }
}
