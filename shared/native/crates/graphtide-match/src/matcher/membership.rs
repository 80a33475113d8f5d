//! Patterns that come and go while the stream runs.
//!
//! A pattern that comes brings the past with it: the edges of its window that it could be made of, in stream order. Those that the
//! store has already, for others, are taken from there; the others are stored late. Its engine takes them all, and goes on with
//! the next record. A pattern that goes leaves nothing but edges, which leave with the window.
//! Invariant: a number of a signature is given again only when every edge has left that may be named as having satisfied it.
//! Cost: O(edges of the pattern's past + signatures it brings × classes of labels); of the other patterns, eight bytes are copied,
//! and a number is compared.

use std::collections::VecDeque;
use std::sync::Arc;

use graphtide_engine::dispatch::{NO_CLASS, Record};
use graphtide_engine::engine::Engine;
use graphtide_engine::expression::{Expression, is_label};
use graphtide_engine::ids::{PatternId, ReaderId, RingId, SignatureId};
use graphtide_engine::limits::{LimitPolicy, Limits};
use graphtide_engine::meter::{Meter, Unhurried};
use graphtide_engine::output::PatternNames;
use graphtide_engine::replay::Begun;
use graphtide_graph::Time;
use graphtide_graph::batch::{EdgeBatch, Operation};
use graphtide_graph::clock::{Clock, Now};
use graphtide_graph::key::IdRef;
use graphtide_graph::store::{EdgeRef, EdgeStore};
use graphtide_graph::value::ValueRef;
use graphtide_isomorphism::plan::SearchPlan;
use graphtide_simulation::Report;
use hashbrown::{HashMap, HashTable};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use super::allowances::Allowances;
use super::engine::AnyEngine;
use super::satisfied::Mark;
use super::warming::{Recalled, Warm};
use super::windows::Windows;
use super::{Counts, Matcher, Registered, hash, split_predicates};
use crate::plan::{InvalidPlan, PatternSpec, PlanSpec};

/// What patterns were made from, and what became free.
#[derive(Debug, Default)]
pub struct Blueprints {
    /// By number; none where it is vacant.
    specs: Vec<Option<PatternSpec>>,
    /// Numbers of patterns that were removed.
    vacant: Vec<PatternId>,
    /// Signatures that nobody has any more, with the time at which they were given up.
    retired: VecDeque<(Time, SignatureId)>,
}

impl Blueprints {
    /// Notes what a pattern was made from.
    pub fn put(&mut self, number: PatternId, spec: PatternSpec) {
        self.specs.resize_with(self.specs.len().max(number.place() + 1), || None);
        self.specs[number.place()] = Some(spec);
    }
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
    pub fn add(&mut self, spec: PatternSpec, past: Past<'_>, meter: &mut Meter<'_>) -> Result<PatternId, InvalidPlan> {
        self.check_changeable(&spec.name)?;
        spec.check()?;
        let number = self.blueprints.vacant.pop().unwrap_or(PatternId(self.patterns.len() as u32));
        if self.allowances.is_none() && spec.limits.work.is_some() {
            self.allowances = Some(Allowances::unbounded(self.patterns.len()));
        }
        if let Some(allowances) = &mut self.allowances {
            allowances.open(number, spec.limits.work);
        }
        let pattern = self.register(number, spec)?;
        if number.place() == self.patterns.len() {
            self.patterns.push(pattern);
        } else {
            self.patterns[number.place()] = pattern;
        }
        self.dispatch.seal();
        let recalled = self.recall(number, past);
        self.patterns[number.place()].engine.begin_replay(past.begun);
        if self.warm(number, &recalled, meter) == Warm::Limited {
            let pattern = &mut self.patterns[number.place()];
            pattern.shed = true;
            pattern.paused |= pattern.limits.policy == LimitPolicy::Fail;
        }
        let pattern = &mut self.patterns[number.place()];
        pattern.counts = Counts { limited: pattern.counts.limited, work: pattern.counts.work, ..Counts::default() };
        pattern.is_occupied = true;
        self.occupied.push(number);
        self.told.added(number);
        self.set_gates(number);
        self.settle_with(number);
        Ok(number)
    }

