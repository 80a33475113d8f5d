//! A unit of subgraph patterns: an engine with the patterns that it matches.
//!
//! Most units have one pattern. Patterns that differ in names alone may be one unit. What one of them finds all find, each
//! under its names, and the state is held once ([`membership`](crate::matcher::membership)).
//!
//! A new engine is given the state that it would have if it had been there all along. A matcher whose patterns may change keeps
//! every edge that some query edge could be, with the signatures that it satisfied. The engine takes those of its patterns in
//! stream order. Lists that it reads are detached meanwhile, because they have edges that come later. Those that nobody had
//! kept as it needs them stay as they come out. Edges of one time may come in another order than they had. What an engine
//! stores does not depend on that, since an order of query edges is one of times.
//! Cost: O(edges given) to replay.

use graphtide_engine::arrival::{Arrival, Deleted, Deletion, Drained, Outcome};
use graphtide_engine::engine::{Engine, Explained, Usage};
use graphtide_engine::ids::{PatternId, ReaderId, RingId, SignatureId};
use graphtide_engine::limits::LimitPolicy;
use graphtide_engine::lists::Postings;
use graphtide_engine::meter::{Meter, Refusal};
use graphtide_engine::output::{FoundRow, ItemReport, Rows};
use graphtide_engine::trace::{Trace, Tracer, Untraced};
use graphtide_graph::clock::{Clock, Now};
use graphtide_graph::store::EdgeRef;
use graphtide_isomorphism::prefix_tree::is_shareable;
use smallvec::SmallVec;

use crate::matcher::deduplication::{PastOrder, repeated};
use crate::matcher::engine::AnyEngine;
use crate::matcher::past::Recalled;
use crate::matcher::query::Query;
use crate::matcher::reported::Reported;
use crate::matcher::satisfied::Mark;
use crate::matcher::unit::{Counts, Guard, LimitReached, Removal, Unit, Warm};
use crate::matcher::window::Window;
use crate::matcher::work_budgets::{Bounded, SAVED};

/// An engine and the patterns that it matches.
#[derive(Debug)]
pub struct SubgraphUnit {
    /// Its patterns, in their order; none where it is vacant.
    pub members: SmallVec<[PatternId; 1]>,
    /// What matches them.
    pub engine: AnyEngine,
    /// What the window counts.
    pub clock: Clock,
    /// Signatures of its edges, by position.
    pub signatures: Vec<SignatureId>,
    /// Who it is to the shared lists.
    pub reader: ReaderId,
    /// The shared lists that it reads, each once.
    pub lists: Vec<RingId>,
    /// Limits, and what came of them.
    pub guard: Guard,
    /// Whether its engine may hold something since an edge came to it.
    pub is_occupied: bool,
    /// The order of the edges of its past, if it may not emit all of its matches.
    pub past: Option<Box<PastOrder>>,
    /// Its trace, if it is traced.
    pub trace: Option<Box<Trace>>,
    /// Whether its searches may be shared: all edges of its signatures are kept for that.
    pub is_shared: bool,
}

/// An edge that one query edge could be.
pub struct Candidate<'a> {
    /// The edge.
    pub arrival: &'a Arrival<'a>,
    /// The query edge.
    pub query_edge: u8,
    /// The lists, which do not have the edge yet.
    pub postings: &'a Postings,
    /// Whether the unit may be traced.
    pub is_traced: bool,
}

/// The past of a unit.
pub struct Replayed<'a> {
    /// Its edges.
    pub recalled: &'a Recalled,
    /// The window, which has them.
    pub window: &'a Window,
    /// The lists.
    pub postings: &'a mut Postings,
    /// Whether of matches that have the same edges the first alone counts.
    pub is_distinct: bool,
    /// Matches that may be retracted, by their reported edges.
    pub reported: Option<&'a mut Reported>,
}

impl Unit for SubgraphUnit {
    type Record<'a> = Candidate<'a>;
    type Deletion<'a> = &'a Deleted;
    type Past<'a> = Replayed<'a>;
    type Found = Rows;

    fn members(&self) -> impl Iterator<Item = PatternId> {
        self.members.iter().copied()
    }

    #[inline]
    fn guard(&self) -> &Guard {
        &self.guard
    }

