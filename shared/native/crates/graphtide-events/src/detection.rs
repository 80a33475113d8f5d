//! Detection of many event patterns by one plan.
//!
//! An arriving event is listed under the signatures that it satisfies. Then, for each slot that it may fill, the instances are
//! found that it completes. Those of a vertex are found from those of its parents, so each sub-pattern is searched once for all
//! patterns that extend it. Nothing is stored of vertices that nobody extends. What must not come is looked for once time has
//! passed.
//! Law: the state follows from the events of the lookback and their deletions, in order. So it is rebuilt by replay.
//! Cost: a look at each slot that the event may fill; where what else is needed has not come, no more than that.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use graphtide_engine::engine::Usage;
use graphtide_engine::expression::Bindings;
use graphtide_engine::limits::Bounds;
use graphtide_engine::meter::{Meter, Refusal};
use graphtide_engine::output::{Kind, MatchCount};
use graphtide_graph::store::EdgeRef;
use graphtide_graph::symbol::{Symbol, SymbolTable};
use graphtide_graph::{Time, clock};

use crate::bound::{Bound, Stored};
use crate::buffers::Entry;
use crate::compile::{Compiled, Mode, Target, compile};
use crate::count::Asked;
use crate::deferred::Deferred;
use crate::departures::Departures;
use crate::instances::Instances;
use crate::occurrences::{Header, Occurrences};
use crate::past::{Deletions, Past, Scope};
use crate::pattern::Pattern;
use crate::plan::{InvalidPlan, PlanSpec};
use crate::returns::Returns;
use crate::search::Search;
use crate::signatures::SignatureId;
use crate::tally::Tallies;
use crate::timeouts::with_beginnings;
use crate::verifier::Verifier;
use crate::view::Events;

/// How a plan is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether events may be deleted.
    pub deletions: bool,
    /// How much may be stored.
    pub bounds: Bounds,
}

/// Detection under way.
#[derive(Debug)]
pub struct Detection {
    pub(crate) compiled: Compiled,
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) deletions: Deletions,
    pub(crate) deferred: Deferred,
    pub(crate) tallies: Tallies,
    pub(crate) bound: Bound,
    pub(crate) options: Options,
    /// Whether nothing is emitted: this is a replay.
    is_replay: bool,
    has_limited: bool,
    stored: usize,
    stored_bytes: usize,
    peak: usize,
    work: BinaryHeap<Reverse<(u32, u8)>>,
    touched: Vec<usize>,
    rows: Vec<EdgeRef>,
    /// Buckets of instances, by the last time that they are of use.
    buckets: Departures<u32>,
    /// Deleted events, by their times.
    pub(crate) gone: Departures<u32>,
    /// Patterns that began with events of the lookback already there, by when the newest of those came.
    begun: Departures<u32>,
}

impl Detection {
    /// Makes a plan ready to run, over records that have so many attributes.
    pub fn new(plan: &PlanSpec, symbols: &mut SymbolTable, width: usize, options: Options) -> Result<Self, InvalidPlan> {
        plan.check(width)?;
        let (plan, beginnings) = with_beginnings(plan);
        let patterns = plan.patterns.iter().zip(beginnings).map(|(pattern, beginnings)| Pattern {
            branches: pattern.branches.clone(),
            report: pattern.report,
            lookback: pattern.lookback,
            beginnings,
            since: None,
            distinct: pattern.distinct.clone(),
            returns: pattern.returns.as_ref().map(|returns| Returns::new(returns, symbols)),
        });
        let patterns = patterns.collect();
        Ok(Self {
            compiled: compile(&plan, symbols),
            patterns,
            deletions: Deletions::default(),
            deferred: Deferred::default(),
            tallies: Tallies::new(plan.patterns.len()),
            bound: Bound::default(),
            options,
            is_replay: false,
            has_limited: false,
            stored: 0,
            stored_bytes: 0,
            peak: 0,
            work: BinaryHeap::new(),
            touched: Vec::new(),
            rows: Vec::new(),
            buckets: Departures::default(),
            gone: Departures::default(),
            begun: Departures::default(),
        })
    }

    /// Ticks for which events must be kept.
    pub fn lookback(&self) -> Time {
        self.compiled.buffers.lookback()
    }

    /// Calls `f` with every signature that an event satisfies, as event 0; one that satisfies none need not be kept.
    #[inline]
    pub fn satisfied(&self, kind: Symbol, event: &impl Bindings, meter: &mut Meter<'_>, f: impl FnMut(SignatureId)) {
        self.compiled.signatures.satisfied(kind, event, meter, f);
    }

