//! The longest windows of the patterns: one of time, one of edges.
//!
//! What left both is of use to nobody.

use graphtide_engine::engine::Engine;
use graphtide_graph::clock::{Clock, Now};

use super::Registered;

/// The length of the longest window on each clock; 0 where no pattern has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// In ticks.
    pub time: i64,
    /// In edges.
    pub edges: i64,
}

impl Windows {
    /// The longest windows of patterns.
    pub fn of(patterns: &[Registered]) -> Self {
        let mut windows = Self::default();
        for pattern in patterns {
            windows.widen(pattern);
        }
        windows
    }

    /// Makes them hold what a pattern needs.
    pub fn widen(&mut self, pattern: &Registered) {
        let length = match pattern.clock {
            Clock::Time => &mut self.time,
            Clock::Edges => &mut self.edges,
        };
        *length = pattern.engine.reach().max(*length);
    }

    /// The longest window on a clock.
    pub fn on(self, clock: Clock) -> i64 {
        match clock {
            Clock::Time => self.time,
            Clock::Edges => self.edges,
        }
    }

    /// From where on they hold edges, on each clock; what came before both has left.
    pub fn alive_from(self, now: Now) -> Now {
        Now { ts: now.alive_from(Clock::Time, self.time), edges: now.alive_from(Clock::Edges, self.edges) }
    }
}
