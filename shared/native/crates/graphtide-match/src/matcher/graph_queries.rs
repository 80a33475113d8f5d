//! Units of graph queries: each has operators that its queries share, the edges that these know, and the records that it asks
//! for.
//!
//! Queries that are given together, have the same limits and an operator in common that is not a scan are one unit. One that
//! comes later is a unit. A query that goes takes along the operators that no other needs.
//! Cost: that of the operators; a result costs its parts.

mod replanning;

use std::sync::OnceLock;

use graphtide_algebra::{InvalidPlan as InvalidQueryPlan, Lent, Options, PlanSpec, Queries, Taken};
use graphtide_engine::engine::Usage;
use graphtide_engine::ids::PatternId;
use graphtide_engine::limits::{Bounds, Limits};
use graphtide_engine::meter::{Meter, Refusal};
use graphtide_engine::output::{IntervalReport, ItemReport, Kind, MatchBatch, PathStep};
use graphtide_graph::batch::EdgeBatch;
use graphtide_graph::clock::Now;
use graphtide_graph::symbol::SharedSymbols;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::event_units::Allowed;
use super::query::Query;
use super::unit::{Counts, Guard, LimitReached, Removal, Unit, Warm};
use super::unit_ref::UnitRef;
use super::units::{OwnPast, OwnRecord, OwnStore, of_each};
use crate::plan::{GraphQuerySpec, InvalidPlan};

/// The share of what a unit may hold after whose growth its bytes are counted anew.
const RECOUNTED: u64 = 16;

/// Graph queries that share operators, with their output.
#[derive(Debug)]
pub struct GraphUnit {
    /// By place: the number of a query; none once it was removed.
    members: Vec<Option<PatternId>>,
    /// The place of each query that is left.
    places: HashMap<PatternId, u32, FxBuildHasher>,
    /// What answers them; none once a limit stopped it.
    queries: Option<Box<Queries>>,
    /// By place: the plan of a query.
    plans: Vec<PlanSpec>,
    /// What it holds and held, once that was asked for since the last record.
    measured: OnceLock<Usage>,
    /// Bytes that it held when they were counted last, and those that records added since.
    bytes: (u64, u64),
    /// The limits of each query; the unit may take as much as all of them.
    guard: Guard,
    /// Whether the record that it took last would have been of use, if no limit had been reached.
    is_wanted: bool,
}

impl GraphUnit {
    /// Makes a unit of queries that have the same limits.
    pub fn new(
        queries: &[(PatternId, &GraphQuerySpec)],
        symbols: &SharedSymbols,
        allowed: Allowed,
    ) -> Result<Self, InvalidPlan> {
        let (name, limits) = queries.first().map(|(_, spec)| (spec.name.clone(), spec.limits)).unwrap_or_default();
        let plans: Vec<PlanSpec> = queries.iter().map(|(_, spec)| spec.plan.clone()).collect();
        let own = answering(&plans, limits, symbols, allowed);
        let own = own.map_err(|error| InvalidPlan { pattern: name, reason: error.to_string() })?;
        Ok(Self {
            members: queries.iter().map(|&(number, _)| Some(number)).collect(),
            places: queries.iter().map(|&(number, _)| number).zip(0..).collect(),
            queries: Some(Box::new(own)),
            plans,
            measured: OnceLock::new(),
            bytes: (0, 0),
            guard: Guard::new(limits),
            is_wanted: false,
        })
    }

    /// The place of a query, with what answers it.
    fn place(&self, query: PatternId) -> Option<(&Queries, u32)> {
        Some((self.queries.as_deref()?, *self.places.get(&query)?))
    }

    /// Takes an edge or a deletion.
    fn take(&mut self, record: OwnRecord<'_>, meter: &mut Meter<'_>) -> Result<bool, LimitReached> {
        let OwnRecord { batch, row, lent: (work_budget, bounded) } = record;
        self.measured.take();
        self.guard.taken = batch.ts()[row];
        self.is_wanted = self.guard.paused;
        let lent = Lent { steps: work_budget, bytes: self.room() };
        let Some(queries) = &mut self.queries else { return Ok(false) };
        let taken = queries.push_row(batch, row, lent, meter);
        self.is_wanted = taken.is_kept || taken.is_limited;
        self.bytes.1 += taken.held;
        match taken.refusal {
            Some(Refusal::WorkBudget) => self.at_limit(&bounded.to_string())?,
            Some(Refusal::Bytes) => self.at_limit(&self.bytes_of_one_record())?,
            Some(Refusal::Ended(_)) => self.guard.shed = true,
            None if taken.is_limited => {
                self.at_limit(&of_each(&Bounds::of(&self.guard.limits).to_string(), self.members.len()))?;
            }
            None => {}
        }
        Ok(taken.is_kept)
    }

