//! Units of event patterns that become one, or one that gets another plan, while the stream runs.
//!
//! A unit holds the events of its patterns, in a store of its own. The new one takes what the others hold again, each event once,
//! and tells nothing of it; then it stands in their place, between two records. So nothing is lost and nothing comes twice: what they
//! were to tell once time has passed it tells.
//! Cost: that of detecting once more in the events that are held, and of another store of them until the others are gone.

use graphtide_engine::ids::PatternId;
use graphtide_engine::meter::Meter;
use graphtide_events::Detector;
use graphtide_graph::symbol::SharedSymbols;

use super::super::Matcher;
use super::{Allowed, EventUnit, EventUnits};
use crate::plan::{EventUnitSpec, InvalidPlan};

impl Matcher {
    /// Lets one unit, with a plan of its own, have all event patterns of one unit or of several, under the numbers that they have.
    /// Says whether it has them: a plan that reaches a limit while it takes the past again, or that the meter does not let take it,
    /// is refused, and the units go on as they are; so is one for patterns that a limit stopped. Matches that lacked before are
    /// marked as lacking from then on.
    pub fn regroup(&mut self, spec: &EventUnitSpec, meter: &mut Meter<'_>) -> Result<bool, InvalidPlan> {
        self.check_changeable(&spec.name())?;
        spec.check()?;
        let numbers: Vec<PatternId> = spec.patterns.iter().filter_map(|pattern| pattern.number.map(PatternId)).collect();
        let mut units: Vec<u32> = numbers.iter().filter_map(|&number| self.event_query(number)?.0.events).collect();
        units.sort_unstable();
        units.dedup();
        let mut members: Vec<PatternId> = units.iter().flat_map(|&unit| self.events.get(unit).members()).collect();
        let mut named = numbers.clone();
        members.sort_unstable();
        named.sort_unstable();
        let mut pairs = spec.patterns.iter().zip(&numbers);
        let is_known =
            members == named && pairs.all(|(pattern, number)| self.output.names[number.place()].name == pattern.name);
        if numbers.len() < spec.patterns.len() || !is_known {
            let reason = "the patterns of its unit are not all of some units".into();
            return Err(InvalidPlan { pattern: spec.name(), reason });
        }
        let allowed = self.allowed;
        let Some(unit) = self.events.regroup(&units, (spec, &numbers), self.window.symbols(), allowed, meter)? else {
            return Ok(false);
        };
        self.open_events(unit.number, spec);
        for number in numbers {
            let query = &mut self.queries[number.place()];
            let before = query.events.replace(unit.number);
            query.shed |= before.is_some_and(|before| unit.shed.contains(&before));
            self.told.replanned(number, self.queries.len());
        }
        Ok(true)
    }
}

/// A unit that stands in the place of others.
pub struct Regrouped {
    number: u32,
    /// Those of the others whose matches may have lacked.
    shed: Vec<u32>,
}

impl EventUnits {
    fn regroup(
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
        unit.work = others.iter().map(|other| other.work).sum();
        unit.limited = others.iter().map(|other| other.limited).sum();
        unit.limit = others.iter().find_map(|other| other.limit.clone());
        unit.limited_at = others.iter().find_map(|other| other.limited_at);
        let shed = before.iter().copied().filter(|&number| self.get(number).shed).collect();
        for &number in before {
            self.vacate(number);
        }
        let number = self.put(unit, &spec.plan, symbols);
        self.wait(number);
        Ok(Some(Regrouped { number, shed }))
    }
}

/// Which of units has a pattern, and its place there.
fn place_of(number: PatternId, units: &[&EventUnit]) -> Option<(usize, u32)> {
    units.iter().enumerate().find_map(|(which, unit)| {
        let place = *unit.places.get(&number)?;
        unit.members[place as usize].number.map(|_| (which, place))
    })
}
