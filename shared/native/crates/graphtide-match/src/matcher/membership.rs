//! Patterns that come and go while the stream runs.
//!
//! A pattern that comes brings the past with it: the edges of its window that it could be made of, in stream order. Those that the
//! store has already, for others, are taken from there; the others are stored late. Its engine takes them all, and goes on with
//! the next record. A pattern that goes leaves nothing but edges, which leave with the window.
//!
//! Patterns that are equal but for their names, plans and limits included, share one engine: one that comes is enrolled, and needs
//! no past, for the unit has had it. What does not follow from the edges of the window is a pattern's own, so patterns whose engine
//! has such a residue are alone, and so is who would join a unit that lacks something.
//! Invariants: a number of a signature is given again only when every edge has left that may be named as having satisfied it; each
//! pattern is of one unit, and has been of it or of one that knew the same since it came.
//! Cost: O(edges of the pattern's past + signatures it brings × classes of labels); of the other patterns, eight bytes are copied,
//! and a number is compared. To be enrolled costs the latter alone.

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::Arc;

use graphtide_engine::dispatch::NO_CLASS;
use graphtide_engine::engine::Engine;
use graphtide_engine::expression::Expression;
use graphtide_engine::ids::{PatternId, ReaderId, RingId, SignatureId, UnitId};
use graphtide_engine::limits::{LimitPolicy, Limits};
use graphtide_engine::meter::{Meter, Unhurried};
use graphtide_engine::output::{PatternNames, ReturnsSpec};
use graphtide_engine::replay::Begun;
use graphtide_graph::Time;
use graphtide_graph::batch::{EdgeBatch, Operation};
use graphtide_graph::clock::{Clock, Now};
use graphtide_graph::key::IdRef;
use graphtide_isomorphism::plan::SearchPlan;
use hashbrown::{HashMap, HashTable};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use super::allowances::{Allowances, Payer};
use super::deduplication::{Deduplication, PastOrder};
use super::engine::AnyEngine;
use super::ids::OfTime;
use super::query::{Query, Reports};
use super::unit::{Counts, Unit};
use super::warming::{Recalled, Warm};
use super::window::Signatures;
use super::{Matcher, split_predicates};
use crate::plan::{EventUnitSpec, GraphQuerySpec, InvalidPlan, PatternSpec, PlanSpec, TellingSpec};

/// What units were made from, and what became free.
#[derive(Debug, Default)]
pub struct Blueprints {
    /// By unit, without names; none where it is vacant.
    specs: Vec<Option<PatternSpec>>,
    /// Units by what they were made from.
    units: HashTable<UnitId>,
    /// Numbers of units that were removed.
    vacant: Vec<UnitId>,
    /// Numbers of patterns that were removed.
    vacant_queries: Vec<PatternId>,
    /// Signatures that nobody has any more, with the time at which they were given up.
    retired: VecDeque<(Time, SignatureId)>,
}

impl Blueprints {
    /// Notes what a unit was made from; of equal ones the first is found.
    pub fn put(&mut self, number: UnitId, spec: &PatternSpec) {
        self.remove(number);
        self.specs.resize_with(self.specs.len().max(number.place() + 1), || None);
        let spec = spec.anonymous();
        if self.find(&spec).is_none() {
            let specs = &self.specs;
            self.units.insert_unique(key(&spec), number, |unit| specs[unit.place()].as_ref().map_or(0, key));
        }
        self.specs[number.place()] = Some(spec);
    }

    /// What a unit was made from.
    pub fn of(&self, number: UnitId) -> Option<&PatternSpec> {
        self.specs.get(number.place()).and_then(Option::as_ref)
    }

    /// The unit that was made from the same, names apart.
    fn find(&self, anonymous: &PatternSpec) -> Option<UnitId> {
        self.units.find(key(anonymous), |&unit| self.of(unit) == Some(anonymous)).copied()
    }

