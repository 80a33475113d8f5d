//! What is reported of the matches that units found: which of them, under which names, in which order.
//!
//! Rows of subgraph patterns wait until they are handed over, as references into the window. What other units find goes out at
//! once, behind the rows before it: so matches are in the order of detection. Matches of a stream that may delete are
//! remembered, to be retracted. Of patterns that do not report all matches, [`deduplication`](super::deduplication) decides.
//! Cost: O(1) a match, with its parts; a comparison a hand-over that has nothing.

use std::sync::Arc;

use graphtide_engine::arrival::Deleted;
use graphtide_engine::engine::Engine;
use graphtide_engine::ids::{PatternId, UnitId};
use graphtide_engine::lists::Postings;
use graphtide_engine::meter::Meter;
use graphtide_engine::output::{FoundRow, Kind, MatchBatch, PatternNames, Recipient, Recipients, Rows};
use graphtide_graph::Time;
use graphtide_graph::clock::Now;
use graphtide_graph::store::EdgeRef;
use hashbrown::HashSet;
use rustc_hash::FxBuildHasher;

use super::deduplication::{Candidate, PastOrder, Say, Silent, digest};
use super::query::Query;
use super::reported::Reported;
use super::subgraphs::unit::SubgraphUnit;
use super::unit_ref::UnitRef;
use super::window::Window;

/// What rows refer to.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// By number: who found them.
    pub units: &'a [SubgraphUnit],
    /// The lists that units read.
    pub postings: &'a Postings,
    /// The edges and vertices.
    pub window: &'a Window,
}

/// The output of a pass.
#[derive(Debug)]
pub struct Output {
    /// Matches of subgraph patterns, before the hand-over.
    pub rows: Rows,
    /// By number: the names of patterns.
    pub names: Arc<[Arc<PatternNames>]>,
    /// Matches that may be retracted; where edges may be deleted.
    pub reported: Option<Reported>,
    /// Whether some pattern may not report all of its matches.
    is_selective: bool,
    /// Matches that other units handed over since the chunk began.
    others: usize,
    /// Matches reported.
    matches: u64,
}

impl<'a> Sources<'a> {
    /// The unit of a subgraph pattern.
    fn unit_of(&self, query: &Query) -> Option<&'a SubgraphUnit> {
        query.unit.and_then(UnitRef::subgraph).map(|unit| &self.units[unit.place()])
    }

    /// Whether matches of a pattern of a unit may be missing.
    pub fn has_shed(&self, query: &Query) -> bool {
        self.unit_of(query).is_some_and(|unit| unit.has_shed_of(query, self.postings))
    }

    /// The rows of matches of patterns that do not report all.
    fn candidates(&self, rows: &Rows, queries: &[Query]) -> Vec<Candidate> {
        let Window { store, vertices, .. } = self.window;
        let (mut found, mut place, mut bytes) = (Vec::new(), 0, Vec::new());
        rows.each(|unit, detected_at, row| {
            let unit = &self.units[unit.place()];
            for &pattern in &unit.members {
                let query = &queries[pattern.place()];
                let Some(deduplication) = query.deduplication.as_ref().filter(|_| row.kind() == Kind::Match) else { continue };
                let rank = |edge: EdgeRef| PastOrder::rank(unit.past.as_deref(), edge, store);
                let order = match row {
                    FoundRow::Assignment { edges, .. } => edges.iter().map(|&edge| (rank(edge), 0)).collect(),
                    FoundRow::Component { pairs, .. } => pairs.iter().map(|&(of, edge)| (rank(edge), of)).collect(),
                };
                let key = deduplication.once.as_ref().map(|_| {
                    bytes.clear();
                    query.names.key(&row, store, vertices, &mut bytes);
                    digest(&bytes)
                });
                // A component is like no other.
                found.push(Candidate { pattern, place, detected_at, order, key });
            }
            place += 1;
        });
        found
    }
}

impl Output {
    /// Nothing yet; matches are remembered if edges may be deleted.
    pub fn new(has_deletions: bool) -> Self {
        Self {
            rows: Rows::default(),
            names: Arc::default(),
            reported: has_deletions.then(Reported::default),
            is_selective: false,
            others: 0,
            matches: 0,
        }
    }

