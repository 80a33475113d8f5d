//! The `timing` engine on several threads: insertions and expiries as transactions over the items of the expansion lists.
//!
//! The dispatcher is the thread that reads the stream. It appends a transaction's lock requests to the wait-lists of the items
//! that it may use, and queues it. Workers run transactions in the order of the queue. A transaction holds one item at a time
//! (`fine`) or asks for all of its items before it begins (`all`, the paper's comparison).
//! Invariant (streaming consistency, Definition 12): the matches are those of running the transactions one by one in stream
//! order. They are collected by transaction and handed over in that order. So the matches of a record wait until all that was
//! handed in with it has run. They cannot be handed on in parts while it continues, as the engines of one thread do. They count
//! as partial matches of their pattern until then, so that its limits bound them.
//! Cost: as the engine of one thread, and some microseconds a transaction for queue, locks and counted references: see
//! `docs/benchmarks/subgraphs.md` for when that pays. Storage is always the match-store DAG.
//! Reference: paper 004, section 5, Algorithms 3 and 4.

mod item;
mod nearest;
mod pool;
mod sync;
mod transaction;
pub mod wait_list;

use std::collections::VecDeque;

use graphtide_engine::arrival::{Arrival, Deleted, Deletion, Drained, Outcome};
use graphtide_engine::engine::{Engine, Explained, Usage};
use graphtide_engine::ids::UnitId;
use graphtide_engine::limits::{Bounds, Limits};
use graphtide_engine::lists::Postings;
use graphtide_engine::meter::Meter;
use graphtide_engine::nearest::Nearest;
use graphtide_engine::output::{ItemReport, Rows};
use graphtide_engine::trace::Tracer;
use graphtide_graph::clock::{self, Clock, Now};
use graphtide_graph::store::EdgeStore;
use graphtide_graph::value::OwnedValue;

use crate::plan::{Storage, TimingPlan};
use crate::shape::Shape;
use crate::timing::Compiled;
use item::{Facts, SharedEdge};
use pool::Pool;
use sync::Arc;
use transaction::{Lists, Work};

/// An edge that expiry has to look at: it begins a subquery somewhere.
#[derive(Debug)]
struct Held {
    edge: Arc<SharedEdge>,
    begins: Vec<usize>,
}

/// One pattern's expansion lists, worked on by several threads.
#[derive(Debug)]
pub struct Concurrent {
    unit: UnitId,
    window: i64,
    clock: Clock,
    lists: Arc<Lists>,
    pool: Pool,
    held: VecDeque<Held>,
    next_edge: u64,
    keeps_facts: bool,
}

impl Concurrent {
    /// Makes an engine for a checked plan of several workers.
    pub fn new(unit: UnitId, shape: Shape, plan: &TimingPlan, limits: &Limits) -> Self {
        let &TimingPlan { threads, locking, .. } = plan;
        let plan = Compiled::new(&shape, plan.subqueries.clone(), Storage::MsDag);
        let (window, clock) = (shape.window, shape.clock);
        let keeps_facts = !shape.across.is_empty();
        let bounds = Bounds::of(limits);
        let lists = Arc::new(Lists::new(shape, plan, locking, bounds));
        Self {
            unit,
            window,
            clock,
            pool: Pool::new(Arc::clone(&lists), threads),
            lists,
            held: VecDeque::new(),
            next_edge: 0,
            keeps_facts,
        }
    }

    fn hold(&mut self, arrival: &Arrival<'_>) -> Arc<SharedEdge> {
        if let Some(last) = self.held.back()
            && last.edge.edge == arrival.edge
        {
            return Arc::clone(&last.edge);
        }
        let facts = self.keeps_facts.then(|| Facts {
            attributes: arrival.store.attributes(arrival.edge).map(OwnedValue::new).collect(),
            texts: [
                arrival.store.id(arrival.edge).to_string().into(),
                arrival.names.name(arrival.source).to_string().into(),
                arrival.names.name(arrival.target).to_string().into(),
            ],
        });
        let ends = (arrival.source, arrival.target);
        let edge = Arc::new(SharedEdge::new(self.next_edge, (arrival.ts, arrival.at), ends, arrival.edge, facts));
        self.next_edge += 1;
        self.held.push_back(Held { edge: Arc::clone(&edge), begins: Vec::new() });
        edge
    }

