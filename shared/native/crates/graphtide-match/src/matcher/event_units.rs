//! Units of event patterns: each a plan of many patterns with the detection that runs it.
//!
//! A record goes to the units that ask for events of its type, a deletion to all. A unit is told the time when it has something to
//! settle, and at the end of a chunk, so that it holds nothing for ever. What it finds goes to the batch at once, for its events
//! are its own: the store of the matcher knows nothing of them. A pattern that comes is a unit, and takes its past again before it
//! tells anything; one that goes is told of no more, and takes its unit along if it was the last.
//! Cost: a look-up of the type a record, and a comparison with the next bound of all; else what the units do.

mod regrouping;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use graphtide_engine::engine::Usage;
use graphtide_engine::ids::PatternId;
use graphtide_engine::limits::{Bounds, LimitPolicy, Limits};
use graphtide_engine::meter::{Meter, Refusal};
use graphtide_engine::output::{Counted, Kind, MatchBatch};
use graphtide_events::plan::{BranchSpec, PlanSpec, Report};
use graphtide_events::{Detector, Occurrence, Occurrences, Options, Setup};
use graphtide_graph::Time;
use graphtide_graph::batch::{EdgeBatch, Operation};
use graphtide_graph::key::IdRef;
use graphtide_graph::symbol::{SharedSymbols, Symbol};
use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use super::allowances::Bounded;
use super::deduplication::{Say, digest};
use super::emission::Emission;
use super::query::Query;
use super::unit::LimitReached;
use super::unit_ref::UnitRef;
use crate::plan::{EventUnitSpec, InvalidPlan};

/// What the matcher lets all units do.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    /// Events may be deleted.
    pub deletions: bool,
}

/// Event patterns that one plan matches.
#[derive(Debug)]
pub struct EventUnit {
    members: Vec<Member>,
    /// The place of each pattern among them, those that were removed too.
    places: HashMap<PatternId, u32, FxBuildHasher>,
    /// What runs the plan; none once a limit stopped it.
    detector: Option<Detector>,
    limits: Limits,
    found: Occurrences,
    /// Times that instances were given up, or the work of a record was cut.
    pub limited: u64,
    /// The limit that was reached last; none if none was.
    pub limit: Option<String>,
    /// Time of the record it took last.
    taken: Time,
    /// Time of the record at which a limit was reached last.
    pub limited_at: Option<Time>,
    /// Steps that records took.
    work: u64,
    /// Whether matches may be missing.
    pub shed: bool,
    /// The bound that it is to be woken after, if it waits for one.
    waits_for: Option<Time>,
    /// Whether none of its patterns is left: then another may have its number.
    is_vacant: bool,
    tells: Tells,
}

/// What its patterns tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tells {
    /// Every match.
    Each,
    /// Of some a match for each key, which may be retracted or not.
    OnePerKey { may_retract: bool },
}

/// A pattern of a unit.
#[derive(Debug)]
struct Member {
    /// None once it was removed.
    number: Option<PatternId>,
    is_counted: bool,
    branches: Vec<Names>,
    /// The vertices that its matches come from, ascending.
    vertices: Vec<u32>,
}

/// The names of a branch's events, as places in those of the pattern.
#[derive(Debug)]
struct Names {
    by_slot: Vec<u8>,
    by_type: Vec<(u8, Symbol, u8)>,
}

/// All units of event patterns.
#[derive(Debug, Default)]
pub struct EventUnits {
    units: Vec<EventUnit>,
    /// By type of event: who asks for it.
    by_type: Vec<SmallVec<[u32; 2]>>,
    /// Who asks for events of any type.
    of_any_type: Vec<u32>,
    /// Bounds that units wait for; those that were replaced are passed over.
    bounds: BinaryHeap<Reverse<(Time, u32)>>,
}

/// What came of a record or of time.
pub type Outcome = Result<bool, LimitReached>;

impl EventUnits {
    /// Makes a unit; returns its number.
    pub fn add(
        &mut self,
        spec: &EventUnitSpec,
        numbers: &[PatternId],
        symbols: &SharedSymbols,
        allowed: Allowed,
    ) -> Result<u32, InvalidPlan> {
        let unit = EventUnit::new(spec, numbers, symbols, allowed)?;
        Ok(self.put(unit, &spec.plan, symbols))
    }

