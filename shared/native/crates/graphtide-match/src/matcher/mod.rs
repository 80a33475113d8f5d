//! Many patterns in one pass over an ordered stream.
//!
//! For each record: dispatch by labels, test the signatures, give the vertices numbers, let every unit that wants the edge have
//! it, then list it for later searches. What no unit kept is taken back at once. A [unit](unit) is an engine with the patterns that
//! it matches: most have one.
//! Invariant: the store holds the kept edges of the longest windows, and at least until the rows that name them are handed over.
//! Cost: an edge that no pattern can use costs the dispatch alone; otherwise work in proportion to the query edges it satisfies.
//! Work is counted on a meter, which may pause it anywhere, and end it: then the patterns that were not done with the record say so
//! as under `shed`. A pattern's work may be bounded ([`allowances`]).

mod allowances;
mod changes;
mod clocks;
mod deduplication;
mod detecting;
mod engine;
mod event_units;
mod graph_queries;
mod ids;
mod membership;
mod output;
mod query;
mod recovery;
mod replan;
mod reported;
mod satisfied;
mod timers;
mod tracing;
mod unit;
mod warming;
mod window;

use std::sync::Arc;

use graphtide_engine::arrival::{Arrival, Deleted, Deletion};
use graphtide_engine::dispatch::{Dispatch, NO_CLASS};
use graphtide_engine::engine::Engine;
use graphtide_engine::expression::Expression;
use graphtide_engine::ids::{PatternId, SignatureId, UnitId};
use graphtide_engine::lists::{Gate, Postings};
use graphtide_engine::meter::{Ended, Meter, Refusal};
use graphtide_engine::output::{MatchBatch, PatternNames};
use graphtide_engine::trace::{Trace, Untraced};
use graphtide_graph::Time;
use graphtide_graph::batch::{EdgeBatch, Operation};
use graphtide_graph::clock::{Clock, Now};
use graphtide_graph::key::IdRef;
use graphtide_graph::symbol::SharedSymbols;
use graphtide_simulation::Probe;

use crate::plan::{EventUnitSpec, InvalidPlan, MatcherSpec, PatternSpec};
use allowances::{Allowances, Bounded, Payer};
use changes::Told;
pub use engine::AnyEngine;
pub use event_units::EventUnit;
use event_units::{Allowed, EventUnits};
pub use graph_queries::GraphUnit;
use graph_queries::GraphUnits;
use membership::Blueprints;
pub use membership::Past;
use output::{Output, Sources};
pub use query::{Query, Reports};
use timers::Timers;
use tracing::Tracing;
pub use tracing::{Answer, Funnel, FunnelStep};
pub use unit::{Counts, LimitReached, Unit};
use window::{Signatures, Window};

/// Records between two hand-overs of rows and expiries of the store.
const CHUNK: usize = 4096;

/// Patterns up to which each chunk is followed by a look at the bytes of all.
const FEW: usize = 64;

/// Steps that the records of a chunk take if no pattern wants them.
const CHUNK_STEPS: u32 = 512;

/// Counts over the whole pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Records taken.
    pub records: u64,
    /// Records whose labels some query edge has.
    pub relevant: u64,
    /// Matches reported.
    pub matches: u64,
    /// Deletions of an edge that was held.
    pub deletions: u64,
    /// Records refused, since their time is before the time that the stream had come to.
    pub unordered: u64,
    /// Most partial matches alive at once, over all patterns.
    pub peak_partial_matches: u64,
    /// Most bytes of state alive at the end of a chunk.
    pub peak_state_bytes: u64,
}

/// What came of a batch.
#[derive(Debug, Default)]
pub struct Progress {
    /// Matches found.
    pub matches: MatchBatch,
    /// Records taken; fewer than the batch holds if the bound on matches was reached or a limit stopped the run.
    pub consumed: usize,
    /// The limit that stopped the run.
    pub stopped: Option<LimitReached>,
    /// Why the meter ended the run, if it did.
    pub ended: Option<Ended>,
    /// Steps taken.
    pub work: u64,
}

