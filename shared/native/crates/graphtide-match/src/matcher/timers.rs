//! When patterns have something to tell though no edge comes for them: at a time, or with so many edges of the stream.
//!
//! Invariant: each pattern has one instant at most, on the clock of its window; instants that were replaced stay in the queue until
//! they are due, and are passed over.
//! Cost: a comparison a record where times alone are waited for, a call where edges are counted; O(log(patterns with an instant))
//! where one changes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use graphtide_engine::ids::PatternId;
use graphtide_graph::Time;
use graphtide_graph::clock::{Clock, Now};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// The instants of patterns.
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
    queue: BinaryHeap<Reverse<(i64, PatternId)>>,
    instants: HashMap<PatternId, i64, FxBuildHasher>,
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

    /// Sets the instant of a pattern, or takes it away.
    #[inline]
    pub fn set(&mut self, pattern: PatternId, clock: Clock, at: Option<i64>) {
        match clock {
            Clock::Time => self.by_time.set(pattern, at),
            Clock::Edges => self.by_edges.set(pattern, at),
        }
        self.look();
    }

    /// Takes a pattern whose instant has come; it has none then.
    pub fn next_due(&mut self, now: Now) -> Option<PatternId> {
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
    fn set(&mut self, pattern: PatternId, at: Option<i64>) {
        match at {
            Some(at) if self.instants.insert(pattern, at) != Some(at) => self.queue.push(Reverse((at, pattern))),
            Some(_) => {}
            None => {
                self.instants.remove(&pattern);
            }
        }
    }

    fn next_due(&mut self, now: i64) -> Option<PatternId> {
        while let Some(&Reverse((at, pattern))) = self.queue.peek()
            && at <= now
        {
            self.queue.pop();
            if self.instants.get(&pattern) == Some(&at) {
                self.instants.remove(&pattern);
                return Some(pattern);
            }
        }
        None
    }
}
