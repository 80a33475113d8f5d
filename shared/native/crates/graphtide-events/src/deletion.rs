//! What the deletion of an event brings about: matches that have it are retracted.
//!
//! Emitted matches are not stored: they are found again among the events of the lookback. Counts are remembered as long as they
//! may be retracted. Where timeouts are reported, the first events of retracted matches are remembered until their time is
//! over.
//! Cost: that of finding the matches that have the event.

use graphtide_engine::meter::Meter;
use graphtide_engine::output::{Kind, MatchCount};
use graphtide_graph::store::EdgeRef;
use graphtide_graph::{Time, clock};

use crate::bound::{Bound, Stored};
use crate::compile::{Compiled, Vertex};
use crate::count::{Asked, Must};
use crate::detection::Detection;
use crate::occurrences::{Header, Occurrences};
use crate::past::{Gone, Past, Scope, earliest_alive};
use crate::plan::Report;
use crate::program::ones;
use crate::search::Search;
use crate::signatures::SignatureId;
use crate::verifier::{Verifier, settled_at};
use crate::view::Events;

impl Detection {
    /// Takes back an event, at a time that was let pass: retracts the matches within the lookback that have it.
    pub fn delete(&mut self, event: EdgeRef, now: Time, events: Events<'_>, out: &mut Occurrences, meter: &mut Meter<'_>) {
        let place = [event];
        let mut signatures: Vec<SignatureId> = Vec::new();
        self.satisfied(events.kind(event), &events.one(&place), meter, |signature| signatures.push(signature));
        let lost = self.retract(event, &signatures, now, events, out, meter);
        let newest = events.store.newest().map_or(event, |(newest, _)| newest);
        self.deletions.insert(event.0, Gone { at: now, newest });
        self.gone.add(events.store.get(event).ts, event.0);
        for (pattern, completing) in lost {
            let is_void = completing == event || !self.has_left(pattern, completing, now, events, meter);
            let Some(emitted) = is_void.then(|| self.tallies.take(pattern, completing)).flatten() else { continue };
            // Nothing was emitted before the pattern began.
            if !self.is_silent() && self.patterns[pattern as usize].counts(completing) {
                let header =
                    Header { pattern, branch: emitted.branch, kind: Kind::Retract, detected_at: now, count: emitted.count };
                let own = &self.patterns[pattern as usize];
                out.push(header, own, emitted.witness.slots(), events, |f| emitted.witness.each(f));
            }
        }
    }

    /// Retracts single matches; returns the counts that have lost one, by pattern and completing event. Silent or not, it notes
    /// whose first events have no timeout.
    fn retract(
        &mut self,
        event: EdgeRef,
        signatures: &[SignatureId],
        now: Time,
        events: Events<'_>,
        out: &mut Occurrences,
        meter: &mut Meter<'_>,
    ) -> Vec<(u32, EdgeRef)> {
        let is_silent = self.is_silent();
        let Self { compiled, patterns, deletions, deferred, tallies, bound, .. } = self;
        let Compiled { vertices, signatures: all, buffers, instances, places, .. } = compiled;
        let verifier = Verifier { vertices, patterns, past: Past { events, buffers, instances, signatures: all, deletions } };
        let reports = |vertex: &Vertex, report| {
            vertex.patterns.iter().any(|&(pattern, _)| verifier.patterns[pattern as usize].report == report)
        };
        let mut own = Bound::default();
        for &(number, slot) in signatures.iter().flat_map(|signature| &places[signature.place()]) {
            let vertex = &vertices[number as usize];
            let is_listed = reports(vertex, Report::All) && !is_silent;
            let times_out = |&&(pattern, _): &&(u32, u32)| !verifier.patterns[pattern as usize].beginnings.is_empty();
            if !is_listed && !vertex.patterns.iter().any(|pattern| times_out(&pattern)) {
                continue;
            }
            let mut began = |first: EdgeRef| {
                let waits = events.store.get(first).ts >= clock::subtract(now, vertex.shape.within);
                for &(pattern, _) in vertex.patterns.iter().filter(times_out).filter(|_| waits) {
                    deferred.retract(pattern, first);
                }
            };
            let matches = verifier.matches_with(number, slot, event, now, bound, meter);
            if meter.is_refused() {
                // What was cut may have missed a match: none of those with which one could have begun has a timeout.
                let (firsts, to) = (verifier.past.buffers.list(vertex.shape.slots[0].signature), events.store.get(event).ts);
                crate::buffers::between(firsts, clock::subtract(to, vertex.shape.within), to)
                    .for_each(|each| began(each.event));
            }
            for stored in matches {
                began(stored.events[0]);
                if !is_listed {
                    continue;
                }
                let last = stored.last();
                own.restore(&vertex.shape, &stored, events);
                let (settled, first) = (settled_at(vertex, &own), own.span().0);
                for &(pattern, branch) in &vertex.patterns {
                    let emitted = &verifier.patterns[pattern as usize];
                    let is_emitted =
                        emitted.report == Report::All && emitted.counts(last) && first >= earliest_alive(now, emitted.lookback);
                    if is_emitted && verifier.is_of_branch(emitted, branch, settled, &stored, bound, meter) {
                        let header = Header { pattern, branch, kind: Kind::Retract, detected_at: now, count: MatchCount::ONE };
                        out.push(header, emitted, stored.slots(), events, |f| stored.each(f));
                    }
                }
            }
        }
        let mut lost = tallies.emitted_from(event);
        lost.retain(|&(pattern, completing)| {
            let counts = verifier.patterns[pattern as usize].counts(completing);
            counts && verifier.has(pattern, completing, Some(event), now, bound, meter)
        });
        lost
    }