    /// Bytes that a record may add.
    ///
    /// Cost: what records added is counted as they come; what is held is counted anew when that has grown by a share of the
    /// bound.
    fn room(&mut self) -> u64 {
        let Some(most) = self.bound_in_bytes().filter(|_| self.queries.is_some()) else { return u64::MAX };
        if self.bytes.1 > most / RECOUNTED {
            self.bytes = (self.usage().bytes as u64, 0);
        }
        most.saturating_sub(self.bytes.0 + self.bytes.1)
    }

    /// Bytes that all its queries may hold.
    fn bound_in_bytes(&self) -> Option<u64> {
        self.guard.limits.state_bytes.map(|bound| bound.saturating_mul(self.members.len() as u64))
    }

    fn bytes_of_one_record(&self) -> String {
        let bound = self.guard.limits.state_bytes.unwrap_or_default();
        of_each(&format!("{bound} bytes of state"), self.members.len()) + ", matches of one record included"
    }
}

impl Unit for GraphUnit {
    type Record<'a> = OwnRecord<'a>;
    type Deletion<'a> = OwnRecord<'a>;
    type Past<'a> = OwnPast<'a>;
    type Found = ();

    fn members(&self) -> impl Iterator<Item = PatternId> {
        self.members.iter().filter_map(|&member| member)
    }

    fn guard(&self) -> &Guard {
        &self.guard
    }

    fn insert(&mut self, record: OwnRecord<'_>, (): &mut (), meter: &mut Meter<'_>) -> Result<bool, LimitReached> {
        self.take(record, meter)
    }

    fn delete(&mut self, record: OwnRecord<'_>, (): &mut (), meter: &mut Meter<'_>) -> Result<Removal, LimitReached> {
        self.take(record, meter).map(|was_held| if was_held { Removal::Reported } else { Removal::NotHeld })
    }

    /// Records alone move its clock.
    fn advance(&mut self, _now: Now, (): &mut (), _meter: &mut Meter<'_>) {}

    fn replay(&mut self, past: OwnPast<'_>, meter: &mut Meter<'_>) -> Warm {
        self.measured.take();
        let Some(queries) = &mut self.queries else { return Warm::Limited };
        replay(queries, past.batches, meter, |_, taken| {
            self.guard.shed |= taken.refusal.is_some() || taken.is_limited;
            self.bytes.1 += taken.held;
            false
        });
        if self.guard.shed { Warm::Limited } else { Warm::Whole }
    }

    fn usage(&self) -> Usage {
        *self.measured.get_or_init(|| self.queries.as_ref().map_or_else(Usage::default, |queries| queries.usage()))
    }

    fn usage_of(&self, query: PatternId) -> Usage {
        self.place(query).map_or_else(Usage::default, |(queries, place)| {
            let (live, peak) = queries.held_by(place);
            Usage { live, peak, bytes: self.usage().bytes.div_ceil(self.places.len().max(1)) }
        })
    }

    fn live_of(&self, query: PatternId) -> usize {
        self.place(query).map_or(0, |(queries, place)| queries.held_by(place).0)
    }

    fn items_of(&self, query: PatternId) -> Vec<ItemReport> {
        let item = |(operator, live): (usize, usize)| {
            let live = live as u64;
            ItemReport { name: format!("o{operator}"), live, peak: live, created: live, node_bytes: 0 }
        };
        self.place(query).map_or_else(Vec::new, |(queries, place)| queries.held(place).enumerate().map(item).collect())
    }

    fn counts_since(&self, _before: Counts) -> Counts {
        Counts { work: self.guard.counts.work.div_ceil(self.members.len().max(1) as u64), ..self.guard.counts }
    }
}

impl OwnStore for GraphUnit {
    #[inline]
    fn reference(number: u32) -> UnitRef {
        UnitRef::Graph(number)
    }

    fn asks(&self) -> Option<Vec<u32>> {
        match &self.queries {
            Some(queries) => queries.asks().map(Iterator::collect),
            None => Some(Vec::new()),
        }
    }

