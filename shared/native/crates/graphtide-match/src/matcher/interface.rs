//! What a matcher does beside taking records: each call goes to the part whose work it is.

use std::sync::Arc;

use graphtide_engine::engine::{Engine, Explained};
use graphtide_engine::ids::{PatternId, UnitId};
use graphtide_engine::meter::Meter;
use graphtide_engine::nearest::Nearest;
use graphtide_engine::output::PatternNames;
use graphtide_engine::replay::ConsumptionCursor;
use graphtide_graph::Time;
use graphtide_graph::batch::EdgeBatch;
use graphtide_graph::clock::Now;
use graphtide_simulation::Probe;

use super::partial_matches::Named;
use super::status::AllUnits;
use super::unit_ref::UnitRef;
use super::units::{OwnStore, Units};
use super::{Funnel, Matcher, Membership, PartialMatches, Past, Progress, Query, Status, SubgraphUnit, Totals};
use crate::plan::{EventUnitSpec, GraphQuerySpec, InvalidPlan, PatternSpec, PlanSpec};

/// Patterns come, go, and get other plans.
impl Matcher {
    /// Adds a pattern with its past; returns its number, which may be that of one removed before.
    ///
    /// A pattern that reaches a limit on the way behaves as its policy says; under the policy to fail it is paused.
    /// The batches have the columns of the batches that follow, and deletions; edges that the pattern cannot use are passed
    /// over. Attributes that only other patterns read may be missing. Where the window counts edges, ordinals are how many came
    /// before.
    pub fn add(&mut self, spec: &PatternSpec, past: Past<'_>, meter: &mut Meter<'_>) -> Result<PatternId, InvalidPlan> {
        self.changing(&spec.name)?.add(spec, past, meter)
    }

    /// Adds event patterns as a unit, with their past; returns their numbers, in their order. As [`add`](Self::add) otherwise.
    pub fn add_unit(
        &mut self,
        spec: &EventUnitSpec,
        past: Past<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Vec<PatternId>, InvalidPlan> {
        self.changing(&spec.name())?.add_unit(spec, past, meter)
    }

    /// Adds a graph query with its past; returns its number. As [`add`](Self::add) otherwise.
    pub fn add_graph(
        &mut self,
        spec: &GraphQuerySpec,
        past: Past<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<PatternId, InvalidPlan> {
        self.changing(&spec.name)?.add_graph(spec, past, meter)
    }

    /// Removes a pattern: none of its matches is found any more, nor retracted.
    pub fn remove(&mut self, number: PatternId) -> Result<(), InvalidPlan> {
        self.changing(&number.0.to_string())?.remove(number)
    }

    /// Gives a pattern another plan, and returns whether it has it. A plan is refused if it reaches a limit while it is warmed,
    /// or the meter does not let it be warmed. The old one then continues.
    pub fn replan(&mut self, number: PatternId, plan: PlanSpec, meter: &mut Meter<'_>) -> Result<bool, InvalidPlan> {
        self.changing(&number.0.to_string())?.replan(number, plan, meter)
    }

    /// Lets one unit, with a plan of its own, have all event patterns of one unit or of several, under the numbers that they
    /// have.
    ///
    /// Returns whether it has them. A plan that reaches a limit while it takes the past again, or that the meter does not let
    /// take it, is refused. So is one for patterns that a limit stopped. The units then continue as they are. Matches that
    /// lacked before are marked as lacking from then on.
    pub fn regroup(&mut self, spec: &EventUnitSpec, meter: &mut Meter<'_>) -> Result<bool, InvalidPlan> {
        self.changing(&spec.name())?.regroup(spec, meter)
    }

    /// Gives graph queries other plans from the next record on; returns the numbers of those that have them.
    ///
    /// Arguments: the plans, each with the number of its query. Then the records of the longest window before the next record
    /// that were [selected](Self::selected_by_queries), in their order.
    pub fn replan_graphs(
        &mut self,
        specs: &[GraphQuerySpec],
        past: &[Arc<EdgeBatch>],
        meter: &mut Meter<'_>,
    ) -> Result<Vec<PatternId>, InvalidPlan> {
        self.membership().replan_graphs(specs, past, meter)
    }

    /// The parts that change with the patterns, if patterns may change.
    fn changing(&mut self, pattern: &str) -> Result<Membership<'_>, InvalidPlan> {
        let refused = |reason: &str| Err(InvalidPlan { pattern: pattern.into(), reason: reason.into() });
        match (self.window.keeps_all(), self.tracing.is_on()) {
            (false, _) => refused("its matcher keeps no edges to replay"),
            (true, true) => refused("it is traced, step by step of its plan"),
            (true, false) => Ok(self.membership()),
        }
    }

    pub(super) fn membership(&mut self) -> Membership<'_> {
        let Self { registry, window, subgraphs, own, budgets, output, allowed, .. } = self;
        Membership { registry, window, subgraphs, own, budgets, output, allowed: *allowed }
    }
}

