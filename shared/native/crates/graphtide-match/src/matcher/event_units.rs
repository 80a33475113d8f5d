//! Units of event patterns: each a plan of many patterns with the detection that runs it, and the events that it keeps.
//!
//! What a unit finds goes to the batch under the names of its patterns, without those that `ONE PER` leaves out.
//! Cost: that of the detection; a match costs its parts.

mod regrouping;

use graphtide_engine::engine::Usage;
use graphtide_engine::ids::PatternId;
use graphtide_engine::limits::{Bounds, Limits};
use graphtide_engine::meter::{Meter, Refusal};
use graphtide_engine::output::{Counted, ItemReport, Kind, MatchBatch};
use graphtide_events::plan::{BranchSpec, PlanSpec, Report};
use graphtide_events::{Detector, Occurrence, Occurrences, Options, Setup};
use graphtide_graph::clock::Now;
use graphtide_graph::key::IdRef;
use graphtide_graph::symbol::{SharedSymbols, Symbol};
use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use super::deduplication::{Say, digest};
use super::query::Query;
use super::unit::{Counts, Guard, LimitReached, Removal, Unit, Warm};
use super::unit_ref::UnitRef;
use super::units::{OwnPast, OwnRecord, OwnStore, of_each};
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
    guard: Guard,
    found: Occurrences,
    /// Types of the events that it asks for; none if of any.
    asks: Option<Vec<u32>>,
    /// Whether none of its patterns is left: then another may have its number.
    is_vacant: bool,
    emits: Emits,
}

/// What its patterns emit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Emits {
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

impl EventUnit {
    /// Makes a unit of patterns of these numbers; it has taken nothing.
    pub fn new(
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
        let setup = Setup { options, may_change: false, work_budget: u64::MAX };
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
            guard: Guard::new(limits),
            found: Occurrences::default(),
            asks: asked_types(&spec.plan).map(|types| types.iter().map(|kind| symbols.lock().intern(kind).0).collect()),
            is_vacant: false,
            emits: if spec.patterns.iter().any(|pattern| pattern.once.is_some()) {
                Emits::OnePerKey { may_retract: allowed.deletions }
            } else {
                Emits::Each
            },
        })
    }

    /// What stands in the place of a unit that was removed.
    fn vacant() -> Self {
        Self {
            members: Vec::new(),
            places: HashMap::default(),
            detector: None,
            guard: Guard::new(Limits::default()),
            found: Occurrences::default(),
            asks: Some(Vec::new()),
            is_vacant: true,
            emits: Emits::Each,
        }
    }

    /// The vertices of its plan that a pattern's matches come from, with how many instances are stored of each, were at most,
    /// and ever were.
    pub fn instances(&self, pattern: PatternId) -> impl Iterator<Item = (u32, usize, usize, u64)> {
        let member = self.places.get(&pattern).map(|&place| &self.members[place as usize]);
        let own = member.map_or(&[][..], |member| &member.vertices);
        own.iter().filter_map(|&vertex| {
            let (live, peak, created) = self.detector.as_ref()?.instances_of(vertex as usize)?;
            Some((vertex, live, peak, created))
        })
    }

    /// Places of suppressed matches: one of their key was emitted.
    fn silence(&self, queries: &mut [Query]) -> HashSet<usize, FxBuildHasher> {
        let mut silent = HashSet::default();
        if self.emits == Emits::Each {
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
                Say::Emitted => {}
                Say::Suppressed => {
                    silent.insert(place);
                }
                Say::Overflow => query.shed = true,
            }
        }
        silent
    }

    /// Takes an event or a deletion.
    fn take(&mut self, record: OwnRecord<'_>, meter: &mut Meter<'_>) -> Result<bool, LimitReached> {
        let OwnRecord { batch, row, lent: (work_budget, bounded) } = record;
        let Some(detector) = &mut self.detector else { return Ok(false) };
        self.guard.taken = batch.ts()[row];
        let taken = detector.push_row(batch, row, work_budget, &mut self.found, meter);
        let is_limited = detector.take_limited();
        match taken.refusal {
            Some(Refusal::WorkBudget) => self.at_limit(&bounded.to_string())?,
            Some(Refusal::Bytes) => {
                let bound = self.guard.limits.state_bytes.unwrap_or_default();
                let limit = format!("{bound} bytes of state, matches of one record included");
                self.at_limit(&of_each(&limit, self.members.len()))?;
            }
            Some(Refusal::Ended(_)) => self.guard.shed = true,
            None if is_limited => {
                self.at_limit(&of_each(&Bounds::of(&self.guard.limits).to_string(), self.members.len()))?;
            }
            None => {}
        }
        Ok(taken.is_kept)
    }
}

impl Unit for EventUnit {
    type Record<'a> = OwnRecord<'a>;
    type Deletion<'a> = OwnRecord<'a>;
    type Past<'a> = OwnPast<'a>;
    type Found = ();

    fn members(&self) -> impl Iterator<Item = PatternId> {
        self.members.iter().filter_map(|member| member.number)
    }

    fn guard(&self) -> &Guard {
        &self.guard
    }

    fn insert(&mut self, record: OwnRecord<'_>, (): &mut (), meter: &mut Meter<'_>) -> Result<bool, LimitReached> {
        self.take(record, meter)
    }

    fn delete(&mut self, record: OwnRecord<'_>, (): &mut (), meter: &mut Meter<'_>) -> Result<Removal, LimitReached> {
        self.take(record, meter).map(|was_held| if was_held { Removal::Reported } else { Removal::NotHeld })
    }

    fn advance(&mut self, now: Now, (): &mut (), meter: &mut Meter<'_>) {
        if let Some(detector) = &mut self.detector {
            detector.advance(now.ts, &mut self.found, meter);
        }
    }