    /// Queues the deletion of every edge from before `alive_from`.
    fn expire(&mut self, alive_from: i64, meter: &mut Meter<'_>) {
        while self.held.front().is_some_and(|held| held.edge.at < alive_from) {
            let Some(held) = self.held.pop_front() else { return };
            if !held.begins.is_empty() {
                self.pool.submit(Work::Delete { oldest: held.edge.number, begins: held.begins }, meter);
            }
        }
    }
}

impl Engine for Concurrent {
    fn lookback(&self) -> i64 {
        self.window
    }

    /// Queues the insertion, after the expiry of what left the window. Whether the edge is of use is known when the transaction
    /// has run; until then it is held.
    fn insert<T: Tracer>(
        &mut self,
        arrival: &Arrival<'_>,
        query_edge: u8,
        _lists: &Postings,
        _found: &mut Rows,
        _tracer: T,
        meter: &mut Meter<'_>,
    ) -> Outcome {
        self.lists.allow(meter.remaining());
        self.expire(clock::alive_from(arrival.at, self.window), meter);
        let edge = self.hold(arrival);
        let (subquery, depth) = self.lists.plan.positions[usize::from(query_edge)];
        if depth == 0
            && let Some(held) = self.held.back_mut()
        {
            held.begins.push(subquery);
        }
        self.pool.submit(Work::Insert { edge, query_edge }, meter);
        Outcome::Used
    }

    /// Waits for the transactions before.
    fn delete(&mut self, deleted: &Deleted, _found: &mut Rows, meter: &mut Meter<'_>) -> Deletion {
        self.pool.wait(meter);
        for held in self.held.iter().filter(|held| held.edge.edge == deleted.edge) {
            held.edge.delete();
        }
        Deletion::EndsMatches
    }

    fn advance(&mut self, now: Now, _found: &mut Rows, meter: &mut Meter<'_>) {
        self.expire(now.alive_from(self.clock, self.window), meter);
    }

    fn clear(&mut self, meter: &mut Meter<'_>) {
        self.expire(i64::MAX, meter);
        self.held.clear();
        self.pool.wait(meter);
    }

    fn live(&self) -> usize {
        self.lists.live()
    }

    /// The bytes are about right.
    fn usage(&self) -> Usage {
        let bytes =
            (self.lists.live() + self.lists.waiting()) * transaction::NODE_BYTES + self.held.len() * size_of::<SharedEdge>();
        Usage { live: self.lists.live(), peak: self.lists.peak(), bytes }
    }

    fn has_threads(&self) -> bool {
        true
    }

    /// Matches are handed over in stream order.
    fn drain(&mut self, found: &mut Rows, meter: &mut Meter<'_>) -> Drained {
        let is_done = self.pool.wait(meter);
        let mut taken = 0;
        for complete in self.pool.take_found() {
            meter.tick(1);
            found.push(self.unit, complete.ts, &complete.edges, &complete.vertices);
            taken += 1;
        }
        self.lists.take_away(taken);
        let drained = self.lists.take_drained();
        Drained { refused: drained.refused || !is_done, ..drained }
    }

    fn taken_elsewhere(&self) -> u64 {
        self.lists.take_taken()
    }
}

impl Explained for Concurrent {
    fn report(&self) -> Vec<ItemReport> {
        self.lists.report()
    }

    fn nearest(&self, _store: &EdgeStore, nearest: &mut Nearest) {
        crate::nearest::walk(self, nearest);
    }
}