    #[allow(clippy::inline_always)] // every edge that a query edge could be
    #[inline(always)]
    fn insert(&mut self, record: Candidate<'_>, found: &mut Rows, meter: &mut Meter<'_>) -> Result<bool, LimitReached> {
        let Candidate { arrival, query_edge, postings, is_traced } = record;
        if is_traced {
            self.push_traced(arrival, query_edge, postings, found, meter)
        } else {
            self.push(arrival, query_edge, postings, found, Untraced, meter)
        }
    }

    #[inline]
    fn delete(&mut self, deleted: &Deleted, found: &mut Rows, meter: &mut Meter<'_>) -> Result<Removal, LimitReached> {
        Ok(match self.engine.delete(deleted, found, meter) {
            Deletion::EndsMatches => Removal::EndsMatches,
            Deletion::Reported => Removal::Reported,
        })
    }

    #[inline]
    fn advance(&mut self, now: Now, found: &mut Rows, meter: &mut Meter<'_>) {
        self.engine.advance(now, found, meter);
    }

    fn replay(&mut self, past: Replayed<'_>, meter: &mut Meter<'_>) -> Warm {
        let Replayed { recalled, window, postings, is_distinct, mut reported } = past;
        let Recalled { edges, emitted, before, newest } = recalled;
        let now = window.clocks.now();
        let Window { store, vertices, satisfied, .. } = window;
        let Some(sets) = satisfied else { return Warm::Limited };
        let signatures = self.distinct_signatures();
        let (members, clock) = (self.members.clone(), self.clock);
        let order = self.past.take();
        let mut found = Rows::default();
        let mut keep = |found: &mut Rows, kept: Now| {
            if let Some(reported) = reported.as_deref_mut() {
                let (repeated, mut place) =
                    (if is_distinct { repeated(found, order.as_deref(), store) } else { Vec::new() }, 0..);
                found.each(|_, detected_at, found| {
                    let is_repeated = place.next().is_some_and(|place| repeated.contains(&place));
                    if !is_repeated
                        && let FoundRow::Assignment { edges, vertices } = found
                        && edges.iter().any(|edge| emitted.contains(edge))
                    {
                        for &member in &members {
                            reported.keep((member, clock), Now { ts: detected_at, ..kept }, (edges, vertices), store);
                        }
                    }
                });
            }
            found.clear();
        };
        let detached = postings.detach(&self.lists);
        // What the window's records added to the budget, and what may have been saved before.
        let records = SAVED.saturating_add(edges.len() as u64);
        meter.begin(self.guard.limits.work.map_or(u64::MAX, |work| work.saturating_mul(records)));
        let mut outcome = Warm::Whole;
        for (place, &edge) in edges.iter().enumerate() {
            let stored = *store.get(edge);
            meter.tick(1);
            let mark = Mark::stored(stored.class);
            let its = sets.get(&mark);
            let (source, target) = (stored.source, stored.target);
            let born = store.born(edge);
            let arrival =
                Arrival { ts: born.ts, at: born.on(clock), source, target, edge, satisfied: its, store, names: vertices };
            if let Some(&before) = before.get(place) {
                self.engine.count_from(stored.ts, before);
            }
            for query_edge in 0..self.signatures.len() {
                if its.contains(&self.signatures[query_edge])
                    && self.push(&arrival, query_edge as u8, postings, &mut found, Untraced, meter).is_err()
                {
                    outcome = Warm::Limited;
                }
            }
            if meter.is_refused() {
                if let Some(refusal) = meter.end() {
                    let work = self.guard.limits.work.map(Bounded::Unit);
                    let _ = self.refused(refusal, work, meter);
                }
                outcome = Warm::Limited;
            }
            if outcome == Warm::Limited {
                break;
            }
            for &signature in signatures.iter().filter(|signature| its.contains(signature)) {
                postings.relist(&detached, signature, born, ((source, target), edge), meter);
            }
            keep(&mut found, born);
        }
        meter.end();
        if let Some((ts, count)) = *newest {
            self.engine.count_from(ts, count);
        }
        self.engine.end_replay();
        let drained = self.drain(&mut found, meter);
        keep(&mut found, now);
        self.past = order;
        if drained.limited.is_some() || drained.refused || self.guard.counts.limited > 0 {
            outcome = Warm::Limited;
        }
        postings.put_back(detached, (outcome == Warm::Whole).then_some(self.reader));
        outcome
    }

    #[inline]
    fn next_due(&self) -> Option<i64> {
        self.engine.next_expiry()
    }

    fn usage(&self) -> Usage {
        self.engine.usage()
    }

    fn usage_of(&self, _pattern: PatternId) -> Usage {
        self.engine.usage()
    }

