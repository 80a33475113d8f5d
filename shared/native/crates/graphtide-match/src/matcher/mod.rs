//! Many patterns in one pass over an ordered stream.
//!
//! For each record: units of event patterns and of graph queries have it first. An edge continues to the dispatch by labels,
//! then to the units of subgraph patterns, in the window that they share. A unit is what matches some patterns: most have one.
//! The parts have invariants of their own. The [registry](registry) knows the patterns, the [window](window) the edges. The
//! units of [subgraphs], [events](event_units) and [graphs](graph_queries) match, and the [output](output) says what is
//! reported.
//! Cost: an edge that no pattern can use costs the dispatch alone; otherwise work in proportion to the query edges it
//! satisfies. Work is counted on a meter, which may pause it anywhere, and end it. Then the patterns that were not done with
//! the record say so as under `shed`. A pattern's work may be bounded ([`work_budgets`]).

mod changes;
mod clocks;
mod deduplication;
mod emission;
mod engine;
mod event_units;
mod graph_queries;
mod ids;
mod interface;
mod membership;
mod output;
mod own_units;
mod partial_matches;
mod past;
mod query;
mod registry;
mod reported;
mod satisfied;
mod selection;
mod status;
mod subgraphs;
mod timers;
mod tracing;
mod types;
mod unit;
mod unit_ref;
mod units;
mod window;
mod work_budgets;

use graphtide_engine::arrival::Deleted;
use graphtide_engine::dispatch::NO_CLASS;
use graphtide_engine::meter::Meter;
use graphtide_engine::output::MatchBatch;
use graphtide_graph::Time;
use graphtide_graph::batch::{EdgeBatch, Operation};
use graphtide_graph::clock::Now;
use graphtide_graph::key::IdRef;
use graphtide_graph::symbol::SharedSymbols;

use crate::plan::{InvalidPlan, MatcherSpec};
use emission::Emission;
pub use engine::AnyEngine;
use event_units::{Allowed, EventUnit};
use membership::Membership;
use output::Output;
use own_units::OwnUnits;
pub use partial_matches::{BoundEdge, CountedStep, NearMatch, PartialMatches};
pub use past::Past;
pub use query::{Query, Reports};
use registry::Registry;
use selection::Selection;
pub use status::Status;
pub use subgraphs::unit::SubgraphUnit;
use subgraphs::{Next, Pass, Subgraphs};
use tracing::Tracing;
pub use tracing::{Answer, Funnel, FunnelStep};
pub use types::{Options, Progress, Totals};
pub use unit::{Counts, Guard, LimitReached, Removal, Unit, Warm};
use unit_ref::UnitRef;
use units::{OwnStore, Units};
use window::{Signatures, Window};
use work_budgets::WorkBudgets;

/// Records between two hand-overs of rows and expiries of the store.
const CHUNK: usize = 4096;

/// Steps that the records of a chunk take if no pattern wants them.
const CHUNK_STEPS: u32 = 512;

/// Patterns and what they share.
#[derive(Debug)]
pub struct Matcher {
    registry: Registry,
    window: Window,
    subgraphs: Subgraphs,
    own: OwnUnits,
    output: Output,
    tracing: Tracing,
    budgets: Option<WorkBudgets>,
    selection: Selection,
    allowed: Allowed,
    totals: Totals,
    /// The limit that the last record reached.
    limit: Option<LimitReached>,
}

impl Matcher {
    /// Makes a matcher of checked patterns.
    pub fn new(spec: MatcherSpec, symbols: &SharedSymbols, options: Options) -> Result<Self, InvalidPlan> {
        let Options { deletions, adaptive, traced, work } = options;
        let mut matcher = Self {
            registry: Registry::default(),
            window: Window::new(symbols, deletions, adaptive),
            subgraphs: Subgraphs::default(),
            own: OwnUnits::default(),
            output: Output::new(deletions),
            tracing: Tracing::default(),
            budgets: WorkBudgets::new(work),
            selection: Selection::new(adaptive),
            allowed: Allowed { deletions },
            totals: Totals::default(),
            limit: None,
        };
        matcher.membership().begin(spec, traced)?;
        if traced.is_some() {
            matcher.tracing.begin(matcher.subgraphs.dispatch.len());
        }
        Ok(matcher)
    }