    /// Removes a pattern: none of its matches is found any more, nor retracted.
    pub fn remove(&mut self, number: PatternId) -> Result<(), InvalidPlan> {
        self.changeable(number)?;
        let vacant = self.with_engine(number, &nothing(), Vec::new(), Vec::new())?;
        let removed = std::mem::replace(&mut self.patterns[number.place()], vacant);
        self.leave(&removed);
        let (retired, now) = (&mut self.blueprints.retired, self.now);
        self.dispatch.remove(number, &removed.signatures, |signature| retired.push_back((now, signature)));
        if let Some(reported) = &mut self.reported {
            reported.forget(number);
        }
        self.occupied.retain(|&other| other != number);
        self.told.forget(number);
        self.timers.set(number, removed.clock, None);
        self.blueprints.specs[number.place()] = None;
        self.blueprints.vacant.push(number);
        self.settle_without(&removed);
        Ok(())
    }

    /// What a pattern was made from, if patterns may change.
    pub(super) fn changeable(&self, number: PatternId) -> Result<&PatternSpec, InvalidPlan> {
        self.check_changeable(&number.0.to_string())?;
        self.blueprints
            .specs
            .get(number.place())
            .and_then(Option::as_ref)
            .ok_or_else(|| InvalidPlan { pattern: number.0.to_string(), reason: "its matcher has no such pattern".into() })
    }

    fn check_changeable(&self, pattern: &str) -> Result<(), InvalidPlan> {
        let refused = |reason: &str| Err(InvalidPlan { pattern: pattern.into(), reason: reason.into() });
        match (&self.satisfied, &self.seen) {
            (None, _) => refused("its matcher keeps no edges to replay"),
            (Some(_), Some(_)) => refused("it is traced, step by step of its plan"),
            (Some(_), None) => Ok(()),
        }
    }

    /// Makes what a checked pattern needs; it has taken nothing.
    pub(super) fn register(&mut self, number: PatternId, spec: PatternSpec) -> Result<Registered, InvalidPlan> {
        let (alone, across) = self.predicates(&spec);
        let signatures = self.dispatch.add(number, spec.asked(&alone), &mut self.symbols.lock());
        self.postings.grow(self.dispatch.len());
        self.hits.resize(self.dispatch.len(), 0);
        let pattern = self.with_engine(number, &spec, across, signatures)?;
        if spec.clock == Clock::Edges {
            self.store.count();
        }
        if self.satisfied.is_some() {
            self.blueprints.put(number, spec);
        }
        Ok(pattern)
    }

    /// Makes a pattern with the engine that its plan asks for, attached to the lists that it reads.
    pub(super) fn with_engine(
        &mut self,
        number: PatternId,
        spec: &PatternSpec,
        mut across: Vec<Expression>,
        signatures: Vec<SignatureId>,
    ) -> Result<Registered, InvalidPlan> {
        for predicate in &mut across {
            predicate.attributes(&mut |_, column| {
                let place = self.kept_columns.iter().position(|kept| kept == column).unwrap_or_else(|| {
                    self.kept_columns.push(*column);
                    self.kept_columns.len() - 1
                });
                *column = place as u16;
            });
        }
        self.store.widen(self.kept_columns.len());
        let rings: Vec<RingId> = signatures.iter().map(|&signature| self.postings.whole(signature, spec.clock)).collect();
        let mut pattern = Registered {
            names: Arc::new(PatternNames::new(&spec.pattern(), spec.report == Some(Report::Changes))),
            engine: AnyEngine::new(number, spec, across, &signatures, &rings)?,
            clock: spec.clock,
            hits_before: signatures.iter().map(|&signature| self.hits[signature.place()]).collect(),
            signatures,
            reader: ReaderId(0),
            lists: Vec::new(),
            limits: spec.limits,
            counts: Counts::default(),
            paused: false,
            limit: None,
            shed: false,
            is_occupied: false,
            trace: None,
        };
        pattern.attach(&mut self.postings);
        Ok(pattern)
    }

