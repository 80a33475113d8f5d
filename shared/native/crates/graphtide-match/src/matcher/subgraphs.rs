//! Units of subgraph patterns: each an engine with the patterns that it matches, in the window that all share.
//!
//! An edge goes to the units one of whose query edges it could be, by the signatures that it satisfies. Then it is listed for
//! later searches. What no unit kept is taken back at once.
//! Invariant: a number of a signature is given again only when every edge has left that may be named as having satisfied it.
//! Cost: an edge costs work in proportion to the query edges that it satisfies; the rest is that of the engines.

mod blueprints;
mod making;
mod recall;
mod replan;
mod shared_searches;
mod sharing;
pub mod unit;
mod warming;

use graphtide_engine::arrival::{Arrival, Deleted};
use graphtide_engine::dispatch::Dispatch;
use graphtide_engine::engine::Engine;
use graphtide_engine::ids::{SignatureId, UnitId};
use graphtide_engine::lists::{Gate, Postings};
use graphtide_engine::meter::{Meter, Refusal};
use graphtide_engine::output::Rows;
use graphtide_graph::Time;
use graphtide_graph::batch::EdgeBatch;
use graphtide_graph::clock::{Clock, Now};
use graphtide_graph::store::{EdgeRef, EdgeStore};
use graphtide_graph::vertex::Vertex;

use super::output::Sources;
use super::query::Query;
use super::timers::Timers;
use super::unit::{LimitReached, Removal, Unit};
use super::unit_ref::UnitRef;
use super::window::Window;
use super::work_budgets::{Bounded, WorkBudgets};
use blueprints::Blueprints;
use shared_searches::{Effort, SearchEnd, SharedSearches};
use unit::{Candidate, SubgraphUnit};

/// Patterns up to which each chunk is followed by a look at the bytes of all.
const FEW: usize = 64;

/// All units of subgraph patterns, and what they share beside the window.
#[derive(Debug, Default)]
pub struct Subgraphs {
    /// By number; one without patterns is vacant.
    pub units: Vec<SubgraphUnit>,
    /// Which edges could be which query edges.
    pub dispatch: Dispatch,
    /// Lists of edges.
    pub postings: Postings,
    /// By signature: insertions that satisfied it.
    pub hits: Vec<u64>,
    blueprints: Blueprints,
    searches: SharedSearches,
    timers: Timers,
    /// Whether some unit may ever have a time.
    has_timers: bool,
    has_threads: bool,
    /// Partial matches alive, and the most at once.
    live: usize,
    peak: usize,
    /// How often an edge could have made a unit's state grow since the bytes of all were looked at.
    grown: usize,
    /// Units whose engine may hold something.
    occupied: Vec<UnitId>,
}

/// What units use of the pass while they have an edge.
pub struct Pass<'a> {
    /// The edges.
    pub window: &'a mut Window,
    /// What they may spend.
    pub budgets: &'a mut Option<WorkBudgets>,
    /// What they find.
    pub rows: &'a mut Rows,
    /// The limit that was reached, if one was.
    pub limit: &'a mut Option<LimitReached>,
}

/// What a record leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The next one.
    Record,
    /// The end: all work ends.
    End,
    /// The end: a limit was reached, which the pass keeps.
    Limit,
}

