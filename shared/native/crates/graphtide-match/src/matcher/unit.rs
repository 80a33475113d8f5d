//! One unit in a matcher: an engine with the patterns that it matches, its limits, its counts.
//!
//! Most units have one pattern. Patterns that differ in names alone may be one unit: what one of them finds all find, each under its
//! names, and the state is held once ([`membership`](super::membership)).

use graphtide_engine::arrival::{Arrival, Drained, Outcome};
use graphtide_engine::engine::{Engine, Explained, Usage};
use graphtide_engine::ids::{PatternId, ReaderId, RingId, SignatureId};
use graphtide_engine::limits::{LimitPolicy, Limits};
use graphtide_engine::lists::Postings;
use graphtide_engine::meter::{Meter, Refusal};
use graphtide_engine::output::Rows;
use graphtide_engine::trace::{Trace, Tracer, Untraced};
use graphtide_graph::Time;
use graphtide_graph::clock::{Clock, Now};
use graphtide_graph::store::EdgeRef;
use smallvec::SmallVec;

use super::allowances::Bounded;
use super::deduplication::PastOrder;
use super::engine::AnyEngine;
use super::window::Window;

/// What a unit counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Edges that satisfied a query edge and were discarded at once: no match could hold them (Lemma 1).
    pub discarded: u64,
    /// Times that a partial match or a search was given up at a limit.
    pub limited: u64,
    /// Steps of work, if work is bounded.
    pub work: u64,
}

impl Counts {
    /// What was counted since others were; those may be of another unit, and then stand for less than nothing.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            discarded: self.discarded.wrapping_sub(before.discarded),
            limited: self.limited.wrapping_sub(before.limited),
            work: self.work.wrapping_sub(before.work),
        }
    }
}

/// An engine and the patterns that it matches.
#[derive(Debug)]
pub struct Unit {
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
    /// Bounds.
    pub limits: Limits,
    /// Counts.
    pub counts: Counts,
    /// Whether a limit stopped it.
    pub paused: bool,
    /// The limit that was reached last; none if none was.
    pub limit: Option<String>,
    /// Time of the record it took last.
    pub taken: Time,
    /// Time of the record at which a limit was reached last.
    pub limited_at: Option<Time>,
    /// Whether a limit made it give up partial matches.
    pub shed: bool,
    /// Whether its engine may hold something since an edge came to it.
    pub is_occupied: bool,
    /// The order of the edges of its past, where it may not tell all of its matches.
    pub past: Option<Box<PastOrder>>,
    /// What is told of it, if it is traced.
    pub trace: Option<Box<Trace>>,
}

/// A bound that was reached under the policy to fail.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pattern {} reached its limit of {limit}", pattern.0)]
pub struct LimitReached {
    /// The pattern; of a unit of several the first.
    pub pattern: PatternId,
    /// The bound.
    pub limit: String,
}