    /// Takes the names of the patterns, now that they changed, and for whom rows are.
    pub fn rename(&mut self, queries: &[Query]) {
        self.names = queries.iter().map(|query| Arc::clone(&query.names)).collect();
        self.rows.forget_recipients();
    }

    /// Takes a pattern that may not report all of its matches, if it is one.
    pub fn take_selective(&mut self, query: &Query) {
        self.is_selective |= query.deduplication.is_some();
    }

    /// Whether some pattern may not report all of its matches.
    pub fn is_selective(&self) -> bool {
        self.is_selective
    }

    /// Matches reported.
    pub fn matches(&self) -> u64 {
        self.matches
    }

    /// Begins a chunk of records.
    pub fn begin_chunk(&mut self) {
        self.others = 0;
    }

    /// Matches that the chunk found and that are held, or were handed over by other units.
    #[inline]
    pub fn found(&self) -> usize {
        self.rows.len() + self.others
    }

    /// Whether rows must know for whom they are, and do not: that changed.
    pub fn lacks_recipients(&self, meter: &Meter<'_>) -> bool {
        meter.most() < usize::MAX && !self.rows.are_addressed()
    }

    /// Assigns rows to their patterns; `shed` are the patterns that may lack matches.
    pub fn address(&mut self, from: Sources<'_>, queries: &[Query], shed: Vec<PatternId>) {
        let of = |unit: &SubgraphUnit| {
            let tellings = || unit.members.iter().map(|member| queries[member.place()].deduplication.as_deref());
            Recipient {
                members: unit.members.clone(),
                bytes: unit.guard.limits.state_bytes,
                is_selective: tellings().any(|deduplication| deduplication.is_some()),
                is_distinct: unit.past.is_none()
                    && tellings().all(|deduplication| deduplication.is_some_and(|own| own.is_distinct && own.once.is_none())),
            }
        };
        let recipients = Recipients { names: Arc::clone(&self.names), units: from.units.iter().map(of).collect() };
        self.rows.address(recipients, shed.into_iter());
    }

    /// Lets rows know how many are handed on at once.
    pub fn begin(&mut self, meter: &Meter<'_>) {
        if meter.most() < usize::MAX {
            self.rows.begin(meter.most(), self.reported.is_some());
        }
    }

    /// Turns the rows found into matches that own their texts.
    pub fn hand_over(&mut self, from: Sources<'_>, queries: &mut [Query], out: &mut MatchBatch, meter: &mut Meter<'_>) {
        let (now, start) = (from.window.clocks.now(), out.len());
        let silent = if self.is_selective && !self.rows.is_empty() { self.silence(from, queries) } else { Silent::default() };
        let Self { rows, reported, .. } = self;
        let (mut matches, mut place) = (0, 0..);
        for (unit, kind, count) in rows.take_gone() {
            for &pattern in &from.units[unit.place()].members {
                queries[pattern.place()].reports.count_all(kind, count);
                matches += if kind == Kind::Match { count } else { 0 };
            }
        }
        rows.each(|unit, detected_at, found| {
            let (unit, place) = (&from.units[unit.place()], place.next().unwrap_or_default());
            for &pattern in &unit.members {
                if !silent.emits(place, pattern) {
                    queries[pattern.place()].reports.suppressed += u64::from(silent.suppresses(place, pattern));
                    continue;
                }
                queries[pattern.place()].reports.count(found.kind());
                matches += u64::from(found.kind() == Kind::Match);
                // Other layouts are retracted by their engines.
                if let (Some(reported), FoundRow::Assignment { edges, vertices }) = (&mut *reported, &found) {
                    let kept = Now { ts: detected_at, ..now };
                    reported.keep((pattern, unit.clock), kept, (edges, vertices), &from.window.store);
                }
            }
        });
        self.matches += matches;
        let shed = |pattern: PatternId| from.has_shed(&queries[pattern.place()]);
        let members = |unit: UnitId| from.units[unit.place()].members.as_slice();
        let is_emitted = |place: usize, pattern: PatternId| silent.emits(place, pattern);
        // What is noted of matches is read off the batch.
        let is_noted = self.is_selective && self.reported.is_some();
        let most = if is_noted { meter.hold_matches() } else { meter.most() };
        let window = (&from.window.store, &from.window.vertices);
        out.take_rows(&self.rows, &self.names, members, (is_emitted, shed), window, meter);
        meter.hand_on_from(most);
        self.rows.clear();
        if is_noted {
            out.retain_from(start, |batch, index| {
                let found = batch.get(index, &self.names);
                queries[found.pattern.place()].notes(found.kind, found.detected_at, |query| query.names.match_id(&found))
            });
        }
    }