/// What a record leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The next one.
    Record,
    /// The end: all work ends.
    End,
    /// The end: a limit was reached, which the matcher keeps.
    Limit,
}

/// What a matcher is to be ready for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The stream may retract edges: matches of the window are remembered, to be retracted.
    pub deletions: bool,
    /// Plans may change while the stream runs: every edge that some query edge could be is kept, to be replayed.
    pub adaptive: bool,
    /// Patterns are traced, each with so many near misses; plans must then not change.
    pub traced: Option<usize>,
    /// Steps of work a record that all patterns share.
    pub work: Option<u64>,
}

/// Patterns and what they share.
#[derive(Debug)]
pub struct Matcher {
    window: Window,
    dispatch: Dispatch,
    units: Vec<Unit>,
    events: EventUnits,
    graphs: GraphUnits,
    allowed: Allowed,
    queries: Vec<Query>,
    output: Output,
    postings: Postings,
    hits: Vec<u64>,
    live: usize,
    totals: Totals,
    /// How often an edge could have made a pattern's state grow since the bytes of all were looked at.
    grown: usize,
    /// Units whose engine may hold something.
    occupied: Vec<UnitId>,
    told: Told,
    has_threads: bool,
    timers: Timers,
    /// Records of the last batch that the patterns' state can depend on; where patterns may change.
    selected: Vec<u32>,
    /// Whether some pattern may ever have a time.
    has_timers: bool,
    blueprints: Blueprints,
    allowances: Option<Allowances>,
    /// The limit that the last record reached.
    limit: Option<LimitReached>,
    tracing: Tracing,
}

impl Matcher {
    /// Makes a matcher of checked patterns.
    pub fn new(spec: MatcherSpec, symbols: &SharedSymbols, options: Options) -> Result<Self, InvalidPlan> {
        let Options { deletions, adaptive, traced, work } = options;
        let MatcherSpec { patterns: specs, units, graph_queries } = spec;
        specs.iter().flatten().try_for_each(PatternSpec::check)?;
        units.iter().try_for_each(EventUnitSpec::check)?;
        let works: Vec<Option<u64>> = specs.iter().flatten().map(|spec| spec.limits.work).collect();
        let mut matcher = Self {
            window: Window::new(symbols, deletions, adaptive),
            output: Output::new(deletions),
            dispatch: Dispatch::default(),
            units: Vec::with_capacity(specs.len()),
            events: EventUnits::default(),
            graphs: GraphUnits::default(),
            allowed: Allowed { deletions },
            queries: Vec::with_capacity(specs.len()),
            hits: Vec::new(),
            postings: Postings::default(),
            live: 0,
            totals: Totals::default(),
            grown: 0,
            occupied: Vec::new(),
            told: Told::default(),
            has_threads: false,
            timers: Timers::default(),
            selected: Vec::new(),
            has_timers: false,
            blueprints: Blueprints::default(),
            allowances: Allowances::new(&works, work),
            limit: None,
            tracing: Tracing::default(),
        };
        for (number, spec) in (0..).map(PatternId).zip(specs) {
            let Some(spec) = spec else {
                matcher.queries.push(Query::vacant());
                continue;
            };
            let names = matcher.window.names_of(&spec);
            let trace = traced.map(|misses| {
                let ends = spec.edges.iter().map(|edge| (edge.source, edge.target)).collect();
                Box::new(Trace::new((spec.window, spec.clock), ends, misses))
            });
            // What is traced is told in the names of one pattern.
            let unit = match matcher.shared_by(&spec) {
                Some(unit) => unit,
                None => matcher.make(&spec, Some(number))?,
            };
            matcher.enrol(number, names, unit);
            let unit = &mut matcher.units[unit.place()];
            if trace.is_some() {
                unit.trace = trace;
                unit.inquire(&[]);
            }
        }
        for unit in &units {
            matcher.add_events(unit, matcher.allowed)?;
        }
        matcher.add_graphs(&graph_queries)?;
        matcher.postings.begin();
        if traced.is_some() {
            matcher.tracing.begin(matcher.dispatch.len());
        }
        matcher.dispatch.seal();
        matcher.output.rename(&matcher.queries);
        matcher.has_threads = matcher.units.iter().any(|unit| unit.engine.has_threads());
        matcher.has_timers = matcher.units.iter().any(|unit| unit.engine.tells_expiry());
        for number in (0..matcher.units.len() as u32).map(UnitId) {
            let unit = &matcher.units[number.place()];
            matcher.window.lengthen(unit.clock, unit.engine.reach());
            matcher.set_gates(number);
        }
        Ok(matcher)
    }

