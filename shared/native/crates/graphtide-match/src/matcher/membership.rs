//! Patterns that come and go while the stream runs.
//!
//! A pattern that comes brings the past with it. Its unit takes that, and continues with the next record. A pattern that goes
//! leaves nothing but edges, which leave with the window. Patterns that are equal but for their names, plans and limits
//! included, share one unit. One that joins it needs no past, for the unit has had it. What does not follow from the edges of
//! the window is a pattern's own. So patterns whose engine carries such state are alone, and so is one that would join a unit
//! that lacks something.
//! Invariant: each pattern is of one unit, and has been of it or of one that knew the same since it came.
//! Cost: O(edges of the pattern's past + signatures it brings × classes of labels); of the other patterns, eight bytes are
//! copied, and a number is compared. To join a unit costs the latter alone.

use std::sync::Arc;

use graphtide_algebra::{PlanSpec as GraphPlan, linked};
use graphtide_engine::ids::{PatternId, UnitId};
use graphtide_engine::limits::Limits;
use graphtide_engine::meter::Meter;
use graphtide_engine::output::PatternNames;
use graphtide_engine::trace::Trace;
use graphtide_graph::batch::EdgeBatch;
use hashbrown::HashSet;
use rustc_hash::FxBuildHasher;

use super::deduplication::Deduplication;
use super::event_units::{Allowed, EventUnit};
use super::graph_queries::GraphUnit;
use super::output::Output;
use super::own_units::OwnUnits;
use super::past::Past;
use super::query::{Query, Reports};
use super::registry::Registry;
use super::subgraphs::Subgraphs;
use super::unit::Unit;
use super::unit_ref::UnitRef;
use super::units::OwnPast;
use super::window::Window;
use super::work_budgets::WorkBudgets;
use crate::plan::{DeduplicationSpec, EventUnitSpec, GraphQuerySpec, InvalidPlan, MatcherSpec, PatternSpec, PlanSpec};

/// The parts of a matcher that change when a pattern comes or goes, or gets another plan.
pub struct Membership<'a> {
    /// Who is here.
    pub registry: &'a mut Registry,
    /// The edges that subgraph patterns share.
    pub window: &'a mut Window,
    /// Units of subgraph patterns.
    pub subgraphs: &'a mut Subgraphs,
    /// Units of event patterns and of graph queries.
    pub own: &'a mut OwnUnits,
    /// What units may spend.
    pub budgets: &'a mut Option<WorkBudgets>,
    /// What is reported of matches.
    pub output: &'a mut Output,
    /// What units may do.
    pub allowed: Allowed,
}

