//! A query at work on the records of a stream.
//!
//! Invariant: after a record at `at`, the edges held are those that were taken, not deleted and not consumed since. Their own
//! `at` is no less than the record's less the window. Reports follow from these edges alone, for any engine.
//! Cost: O(1) for each edge taken and each that leaves, and what the engine takes to find the component of the new one.
//! Source: paper 000, Definitions 1 and 2 and section 3.2; semantics, sections 3 and 7.

use graphtide_engine::meter::{Meter, Unhurried};
pub use graphtide_engine::replay::ConsumptionCursor;
use graphtide_graph::store::EdgeRef;
use graphtide_graph::{Time, clock};
use smallvec::SmallVec;

use crate::changes::{Changes, pairs};
use crate::engine::Engine;
use crate::fixpoint::Fixpoint;
use crate::found::{Found, Kind};
use crate::funnel::Funnel;
use crate::nearby::Look;
use crate::numbered::Number;
use crate::pattern::Pattern;
use crate::probe::Probe;
use crate::query::{Arrival, Limits, Outcome, Query, QueryError, Report, Variant};
use crate::question::{Means, Question};
use crate::window::{Held, Window};
use crate::work::Work;

/// Whether records are new to the query, and what is done about those that are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// They are new.
    Live,
    /// They came before the query: everything happens as if live, consumption too, but nothing is reported.
    Warming,
    /// The query had them already: nothing is reported, and consumption stays where the cursor was set.
    Restoring,
}

/// An engine at work on a query.
#[derive(Debug)]
pub struct Simulation {
    pattern: Pattern,
    report: Report,
    limits: Limits,
    window: Window,
    engine: Engine,
    changes: Changes,
    cursor: Option<ConsumptionCursor>,
    newest: ConsumptionCursor,
    course: Course,
    fixpoint: Fixpoint,
    look: Look,
    peak: usize,
    funnel: Funnel,
    probe: Option<Probe>,
}

impl Simulation {
    /// Makes an engine.
    ///
    /// # Errors
    ///
    /// The query is none, or the modulus of signatures does not do for it.
    pub fn new(query: &Query, variant: Variant, limits: Limits) -> Result<Self, QueryError> {
        let pattern = Pattern::new(query)?;
        Ok(Self {
            engine: Engine::new(variant, query, &pattern)?,
            pattern,
            report: query.report,
            limits,
            window: Window::default(),
            changes: Changes::default(),
            cursor: None,
            newest: ConsumptionCursor::NOTHING,
            course: Course::Live,
            fixpoint: Fixpoint::default(),
            look: Look::default(),
            peak: 0,
            funnel: Funnel::default(),
            probe: None,
        })
    }

    /// Expires old edges, takes the arrival, and reports its match component.
    ///
    /// If the meter refuses work, the edge is held but not reported, and later reports are exact again.
    pub fn insert(&mut self, arrival: &Arrival, found: &mut Found, meter: &mut Meter<'_>) -> Outcome {
        self.emit(found, meter, |this, found, meter| {
            this.expire(arrival.at, arrival.ts, found, meter);
            let ties = if arrival.at == this.newest.at { this.newest.ties + 1 } else { 1 };
            this.newest = ConsumptionCursor { at: arrival.at, ties };
            if this.cursor.is_some_and(|cursor| this.newest <= cursor) {
                return Outcome::Consumed;
            }
            if this.is_full() {
                return Outcome::Limited(this.limits);
            }
            let number = this.take(arrival, meter);
            if this.matches(number, arrival.ts, found, meter) { Outcome::Matched } else { Outcome::Kept }
        })
    }

    /// Expires the edges that are too old for a record at `at`. Under [`Report::Changes`], reports what leaves the match graph.
    ///
    /// Everything is reported with this `detected_at`. To give each expiry its own, first advance to [`Self::next_expiry`] for
    /// as long as that is at most `at`. The bound that is passed is one less.
    pub fn advance(&mut self, at: i64, detected_at: Time, found: &mut Found, meter: &mut Meter<'_>) {
        self.emit(found, meter, |this, found, meter| this.expire(at, detected_at, found, meter));
    }

