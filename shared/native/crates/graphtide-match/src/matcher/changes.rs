//! Finds the patterns whose counts have changed.
//!
//! What a pattern counts changes where an edge satisfies one of its query edges, or where it holds something, which may expire.
//! So a look compares the hits of the signatures with those of the last look. It goes to the patterns of those that differ, and
//! to those that held something then. Where more changed than are asked for, calls return them in rotation, those at a limit
//! first. Event patterns and graph queries count no hits: each is looked at.
//! Cost: O(signatures) of eight bytes each, and the patterns looked at. Where edges are deleted it is also a look at each
//! pattern's retractions. It costs nothing while records are taken.

use graphtide_engine::engine::Engine;
use graphtide_engine::ids::{PatternId, SignatureId};
use graphtide_engine::lists::Postings;

use super::query::Query;
use super::status::AllUnits;
use super::subgraphs::Subgraphs;
use super::subgraphs::unit::SubgraphUnit;
use super::unit::Unit;
use super::unit_ref::UnitRef;

/// What was said of the patterns at the last look.
#[derive(Debug, Default)]
pub struct Changes {
    /// Of every signature.
    hits: Vec<u64>,
    /// Of every pattern.
    pattern_counts: Vec<PatternCounts>,
    /// Patterns that held something, or that had no turn.
    waiting: Vec<PatternId>,
    /// The next one in rotation.
    next: u32,
}

/// What may be said of a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PatternCounts {
    candidates: u64,
    matches: u64,
    retractions: u64,
    suppressed: u64,
    limited: u64,
    work: u64,
    live: usize,
    bytes: usize,
    paused: bool,
}

impl Changes {
    /// Marks a pattern as changed, whatever it counts: it has another plan.
    pub fn replanned(&mut self, number: PatternId, patterns: usize) {
        self.pattern_counts.resize(patterns, PatternCounts::default());
        self.pattern_counts[number.place()].candidates = u64::MAX;
        self.waiting.push(number);
    }

    /// Looks at a pattern that came: it may hold something.
    pub fn added(&mut self, number: PatternId) {
        self.waiting.push(number);
    }

    /// Forgets a pattern that was removed.
    pub fn forget(&mut self, number: PatternId) {
        if let Some(pattern_counts) = self.pattern_counts.get_mut(number.place()) {
            *pattern_counts = PatternCounts::default();
        }
        self.waiting.retain(|&other| other != number);
    }

    /// Forgets a signature, whose number is given again.
    pub fn forget_signature(&mut self, signature: SignatureId) {
        if let Some(hits) = self.hits.get_mut(signature.place()) {
            *hits = 0;
        }
    }
}

impl PatternCounts {
    fn of(query: &Query, unit: &SubgraphUnit, hits: &[u64], postings: &Postings) -> Self {
        let counts = unit.counts_since(query.counts_before);
        Self {
            candidates: unit.hits_of(query, hits).sum(),
            matches: query.reports.matches,
            retractions: query.reports.retractions,
            suppressed: query.reports.suppressed,
            limited: counts.limited,
            work: counts.work,
            live: unit.engine.live(),
            bytes: unit.bytes(postings) + query.emitted_bytes(),
            paused: unit.guard.paused,
        }
    }

    /// A pattern whose records no signature counts. Its work and bytes change with every record, so they are reported with the
    /// rest.
    fn of_own(number: PatternId, query: &Query, unit: &impl Unit) -> Self {
        Self {
            candidates: query.reports.timeouts + query.reports.extensions,
            matches: query.reports.matches,
            retractions: query.reports.retractions,
            suppressed: query.reports.suppressed,
            limited: unit.guard().counts.limited,
            work: 0,
            live: unit.live_of(number),
            bytes: 0,
            paused: unit.guard().paused,
        }
    }

    fn holds(&self) -> bool {
        self.live > 0 || self.bytes > 0
    }
}

impl AllUnits<'_> {
    fn pattern_counts(&self, number: PatternId, query: &Query) -> Option<PatternCounts> {
        Some(match query.unit? {
            UnitRef::Subgraph(unit) => {
                let Subgraphs { units, hits, postings, .. } = self.subgraphs;
                PatternCounts::of(query, &units[unit.place()], hits, postings)
            }
            UnitRef::Events(unit) => PatternCounts::of_own(number, query, self.own.events.get(unit)),
            UnitRef::Graph(unit) => PatternCounts::of_own(number, query, self.own.graphs.get(unit)),
        })
    }
}

impl Changes {
    /// Returns the patterns whose counts are not what they were when they had their last turn, so many at most. Of a new
    /// pattern they were 0. Matches that nobody holds may be retracted, if so said.
    pub fn take(&mut self, queries: &[Query], units: AllUnits<'_>, may_retract: bool, most: usize) -> Vec<PatternId> {
        let Self { hits, pattern_counts, waiting, next } = self;
        let Subgraphs { hits: hits_now, dispatch, .. } = units.subgraphs;
        hits.resize(hits_now.len(), 0);
        pattern_counts.resize(queries.len(), PatternCounts::default());
        let mut candidates = std::mem::take(waiting);
        for (signature, (now, before)) in (0..).zip(hits_now.iter().zip(hits)) {
            if now != before {
                *before = *now;
                let targets = dispatch.targets(SignatureId(signature));
                candidates.extend(targets.iter().flat_map(|target| &units.subgraphs.units[target.unit.place()].members));
            }
        }
        if may_retract {
            let pairs = (0..).zip(queries.iter().zip(&*pattern_counts));
            candidates.extend(
                pairs
                    .filter(|(_, (now, emitted))| now.reports.retractions != emitted.retractions)
                    .map(|(number, _)| PatternId(number)),
            );
        }
        let without_hits = |query: &Query| query.unit.is_some_and(|unit| unit.subgraph().is_none());
        let others = (0..).map(PatternId).zip(queries).filter(|(_, query)| without_hits(query));
        candidates.extend(others.map(|(number, _)| number));
        candidates.sort_unstable();
        candidates.dedup();
        let mut changed: Vec<(bool, PatternId, PatternCounts)> = Vec::new();
        let turn = candidates.partition_point(|&number| number.0 < *next);
        candidates.rotate_left(turn);
        for number in candidates {
            let Some(now) = units.pattern_counts(number, &queries[number.place()]) else { continue };
            let before = pattern_counts[number.place()];
            if now != before {
                changed.push(((now.limited > 0, now.paused) == (before.limited > 0, before.paused), number, now));
            } else if now.holds() {
                waiting.push(number);
            }
        }
        changed.sort_by_key(|&(has_time, ..)| has_time);
        for &(has_time, number, now) in &changed[..most.min(changed.len())] {
            pattern_counts[number.place()] = now;
            if has_time {
                *next = number.0 + 1;
            }
        }
        waiting
            .extend(changed.iter().enumerate().filter(|(place, (.., now))| *place >= most || now.holds()).map(|(_, of)| of.1));
        changed.truncate(most);
        changed.into_iter().map(|(_, number, _)| number).collect()
    }
}