/// Time passes without records.
impl Matcher {
    /// Ends the stream: patterns emit what follows once all time has passed. No record may follow.
    ///
    /// What does not follow from time alone stays as it is: partial matches of the window are alive.
    pub fn finish(&mut self, meter: &mut Meter<'_>) -> Progress {
        let now = Now { ts: Time::MAX, ..self.window.clocks.now() };
        self.subgraphs.finish(now, &mut self.output.rows, meter);
        self.report_expiry(now, meter, |events, _, pass, meter| events.finish(pass, meter))
    }

    /// Advances the stream to a time: patterns emit what follows from that alone.
    pub fn advance(&mut self, now: Time, meter: &mut Meter<'_>) -> Progress {
        self.window.clocks.move_to(now);
        self.report_expiry(self.window.clocks.now(), meter, Units::wake)
    }

    /// Sets a watermark: no record before it follows. Patterns emit what follows from that alone. The newest record stays the
    /// newest.
    pub fn pass_time(&mut self, watermark: Time, meter: &mut Meter<'_>) -> Progress {
        self.window.clocks.pass(watermark);
        let now = self.window.clocks.now();
        let now = Now { ts: now.ts.max(watermark), ..now };
        self.report_expiry(now, meter, Units::wake)
    }
}

/// A matcher continues where another stopped.
impl Matcher {
    /// The records of the batch that was taken last that the patterns' state can depend on, where patterns may change. They are
    /// edges that some query edge could be, and deletions. Their ordinals are how many edges had come before.
    pub fn selected(&self, batch: &EdgeBatch) -> EdgeBatch {
        self.selection.records(batch, self.window.clocks.now().edges)
    }

    /// As [`selected`](Self::selected), of graph queries alone.
    pub fn selected_by_queries(&self, batch: &EdgeBatch) -> EdgeBatch {
        self.selection.records_of_graphs(batch, self.window.clocks.now().edges)
    }

    /// Takes it that so many edges of the stream came before the next record, deletions not counted.
    pub fn count_from(&mut self, number: u64) {
        self.window.clocks.count_from(number);
    }

    /// Lets a pattern wait for [`Self::begin`]: what it finds until then counts for nothing. Call it before it takes anything.
    ///
    /// `consumption` is what it had consumed, if it consumes and that is known: it is to begin where that was so.
    pub fn wait(&mut self, number: PatternId, consumption: Option<ConsumptionCursor>) {
        self.registry.begin_counting(number, false);
        if let Some(UnitRef::Subgraph(unit)) = self.registry.unit_of(number) {
            self.subgraphs.units[unit.place()].engine.wait(consumption);
        }
    }

    /// Lets a pattern's matches count from the next record on; earlier ones are not retracted.
    pub fn begin(&mut self, number: PatternId, meter: &mut Meter<'_>) {
        self.output.forget(number);
        self.registry.begin_counting(number, true);
        match self.registry.unit_of(number) {
            Some(UnitRef::Events(unit)) => self.own.events.get_mut(unit).begin(number),
            Some(UnitRef::Subgraph(unit)) => {
                self.subgraphs.begin_counting(unit, self.window.clocks.now(), &mut self.output.rows, meter);
            }
            Some(UnitRef::Graph(_)) | None => {}
        }
    }

    /// What a pattern knows that does not follow from the edges of its window; none where that is nothing.
    pub fn consumption(&self, number: PatternId) -> Option<ConsumptionCursor> {
        self.query(number)?.1.engine.consumption()
    }

    /// Continues the deduplication state of the same pattern in another matcher at the same position.
    pub fn take_deduplication(&mut self, number: PatternId, other: &Self, of: PatternId) {
        let (Some(query), Some(other)) = (self.registry.get_mut(number), other.registry.get(of)) else { return };
        query.deduplication.clone_from(&other.deduplication);
    }

    /// Lets a pattern's matches be marked as incomplete from now on.
    pub fn mark_shed(&mut self, number: PatternId) {
        if let Some(query) = self.registry.get_mut(number) {
            query.shed = true;
        }
    }

    /// Refills every pattern's work budget as so many records do, for time that passed without records.
    pub fn refill(&mut self, records: u64) {
        if let Some(budgets) = &mut self.budgets {
            budgets.refill(records);
        }
    }
}

