//! Detection over batches of records, with a store of its own.
//!
//! Takes records in the order of (ts, arrival). An event that no pattern asks for is not kept, unless plans may change.
//! Cost: that of [`Detection`], and a look-up of the labels of each record.

mod succession;

use std::collections::VecDeque;
use std::hash::BuildHasher;

use graphtide_engine::dispatch::Record;
use graphtide_engine::engine::Usage;
use graphtide_engine::meter::{Ended, Meter, Refusal};
use graphtide_graph::batch::{EdgeBatch, Operation};
use graphtide_graph::key::{IdRef, KeyRef};
use graphtide_graph::store::{EdgeRef, EdgeStore};
use graphtide_graph::symbol::{SharedSymbols, Symbol};
use graphtide_graph::value::ValueRef;
use graphtide_graph::vertex::VertexTable;
use graphtide_graph::{Time, clock};
use hashbrown::hash_table::Entry;
use hashbrown::{HashMap, HashTable};
use rustc_hash::FxBuildHasher;

use crate::detection::{Detection, Options};
use crate::occurrences::Occurrences;
use crate::plan::{InvalidPlan, PlanSpec};
use crate::signatures::SignatureId;
use crate::view::Events;

/// How records are taken.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// How the plan is run.
    pub options: Options,
    /// Whether the plan may change: then events are kept that no pattern asks for yet.
    pub may_change: bool,
    /// Steps of work that a record may take.
    pub work_budget: u64,
}

/// What came of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Records taken.
    pub taken: usize,
    /// Records whose work was cut, so that matches which they complete may lack.
    pub cut: u64,
    /// Whether instances were given up at a bound, so that matches may lack.
    pub has_limited: bool,
    /// Why it ended before its end, if it did.
    pub ended: Option<Ended>,
}

/// What came of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Whether what follows may depend on it: some pattern asks for it, or it deleted an event that was held.
    pub is_kept: bool,
    /// Why its work was cut, so that matches which it completes may lack.
    pub refusal: Option<Refusal>,
}

/// What it takes to delete an event again.
#[derive(Clone, Copy, Debug)]
struct Deletion {
    event: EdgeRef,
    /// Its own time.
    ts: Time,
    /// When it was deleted.
    at: Time,
    /// The newest event then.
    newest: EdgeRef,
}

/// Detects the patterns of a plan in batches of records.
#[derive(Debug)]
pub struct Detector {
    detection: Detection,
    setup: Setup,
    symbols: SharedSymbols,
    /// Attributes of a record.
    width: usize,
    texts: Vec<Box<str>>,
    store: EdgeStore,
    names: VertexTable,
    /// Labels of source, event and target, by class.
    labels: Vec<[Symbol; 3]>,
    classes: HashMap<[Symbol; 3], u32, FxBuildHasher>,
    /// The newest event of each id, where they may be deleted.
    by_id: HashTable<EdgeRef>,
    /// Deleted events in the order of their deletion; some of the oldest are held no more.
    deleted: VecDeque<Deletion>,
    now: Option<Time>,
    satisfied: Vec<SignatureId>,
}

impl Detector {
    /// Makes a plan ready to run, over records that have so many attributes.
    pub fn new(plan: &PlanSpec, symbols: &SharedSymbols, width: usize, setup: Setup) -> Result<Self, InvalidPlan> {
        let detection = Detection::new(plan, &mut symbols.lock(), width, setup.options)?;
        Ok(Self {
            detection,
            setup,
            symbols: symbols.clone(),
            width,
            texts: Vec::new(),
            store: EdgeStore::new(width),
            names: VertexTable::default(),
            labels: Vec::new(),
            classes: HashMap::default(),
            by_id: HashTable::new(),
            deleted: VecDeque::new(),
            now: None,
            satisfied: Vec::new(),
        })
    }

    /// Takes the records of a batch from one on. What is found is added to `out`.
    pub fn push(&mut self, batch: &EdgeBatch, start: usize, out: &mut Occurrences, meter: &mut Meter<'_>) -> Progress {
        self.learn_names();
        let mut progress = Progress::default();
        for row in start..batch.len() {
            let taken = self.push_row(batch, row, self.setup.work_budget, out, meter);
            progress.taken += 1;
            progress.cut += u64::from(taken.refusal.is_some());
            if let Some(Refusal::Ended(ended)) = taken.refusal {
                progress.ended = Some(ended);
                break;
            }
        }
        progress.has_limited = self.take_limited();
        progress
    }

    /// Learns the labels that came since the last time; before records that have them.
    pub fn learn_names(&mut self) {
        self.symbols.lock().copy_new_names(&mut self.texts);
    }

    /// Takes one record of a batch, which may take so many steps of work. What is found is added to `out`.
    pub fn push_row(
        &mut self,
        batch: &EdgeBatch,
        row: usize,
        work_budget: u64,
        out: &mut Occurrences,
        meter: &mut Meter<'_>,
    ) -> Taken {
        meter.begin(work_budget);
        let is_kept = self.take(batch, row, out, meter);
        Taken { is_kept, refusal: meter.end() }
    }

    /// Whether instances were given up at a bound since the last time.
    pub fn take_limited(&mut self) -> bool {
        self.detection.take_limited()
    }

    /// The time after which something is due even without a record; none if nothing waits.
    #[inline]
    pub fn next_bound(&self) -> Option<Time> {
        self.detection.next_bound()
    }

    /// Treats the next events as past: nothing is emitted until [`end_replay`](Self::end_replay).
    pub fn begin_replay(&mut self) {
        self.learn_names();
        self.detection.begin_replay();
    }

