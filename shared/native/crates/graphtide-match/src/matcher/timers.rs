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
#[derive(Debug, Default)]
pub struct Timers {
    queue: BinaryHeap<Reverse<(Time, u32)>>,
    times: HashMap<u32, Time, FxBuildHasher>,
}

impl Timers {
    /// Whether some time has come, perhaps one that was replaced.
    #[inline]
    pub fn are_due(&self, now: Time) -> bool {
        self.queue.peek().is_some_and(|&Reverse((at, _))| at <= now)
    }

    /// Sets the time of a pattern, or takes it away.
    #[inline]
    pub fn set(&mut self, pattern: u32, at: Option<Time>) {
        match at {
            Some(at) if self.times.insert(pattern, at) != Some(at) => self.queue.push(Reverse((at, pattern))),
            Some(_) => {}
            None => {
                self.times.remove(&pattern);
            }
        }
    }

    /// Takes a pattern whose time has come; it has none then.
    pub fn next_due(&mut self, now: Time) -> Option<u32> {
        while self.are_due(now) {
            let Reverse((at, pattern)) = self.queue.pop()?;
            if self.times.get(&pattern) == Some(&at) {
                self.times.remove(&pattern);
                return Some(pattern);
            }
        }
        None
    }
}