    /// Gives a unit its records from now on; returns its number.
    fn put(&mut self, unit: EventUnit, plan: &PlanSpec, symbols: &SharedSymbols) -> u32 {
        let vacant = self.units.iter().position(|unit| unit.is_vacant);
        let number = vacant.unwrap_or(self.units.len()) as u32;
        for asked in asked_types(plan) {
            match asked {
                None => self.of_any_type.push(number),
                Some(kind) => {
                    let kind = symbols.lock().intern(kind).0 as usize;
                    self.by_type.resize_with(self.by_type.len().max(kind + 1), SmallVec::new);
                    self.by_type[kind].push(number);
                }
            }
        }
        match vacant {
            Some(place) => self.units[place] = unit,
            None => self.units.push(unit),
        }
        number
    }

    /// Lets a unit take records that came before it was made, of which nothing is told now: those from `told` on complete matches
    /// that somebody was told of, or will be, once nothing can prevent them.
    pub fn bring(&mut self, number: u32, batches: &[&EdgeBatch], told: usize, now: Time, meter: &mut Meter<'_>) {
        let unit = &mut self.units[number as usize];
        let Some(detector) = &mut unit.detector else { return };
        detector.begin_replay();
        for (place, batch) in batches.iter().enumerate() {
            if place == told {
                unit.members.iter().zip(0..).for_each(|(_, member)| detector.begin_now(member));
            }
            for row in 0..batch.len() {
                let taken = detector.push_row(batch, row, u64::MAX, &mut unit.found, meter);
                unit.shed |= taken.refusal.is_some() || detector.take_limited();
            }
        }
        if told >= batches.len() {
            unit.members.iter().zip(0..).for_each(|(_, member)| detector.begin_now(member));
        }
        detector.advance(now, &mut unit.found, meter);
        detector.end_replay();
        unit.found.clear();
        self.wait(number);
    }

    /// Lets the matches of a pattern count that events complete from now on.
    pub fn begin(&mut self, number: u32, pattern: PatternId) {
        let unit = &mut self.units[number as usize];
        if let (Some(&place), Some(detector)) = (unit.places.get(&pattern), &mut unit.detector) {
            detector.begin_now(place);
        }
    }

    /// Tells of a pattern no more.
    pub fn remove(&mut self, number: u32, pattern: PatternId) {
        let unit = &mut self.units[number as usize];
        for member in &mut unit.members {
            member.number = member.number.filter(|&own| own != pattern);
        }
        if unit.members().next().is_none() {
            self.vacate(number);
        }
    }