    /// Takes records from number `from` until the batch ends, `most` matches were found, or a limit or the meter ends the run.
    ///
    /// Records come in order of time over all calls: the sequencer's work. One that does not, or comes before a time that is
    /// said to have passed, is refused and counted. What the meter ended was taken as far as `consumed` says, the last record
    /// perhaps in part. Patterns that lost something by it say so from then on.
    pub fn push(&mut self, batch: &EdgeBatch, from: usize, most: usize, meter: &mut Meter<'_>) -> Progress {
        if from == 0 {
            self.selection.begin();
        }
        // Where edges are counted, it is as if work were bounded: what is compiled once more is enough so.
        match (self.tracing.is_on(), self.budgets.is_some(), self.window.store.counts()) {
            (false, false, false) => self.take_all::<false, false, false>(batch, from, most, meter),
            (false, true, false) => self.take_all::<false, true, false>(batch, from, most, meter),
            (true, false, false) => self.take_all::<true, false, false>(batch, from, most, meter),
            (true, true, false) => self.take_all::<true, true, false>(batch, from, most, meter),
            (false, _, true) => self.take_all::<false, true, true>(batch, from, most, meter),
            (true, _, true) => self.take_all::<true, true, true>(batch, from, most, meter),
        }
    }

    /// Lets units report what follows from the time alone; `f` lets those of event patterns.
    fn report_expiry(
        &mut self,
        now: Now,
        meter: &mut Meter<'_>,
        f: impl FnOnce(&mut Units<EventUnit>, Now, &mut Emission<'_>, &mut Meter<'_>),
    ) -> Progress {
        let mut matches = MatchBatch::default();
        self.subgraphs.advance(now, &mut self.output.rows, meter);
        self.hand_over(&mut matches, meter);
        let (events, mut pass) = self.emission(&mut matches);
        f(events, now, &mut pass, meter);
        Progress { matches, ended: meter.ended(), work: meter.taken(), ..Progress::default() }
    }

    fn take_all<const TRACED: bool, const BOUNDED: bool, const COUNTED: bool>(
        &mut self,
        batch: &EdgeBatch,
        from: usize,
        most: usize,
        meter: &mut Meter<'_>,
    ) -> Progress {
        self.window.learn_names();
        self.own.learn_names();
        // Streams of edges are asked once a batch, not with each record.
        let has_events = batch.has_events() || !self.own.is_empty();
        if self.output.lacks_recipients(meter) {
            let shed = self.shed();
            self.output.address(self.subgraphs.sources(&self.window), &self.registry.queries, shed);
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
        if self.subgraphs.may_be_due(ts) {
            self.advance_before(batch, row, meter);
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
            self.tracing.see(batch, row, &self.subgraphs.dispatch, &self.window);
        }
        let class = self.subgraphs.dispatch.class(batch.labels()[row]);
        if class == NO_CLASS {
            return Next::Record;
        }
        self.totals.relevant += 1;
        let mut satisfied = Signatures::new();
        let record = self.window.record(batch, row);
        self.subgraphs.dispatch.satisfied(class, &record, meter, |signature| satisfied.push(signature));
        if satisfied.is_empty() {
            return Next::Record;
        }
        self.selection.select(row);
        let Self { subgraphs, window, budgets, output, limit, .. } = self;
        let has_before = !out.is_empty();
        if has_before {
            std::mem::swap(out, output.rows.before_mut());
        }
        let pass = Pass { window, budgets, rows: &mut output.rows, limit };
        let next = subgraphs.insert::<TRACED, BOUNDED, COUNTED>((batch, row), class, &satisfied, pass, meter);
        if has_before {
            std::mem::swap(out, output.rows.before_mut());
        }
        next
    }

    /// Counts a record whose time is before the clock. No unit may have it: time that goes back takes their invariants along.
    #[cold]
    fn refuse_unordered(&mut self) -> Next {
        self.totals.unordered += 1;
        Next::Record
    }

    /// Lets units of subgraph patterns report what follows from a record's place in the stream alone.
    #[cold]
    fn advance_before(&mut self, batch: &EdgeBatch, row: usize, meter: &mut Meter<'_>) {
        let Now { ts, edges } = self.window.clocks.now();
        let before = Now { ts, edges: edges - i64::from(!batch.is_edge(row)) };
        self.subgraphs.advance(before, &mut self.output.rows, meter);
    }

    /// Lets event patterns and graph queries have a record, and takes a deletion for all. None if it is an edge, which others
    /// are to have, too.
    fn take_as_event(&mut self, batch: &EdgeBatch, row: usize, out: &mut MatchBatch, meter: &mut Meter<'_>) -> Option<Next> {
        let Self { own, subgraphs, window, registry, output, budgets, selection, .. } = self;
        let clocks = window.clocks;
        let from = subgraphs.sources(window);
        let mut pass = Emission { budgets, output, from, queries: &mut registry.queries, out };
        match own.take((batch, row), &clocks, selection, &mut pass, meter) {
            Ok(is_held) if batch.operations()[row] == Operation::Delete => {
                self.take_deletion(batch, row, is_held, out, meter);
                Some(Next::Record)
            }
            Ok(_) => batch.is_event(row).then(|| {
                self.window.clocks.take_edgeless();
                Next::Record
            }),
            Err(limit) => {
                self.limit = Some(limit);
                Some(Next::Limit)
            }
        }
    }

    /// Takes a deletion; `is_held` says whether others than engines held what it deletes.
    fn take_deletion(&mut self, batch: &EdgeBatch, row: usize, is_held: bool, out: &mut MatchBatch, meter: &mut Meter<'_>) {
        self.window.clocks.take_edgeless();
        self.selection.select(row);
        // What patterns of both kinds held was deleted once.
        let is_deleted = self.delete(batch.id(row), batch.ts()[row], out, meter);
        self.totals.deletions += u64::from(is_deleted || is_held);
    }

    /// Deletes the edge of an id; says whether the window had it.
    fn delete(&mut self, id: IdRef<'_>, ts: Time, out: &mut MatchBatch, meter: &mut Meter<'_>) -> bool {
        let Some(deleted) = self.window.take_id(id, ts) else { return false };
        if self.tracing.is_on() {
            // What the window has passed already was not deleted.
            self.subgraphs.expire_traces(&self.window);
        }
        self.window.store.delete(deleted.edge);
        let ends_matches = self.subgraphs.delete(&deleted, &self.window, &mut self.output.rows, meter);
        // A limit that a drained transaction reached is found again at the end of the chunk.
        let _ = self.drain(meter);
        self.hand_over(out, meter);
        if ends_matches {
            self.retract(deleted, out, meter);
        }
        true
    }

    fn retract(&mut self, deleted: Deleted, out: &mut MatchBatch, meter: &mut Meter<'_>) {
        let from = self.subgraphs.sources(&self.window);
        self.output.retract(deleted, from, &mut self.registry.queries, out, meter);
    }

    fn drain(&mut self, meter: &mut Meter<'_>) -> Result<(), LimitReached> {
        self.subgraphs.drain(&mut self.budgets, &mut self.output.rows, &self.window.store, meter)
    }

    /// Turns the rows found into matches that own their texts.
    fn hand_over(&mut self, out: &mut MatchBatch, meter: &mut Meter<'_>) {
        let from = self.subgraphs.sources(&self.window);
        self.output.hand_over(from, &mut self.registry.queries, out, meter);
    }

    /// The units of event patterns, and what they use of the pass.
    fn emission<'a>(&'a mut self, out: &'a mut MatchBatch) -> (&'a mut Units<EventUnit>, Emission<'a>) {
        let Self { own, subgraphs, window, registry, output, budgets, .. } = self;
        let from = subgraphs.sources(window);
        (&mut own.events, Emission { budgets, output, from, queries: &mut registry.queries, out })
    }

