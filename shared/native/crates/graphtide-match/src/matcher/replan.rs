//! Changing a pattern's plan while the stream runs.
//!
//! The new engine is warmed by the pattern's edges of the window, its matches are thrown away because the old engine has reported
//! them, and it takes over between two records: nothing is lost and nothing comes twice. Engines of dual simulation hand over what
//! they hold.
//! Cost: O(edges kept) for one change, of which all but a look at each are the pattern's own.

use graphtide_engine::ids::PatternId;
use graphtide_engine::meter::Meter;

use super::Matcher;
use super::warming::{Recalled, Warm};
use crate::plan::{InvalidPlan, PatternSpec, PlanSpec};

impl Matcher {
    /// Gives a pattern another plan; says whether it has it: a plan that reaches a limit while it is warmed, or that the meter does
    /// not let be warmed, is refused, and the old one goes on.
    pub fn replan(&mut self, number: PatternId, plan: PlanSpec, meter: &mut Meter<'_>) -> Result<bool, InvalidPlan> {
        let spec = PatternSpec { plan, ..self.changeable(number)?.clone() };
        spec.check()?;
        let signatures = self.patterns[number.place()].signatures.clone();
        let (_, across) = self.predicates(&spec);
        let new = self.with_engine(number, &spec, across, signatures)?;
        let mut old = std::mem::replace(&mut self.patterns[number.place()], new);
        let new = &mut self.patterns[number.place()];
        new.paused = old.paused;
        new.hits_before.clone_from(&old.hits_before);
        // What its lists gave up is missing from now on, whether it goes on reading them or not.
        new.shed = old.has_shed(&self.postings);
        new.limit.clone_from(&old.limit);
        let warm = match new.engine.take_over(&mut old.engine, meter) {
            Some(true) => Warm::Whole,
            Some(false) => Warm::Limited,
            None => {
                let past = Recalled::stored(self.edges_of(number));
                self.warm(number, &past, meter)
            }
        };
        if warm == Warm::Limited {
            let refused = std::mem::replace(&mut self.patterns[number.place()], old);
            self.leave(&refused);
            return Ok(false);
        }
        self.leave(&old);
        let new = &mut self.patterns[number.place()];
        new.counts = old.counts;
        new.is_occupied = true;
        if !old.is_occupied {
            self.occupied.push(number);
        }
        self.told.replanned(number, self.patterns.len());
        self.blueprints.put(number, spec);
        self.set_gates(number);
        self.settle_without(&old);
        self.settle_with(number);
        Ok(true)
    }
}
