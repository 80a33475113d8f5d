//! The engines of all families as one type, so that the matcher's calls are static.
//!
//! Each call is written once: `each!` hands it to the engine at work, and a new engine is one line there.

use graphtide_engine::arrival::{Arrival, Deleted, Deletion, Drained, Outcome};
use graphtide_engine::dispatch::Admission;
use graphtide_engine::engine::{Engine, Explained, Usage};
use graphtide_engine::expression::Expression;
use graphtide_engine::ids::{ReaderId, RingId, SignatureId, UnitId};
use graphtide_engine::lists::Postings;
use graphtide_engine::meter::Meter;
use graphtide_engine::nearest::Nearest;
use graphtide_engine::output::{ItemReport, Rows};
use graphtide_engine::replay::{Begun, ConsumptionCursor};
use graphtide_engine::trace::{Fates, Node, Step, Tally, Tracer};
use graphtide_graph::Time;
use graphtide_graph::clock::Now;
use graphtide_graph::store::EdgeStore;
use graphtide_isomorphism::concurrent::Concurrent;
use graphtide_isomorphism::filtering::Filtering;
use graphtide_isomorphism::search::Search;
use graphtide_isomorphism::shape::Shape;
use graphtide_isomorphism::sj_tree::SjTree;
use graphtide_isomorphism::timing::Timing;
use graphtide_simulation::simulated::Simulated;
use graphtide_simulation::{Report, Variant};

use crate::plan::{InvalidPlan, PatternSpec, PlanSpec};

/// The engine of a unit.
#[derive(Debug)]
pub enum AnyEngine {
    /// Expansion lists.
    Timing(Box<Timing>),
    /// Expansion lists on several threads.
    Concurrent(Box<Concurrent>),
    /// Joins along a tree of primitives.
    SjTree(Box<SjTree>),
    /// Local search.
    Search(Box<Search>),
    /// Local search among filtered candidates.
    Filtering(Box<Filtering>),
    /// Dual simulation.
    Simulation(Box<Simulated>),
}

/// A call of the unit's own engine.
macro_rules! each {
    ($of:expr, $engine:ident => $call:expr) => {
        match $of {
            AnyEngine::Timing($engine) => $call,
            AnyEngine::Concurrent($engine) => $call,
            AnyEngine::SjTree($engine) => $call,
            AnyEngine::Search($engine) => $call,
            AnyEngine::Filtering($engine) => $call,
            AnyEngine::Simulation($engine) => $call,
        }
    };
}

impl AnyEngine {
    /// Makes the engine that a pattern's plan asks for; `across` are the predicates that no edge decides alone, `rings` the
    /// lists of its edges.
    pub fn new(
        unit: UnitId,
        spec: &PatternSpec,
        across: Vec<Expression>,
        signatures: &[SignatureId],
        rings: &[RingId],
    ) -> Result<Self, InvalidPlan> {
        let pattern = spec.pattern();
        let simulated = |variant| {
            let report = spec.report.unwrap_or(Report::Maximal);
            let made = Simulated::new(unit, (&pattern, report), variant, signatures, &spec.limits);
            made.map(|made| Self::Simulation(Box::new(made))).map_err(|error| InvalidPlan::new(spec, error.to_string()))
        };
        let shape = || Shape::new(&pattern, across);
        let limits = &spec.limits;
        Ok(match &spec.plan {
            PlanSpec::Timing(plan) if plan.threads > 1 => {
                Self::Concurrent(Box::new(Concurrent::new(unit, shape(), plan, limits)))
            }
            PlanSpec::Timing(plan) => Self::Timing(Box::new(Timing::new(unit, shape(), plan, limits))),
            PlanSpec::SjTree(plan) => Self::SjTree(Box::new(SjTree::new(unit, &shape(), plan, rings, limits))),
            PlanSpec::ReSearch(plan) => Self::Search(Box::new(Search::new(unit, shape(), plan, rings))),
            PlanSpec::Filtering(plan) => Self::Filtering(Box::new(Filtering::new(unit, shape(), plan, signatures.to_vec()))),
            PlanSpec::DdstBaseline => simulated(Variant::Baseline)?,
            PlanSpec::DdstSignature { prime, seed } => simulated(Variant::Signature { p: *prime, seed: *seed })?,
            PlanSpec::DdstColoring => simulated(Variant::Coloring)?,
        })
    }

    /// The pattern, if nothing is kept of it but the lists of its edges, so that its searches may be shared.
    pub fn searched(&self) -> Option<&Shape> {
        match self {
            Self::Search(search) => Some(search.shape()),
            Self::Filtering(filtering) => Some(filtering.shape()),
            Self::Timing(_) | Self::Concurrent(_) | Self::SjTree(_) | Self::Simulation(_) => None,
        }
    }

    /// The engine, if it is one of dual simulation: what its family alone can be asked.
    pub fn simulated(&self) -> Option<&Simulated> {
        match self {
            Self::Simulation(simulated) => Some(simulated),
            Self::Timing(_) | Self::Concurrent(_) | Self::SjTree(_) | Self::Search(_) | Self::Filtering(_) => None,
        }
    }