impl Unit {
    /// Inserts an edge as one query edge, telling the tracer; says whether the edge is held now.
    #[inline]
    pub fn insert<T: Tracer>(
        &mut self,
        arrival: &Arrival<'_>,
        query_edge: u8,
        postings: &Postings,
        rows: &mut Rows,
        tracer: T,
        meter: &mut Meter<'_>,
    ) -> Result<bool, LimitReached> {
        if self.paused {
            return Ok(false);
        }
        self.taken = arrival.ts;
        match self.engine.insert(arrival, query_edge, postings, rows, tracer, meter) {
            Outcome::Discarded => {
                self.counts.discarded += 1;
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

    /// As [`insert`](Self::insert), telling the unit's trace.
    pub fn insert_traced(
        &mut self,
        arrival: &Arrival<'_>,
        query_edge: u8,
        postings: &Postings,
        rows: &mut Rows,
        meter: &mut Meter<'_>,
    ) -> Result<bool, LimitReached> {
        let Some(mut trace) = self.trace.take() else {
            return self.insert(arrival, query_edge, postings, rows, Untraced, meter);
        };
        trace.expire(arrival.at, arrival.store, arrival.names);
        let (discarded, was_paused) = (self.counts.discarded, self.paused);
        let inserted = self.insert(arrival, query_edge, postings, rows, &mut *trace, meter);
        let is_remembered = trace.arrived(arrival.store);
        if self.counts.discarded > discarded {
            trace.discard(query_edge);
        }
        if self.paused && !was_paused {
            trace.clear();
        }
        self.trace = Some(trace);
        inserted.map(|is_held| is_held || is_remembered)
    }

    /// Lets go of the traced partial matches that the window has passed, while the store still has the edges that they name.
    pub fn expire_trace(&mut self, window: &Window) {
        if let Some(trace) = &mut self.trace {
            trace.expire(window.clocks.now().on(self.clock), &window.store, &window.vertices);
        }
    }

    /// Tells the trace for which query edges an edge was kept that has these signatures.
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
        let (Some(bytes), LimitPolicy::Shed) = (self.limits.state_bytes, self.limits.policy) else { return None };
        self.engine.bytes_for_lists(bytes).checked_div(self.lists.len() as u64)
    }

    /// Attaches the lists that it reads.
    pub fn attach(&mut self, postings: &mut Postings) {
        self.reader = postings.reader();
        self.lists = self.engine.attach(self.reader, postings);
        postings.release_unread(&self.signatures);
        self.lists.sort_unstable();
        self.lists.dedup();
        if let Some(bytes) = self.postings_bound() {
            for &ring in &self.lists {
                postings.limit(self.reader, ring, bytes);
            }
        }
    }

    /// Lets go of the order of its past once that has left its window.
    pub fn forget_past(&mut self, now: Now) {
        let alive_from = now.alive_from(self.clock, self.engine.reach());
        if self.past.as_ref().is_some_and(|past| past.is_before(alive_from)) {
            self.past = None;
        }
    }

    /// Whether there is nothing more to be done about its state.
    fn gave_up(&self) -> bool {
        self.paused || (self.shed && self.limits.policy == LimitPolicy::Shed)
    }

    /// Does as the policy says if the unit takes more bytes than it may, with the lists that it reads.
    ///
    /// `more` are bytes that its patterns hold beside.
    pub fn check_bytes(&mut self, postings: &Postings, more: usize, meter: &mut Meter<'_>) -> Result<(), LimitReached> {
        match self.limits.state_bytes {
            Some(bound) if !self.gave_up() && (self.bytes(postings) + more) as u64 >= bound => {
                self.at_limit(&format!("{bound} bytes of state"), meter)
            }
            _ => Ok(()),
        }
    }

    /// Does as the policy says, now that an insertion was cut; where all work ends it is only noted that matches may be missing.
    #[cold]
    pub fn refused(&mut self, refusal: Refusal, bounded: Option<Bounded>, meter: &mut Meter<'_>) -> Result<bool, LimitReached> {
        match (refusal, bounded) {
            (Refusal::Allowance, Some(bounded)) => self.at_limit(&bounded.to_string(), meter)?,
            (Refusal::Bytes, _) => {
                let bound = self.limits.state_bytes.unwrap_or_default();
                self.at_limit(&format!("{bound} bytes of state, matches of one record included"), meter)?;
            }
            (Refusal::Allowance, None) | (Refusal::Ended(_), _) => self.shed = true,
        }
        Ok(true)
    }

    /// Does as the policy says, now that a limit was reached.
    #[cold]
    pub fn at_limit(&mut self, limit: &str, meter: &mut Meter<'_>) -> Result<(), LimitReached> {
        self.counts.limited += 1;
        self.limited_at = Some(self.taken);
        if self.limit.as_deref() != Some(limit) {
            self.limit = Some(limit.to_owned());
        }
        match self.limits.policy {
            LimitPolicy::Fail => Err(LimitReached { pattern: self.members[0], limit: limit.to_owned() }),
            LimitPolicy::Pause => {
                self.paused = true;
                self.shed = true;
                self.engine.clear(meter);
                Ok(())
            }
            LimitPolicy::Shed => {
                self.shed = true;
                Ok(())
            }
        }
    }

    /// Waits for work on other threads, hands over the matches it found, and says what else came of it.
    pub fn drain(&mut self, rows: &mut Rows, meter: &mut Meter<'_>) -> Drained {
        if !self.engine.has_threads() {
            return Drained::default();
        }
        let drained = self.engine.drain(rows, meter);
        self.counts.discarded = drained.discarded;
        drained
    }

    /// Whether its matches may be incomplete: a limit made it give up something, or a list that it reads.
    pub fn has_shed(&self, postings: &Postings) -> bool {
        self.shed || self.lists.iter().any(|&ring| postings.has_shed(ring))
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