    /// Removes a unit, of whose patterns nothing is told any more.
    fn vacate(&mut self, number: u32) {
        self.units[number as usize] = EventUnit::vacant();
        self.by_type.iter_mut().for_each(|units| units.retain(|&mut own| own != number));
        self.of_any_type.retain(|&own| own != number);
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// A unit.
    pub fn get(&self, number: u32) -> &EventUnit {
        &self.units[number as usize]
    }

    /// Lets all units know the labels that came since the last time.
    pub fn learn_names(&mut self) {
        self.units.iter_mut().filter_map(|unit| unit.detector.as_mut()).for_each(Detector::learn_names);
    }

    /// Whether some unit may have something to tell before a record of a time.
    #[inline]
    pub fn may_be_due(&self, now: Time) -> bool {
        self.bounds.peek().is_some_and(|Reverse((bound, _))| *bound < now)
    }

    /// Lets units tell what has settled by a time.
    #[cold]
    pub fn wake(&mut self, now: Time, pass: &mut Emission<'_>, meter: &mut Meter<'_>) {
        // Each unit once: what it is to wait for next lies after now, and if it does not, that is no reason to ask it for ever.
        let mut woken: SmallVec<[u32; 4]> = SmallVec::new();
        while let Some(&Reverse((bound, number))) = self.bounds.peek().filter(|Reverse((bound, _))| *bound < now) {
            self.bounds.pop();
            let unit = &mut self.units[number as usize];
            if unit.waits_for != Some(bound) {
                continue;
            }
            unit.waits_for = None;
            unit.advance(now, meter);
            unit.emit(pass, meter);
            woken.push(number);
        }
        woken.into_iter().for_each(|number| self.wait(number));
    }

    /// Lets time pass for all, so that what left their reach is dropped.
    pub fn advance(&mut self, now: Time, pass: &mut Emission<'_>, meter: &mut Meter<'_>) {
        for number in 0..self.units.len() {
            let unit = &mut self.units[number];
            unit.advance(now, meter);
            unit.emit(pass, meter);
            self.wait(number as u32);
        }
    }

    /// Lets all bounds pass.
    pub fn finish(&mut self, pass: &mut Emission<'_>, meter: &mut Meter<'_>) {
        for unit in &mut self.units {
            if let Some(detector) = &mut unit.detector {
                detector.finish(&mut unit.found, meter);
            }
            unit.emit(pass, meter);
        }
    }

    /// Takes a record; says whether what follows may depend on it.
    pub fn take(&mut self, batch: &EdgeBatch, row: usize, pass: &mut Emission<'_>, meter: &mut Meter<'_>) -> Outcome {
        let asks: SmallVec<[u32; 4]> = if batch.operations()[row] == Operation::Delete {
            (0..).zip(&self.units).filter(|(_, unit)| !unit.is_vacant).map(|(number, _)| number).collect()
        } else {
            let own = self.by_type.get(batch.labels()[row][1].0 as usize);
            own.into_iter().flatten().chain(&self.of_any_type).copied().collect()
        };
        let (mut is_kept, mut outcome) = (false, Ok(()));
        for number in asks {
            let unit = &mut self.units[number as usize];
            let (lent, before) = (pass.lend(UnitRef::Events(number)), meter.taken());
            is_kept |= unit.take((batch, row), lent, meter, &mut outcome);
            let steps = meter.taken() - before;
            unit.work += steps;
            pass.spend(UnitRef::Events(number), steps);
            unit.emit(pass, meter);
            self.wait(number);
            outcome.clone()?;
        }
        Ok(is_kept)
    }

    /// Does as the policies say where units take more bytes than they may.
    pub fn check_bytes(&mut self, queries: &[Query]) -> Result<(), LimitReached> {
        self.units.iter_mut().try_for_each(|unit| unit.check_bytes(queries))
    }

    /// Does as the policy of a unit says, now that one of its patterns reached a limit.
    pub fn at_limit(&mut self, number: u32, limit: String) -> Result<(), LimitReached> {
        self.units[number as usize].at_limit(limit)
    }

    /// Bytes of state of all.
    pub fn bytes(&self) -> usize {
        self.units.iter().map(|unit| unit.usage().bytes).sum()
    }

    /// The most instances that were alive at once in each, added up: that bounds what was alive in all.
    pub fn peak(&self) -> usize {
        self.units.iter().map(|unit| unit.usage().peak).sum()
    }

    #[inline]
    fn wait(&mut self, number: u32) {
        let unit = &mut self.units[number as usize];
        let bound = unit.detector.as_ref().and_then(Detector::next_bound);
        if bound != unit.waits_for {
            unit.waits_for = bound;
            self.bounds.extend(bound.map(|bound| Reverse((bound, number))));
        }
    }
}

impl EventUnit {
    fn new(
        spec: &EventUnitSpec,
        numbers: &[PatternId],
        symbols: &SharedSymbols,
        allowed: Allowed,
    ) -> Result<Self, InvalidPlan> {
        let (limits, size) = (spec.limits, spec.patterns.len() as u64);
        let all = |bound: Option<u64>| bound.map_or(u64::MAX, |bound| bound.saturating_mul(size));
        let bounds = Bounds { partial_matches: all(limits.partial_matches), bytes: all(limits.state_bytes) };
        let options = Options { deletions: allowed.deletions, bounds };
        // What a record may take, the pass says with each.
        let setup = Setup { options, may_change: false, allowance: u64::MAX };
        let detector = Detector::new(&spec.plan, symbols, spec.width, setup);
        let detector = detector.map_err(|error| InvalidPlan { pattern: spec.name(), reason: error.to_string() })?;
        let described = spec.patterns.iter().zip(&spec.plan.patterns).enumerate();
        let members = described.zip(numbers).map(|((place, (pattern, plan)), &number)| Member {
            number: Some(number),
            is_counted: plan.report == Report::Exists,
            branches: pattern.branches.iter().map(|branch| Names::of(branch, symbols)).collect(),
            vertices: pattern.vertices(&spec.plan, place),
        });
        Ok(Self {
            members: members.collect(),
            places: numbers.iter().copied().zip(0..).collect(),
            detector: Some(detector),
            limits,
            found: Occurrences::default(),
            limited: 0,
            limit: None,
            taken: Time::MIN,
            limited_at: None,
            work: 0,
            shed: false,
            waits_for: None,
            is_vacant: false,
            tells: if spec.patterns.iter().any(|pattern| pattern.once.is_some()) {
                Tells::OnePerKey { may_retract: allowed.deletions }
            } else {
                Tells::Each
            },
        })
    }

    /// What stands in the place of a unit that was removed.
    fn vacant() -> Self {
        Self {
            members: Vec::new(),
            places: HashMap::default(),
            detector: None,
            limits: Limits::default(),
            found: Occurrences::default(),
            limited: 0,
            limit: None,
            taken: Time::MIN,
            limited_at: None,
            work: 0,
            shed: false,
            waits_for: None,
            is_vacant: true,
            tells: Tells::Each,
        }
    }

