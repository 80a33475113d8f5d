//! Units of event patterns that become one, or one that gets another plan, while the stream runs.
//!
//! A unit holds the events of its patterns, in a store of its own. The new one takes what the others hold again, each event
//! once, and emits nothing of it; then it replaces them, between two records. So nothing is lost and nothing comes twice: what
//! they would emit once time has passed, it emits.
//! Cost: that of detecting once more in the events that are held, and of another store of them until the others are gone.

use graphtide_engine::ids::PatternId;
use graphtide_engine::meter::Meter;
use graphtide_events::Detector;
use graphtide_graph::symbol::SharedSymbols;

use super::{Allowed, EventUnit};
use crate::matcher::units::Units;
use crate::plan::{EventUnitSpec, InvalidPlan};

/// A unit that stands in the place of others.
pub struct Regrouped {
    /// Its number.
    pub number: u32,
    /// Those of the others whose matches may have lacked.
    pub shed: Vec<u32>,
}

impl Units<EventUnit> {
    /// Makes a unit that takes what others hold and stands in their place; none if it reaches a limit, or is not let take that.
    pub fn regroup(
        &mut self,
        before: &[u32],
        (spec, numbers): (&EventUnitSpec, &[PatternId]),
        symbols: &SharedSymbols,
        allowed: Allowed,
        meter: &mut Meter<'_>,
    ) -> Result<Option<Regrouped>, InvalidPlan> {
        let mut unit = EventUnit::new(spec, numbers, symbols, allowed)?;
        let others: Vec<&EventUnit> = before.iter().map(|&number| self.get(number)).collect();
        let detectors: Option<Vec<&Detector>> = others.iter().map(|other| other.detector.as_ref()).collect();
        let (Some(detectors), Some(detector)) = (detectors, &mut unit.detector) else { return Ok(None) };
        let carried: Vec<_> = numbers.iter().map(|&number| place_of(number, &others)).collect();
        if !detector.follow(&detectors, &carried, meter) {
            return Ok(None);
        }
        unit.guard.counts.work = others.iter().map(|other| other.guard.counts.work).sum();
        unit.guard.counts.limited = others.iter().map(|other| other.guard.counts.limited).sum();
        unit.guard.limit = others.iter().find_map(|other| other.guard.limit.clone());
        unit.guard.limited_at = others.iter().find_map(|other| other.guard.limited_at);
        let shed = before.iter().copied().filter(|&number| self.get(number).guard.shed).collect();
        for &number in before {
            *self.get_mut(number) = EventUnit::vacant();
            self.ask_anew(number);
        }
        Ok(Some(Regrouped { number: self.put(unit), shed }))
    }
}

/// Which of units has a pattern, and its place there.
fn place_of(number: PatternId, units: &[&EventUnit]) -> Option<(usize, u32)> {
    units.iter().enumerate().find_map(|(which, unit)| {
        let place = *unit.places.get(&number)?;
        unit.members[place as usize].number.map(|_| (which, place))
    })
}