    /// Lets time pass for the units of event patterns.
    fn advance_events(&mut self, out: &mut MatchBatch, meter: &mut Meter<'_>) {
        if self.own.events.is_empty() {
            return;
        }
        let now = self.window.clocks.now();
        let (events, mut pass) = self.emission(out);
        events.advance(now, &mut pass, meter);
        let held = self.subgraphs.live() + self.own.events.peak();
        self.totals.peak_partial_matches = self.totals.peak_partial_matches.max(held as u64);
    }

    /// Drops what left the longest windows, and looks at the bytes that patterns take.
    fn end_chunk(&mut self, meter: &mut Meter<'_>) -> Result<(), LimitReached> {
        let now = self.window.clocks.now();
        let alive_from = self.window.alive_from(now);
        if self.tracing.is_on() {
            self.subgraphs.expire_traces(&self.window);
        }
        if self.window.begin_sweep() {
            self.subgraphs.sweep(now, &mut self.output.rows, meter);
        }
        let outcome = if self.subgraphs.begin_check() { self.check(now, meter) } else { Ok(()) };
        self.window.expire(alive_from, meter);
        self.output.expire(alive_from, meter);
        let changes = &mut self.registry.changes;
        self.subgraphs.free_signatures(&self.window, |signature| changes.forget_signature(signature));
        outcome
    }

    /// Does as the limits say where patterns take too much, and counts what all take.
    fn check(&mut self, now: Now, meter: &mut Meter<'_>) -> Result<(), LimitReached> {
        self.totals.peak_state_bytes = self.totals.peak_state_bytes.max(self.state_bytes() as u64);
        let Self { subgraphs, own, registry, .. } = self;
        let mut outcome = subgraphs.check_bytes(now, &registry.queries, meter);
        outcome = outcome.and(own.check_bytes(&registry.queries));
        if self.output.is_selective() {
            subgraphs.forget_pasts(now);
            outcome = outcome.and(registry.check_keys(now.ts, |unit, limit| match unit {
                UnitRef::Subgraph(unit) => subgraphs.units[unit.place()].at_limit(&limit, meter),
                UnitRef::Events(unit) => own.events.get_mut(unit).at_limit(&limit),
                UnitRef::Graph(_) => Ok(()),
            }));
        }
        subgraphs.expel_paused();
        let held = (self.subgraphs.live() + self.own.peak()) as u64;
        self.totals.peak_partial_matches = self.totals.peak_partial_matches.max(held);
        outcome
    }
}