    fn remove(&mut self, number: UnitId) {
        let Some(spec) = self.specs.get_mut(number.place()).and_then(Option::take) else { return };
        if let Ok(entry) = self.units.find_entry(key(&spec), |&unit| unit == number) {
            entry.remove();
        }
    }
}

/// A number that is equal for equal patterns.
fn key(anonymous: &PatternSpec) -> u64 {
    FxBuildHasher.hash_one(format!("{anonymous:?}"))
}

/// Edges of the window before a pattern came.
#[derive(Clone, Copy, Debug)]
pub struct Past<'a> {
    /// Edges that complete matches of which nobody was told.
    pub untold: &'a [Arc<EdgeBatch>],
    /// Edges after those: their matches count as reported.
    pub told: &'a [Arc<EdgeBatch>],
    /// Whether the pattern's matches count, from when on, and what does not follow from the edges.
    pub begun: Begun,
}

impl Matcher {
    /// Adds a pattern with its past; returns its number, which may be that of one removed before.
    ///
    /// A pattern that reaches a limit on the way behaves as its policy says; under the policy to fail it is paused.
    /// The batches have the columns of the batches that follow, and deletions; edges of which the pattern wants nothing are passed
    /// over. Attributes that only other patterns read may be missing. Where the window counts edges, ordinals are how many came before.
    pub fn add(&mut self, spec: &PatternSpec, past: Past<'_>, meter: &mut Meter<'_>) -> Result<PatternId, InvalidPlan> {
        self.check_changeable(&spec.name)?;
        spec.check()?;
        let query = self.blueprints.vacant_queries.pop().unwrap_or(PatternId(self.queries.len() as u32));
        let names = self.window.names_of(spec);
        let shared = self.shared_by(spec);
        // What it told of may be retracted, and that its unit has not kept for it.
        let has_told = self.output.reported.is_some() && !past.told.is_empty();
        match shared {
            Some(unit) if !has_told => self.enrol(query, names, unit),
            _ => {
                let unit = self.make(spec, Some(query))?;
                self.enrol(query, names, unit);
                self.bring(unit, past, meter);
                if let Some(shared) = shared.filter(|_| !self.units[unit.place()].paused) {
                    self.transfer(query, shared)?;
                }
            }
        }
        self.told.added(query);
        self.output.rename(&self.queries);
        Ok(query)
    }