    /// Its patterns.
    pub fn members(&self) -> impl Iterator<Item = PatternId> {
        self.members.iter().filter_map(|member| member.number)
    }

    /// Whether a limit stopped it.
    pub fn is_paused(&self) -> bool {
        self.detector.is_none()
    }

    /// Hands over what it found, if that is something.
    #[inline]
    fn emit(&mut self, pass: &mut Emission<'_>, meter: &mut Meter<'_>) {
        if !self.found.is_empty() {
            pass.hand_over(|queries, out| self.hand_over(queries, out, meter));
        }
    }

    /// What it holds and held.
    pub fn usage(&self) -> Usage {
        self.detector.as_ref().map_or_else(Usage::default, Detector::usage)
    }

    /// The vertices of its plan that a pattern's matches come from, with how many instances are stored of each, were at most, and
    /// ever were.
    pub fn instances(&self, pattern: PatternId) -> impl Iterator<Item = (u32, usize, usize, u64)> {
        let member = self.places.get(&pattern).map(|&place| &self.members[place as usize]);
        let own = member.map_or(&[][..], |member| &member.vertices);
        own.iter().filter_map(|&vertex| {
            let (live, peak, created) = self.detector.as_ref()?.instances_of(vertex as usize)?;
            Some((vertex, live, peak, created))
        })
    }

    /// Steps of work of a pattern: an even share of those of the unit.
    pub fn work_share(&self) -> u64 {
        self.work.div_ceil(self.members.len().max(1) as u64)
    }

    /// What a pattern holds: its instances, and of the bytes of the unit an even share.
    pub fn usage_of(&self, pattern: PatternId) -> Usage {
        let bytes = self.usage().bytes.div_ceil(self.members.len().max(1));
        self.instances(pattern).fold(Usage { bytes, ..Usage::default() }, |usage, (_, live, peak, _)| Usage {
            live: usage.live + live,
            peak: usage.peak + peak,
            ..usage
        })
    }

    /// Hands over what was found, in parts if it is much; returns how many matches that are.
    fn hand_over(&mut self, queries: &mut [Query], out: &mut MatchBatch, meter: &mut Meter<'_>) -> u64 {
        let mut matches = 0;
        let silent = self.silence(queries);
        for place in 0..self.found.len() {
            if out.len() >= meter.most() {
                meter.hand_on(out);
            }
            let found = self.found.get(place);
            let member = &self.members[found.pattern as usize];
            let Some(number) = member.number else { continue };
            let query = &mut queries[number.place()];
            if silent.contains(&place) {
                query.reports.suppressed += 1;
                continue;
            }
            query.reports.count(found.kind);
            matches += u64::from(found.kind == Kind::Match);
            let is_counted = member.is_counted && found.kind != Kind::Timeout;
            let counted = is_counted.then(|| Counted { count: found.count, completed_by: found.completed_by() });
            let events = member.branches[found.branch as usize].named(&found);
            let head = (number, found.kind, query.shed || self.shed);
            let times = (found.detected_at, found.first_ts, found.last_ts);
            let from = out.len();
            out.push_occurrence(head, times, events.into_iter(), counted, found.fields);
            if self.tells == (Tells::OnePerKey { may_retract: true }) {
                out.retain_from(from, |batch, index| {
                    query.notes(found.kind, found.detected_at, |query| query.names.match_id(&batch.get(index, &[])))
                });
            }
        }
        self.found.clear();
        matches
    }