    /// Takes records from number `from` until the batch ends, `most` matches were found, or a limit or the meter ends the run.
    ///
    /// Records come in order of time over all calls: the sequencer's work. One that does not, or comes before a time that is said to
    /// have passed, is refused and counted. What the meter ended was taken as far as `consumed` says,
    /// the last record perhaps in part; patterns that lost something by it say so from then on.
    pub fn push(&mut self, batch: &EdgeBatch, from: usize, most: usize, meter: &mut Meter<'_>) -> Progress {
        if from == 0 {
            self.selected.clear();
            self.graphs.selected.clear();
        }
        // Where edges are counted, it is as if work were bounded: what is compiled once more is enough so.
        match (self.tracing.is_on(), self.allowances.is_some(), self.window.store.counts()) {
            (false, false, false) => self.take_all::<false, false, false>(batch, from, most, meter),
            (false, true, false) => self.take_all::<false, true, false>(batch, from, most, meter),
            (true, false, false) => self.take_all::<true, false, false>(batch, from, most, meter),
            (true, true, false) => self.take_all::<true, true, false>(batch, from, most, meter),
            (false, _, true) => self.take_all::<false, true, true>(batch, from, most, meter),
            (true, _, true) => self.take_all::<true, true, true>(batch, from, most, meter),
        }
    }

    /// Takes the end of the stream: patterns tell what follows when all time has passed. No record may follow.
    ///
    /// What does not follow from time alone stays as it is: partial matches of the window are alive.
    pub fn finish(&mut self, meter: &mut Meter<'_>) -> Progress {
        let mut progress = Progress::default();
        self.tell_expiry(Now { ts: Time::MAX, ..self.window.clocks.now() }, meter);
        self.hand_over(&mut progress.matches, meter);
        let Self { events, queries, output, .. } = self;
        let out = &mut progress.matches;
        events.finish(meter, |unit, meter| output.append(queries, out, |queries, out| unit.hand_over(queries, out, meter)));
        progress.ended = meter.ended();
        progress.work = meter.taken();
        progress
    }

    /// Grants every pattern the work that so many records are worth, for time that passed without them.
    pub fn grant(&mut self, records: u64) {
        if let Some(allowances) = &mut self.allowances {
            allowances.grant(records);
        }
    }

    fn take_all<const TRACED: bool, const BOUNDED: bool, const COUNTED: bool>(
        &mut self,
        batch: &EdgeBatch,
        from: usize,
        most: usize,
        meter: &mut Meter<'_>,
    ) -> Progress {
        self.window.learn_names();
        self.events.learn_names();
        self.graphs.learn_names();
        // Streams of edges are asked once a batch, not with each record.
        let has_events = batch.has_events() || !self.events.is_empty() || !self.graphs.is_empty();
        if self.output.lacks_recipients(meter) {
            let shed = self.shed();
            let Self { output, units, postings, window, queries, .. } = &mut *self;
            output.address(Sources { units, postings, window }, queries, shed);
        }
        self.output.begin(meter);
        let mut progress = Progress::default();
        // In a box, since every record may lend it to the rows.
        let mut found = Box::<MatchBatch>::default();
        let mut row = from;
        while row < batch.len() && found.len() < most && progress.stopped.is_none() && meter.ended().is_none() {
            let end = batch.len().min(row + CHUNK);
            self.output.begin_chunk();
            while row < end && self.output.found() < most {
                match self.take::<TRACED, BOUNDED, COUNTED>(batch, row, has_events, &mut found, meter) {
                    Next::Record => row += 1,
                    Next::End => {
                        row += 1;
                        break;
                    }
                    Next::Limit => {
                        progress.stopped = self.limit.take();
                        break;
                    }
                }
            }
            meter.tick(CHUNK_STEPS);
            let drained = self.drain(meter);
            self.hand_over(&mut found, meter);
            self.advance_events(&mut found, meter);
            let ended = self.end_chunk(meter);
            progress.stopped = progress.stopped.or(drained.err()).or(ended.err());
        }
        self.output.rows.end();
        progress.matches = *found;
        progress.consumed = row - from;
        progress.ended = meter.ended();
        progress.work = meter.taken();
        progress
    }