    /// Adds event patterns as a unit, with their past; returns their numbers, in their order. As [`add`](Self::add) otherwise.
    pub fn add_unit(
        &mut self,
        spec: &EventUnitSpec,
        past: Past<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Vec<PatternId>, InvalidPlan> {
        self.check_changeable(&spec.name())?;
        spec.check()?;
        let numbers: Vec<PatternId> = spec.patterns.iter().map(|_| self.vacant_query()).collect();
        let unit = self.enrol_events(spec, &numbers, self.allowed);
        let unit = unit.inspect_err(|_| self.blueprints.vacant_queries.extend(&numbers))?;
        let batches: Vec<&EdgeBatch> = past.untold.iter().chain(past.told).map(Arc::as_ref).collect();
        self.move_past(&batches);
        self.events.bring(unit, &batches, past.untold.len(), self.window.clocks.watermark(), meter);
        self.output.rename(&self.queries);
        Ok(numbers)
    }

    /// Adds a graph query with its past; returns its number. As [`add`](Self::add) otherwise.
    pub fn add_graph(
        &mut self,
        spec: &GraphQuerySpec,
        past: Past<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<PatternId, InvalidPlan> {
        self.check_changeable(&spec.name)?;
        let number = self.vacant_query();
        let unit = self.enrol_graphs(&[(number, spec)], self.allowed);
        let unit = unit.inspect_err(|_| self.blueprints.vacant_queries.push(number))?;
        let batches: Vec<&EdgeBatch> = past.untold.iter().chain(past.told).map(Arc::as_ref).collect();
        self.move_past(&batches);
        self.bring_graph(unit, &batches, meter);
        self.output.rename(&self.queries);
        Ok(number)
    }

    /// Takes it that the stream is where the past ends.
    fn move_past(&mut self, batches: &[&EdgeBatch]) {
        batches.iter().filter_map(|batch| batch.ts().last()).for_each(|&ts| self.window.clocks.move_to(ts));
    }

    /// A number that no pattern has.
    fn vacant_query(&mut self) -> PatternId {
        self.blueprints.vacant_queries.pop().unwrap_or_else(|| {
            self.queries.push(Query::vacant());
            PatternId(self.queries.len() as u32 - 1)
        })
    }

    /// Removes a pattern: none of its matches is found any more, nor retracted.
    pub fn remove(&mut self, number: PatternId) -> Result<(), InvalidPlan> {
        if let Some(unit) = self.queries.get(number.place()).and_then(|query| query.events) {
            self.check_changeable(&number.0.to_string())?;
            self.events.remove(unit, number);
            self.queries[number.place()] = Query::vacant();
            self.told.forget(number);
            self.blueprints.vacant_queries.push(number);
            return Ok(());
        }
        if let Some(unit) = self.queries.get(number.place()).and_then(|query| query.graph) {
            self.check_changeable(&number.0.to_string())?;
            self.graphs.remove(unit, number);
            self.queries[number.place()] = Query::vacant();
            self.told.forget(number);
            self.blueprints.vacant_queries.push(number);
            return Ok(());
        }
        let unit = self.changeable(number)?;
        self.output.rows.forget_recipients();
        self.withdraw(number, unit)?;
        self.queries[number.place()].unit = None;
        self.output.forget(number);
        self.told.forget(number);
        self.blueprints.vacant_queries.push(number);
        Ok(())
    }

    /// The unit that a pattern can share: of patterns like it, whole, and without a residue.
    pub(super) fn shared_by(&self, spec: &PatternSpec) -> Option<UnitId> {
        let number = self.blueprints.find(&spec.anonymous())?;
        let unit = &self.units[number.place()];
        let is_whole = !unit.paused && !unit.has_shed(&self.postings);
        (is_whole && !unit.engine.has_residue() && unit.trace.is_none()).then_some(number)
    }

    /// Lets a pattern be of a unit from now on.
    pub(super) fn enrol(&mut self, number: PatternId, names: PatternNames, unit: UnitId) {
        let of = &mut self.units[unit.place()];
        if !of.members.contains(&number) {
            of.members.push(number);
        }
        let query = Query {
            names: Arc::new(names),
            unit: Some(unit),
            events: None,
            graph: None,
            hits_before: of.signatures.iter().map(|&signature| self.hits[signature.place()]).collect(),
            counts_before: of.counts,
            reports: Reports::default(),
            shed: false,
            telling: self.blueprints.of(unit).and_then(|spec| Deduplication::new(&spec.telling, &spec.limits)),
        };
        self.output.take_selective(&query);
        if number.place() == self.queries.len() {
            self.queries.push(query);
        } else {
            self.queries[number.place()] = query;
        }
    }

    /// Lets a pattern be of a unit of patterns like it from now on, and no more of its own.
    pub(super) fn transfer(&mut self, number: PatternId, to: UnitId) -> Result<(), InvalidPlan> {
        let query = &self.queries[number.place()];
        let Some(from) = query.unit.filter(|&from| from != to) else { return Ok(()) };
        let left = &self.units[from.place()];
        // What its lists gave up is missing from now on, as it was.
        let (shed, counted) = (query.has_shed(left, &self.postings), query.counts(left));
        let joined = &mut self.units[to.place()];
        joined.members.push(number);
        let query = &mut self.queries[number.place()];
        query.unit = Some(to);
        query.shed = shed;
        query.counts_before = joined.counts.since(counted);
        self.withdraw(number, from)
    }

    /// Lets a pattern leave its unit; the last one takes the unit along.
    fn withdraw(&mut self, number: PatternId, unit: UnitId) -> Result<(), InvalidPlan> {
        let members = &mut self.units[unit.place()].members;
        members.retain(|&mut member| member != number);
        if members.is_empty() { self.dissolve(unit) } else { Ok(()) }
    }

    pub(super) fn dissolve(&mut self, number: UnitId) -> Result<(), InvalidPlan> {
        let vacant = self.with_engine(number, &nothing(), Vec::new(), Vec::new())?;
        let removed = std::mem::replace(&mut self.units[number.place()], vacant);
        self.leave(&removed);
        let (retired, now) = (&mut self.blueprints.retired, self.window.clocks.time());
        self.dispatch.remove(number, &removed.signatures, |signature| retired.push_back((now, signature)));
        self.occupied.retain(|&other| other != number);
        self.timers.set(number, removed.clock, None);
        self.blueprints.remove(number);
        self.blueprints.vacant.push(number);
        self.settle_without(&removed);
        Ok(())
    }

    /// Makes a unit of a checked pattern; it has taken nothing.
    pub(super) fn make(&mut self, spec: &PatternSpec, first: Option<PatternId>) -> Result<UnitId, InvalidPlan> {
        let number = self.blueprints.vacant.pop().unwrap_or(UnitId(self.units.len() as u32));
        if self.allowances.is_none() && spec.limits.work.is_some() {
            self.allowances = Some(Allowances::unbounded(self.units.len()));
        }
        if let Some(allowances) = &mut self.allowances {
            allowances.open(Payer::Engine(number), spec.limits.work);
        }
        let unit = Unit { members: first.into_iter().collect(), ..self.register(number, spec)? };
        if number.place() == self.units.len() {
            self.units.push(unit);
        } else {
            self.units[number.place()] = unit;
        }
        Ok(number)
    }

    /// Gives a new unit its past.
    fn bring(&mut self, number: UnitId, past: Past<'_>, meter: &mut Meter<'_>) {
        self.dispatch.seal();
        let recalled = self.recall(number, past);
        self.units[number.place()].engine.begin_replay(past.begun);
        let warm = self.warm(number, &recalled, meter);
        self.occupy(number, warm);
    }

    /// Lets a new unit go on from its past, as far as that went.
    pub(super) fn occupy(&mut self, number: UnitId, warm: Warm) {
        let unit = &mut self.units[number.place()];
        if warm == Warm::Limited {
            unit.shed = true;
            unit.paused |= unit.limits.policy == LimitPolicy::Fail;
        }
        unit.counts.discarded = 0;
        unit.is_occupied = true;
        self.occupied.push(number);
        self.set_gates(number);
        self.settle_with(number);
    }

    /// The unit of a pattern.
    pub(super) fn unit_of(&self, number: PatternId) -> Option<UnitId> {
        self.queries.get(number.place())?.unit
    }

    /// The unit of a pattern, if patterns may change.
    pub(super) fn changeable(&self, number: PatternId) -> Result<UnitId, InvalidPlan> {
        self.check_changeable(&number.0.to_string())?;
        self.unit_of(number)
            .ok_or_else(|| InvalidPlan { pattern: number.0.to_string(), reason: "its matcher has no such pattern".into() })
    }

    pub(super) fn check_changeable(&self, pattern: &str) -> Result<(), InvalidPlan> {
        let refused = |reason: &str| Err(InvalidPlan { pattern: pattern.into(), reason: reason.into() });
        match (self.window.keeps_all(), self.tracing.is_on()) {
            (false, _) => refused("its matcher keeps no edges to replay"),
            (true, true) => refused("it is traced, step by step of its plan"),
            (true, false) => Ok(()),
        }
    }

    /// Makes what a checked pattern needs; it has taken nothing.
    fn register(&mut self, number: UnitId, spec: &PatternSpec) -> Result<Unit, InvalidPlan> {
        let (alone, across) = self.predicates(spec);
        let signatures = self.dispatch.add(number, spec.asked(&alone), &mut self.window.symbols().lock());
        self.postings.grow(self.dispatch.len());
        self.hits.resize(self.dispatch.len(), 0);
        let unit = self.with_engine(number, spec, across, signatures)?;
        if spec.clock == Clock::Edges {
            self.window.count();
        }
        self.blueprints.put(number, spec);
        Ok(unit)
    }

    /// Makes a unit without patterns of the engine that a plan asks for, attached to the lists that it reads.
    pub(super) fn with_engine(
        &mut self,
        number: UnitId,
        spec: &PatternSpec,
        mut across: Vec<Expression>,
        signatures: Vec<SignatureId>,
    ) -> Result<Unit, InvalidPlan> {
        self.window.keep_read(&mut across);
        let rings: Vec<RingId> = signatures.iter().map(|&signature| self.postings.whole(signature, spec.clock)).collect();
        let mut unit = Unit {
            members: SmallVec::new(),
            engine: AnyEngine::new(number, spec, across, &signatures, &rings)?,
            clock: spec.clock,
            signatures,
            reader: ReaderId(0),
            lists: Vec::new(),
            limits: spec.limits,
            counts: Counts::default(),
            paused: false,
            limit: None,
            taken: Time::MIN,
            limited_at: None,
            shed: false,
            is_occupied: false,
            past: None,
            trace: None,
        };
        unit.attach(&mut self.postings);
        Ok(unit)
    }

    /// Splits a pattern's predicates into those that one edge decides, by edge, and the others; labels are kept if one reads them.
    pub(super) fn predicates(&mut self, spec: &PatternSpec) -> (Vec<Vec<Expression>>, Vec<Expression>) {
        let (mut alone, mut across) = split_predicates(spec);
        self.window.keep_labels_of(alone.iter_mut().flatten().chain(&mut across));
        (alone, across)
    }

    /// Settles what follows from all units, now that one came.
    pub(super) fn settle_with(&mut self, number: UnitId) {
        let unit = &self.units[number.place()];
        self.timers.set(number, unit.clock, unit.engine.next_expiry());
        self.has_timers |= unit.engine.tells_expiry();
        self.window.lengthen(unit.clock, unit.engine.reach());
        self.has_threads |= unit.engine.has_threads();
        self.live += unit.engine.live();
    }

    /// Settles what follows from all units, now that one went.
    pub(super) fn settle_without(&mut self, removed: &Unit) {
        let left = self.units.iter().map(|unit| (unit.clock, unit.engine.reach()));
        self.window.shorten(removed.clock, removed.engine.reach(), left);
        if removed.engine.has_threads() {
            self.has_threads = self.units.iter().any(|unit| unit.engine.has_threads());
        }
        self.live -= removed.engine.live();
    }

    /// Sets the gates of a unit's edges.
    pub(super) fn set_gates(&mut self, number: UnitId) {
        let unit = &self.units[number.place()];
        self.dispatch.admit(number, &unit.signatures, |edge| unit.engine.admission(edge));
    }

    /// Frees the signatures that no edge held can be named by.
    #[inline]
    pub(super) fn free_signatures(&mut self) {
        let Some(&(since, _)) = self.blueprints.retired.front() else { return };
        if self.window.store.oldest().is_some_and(|(_, oldest)| oldest.ts <= since) {
            return;
        }
        while let Some(&(at, signature)) = self.blueprints.retired.front()
            && self.window.store.oldest().is_none_or(|(_, oldest)| oldest.ts > at)
        {
            self.blueprints.retired.pop_front();
            self.hits[signature.place()] = 0;
            self.told.forget_signature(signature);
            self.dispatch.free(signature);
        }
    }

    /// Finds the edges of a unit's past in the store, or puts them there.
    fn recall(&mut self, number: UnitId, past: Past<'_>) -> Recalled {
        self.window.learn_names();
        let batches: Vec<&EdgeBatch> = past.untold.iter().chain(past.told).map(Arc::as_ref).collect();
        self.move_past(&batches);
        let engine = &self.units[number.place()].engine;
        // What time alone brought about was told of those that were there; of others it is to be told with the next record.
        let clocks = &self.window.clocks;
        let ts = if engine.tells_expiry() { clocks.watermark() } else { clocks.time() };
        let clock = self.units[number.place()].clock;
        let alive_from = Now { ts, ..clocks.now() }.alive_from(clock, engine.reach());
        let came = |batch: &EdgeBatch, row: usize| match clock {
            Clock::Time => batch.ts()[row],
            Clock::Edges => batch.ordinal(row).cast_signed() + 1,
        };
        let in_arrival_order = engine.has_residue();
        let mut known = OfTime::default();
        let mut recalled = Recalled::default();
        let pace = Unhurried;
        for (which, row, is_alive) in recent(&batches, |batch, row| came(batch, row) >= alive_from) {
            if !is_alive && !in_arrival_order {
                continue;
            }
            let (batch, is_told) = (batches[which], which >= past.untold.len());
            let class = self.dispatch.class(batch.labels()[row]);
            if class == NO_CLASS {
                continue;
            }
            let record = self.window.record(batch, row);
            let mut satisfied = Signatures::new();
            // It is not worth a pause.
            self.dispatch.satisfied(class, &record, &mut Meter::unbounded(&pace), |signature| satisfied.push(signature));
            if !satisfied.iter().any(|signature| self.units[number.place()].signatures.contains(signature)) {
                continue;
            }
            recalled.arrive(batch.ts()[row]);
            if !is_alive {
                continue;
            }
            let Some(edge) = self.window.recall(&mut known, (batch, row), satisfied) else { break };
            if clock == Clock::Edges {
                self.window.store.number_at(edge, came(batch, row));
            }
            recalled.keep(edge, is_told);
        }
        self.window.store.settle_late();
        if self.blueprints.of(number).is_some_and(|spec| spec.telling != TellingSpec::default()) {
            let past = PastOrder::of(&recalled.edges, |edge| self.window.store.came(edge, clock));
            self.units[number.place()].past = past;
        }
        if !in_arrival_order && clock == Clock::Time {
            // Of the edges of one time, late ones are first wherever they lie.
            recalled.edges.sort_by_key(|&edge| (self.window.store.get(edge).ts, !edge.is_late()));
        }
        recalled
    }
}

/// Which rows of batches are edges of the window: batch, row, and whether it was not deleted.
fn recent(batches: &[&EdgeBatch], is_alive: impl Fn(&EdgeBatch, usize) -> bool) -> Vec<(usize, usize, bool)> {
    let rows = || (0..batches.len()).flat_map(|which| (0..batches[which].len()).map(move |row| (which, row)));
    let is_deletion = |&(which, row): &(usize, usize)| batches[which].operations()[row] == Operation::Delete;
    let mut recent: Vec<(usize, usize, bool)> = Vec::new();
    let mut places: HashMap<IdRef<'_>, usize, FxBuildHasher> = HashMap::default();
    let deletes = rows().any(|row| is_deletion(&row));
    for (which, row) in rows() {
        let id = batches[which].id(row);
        if is_deletion(&(which, row)) {
            if let Some(place) = places.remove(&id) {
                recent[place].2 = false;
            }
        } else if batches[which].is_edge(row) && is_alive(batches[which], row) {
            if deletes && !id.is_made() {
                places.insert(id, recent.len());
            }
            recent.push((which, row, true));
        }
    }
    recent
}

/// A pattern without edges, in the place of one that was removed.
fn nothing() -> PatternSpec {
    PatternSpec {
        name: String::new(),
        version: 0,
        vertices: Vec::new(),
        edges: Vec::new(),
        order: Vec::new(),
        predicates: Vec::new(),
        window: 1,
        clock: Clock::Time,
        vertices_may_coincide: false,
        report: None,
        returns: ReturnsSpec::default(),
        telling: TellingSpec::default(),
        plan: PlanSpec::ReSearch(SearchPlan::default()),
        limits: Limits::default(),
    }
}
