//! When units are due without an edge of their own: at a time, or after a number of edges of the stream.
//!
//! Invariant: each unit has one instant at most, on the clock of its window. Instants that were replaced stay in the queue
//! until they are due, and are passed over.
//! Cost: a comparison a record where times alone are waited for, a call where edges are counted; O(log(units with an instant))
//! where one changes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use graphtide_engine::ids::UnitId;
use graphtide_graph::Time;
use graphtide_graph::clock::{Clock, Now};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// The instants of units.
#[derive(Debug)]
pub struct Timers {
    /// The first time of the queue; what never comes if it is empty, what always has come while edges are counted.
    next: Time,
    by_time: Queue,
    by_edges: Queue,
}

/// The instants on one clock.
#[derive(Debug, Default)]
struct Queue {
    queue: BinaryHeap<Reverse<(i64, UnitId)>>,
    instants: HashMap<UnitId, i64, FxBuildHasher>,
}

impl Default for Timers {
    fn default() -> Self {
        Self { next: Time::MAX, by_time: Queue::default(), by_edges: Queue::default() }
    }
}

impl Timers {
    /// Whether some instant may have come, perhaps one that was replaced.
    #[inline]
    pub fn may_be_due(&self, now: Time) -> bool {
        self.next <= now
    }

    /// Sets the instant of a unit, or takes it away.
    #[inline]
    pub fn set(&mut self, unit: UnitId, clock: Clock, at: Option<i64>) {
        match clock {
            Clock::Time => self.by_time.set(unit, at),
            Clock::Edges => self.by_edges.set(unit, at),
        }
        self.look();
    }

    /// Takes a unit whose instant has come; it has none then.
    pub fn next_due(&mut self, now: Now) -> Option<UnitId> {
        let due = self.by_time.next_due(now.ts).or_else(|| self.by_edges.next_due(now.edges));
        self.look();
        due
    }

    #[inline]
    fn look(&mut self) {
        let next = self.by_time.queue.peek().map_or(Time::MAX, |&Reverse((at, _))| at);
        self.next = if self.by_edges.queue.is_empty() { next } else { Time::MIN };
    }
}

impl Queue {
    #[inline]
    fn set(&mut self, unit: UnitId, at: Option<i64>) {
        match at {
            Some(at) if self.instants.insert(unit, at) != Some(at) => self.queue.push(Reverse((at, unit))),
            Some(_) => {}
            None => {
                self.instants.remove(&unit);
            }
        }
    }

    fn next_due(&mut self, now: i64) -> Option<UnitId> {
        while let Some(&Reverse((at, unit))) = self.queue.peek()
            && at <= now
        {
            self.queue.pop();
            if self.instants.get(&unit) == Some(&at) {
                self.instants.remove(&unit);
                return Some(unit);
            }
        }
        None
    }
}
