//! When patterns have something to tell though no edge comes.
//!
//! Invariant: each pattern has one time at most; times that were replaced stay in the queue until they are due, and are passed over.
//! Cost: a comparison a record; O(log(patterns with a time)) where one changes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use graphtide_graph::Time;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// The times of patterns.
#[derive(Debug)]
pub struct Timers {
    /// The first of the queue; what never comes if it is empty.
    next: Time,
    queue: BinaryHeap<Reverse<(Time, u32)>>,
    times: HashMap<u32, Time, FxBuildHasher>,
}

impl Default for Timers {
    fn default() -> Self {
        Self { next: Time::MAX, queue: BinaryHeap::new(), times: HashMap::default() }
    }
}

impl Timers {
    /// Whether some time has come, perhaps one that was replaced.
    #[inline]
    pub fn are_due(&self, now: Time) -> bool {
        self.next <= now
    }

    /// Sets the time of a pattern, or takes it away.
    #[inline]
    pub fn set(&mut self, pattern: u32, at: Option<Time>) {
        match at {
            Some(at) if self.times.insert(pattern, at) != Some(at) => {
                self.queue.push(Reverse((at, pattern)));
                self.next = self.next.min(at);
            }
            Some(_) => {}
            None => {
                self.times.remove(&pattern);
            }
        }
    }

    /// Takes a pattern whose time has come; it has none then.
    pub fn next_due(&mut self, now: Time) -> Option<u32> {
        while self.are_due(now) {
            let Some(Reverse((at, pattern))) = self.queue.pop() else {
                self.next = Time::MAX;
                return None;
            };
            self.next = self.queue.peek().map_or(Time::MAX, |&Reverse((at, _))| at);
            if self.times.get(&pattern) == Some(&at) {
                self.times.remove(&pattern);
                return Some(pattern);
            }
        }
        None
    }
}
