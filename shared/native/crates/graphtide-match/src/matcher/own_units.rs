//! Units that hold records in stores of their own: of event patterns and of graph queries.
//!
//! They have each record before the units of subgraph patterns, event patterns first.

use graphtide_engine::meter::Meter;
use graphtide_graph::batch::EdgeBatch;

use super::clocks::Clocks;
use super::emission::Emission;
use super::event_units::EventUnit;
use super::graph_queries::GraphUnit;
use super::query::Query;
use super::selection::Selection;
use super::unit::LimitReached;
use super::units::Units;

/// Units by family.
#[derive(Debug, Default)]
pub struct OwnUnits {
    /// Of event patterns.
    pub events: Units<EventUnit>,
    /// Of graph queries.
    pub graphs: Units<GraphUnit>,
}

impl OwnUnits {
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.graphs.is_empty()
    }

    /// Lets all units know the labels that came since the last time.
    pub fn learn_names(&mut self) {
        self.events.learn_names();
        self.graphs.learn_names();
    }

    /// Takes a record and selects it where the state of patterns depends on it; says whether a unit holds it.
    #[inline]
    pub fn take(
        &mut self,
        (batch, row): (&EdgeBatch, usize),
        clocks: &Clocks,
        selection: &mut Selection,
        pass: &mut Emission<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<bool, LimitReached> {
        let mut is_held = false;
        pass.take_record(clocks.records());
        if !self.events.is_empty() {
            if self.events.may_be_due(clocks.time()) {
                self.events.wake(clocks.now(), pass, meter);
            }
            is_held = self.events.take(batch, row, pass, meter)?.is_held;
            if is_held {
                selection.select(row);
            }
        }
        if !self.graphs.is_empty() {
            let used = self.graphs.take(batch, row, pass, meter)?;
            is_held |= used.is_held;
            if used.is_wanted {
                selection.select_of_graphs(row);
            }
        }
        Ok(is_held)
    }

    /// Does as the policies say where units take more bytes than they may.
    pub fn check_bytes(&mut self, queries: &[Query]) -> Result<(), LimitReached> {
        let events = self.events.check_bytes(queries);
        events.and(self.graphs.check_bytes(queries))
    }

    /// Bytes of state of all.
    pub fn bytes(&self) -> usize {
        self.events.bytes() + self.graphs.bytes()
    }

    /// The most that was held at once in each, added up: that bounds what was held in all.
    pub fn peak(&self) -> usize {
        self.events.peak() + self.graphs.peak()
    }
}