    /// Ends time. Under [`Report::Changes`] expires every edge, at the greatest time; else no report follows from it.
    pub fn end_time(&mut self, found: &mut Found, meter: &mut Meter<'_>) {
        if self.report == Report::Changes {
            self.emit(found, meter, |this, found, meter| this.expire_while(|_| true, Time::MAX, found, meter));
        }
    }

    /// Deletes an edge. Retracts the component it was in, or, under [`Report::Changes`], what leaves the match graph with it.
    pub fn delete(&mut self, edge: EdgeRef, detected_at: Time, found: &mut Found, meter: &mut Meter<'_>) {
        self.emit(found, meter, |this, found, meter| {
            let Some(number) = this.window.find(edge) else { return };
            match this.report {
                Report::Maximal => {
                    let all = this.pattern.all;
                    if let Some(place) = this.search(number, all, meter) {
                        this.push((Kind::Retract, detected_at), place, found);
                    }
                }
                Report::Instances => {}
                Report::Changes => this.leave(&[number], (detected_at, found), meter),
            }
            this.funnel.deleted += 1;
            this.depart(number, meter);
        });
    }

    /// The least `at` for which [`Self::advance`] has something to do; none under policies that do not report expiry.
    pub fn next_expiry(&self) -> Option<i64> {
        match self.report {
            Report::Maximal | Report::Instances => None,
            Report::Changes => {
                let (_, oldest) = self.window.oldest()?;
                clock::find_next(clock::find_sum(oldest.at, self.pattern.window)?)
            }
        }
    }

    /// The edges held, in stream order, each with the query edges that it fits.
    pub fn held(&self) -> impl Iterator<Item = (EdgeRef, u64)> {
        self.window.iter().map(|(_, held)| (held.edge, held.fits))
    }

    /// Whether an edge is held.
    pub fn holds(&self, edge: EdgeRef) -> bool {
        self.window.find(edge).is_some()
    }

    /// the consumption cursor.
    pub fn cursor(&self) -> Option<ConsumptionCursor> {
        self.cursor
    }

    /// Consumes all edges at or before a cursor, those still to arrive included.
    pub fn set_cursor(&mut self, cursor: Option<ConsumptionCursor>) {
        self.cursor = cursor;
        if let Some(cursor) = cursor {
            self.consume(cursor, &mut Meter::unbounded(&Unhurried));
        }
    }

    /// Counts arrivals on from one, as if it had been handed over just now.
    pub fn count_from(&mut self, arrival: ConsumptionCursor) {
        self.newest = arrival;
    }

    /// Consumes as if the edges held had come one by one before the query, which has consumed nothing: see [`Course::Warming`].
    ///
    /// Cost: that of taking them again.
    pub fn warm(&mut self, meter: &mut Meter<'_>) {
        let held: Vec<(Number, Held)> = self.window.iter().map(|(number, held)| (number, *held)).collect();
        let arrivals = held.iter().map(|(_, held)| {
            let [source, target] = held.ends.map(|place| self.window.vertex(place));
            let &Held { edge, ts, at, fits, .. } = held;
            Arrival { edge, ts, at, source, target, fits }
        });
        let arrivals: Vec<Arrival> = arrivals.collect();
        let (newest, course, funnel) = (self.newest, self.course, self.funnel);
        for &(number, _) in &held {
            self.depart(number, meter);
        }
        self.course = Course::Warming;
        let mut found = Found::default();
        for (arrival, (_, held)) in arrivals.iter().zip(&held) {
            self.count_from(ConsumptionCursor { at: held.at, ties: held.tie - 1 });
            self.insert(arrival, &mut found, meter);
        }
        (self.newest, self.course, self.funnel) = (newest, course, funnel);
    }