    #[inline]
    fn take<const TRACED: bool, const BOUNDED: bool, const COUNTED: bool>(
        &mut self,
        batch: &EdgeBatch,
        row: usize,
        has_events: bool,
        out: &mut Box<MatchBatch>,
        meter: &mut Meter<'_>,
    ) -> Next {
        let ts = batch.ts()[row];
        if !self.window.clocks.take(ts) {
            return self.refuse_unordered();
        }
        if self.timers.may_be_due(ts) {
            self.tell_expiry_before(batch, row, meter);
        }
        if has_events {
            if let Some(next) = self.take_as_event(batch, row, out, meter) {
                return next;
            }
        } else if batch.operations()[row] == Operation::Delete {
            self.take_deletion(batch, row, false, out, meter);
            return Next::Record;
        }
        if TRACED {
            self.tracing.see(batch, row, &self.dispatch, &self.window);
        }
        let class = self.dispatch.class(batch.labels()[row]);
        if class == NO_CLASS {
            return Next::Record;
        }
        self.totals.relevant += 1;
        let mut satisfied = Signatures::new();
        let record = self.window.record(batch, row);
        self.dispatch.satisfied(class, &record, meter, |signature| satisfied.push(signature));
        if satisfied.is_empty() {
            return Next::Record;
        }
        self.select(row);
        let has_before = !out.is_empty();
        if has_before {
            std::mem::swap(out, self.output.rows.before_mut());
        }
        let next = self.insert::<TRACED, BOUNDED, COUNTED>(batch, row, class, &satisfied, meter);
        if has_before {
            std::mem::swap(out, self.output.rows.before_mut());
        }
        next
    }

    /// Counts a record whose time is before the clock. No unit may have it: time that goes back takes their invariants along.
    #[cold]
    fn refuse_unordered(&mut self) -> Next {
        self.totals.unordered += 1;
        Next::Record
    }

    /// Lets event patterns and graph queries have a record, and takes a deletion for all; none if it is an edge, which others are to
    /// have, too.
    fn take_as_event(&mut self, batch: &EdgeBatch, row: usize, out: &mut MatchBatch, meter: &mut Meter<'_>) -> Option<Next> {
        let mut is_held = false;
        if !self.events.is_empty() {
            match self.detect(batch, row, out, meter) {
                Ok(is_kept) => is_held = is_kept,
                Err(limit) => {
                    self.limit = Some(limit);
                    return Some(Next::Limit);
                }
            }
        }
        if !self.graphs.is_empty() {
            match self.answer(batch, row, out, meter) {
                Ok(is_kept) => is_held |= is_kept,
                Err(limit) => {
                    self.limit = Some(limit);
                    return Some(Next::Limit);
                }
            }
        }
        if batch.operations()[row] == Operation::Delete {
            self.take_deletion(batch, row, is_held, out, meter);
            return Some(Next::Record);
        }
        batch.is_event(row).then(|| {
            self.window.clocks.take_edgeless();
            Next::Record
        })
    }