    fn replay(&mut self, OwnPast { batches, emitted, now }: OwnPast<'_>, meter: &mut Meter<'_>) -> Warm {
        let Some(detector) = &mut self.detector else { return Warm::Limited };
        let begin = |detector: &mut Detector| (0..).zip(&self.members).for_each(|(member, _)| detector.begin_now(member));
        detector.begin_replay();
        for (place, batch) in batches.iter().enumerate() {
            if place == emitted {
                begin(detector);
            }
            for row in 0..batch.len() {
                let taken = detector.push_row(batch, row, u64::MAX, &mut self.found, meter);
                self.guard.shed |= taken.refusal.is_some() || detector.take_limited();
            }
        }
        if emitted >= batches.len() {
            begin(detector);
        }
        detector.advance(now, &mut self.found, meter);
        detector.end_replay();
        self.found.clear();
        if self.guard.shed { Warm::Limited } else { Warm::Whole }
    }

    #[inline]
    fn next_due(&self) -> Option<i64> {
        self.detector.as_ref().and_then(Detector::next_bound)
    }

    fn usage(&self) -> Usage {
        self.detector.as_ref().map_or_else(Usage::default, Detector::usage)
    }

    fn usage_of(&self, pattern: PatternId) -> Usage {
        let bytes = self.usage().bytes.div_ceil(self.members.len().max(1));
        self.instances(pattern).fold(Usage { bytes, ..Usage::default() }, |usage, (_, live, peak, _)| Usage {
            live: usage.live + live,
            peak: usage.peak + peak,
            ..usage
        })
    }

    fn items_of(&self, pattern: PatternId) -> Vec<ItemReport> {
        let item = |(vertex, live, peak, created)| ItemReport {
            name: format!("v{vertex}"),
            live: live as u64,
            peak: peak as u64,
            created,
            node_bytes: 0,
        };
        self.instances(pattern).map(item).collect()
    }

    fn counts_since(&self, _before: Counts) -> Counts {
        Counts { work: self.guard.counts.work.div_ceil(self.members.len().max(1) as u64), ..self.guard.counts }
    }
}

impl OwnStore for EventUnit {
    #[inline]
    fn reference(number: u32) -> UnitRef {
        UnitRef::Events(number)
    }

    fn asks(&self) -> Option<Vec<u32>> {
        self.asks.clone()
    }

    #[inline]
    fn is_vacant(&self) -> bool {
        self.is_vacant
    }

    fn learn_names(&mut self) {
        self.detector.iter_mut().for_each(Detector::learn_names);
    }

    fn begin(&mut self, pattern: PatternId) {
        if let (Some(&place), Some(detector)) = (self.places.get(&pattern), &mut self.detector) {
            detector.begin_now(place);
        }
    }

    fn finish(&mut self, meter: &mut Meter<'_>) {
        if let Some(detector) = &mut self.detector {
            detector.finish(&mut self.found, meter);
        }
    }

    fn remove(&mut self, pattern: PatternId) -> bool {
        for member in &mut self.members {
            member.number = member.number.filter(|&own| own != pattern);
        }
        let is_last = self.members().next().is_none();
        if is_last {
            *self = Self::vacant();
        }
        is_last
    }

    #[inline]
    fn has_found(&self) -> bool {
        !self.found.is_empty()
    }

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
            let counted = is_counted.then(|| Counted { count: found.count.clone(), completed_by: found.completed_by() });
            let events = member.branches[found.branch as usize].named(&found);
            let head = (number, found.kind, query.shed || self.guard.shed);
            let times = (found.detected_at, found.first_ts, found.last_ts);
            let from = out.len();
            out.push_occurrence(head, times, events.into_iter(), counted, found.fields);
            if self.emits == (Emits::OnePerKey { may_retract: true }) {
                out.retain_from(from, |batch, index| {
                    query.notes(found.kind, found.detected_at, |query| query.names.match_id(&batch.get(index, &[])))
                });
            }
        }
        self.found.clear();
        matches
    }

    fn check_bytes(&mut self, queries: &[Query]) -> Result<(), LimitReached> {
        let size = self.members.len() as u64;
        let Some(bound) = self.guard.limits.state_bytes.filter(|_| !self.guard.paused) else { return Ok(()) };
        let emitted: usize = self.members().map(|member| queries[member.place()].emitted_bytes()).sum();
        if (self.usage().bytes + emitted) as u64 >= bound.saturating_mul(size) {
            self.at_limit(&of_each(&format!("{bound} bytes of state"), self.members.len()))
        } else {
            Ok(())
        }
    }

    #[cold]
    fn at_limit(&mut self, limit: &str) -> Result<(), LimitReached> {
        let first = self.members().next();
        if self.guard.at_limit(limit, first)? {
            self.detector = None;
        }
        Ok(())
    }

    #[inline]
    fn take_steps(&mut self, steps: u64) {
        self.guard.counts.work += steps;
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

/// The types that a plan asks for, each once; none if it asks for any.
fn asked_types(plan: &PlanSpec) -> Option<Vec<&str>> {
    let slots = plan.vertices.iter().flat_map(|vertex| vertex.slots.iter().map(|slot| slot.types.as_slice()));
    let absences = plan.vertices.iter().flat_map(|vertex| vertex.absences.iter().map(|absence| absence.types.as_slice()));
    let all: Vec<&[String]> = slots.chain(absences).collect();
    if all.iter().any(|types| types.is_empty()) {
        return None;
    }
    let mut types: Vec<&str> = all.into_iter().flatten().map(String::as_str).collect();
    types.sort_unstable();
    types.dedup();
    Some(types)
}