    fn items_of(&self, _pattern: PatternId) -> Vec<ItemReport> {
        self.engine.report()
    }

    fn counts_since(&self, before: Counts) -> Counts {
        self.guard.counts.since(before)
    }
}

impl SubgraphUnit {
    /// Inserts an edge as one query edge and informs the tracer; returns whether the edge is held now.
    #[inline]
    fn push<T: Tracer>(
        &mut self,
        arrival: &Arrival<'_>,
        query_edge: u8,
        postings: &Postings,
        rows: &mut Rows,
        tracer: T,
        meter: &mut Meter<'_>,
    ) -> Result<bool, LimitReached> {
        if self.guard.paused {
            return Ok(false);
        }
        self.guard.taken = arrival.ts;
        match self.engine.insert(arrival, query_edge, postings, rows, tracer, meter) {
            Outcome::Discarded => {
                self.guard.counts.discarded += 1;
                Ok(false)
            }
            Outcome::Passed => Ok(false),
            Outcome::Used => Ok(true),
            Outcome::Limited(bound) => {
                self.at_limit(&bound.to_string(), meter)?;
                rows.mark_shed(&self.members);
                Ok(true)
            }
        }
    }

    /// As [`push`](Self::push), with the unit's trace.
    fn push_traced(
        &mut self,
        arrival: &Arrival<'_>,
        query_edge: u8,
        postings: &Postings,
        rows: &mut Rows,
        meter: &mut Meter<'_>,
    ) -> Result<bool, LimitReached> {
        let Some(mut trace) = self.trace.take() else {
            return self.push(arrival, query_edge, postings, rows, Untraced, meter);
        };
        trace.expire(arrival.at, arrival.store, arrival.names);
        let (discarded, was_paused) = (self.guard.counts.discarded, self.guard.paused);
        let inserted = self.push(arrival, query_edge, postings, rows, &mut *trace, meter);
        let is_remembered = trace.arrived(arrival.store);
        if self.guard.counts.discarded > discarded {
            trace.discard(query_edge);
        }
        if self.guard.paused && !was_paused {
            trace.clear();
        }
        self.trace = Some(trace);
        inserted.map(|is_held| is_held || is_remembered)
    }

    /// Drops the traced partial matches that the window has passed, while the store still has the edges that they name.
    pub fn expire_trace(&mut self, window: &Window) {
        if let Some(trace) = &mut self.trace {
            trace.expire(window.clocks.now().on(self.clock), &window.store, &window.vertices);
        }
    }

    /// Records in the trace for which query edges an edge with these signatures was kept.
    pub fn trace_kept(&mut self, satisfied: &[SignatureId], edge: EdgeRef, postings: &Postings) {
        let Some(trace) = &mut self.trace else { return };
        for (query_edge, signature) in (0..).zip(&self.signatures) {
            if satisfied.contains(signature)
                && let Some(list) = self.engine.candidates(query_edge)
            {
                trace.keep(query_edge, postings.has_just(list, edge));
            }
        }
    }

    /// Inquires into edges of these ids, and into such as come near a match, if it is traced and under dual simulation.
    pub fn inquire(&mut self, ids: &[String]) {
        if let (Some(simulated), Some(trace)) = (self.engine.simulated_mut(), &self.trace) {
            simulated.inquire(ids.to_vec(), trace.shown());
        }
    }

    /// Bytes that each of the lists read may take, if the oldest are to be given up beyond.
    pub fn postings_bound(&self) -> Option<u64> {
        let (Some(bytes), LimitPolicy::Shed) = (self.guard.limits.state_bytes, self.guard.limits.policy) else { return None };
        self.engine.bytes_for_lists(bytes).checked_div(self.lists.len() as u64)
    }

    /// Attaches the lists that it reads; `with_others` says whether its searches are to be shared, if they may.
    pub fn attach(&mut self, postings: &mut Postings, with_others: bool) {
        self.reader = postings.reader();
        let shape = self.engine.searched().filter(|shape| with_others && is_shareable(shape));
        self.is_shared = shape.is_some();
        let mut shared = Vec::new();
        if let Some(shape) = shape {
            let by_both = shape.has_cycle();
            for &signature in &self.signatures {
                let ring = postings.whole(signature, self.clock);
                postings.serve_shared(self.reader, ring, by_both, shape.window);
                shared.push(ring);
            }
        }
        self.lists = self.engine.attach(self.reader, postings);
        self.lists.extend(shared);
        postings.release_unread(&self.signatures);
        self.lists.sort_unstable();
        self.lists.dedup();
        if let Some(bytes) = self.postings_bound() {
            for &ring in &self.lists {
                postings.limit(self.reader, ring, bytes);
            }
        }
    }

