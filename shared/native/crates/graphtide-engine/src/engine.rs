//! What an engine does for the pattern that it runs, whatever its family.
//!
//! Law: what an engine knows follows from the edges of its window, in their order, and from its carried state. That is a few
//! bytes where the semantics need them. So it is rebuilt by one replay, and nothing of it is ever serialised. An engine sees
//! only the edges that may match one of its query edges. Where it has nothing to do or to say, the default stands.

use graphtide_graph::Time;
use graphtide_graph::clock::Now;
use graphtide_graph::store::EdgeStore;

use crate::arrival::{Arrival, Deleted, Deletion, Drained, Outcome};
use crate::dispatch::Admission;
use crate::ids::{ReaderId, RingId};
use crate::lists::Postings;
use crate::meter::Meter;
use crate::nearest::Nearest;
use crate::output::{ItemReport, Rows};
use crate::replay::{Begun, ConsumptionCursor};
use crate::trace::{Fates, Node, Step, Tally, Tracer};

/// What an engine holds and held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Partial matches alive, or edges held: what its family counts.
    pub live: usize,
    /// Most ever alive at once.
    pub peak: usize,
    /// Bytes of state alive that no other pattern shares.
    pub bytes: usize,
}

/// An engine at work on a pattern.
pub trait Engine: Explained {
    /// How long an edge can be of use, on the clock of the pattern's window.
    fn lookback(&self) -> i64;

    /// Takes an edge as one query edge, and reports the matches that it completes. The shared lists do not have the edge yet.
    fn insert<T: Tracer>(
        &mut self,
        arrival: &Arrival<'_>,
        query_edge: u8,
        lists: &Postings,
        found: &mut Rows,
        tracer: T,
        meter: &mut Meter<'_>,
    ) -> Outcome;

    /// Lets a deleted edge take no further part; says what that brings about.
    fn delete(&mut self, deleted: &Deleted, found: &mut Rows, meter: &mut Meter<'_>) -> Deletion;

    /// Lets time pass: drops what left the window, and reports what follows from that.
    fn advance(&mut self, now: Now, found: &mut Rows, meter: &mut Meter<'_>);

    /// Drops all state.
    fn clear(&mut self, meter: &mut Meter<'_>);

    /// Partial matches alive; asked for with every edge.
    #[inline]
    fn live(&self) -> usize {
        0
    }

    /// What it holds and held.
    #[inline]
    fn usage(&self) -> Usage {
        Usage::default()
    }

    /// When an edge can be of use as a query edge, as far as that is known without asking the engine.
    fn admission(&self, _query_edge: u8) -> Admission {
        Admission::ALWAYS
    }

    /// Attaches the shared lists that it reads; returns them, some perhaps more than once.
    fn attach(&mut self, _reader: ReaderId, _lists: &mut Postings) -> Vec<RingId> {
        Vec::new()
    }

    /// Of the bytes that its pattern may take, how many the lists that it reads may.
    fn bytes_for_lists(&self, bytes: u64) -> u64 {
        bytes
    }

    /// Whether it may ever be due without an edge.
    fn emits_expiry(&self) -> bool {
        false
    }

    /// Ends time: reports what expires after the greatest time, at that time.
    fn end_time(&mut self, _found: &mut Rows, _meter: &mut Meter<'_>) {}

    /// When it is due without an edge of its own, on the clock of its window.
    #[inline]
    fn next_expiry(&self) -> Option<i64> {
        None
    }

    /// Whether it works on other threads: then what it finds is handed over by [`drain`](Self::drain).
    #[inline]
    fn has_threads(&self) -> bool {
        false
    }

    /// Waits for work on other threads, hands over the matches that it found, and says what else came of it.
    fn drain(&mut self, _found: &mut Rows, _meter: &mut Meter<'_>) -> Drained {
        Drained::default()
    }

    /// Steps that other threads took since the last time.
    #[inline]
    fn taken_elsewhere(&self) -> u64 {
        0
    }

    /// Whether it may carry state: then it counts arrivals, and `begin` says when its matches begin to count.
    fn may_consume(&self) -> bool {
        false
    }

    /// What it knows that does not follow from the edges of its window; none where that is nothing.
    fn consumption(&self) -> Option<ConsumptionCursor> {
        None
    }

    /// Takes edges that come now without consumption until [`begin`](Self::begin); what was consumed before stays so.
    fn wait(&mut self, _carried: Option<ConsumptionCursor>) {}

    /// Lets its matches count from the next record on.
    fn begin(&mut self, _now: Now, _found: &mut Rows, _meter: &mut Meter<'_>) {}

    /// Takes the next edges as edges from before the pattern: nothing is emitted for them.
    fn begin_replay(&mut self, _begun: Begun) {}

    /// Says of the edge that comes next how many of its time came before it.
    fn count_from(&mut self, _ts: Time, _before: u32) {}

    /// Takes edges for new ones again.
    fn end_replay(&mut self) {}
}

/// What an engine says of itself, in the words of its plan.
pub trait Explained {
    /// What each item of the plan holds and held.
    fn report(&self) -> Vec<ItemReport> {
        Vec::new()
    }

    /// Counts the partial matches that it stores by step, and offers those that are nearest to completion; an engine that
    /// stores none counts no step. Work on other threads is done before.
    fn nearest(&self, _store: &EdgeStore, _nearest: &mut Nearest) {}

    /// What it counts by itself of the steps of its plan, traced or not.
    fn steps(&self) -> Vec<(Step, Tally)> {
        Vec::new()
    }

    /// What it knows by itself of what it stored.
    fn fates(&self) -> Option<(Node, Fates)> {
        None
    }

    /// The list in which it keeps the candidates for a query edge, if it filters them.
    fn candidates(&self, _query_edge: u8) -> Option<RingId> {
        None
    }

    /// Place of a query edge in the searches from another.
    fn place(&self, _start: u8, _edge: u8) -> usize {
        0
    }

    /// The query edges that a partial match stored at a node waits for.
    fn waits_for(&self, _node: Node) -> Vec<u8> {
        Vec::new()
    }
}