    /// Splits a pattern's predicates into those that one edge decides, by edge, and the others; labels are kept if one reads them.
    pub(super) fn predicates(&mut self, spec: &PatternSpec) -> (Vec<Vec<Expression>>, Vec<Expression>) {
        let (mut alone, mut across) = split_predicates(spec);
        let mut reads_labels = self.labels.is_some();
        for predicate in alone.iter_mut().flatten().chain(&mut across) {
            predicate.attributes(&mut |_, column| reads_labels |= is_label(*column));
        }
        if reads_labels {
            self.labels.get_or_insert_default();
        }
        (alone, across)
    }

    /// Settles what follows from all patterns, now that one came.
    pub(super) fn settle_with(&mut self, number: PatternId) {
        let pattern = &self.patterns[number.place()];
        self.timers.set(number, pattern.clock, pattern.engine.next_expiry());
        self.has_timers |= pattern.engine.tells_expiry();
        self.windows.widen(pattern);
        self.has_threads |= pattern.engine.has_threads();
        self.live += pattern.engine.live();
        self.names = self.patterns.iter().map(|pattern| Arc::clone(&pattern.names)).collect();
    }

    /// Settles what follows from all patterns, now that one went.
    pub(super) fn settle_without(&mut self, removed: &Registered) {
        if removed.engine.reach() == self.windows.on(removed.clock) {
            self.windows = Windows::of(&self.patterns);
        }
        if removed.engine.has_threads() {
            self.has_threads = self.patterns.iter().any(|pattern| pattern.engine.has_threads());
        }
        self.live -= removed.engine.live();
    }

    /// Sets the gates of a pattern's edges.
    pub(super) fn set_gates(&mut self, number: PatternId) {
        let pattern = &self.patterns[number.place()];
        self.dispatch.admit(number, &pattern.signatures, |edge| pattern.engine.admission(edge));
    }

    /// Frees the signatures that no edge held can be named by.
    #[inline]
    pub(super) fn free_signatures(&mut self) {
        let Some(&(since, _)) = self.blueprints.retired.front() else { return };
        if self.store.oldest().is_some_and(|(_, oldest)| oldest.ts <= since) {
            return;
        }
        while let Some(&(at, signature)) = self.blueprints.retired.front()
            && self.store.oldest().is_none_or(|(_, oldest)| oldest.ts > at)
        {
            self.blueprints.retired.pop_front();
            self.hits[signature.place()] = 0;
            self.told.forget_signature(signature);
            self.dispatch.free(signature);
        }
    }