    /// Takes a deletion; `is_held` says whether others than engines held what it deletes.
    fn take_deletion(&mut self, batch: &EdgeBatch, row: usize, is_held: bool, out: &mut MatchBatch, meter: &mut Meter<'_>) {
        self.window.clocks.take_edgeless();
        self.select(row);
        let deletions = self.totals.deletions + u64::from(is_held);
        self.delete(batch.id(row), batch.ts()[row], out, meter);
        // What patterns of both kinds held was deleted once.
        self.totals.deletions = self.totals.deletions.max(deletions);
    }

    #[inline]
    fn select(&mut self, row: usize) {
        if self.window.keeps_all() && self.selected.last() != Some(&(row as u32)) {
            self.selected.push(row as u32);
        }
    }

    fn insert<const TRACED: bool, const BOUNDED: bool, const COUNTED: bool>(
        &mut self,
        batch: &EdgeBatch,
        row: usize,
        class: u32,
        satisfied: &[SignatureId],
        meter: &mut Meter<'_>,
    ) -> Next {
        let ts = batch.ts()[row];
        let (edge, ends) = self.window.push((batch, row), class, satisfied);
        let edges = if COUNTED { self.window.clocks.now().edges } else { 0 };
        if COUNTED {
            self.window.store.number(edges);
        }
        let Window { store, vertices: names, .. } = &self.window;
        let arrival = Arrival { ts, at: ts, source: ends.0, target: ends.1, edge, satisfied, store, names };
        let mut held = false;
        let mut next = Next::Record;
        'units: for &signature in satisfied {
            self.hits[signature.place()] += 1;
            let targets = self.dispatch.targets(signature);
            meter.tick(targets.len() as u32);
            self.grown += targets.len();
            for target in targets {
                let is_shut = |gate: Gate| !self.postings.is_open(gate, ends);
                // A traced search says itself what it lacks.
                if !target.admission.is_wanted
                    || (!TRACED && target.admission.gates.iter().any(|gate| gate.is_some_and(is_shut)))
                {
                    continue;
                }
                let unit = &mut self.units[target.unit.place()];
                if !unit.is_occupied {
                    unit.is_occupied = true;
                    self.occupied.push(target.unit);
                }
                let counted;
                let arrival = if COUNTED && unit.clock == Clock::Edges {
                    counted = Arrival { at: edges, ..arrival };
                    &counted
                } else {
                    &arrival
                };
                let before = unit.engine.live();
                let lent = self.allowances.as_mut().filter(|_| BOUNDED).map(|allowances| {
                    allowances.take_record(self.window.clocks.records());
                    begin(allowances, target.unit, meter)
                });
                let mut inserted = if TRACED {
                    unit.insert_traced(arrival, target.edge, &self.postings, &mut self.output.rows, meter)
                } else {
                    unit.insert(arrival, target.edge, &self.postings, &mut self.output.rows, Untraced, meter)
                };
                let refusal = if BOUNDED || meter.is_refused() { meter.end() } else { None };
                if let (Some(allowances), Some((taken, _))) = (&mut self.allowances, lent) {
                    spend(allowances, unit, target.unit, meter.taken() - taken);
                }
                if let Some(refusal) = refusal {
                    if matches!(refusal, Refusal::Ended(_)) {
                        next = Next::End;
                    }
                    inserted = inserted.and(unit.refused(refusal, lent.map(|(_, bounded)| bounded), meter));
                    self.output.rows.mark_shed(&unit.members);
                }
                if self.has_timers {
                    self.timers.set(target.unit, unit.clock, unit.engine.next_expiry());
                }
                // Units on other threads are counted when they are drained.
                if !self.has_threads {
                    self.live = self.live + unit.engine.live() - before;
                }
                match inserted {
                    Ok(used) => held |= used,
                    Err(limit) => {
                        held = true;
                        self.limit = Some(limit);
                        next = Next::Limit;
                        break 'units;
                    }
                }
            }
        }
        self.totals.peak_partial_matches = self.totals.peak_partial_matches.max(self.live as u64);
        for &signature in satisfied {
            held |= self.postings.add(signature, ts, ends, edge, meter);
            if COUNTED {
                held |= self.postings.add_counted(signature, edges, ends, edge, meter);
            }
        }
        if TRACED {
            self.units.iter_mut().for_each(|unit| unit.trace_kept(satisfied, edge, &self.postings));
        }
        // A match of one edge is held by nobody, but its row names the edge until the hand-over.
        if held || self.window.keeps_all() || !self.output.rows.is_empty() {
            if self.window.has_ids() {
                self.window.name(edge, batch.id(row));
            }
        } else {
            self.window.take_back(ends);
        }
        next
    }

    fn delete(&mut self, id: IdRef<'_>, ts: Time, out: &mut MatchBatch, meter: &mut Meter<'_>) {
        let Some(deleted) = self.window.take_id(id, ts) else { return };
        self.totals.deletions += 1;
        if self.tracing.is_on() {
            // What the window has passed already was not deleted.
            self.units.iter_mut().for_each(|unit| unit.expire_trace(&self.window));
        }
        let Deleted { edge, born, .. } = deleted;
        self.window.store.delete(edge);
        let mut ends_matches = false;
        for signature in self.window.signatures_of(edge, &self.dispatch) {
            self.postings.delete(signature, born, edge);
            for target in self.dispatch.targets(signature) {
                meter.tick(1);
                let unit = &mut self.units[target.unit.place()];
                ends_matches |= unit.engine.delete(&deleted, &mut self.output.rows, meter) == Deletion::EndsMatches;
                if self.has_timers {
                    self.timers.set(target.unit, unit.clock, unit.engine.next_expiry());
                }
            }
        }
        // A limit that a drained transaction reached is found again at the end of the chunk.
        let _ = self.drain(meter);
        self.hand_over(out, meter);
        if ends_matches {
            let Self { output, units, postings, window, queries, .. } = self;
            output.retract(deleted, Sources { units, postings, window }, queries, out, meter);
        }
    }

    /// Waits for units that work on other threads, and puts the rows of all units in order of detection.
    fn drain(&mut self, meter: &mut Meter<'_>) -> Result<(), LimitReached> {
        if !self.has_threads {
            return Ok(());
        }
        let from = self.output.rows.len();
        let mut outcomes = Vec::new();
        for (number, unit) in (0..).map(UnitId).zip(&mut self.units) {
            let drained = unit.drain(&mut self.output.rows, meter);
            let mut bounded = None;
            if let Some(allowances) = &mut self.allowances {
                allowances.spend(Payer::Engine(number), drained.taken);
                unit.counts.work += drained.taken;
                bounded = Some(allowances.lend(Payer::Engine(number)).1);
            }
            if let Some(bounds) = drained.limited {
                outcomes.push(unit.at_limit(&bounds.to_string(), meter));
            }
            if drained.refused {
                let refusal = meter.ended().map_or(Refusal::Allowance, Refusal::Ended);
                outcomes.push(unit.refused(refusal, bounded, meter).map(|_| ()));
            }
        }
        self.live = self.units.iter().map(|unit| unit.engine.live()).sum();
        // Peaks of units that run side by side need not fall together: their sum bounds the common peak.
        let peak: usize = self.units.iter().map(|unit| unit.engine.usage().peak).sum();
        self.totals.peak_partial_matches = self.totals.peak_partial_matches.max(peak as u64);
        if self.output.rows.len() > from {
            self.output.rows.sort(&self.window.store);
        }
        outcomes.into_iter().collect()
    }

    /// Lets patterns tell what follows from a record's place in the stream alone.
    #[cold]
    fn tell_expiry_before(&mut self, batch: &EdgeBatch, row: usize, meter: &mut Meter<'_>) {
        let Now { ts, edges } = self.window.clocks.now();
        self.tell_expiry(Now { ts, edges: edges - i64::from(!batch.is_edge(row)) }, meter);
    }

    /// Lets patterns tell what follows from the time alone, or from how many edges came.
    #[cold]
    fn tell_expiry(&mut self, now: Now, meter: &mut Meter<'_>) {
        while let Some(number) = self.timers.next_due(now) {
            let unit = &mut self.units[number.place()];
            meter.tick(1);
            let before = unit.engine.live();
            unit.engine.advance(now, &mut self.output.rows, meter);
            self.live = self.live + unit.engine.live() - before;
            self.timers.set(number, unit.clock, unit.engine.next_expiry());
        }
    }

    /// Turns the rows found into matches that own their texts.
    fn hand_over(&mut self, out: &mut MatchBatch, meter: &mut Meter<'_>) {
        let Self { output, units, postings, window, queries, .. } = self;
        output.hand_over(Sources { units, postings, window }, queries, out, meter);
    }

    /// Lets go of what left the longest windows, and looks at the bytes that patterns take.
    fn end_chunk(&mut self, meter: &mut Meter<'_>) -> Result<(), LimitReached> {
        let mut outcome = Ok(());
        let alive_from = self.window.alive_from(self.window.clocks.now());
        if self.tracing.is_on() {
            self.units.iter_mut().for_each(|unit| unit.expire_trace(&self.window));
        }
        if self.window.begin_sweep() {
            self.sweep(meter);
        }
        if self.units.len() <= FEW || self.grown >= self.units.len() {
            self.grown = 0;
            self.totals.peak_state_bytes = self.totals.peak_state_bytes.max(self.state_bytes() as u64);
            let postings = &self.postings;
            let queries = &self.queries;
            let more = |unit: &Unit| unit.members.iter().map(|member| queries[member.place()].told_bytes()).sum();
            outcome = self.units.iter_mut().try_for_each(|unit| unit.check_bytes(postings, more(unit), meter));
            outcome = outcome.and(self.events.check_bytes(queries)).and(self.graphs.check_bytes());
            if self.output.is_selective() {
                outcome = outcome.and(self.check_keys(meter));
            }
            let held = (self.live + self.events.peak() + self.graphs.peak()) as u64;
            self.totals.peak_partial_matches = self.totals.peak_partial_matches.max(held);
        }
        self.window.expire(alive_from, meter);
        self.output.expire(alive_from, meter);
        self.free_signatures();
        outcome
    }

    /// Lets go of what was told in intervals that are over, and does as the limits say where there are too many keys in one.
    #[cold]
    fn check_keys(&mut self, meter: &mut Meter<'_>) -> Result<(), LimitReached> {
        let now = self.window.clocks.now();
        self.units.iter_mut().for_each(|unit| unit.forget_past(now));
        for query in &mut self.queries {
            let Some(once) = query.once_mut() else { continue };
            once.pass(now.ts);
            once.expire(now.ts);
            let Some(limit) = once.take_limit() else { continue };
            match (query.unit, query.events) {
                (Some(unit), _) => self.units[unit.place()].at_limit(&limit, meter)?,
                (None, Some(unit)) => self.events.at_limit(unit, limit)?,
                (None, None) => {}
            }
        }
        Ok(())
    }

    /// Expires what no edge has touched for a window, so that quiet patterns hold nothing for ever.
    fn sweep(&mut self, meter: &mut Meter<'_>) {
        let now = self.window.clocks.now();
        self.live = 0;
        self.occupied.retain(|&number| {
            let unit = &mut self.units[number.place()];
            meter.tick(1);
            unit.engine.advance(now, &mut self.output.rows, meter);
            self.live += unit.engine.live();
            unit.is_occupied = unit.holds();
            unit.is_occupied
        });
        self.postings.advance(now, meter);
    }

    /// Bytes of state alive, shared and of every unit.
    pub fn state_bytes(&self) -> usize {
        let engines: usize = self.units.iter().map(|unit| unit.engine.usage().bytes).sum();
        let postings = self.postings.total_bytes();
        let others = self.events.bytes() + self.graphs.bytes();
        engines + postings + others + self.output.bytes(&self.queries) + self.window.bytes()
    }

    /// Counts over the whole pass; the peak of state counts what is alive now, too.
    pub fn totals(&self) -> Totals {
        let peak_state_bytes = self.totals.peak_state_bytes.max(self.state_bytes() as u64);
        Totals { records: self.window.clocks.records(), matches: self.output.matches(), peak_state_bytes, ..self.totals }
    }

    /// The patterns with their numbers and units.
    pub fn queries(&self) -> impl Iterator<Item = (PatternId, &Query, &Unit)> {
        let numbered = (0..).map(PatternId).zip(&self.queries);
        numbered.filter_map(|(number, query)| Some((number, query, &self.units[query.unit?.place()])))
    }

    /// A pattern with its unit; none if there is none of the number.
    pub fn query(&self, number: PatternId) -> Option<(&Query, &Unit)> {
        let query = self.queries.get(number.place())?;
        Some((query, &self.units[query.unit?.place()]))
    }

    /// For each query edge of a pattern, how many records could be it by themselves since it was added.
    pub fn hits(&self, query: &Query, unit: &Unit) -> Vec<u64> {
        query.hits(unit, &self.hits).collect()
    }

    /// Bytes of state of one unit; lists that units share count for each.
    pub fn unit_bytes(&self, unit: &Unit) -> usize {
        unit.bytes(&self.postings)
    }

    /// Has traced patterns under dual simulation answer why edges of these ids are in no match, if they are not.
    pub fn ask(&mut self, ids: Vec<String>) {
        self.units.iter_mut().for_each(|unit| unit.inquire(&ids));
        self.tracing.ask(ids);
    }

    /// The funnel of a pattern; none if it is not traced.
    pub fn funnel<'a>(&'a self, query: &'a Query) -> Option<Funnel<'a>> {
        self.tracing.funnel(query, &self.units[query.unit?.place()], &self.window)
    }

    /// Has a benchmark look on at the engines of dual simulation from now.
    pub fn set_probe(&mut self, probe: Probe) {
        for unit in &mut self.units {
            if let Some(simulated) = unit.engine.simulated_mut() {
                simulated.set_probe(probe);
            }
        }
    }

    /// Names of the patterns, for reading and writing matches.
    pub fn names(&self) -> Arc<[Arc<PatternNames>]> {
        Arc::clone(&self.output.names)
    }
}

