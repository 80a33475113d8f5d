//! Units of graph queries: each has operators that its queries share, the edges that these know, and the records that it asks for.
//!
//! Queries that are given together, have the same limits and an operator in common that is no scan are one unit; one that comes
//! later is a unit. A record goes once to the units that ask for edges of its label, a deletion to all. What a unit tells goes to
//! the batch at once, behind what was found before, for its tuples are its own: the store of the matcher knows nothing of them. A
//! query that goes takes along the operators that no other needs.
//! Cost: a look-up of the label a record; else what the units do.

mod replanning;

use std::sync::OnceLock;

use graphtide_algebra::{InvalidPlan as InvalidQueryPlan, Lent, Options, PlanSpec, Queries, Taken};
use graphtide_engine::engine::Usage;
use graphtide_engine::ids::PatternId;
use graphtide_engine::limits::{Bounds, LimitPolicy, Limits};
use graphtide_engine::meter::{Meter, Refusal};
use graphtide_engine::output::{Kind, MatchBatch, PathStep, Telling};
use graphtide_graph::Time;
use graphtide_graph::batch::{EdgeBatch, Operation};
use graphtide_graph::symbol::SharedSymbols;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use super::allowances::Bounded;
use super::emission::Emission;
use super::event_units::{Allowed, of_each};
use super::query::Query;
use super::unit::LimitReached;
use super::unit_ref::UnitRef;
use crate::plan::{GraphQuerySpec, InvalidPlan};

/// The share of what a unit may hold after whose growth its bytes are counted anew.
const RECOUNTED: u64 = 16;

/// Graph queries that share operators, with what they tell.
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
    /// Of each query; the unit may take as much as all of them.
    limits: Limits,
    /// Times that an edge was not taken, or the work of a record was cut.
    pub limited: u64,
    /// The limit that was reached last; none if none was.
    pub limit: Option<String>,
    /// Time of the record it took last.
    taken: Time,
    /// Time of the record at which a limit was reached last.
    pub limited_at: Option<Time>,
    /// Steps that records took.
    work: u64,
    /// Whether results may be missing.
    pub shed: bool,
}

/// Of what use a record is to a unit.
pub struct Use {
    /// It holds the edge, or held what was deleted.
    pub is_held: bool,
    /// It would, if no limit was reached: who asks for the same edges later depends on it.
    pub is_wanted: bool,
}

/// All units of graph queries.
#[derive(Debug, Default)]
pub struct GraphUnits {
    units: Vec<GraphUnit>,
    /// By label: who asks for it.
    by_label: Vec<SmallVec<[u32; 2]>>,
    /// Who asks for edges of any label.
    of_any_label: Vec<u32>,
}

impl GraphUnits {
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// A unit.
    pub fn get(&self, unit: u32) -> &GraphUnit {
        &self.units[unit as usize]
    }

    /// Lets all know the labels that came since the last time.
    pub fn learn_names(&mut self) {
        self.units.iter_mut().filter_map(|unit| unit.queries.as_mut()).for_each(|queries| queries.learn_names());
    }

    /// The most that was held at once in each, added up: that bounds what was held in all.
    pub fn peak(&self) -> usize {
        self.units.iter().map(|unit| unit.usage().peak).sum()
    }

    /// Bytes of state of all.
    pub fn bytes(&self) -> usize {
        self.units.iter().map(|unit| unit.usage().bytes).sum()
    }

    /// Does as the policies say where units take more bytes than they may.
    pub fn check_bytes(&mut self) -> Result<(), LimitReached> {
        self.units.iter_mut().try_for_each(GraphUnit::check_bytes)
    }

    /// Tells no more of a query.
    pub fn remove(&mut self, unit: u32, query: PatternId) {
        let own = &mut self.units[unit as usize];
        own.remove(query);
        // One that a limit paused asks for what it asked for before.
        if !own.is_paused() {
            self.ask_anew(unit);
        }
    }

    fn ask_anew(&mut self, unit: u32) {
        self.by_label.iter_mut().for_each(|units| units.retain(|&mut other| other != unit));
        self.of_any_label.retain(|&other| other != unit);
        self.ask(unit);
    }