    /// The signatures of its edges, each once.
    pub fn distinct_signatures(&self) -> Vec<SignatureId> {
        let mut signatures = self.signatures.clone();
        signatures.sort_unstable();
        signatures.dedup();
        signatures
    }

    /// Drops the order of its past once that has left its window.
    pub fn forget_past(&mut self, now: Now) {
        let alive_from = now.alive_from(self.clock, self.engine.lookback());
        if self.past.as_ref().is_some_and(|past| past.is_before(alive_from)) {
            self.past = None;
        }
    }

    /// Whether there is nothing more to be done about its state.
    fn gave_up(&self) -> bool {
        self.guard.paused || (self.guard.shed && self.guard.limits.policy == LimitPolicy::Shed)
    }

    /// Does as the policy says if the unit takes more bytes than it may, with the lists that it reads.
    ///
    /// `more` are bytes that its patterns hold beside.
    pub fn check_bytes(&mut self, postings: &Postings, more: usize, meter: &mut Meter<'_>) -> Result<(), LimitReached> {
        match self.guard.limits.state_bytes {
            Some(bound) if !self.gave_up() && (self.bytes(postings) + more) as u64 >= bound => {
                self.at_limit(&format!("{bound} bytes of state"), meter)
            }
            _ => Ok(()),
        }
    }

    /// Does as the policy says, now that an insertion was cut; where all work ends it is only noted that matches may be
    /// missing.
    #[cold]
    pub fn refused(&mut self, refusal: Refusal, bounded: Option<Bounded>, meter: &mut Meter<'_>) -> Result<bool, LimitReached> {
        match (refusal, bounded) {
            (Refusal::WorkBudget, Some(bounded)) => self.at_limit(&bounded.to_string(), meter)?,
            (Refusal::Bytes, _) => {
                let bound = self.guard.limits.state_bytes.unwrap_or_default();
                self.at_limit(&format!("{bound} bytes of state, matches of one record included"), meter)?;
            }
            (Refusal::WorkBudget, None) | (Refusal::Ended(_), _) => self.guard.shed = true,
        }
        Ok(true)
    }

    /// Does as the policy says, now that a limit was reached.
    #[cold]
    pub fn at_limit(&mut self, limit: &str, meter: &mut Meter<'_>) -> Result<(), LimitReached> {
        if self.guard.at_limit(limit, self.members.first().copied())? {
            self.engine.clear(meter);
        }
        Ok(())
    }

    /// Waits for work on other threads, hands over the matches it found, and says what else came of it.
    pub fn drain(&mut self, rows: &mut Rows, meter: &mut Meter<'_>) -> Drained {
        if !self.engine.has_threads() {
            return Drained::default();
        }
        let drained = self.engine.drain(rows, meter);
        self.guard.counts.discarded = drained.discarded;
        drained
    }

    /// Whether its matches may be incomplete: a limit made it give up something, or a list that it reads.
    pub fn has_shed(&self, postings: &Postings) -> bool {
        self.guard.shed || (postings.has_shed_any() && self.lists.iter().any(|&ring| postings.has_shed(ring)))
    }

    /// Whether matches of one of its patterns may be missing.
    pub fn has_shed_of(&self, query: &Query, postings: &Postings) -> bool {
        query.shed || self.has_shed(postings)
    }

    /// For each edge of a pattern, how many records could be it by themselves since it was added; `all` counts those of
    /// signatures.
    pub fn hits_of(&self, query: &Query, all: &[u64]) -> impl Iterator<Item = u64> {
        self.signatures.iter().zip(&query.hits_before).map(|(&signature, before)| all[signature.place()] - before)
    }

    /// Whether its engine holds something that may expire, or may do so on another thread.
    pub fn holds(&self) -> bool {
        let Usage { live, bytes, .. } = self.engine.usage();
        self.engine.has_threads() || live > 0 || bytes > 0
    }

    /// Bytes of state alive; lists that units share count for each.
    pub fn bytes(&self, postings: &Postings) -> usize {
        self.engine.usage().bytes + self.lists.iter().map(|&ring| postings.bytes(ring)).sum::<usize>()
    }
}