    /// Emits again from now on.
    pub fn end_replay(&mut self) {
        self.detection.end_replay();
    }

    /// Lets those matches of a pattern count whose last event is yet to come.
    pub fn begin_now(&mut self, pattern: u32) {
        let newest = self.store.newest().map(|(event, stored)| (stored.ts, event));
        self.detection.begin_after(pattern, newest);
    }

    /// Lets time pass without a record.
    pub fn advance(&mut self, now: Time, out: &mut Occurrences, meter: &mut Meter<'_>) {
        if self.now.is_some_and(|own| own >= now) {
            return;
        }
        self.now = Some(now);
        let Self { detection, store, names, labels, texts, .. } = self;
        detection.advance(now, Events { store, names, labels, texts }, out, meter);
        let from = clock::subtract(now, self.detection.lookback());
        while let Some((event, _)) = self.store.oldest().filter(|(_, stored)| stored.ts < from) {
            self.forget(event);
        }
        // What was deleted before lies within one lookback of it, so none of these stays longer than two.
        while self.deleted.pop_front_if(|deletion| deletion.ts < from).is_some() {}
    }

    fn forget(&mut self, event: EdgeRef) {
        if self.setup.options.deletions {
            let hash = hash(self.store.id(event));
            if let Ok(entry) = self.by_id.find_entry(hash, |&other| other == event) {
                entry.remove();
            }
        }
        if let Some(stored) = self.store.pop_oldest() {
            self.names.release(stored.source);
            self.names.release(stored.target);
        }
    }

    /// Emits what is settled once time has passed all bounds.
    pub fn finish(&mut self, out: &mut Occurrences, meter: &mut Meter<'_>) {
        let Self { detection, store, names, labels, texts, .. } = self;
        detection.finish(Events { store, names, labels, texts }, out, meter);
    }

    /// Takes a record; says whether what follows may depend on it.
    fn take(&mut self, batch: &EdgeBatch, row: usize, out: &mut Occurrences, meter: &mut Meter<'_>) -> bool {
        self.advance(batch.ts()[row], out, meter);
        if batch.operations()[row] == Operation::Delete {
            return self.delete(batch.id(row), batch.ts()[row], out, meter);
        }
        let kinds = batch.labels()[row];
        let record = Record { batch, row, labels: &self.texts };
        let mut satisfied = std::mem::take(&mut self.satisfied);
        satisfied.clear();
        self.detection.satisfied(kinds[1], &record, meter, |signature| satisfied.push(signature));
        let is_kept = !satisfied.is_empty();
        if is_kept || self.setup.may_change {
            let ends = (batch.source(row), batch.target(row));
            let event = self.keep((batch.ts()[row], kinds), ends, batch.id(row), batch.attributes(row));
            self.insert(event, &satisfied, out, meter);
        }
        self.satisfied = satisfied;
        is_kept
    }

    fn keep<'v>(
        &mut self,
        (ts, kinds): (Time, [Symbol; 3]),
        (source, target): (KeyRef<'_>, KeyRef<'_>),
        id: IdRef<'_>,
        attributes: impl IntoIterator<Item = ValueRef<'v>>,
    ) -> EdgeRef {
        let labels = &mut self.labels;
        let class = *self.classes.entry(kinds).or_insert_with(|| {
            labels.push(kinds);
            labels.len() as u32 - 1
        });
        let ends = (self.names.acquire(source), self.names.acquire(target));
        self.store.push((ts, class), ends, id, attributes)
    }

    /// Lets patterns have the event that was kept last.
    fn insert(&mut self, event: EdgeRef, satisfied: &[SignatureId], out: &mut Occurrences, meter: &mut Meter<'_>) {
        if self.setup.options.deletions {
            let (store, id) = (&self.store, self.store.id(event));
            let of = |&event: &EdgeRef| hash(store.id(event));
            match self.by_id.entry(hash(id), |&other| store.id(other) == id, of) {
                Entry::Occupied(mut entry) => *entry.get_mut() = event,
                Entry::Vacant(entry) => drop(entry.insert(event)),
            }
        }
        let Self { detection, store, names, labels, texts, .. } = self;
        detection.insert(event, satisfied, Events { store, names, labels, texts }, out, meter);
    }

    /// Deletes an event; says whether it was held.
    fn delete(&mut self, id: IdRef<'_>, now: Time, out: &mut Occurrences, meter: &mut Meter<'_>) -> bool {
        let Some(&event) = self.by_id.find(hash(id), |&event| self.store.id(event) == id) else { return false };
        if self.store.is_deleted(event) {
            return false;
        }
        let Self { detection, store, names, labels, texts, .. } = self;
        detection.delete(event, now, Events { store, names, labels, texts }, out, meter);
        if let Some((newest, _)) = self.store.newest() {
            self.deleted.push_back(Deletion { event, ts: self.store.get(event).ts, at: now, newest });
        }
        self.store.delete(event);
        true
    }

    /// What is stored.
    pub fn usage(&self) -> Usage {
        let mut usage = self.detection.usage();
        usage.bytes += self.store.bytes() + self.names.bytes();
        usage
    }

    /// By vertex of the plan, how many instances are stored, were at most, and ever were.
    pub fn instances(&self) -> impl Iterator<Item = (usize, usize, u64)> {
        self.detection.instances()
    }

    /// How many instances of a vertex are stored, were at most, and ever were; none if there is no such vertex.
    pub fn instances_of(&self, vertex: usize) -> Option<(usize, usize, u64)> {
        self.detection.instances_of(vertex)
    }
}

fn hash(id: IdRef<'_>) -> u64 {
    FxBuildHasher.hash_one(id)
}