    /// Advances time: emits what it settles, then drops what expired. Events before `lookback` must still be there.
    pub fn advance(&mut self, now: Time, events: Events<'_>, out: &mut Occurrences, meter: &mut Meter<'_>) {
        self.settle(Some(now), events, out, meter);
        meter.tick(self.compiled.buffers.expire(now, events));
        while let Some(vertex) = self.buckets.pop_before(now) {
            let Some(instances) = &mut self.compiled.instances[vertex as usize] else { continue };
            let dropped = instances.expire(now);
            self.stored -= dropped;
            self.stored_bytes -= dropped * instances.row_bytes();
        }
        let from = clock::subtract(now, self.lookback());
        while let Some(event) = self.gone.pop_before(from) {
            self.deletions.remove(&event);
        }
        self.tallies.expire(from);
        while let Some(pattern) = self.begun.pop_before(from) {
            // It may have begun again since.
            self.patterns[pattern as usize].since.take_if(|(ts, _)| *ts < from);
        }
    }

    /// The time after which something is due even without an event; none if nothing waits.
    #[inline]
    pub fn next_bound(&self) -> Option<Time> {
        self.deferred.next_bound()
    }

    /// Emits what is settled once time has passed all bounds.
    pub fn finish(&mut self, events: Events<'_>, out: &mut Occurrences, meter: &mut Meter<'_>) {
        self.settle(None, events, out, meter);
    }

    /// Takes an event, which is in the store, with the signatures that it satisfies, and emits the matches that it completes.
    pub fn insert(
        &mut self,
        event: EdgeRef,
        satisfied: &[SignatureId],
        events: Events<'_>,
        out: &mut Occurrences,
        meter: &mut Meter<'_>,
    ) {
        let ts = events.store.get(event).ts;
        for &signature in satisfied {
            self.compiled.buffers.push(signature, Entry { ts, event }, events);
        }
        for &signature in satisfied {
            for number in 0..self.compiled.targets[signature.place()].len() {
                let target = &self.compiled.targets[signature.place()][number];
                if !target.is_open(&self.compiled.buffers, ts) {
                    continue;
                }
                let &Target { vertex, slot, is_inner, .. } = target;
                if is_inner {
                    self.work.push(Reverse((vertex, slot)));
                } else {
                    self.complete(vertex as usize, slot, (ts, event), events, out, meter);
                }
            }
        }
        for &signature in satisfied {
            for &(pattern, within) in &self.compiled.begins[signature.place()] {
                self.deferred.begin(pattern, clock::add(ts, within));
            }
        }
        while let Some(Reverse((vertex, slot))) = self.work.pop() {
            self.complete(vertex as usize, slot, (ts, event), events, out, meter);
        }
        for vertex in self.touched.drain(..) {
            if let Some(instances) = &mut self.compiled.instances[vertex] {
                instances.begin();
            }
        }
        self.tallies.emit(event, ts, &self.patterns, events, (!self.is_replay).then_some(&mut *out), self.options.deletions);
        if self.deferred.end_record(event, ts) {
            self.settle(Some(ts), events, out, meter);
        }
    }

