//! Changing the plan of patterns while the stream runs.
//!
//! The new engine is warmed by the patterns' edges of the window. Its matches are thrown away because the old engine has
//! reported them. It takes over between two records: nothing is lost and nothing comes twice. Engines of dual simulation hand
//! over what they hold. Of several patterns of a unit, the first that is given another plan leaves it with an engine of its
//! own. The others follow it there.
//! Cost: O(edges kept) for one change, mostly the pattern's own; nothing for one that follows.

use graphtide_engine::engine::Engine;
use graphtide_engine::ids::UnitId;
use graphtide_engine::meter::Meter;
use graphtide_engine::output::Rows;
use graphtide_graph::clock::Now;

use super::Subgraphs;
use super::making::predicates;
use crate::matcher::past::Recalled;
use crate::matcher::reported::Reported;
use crate::matcher::unit::Warm;
use crate::matcher::window::Window;
use crate::matcher::work_budgets::{Bounded, SAVED, WorkBudgets};
use crate::plan::{InvalidPlan, PatternSpec};

impl Subgraphs {
    /// What a unit was made from, names apart.
    pub fn spec_of(&self, number: UnitId) -> Option<&PatternSpec> {
        self.blueprints.of(number)
    }

    /// Gives the one pattern of a unit another plan; says whether it has it.
    pub fn change(
        &mut self,
        number: UnitId,
        spec: &PatternSpec,
        window: &mut Window,
        reported: Option<&mut Reported>,
        meter: &mut Meter<'_>,
    ) -> Result<bool, InvalidPlan> {
        let signatures = self.units[number.place()].signatures.clone();
        let (_, across) = predicates(spec, window);
        let new = self.with_engine(number, spec, across, signatures, window)?;
        let mut old = std::mem::replace(&mut self.units[number.place()], new);
        let new = &mut self.units[number.place()];
        new.members.clone_from(&old.members);
        new.past.clone_from(&old.past);
        new.guard.paused = old.guard.paused;
        // What its lists gave up is missing from now on, whether it continues reading them or not.
        new.guard.shed = old.has_shed(&self.postings);
        new.guard.limit.clone_from(&old.guard.limit);
        new.guard.limited_at = old.guard.limited_at;
        let warm = match new.engine.take_over(&mut old.engine, meter) {
            Some(true) => Warm::Whole,
            Some(false) => Warm::Limited,
            None => {
                let past = Recalled::stored(self.edges_of(number, window));
                self.warm(number, &past, window, reported, meter)
            }
        };
        if warm == Warm::Limited {
            let refused = std::mem::replace(&mut self.units[number.place()], old);
            self.postings.leave(refused.reader, &refused.signatures, &refused.lists);
            return Ok(false);
        }
        self.postings.leave(old.reader, &old.signatures, &old.lists);
        let new = &mut self.units[number.place()];
        new.guard.counts = old.guard.counts;
        new.is_occupied = true;
        if !old.is_occupied {
            self.occupied.push(number);
        }
        self.blueprints.put(number, spec);
        self.set_gates(number);
        self.settle_without(&old, window);
        self.settle_with(number, window);
        Ok(true)
    }

    /// Makes a unit that continues where another is, whose pattern has another plan; none if that is not let be.
    pub fn split(
        &mut self,
        own: UnitId,
        spec: &PatternSpec,
        window: &mut Window,
        budgets: &mut Option<WorkBudgets>,
        reported: Option<&mut Reported>,
        meter: &mut Meter<'_>,
    ) -> Result<Option<UnitId>, InvalidPlan> {
        let unit = self.make(spec, None, window, budgets)?;
        self.units[unit.place()].past = self.units[own.place()].past.clone();
        self.dispatch.seal();
        let past = Recalled::stored(self.edges_of(unit, window));
        let warm = self.warm(unit, &past, window, reported, meter);
        self.occupy(unit, warm, window);
        if warm == Warm::Limited {
            self.dissolve(unit, window)?;
            return Ok(None);
        }
        Ok(Some(unit))
    }

    /// Lets an engine begin to count its matches, if it knows what does not follow from the edges of the window. That is its
    /// own pattern's, for its unit has no other.
    pub fn begin_counting(&mut self, number: UnitId, now: Now, rows: &mut Rows, meter: &mut Meter<'_>) {
        let unit = &mut self.units[number.place()];
        if !unit.engine.may_consume() {
            return;
        }
        let (work, before) = (unit.guard.limits.work, unit.engine.live());
        let records = SAVED.saturating_add(before as u64);
        meter.begin(work.map_or(u64::MAX, |work| work.saturating_mul(records)));
        // Its matches were emitted, or never will be.
        unit.engine.begin(now, rows, meter);
        rows.clear();
        if let Some(refusal) = meter.end() {
            let _ = unit.refused(refusal, work.map(Bounded::Unit), meter);
        }
        self.live = self.live + unit.engine.live() - before;
    }
}