    /// Lets a unit take records that came before it was made, of which nothing is told.
    pub fn bring(&mut self, unit: u32, batches: &[&EdgeBatch], meter: &mut Meter<'_>) {
        let own = &mut self.units[unit as usize];
        own.measured.take();
        if let Some(queries) = &mut own.queries {
            replay(queries, batches, meter, |_, taken| {
                own.shed |= taken.refusal.is_some() || taken.is_limited;
                own.bytes.1 += taken.held;
                false
            });
        }
    }

    /// Takes a record, and emits what it brings about.
    pub fn take(
        &mut self,
        batch: &EdgeBatch,
        row: usize,
        pass: &mut Emission<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Use, LimitReached> {
        let mut used = Use { is_held: false, is_wanted: false };
        for number in self.asked(batch, row) {
            let unit = &mut self.units[number as usize];
            let (lent, before) = (pass.lend(UnitRef::Graph(number)), meter.taken());
            let taken = unit.take((batch, row), lent, meter);
            let steps = meter.taken() - before;
            unit.work += steps;
            pass.spend(UnitRef::Graph(number), steps);
            if unit.has_answers() {
                pass.hand_over(|queries, out| unit.hand_over(queries, out, meter));
            }
            let Use { is_held, is_wanted } = taken?;
            used.is_held |= is_held;
            used.is_wanted |= is_wanted;
        }
        Ok(used)
    }

    /// Gives a unit its records from now on; returns its number.
    pub fn put(&mut self, unit: GraphUnit) -> u32 {
        let place = self.units.iter().position(GraphUnit::is_vacant).unwrap_or(self.units.len());
        if place < self.units.len() {
            self.units[place] = unit;
        } else {
            self.units.push(unit);
        }
        self.ask(place as u32);
        place as u32
    }

    /// Lets a unit have the records that its queries ask for.
    fn ask(&mut self, number: u32) {
        let Some(queries) = &self.units[number as usize].queries else { return };
        match queries.asks() {
            None => self.of_any_label.push(number),
            Some(labels) => {
                for label in labels {
                    let label = label as usize;
                    self.by_label.resize_with(self.by_label.len().max(label + 1), SmallVec::new);
                    self.by_label[label].push(number);
                }
            }
        }
    }

    /// Who is to have a record; of an edge, those that a limit paused, too.
    fn asked(&self, batch: &EdgeBatch, row: usize) -> SmallVec<[u32; 4]> {
        if batch.operations()[row] == Operation::Delete {
            return (0..self.units.len() as u32).collect();
        }
        let own = self.by_label.get(batch.labels()[row][1].0 as usize);
        own.into_iter().flatten().chain(&self.of_any_label).copied().collect()
    }
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
            limits,
            limited: 0,
            limit: None,
            taken: Time::MIN,
            limited_at: None,
            work: 0,
            shed: false,
        })
    }

    /// The place of a query, with what answers it.
    fn place(&self, query: PatternId) -> Option<(&Queries, u32)> {
        Some((self.queries.as_deref()?, *self.places.get(&query)?))
    }

    /// What it holds and held.
    pub fn usage(&self) -> Usage {
        *self.measured.get_or_init(|| self.queries.as_ref().map_or_else(Usage::default, |queries| queries.usage()))
    }

    /// Tuples and chunks of paths that a query holds, together with others of its unit.
    pub fn live_of(&self, query: PatternId) -> usize {
        self.place(query).map_or(0, |(queries, place)| queries.held_by(place).0)
    }

    /// What a query holds, together with others of its unit; and of the bytes of the unit an even share of those that are left.
    pub fn usage_of(&self, query: PatternId) -> Usage {
        self.place(query).map_or_else(Usage::default, |(queries, place)| {
            let (live, peak) = queries.held_by(place);
            Usage { live, peak, bytes: self.usage().bytes.div_ceil(self.places.len().max(1)) }
        })
    }

    /// Steps of work of a query: an even share of those of the unit, of whose queries some may be gone.
    pub fn work_share(&self) -> u64 {
        self.work.div_ceil(self.members.len().max(1) as u64)
    }

    /// Whether a limit stopped it.
    pub fn is_paused(&self) -> bool {
        self.queries.is_none() && !self.is_vacant()
    }

    /// By operator of a query's plan: what it holds.
    pub fn held(&self, query: PatternId) -> Vec<usize> {
        self.place(query).map_or_else(Vec::new, |(queries, place)| queries.held(place).collect())
    }

    /// The first of its queries that are left.
    fn first(&self) -> PatternId {
        self.members.iter().find_map(|&member| member).unwrap_or(PatternId(0))
    }

    /// Whether none of its queries is left: then another may have its number.
    fn is_vacant(&self) -> bool {
        self.places.is_empty()
    }

    fn remove(&mut self, query: PatternId) {
        let Some(place) = self.places.remove(&query) else { return };
        self.members[place as usize] = None;
        self.measured.take();
        if self.is_vacant() {
            self.queries = None;
        } else if let Some(queries) = &mut self.queries {
            queries.remove(place);
        }
    }

    fn take(
        &mut self,
        (batch, row): (&EdgeBatch, usize),
        (allowance, bounded): (u64, Bounded),
        meter: &mut Meter<'_>,
    ) -> Result<Use, LimitReached> {
        self.measured.take();
        self.taken = batch.ts()[row];
        let lent = Lent { steps: allowance, bytes: self.room() };
        let Some(queries) = &mut self.queries else { return Ok(Use { is_held: false, is_wanted: self.is_paused() }) };
        let taken = queries.push_row(batch, row, lent, meter);
        self.bytes.1 += taken.held;
        match taken.refusal {
            Some(Refusal::Allowance) => self.at_limit(bounded.to_string())?,
            Some(Refusal::Bytes) => self.at_limit(self.bytes_of_one_record())?,
            Some(Refusal::Ended(_)) => self.shed = true,
            None if taken.is_limited => self.at_limit(of_each(&Bounds::of(&self.limits).to_string(), self.members.len()))?,
            None => {}
        }
        Ok(Use { is_held: taken.is_kept, is_wanted: taken.is_kept || taken.is_limited })
    }

    /// Bytes that a record may add.
    ///
    /// Cost: what records added is counted as they come; what is held is counted anew when that has grown by a share of the bound.
    fn room(&mut self) -> u64 {
        let Some(most) = self.bound_in_bytes().filter(|_| self.queries.is_some()) else { return u64::MAX };
        if self.bytes.1 > most / RECOUNTED {
            self.bytes = (self.usage().bytes as u64, 0);
        }
        most.saturating_sub(self.bytes.0 + self.bytes.1)
    }

    /// Bytes that all its queries may hold.
    fn bound_in_bytes(&self) -> Option<u64> {
        self.limits.state_bytes.map(|bound| bound.saturating_mul(self.members.len() as u64))
    }

    /// Whether the last record brought something about.
    fn has_answers(&self) -> bool {
        self.queries.as_ref().is_some_and(|queries| queries.has_answers())
    }

    /// Hands over what the last record brought about; returns how many results that are.
    ///
    /// Results are handed on in parts, if there are many; once all work ends, one part more.
    fn hand_over(&self, own: &mut [Query], out: &mut MatchBatch, meter: &mut Meter<'_>) -> u64 {
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
            let head = (number, answer.kind, query.shed || self.shed);
            let times = Telling { at: queries.latest(), nth: queries.nth(answer.member), valid: answer.valid };
            out.push_interval(head, (answer.output, vertices), times, path);
            true
        });
        matches
    }

    fn bytes_of_one_record(&self) -> String {
        let bound = self.limits.state_bytes.unwrap_or_default();
        of_each(&format!("{bound} bytes of state"), self.members.len()) + ", matches of one record included"
    }

    fn check_bytes(&mut self) -> Result<(), LimitReached> {
        let Some(bound) = self.bound_in_bytes().filter(|_| self.queries.is_some()) else { return Ok(()) };
        self.bytes = (self.usage().bytes as u64, 0);
        if self.bytes.0 >= bound {
            let each = self.limits.state_bytes.unwrap_or_default();
            self.at_limit(of_each(&format!("{each} bytes of state"), self.members.len()))
        } else {
            Ok(())
        }
    }

    #[cold]
    fn at_limit(&mut self, limit: String) -> Result<(), LimitReached> {
        self.limited += 1;
        self.shed |= self.limits.policy != LimitPolicy::Fail;
        self.limit = Some(limit.clone());
        self.limited_at = Some(self.taken);
        match self.limits.policy {
            LimitPolicy::Fail => Err(LimitReached { pattern: self.first(), limit }),
            LimitPolicy::Pause => {
                self.queries = None;
                self.measured.take();
                Ok(())
            }
            LimitPolicy::Shed => Ok(()),
        }
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

/// Lets queries take records of the past, of which nothing is told; stops once `f` says so of what came of one.
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