    /// Whether an event still completes a match of a pattern.
    fn has_left(&mut self, pattern: u32, completing: EdgeRef, now: Time, events: Events<'_>, meter: &mut Meter<'_>) -> bool {
        let Self { compiled, patterns, deletions, bound, .. } = self;
        let Compiled { vertices, signatures, buffers, instances, .. } = compiled;
        let verifier = Verifier { vertices, patterns, past: Past { events, buffers, instances, signatures, deletions } };
        verifier.has(pattern, completing, None, now, bound, meter)
    }
}

impl Verifier<'_> {
    /// The matches of a vertex in which an event fills a slot, whose bounds have passed and whose events are all within the
    /// lookback.
    fn matches_with(
        &self,
        number: u32,
        slot: u8,
        event: EdgeRef,
        now: Time,
        bound: &mut Bound,
        meter: &mut Meter<'_>,
    ) -> Vec<Stored> {
        let vertex = &self.vertices[number as usize];
        let mut found = Vec::new();
        let lookback = vertex.patterns.iter().map(|&(pattern, _)| self.patterns[pattern as usize].lookback).max().unwrap_or(0);
        let from = earliest_alive(now, lookback);
        if self.past.events.store.get(event).ts < from {
            return found;
        }
        if !vertex.shape.takes_runs() {
            let scope = Scope { from, ..Scope::ALL };
            self.search(number, slot, event, scope, now, bound, meter, &mut |stored, _| {
                found.push(stored);
                true
            });
            return found;
        }
        // What a run takes depends on when it was complete: each event that may have completed one is tried.
        for (place, each) in (0..).zip(&vertex.shape.slots) {
            for entry in crate::buffers::between(self.past.buffers.list(each.signature), from, now) {
                let completing = entry.event;
                if completing != event && completing.is_before(event) || self.past.deletions.contains_key(&completing.0) {
                    continue;
                }
                let scope = Scope { from, until: Some(completing), as_of: Some(completing), ..Scope::ALL };
                self.search(number, place, completing, scope, now, bound, meter, &mut |stored, _| {
                    let mut has_event = false;
                    stored.each(&mut |of, other| has_event |= of == slot && other == event);
                    if has_event && !self.has_deleted(&stored) {
                        found.push(stored);
                    }
                    true
                });
            }
        }
        found
    }

    /// Whether an event completed a match of a pattern that has another event and can be retracted, or any that was not.
    fn has(
        &self,
        pattern: u32,
        completing: EdgeRef,
        with: Option<EdgeRef>,
        now: Time,
        bound: &mut Bound,
        meter: &mut Meter<'_>,
    ) -> bool {
        let own = &self.patterns[pattern as usize];
        let mut has = false;
        for (branch, &number) in (0..).zip(&own.branches) {
            let vertex = &self.vertices[number as usize];
            if !vertex.counters.is_empty() {
                if self.counts(vertex, completing, with, (now, own.lookback), meter) {
                    return true;
                }
                continue;
            }
            let slots = 0..vertex.shape.slots.len() as u8;
            let from = if with.is_some() { earliest_alive(now, own.lookback) } else { Time::MIN };
            if with.is_some_and(|with| self.past.events.store.get(with).ts < from) {
                continue;
            }
            for slot in slots.clone().filter(|&slot| self.fits(vertex, slot, completing)) {
                let mut pins: Vec<Option<(u8, EdgeRef)>> = vec![None];
                if let Some(with) = with.filter(|&with| with != completing) {
                    let pinned = slots.clone().filter(|&other| other != slot || vertex.shape.lists >> slot & 1 == 1);
                    pins = pinned.filter(|&other| self.fits(vertex, other, with)).map(|other| Some((other, with))).collect();
                }
                for pinned in pins {
                    let (until, as_of) = (Some(completing), Some(completing));
                    let scope = Scope { from, until, as_of, pinned, ..Scope::ALL };
                    let mut own_bound = Bound::default();
                    self.search(number, slot, completing, scope, now, bound, meter, &mut |stored, meter| {
                        own_bound.restore(&vertex.shape, &stored, self.past.events);
                        let (settled, first) = (settled_at(vertex, &own_bound), own_bound.span().0);
                        let is_there = match with {
                            Some(with) => stored.events.contains(&with) && !self.has_deleted(&stored),
                            None => self.outlived(&stored, first, own.lookback),
                        };
                        has = is_there && self.is_of_branch(own, branch, settled, &stored, &mut own_bound, meter);
                        !has
                    });
                    if has {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// As [`has`](Self::has), of a vertex whose instances are counted.
    fn counts(
        &self,
        vertex: &Vertex,
        completing: EdgeRef,
        with: Option<EdgeRef>,
        (now, lookback): (Time, Time),
        meter: &mut Meter<'_>,
    ) -> bool {
        let mut any = |scope: Scope<'_>, must: Must| {
            let fitting = vertex.counters.iter().zip(0..).filter(|&(_, slot)| self.fits(vertex, slot, completing));
            fitting.into_iter().any(|(counter, _)| {
                let asked = Asked { scope: Scope { until: Some(completing), ..scope }, must };
                let counted = counter.count(&self.past, &vertex.shape, asked, completing, meter);
                counted.is_some_and(|counted| !counted.count.is_zero())
            })
        };
        if let Some(with) = with {
            let from = earliest_alive(now, lookback);
            let is_alive = self.past.events.store.get(with).ts >= from;
            return is_alive && any(Scope { from, ..Scope::ALL }, Must::Have(with));
        }
        if any(Scope::ALL, Must::Nothing) {
            return true;
        }
        // A match that has lost an event counts if it had begun too early to be taken back with it.
        let mut begins: Vec<Time> = self.past.deletions.values().map(|gone| earliest_alive(gone.at, lookback)).collect();
        begins.sort_unstable();
        begins.dedup();
        let scope = Scope { as_of: Some(completing), ..Scope::ALL };
        begins.into_iter().any(|begin| any(scope, Must::Begin(begin, lookback)))
    }

    /// Whether an instance that begins at a time was not taken back with events of it: those that were deleted came too late
    /// for it.
    fn outlived(&self, stored: &Stored, first: Time, lookback: Time) -> bool {
        let gone = stored.events.iter().filter_map(|event| self.past.deletions.get(&event.0));
        gone.into_iter().all(|gone| first < earliest_alive(gone.at, lookback))
    }

    /// Whether an event may fill a slot by itself.
    pub(crate) fn fits(&self, vertex: &Vertex, slot: u8, event: EdgeRef) -> bool {
        let signature = self.past.signatures.get(vertex.shape.slots[usize::from(slot)].signature);
        signature.fits(self.past.events.kind(event), &self.past.events.at(&[event]))
    }

    /// Calls `f` with each match of a vertex in which an event fills a slot and whose bounds have passed, until it returns
    /// false.
    #[allow(clippy::too_many_arguments)] // what a search is asked, one by one
    fn search(
        &self,
        number: u32,
        slot: u8,
        event: EdgeRef,
        scope: Scope<'_>,
        now: Time,
        bound: &mut Bound,
        meter: &mut Meter<'_>,
        f: &mut dyn FnMut(Stored, &mut Meter<'_>) -> bool,
    ) {
        let vertex = &self.vertices[number as usize];
        let (shape, past) = (&vertex.shape, self.past);
        let has_come = |slot: u8| {
            let list = past.buffers.list(shape.slots[usize::from(slot)].signature);
            list.back().is_some()
        };
        if !ones(crate::plan::mask_below(shape.slots.len())).all(has_come) {
            return;
        }
        let mut found = |bound: &mut Bound, meter: &mut Meter<'_>| {
            let has_passed = bound.bound_of(shape).is_none_or(|until| until < now);
            if !has_passed || self.is_blocked(vertex, bound, meter) {
                return true;
            }
            f(Stored::of(number, shape, bound), meter)
        };
        let mut search = Search { past, shape, aggregates: &vertex.aggregates, scope, bound, meter, found: &mut found };
        search.run(vertex.alone(slot), slot, event);
    }
}