    /// Finds the edges of a pattern's past in the store, or puts them there.
    fn recall(&mut self, number: PatternId, past: Past<'_>) -> Recalled {
        if let Some(labels) = &mut self.labels {
            self.symbols.lock().copy_new_names(labels);
        }
        let batches: Vec<&EdgeBatch> = past.untold.iter().chain(past.told).map(Arc::as_ref).collect();
        self.now = batches.iter().filter_map(|batch| batch.ts().last()).fold(self.now, |now, &ts| now.max(ts));
        let engine = &self.patterns[number.place()].engine;
        // What time alone brought about was told of those that were there; of others it is to be told with the next record.
        let ts = if engine.tells_expiry() { self.now.max(self.passed) } else { self.now };
        let clock = self.patterns[number.place()].clock;
        let alive_from = Now { ts, ..self.now() }.alive_from(clock, engine.reach());
        let came = |batch: &EdgeBatch, row: usize| match clock {
            Clock::Time => batch.ts()[row],
            Clock::Edges => batch.ordinal(row).cast_signed() + 1,
        };
        let in_arrival_order = engine.has_residue();
        let mut stored = Stored::default();
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
            let record = Record { batch, row, labels: self.labels.as_deref().unwrap_or_default() };
            let mut satisfied: SmallVec<[SignatureId; 16]> = SmallVec::new();
            // It is not worth a pause.
            self.dispatch.satisfied(class, &record, &mut Meter::unbounded(&pace), |signature| satisfied.push(signature));
            if !satisfied.iter().any(|signature| self.patterns[number.place()].signatures.contains(signature)) {
                continue;
            }
            let Some(sets) = &mut self.satisfied else { break };
            let (ts, id) = (batch.ts()[row], batch.id(row));
            recalled.arrive(ts);
            if !is_alive {
                continue;
            }
            let values = self.kept_columns.iter().map(|&column| record.value(column));
            let edge = if let Some(edge) = stored.take(&self.store, ts, id) {
                let before = Mark::stored(self.store.get(edge).class);
                // The past may lack attributes that only others read: what they knew of the edge holds.
                satisfied.extend(sets.get(&before).iter().copied());
                satisfied.sort_unstable();
                satisfied.dedup();
                let mark = sets.acquire(&satisfied);
                sets.release(before);
                self.store.set_class(edge, mark.number());
                // What nobody read when the edge came was not kept.
                for (column, value) in values.enumerate() {
                    if self.store.attribute(edge, column) == ValueRef::Null {
                        self.store.set_attribute(edge, column, value);
                    }
                }
                edge
            } else {
                let ends = (self.vertices.acquire(batch.source(row)), self.vertices.acquire(batch.target(row)));
                let edge = self.store.push_late((ts, sets.acquire(&satisfied).number()), ends, id, values);
                self.know(edge);
                edge
            };
            if clock == Clock::Edges {
                self.store.number_at(edge, came(batch, row));
            }
            recalled.keep(edge, is_told);
        }
        self.store.settle_late();
        if !in_arrival_order && clock == Clock::Time {
            // Of the edges of one time, late ones are first wherever they lie.
            recalled.edges.sort_by_key(|&edge| (self.store.get(edge).ts, !edge.is_late()));
        }
        recalled
    }

    /// Lets an edge that came late be found by its id, unless the id was given again since.
    fn know(&mut self, edge: EdgeRef) {
        let (Some(ids), store) = (&mut self.ids, &self.store) else { return };
        let id = store.id(edge);
        if id.is_made() {
            return;
        }
        match ids.find_mut(hash(id), |&other| store.id(other) == id) {
            Some(known) if store.get(*known).ts < store.get(edge).ts => *known = edge,
            Some(_) => {}
            None => {
                ids.insert_unique(hash(id), edge, |&edge| hash(store.id(edge)));
            }
        }
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
        } else if is_alive(batches[which], row) {
            if deletes && !id.is_made() {
                places.insert(id, recent.len());
            }
            recent.push((which, row, true));
        }
    }
    recent
}

/// Finds edges of the store by time and id, each once; they are asked for in order of time.
#[derive(Debug, Default)]
struct Stored {
    ts: Option<Time>,
    by_id: HashTable<EdgeRef>,
}

impl Stored {
    fn take(&mut self, store: &EdgeStore, ts: Time, id: IdRef<'_>) -> Option<EdgeRef> {
        if self.ts != Some(ts) {
            self.ts = Some(ts);
            self.by_id.clear();
            let of = |edge: &EdgeRef| hash(store.id(*edge));
            for edge in store.of_time(ts).filter(|&edge| !store.is_deleted(edge)) {
                self.by_id.insert_unique(of(&edge), edge, of);
            }
        }
        let found = self.by_id.find_entry(hash(id), |&edge| store.id(edge) == id).ok()?;
        Some(found.remove().0)
    }
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
        plan: PlanSpec::ReSearch(SearchPlan::default()),
        limits: Limits::default(),
    }
}
