//! The edges of the window that the patterns of subgraphs share, and where the stream is.
//!
//! Invariant: the store has every edge of the longest windows that somebody keeps. It has each edge at least until the rows
//! that name it are handed over. A vertex has its number while an edge has it. What left all windows is of use to nobody. Where
//! plans may change, every edge that some query edge could be is kept, with the signatures that it satisfied.
//! Cost: O(1) an edge that comes or leaves, with the columns that somebody reads.

use graphtide_engine::arrival::Deleted;
use graphtide_engine::dispatch::{Dispatch, Record};
use graphtide_engine::expression::{Expression, is_label};
use graphtide_engine::ids::SignatureId;
use graphtide_engine::meter::Meter;
use graphtide_engine::output::PatternNames;
use graphtide_graph::Time;
use graphtide_graph::batch::EdgeBatch;
use graphtide_graph::clock::{Clock, Now};
use graphtide_graph::key::IdRef;
use graphtide_graph::store::{EdgeRef, EdgeStore};
use graphtide_graph::symbol::SharedSymbols;
use graphtide_graph::value::ValueRef;
use graphtide_graph::vertex::{Vertex, VertexTable};
use smallvec::SmallVec;

use super::clocks::Clocks;
use super::ids::{Ids, OfTime};
use super::satisfied::{Mark, Satisfied};
use crate::plan::PatternSpec;

/// Signatures of one edge.
pub type Signatures = SmallVec<[SignatureId; 16]>;

/// The window.
#[derive(Debug)]
pub struct Window {
    /// Where the stream is.
    pub clocks: Clocks,
    /// The edges.
    pub store: EdgeStore,
    /// Their ends.
    pub vertices: VertexTable,
    /// What the edges of the store satisfied; where patterns may change.
    pub satisfied: Option<Satisfied>,
    symbols: SharedSymbols,
    /// Names of the labels, where somebody reads them.
    labels: Option<Vec<Box<str>>>,
    /// The columns of records that are kept with an edge.
    columns: Vec<u16>,
    ids: Option<Ids>,
    longest: Longest,
    swept: Now,
}

/// The length of the longest window on each clock; 0 where no unit has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Longest {
    time: i64,
    edges: i64,
}

impl Longest {
    fn widen(&mut self, clock: Clock, length: i64) {
        let own = match clock {
            Clock::Time => &mut self.time,
            Clock::Edges => &mut self.edges,
        };
        *own = length.max(*own);
    }

    fn on(self, clock: Clock) -> i64 {
        match clock {
            Clock::Time => self.time,
            Clock::Edges => self.edges,
        }
    }
}

impl Window {
    /// An empty window. Edges may be deleted, or plans changed, if so said.
    pub fn new(symbols: &SharedSymbols, has_deletions: bool, is_adaptive: bool) -> Self {
        Self {
            clocks: Clocks::default(),
            store: EdgeStore::new(0),
            vertices: VertexTable::default(),
            satisfied: is_adaptive.then(Satisfied::default),
            symbols: symbols.clone(),
            labels: None,
            columns: Vec::new(),
            ids: has_deletions.then(Ids::default),
            longest: Longest::default(),
            swept: Now::uncounted(Time::MIN),
        }
    }

    /// The names of labels, shared with readers of records.
    pub fn symbols(&self) -> &SharedSymbols {
        &self.symbols
    }

    /// Learns the names of labels that came since the last time, if somebody reads them.
    pub fn learn_names(&mut self) {
        if let Some(labels) = &mut self.labels {
            self.symbols.lock().copy_new_names(labels);
        }
    }

    /// The names of a pattern, and what it returns of the edges that the store will keep.
    pub fn names_of(&mut self, spec: &PatternSpec) -> PatternNames {
        let (columns, mut reads_labels) = (&mut self.columns, false);
        let names = spec.names(|column| {
            reads_labels |= is_label(column);
            kept(columns, column)
        });
        self.keep_labels(reads_labels);
        self.store.widen(self.columns.len());
        names
    }

    /// Keeps what predicates read across edges, which are given the columns of the store.
    pub fn keep_read(&mut self, across: &mut [Expression]) {
        for predicate in across {
            predicate.attributes(&mut |_, column| *column = kept(&mut self.columns, *column));
        }
        self.store.widen(self.columns.len());
    }