    /// The same, to be changed.
    pub fn simulated_mut(&mut self) -> Option<&mut Simulated> {
        match self {
            Self::Simulation(simulated) => Some(simulated),
            Self::Timing(_) | Self::Concurrent(_) | Self::SjTree(_) | Self::Search(_) | Self::Filtering(_) => None,
        }
    }

    /// Takes over what another engine of the same pattern knows, where it can, and returns whether its limits allow that. Where
    /// it cannot, it takes nothing, and the edges of the window are to be taken again.
    pub fn take_over(&mut self, other: &mut Self, meter: &mut Meter<'_>) -> Option<bool> {
        Some(self.simulated_mut()?.take_over(other.simulated_mut()?, meter))
    }
}

impl Engine for AnyEngine {
    fn lookback(&self) -> i64 {
        each!(self, engine => engine.lookback())
    }

    #[inline]
    fn insert<T: Tracer>(
        &mut self,
        arrival: &Arrival<'_>,
        query_edge: u8,
        lists: &Postings,
        found: &mut Rows,
        tracer: T,
        meter: &mut Meter<'_>,
    ) -> Outcome {
        each!(self, engine => engine.insert(arrival, query_edge, lists, found, tracer, meter))
    }

    fn delete(&mut self, deleted: &Deleted, found: &mut Rows, meter: &mut Meter<'_>) -> Deletion {
        each!(self, engine => engine.delete(deleted, found, meter))
    }

    #[inline]
    fn advance(&mut self, now: Now, found: &mut Rows, meter: &mut Meter<'_>) {
        each!(self, engine => engine.advance(now, found, meter));
    }

    fn clear(&mut self, meter: &mut Meter<'_>) {
        each!(self, engine => engine.clear(meter));
    }

    #[inline]
    fn live(&self) -> usize {
        each!(self, engine => engine.live())
    }

    #[inline]
    fn usage(&self) -> Usage {
        each!(self, engine => engine.usage())
    }

    fn admission(&self, query_edge: u8) -> Admission {
        each!(self, engine => engine.admission(query_edge))
    }

    fn attach(&mut self, reader: ReaderId, lists: &mut Postings) -> Vec<RingId> {
        each!(self, engine => engine.attach(reader, lists))
    }

    fn bytes_for_lists(&self, bytes: u64) -> u64 {
        each!(self, engine => engine.bytes_for_lists(bytes))
    }

    fn emits_expiry(&self) -> bool {
        each!(self, engine => engine.emits_expiry())
    }

    fn end_time(&mut self, found: &mut Rows, meter: &mut Meter<'_>) {
        each!(self, engine => engine.end_time(found, meter));
    }

    #[inline]
    fn next_expiry(&self) -> Option<i64> {
        each!(self, engine => engine.next_expiry())
    }

    #[inline]
    fn has_threads(&self) -> bool {
        each!(self, engine => engine.has_threads())
    }

    fn drain(&mut self, found: &mut Rows, meter: &mut Meter<'_>) -> Drained {
        each!(self, engine => engine.drain(found, meter))
    }

    #[inline]
    fn taken_elsewhere(&self) -> u64 {
        each!(self, engine => engine.taken_elsewhere())
    }

    fn may_consume(&self) -> bool {
        each!(self, engine => engine.may_consume())
    }

    fn consumption(&self) -> Option<ConsumptionCursor> {
        each!(self, engine => engine.consumption())
    }

    fn wait(&mut self, consumption: Option<ConsumptionCursor>) {
        each!(self, engine => engine.wait(consumption));
    }

    fn begin(&mut self, now: Now, found: &mut Rows, meter: &mut Meter<'_>) {
        each!(self, engine => engine.begin(now, found, meter));
    }

    fn begin_replay(&mut self, begun: Begun) {
        each!(self, engine => engine.begin_replay(begun));
    }

    fn count_from(&mut self, ts: Time, before: u32) {
        each!(self, engine => engine.count_from(ts, before));
    }

    fn end_replay(&mut self) {
        each!(self, engine => engine.end_replay());
    }
}

impl Explained for AnyEngine {
    fn report(&self) -> Vec<ItemReport> {
        each!(self, engine => engine.report())
    }

    fn nearest(&self, store: &EdgeStore, nearest: &mut Nearest) {
        each!(self, engine => engine.nearest(store, nearest));
    }

    fn steps(&self) -> Vec<(Step, Tally)> {
        each!(self, engine => engine.steps())
    }

    fn fates(&self) -> Option<(Node, Fates)> {
        each!(self, engine => engine.fates())
    }

    fn candidates(&self, query_edge: u8) -> Option<RingId> {
        each!(self, engine => engine.candidates(query_edge))
    }

    fn place(&self, start: u8, edge: u8) -> usize {
        each!(self, engine => engine.place(start, edge))
    }

    fn waits_for(&self, node: Node) -> Vec<u8> {
        each!(self, engine => engine.waits_for(node))
    }
}
