//! Changing the plans of graph queries while the stream runs.
//!
//! Operators keep tuples, not the edges that those of another plan would begin with. So somebody keeps the records that queries
//! read for as long as they are of use, and new operators take them, between two records. What is emitted from then on follows
//! from these alone. A unit whose results may be missing keeps its plans, as does one that reaches a limit on the way.
//! Cost: that of answering the records kept, once a unit; both states are held meanwhile.

use graphtide_algebra::{PlanSpec, Queries};
use graphtide_engine::ids::PatternId;
use graphtide_engine::meter::Meter;
use graphtide_graph::batch::EdgeBatch;
use graphtide_graph::symbol::SharedSymbols;

use super::{GraphUnit, answering, replay};
use crate::matcher::event_units::Allowed;
use crate::matcher::unit::Unit;
use crate::matcher::units::Units;
use crate::plan::{GraphQuerySpec, InvalidPlan};

/// Records between two counts of the bytes that new operators take.
const COUNTED: usize = 1024;

impl Units<GraphUnit> {
    /// Gives queries of a unit other plans from the next record on; says whether they have them.
    ///
    /// Arguments: the plans with the numbers of their queries. Then the records of the longest window before the next record
    /// that were selected for graph queries, in their order.
    pub fn replan(
        &mut self,
        number: u32,
        queries: &[(PatternId, &GraphQuerySpec)],
        past: &[&EdgeBatch],
        symbols: &SharedSymbols,
        allowed: Allowed,
        meter: &mut Meter<'_>,
    ) -> Result<bool, InvalidPlan> {
        let unit = self.get(number);
        if unit.queries.is_none() || unit.guard.shed || unit.guard.counts.limited > 0 {
            return Ok(false);
        }
        let mut plans = unit.plans.clone();
        for (query, spec) in queries {
            if let Some(&place) = unit.places.get(query) {
                plans[place as usize] = spec.plan.clone();
            }
        }
        let fresh = answering(&plans, unit.guard.limits, symbols, allowed)
            .map_err(|error| InvalidPlan { pattern: queries[0].1.name.clone(), reason: error.to_string() })?;
        let Some(fresh) = unit.brought(fresh, past, meter) else { return Ok(false) };
        self.take_over(number, plans, fresh);
        Ok(true)
    }

    /// Lets a unit continue with other operators.
    fn take_over(&mut self, number: u32, plans: Vec<PlanSpec>, fresh: Queries) {
        let unit = self.get_mut(number);
        let labels = |queries: &Queries| queries.asks().map(Iterator::collect::<Vec<u32>>);
        let asks_alike = unit.queries.as_deref().map(labels) == Some(labels(&fresh));
        (unit.queries, unit.plans) = (Some(Box::new(fresh)), plans);
        unit.measured.take();
        unit.bytes = (unit.usage().bytes as u64, 0);
        if !asks_alike {
            self.ask_anew(number);
        }
    }
}

impl GraphUnit {
    /// New operators with the state that they would have if they had been there all along; none if they exceed a limit on the
    /// way.
    fn brought(&self, mut fresh: Queries, past: &[&EdgeBatch], meter: &mut Meter<'_>) -> Option<Queries> {
        for place in (0..).zip(&self.members).filter_map(|(place, member)| member.is_none().then_some(place)) {
            fresh.remove(place);
        }
        let bound = self.bound_in_bytes().unwrap_or(u64::MAX);
        let (mut records, mut is_whole) = (0, true);
        replay(&mut fresh, past, meter, |queries, taken| {
            records += 1;
            is_whole = taken.refusal.is_none()
                && !taken.is_limited
                && (bound == u64::MAX || records % COUNTED > 0 || (queries.usage().bytes as u64) < bound);
            !is_whole
        });
        (is_whole && (fresh.usage().bytes as u64) < bound).then_some(fresh)
    }
}