    #[inline]
    fn is_vacant(&self) -> bool {
        self.places.is_empty()
    }

    fn learn_names(&mut self) {
        self.queries.iter_mut().for_each(|queries| queries.learn_names());
    }

    fn remove(&mut self, query: PatternId) -> bool {
        let Some(place) = self.places.remove(&query) else { return false };
        self.members[place as usize] = None;
        self.measured.take();
        if self.is_vacant() {
            self.queries = None;
            self.guard.paused = false;
        } else if let Some(queries) = &mut self.queries {
            queries.remove(place);
        }
        // One that a limit paused asks for what it asked for before.
        !self.guard.paused
    }

    #[inline]
    fn has_found(&self) -> bool {
        self.queries.as_ref().is_some_and(|queries| queries.has_answers())
    }

    #[inline]
    fn wants_last(&self, _is_held: bool) -> bool {
        self.is_wanted
    }

    /// Results are handed on in parts, if there are many; once all work ends, one part more.
    fn hand_over(&mut self, own: &mut [Query], out: &mut MatchBatch, meter: &mut Meter<'_>) -> u64 {
        let mut matches = 0;
        let Some(queries) = &self.queries else { return 0 };
        queries.each_answer(|answer| {
            meter.tick(1);
            if out.len() >= meter.most() {
                if meter.ended().is_some() {
                    return false;
                }
                meter.hand_on(out);
            }
            let Some(number) = self.members[answer.member as usize] else { return true };
            let query = &mut own[number.place()];
            query.reports.count(answer.kind);
            matches += u64::from(answer.kind == Kind::Match);
            let vertices = answer.values.iter().map(|&vertex| queries.name(vertex));
            let path = queries.path(&answer);
            let path = path.as_ref().map(|steps| {
                steps.iter().map(|step| match queries.edge(step) {
                    Some(id) => PathStep::Edge(id),
                    None => PathStep::Derived {
                        operator: queries.own_number(answer.member, step.operand).unwrap_or_default() as u32,
                        source: queries.name(step.source),
                        target: queries.name(step.target),
                    },
                })
            });
            let head = (number, answer.kind, query.shed || self.guard.shed);
            let times = IntervalReport { at: queries.latest(), nth: queries.nth(answer.member), valid: answer.valid };
            out.push_interval(head, (answer.output, vertices), times, path);
            true
        });
        matches
    }

    fn check_bytes(&mut self, _queries: &[Query]) -> Result<(), LimitReached> {
        let Some(bound) = self.bound_in_bytes().filter(|_| self.queries.is_some()) else { return Ok(()) };
        self.bytes = (self.usage().bytes as u64, 0);
        if self.bytes.0 >= bound {
            let each = self.guard.limits.state_bytes.unwrap_or_default();
            self.at_limit(&of_each(&format!("{each} bytes of state"), self.members.len()))
        } else {
            Ok(())
        }
    }

    #[cold]
    fn at_limit(&mut self, limit: &str) -> Result<(), LimitReached> {
        let first = self.members().next();
        if self.guard.at_limit(limit, first)? {
            self.queries = None;
            self.measured.take();
        }
        Ok(())
    }

    #[inline]
    fn take_steps(&mut self, steps: u64) {
        self.guard.counts.work += steps;
    }
}

/// What answers queries of these plans, whose operators are shared where they are equal.
fn answering(
    plans: &[PlanSpec],
    limits: Limits,
    symbols: &SharedSymbols,
    allowed: Allowed,
) -> Result<Queries, InvalidQueryPlan> {
    let most = limits.partial_matches.map(|bound| bound.saturating_mul(plans.len() as u64));
    let most = most.map(|bound| usize::try_from(bound).unwrap_or(usize::MAX));
    let plans: Vec<&PlanSpec> = plans.iter().collect();
    Queries::new(&plans, symbols, Options { deletions: allowed.deletions, most })
}

/// Lets queries take records of the past without output; stops once `f` says so.
fn replay(queries: &mut Queries, batches: &[&EdgeBatch], meter: &mut Meter<'_>, mut f: impl FnMut(&Queries, Taken) -> bool) {
    queries.learn_names();
    for batch in batches {
        for row in 0..batch.len() {
            let taken = queries.push_row(batch, row, Lent::ALL, meter);
            if f(queries, taken) {
                return;
            }
        }
    }
}