impl Subgraphs {
    /// Inserts an edge of a class that satisfies some signatures.
    ///
    /// It is compiled for a pass that is traced or not, whose work is bounded or not, and where windows count edges or not.
    pub fn insert<const TRACED: bool, const BOUNDED: bool, const COUNTED: bool>(
        &mut self,
        (batch, row): (&EdgeBatch, usize),
        class: u32,
        satisfied: &[SignatureId],
        pass: Pass<'_>,
        meter: &mut Meter<'_>,
    ) -> Next {
        let Pass { window, budgets, rows, limit } = pass;
        let ts = batch.ts()[row];
        let (edge, ends) = window.push((batch, row), class, satisfied);
        let edges = if COUNTED { window.number_newest() } else { 0 };
        let arrival = Arrival {
            ts,
            at: ts,
            source: ends.0,
            target: ends.1,
            edge,
            satisfied,
            store: &window.store,
            names: &window.vertices,
        };
        let mut held = false;
        let mut next = Next::Record;
        'units: for &signature in satisfied {
            self.hits[signature.place()] += 1;
            let search = self.search_shared::<TRACED, BOUNDED>(signature, &arrival, budgets, rows, limit, meter);
            if let Some(end) = search.end() {
                next = end;
                if next == Next::Limit {
                    held = true;
                    break;
                }
            }
            let is_again = search == SearchEnd::TooLong;
            // A traced search is a pattern's own.
            let targets = if TRACED || is_again { self.dispatch.targets(signature) } else { self.dispatch.alone(signature) };
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
                let began = is_again.then(|| Effort::of(rows, meter));
                let lent = budgets.as_mut().filter(|_| BOUNDED).map(|budgets| {
                    budgets.take_record(window.clocks.records());
                    begin(budgets, target.unit, meter)
                });
                let candidate = Candidate { arrival, query_edge: target.edge, postings: &self.postings, is_traced: TRACED };
                let mut inserted = unit.insert(candidate, rows, meter);
                let refusal = if BOUNDED || meter.is_refused() { meter.end() } else { None };
                if let (Some(budgets), Some((taken, _))) = (&mut *budgets, lent) {
                    spend(budgets, unit, target.unit, meter.taken() - taken);
                }
                if let Some(refusal) = refusal {
                    if matches!(refusal, Refusal::Ended(_)) {
                        next = Next::End;
                    }
                    inserted = inserted.and(unit.refused(refusal, lent.map(|(_, bounded)| bounded), meter));
                    rows.mark_shed(&unit.members);
                }
                if self.has_timers {
                    self.timers.set(target.unit, unit.clock, unit.next_due());
                }
                // Units on other threads are counted when they are drained.
                if !self.has_threads {
                    self.live = self.live + unit.engine.live() - before;
                }
                match inserted {
                    Ok(used) => held |= used,
                    Err(reached) => {
                        held = true;
                        *limit = Some(reached);
                        next = Next::Limit;
                        break 'units;
                    }
                }
                if let Some(began) = began
                    && Effort::of(rows, meter).steps_since(began) > self.searches.bound_of_member::<BOUNDED>(signature)
                {
                    self.searches.greedy.push(target.unit);
                }
            }
            if is_again {
                self.expel_greedy(signature);
            }
        }
        self.peak = self.peak.max(self.live);
        held |= self.list::<COUNTED>(satisfied, Now { ts, edges }, (ends, edge), meter);
        if TRACED {
            self.units.iter_mut().for_each(|unit| unit.trace_kept(satisfied, edge, &self.postings));
        }
        // A match of one edge is held by nobody, but its row names the edge until the hand-over.
        window.settle_newest(held || !rows.is_empty(), edge, ends, (batch, row));
        next
    }

    /// Lists an edge under the signatures that it satisfies; says whether anyone reads it there.
    #[allow(clippy::inline_always)] // every edge that somebody wants
    #[inline(always)]
    fn list<const COUNTED: bool>(
        &mut self,
        satisfied: &[SignatureId],
        now: Now,
        (ends, edge): ((Vertex, Vertex), EdgeRef),
        meter: &mut Meter<'_>,
    ) -> bool {
        let mut is_read = false;
        for &signature in satisfied {
            is_read |= self.postings.add(signature, now.ts, ends, edge, meter);
            if COUNTED {
                is_read |= self.postings.add_counted(signature, now.edges, ends, edge, meter);
            }
        }
        is_read
    }

    /// Lets units take no further account of an edge that is deleted. Returns whether matches that have it end, of engines that
    /// do not report that.
    pub fn delete(&mut self, deleted: &Deleted, window: &Window, rows: &mut Rows, meter: &mut Meter<'_>) -> bool {
        let mut ends_matches = false;
        for signature in window.signatures_of(deleted.edge, &self.dispatch) {
            self.postings.delete(signature, deleted.born, deleted.edge);
            for target in self.dispatch.targets(signature) {
                meter.tick(1);
                let unit = &mut self.units[target.unit.place()];
                ends_matches |= unit.delete(deleted, rows, meter) == Ok(Removal::EndsMatches);
                if self.has_timers {
                    self.timers.set(target.unit, unit.clock, unit.next_due());
                }
            }
        }
        ends_matches
    }

    /// Waits for units that work on other threads, and puts the rows of all units in order of detection.
    pub fn drain(
        &mut self,
        budgets: &mut Option<WorkBudgets>,
        rows: &mut Rows,
        store: &EdgeStore,
        meter: &mut Meter<'_>,
    ) -> Result<(), LimitReached> {
        if !self.has_threads {
            return Ok(());
        }
        let from = rows.len();
        let mut outcomes = Vec::new();
        for (number, unit) in (0..).map(UnitId).zip(&mut self.units) {
            let drained = unit.drain(rows, meter);
            let mut bounded = None;
            if let Some(budgets) = &mut *budgets {
                budgets.spend(UnitRef::Subgraph(number), drained.taken);
                unit.guard.counts.work += drained.taken;
                bounded = Some(budgets.lend(UnitRef::Subgraph(number)).1);
            }
            if let Some(bounds) = drained.limited {
                outcomes.push(unit.at_limit(&bounds.to_string(), meter));
            }
            if drained.refused {
                let refusal = meter.ended().map_or(Refusal::WorkBudget, Refusal::Ended);
                outcomes.push(unit.refused(refusal, bounded, meter).map(|_| ()));
            }
        }
        self.live = self.units.iter().map(|unit| unit.engine.live()).sum();
        // Peaks of units that run side by side need not fall together: their sum bounds the common peak.
        self.peak = self.peak.max(self.units.iter().map(|unit| unit.engine.usage().peak).sum());
        if rows.len() > from {
            rows.sort(store);
        }
        outcomes.into_iter().collect()
    }

    /// Whether some unit may have something to report before a record of a time.
    #[inline]
    pub fn may_be_due(&self, now: Time) -> bool {
        self.timers.may_be_due(now)
    }

    /// Lets units report what follows from the time alone, or from how many edges came.
    #[cold]
    pub fn advance(&mut self, now: Now, rows: &mut Rows, meter: &mut Meter<'_>) {
        while let Some(number) = self.timers.next_due(now) {
            let unit = &mut self.units[number.place()];
            meter.tick(1);
            let before = unit.engine.live();
            unit.advance(now, rows, meter);
            self.live = self.live + unit.engine.live() - before;
            self.timers.set(number, unit.clock, unit.next_due());
        }
    }

    /// Lets units report what follows once all time has passed, until `now` and beyond.
    #[cold]
    pub fn finish(&mut self, now: Now, rows: &mut Rows, meter: &mut Meter<'_>) {
        self.advance(now, rows, meter);
        for unit in self.units.iter_mut().filter(|unit| unit.engine.emits_expiry()) {
            let before = unit.engine.live();
            unit.engine.end_time(rows, meter);
            self.live = self.live + unit.engine.live() - before;
        }
    }

    /// Expires what no edge has touched for a window, so that quiet patterns hold nothing for ever.
    pub fn sweep(&mut self, now: Now, rows: &mut Rows, meter: &mut Meter<'_>) {
        self.live = 0;
        self.occupied.retain(|&number| {
            let unit = &mut self.units[number.place()];
            meter.tick(1);
            unit.advance(now, rows, meter);
            self.live += unit.engine.live();
            unit.is_occupied = unit.holds();
            unit.is_occupied
        });
        self.postings.advance(now, meter);
    }

    /// Drops what left the window of a unit, unless it reports that: then it is due by itself.
    pub fn expire(&mut self, number: UnitId, now: Now, rows: &mut Rows, meter: &mut Meter<'_>) {
        let unit = &mut self.units[number.place()];
        if unit.engine.emits_expiry() {
            return;
        }
        let before = unit.engine.live();
        unit.advance(now, rows, meter);
        // What other threads found was handed over before.
        unit.drain(rows, meter);
        self.live = self.live + unit.engine.live() - before;
    }

    /// Whether bytes are to be looked at: there are few units, or enough came that could have made them grow.
    pub fn begin_check(&mut self) -> bool {
        let is_due = self.units.len() <= FEW || self.grown >= self.units.len();
        if is_due {
            self.grown = 0;
        }
        is_due
    }

    /// Does as the policies say where units take more bytes than they may.
    pub fn check_bytes(&mut self, now: Now, queries: &[Query], meter: &mut Meter<'_>) -> Result<(), LimitReached> {
        let Self { units, postings, .. } = self;
        // A shared search takes records for all.
        units.iter_mut().filter(|unit| unit.is_shared).for_each(|unit| unit.guard.taken = now.ts);
        let more = |unit: &SubgraphUnit| unit.members.iter().map(|member| queries[member.place()].emitted_bytes()).sum();
        units.iter_mut().try_for_each(|unit| unit.check_bytes(postings, more(unit), meter))
    }

    /// Drops the order of pasts that have left their windows.
    pub fn forget_pasts(&mut self, now: Now) {
        self.units.iter_mut().for_each(|unit| unit.forget_past(now));
    }

    /// Drops the traced partial matches that the window has passed.
    pub fn expire_traces(&mut self, window: &Window) {
        self.units.iter_mut().for_each(|unit| unit.expire_trace(window));
    }

    /// What rows refer to.
    #[inline]
    pub fn sources<'a>(&'a self, window: &'a Window) -> Sources<'a> {
        Sources { units: &self.units, postings: &self.postings, window }
    }

    /// Partial matches alive.
    pub fn live(&self) -> usize {
        self.live
    }

    /// Most partial matches alive at once.
    pub fn peak(&self) -> usize {
        self.peak
    }

    /// Bytes of state, lists included.
    pub fn bytes(&self) -> usize {
        let engines: usize = self.units.iter().map(|unit| unit.engine.usage().bytes).sum();
        engines + self.postings.total_bytes() + self.searches.bytes()
    }
}

/// Lends a unit what it may spend on an insertion; returns the steps counted before, and whose account bounds it.
#[allow(clippy::inline_always)] // every insertion that is bounded
#[inline(always)]
fn begin(budgets: &mut WorkBudgets, unit: UnitId, meter: &mut Meter<'_>) -> (u64, Bounded) {
    let (work_budget, bounded) = budgets.lend(UnitRef::Subgraph(unit));
    meter.begin(work_budget);
    (meter.taken(), bounded)
}

#[allow(clippy::inline_always)] // every insertion that is bounded
#[inline(always)]
fn spend(budgets: &mut WorkBudgets, unit: &mut SubgraphUnit, number: UnitId, taken: u64) {
    let taken = taken + unit.engine.taken_elsewhere();
    unit.guard.counts.work += taken;
    budgets.spend(UnitRef::Subgraph(number), taken);
}