    /// Finds the instances of a vertex in which the event fills a slot.
    fn complete(
        &mut self,
        number: usize,
        slot: u8,
        (ts, event): (Time, EdgeRef),
        events: Events<'_>,
        out: &mut Occurrences,
        meter: &mut Meter<'_>,
    ) {
        let Self { compiled, patterns, deletions, deferred, tallies, bound, is_replay, rows, .. } = self;
        let Compiled { vertices, signatures, buffers, instances, .. } = compiled;
        let vertex = &vertices[number];
        let Bounds { partial_matches, bytes } = self.options.bounds;
        let program = &vertex.arrival[usize::from(slot)];
        let past = Past { events, buffers, instances, signatures, deletions };
        let has_rows = |&parent: &usize| past.instances[parent].as_ref().is_some_and(|rows| rows.live() > 0);
        if !program.needs.iter().all(has_rows) {
            return;
        }
        let is_stored = instances[number].is_some();
        if let Some(counter) = vertex.counters.get(usize::from(slot)).filter(|_| !is_stored) {
            // What was cut is not counted in part.
            let counted = counter.count(&past, &vertex.shape, Asked::ALL, event, meter);
            if let Some(counted) = counted.filter(|counted| !counted.count.is_zero()) {
                for &(pattern, branch) in &vertex.patterns {
                    tallies.add(pattern, branch, &counted.count, || counted.witness(number as u32, &vertex.shape));
                }
            }
            return;
        }
        let shape = &vertex.shape;
        let row_bytes = instances[number].as_ref().map_or(0, Instances::row_bytes);
        let (stored, stored_bytes, has_limited) = (self.stored, self.stored_bytes, &mut self.has_limited);
        let mut has_room = |rows: &[EdgeRef], deferred: &Deferred| {
            let fresh = rows.len() / shape.slots.len();
            let live = stored + fresh + deferred.len();
            let used = stored_bytes + fresh * row_bytes + deferred.bytes();
            let has_room = (live as u64) < partial_matches && (used as u64) < bytes;
            *has_limited |= !has_room;
            has_room
        };
        let mut found = |bound: &mut Bound, meter: &mut Meter<'_>| {
            if is_stored && has_room(rows, deferred) {
                bound.each(0, |_, event| rows.push(event));
            }
            let counting = vertex.patterns.iter().filter(|&&(pattern, _)| patterns[pattern as usize].counts(event));
            match vertex.mode {
                Mode::Emit if *is_replay => {}
                Mode::Emit => {
                    counting.for_each(|&(pattern, branch)| {
                        let header = Header { pattern, branch, kind: Kind::Match, detected_at: ts, count: MatchCount::ONE };
                        out.push(header, &patterns[pattern as usize], shape.slots.len(), events, |f| {
                            bound.each(shape.lists, f);
                        });
                    });
                    // A record may complete more than memory holds.
                    if out.bytes() as u64 >= bytes {
                        meter.refuse(Refusal::Bytes);
                    }
                }
                Mode::Tally => counting.for_each(|&(pattern, branch)| {
                    tallies.add(pattern, branch, &MatchCount::ONE, || Stored::of(number as u32, shape, bound));
                }),
                Mode::Defer if has_room(rows, deferred) => {
                    deferred.add(Verifier { vertices, patterns, past }, number as u32, bound, event);
                }
                Mode::Defer => {}
            }
            true
        };
        let scope = Scope::ALL;
        Search { past, shape, aggregates: &vertex.aggregates, scope, bound, meter, found: &mut found }
            .run(program, slot, event);
        if !self.rows.is_empty() {
            self.store(number, slot, ts, events);
        }
    }

    /// Stores the new instances of a vertex, and lets its children continue from them.
    fn store(&mut self, number: usize, slot: u8, now: Time, events: Events<'_>) {
        let Some(instances) = &mut self.compiled.instances[number] else { return };
        let count = self.rows.len() / instances.width();
        instances.add(slot, &self.rows, events, |last| self.buckets.add(last, number as u32));
        self.stored += count;
        self.stored_bytes += count * instances.row_bytes();
        self.peak = self.peak.max(self.stored + self.deferred.len());
        self.rows.clear();
        self.touched.push(number);
        let Compiled { vertices, buffers, .. } = &self.compiled;
        let open = vertices[number].feeds[usize::from(slot)].iter().filter(|target| target.is_open(buffers, now));
        self.work.extend(open.map(|target| Reverse((target.vertex, target.slot))));
    }

    /// Emits what is settled once time is `now`, or at its end.
    fn settle(&mut self, now: Option<Time>, events: Events<'_>, out: &mut Occurrences, meter: &mut Meter<'_>) {
        let Self { compiled, patterns, deletions, deferred, tallies, bound, is_replay, options, .. } = self;
        let Compiled { vertices, signatures, buffers, instances, .. } = compiled;
        let past = Past { events, buffers, instances, signatures, deletions };
        let emitted = if options.deletions { Some(tallies) } else { None };
        deferred.settle(now, Verifier { vertices, patterns, past }, bound, (!*is_replay).then_some(out), emitted, meter);
    }

    /// Treats the next events as past: nothing is emitted until [`end_replay`](Self::end_replay).
    pub fn begin_replay(&mut self) {
        self.is_replay = true;
    }

    /// Emits again from now on. For the patterns given, a match counts if its last event comes after the one given.
    pub fn end_replay(&mut self) {
        self.is_replay = false;
    }

    /// Whether nothing is emitted.
    pub(crate) fn is_silent(&self) -> bool {
        self.is_replay
    }

    /// Lets those matches of a pattern count whose last event comes after one of that time.
    pub fn begin_after(&mut self, pattern: u32, newest: Option<(Time, EdgeRef)>) {
        self.patterns[pattern as usize].since = newest;
        if let Some((ts, _)) = newest {
            self.begun.add(ts, pattern);
        }
    }

    /// Since when the matches of a pattern count, if not always.
    pub fn begins_after(&self, pattern: u32) -> Option<(Time, EdgeRef)> {
        self.patterns[pattern as usize].since
    }

    /// Whether something was given up at a bound since the last time.
    pub fn take_limited(&mut self) -> bool {
        std::mem::take(&mut self.has_limited)
    }

    /// What is stored.
    pub fn usage(&self) -> Usage {
        let live = self.stored + self.deferred.len();
        Usage {
            live,
            peak: self.peak.max(live),
            bytes: self.stored_bytes + self.deferred.bytes() + self.compiled.buffers.bytes(),
        }
    }

    /// By vertex, how many instances are stored, were at most, and ever were.
    pub fn instances(&self) -> impl Iterator<Item = (usize, usize, u64)> {
        (0..self.compiled.instances.len()).filter_map(|vertex| self.instances_of(vertex))
    }

    /// How many instances of a vertex are stored, were at most, and ever were; none if there is no such vertex.
    pub fn instances_of(&self, vertex: usize) -> Option<(usize, usize, u64)> {
        let instances = self.compiled.instances.get(vertex)?;
        Some(instances.as_ref().map_or((0, 0, 0), |rows| (rows.live(), rows.peak(), rows.created())))
    }
}