/// Lends a unit what it may spend on an insertion; returns the steps counted before, and whose account bounds it.
#[allow(clippy::inline_always)] // every insertion that is bounded
#[inline(always)]
fn begin(allowances: &mut Allowances, unit: UnitId, meter: &mut Meter<'_>) -> (u64, Bounded) {
    let (allowance, bounded) = allowances.lend(Payer::Engine(unit));
    meter.begin(allowance);
    (meter.taken(), bounded)
}

#[allow(clippy::inline_always)] // every insertion that is bounded
#[inline(always)]
fn spend(allowances: &mut Allowances, unit: &mut Unit, number: UnitId, taken: u64) {
    let taken = taken + unit.engine.taken_elsewhere();
    unit.counts.work += taken;
    allowances.spend(Payer::Engine(number), taken);
}

/// Splits predicates into those that one edge decides, by edge, and the others.
///
/// A predicate on one vertex goes to every edge at it: the sooner a wrong edge is refused, the better.
fn split_predicates(spec: &PatternSpec) -> (Vec<Vec<Expression>>, Vec<Expression>) {
    let mut alone = vec![Vec::new(); spec.edges.len()];
    let mut across = Vec::new();
    for predicate in &spec.predicates {
        let (edges, vertices) = predicate.reads();
        let mut decided = false;
        for (number, edge) in spec.edges.iter().enumerate() {
            if edges & !(1 << number) == 0 && vertices & !(1 << edge.source | 1 << edge.target) == 0 {
                alone[number].push(predicate.clone());
                decided = true;
            }
        }
        if !decided {
            across.push(predicate.clone());
        }
    }
    (alone, across)
}
