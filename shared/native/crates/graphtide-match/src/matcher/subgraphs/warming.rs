//! Giving a new engine the state that it would have if it had been there all along.
//!
//! A matcher whose patterns may change keeps every edge that some query edge could be, with the signatures it satisfied. A new
//! engine takes those of its patterns in stream order, between two records. What an engine knows follows from the edges of its
//! window alone, so that is all. Lists that the engine reads are set aside meanwhile, for they have edges that come later; those
//! that nobody had kept as it needs them stay as they come out.
//! Edges of one time may come in another order than they had: what an engine stores does not depend on that, since an order of
//! query edges is one of times.
//! Cost: O(edges given).

use graphtide_engine::arrival::Arrival;
use graphtide_engine::engine::Engine;
use graphtide_engine::ids::{SignatureId, UnitId};
use graphtide_engine::meter::Meter;
use graphtide_engine::output::{FoundRow, Rows};
use graphtide_engine::trace::Untraced;
use graphtide_graph::clock::{Clock, Now};
use graphtide_graph::store::EdgeRef;

use super::Subgraphs;
use super::recall::Recalled;
use crate::matcher::allowances::{Bounded, SAVED};
use crate::matcher::deduplication::repeated;
use crate::matcher::reported::Reported;
use crate::matcher::satisfied::Mark;
use crate::matcher::window::Window;

/// How a new engine came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warm {
    /// With all its state.
    Whole,
    /// It reached a limit, or was not let go on.
    Limited,
}

impl Subgraphs {
    /// The edges of the store that some edge of a unit could be, in their order. Complexity: O(edges held).
    pub fn edges_of(&self, number: UnitId, window: &Window) -> Vec<EdgeRef> {
        let Some(sets) = &window.satisfied else { return Vec::new() };
        let unit = &self.units[number.place()];
        let alive_from = window.clocks.now().alive_from(unit.clock, unit.engine.reach());
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

    /// Lets a unit's engine take edges of the store in their order; matches that have one that was told of are kept, to be
    /// retracted.
    pub fn warm(
        &mut self,
        number: UnitId,
        recalled: &Recalled,
        window: &Window,
        mut reported: Option<&mut Reported>,
        meter: &mut Meter<'_>,
    ) -> Warm {
        let Recalled { edges, told, before, newest } = recalled;
        let now = window.clocks.now();
        let Self { units, postings, .. } = self;
        let Window { store, vertices, satisfied, .. } = window;
        let (unit, Some(sets)) = (&mut units[number.place()], satisfied) else { return Warm::Limited };
        let mut signatures: Vec<SignatureId> = unit.signatures.clone();
        signatures.sort_unstable();
        signatures.dedup();
        let (members, clock) = (unit.members.clone(), unit.clock);
        let is_distinct = self.blueprints.of(number).is_some_and(|spec| spec.telling.is_distinct);
        let past = unit.past.take();
        let mut found = Rows::default();
        let mut keep = |found: &mut Rows, kept: Now| {
            if let Some(reported) = reported.as_deref_mut() {
                let (repeated, mut place) =
                    (if is_distinct { repeated(found, past.as_deref(), store) } else { Vec::new() }, 0..);
                found.each(|_, detected_at, found| {
                    let is_repeated = place.next().is_some_and(|place| repeated.contains(&place));
                    if !is_repeated
                        && let FoundRow::Assignment { edges, vertices } = found
                        && edges.iter().any(|edge| told.contains(edge))
                    {
                        for &member in &members {
                            reported.keep((member, clock), Now { ts: detected_at, ..kept }, (edges, vertices), store);
                        }
                    }
                });
            }
            found.clear();
        };
        let aside = postings.set_aside(&unit.lists);
        // What the window's records granted when they came, and what may have been saved before.
        let records = SAVED.saturating_add(edges.len() as u64);
        meter.begin(unit.limits.work.map_or(u64::MAX, |work| work.saturating_mul(records)));
        let mut outcome = Warm::Whole;
        for (place, &edge) in edges.iter().enumerate() {
            let stored = *store.get(edge);
            meter.tick(1);
            let mark = Mark::stored(stored.class);
            let its = sets.get(&mark);
            let (source, target) = (stored.source, stored.target);
            let born = store.born(edge);
            let arrival =
                Arrival { ts: born.ts, at: born.on(clock), source, target, edge, satisfied: its, store, names: vertices };
            if let Some(&before) = before.get(place) {
                unit.engine.count_from(stored.ts, before);
            }
            for query_edge in 0..unit.signatures.len() {
                if its.contains(&unit.signatures[query_edge])
                    && unit.insert(&arrival, query_edge as u8, postings, &mut found, Untraced, meter).is_err()
                {
                    outcome = Warm::Limited;
                }
            }
            if meter.is_refused() {
                if let Some(refusal) = meter.end() {
                    let work = unit.limits.work.map(Bounded::Unit);
                    let _ = unit.refused(refusal, work, meter);
                }
                outcome = Warm::Limited;
            }
            if outcome == Warm::Limited {
                break;
            }
            for &signature in signatures.iter().filter(|signature| its.contains(signature)) {
                postings.relist(&aside, signature, born, ((source, target), edge), meter);
            }
            keep(&mut found, born);
        }
        meter.end();
        if let Some((ts, count)) = *newest {
            unit.engine.count_from(ts, count);
        }
        unit.engine.end_replay();
        let drained = unit.drain(&mut found, meter);
        keep(&mut found, now);
        unit.past = past;
        if drained.limited.is_some() || drained.refused || unit.counts.limited > 0 {
            outcome = Warm::Limited;
        }
        postings.put_back(aside, (outcome == Warm::Whole).then_some(unit.reader));
        outcome
    }
}
