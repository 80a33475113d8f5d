//! Giving a new engine the state that it would have if it had been there all along.
//!
//! Cost: O(edges held) to find those of a unit, and that of the [replay](super::unit).

use graphtide_engine::engine::Engine;
use graphtide_engine::ids::UnitId;
use graphtide_engine::meter::Meter;
use graphtide_graph::clock::Clock;
use graphtide_graph::store::EdgeRef;

use super::Subgraphs;
use super::unit::Replayed;
use crate::matcher::past::Recalled;
use crate::matcher::reported::Reported;
use crate::matcher::satisfied::Mark;
use crate::matcher::unit::{Unit, Warm};
use crate::matcher::window::Window;

impl Subgraphs {
    /// The edges of the store that some edge of a unit could be, in their order. Complexity: O(edges held).
    pub fn edges_of(&self, number: UnitId, window: &Window) -> Vec<EdgeRef> {
        let Some(sets) = &window.satisfied else { return Vec::new() };
        let unit = &self.units[number.place()];
        let alive_from = window.clocks.now().alive_from(unit.clock, unit.engine.lookback());
        let is_its = |&edge: &EdgeRef| {
            let stored = window.store.get(edge);
            window.store.came(edge, unit.clock) >= alive_from
                && sets.get(&Mark::stored(stored.class)).iter().any(|signature| unit.signatures.contains(signature))
                && !window.store.is_deleted(edge)
        };
        let mut edges: Vec<EdgeRef> = window.store.refs().filter(is_its).collect();
        if unit.clock == Clock::Edges {
            // Of the edges of one time, late ones lie first.
            edges.sort_by_key(|&edge| window.store.came(edge, Clock::Edges));
        }
        edges
    }

    /// Lets a unit's engine take edges of the store in their order; matches with a reported edge are kept, to be
    /// retracted.
    pub fn warm(
        &mut self,
        number: UnitId,
        recalled: &Recalled,
        window: &Window,
        reported: Option<&mut Reported>,
        meter: &mut Meter<'_>,
    ) -> Warm {
        let is_distinct = self.blueprints.of(number).is_some_and(|spec| spec.deduplication.is_distinct);
        let Self { units, postings, .. } = self;
        let past = Replayed { recalled, window, postings, is_distinct, reported };
        units[number.place()].replay(past, meter)
    }
}