    /// Keeps the names of labels if a predicate reads them.
    pub fn keep_labels_of<'a>(&mut self, predicates: impl Iterator<Item = &'a mut Expression>) {
        let mut reads_labels = false;
        for predicate in predicates {
            predicate.attributes(&mut |_, column| reads_labels |= is_label(*column));
        }
        self.keep_labels(reads_labels);
    }

    fn keep_labels(&mut self, are_read: bool) {
        if are_read {
            self.labels.get_or_insert_default();
        }
    }

    /// Counts the edges from now on.
    pub fn count(&mut self) {
        self.store.count();
    }

    /// Holds edges for as long as one may be of use, on a clock.
    pub fn lengthen(&mut self, clock: Clock, lookback: i64) {
        self.longest.widen(clock, lookback);
    }

    /// Holds edges for as long as one of `left` needs them, now that one left that needed them for so long.
    pub fn shorten(&mut self, clock: Clock, lookback: i64, left: impl Iterator<Item = (Clock, i64)>) {
        if lookback == self.longest.on(clock) {
            self.longest = Longest::default();
            left.for_each(|(clock, lookback)| self.longest.widen(clock, lookback));
        }
    }

    /// From where on it holds edges, on each clock; what came before both has left.
    pub fn alive_from(&self, now: Now) -> Now {
        let Longest { time, edges } = self.longest;
        Now { ts: now.alive_from(Clock::Time, time), edges: now.alive_from(Clock::Edges, edges) }
    }

    /// A record as predicates read it.
    #[inline]
    pub fn record<'a>(&'a self, batch: &'a EdgeBatch, row: usize) -> Record<'a> {
        Record { batch, row, labels: self.labels.as_deref().unwrap_or_default() }
    }

    /// Stores an edge of a class as the newest, with what it satisfied; returns its ends, too.
    #[allow(clippy::inline_always)] // every edge that somebody wants
    #[inline(always)]
    pub fn push(
        &mut self,
        (batch, row): (&EdgeBatch, usize),
        class: u32,
        satisfied: &[SignatureId],
    ) -> (EdgeRef, (Vertex, Vertex)) {
        let ends = (self.vertices.acquire(batch.source(row)), self.vertices.acquire(batch.target(row)));
        let record = Record { batch, row, labels: self.labels.as_deref().unwrap_or_default() };
        let kept = self.columns.iter().map(|&column| record.value(column));
        let mark = self.satisfied.as_mut().map_or(class, |sets| sets.acquire(satisfied).number());
        (self.store.push((batch.ts()[row], mark), ends, batch.id(row), kept), ends)
    }

    /// Numbers the newest edge by the clock of edges; returns the number.
    pub fn number_newest(&mut self) -> i64 {
        let edges = self.clocks.now().edges;
        self.store.number(edges);
        edges
    }

    /// Keeps the newest edge, if somebody holds it, so that it is found by its id; else takes it back.
    #[allow(clippy::inline_always)] // every edge that somebody wants
    #[inline(always)]
    pub fn settle_newest(&mut self, is_held: bool, edge: EdgeRef, ends: (Vertex, Vertex), (batch, row): (&EdgeBatch, usize)) {
        if !(is_held || self.keeps_all()) {
            self.take_back(ends);
        } else if self.has_ids() {
            self.name(edge, batch.id(row));
        }
    }

    #[inline]
    fn take_back(&mut self, ends: (Vertex, Vertex)) {
        self.store.pop_back();
        self.vertices.release(ends.0);
        self.vertices.release(ends.1);
    }

    /// Whether edges are kept that nobody holds.
    #[inline]
    pub fn keeps_all(&self) -> bool {
        self.satisfied.is_some()
    }

    #[inline]
    fn has_ids(&self) -> bool {
        self.ids.is_some()
    }

    /// Lets the newest edge be found by its id, where edges may be deleted.
    // Inlined, it would take registers from every record.
    #[inline(never)]
    pub fn name(&mut self, edge: EdgeRef, id: IdRef<'_>) {
        if let Some(ids) = &mut self.ids {
            ids.name(edge, id, &self.store);
        }
    }

    /// Takes the id from the edge of a deletion; none if no edge of the window has it.
    pub fn take_id(&mut self, id: IdRef<'_>, ts: Time) -> Option<Deleted> {
        let edge = self.ids.as_mut()?.take(id, &self.store)?;
        let (born, now) = (self.store.born(edge), Now { ts, ..self.clocks.now() });
        let alive_from = self.alive_from(now);
        let is_alive = born.ts >= alive_from.ts || born.edges >= alive_from.edges;
        is_alive.then_some(Deleted { edge, born, now })
    }

    /// The signatures that an edge of the store satisfied.
    pub fn signatures_of(&self, edge: EdgeRef, dispatch: &Dispatch) -> Signatures {
        let mark = self.store.get(edge).class;
        let mut signatures = Signatures::new();
        match &self.satisfied {
            Some(sets) => signatures.extend_from_slice(sets.get(&Mark::stored(mark))),
            None => dispatch.signatures_of_class(mark, |signature| signatures.push(signature)),
        }
        signatures
    }

    /// Whether units are to drop what left the window, which they then do.
    pub fn begin_sweep(&mut self) -> bool {
        let now = self.clocks.now();
        let alive_from = self.alive_from(now);
        let is_due = |clock| self.longest.on(clock) > 0 && self.swept.on(clock) < alive_from.on(clock);
        let is_due = is_due(Clock::Time) || is_due(Clock::Edges);
        if is_due {
            self.swept = now;
        }
        is_due
    }

    /// Drops the edges that left.
    pub fn expire(&mut self, alive_from: Now, meter: &mut Meter<'_>) {
        loop {
            meter.tick(1);
            // The id is read while the store still has the edge.
            if let Some(ids) = &mut self.ids
                && let Some((edge, stored)) = self.store.oldest()
                && stored.ts < alive_from.ts
                && self.store.came(edge, Clock::Edges) < alive_from.edges
            {
                ids.forget(edge, &self.store);
            }
            let Some(edge) = self.store.pop_expired(alive_from) else { break };
            if let Some(sets) = &mut self.satisfied {
                sets.release(Mark::stored(edge.class));
            }
            self.vertices.release(edge.source);
            self.vertices.release(edge.target);
        }
    }

    /// Finds an edge of the past in the store, or stores it late; it is known to satisfy what it does. None if edges are not
    /// kept so.
    pub fn recall(
        &mut self,
        known: &mut OfTime,
        (batch, row): (&EdgeBatch, usize),
        mut satisfied: Signatures,
    ) -> Option<EdgeRef> {
        let Self { store, satisfied: Some(sets), columns, labels, .. } = self else { return None };
        let record = Record { batch, row, labels: labels.as_deref().unwrap_or_default() };
        let (ts, id) = (batch.ts()[row], batch.id(row));
        let values = columns.iter().map(|&column| record.value(column));
        if let Some(edge) = known.take(store, ts, id) {
            let before = Mark::stored(store.get(edge).class);
            // The past may lack attributes that only others read: what they knew of the edge holds.
            satisfied.extend(sets.get(&before).iter().copied());
            satisfied.sort_unstable();
            satisfied.dedup();
            let mark = sets.acquire(&satisfied);
            sets.release(before);
            store.set_class(edge, mark.number());
            // What nobody read when the edge came was not kept.
            for (column, value) in values.enumerate() {
                if store.attribute(edge, column) == ValueRef::Null {
                    store.set_attribute(edge, column, value);
                }
            }
            return Some(edge);
        }
        let ends = (self.vertices.acquire(batch.source(row)), self.vertices.acquire(batch.target(row)));
        let edge = store.push_out_of_order((ts, sets.acquire(&satisfied).number()), ends, id, values);
        if let Some(ids) = &mut self.ids {
            ids.name_out_of_order(edge, store);
        }
        Some(edge)
    }

    /// Bytes that edges and vertices take.
    pub fn bytes(&self) -> usize {
        self.store.bytes() + self.vertices.bytes()
    }
}

/// The place of a column among those that are kept, from now on.
fn kept(columns: &mut Vec<u16>, column: u16) -> u16 {
    let place = columns.iter().position(|&kept| kept == column).unwrap_or_else(|| {
        columns.push(column);
        columns.len() - 1
    });
    place as u16
}