impl Membership<'_> {
    /// Adds the patterns that a matcher begins with, under their numbers; each traced with so many near misses, if so said.
    pub fn begin(&mut self, spec: MatcherSpec, traced: Option<usize>) -> Result<(), InvalidPlan> {
        let MatcherSpec { patterns: specs, units, graph_queries } = spec;
        specs.iter().flatten().try_for_each(PatternSpec::check)?;
        units.iter().try_for_each(EventUnitSpec::check)?;
        for (number, spec) in (0..).map(PatternId).zip(specs) {
            let Some(spec) = spec else {
                self.registry.put(number, Query::vacant());
                continue;
            };
            let names = self.window.names_of(&spec);
            let trace = traced.map(|misses| {
                let ends = spec.edges.iter().map(|edge| (edge.source, edge.target)).collect();
                Box::new(Trace::new((spec.window, spec.clock), ends, misses))
            });
            // A trace uses the names of one pattern.
            let unit = match self.subgraphs.shared_by(&spec) {
                Some(unit) => unit,
                None => self.subgraphs.make(&spec, Some(number), self.window, self.budgets)?,
            };
            self.join(number, names, unit);
            let unit = &mut self.subgraphs.units[unit.place()];
            if trace.is_some() {
                unit.trace = trace;
                unit.inquire(&[]);
            }
        }
        for unit in &units {
            let numbers: Vec<PatternId> = unit.patterns.iter().filter_map(|pattern| pattern.number.map(PatternId)).collect();
            if numbers.len() < unit.patterns.len() || !numbers.iter().all(|&number| self.registry.is_free(number)) {
                let reason = "its unit has no numbers, or those of other patterns".into();
                return Err(InvalidPlan { pattern: unit.name(), reason });
            }
            self.make_events(unit, &numbers)?;
        }
        self.begin_graphs(&graph_queries)?;
        self.subgraphs.begin(self.window);
        self.output.rename(&self.registry.queries);
        Ok(())
    }

    /// Adds a pattern with its past; returns its number, which may be that of one removed before.
    pub fn add(&mut self, spec: &PatternSpec, past: Past<'_>, meter: &mut Meter<'_>) -> Result<PatternId, InvalidPlan> {
        spec.check()?;
        let number = self.registry.reserve();
        let names = self.window.names_of(spec);
        let shared = self.subgraphs.shared_by(spec);
        // Its emitted matches may be retracted, and its unit has not kept them.
        let has_emitted = self.output.reported.is_some() && !past.emitted.is_empty();
        match shared {
            Some(unit) if !has_emitted => self.join(number, names, unit),
            _ => {
                let unit = self.subgraphs.make(spec, Some(number), self.window, self.budgets);
                let unit = unit.inspect_err(|_| self.registry.give_back(&[number]))?;
                self.join(number, names, unit);
                self.subgraphs.bring(unit, past, self.window, self.output.reported.as_mut(), meter);
                if let Some(shared) = shared.filter(|_| !self.subgraphs.units[unit.place()].guard.paused) {
                    self.transfer(number, shared)?;
                }
            }
        }
        self.registry.changes.added(number);
        self.output.rename(&self.registry.queries);
        Ok(number)
    }

    /// Adds event patterns as a unit, with their past; returns their numbers, in their order.
    pub fn add_unit(
        &mut self,
        spec: &EventUnitSpec,
        past: Past<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Vec<PatternId>, InvalidPlan> {
        spec.check()?;
        let numbers: Vec<PatternId> = spec.patterns.iter().map(|_| self.registry.reserve()).collect();
        let unit = self.make_events(spec, &numbers);
        let unit = unit.inspect_err(|_| self.registry.give_back(&numbers))?;
        let batches = past.batches();
        self.window.clocks.move_past(&batches);
        let past = OwnPast { batches: &batches, emitted: past.unreported.len(), now: self.window.clocks.watermark() };
        self.own.events.replay(unit, past, meter);
        self.output.rename(&self.registry.queries);
        Ok(numbers)
    }

    /// Adds a graph query with its past; returns its number.
    pub fn add_graph(
        &mut self,
        spec: &GraphQuerySpec,
        past: Past<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<PatternId, InvalidPlan> {
        let number = self.registry.reserve();
        let unit = self.make_graphs(&[(number, spec)]);
        let unit = unit.inspect_err(|_| self.registry.give_back(&[number]))?;
        let batches = past.batches();
        self.window.clocks.move_past(&batches);
        let past = OwnPast { batches: &batches, emitted: past.unreported.len(), now: self.window.clocks.watermark() };
        self.own.graphs.replay(unit, past, meter);
        self.output.rename(&self.registry.queries);
        Ok(number)
    }

    /// Removes a pattern: none of its matches is found any more, nor retracted.
    pub fn remove(&mut self, number: PatternId) -> Result<(), InvalidPlan> {
        match self.unit_of(number)? {
            UnitRef::Events(unit) => self.own.events.remove(unit, number),
            UnitRef::Graph(unit) => self.own.graphs.remove(unit, number),
            UnitRef::Subgraph(unit) => {
                self.output.rows.forget_recipients();
                self.leave(number, unit)?;
                self.output.forget(number);
            }
        }
        self.registry.remove(number);
        Ok(())
    }

    /// Gives a pattern another plan, and returns whether it has it. A plan is refused if it reaches a limit while it is warmed,
    /// or the meter does not let it be warmed. The old one then continues.
    ///
    /// Of several patterns of a unit, the first that is given another plan leaves it with an engine of its own. The others
    /// follow it there.
    pub fn replan(&mut self, number: PatternId, plan: PlanSpec, meter: &mut Meter<'_>) -> Result<bool, InvalidPlan> {
        let own = self.unit_of(number)?.subgraph().ok_or_else(|| unknown(number))?;
        let Some(before) = self.subgraphs.spec_of(own) else { return Ok(false) };
        let name = self.registry.queries[number.place()].names.name.clone();
        let spec = PatternSpec { name, plan, ..before.clone() };
        spec.check()?;
        let Self { subgraphs, window, budgets, output, .. } = self;
        let unit = &subgraphs.units[own.place()];
        let reported = output.reported.as_mut();
        if let Some(shared) = subgraphs.shared_by(&spec).filter(|_| !unit.guard.paused) {
            self.transfer(number, shared)?;
        } else if unit.members.len() > 1 {
            let Some(unit) = subgraphs.split(own, &spec, window, budgets, reported, meter)? else { return Ok(false) };
            self.transfer(number, unit)?;
        } else if !subgraphs.change(own, &spec, window, reported, meter)? {
            return Ok(false);
        }
        self.registry.replanned(number);
        Ok(true)
    }

    /// Lets one unit, with a plan of its own, have all event patterns of one unit or of several, under the numbers that they
    /// have.
    ///
    /// Returns whether it has them. A plan that reaches a limit while it takes the past again, or that the meter does not let
    /// take it, is refused. So is one for patterns that a limit stopped. The units then continue as they are. Matches that
    /// lacked before are marked as lacking from then on.
    pub fn regroup(&mut self, spec: &EventUnitSpec, meter: &mut Meter<'_>) -> Result<bool, InvalidPlan> {
        spec.check()?;
        let numbers: Vec<PatternId> = spec.patterns.iter().filter_map(|pattern| pattern.number.map(PatternId)).collect();
        let unit_of = |&number: &PatternId| self.registry.unit_of(number).and_then(UnitRef::events);
        let mut units: Vec<u32> = numbers.iter().filter_map(unit_of).collect();
        units.sort_unstable();
        units.dedup();
        let mut members: Vec<PatternId> = units.iter().flat_map(|&unit| self.own.events.get(unit).members()).collect();
        let mut named = numbers.clone();
        members.sort_unstable();
        named.sort_unstable();
        let mut pairs = spec.patterns.iter().zip(&numbers);
        let is_known =
            members == named && pairs.all(|(pattern, number)| self.output.names[number.place()].name == pattern.name);
        if numbers.len() < spec.patterns.len() || !is_known {
            let reason = "the patterns of its unit are not all of some units".into();
            return Err(InvalidPlan { pattern: spec.name(), reason });
        }
        let regrouped = self.own.events.regroup(&units, (spec, &numbers), self.window.symbols(), self.allowed, meter)?;
        let Some(unit) = regrouped else { return Ok(false) };
        let new = UnitRef::Events(unit.number);
        WorkBudgets::open_in(self.budgets, new, work_of_all(spec.limits, numbers.len()));
        for number in numbers {
            let query = &mut self.registry.queries[number.place()];
            let before = query.unit.replace(new).and_then(UnitRef::events);
            query.shed |= before.is_some_and(|before| unit.shed.contains(&before));
            self.registry.replanned(number);
        }
        Ok(true)
    }

    /// Gives graph queries other plans from the next record on; returns the numbers of those that have them.
    pub fn replan_graphs(
        &mut self,
        specs: &[GraphQuerySpec],
        past: &[Arc<EdgeBatch>],
        meter: &mut Meter<'_>,
    ) -> Result<Vec<PatternId>, InvalidPlan> {
        let mut by_unit: Vec<(u32, Vec<(PatternId, &GraphQuerySpec)>)> = Vec::new();
        for spec in specs {
            spec.check()?;
            let number = spec.number.map(PatternId);
            let unit = number.and_then(|number| self.registry.unit_of(number)?.graph());
            let (Some(number), Some(unit)) = (number, unit) else {
                let reason = "there is no graph query of its number".into();
                return Err(InvalidPlan { pattern: spec.name.clone(), reason });
            };
            match by_unit.iter_mut().find(|(other, _)| *other == unit) {
                Some((_, queries)) => queries.push((number, spec)),
                None => by_unit.push((unit, vec![(number, spec)])),
            }
        }
        let past: Vec<&EdgeBatch> = past.iter().map(Arc::as_ref).collect();
        let mut replanned = Vec::new();
        for (unit, queries) in by_unit {
            if self.own.graphs.replan(unit, &queries, &past, self.window.symbols(), self.allowed, meter)? {
                for (number, spec) in queries {
                    self.registry.queries[number.place()].names = Arc::new(spec.names());
                    replanned.push(number);
                }
            }
        }
        self.output.rename(&self.registry.queries);
        Ok(replanned)
    }

    fn unit_of(&self, number: PatternId) -> Result<UnitRef, InvalidPlan> {
        self.registry.unit_of(number).ok_or_else(|| unknown(number))
    }

    /// Lets a pattern be of a unit from now on.
    fn join(&mut self, number: PatternId, names: PatternNames, unit: UnitId) {
        let Subgraphs { units, hits, .. } = &mut *self.subgraphs;
        let of = &mut units[unit.place()];
        if !of.members.contains(&number) {
            of.members.push(number);
        }
        let (hits_before, counts_before) =
            (of.signatures.iter().map(|&signature| hits[signature.place()]).collect(), of.guard.counts);
        let spec = self.subgraphs.spec_of(unit);
        let query = Query {
            names: Arc::new(names),
            unit: Some(UnitRef::Subgraph(unit)),
            hits_before,
            counts_before,
            reports: Reports::default(),
            shed: false,
            deduplication: spec.and_then(|spec| Deduplication::new(&spec.deduplication, &spec.limits)),
        };
        self.output.take_selective(&query);
        self.registry.put(number, query);
    }

    /// Lets a pattern be of a unit of patterns like it from now on, and no more of its own.
    fn transfer(&mut self, number: PatternId, to: UnitId) -> Result<(), InvalidPlan> {
        let query = &mut self.registry.queries[number.place()];
        let own = query.unit.and_then(UnitRef::subgraph);
        let Some(from) = own.filter(|&from| from != to) else { return Ok(()) };
        let Subgraphs { units, postings, .. } = &mut *self.subgraphs;
        let left = &units[from.place()];
        // What its lists gave up is missing from now on, as it was.
        let (shed, counted) = (left.has_shed_of(query, postings), left.counts_since(query.counts_before));
        let joined = &mut units[to.place()];
        joined.members.push(number);
        query.unit = Some(UnitRef::Subgraph(to));
        query.shed = shed;
        query.counts_before = joined.guard.counts.since(counted);
        self.leave(number, from)
    }

    /// Lets a pattern leave its unit; the last one takes the unit along.
    fn leave(&mut self, number: PatternId, unit: UnitId) -> Result<(), InvalidPlan> {
        let members = &mut self.subgraphs.units[unit.place()].members;
        members.retain(|&mut member| member != number);
        if members.is_empty() { self.subgraphs.dissolve(unit, self.window) } else { Ok(()) }
    }

    /// Makes a unit of event patterns under numbers that are free: what each of its patterns may spend, they may together.
    fn make_events(&mut self, spec: &EventUnitSpec, numbers: &[PatternId]) -> Result<u32, InvalidPlan> {
        let unit = EventUnit::new(spec, numbers, self.window.symbols(), self.allowed)?;
        let unit = self.own.events.put(unit);
        WorkBudgets::open_in(self.budgets, UnitRef::Events(unit), work_of_all(spec.limits, numbers.len()));
        for (pattern, &number) in spec.patterns.iter().zip(numbers) {
            let deduplication = Deduplication::new(&DeduplicationSpec { is_distinct: false, once: pattern.once }, &spec.limits);
            let unit = Some(UnitRef::Events(unit));
            let query = Query { names: Arc::new(pattern.names()), unit, deduplication, ..Query::vacant() };
            self.output.take_selective(&query);
            self.registry.put(number, query);
        }
        Ok(unit)
    }

    /// Makes a unit of graph queries that have the same limits, under numbers that are free.
    fn make_graphs(&mut self, queries: &[(PatternId, &GraphQuerySpec)]) -> Result<u32, InvalidPlan> {
        let unit = GraphUnit::new(queries, self.window.symbols(), self.allowed)?;
        let limits = queries.first().map(|(_, spec)| spec.limits).unwrap_or_default();
        let unit = self.own.graphs.put(unit);
        WorkBudgets::open_in(self.budgets, UnitRef::Graph(unit), work_of_all(limits, queries.len()));
        for &(number, spec) in queries {
            let unit = Some(UnitRef::Graph(unit));
            self.registry.put(number, Query { names: Arc::new(spec.names()), unit, ..Query::vacant() });
        }
        Ok(unit)
    }

    /// Makes units of graph queries, under their numbers: those that have the same limits and an operator in common are one.
    fn begin_graphs(&mut self, specs: &[GraphQuerySpec]) -> Result<(), InvalidPlan> {
        let mut by_limits: Vec<(Limits, Vec<(PatternId, &GraphQuerySpec)>)> = Vec::new();
        let mut taken: HashSet<PatternId, FxBuildHasher> = HashSet::default();
        for spec in specs {
            spec.check()?;
            let is_free = |&number: &PatternId| taken.insert(number) && self.registry.is_free(number);
            let number = spec.number.map(PatternId).filter(is_free);
            let refused = || InvalidPlan { pattern: spec.name.clone(), reason: "it has no number, or that of another".into() };
            let query = (number.ok_or_else(refused)?, spec);
            match by_limits.iter_mut().find(|(limits, _)| *limits == spec.limits) {
                Some((_, queries)) => queries.push(query),
                None => by_limits.push((spec.limits, vec![query])),
            }
        }
        for (_, queries) in by_limits {
            let plans: Vec<&GraphPlan> = queries.iter().map(|(_, spec)| &spec.plan).collect();
            for places in linked(&plans) {
                let unit: Vec<(PatternId, &GraphQuerySpec)> = places.into_iter().map(|place| queries[place]).collect();
                self.make_graphs(&unit)?;
            }
        }
        Ok(())
    }
}

/// The work of a unit whose patterns have so much each.
fn work_of_all(limits: Limits, patterns: usize) -> Option<u64> {
    limits.work.map(|work| work.saturating_mul(patterns as u64))
}

fn unknown(number: PatternId) -> InvalidPlan {
    InvalidPlan { pattern: number.0.to_string(), reason: "its matcher has no such pattern".into() }
}
