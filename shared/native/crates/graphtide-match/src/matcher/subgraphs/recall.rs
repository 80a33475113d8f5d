//! The past of a pattern that comes: the edges of its window that it could be made of, in stream order.
//!
//! Those that the store has already, for others, are taken from there; the others are stored late.
//! Cost: O(edges of the pattern's past).

use graphtide_engine::dispatch::NO_CLASS;
use graphtide_engine::engine::Engine;
use graphtide_engine::ids::UnitId;
use graphtide_engine::meter::{Meter, Unhurried};
use graphtide_graph::batch::{EdgeBatch, Operation};
use graphtide_graph::clock::{Clock, Now};
use graphtide_graph::key::IdRef;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::Subgraphs;
use crate::matcher::deduplication::PastOrder;
use crate::matcher::ids::OfTime;
use crate::matcher::past::{Past, Recalled};
use crate::matcher::window::{Signatures, Window};
use crate::plan::DeduplicationSpec;

impl Subgraphs {
    /// Finds the edges of a unit's past in the store, or puts them there.
    pub(super) fn recall(&mut self, number: UnitId, past: Past<'_>, window: &mut Window) -> Recalled {
        window.learn_names();
        let batches = past.batches();
        window.clocks.move_past(&batches);
        let engine = &self.units[number.place()].engine;
        // Changes by time alone were reported for patterns that were there; for others they are reported with the next record.
        let clocks = &window.clocks;
        let ts = if engine.emits_expiry() { clocks.watermark() } else { clocks.time() };
        let clock = self.units[number.place()].clock;
        let alive_from = Now { ts, ..clocks.now() }.alive_from(clock, engine.lookback());
        let came = |batch: &EdgeBatch, row: usize| match clock {
            Clock::Time => batch.ts()[row],
            Clock::Edges => batch.ordinal(row).cast_signed() + 1,
        };
        let in_arrival_order = engine.may_consume();
        let mut known = OfTime::default();
        let mut recalled = Recalled::default();
        let pace = Unhurried;
        for (which, row, is_alive) in recent(&batches, |batch, row| came(batch, row) >= alive_from) {
            if !is_alive && !in_arrival_order {
                continue;
            }
            let (batch, is_emitted) = (batches[which], which >= past.unreported.len());
            let class = self.dispatch.class(batch.labels()[row]);
            if class == NO_CLASS {
                continue;
            }
            let record = window.record(batch, row);
            let mut satisfied = Signatures::new();
            // It is not worth a pause.
            self.dispatch.satisfied(class, &record, &mut Meter::unbounded(&pace), |signature| satisfied.push(signature));
            if !satisfied.iter().any(|signature| self.units[number.place()].signatures.contains(signature)) {
                continue;
            }
            recalled.arrive(batch.ts()[row]);
            if !is_alive {
                continue;
            }
            let Some(edge) = window.recall(&mut known, (batch, row), satisfied) else { break };
            if clock == Clock::Edges {
                window.store.number_at(edge, came(batch, row));
            }
            recalled.keep(edge, is_emitted);
        }
        window.store.settle_late();
        if self.blueprints.of(number).is_some_and(|spec| spec.deduplication != DeduplicationSpec::default()) {
            let past = PastOrder::of(&recalled.edges, |edge| window.store.came(edge, clock));
            self.units[number.place()].past = past;
        }
        if !in_arrival_order && clock == Clock::Time {
            // Of the edges of one time, late ones are first wherever they lie.
            recalled.edges.sort_by_key(|&edge| (window.store.get(edge).ts, !edge.is_out_of_order()));
        }
        recalled
    }
}

/// Which rows of batches are edges of the window: batch, row, and whether it was not deleted.
fn recent(batches: &[&EdgeBatch], is_alive: impl Fn(&EdgeBatch, usize) -> bool) -> Vec<(usize, usize, bool)> {
    let rows = || (0..batches.len()).flat_map(|which| (0..batches[which].len()).map(move |row| (which, row)));
    let is_deletion = |&(which, row): &(usize, usize)| batches[which].operations()[row] == Operation::Delete;
    let mut recent: Vec<(usize, usize, bool)> = Vec::new();
    let mut places: HashMap<IdRef<'_>, usize, FxBuildHasher> = HashMap::default();
    let deletes = rows().any(|row| is_deletion(&row));
    for (which, row) in rows() {
        let id = batches[which].id(row);
        if is_deletion(&(which, row)) {
            if let Some(place) = places.remove(&id) {
                recent[place].2 = false;
            }
        } else if batches[which].is_edge(row) && is_alive(batches[which], row) {
            if deletes && !id.is_made() {
                places.insert(id, recent.len());
            }
            recent.push((which, row, true));
        }
    }
    recent
}
