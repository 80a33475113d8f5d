//! Event patterns in the pass: their units have each record beside the engines, and what they find goes out in the same order.

use std::sync::Arc;

use graphtide_engine::ids::PatternId;
use graphtide_engine::meter::{Meter, Unhurried};
use graphtide_engine::output::MatchBatch;
use graphtide_graph::Time;
use graphtide_graph::batch::EdgeBatch;

use super::Matcher;
use super::allowances::{Allowances, Bounded, Payer};
use super::deduplication::Deduplication;
use super::event_units::{Allowed, EventUnit, Outcome, Pass};
use super::query::Query;
use crate::plan::{EventUnitSpec, InvalidPlan, TellingSpec};

/// The pass as its units of event patterns see it while they have a record.
struct Telling<'a> {
    matcher: &'a mut Matcher,
    out: &'a mut MatchBatch,
}

impl Pass for Telling<'_> {
    #[inline]
    fn lend(&mut self, unit: u32) -> (u64, Bounded) {
        let unbounded = (u64::MAX, Bounded::Unit(u64::MAX));
        self.matcher.allowances.as_mut().map_or(unbounded, |allowances| allowances.lend(Payer::Events(unit)))
    }

    #[inline]
    fn spend(&mut self, unit: u32, steps: u64) {
        if let Some(allowances) = &mut self.matcher.allowances {
            allowances.spend(Payer::Events(unit), steps);
        }
    }

    #[inline]
    fn tell(&mut self, unit: &mut EventUnit, meter: &mut Meter<'_>) {
        self.matcher.tell_events(unit, self.out, meter);
    }
}

impl Matcher {
    /// Makes a unit of event patterns, under their numbers.
    pub(super) fn add_events(&mut self, spec: &EventUnitSpec, allowed: Allowed) -> Result<(), InvalidPlan> {
        let numbers: Vec<PatternId> = spec.patterns.iter().filter_map(|pattern| pattern.number.map(PatternId)).collect();
        let is_free = |number: &PatternId| self.queries.get(number.place()).is_some_and(Query::is_vacant);
        if numbers.len() < spec.patterns.len() || !numbers.iter().all(is_free) {
            return Err(InvalidPlan {
                pattern: spec.name(),
                reason: "its unit has no numbers, or those of other patterns".into(),
            });
        }
        self.enrol_events(spec, &numbers, allowed).map(|_| ())
    }

    /// Makes a unit of event patterns under numbers that are free.
    pub(super) fn enrol_events(
        &mut self,
        spec: &EventUnitSpec,
        numbers: &[PatternId],
        allowed: Allowed,
    ) -> Result<u32, InvalidPlan> {
        let unit = self.events.add(spec, numbers, self.window.symbols(), allowed)?;
        self.open_events(unit, spec);
        for (pattern, number) in spec.patterns.iter().zip(numbers) {
            let telling = Deduplication::new(&TellingSpec { is_distinct: false, once: pattern.once }, &spec.limits);
            let names = Arc::new(pattern.names());
            let query = Query { names, events: Some(unit), telling, ..Query::vacant() };
            self.output.take_selective(&query);
            self.queries[number.place()] = query;
        }
        Ok(unit)
    }

    /// Opens the account of a unit of event patterns: what each of its patterns may spend, they may together.
    pub(super) fn open_events(&mut self, unit: u32, spec: &EventUnitSpec) {
        if self.allowances.is_none() && spec.limits.work.is_some() {
            self.allowances = Some(Allowances::unbounded(self.units.len()));
        }
        if let Some(allowances) = &mut self.allowances {
            let work = spec.limits.work.map(|work| work.saturating_mul(spec.patterns.len() as u64));
            allowances.open(Payer::Events(unit), work);
        }
    }

    /// Lets the units of event patterns have a record, and tell what it brings about; says whether it was of use.
    pub(super) fn detect(&mut self, batch: &EdgeBatch, row: usize, out: &mut MatchBatch, meter: &mut Meter<'_>) -> Outcome {
        let now = self.window.clocks.time();
        if self.events.may_be_due(now) {
            self.wake_events(now, out, meter);
        }
        if let Some(allowances) = &mut self.allowances {
            allowances.take_record(self.window.clocks.records());
        }
        let mut events = std::mem::take(&mut self.events);
        let taken = events.take(batch, row, meter, &mut Telling { matcher: self, out });
        self.events = events;
        let is_kept = taken?;
        if is_kept {
            self.select(row);
        }
        Ok(is_kept)
    }

    /// Lets units of event patterns tell what has settled by a time.
    #[cold]
    pub(super) fn wake_events(&mut self, now: Time, out: &mut MatchBatch, meter: &mut Meter<'_>) {
        let mut events = std::mem::take(&mut self.events);
        events.wake(now, meter, |unit, meter| self.tell_events(unit, out, meter));
        self.events = events;
    }

    /// Lets time pass for the units of event patterns.
    pub(super) fn advance_events(&mut self, out: &mut MatchBatch, meter: &mut Meter<'_>) {
        if self.events.is_empty() {
            return;
        }
        let (mut events, now) = (std::mem::take(&mut self.events), self.window.clocks.time());
        events.advance(now, meter, |unit, meter| self.tell_events(unit, out, meter));
        self.totals.peak_partial_matches = self.totals.peak_partial_matches.max((self.live + events.peak()) as u64);
        self.events = events;
    }

    /// Hands over what a unit of event patterns found, behind what was found before.
    #[inline]
    fn tell_events(&mut self, unit: &mut EventUnit, out: &mut MatchBatch, meter: &mut Meter<'_>) {
        if unit.has_found() {
            self.hand_over(out, &mut Meter::unbounded(&Unhurried));
            self.output.append(&mut self.queries, out, |queries, out| unit.hand_over(queries, out, meter));
        }
    }

    /// An event pattern with its unit; none if there is none of the number.
    pub fn event_query(&self, number: PatternId) -> Option<(&Query, &EventUnit)> {
        let query = self.queries.get(number.place())?;
        Some((query, self.events.get(query.events?)))
    }

    /// The event patterns with their numbers and units.
    pub fn event_queries(&self) -> impl Iterator<Item = (PatternId, &Query, &EventUnit)> {
        let numbered = (0..).map(PatternId).zip(&self.queries);
        numbered.filter_map(|(number, query)| Some((number, query, self.events.get(query.events?))))
    }
}