    /// Takes over what another engine at work on the same query knows, if the limits allow that; says whether it did.
    ///
    /// Cost: O(edges held).
    pub fn take_over(&mut self, other: &mut Self, meter: &mut Meter<'_>) -> bool {
        for (number, _) in other.window.iter() {
            self.engine.arrive(&self.pattern, &other.window, number, &mut Work::Upkeep(meter));
        }
        let bytes = other.window.bytes() + self.engine.bytes(&other.window) + other.changes.bytes();
        if self.limits.bytes.is_some_and(|most| bytes as u64 >= most) {
            return false;
        }
        self.window = std::mem::take(&mut other.window);
        self.changes = std::mem::take(&mut other.changes);
        (self.cursor, self.newest, self.course) = (other.cursor, other.newest, other.course);
        (self.peak, self.funnel, self.probe) = (other.peak, other.funnel, other.probe);
        true
    }

    /// Sets what the records to come are to the query.
    pub fn set_course(&mut self, course: Course) {
        self.course = course;
    }

    /// Has a benchmark look on from now.
    pub fn set_probe(&mut self, probe: Probe) {
        self.probe = Some(probe);
    }

    /// Forgets all edges, and how far consumption has come.
    pub fn clear(&mut self) {
        let mut meter = Meter::unbounded(&Unhurried);
        while let Some((number, _)) = self.window.oldest() {
            if self.report == Report::Changes {
                self.changes.forget(number);
            }
            self.funnel.forgotten += 1;
            self.depart(number, &mut meter);
        }
        self.cursor = None;
        self.newest = ConsumptionCursor::NOTHING;
    }

    /// Edges held.
    pub fn live(&self) -> usize {
        self.window.live()
    }

    /// Most edges ever held at once.
    pub fn peak(&self) -> usize {
        self.peak
    }

    /// Bytes of what is held, not counting room for more. O(1).
    pub fn bytes(&self) -> usize {
        self.window.bytes() + self.engine.bytes(&self.window) + self.changes.bytes()
    }

    /// What was done.
    pub fn funnel(&self) -> Funnel {
        self.funnel
    }