/// What is known of the pass and of its patterns.
impl Matcher {
    /// The partial matches of a pattern, the nearest `most` of them; none if there is no such pattern.
    ///
    /// Call it between two batches. It drops what left the window of the pattern, and looks at `budget` stored rows at most.
    pub fn partial_matches(
        &mut self,
        number: PatternId,
        most: usize,
        budget: u64,
        meter: &mut Meter<'_>,
    ) -> Option<PartialMatches> {
        let now = self.window.clocks.now();
        let time = (now.ts != Time::MIN).then_some(now.ts);
        if let UnitRef::Subgraph(unit) = self.registry.unit_of(number)? {
            self.subgraphs.expire(unit, now, &mut self.output.rows, meter);
            let (query, unit) = self.query(number)?;
            let mut nearest = Nearest::new(most, budget, now.alive_from(unit.clock, unit.engine.lookback()));
            unit.engine.nearest(&self.window.store, &mut nearest);
            if nearest.stores() {
                return Some(Named { query, unit, window: &self.window }.all(time, nearest));
            }
        }
        Some(PartialMatches::sizes(time, self.status(number)?.items))
    }

    /// Names of the patterns, for reading and writing matches.
    pub fn names(&self) -> Arc<[Arc<PatternNames>]> {
        Arc::clone(&self.output.names)
    }

    /// Counts over the whole pass; the peak of state counts what is alive now, too.
    pub fn totals(&self) -> Totals {
        Totals {
            records: self.window.clocks.records(),
            matches: self.output.matches(),
            peak_partial_matches: self.totals.peak_partial_matches.max(self.subgraphs.peak() as u64),
            peak_state_bytes: self.totals.peak_state_bytes.max(self.state_bytes() as u64),
            ..self.totals
        }
    }

    /// Bytes of state alive, shared and of every unit.
    pub fn state_bytes(&self) -> usize {
        let units = self.subgraphs.bytes() + self.own.bytes();
        units + self.output.bytes(&self.registry.queries) + self.window.bytes()
    }

    /// What is known of each pattern, in their order.
    pub fn statuses(&self) -> impl Iterator<Item = Status> {
        self.registry.numbered().filter_map(|(number, query)| self.units().status(number, query))
    }

    /// What is known of a pattern; none if there is none of the number.
    pub fn status(&self, number: PatternId) -> Option<Status> {
        self.units().status(number, self.registry.get(number)?)
    }

    /// Look-ups of a pattern's searches, those of them that are made for other patterns, too, and for how many others. None if
    /// it shares none.
    pub fn sharing(&mut self, number: PatternId) -> Option<(usize, usize, usize)> {
        let UnitRef::Subgraph(unit) = self.registry.unit_of(number)? else { return None };
        let sharing = self.subgraphs.sharing(unit);
        let members = |unit: UnitId| self.subgraphs.units[unit.place()].members.len();
        let others = sharing.with.iter().map(|&other| members(other)).sum::<usize>() + members(unit) - 1;
        let (all, shared) = sharing.look_ups;
        (shared > 0).then_some((all, shared, others))
    }

    fn units(&self) -> AllUnits<'_> {
        AllUnits { subgraphs: &self.subgraphs, own: &self.own }
    }

    /// The patterns of subgraphs with their units, in their order.
    pub fn queries(&self) -> impl Iterator<Item = (&Query, &SubgraphUnit)> {
        self.registry.numbered().filter_map(|(number, _)| self.query(number))
    }

    /// A pattern of subgraphs with its unit; none if there is none of the number.
    pub fn query(&self, number: PatternId) -> Option<(&Query, &SubgraphUnit)> {
        let query = self.registry.get(number)?;
        Some((query, &self.subgraphs.units[query.unit?.subgraph()?.place()]))
    }

    /// Returns the patterns whose counts are not what they were when they had their last turn, so many at most. Of a new
    /// pattern they were 0.
    pub fn changed(&mut self, most: usize) -> Vec<PatternId> {
        let Self { registry, subgraphs, own, output, .. } = self;
        registry.changes.take(&registry.queries, AllUnits { subgraphs, own }, output.reported.is_some(), most)
    }

    /// The patterns whose matches may be incomplete, in their order.
    pub fn shed(&self) -> Vec<PatternId> {
        self.registry.numbered().filter(|(_, query)| self.units().has_shed(query)).map(|(number, _)| number).collect()
    }

    /// Has traced patterns under dual simulation answer why edges of these ids are in no match, if they are not.
    pub fn ask(&mut self, ids: Vec<String>) {
        self.subgraphs.units.iter_mut().for_each(|unit| unit.inquire(&ids));
        self.tracing.ask(ids);
    }

    /// The funnel of a pattern; none if it is not traced.
    pub fn funnel<'a>(&'a self, query: &'a Query) -> Option<Funnel<'a>> {
        let unit = query.unit?.subgraph()?;
        self.tracing.funnel(query, &self.subgraphs.units[unit.place()], &self.window)
    }

    /// Has a benchmark look on at the engines of dual simulation from now.
    pub fn set_probe(&mut self, probe: Probe) {
        let simulated = self.subgraphs.units.iter_mut().filter_map(|unit| unit.engine.simulated_mut());
        simulated.for_each(|simulated| simulated.set_probe(probe));
    }
}
