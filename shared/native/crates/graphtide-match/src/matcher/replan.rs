//! Changing the plan of patterns while the stream runs.
//!
//! The new engine is warmed by the patterns' edges of the window, its matches are thrown away because the old engine has reported
//! them, and it takes over between two records: nothing is lost and nothing comes twice. Engines of dual simulation hand over what
//! they hold. Of several patterns of a unit, the first that is given another plan leaves it with an engine of its own, and the others
//! follow it there.
//! Cost: O(edges kept) for one change, of which all but a look at each are the pattern's own; nothing for one that follows.

use graphtide_engine::ids::{PatternId, UnitId};
use graphtide_engine::meter::Meter;

use super::Matcher;
use super::warming::{Recalled, Warm};
use crate::plan::{InvalidPlan, PatternSpec, PlanSpec};

impl Matcher {
    /// Gives a pattern another plan; says whether it has it: a plan that reaches a limit while it is warmed, or that the meter does
    /// not let be warmed, is refused, and the old one goes on.
    pub fn replan(&mut self, number: PatternId, plan: PlanSpec, meter: &mut Meter<'_>) -> Result<bool, InvalidPlan> {
        let own = self.changeable(number)?;
        let Some(before) = self.blueprints.of(own) else { return Ok(false) };
        let name = self.queries[number.place()].names.name.clone();
        let spec = PatternSpec { name, plan, ..before.clone() };
        spec.check()?;
        let unit = &self.units[own.place()];
        if let Some(shared) = self.shared_by(&spec).filter(|_| !unit.paused) {
            self.transfer(number, shared)?;
            self.told.replanned(number, self.queries.len());
            Ok(true)
        } else if unit.members.len() > 1 {
            self.split(number, &spec, meter)
        } else {
            self.change(own, &spec, meter)
        }
    }

    /// Gives the one pattern of a unit another plan.
    fn change(&mut self, number: UnitId, spec: &PatternSpec, meter: &mut Meter<'_>) -> Result<bool, InvalidPlan> {
        let signatures = self.units[number.place()].signatures.clone();
        let (_, across) = self.predicates(spec);
        let new = self.with_engine(number, spec, across, signatures)?;
        let mut old = std::mem::replace(&mut self.units[number.place()], new);
        let new = &mut self.units[number.place()];
        new.members.clone_from(&old.members);
        new.past.clone_from(&old.past);
        new.paused = old.paused;
        // What its lists gave up is missing from now on, whether it goes on reading them or not.
        new.shed = old.has_shed(&self.postings);
        new.limit.clone_from(&old.limit);
        new.limited_at = old.limited_at;
        let warm = match new.engine.take_over(&mut old.engine, meter) {
            Some(true) => Warm::Whole,
            Some(false) => Warm::Limited,
            None => {
                let past = Recalled::stored(self.edges_of(number));
                self.warm(number, &past, meter)
            }
        };
        if warm == Warm::Limited {
            let refused = std::mem::replace(&mut self.units[number.place()], old);
            self.leave(&refused);
            return Ok(false);
        }
        self.leave(&old);
        let new = &mut self.units[number.place()];
        new.counts = old.counts;
        new.is_occupied = true;
        if !old.is_occupied {
            self.occupied.push(number);
        }
        for &member in &new.members {
            self.told.replanned(member, self.queries.len());
        }
        self.blueprints.put(number, spec);
        self.set_gates(number);
        self.settle_without(&old);
        self.settle_with(number);
        Ok(true)
    }

    /// Gives a pattern another plan than the others of its unit have: it leaves them.
    fn split(&mut self, number: PatternId, spec: &PatternSpec, meter: &mut Meter<'_>) -> Result<bool, InvalidPlan> {
        let unit = self.make(spec, None)?;
        if let Some(own) = self.unit_of(number) {
            self.units[unit.place()].past = self.units[own.place()].past.clone();
        }
        self.dispatch.seal();
        let past = Recalled::stored(self.edges_of(unit));
        let warm = self.warm(unit, &past, meter);
        self.occupy(unit, warm);
        if warm == Warm::Limited {
            self.dissolve(unit)?;
            return Ok(false);
        }
        self.transfer(number, unit)?;
        self.told.replanned(number, self.queries.len());
        Ok(true)
    }
}