    /// Runs an act, counts its steps, and drops its reports unless the course is live.
    fn emit<T>(
        &mut self,
        found: &mut Found,
        meter: &mut Meter<'_>,
        act: impl FnOnce(&mut Self, &mut Found, &mut Meter<'_>) -> T,
    ) -> T {
        let (mark, before) = (found.mark(), meter.taken());
        let emitted = act(self, found, meter);
        if self.course != Course::Live {
            found.rewind(mark);
        }
        self.funnel.reported += found.since(mark);
        self.funnel.steps += meter.taken() - before;
        emitted
    }

    /// Expires the edges that are too old for a record at `at`, those of one `at` together.
    fn expire(&mut self, at: i64, detected_at: Time, found: &mut Found, meter: &mut Meter<'_>) {
        let from = clock::subtract(at, self.pattern.window);
        self.expire_while(|oldest| oldest < from, detected_at, found, meter);
    }

    /// Expires the oldest edges for as long as `is_over` holds of their instant.
    fn expire_while(&mut self, is_over: impl Fn(i64) -> bool, detected_at: Time, found: &mut Found, meter: &mut Meter<'_>) {
        while let Some((number, &oldest)) = self.window.oldest()
            && is_over(oldest.at)
        {
            if self.report == Report::Changes {
                let together = self.window.iter().take_while(|(_, held)| held.at == oldest.at);
                let leaving: SmallVec<[Number; 4]> = together.map(|(number, _)| number).collect();
                self.leave(&leaving, (detected_at, found), meter);
                for number in leaving {
                    self.depart(number, meter);
                }
            } else {
                self.depart(number, meter);
            }
        }
    }

    /// Whether a limit is reached.
    fn is_full(&self) -> bool {
        self.limits.edges.is_some_and(|most| self.window.live() as u64 >= most)
            || self.limits.bytes.is_some_and(|most| self.bytes() as u64 >= most)
    }

    fn take(&mut self, arrival: &Arrival, meter: &mut Meter<'_>) -> Number {
        let number = self.window.push(arrival, self.newest.ties);
        if self.report == Report::Changes {
            self.changes.arrive();
        }
        if self.probe.is_some_and(|probe| probe.is_from_scratch) {
            self.engine.clear(&self.pattern);
            for (number, _) in self.window.iter() {
                self.engine.arrive(&self.pattern, &self.window, number, &mut Work::Upkeep(meter));
            }
        } else {
            self.engine.arrive(&self.pattern, &self.window, number, &mut Work::Upkeep(meter));
        }
        self.peak = self.peak.max(self.window.live());
        self.funnel.taken += 1;
        number
    }

    /// Reports the component that the newest edge is in; says whether it is in one.
    fn matches(&mut self, number: Number, now: Time, found: &mut Found, meter: &mut Meter<'_>) -> bool {
        if self.course == Course::Restoring && self.report != Report::Changes {
            return false;
        }
        let Some(place) = self.search(number, self.pattern.last, meter) else { return false };
        match self.report {
            Report::Maximal => self.push((Kind::Match, now), place, found),
            Report::Instances => {
                self.push((Kind::Match, now), place, found);
                let earliest = self.fixpoint.component(place).map(|edge| edge.number).next();
                if let Some(earliest) = earliest {
                    let held = self.window.get(earliest);
                    let cursor = ConsumptionCursor { at: held.at, ties: held.tie };
                    self.cursor = Some(cursor);
                    self.consume(cursor, meter);
                    // The match is gone.
                    self.look = Look::default();
                }
            }
            Report::Changes => {
                let question = Question { pattern: &self.pattern, window: &self.window, number, may_match: 0 };
                let component = self.fixpoint.component(place).map(|edge| (edge.number, edge.pairs));
                self.changes.enter(&question, component, now, found);
            }
        }
        true
    }

    /// Finds the match component of an edge that could match these query edges.
    fn search(&mut self, number: Number, may_match: u64, meter: &mut Meter<'_>) -> Option<usize> {
        let question = Question { pattern: &self.pattern, window: &self.window, number, may_match };
        self.funnel.searched += 1;
        if !self.engine.admits(&question, &mut self.funnel) {
            return None;
        }
        self.funnel.verifications_due += 1;
        let (steps, start) = (meter.taken(), self.probe.map(|probe| (probe.clock)()));
        let work = Work::Search(meter);
        let mut means = Means { fixpoint: &mut self.fixpoint, look: &mut self.look, work, funnel: &mut self.funnel };
        let found = self.engine.verify(&question, &mut means);
        self.funnel.matched += u64::from(found.is_some());
        self.funnel.verifying_steps += meter.taken() - steps;
        if let Some((probe, start)) = self.probe.zip(start) {
            self.funnel.verifying_nanoseconds += (probe.clock)() - start;
        }
        found
    }

    /// Reports the component that the fixpoint found for an edge.
    fn push(&self, (kind, detected_at): (Kind, Time), place: usize, found: &mut Found) {
        let named = || self.fixpoint.component(place).map(|edge| (self.window.get(edge.number).edge, edge.pairs));
        if let Some((id, _)) = named().next() {
            found.push((kind, detected_at, id), pairs(named()), None);
        }
    }

    /// Removes all edges at or before the cursor.
    fn consume(&mut self, cursor: ConsumptionCursor, meter: &mut Meter<'_>) {
        while let Some((number, held)) = self.window.oldest()
            && (ConsumptionCursor { at: held.at, ties: held.tie }) <= cursor
        {
            self.funnel.consumed += 1;
            self.depart(number, meter);
        }
    }

    fn leave(&mut self, leaving: &[Number], emitted: (Time, &mut Found), meter: &mut Meter<'_>) {
        let work = Work::Upkeep(meter);
        let mut means = Means { fixpoint: &mut self.fixpoint, look: &mut self.look, work, funnel: &mut self.funnel };
        self.changes.leave(&self.pattern, &self.window, leaving, emitted, &mut means);
    }

    fn depart(&mut self, number: Number, meter: &mut Meter<'_>) {
        self.engine.depart(&self.pattern, &self.window, number, &mut Work::Upkeep(meter));
        if self.report == Report::Changes {
            self.changes.depart(number);
        }
        self.window.remove(number);
    }
}