    /// Decides which of the rows at hand are not reported, where some pattern does not report all.
    #[cold]
    fn silence(&self, from: Sources<'_>, queries: &mut [Query]) -> Silent {
        let mut candidates = from.candidates(&self.rows, queries);
        candidates.sort_unstable_by(Candidate::first);
        let (mut silent, mut seen) = (Silent::default(), HashSet::<_, FxBuildHasher>::default());
        for found in candidates {
            let query = &mut queries[found.pattern.place()];
            let Some(deduplication) = &mut query.deduplication else { continue };
            if deduplication.is_distinct && !seen.insert((found.pattern, found.edges())) {
                silent.repeat(found.place, found.pattern);
                continue;
            }
            let said = match (&mut deduplication.once, &found.key) {
                (Some(once), Some(key)) => once.decide(found.detected_at, key),
                _ => Say::Emitted,
            };
            query.shed |= said == Say::Overflow;
            if said == Say::Suppressed {
                silent.suppress(found.place, found.pattern);
            }
        }
        silent
    }

    /// Retracts the matches that have a deleted edge, of patterns whose engines do not.
    pub fn retract(
        &mut self,
        Deleted { edge, now, .. }: Deleted,
        from: Sources<'_>,
        queries: &mut [Query],
        out: &mut MatchBatch,
        meter: &mut Meter<'_>,
    ) {
        let Self { reported: Some(reported), names, .. } = self else { return };
        let Window { store, vertices, .. } = from.window;
        reported.retract(edge, meter, |found, meter| {
            if out.len() >= meter.most() {
                meter.hand_on(out);
            }
            let query = &mut queries[found.pattern.place()];
            let Some(unit) = from.unit_of(query) else { return false };
            // What the window of the pattern has passed may be another edge's place in the store by now.
            if found.first < now.alive_from(unit.clock, unit.engine.lookback()) {
                return false;
            }
            let times = found.edges.iter().map(|&edge| store.get(edge).ts);
            let (first, last) = times.fold((Time::MAX, Time::MIN), |(first, last), ts| (first.min(ts), last.max(ts)));
            query.reports.count(Kind::Retract);
            let head = (found.pattern, Kind::Retract, query.shed || unit.guard.shed);
            let (parts, place) = ((found.edges.as_slice(), found.vertices.as_slice()), out.len());
            out.push(head, (now.ts, first, last), parts, &query.names, (store, vertices));
            if query.deduplication.is_some() {
                out.retain_from(place, |batch, index| {
                    query.notes(Kind::Retract, now.ts, |query| query.names.match_id(&batch.get(index, names)))
                });
            }
            true
        });
    }

    /// Hands over what a unit with a store of its own found, behind the rows before it. `f` appends it and returns how many
    /// matches that is.
    #[inline]
    pub fn append(
        &mut self,
        queries: &mut [Query],
        out: &mut MatchBatch,
        f: impl FnOnce(&mut [Query], &mut MatchBatch) -> u64,
    ) {
        let before = out.len();
        self.matches += f(queries, out);
        self.others += out.len().saturating_sub(before);
    }

    /// Bytes that matches which may be retracted take, and what patterns reported once.
    pub fn bytes(&self, queries: &[Query]) -> usize {
        let emitted = if self.is_selective { queries.iter().map(Query::emitted_bytes).sum() } else { 0 };
        self.reported.as_ref().map_or(0, Reported::bytes) + emitted
    }

    /// Forgets the matches of a pattern: they are not retracted.
    pub fn forget(&mut self, pattern: PatternId) {
        if let Some(reported) = &mut self.reported {
            reported.forget(pattern);
        }
    }

    /// Forgets matches that have left all windows.
    pub fn expire(&mut self, alive_from: Now, meter: &mut Meter<'_>) {
        if let Some(reported) = &mut self.reported {
            reported.expire(alive_from, meter);
        }
    }
}
