//! Units that come and go between two records, with what they need of the lists and the dispatch.
//!
//! Cost: O(signatures that the pattern brings × classes of labels), and its past.

use graphtide_engine::engine::Engine;
use graphtide_engine::expression::Expression;
use graphtide_engine::ids::{PatternId, ReaderId, RingId, SignatureId, UnitId};
use graphtide_engine::limits::{LimitPolicy, Limits};
use graphtide_engine::meter::Meter;
use graphtide_engine::output::ReturnsSpec;
use graphtide_graph::clock::Clock;
use graphtide_isomorphism::plan::SearchPlan;
use smallvec::SmallVec;

use super::Subgraphs;
use super::unit::SubgraphUnit;
use crate::matcher::engine::AnyEngine;
use crate::matcher::past::Past;
use crate::matcher::reported::Reported;
use crate::matcher::unit::{Guard, Unit, Warm};
use crate::matcher::unit_ref::UnitRef;
use crate::matcher::window::Window;
use crate::matcher::work_budgets::WorkBudgets;
use crate::plan::{DeduplicationSpec, InvalidPlan, PatternSpec, PlanSpec};

impl Subgraphs {
    /// Takes what follows from all units, now that the first have been made.
    pub fn begin(&mut self, window: &mut Window) {
        self.share_first();
        self.postings.begin();
        self.dispatch.seal();
        self.has_threads = self.units.iter().any(|unit| unit.engine.has_threads());
        self.has_timers = self.units.iter().any(|unit| unit.engine.emits_expiry());
        for number in (0..self.units.len() as u32).map(UnitId) {
            let unit = &self.units[number.place()];
            window.lengthen(unit.clock, unit.engine.lookback());
            self.set_gates(number);
        }
    }

    /// The unit that a pattern can share: one of equal patterns, complete, and without carried state.
    pub fn shared_by(&self, spec: &PatternSpec) -> Option<UnitId> {
        let number = self.blueprints.find(&spec.anonymous())?;
        let unit = &self.units[number.place()];
        let is_whole = !unit.guard.paused && !unit.has_shed(&self.postings);
        (is_whole && !unit.engine.may_consume() && unit.trace.is_none()).then_some(number)
    }

    /// Makes a unit of a checked pattern; it has taken nothing.
    pub fn make(
        &mut self,
        spec: &PatternSpec,
        first: Option<PatternId>,
        window: &mut Window,
        budgets: &mut Option<WorkBudgets>,
    ) -> Result<UnitId, InvalidPlan> {
        let number = self.blueprints.vacant.pop().unwrap_or(UnitId(self.units.len() as u32));
        WorkBudgets::open_in(budgets, UnitRef::Subgraph(number), spec.limits.work);
        let unit = SubgraphUnit { members: first.into_iter().collect(), ..self.register(number, spec, window)? };
        if number.place() == self.units.len() {
            self.units.push(unit);
        } else {
            self.units[number.place()] = unit;
        }
        Ok(number)
    }

    /// Gives a new unit its past.
    pub fn bring(
        &mut self,
        number: UnitId,
        past: Past<'_>,
        window: &mut Window,
        reported: Option<&mut Reported>,
        meter: &mut Meter<'_>,
    ) {
        self.dispatch.seal();
        let recalled = self.recall(number, past, window);
        self.units[number.place()].engine.begin_replay(past.begun);
        let warm = self.warm(number, &recalled, window, reported, meter);
        self.occupy(number, warm, window);
    }

    /// Lets a new unit continue from its past, as far as that went.
    pub fn occupy(&mut self, number: UnitId, warm: Warm, window: &mut Window) {
        let unit = &mut self.units[number.place()];
        if warm == Warm::Limited {
            unit.guard.shed = true;
            unit.guard.paused |= unit.guard.limits.policy == LimitPolicy::Fail;
        }
        unit.guard.counts.discarded = 0;
        unit.is_occupied = true;
        self.occupied.push(number);
        self.set_gates(number);
        self.settle_with(number, window);
    }

    /// Removes a unit that has no patterns.
    pub fn dissolve(&mut self, number: UnitId, window: &mut Window) -> Result<(), InvalidPlan> {
        let vacant = self.with_engine(number, &nothing(), Vec::new(), Vec::new(), window)?;
        let removed = std::mem::replace(&mut self.units[number.place()], vacant);
        self.postings.leave(removed.reader, &removed.signatures, &removed.lists);
        let (retired, now) = (&mut self.blueprints.retired, window.clocks.time());
        self.dispatch.remove(number, &removed.signatures, |signature| retired.push_back((now, signature)));
        self.searches.leave(number, &removed.signatures);
        self.occupied.retain(|&other| other != number);
        self.timers.set(number, removed.clock, None);
        self.blueprints.remove(number);
        self.blueprints.vacant.push(number);
        self.settle_without(&removed, window);
        Ok(())
    }

