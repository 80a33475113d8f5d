//! The longest windows of the units: one of time, one of edges.
//!
//! What left both is of use to nobody.

use graphtide_engine::engine::Engine;
use graphtide_graph::clock::{Clock, Now};

use super::Unit;

/// The length of the longest window on each clock; 0 where no unit has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// In ticks.
    pub time: i64,
    /// In edges.
    pub edges: i64,
}

impl Windows {
    /// The longest windows of units.
    pub fn of(units: &[Unit]) -> Self {
        let mut windows = Self::default();
        for unit in units {
            windows.widen(unit);
        }
        windows
    }

    /// Makes them hold what a unit needs.
    pub fn widen(&mut self, unit: &Unit) {
        let length = match unit.clock {
            Clock::Time => &mut self.time,
            Clock::Edges => &mut self.edges,
        };
        *length = unit.engine.reach().max(*length);
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