    /// Places of matches that are not told, since one of their key was.
    fn silence(&self, queries: &mut [Query]) -> HashSet<usize, FxBuildHasher> {
        let mut silent = HashSet::default();
        if self.tells == Tells::Each {
            return silent;
        }
        let found = (0..self.found.len()).map(|place| (place, self.found.get(place)));
        let has_key = |found: &Occurrence<'_>| found.kind == Kind::Match && !found.key.is_empty();
        let mut found: Vec<(usize, Occurrence<'_>)> = found.filter(|(_, found)| has_key(found)).collect();
        let head = |found: &Occurrence<'_>| (found.pattern, found.detected_at);
        found.sort_by(|(_, one), (_, other)| head(one).cmp(&head(other)).then_with(|| one.compare(other)));
        for (place, found) in found {
            let Some(number) = self.members[found.pattern as usize].number else { continue };
            let query = &mut queries[number.place()];
            let Some(once) = query.once_mut() else { continue };
            match once.decide(found.detected_at, &digest(found.key)) {
                Say::Told => {}
                Say::Suppressed => {
                    silent.insert(place);
                }
                Say::Overflow => query.shed = true,
            }
        }
        silent
    }

    fn advance(&mut self, now: Time, meter: &mut Meter<'_>) {
        if let Some(detector) = &mut self.detector {
            detector.advance(now, &mut self.found, meter);
        }
    }

    fn take(
        &mut self,
        (batch, row): (&EdgeBatch, usize),
        (allowance, bounded): (u64, Bounded),
        meter: &mut Meter<'_>,
        outcome: &mut Result<(), LimitReached>,
    ) -> bool {
        let Some(detector) = &mut self.detector else { return false };
        self.taken = batch.ts()[row];
        let taken = detector.push_row(batch, row, allowance, &mut self.found, meter);
        let is_limited = detector.take_limited();
        match taken.refusal {
            Some(Refusal::Allowance) => {
                *outcome = self.at_limit(bounded.to_string());
            }
            Some(Refusal::Bytes) => {
                let bound = self.limits.state_bytes.unwrap_or_default();
                let limit = format!("{bound} bytes of state, matches of one record included");
                *outcome = self.at_limit(of_each(&limit, self.members.len()));
            }
            Some(Refusal::Ended(_)) => self.shed = true,
            None if is_limited => {
                *outcome = self.at_limit(of_each(&Bounds::of(&self.limits).to_string(), self.members.len()));
            }
            None => {}
        }
        taken.is_kept
    }

    fn check_bytes(&mut self, queries: &[Query]) -> Result<(), LimitReached> {
        let size = self.members.len() as u64;
        let Some(bound) = self.limits.state_bytes.filter(|_| !self.is_paused()) else { return Ok(()) };
        let told: usize = self.members().map(|member| queries[member.place()].told_bytes()).sum();
        if (self.usage().bytes + told) as u64 >= bound.saturating_mul(size) {
            self.at_limit(of_each(&format!("{bound} bytes of state"), self.members.len()))
        } else {
            Ok(())
        }
    }

    #[cold]
    fn at_limit(&mut self, limit: String) -> Result<(), LimitReached> {
        self.limited += 1;
        self.shed |= self.limits.policy != LimitPolicy::Fail;
        self.limit = Some(limit.clone());
        self.limited_at = Some(self.taken);
        match self.limits.policy {
            LimitPolicy::Fail => Err(LimitReached { pattern: self.members().next().unwrap_or(PatternId(0)), limit }),
            LimitPolicy::Pause => {
                self.detector = None;
                Ok(())
            }
            LimitPolicy::Shed => Ok(()),
        }
    }
}

/// Words a bound that so many patterns have each, and hold together.
pub fn of_each(bound: &str, members: usize) -> String {
    match members {
        0 | 1 => bound.to_owned(),
        several => format!("{bound} a pattern, for the {several} of its unit together"),
    }
}

impl Names {
    fn of(spec: &BranchSpec, symbols: &SharedSymbols) -> Self {
        let by_type = spec.by_type.iter().map(|(slot, kind, name)| (*slot, symbols.lock().intern(kind), *name));
        Self { by_slot: spec.events.clone(), by_type: by_type.collect() }
    }

    /// The events of an occurrence under their names, in the order of those.
    fn named<'a>(&self, found: &Occurrence<'a>) -> SmallVec<[(u8, IdRef<'a>); 8]> {
        let mut events = SmallVec::new();
        let mut ids = found.ids();
        let mut place = 0;
        for (slot, &length) in (0..).zip(found.lengths) {
            let kind = found.types.get(place).copied();
            let other = self.by_type.iter().find(|&&(of, own, _)| of == slot && Some(own) == kind);
            let name = other.map_or(self.by_slot[usize::from(slot)], |&(.., name)| name);
            place += length as usize;
            events.extend(ids.by_ref().take(length as usize).map(|id| (name, id)));
        }
        events.sort_by_key(|&(name, _)| name);
        events
    }
}

/// The types that a plan asks for, each once; none stands for any.
fn asked_types(plan: &PlanSpec) -> Vec<Option<&str>> {
    let slots = plan.vertices.iter().flat_map(|vertex| vertex.slots.iter().map(|slot| slot.types.as_slice()));
    let absences = plan.vertices.iter().flat_map(|vertex| vertex.absences.iter().map(|absence| absence.types.as_slice()));
    let all: Vec<&[String]> = slots.chain(absences).collect();
    if all.iter().any(|types| types.is_empty()) {
        return vec![None];
    }
    let mut types: Vec<Option<&str>> = all.into_iter().flatten().map(|kind| Some(kind.as_str())).collect();
    types.sort_unstable();
    types.dedup();
    types
}