    /// Makes what a checked pattern needs; it has taken nothing.
    fn register(&mut self, number: UnitId, spec: &PatternSpec, window: &mut Window) -> Result<SubgraphUnit, InvalidPlan> {
        let (alone, across) = predicates(spec, window);
        let signatures = self.dispatch.add(number, spec.asked(&alone), &mut window.symbols().lock());
        self.postings.grow(self.dispatch.len());
        self.hits.resize(self.dispatch.len(), 0);
        let unit = self.with_engine(number, spec, across, signatures, window)?;
        if spec.clock == Clock::Edges {
            window.count();
        }
        self.blueprints.put(number, spec);
        Ok(unit)
    }

    /// Makes a unit without patterns of the engine that a plan asks for, attached to the lists that it reads.
    pub fn with_engine(
        &mut self,
        number: UnitId,
        spec: &PatternSpec,
        mut across: Vec<Expression>,
        signatures: Vec<SignatureId>,
        window: &mut Window,
    ) -> Result<SubgraphUnit, InvalidPlan> {
        window.keep_read(&mut across);
        let rings: Vec<RingId> = signatures.iter().map(|&signature| self.postings.whole(signature, spec.clock)).collect();
        let mut unit = SubgraphUnit {
            members: SmallVec::new(),
            engine: AnyEngine::new(number, spec, across, &signatures, &rings)?,
            clock: spec.clock,
            signatures,
            reader: ReaderId(0),
            lists: Vec::new(),
            guard: Guard::new(spec.limits),
            is_occupied: false,
            past: None,
            trace: None,
            is_shared: false,
        };
        let share = self.are_shared(&unit.signatures);
        unit.attach(&mut self.postings, share);
        Ok(unit)
    }

    /// Settles what follows from all units, now that one came.
    pub fn settle_with(&mut self, number: UnitId, window: &mut Window) {
        let unit = &self.units[number.place()];
        self.timers.set(number, unit.clock, unit.next_due());
        self.has_timers |= unit.engine.emits_expiry();
        window.lengthen(unit.clock, unit.engine.lookback());
        self.has_threads |= unit.engine.has_threads();
        self.live += unit.engine.live();
    }

    /// Settles what follows from all units, now that one went.
    pub fn settle_without(&mut self, removed: &SubgraphUnit, window: &mut Window) {
        let left = self.units.iter().map(|unit| (unit.clock, unit.engine.lookback()));
        window.shorten(removed.clock, removed.engine.lookback(), left);
        if removed.engine.has_threads() {
            self.has_threads = self.units.iter().any(|unit| unit.engine.has_threads());
        }
        self.live -= removed.engine.live();
    }

    /// Sets the gates of a unit's edges.
    pub fn set_gates(&mut self, number: UnitId) {
        let unit = &self.units[number.place()];
        self.dispatch.admit(number, &unit.signatures, |edge| unit.engine.admission(edge));
        self.settle_shared(number);
    }

    /// Frees the signatures that no edge held can be named by; calls `f` with each.
    #[inline]
    pub fn free_signatures(&mut self, window: &Window, mut f: impl FnMut(SignatureId)) {
        let Some(&(since, _)) = self.blueprints.retired.front() else { return };
        if window.store.oldest().is_some_and(|(_, oldest)| oldest.ts <= since) {
            return;
        }
        while let Some(&(at, signature)) = self.blueprints.retired.front()
            && window.store.oldest().is_none_or(|(_, oldest)| oldest.ts > at)
        {
            self.blueprints.retired.pop_front();
            self.hits[signature.place()] = 0;
            f(signature);
            self.dispatch.free(signature);
        }
    }
}

/// Splits a pattern's predicates into those that one edge decides, by edge, and the others; labels are kept if one reads them.
pub fn predicates(spec: &PatternSpec, window: &mut Window) -> (Vec<Vec<Expression>>, Vec<Expression>) {
    let (mut alone, mut across) = split_predicates(spec);
    window.keep_labels_of(alone.iter_mut().flatten().chain(&mut across));
    (alone, across)
}

/// Splits predicates into those that one edge decides, by edge, and the others.
///
/// A predicate on one vertex goes to every edge at it: the sooner a wrong edge is refused, the better.
fn split_predicates(spec: &PatternSpec) -> (Vec<Vec<Expression>>, Vec<Expression>) {
    let mut alone = vec![Vec::new(); spec.edges.len()];
    let mut across = Vec::new();
    for predicate in &spec.predicates {
        let (edges, vertices) = predicate.reads();
        let mut decided = false;
        for (number, edge) in spec.edges.iter().enumerate() {
            if edges & !(1 << number) == 0 && vertices & !(1 << edge.source | 1 << edge.target) == 0 {
                alone[number].push(predicate.clone());
                decided = true;
            }
        }
        if !decided {
            across.push(predicate.clone());
        }
    }
    (alone, across)
}

/// A pattern without edges, in the place of one that was removed.
fn nothing() -> PatternSpec {
    PatternSpec {
        name: String::new(),
        version: 0,
        vertices: Vec::new(),
        edges: Vec::new(),
        order: Vec::new(),
        predicates: Vec::new(),
        window: 1,
        clock: Clock::Time,
        vertices_may_coincide: false,
        report: None,
        returns: ReturnsSpec::default(),
        deduplication: DeduplicationSpec::default(),
        plan: PlanSpec::ReSearch(SearchPlan::default()),
        limits: Limits::default(),
    }
}
