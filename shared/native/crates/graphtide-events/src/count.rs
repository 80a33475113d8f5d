//! How many instances an event completes, counted without listing them.
//!
//! The event and a few others are tried one by one. So each predicate that is left relates what is tried to one slot alone,
//! or two neighbours of a chain. What is left falls into parts that nothing relates: no order, no event that could fill slots
//! of both. The counts of parts are multiplied, those of what is tried are added. All other events lie in the time before the
//! event. What is chosen for one part does not narrow the time of another.
//! Cost: of each combination that is tried, O(log events) for a slot alone, else that of a [chain](chain) or of
//! [states](states).

mod chain;
mod part;
mod states;

use graphtide_engine::expression::Expression;
use graphtide_engine::meter::Meter;
use graphtide_engine::output::MatchCount;
use graphtide_graph::store::EdgeRef;
use graphtide_graph::{Time, clock};
use smallvec::SmallVec;

use crate::bound::Stored;
use crate::buffers::{Buffers, KeyId, List, between, combined};
use crate::past::{Past, Scope, earliest_alive};
use crate::plan::{mask_below, moved};
use crate::program::{Shape, equalities, ones};

use chain::{Chain, Gap};
pub(crate) use part::Must;
use part::{Candidate, PartCount};
use states::States;

/// How the instances of a sub-pattern are counted in which an event fills a given slot.
#[derive(Debug)]
pub(crate) struct Counter {
    slot: u8,
    /// Predicates of the event alone.
    checks: Vec<usize>,
    /// Slots whose events are tried one by one.
    tried: Vec<Place>,
    parts: Vec<Part>,
}

/// A slot, with what its events must fit beside what was tried before.
#[derive(Debug)]
struct Place {
    slot: u8,
    /// The list to look in, and the values that events before give.
    key: Option<(KeyId, Vec<Expression>)>,
    checks: Vec<usize>,
}

/// Slots that nothing relates to others.
#[derive(Debug)]
enum Part {
    One(Place),
    Chain(Vec<Place>, Chain),
    States(Vec<Place>, States),
}

/// How a counter is made: what it tries, and the slots of its parts.
struct Draft {
    tried: Vec<u8>,
    parts: Vec<(Vec<u8>, Shaped)>,
}

/// How a part is counted.
enum Shaped {
    One,
    Chain(Chain),
    States(States),
}

/// What is counted of the instances that an event completes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    /// Which events may be part of them.
    pub(crate) scope: Scope<'a>,
    /// What each must have.
    pub(crate) must: Must,
}

impl Asked<'_> {
    /// Everything that an arriving event completes.
    pub(crate) const ALL: Self = Self { scope: Scope::ALL, must: Must::Nothing };
}

/// Events of instances: how many instances, and one of them, slot by slot in no order.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) count: MatchCount,
    witness: Vec<(u8, EdgeRef)>,
}

impl Counted {
    fn none() -> Self {
        Self { count: MatchCount::ZERO, witness: Vec::new() }
    }

    /// One of the instances.
    pub(crate) fn witness(&self, vertex: u32, shape: &Shape) -> Stored {
        let mut found = self.witness.clone();
        found.sort_by(|one, other| one.0.cmp(&other.0).then_with(|| in_order(one.1, other.1)));
        let mut stored = Stored { vertex, events: found.iter().map(|&(_, event)| event).collect(), lengths: SmallVec::new() };
        if shape.lists != 0 {
            stored.lengths.resize(shape.slots.len(), 0);
            for &(slot, _) in &found {
                stored.lengths[usize::from(slot)] += 1;
            }
        }
        stored
    }
}

fn in_order(one: EdgeRef, other: EdgeRef) -> std::cmp::Ordering {
    if one == other {
        std::cmp::Ordering::Equal
    } else if one.is_before(other) {
        std::cmp::Ordering::Less
    } else {
        std::cmp::Ordering::Greater
    }
}

/// Whether the instances of a sub-pattern can be counted without listing them.
pub(crate) fn is_countable(shape: &Shape) -> bool {
    let is_simple = shape.absences.is_empty() && !shape.takes_runs();
    is_simple && (0..shape.slots.len() as u8).all(|slot| Draft::new(shape, slot).is_some())
}

impl Draft {
    /// Chooses what is tried where an event fills a slot; none if that does not make the rest countable.
    /// Complexity: O(slots² · predicates).
    fn new(shape: &Shape, anchor: u8) -> Option<Self> {
        let own = &shape.predicates[..shape.own_predicates];
        if own.iter().any(|predicate| predicate.reads_whole != 0) {
            return None;
        }
        let mut fixed = (1 << anchor) & !shape.lists;
        let mut tried = Vec::new();
        loop {
            let mut parts = Vec::new();
            let mut handled = vec![false; own.len()];
            for slots in related(shape, mask_below(shape.slots.len()) & !fixed) {
                parts.push((slots.clone(), shaped(shape, &slots, &mut handled)));
            }
            let is_open = |&(number, predicate): &(usize, &crate::program::Predicate)| {
                !handled[number] && (predicate.reads & !fixed).count_ones() > 1
            };
            let open: Vec<u64> = own.iter().enumerate().filter(is_open).map(|(_, predicate)| predicate.reads).collect();
            if open.is_empty() {
                let parts: Option<Vec<_>> = parts.into_iter().map(|(slots, shaped)| Some((slots, shaped?))).collect();
                return Some(Self { tried, parts: parts? });
            }
            let candidates = open.iter().fold(0, |all, reads| all | reads) & !fixed & !shape.lists;
            let next = ones(candidates)
                .max_by_key(|&slot| (open.iter().filter(|&reads| reads >> slot & 1 == 1).count(), std::cmp::Reverse(slot)))?;
            tried.push(next);
            fixed |= 1 << next;
        }
    }
}

/// The parts of a set of slots that neither order nor common events relate, each in its order as far as it has one.
fn related(shape: &Shape, mut left: u64) -> Vec<Vec<u8>> {
    let all = left;
    let mut parts = Vec::new();
    while let Some(first) = ones(left).next() {
        let mut set = 1_u64 << first;
        loop {
            let wider = ones(set).fold(set, |set, slot| {
                let own = &shape.slots[usize::from(slot)];
                set | (own.before | own.after | own.rivals) & all
            });
            if wider == set {
                break;
            }
            set = wider;
        }
        left &= !set;
        let mut slots: Vec<u8> = ones(set).collect();
        slots.sort_by_key(|&slot| (shape.slots[usize::from(slot)].before & set).count_ones());
        parts.push(slots);
    }
    parts
}

/// How a part is counted, and the predicates between its slots that this handles; none if it cannot be.
fn shaped(shape: &Shape, slots: &[u8], handled: &mut [bool]) -> Option<Shaped> {
    let set = slots.iter().fold(0_u64, |set, slot| set | 1 << slot);
    let is_single = set & shape.lists == 0;
    if let &[_] = slots
        && is_single
    {
        return Some(Shaped::One);
    }
    let has_rivals = slots.iter().any(|&slot| shape.slots[usize::from(slot)].rivals & set != 0);
    let is_chain = slots.iter().enumerate().all(|(place, &slot)| {
        (shape.slots[usize::from(slot)].before & set).count_ones() as usize == place
            && slots[..place].iter().all(|&before| shape.slots[usize::from(slot)].before >> before & 1 == 1)
    });
    if is_single && is_chain {
        let gaps: Vec<Gap> = slots.windows(2).map(|pair| Gap::between(shape, [pair[0], pair[1]], handled)).collect();
        if !has_rivals || gaps.iter().any(|gap| !matches!(gap, Gap::Free)) {
            return Some(Shaped::Chain(Chain::new(gaps, has_rivals)));
        }
    }
    States::new(shape, slots).map(Shaped::States)
}

impl Counter {
    /// Makes the counter of instances in which an event fills a slot; there is one if the sub-pattern is countable.
    pub(crate) fn new(shape: &Shape, slot: u8, buffers: &mut Buffers) -> Option<Self> {
        let Draft { tried, parts } = Draft::new(shape, slot)?;
        let mut fixed = (1 << slot) & !shape.lists;
        let own = shape.predicates[..shape.own_predicates].iter().enumerate();
        let checks = own.filter(|(_, predicate)| predicate.reads & !fixed == 0).map(|(number, _)| number).collect();
        let mut place = |of: u8, fixed: u64| {
            let bit = 1 << of;
            let mut joins = if shape.lists & bit == 0 { equalities(shape, bit, fixed) } else { Vec::new() };
            joins.extend(shape.partition.iter().map(|part| (moved(part, &|_| of), moved(part, &|_| slot))));
            let (values, given): (Vec<_>, Vec<_>) = joins.into_iter().unzip();
            let values: Vec<Expression> = values.iter().map(|side| moved(side, &|_| 0)).collect();
            let signature = shape.slots[usize::from(of)].signature;
            let key = (!values.is_empty()).then(|| (buffers.join(signature, &values), given));
            let own = shape.predicates[..shape.own_predicates].iter().enumerate();
            let is_due = |reads: u64| reads & bit != 0 && reads & !(fixed | bit) == 0;
            let checks = own.filter(|(_, predicate)| is_due(predicate.reads)).map(|(number, _)| number).collect();
            Place { slot: of, key, checks }
        };
        let mut tried_places = Vec::new();
        for of in tried {
            tried_places.push(place(of, fixed));
            fixed |= 1 << of;
        }
        let mut found = Vec::new();
        for (slots, shaped) in parts {
            let mut places: Vec<Place> = slots.iter().map(|&of| place(of, fixed)).collect();
            found.extend(match shaped {
                Shaped::One => places.pop().map(Part::One),
                Shaped::Chain(chain) => Some(Part::Chain(places, chain)),
                Shaped::States(states) => Some(Part::States(places, states)),
            });
        }
        Some(Self { slot, checks, tried: tried_places, parts: found })
    }

    /// How many instances an event completes, and one of them; none if the work was cut.
    pub(crate) fn count(
        &self,
        past: &Past<'_>,
        shape: &Shape,
        asked: Asked<'_>,
        event: EdgeRef,
        meter: &mut Meter<'_>,
    ) -> Option<Counted> {
        let now = past.events.store.get(event).ts;
        let mut count = Count {
            counter: self,
            past: *past,
            shape,
            asked,
            event,
            now,
            from: clock::subtract(now, shape.within).max(asked.scope.from),
            places: vec![event; shape.slots.len()],
            fixed: (1 << self.slot) & !shape.lists,
            found: Counted::none(),
        };
        if now < count.from || !self.checks.iter().all(|&check| count.holds(check)) {
            return Some(Counted::none());
        }
        count.tried(0, meter)?;
        Some(count.found)
    }
}

/// A count under way.
struct Count<'a> {
    counter: &'a Counter,
    past: Past<'a>,
    shape: &'a Shape,
    asked: Asked<'a>,
    event: EdgeRef,
    now: Time,
    from: Time,
    /// By slot, the event that is tried.
    places: Vec<EdgeRef>,
    /// The slots that are tried.
    fixed: u64,
    found: Counted,
}

impl<'a> Count<'a> {
    fn holds(&self, check: usize) -> bool {
        self.shape.predicates[check].expression.holds(&self.past.events.at(&self.places))
    }

    fn ts(&self, event: EdgeRef) -> Time {
        self.past.events.store.get(event).ts
    }

    /// The interval that is left to a slot.
    fn interval(&self, slot: u8) -> (Time, Time) {
        let own = &self.shape.slots[usize::from(slot)];
        let time = |other: u8| self.ts(self.places[usize::from(other)]);
        let from = ones(own.before & self.fixed).map(time).fold(self.from, Time::max);
        (from, ones(own.after & self.fixed).map(time).fold(self.now, Time::min))
    }

    fn list(&self, place: &Place) -> Option<&'a List> {
        let signature = self.shape.slots[usize::from(place.slot)].signature;
        let Past { buffers, events, .. } = self.past;
        match &place.key {
            None => Some(buffers.list(signature)),
            Some((key, given)) => {
                let hash = combined(given.iter().map(|side| side.hash(&events.at(&self.places))))?;
                buffers.joined(signature, *key, hash)
            }
        }
    }

    /// Whether nothing but time narrows the list of a slot.
    fn is_plain(&self, place: &Place) -> bool {
        let is_all = self.past.deletions.is_empty() && self.asked.scope.until.is_none();
        is_all && place.checks.is_empty() && place.key.is_none() && self.shape.slots[usize::from(place.slot)].rivals == 0
    }

    /// Whether an event may be part of what is counted.
    fn is_of_use(&self, event: EdgeRef) -> bool {
        let is_kept = match self.asked.must {
            Must::Begin(before, lookback) => {
                let gone = self.past.deletions.get(&event.0);
                gone.is_none_or(|gone| earliest_alive(gone.at, lookback) >= before)
            }
            Must::Nothing | Must::Have(_) => true,
        };
        is_kept && self.past.is_of_use(&self.asked.scope, event)
    }

    /// The events that may fill a slot beside what is tried; none if the work was cut.
    fn candidates(&mut self, place: &Place, meter: &mut Meter<'_>) -> Option<Vec<(Time, EdgeRef)>> {
        let (from, to) = self.interval(place.slot);
        let Some(list) = self.list(place).filter(|_| from <= to) else { return Some(Vec::new()) };
        let at = usize::from(place.slot);
        let before = self.places[at];
        let steps = 1 + place.checks.iter().map(|&check| self.shape.predicates[check].steps).sum::<u32>();
        let mut found = Vec::new();
        for entry in between(list, from, to) {
            if !meter.charge(steps) {
                return None;
            }
            let is_tried =
                entry.event == self.event || ones(self.fixed).any(|slot| self.places[usize::from(slot)] == entry.event);
            if is_tried || !self.is_of_use(entry.event) {
                continue;
            }
            self.places[at] = entry.event;
            let alike = [self.event, entry.event];
            let is_alike = self.shape.alike.iter().all(|each| each.holds(&self.past.events.at(&alike)));
            if is_alike && place.checks.iter().all(|&check| self.holds(check)) {
                found.push((entry.ts, entry.event));
            }
        }
        self.places[at] = before;
        Some(found)
    }

    /// Tries the events of a slot after the other, the latest first; then counts the rest.
    fn tried(&mut self, depth: usize, meter: &mut Meter<'_>) -> Option<()> {
        let counter = self.counter;
        let Some(place) = counter.tried.get(depth) else { return self.rest(meter) };
        let at = usize::from(place.slot);
        for (_, event) in self.candidates(place, meter)?.into_iter().rev() {
            self.places[at] = event;
            self.fixed |= 1 << place.slot;
            self.tried(depth + 1, meter)?;
            self.fixed &= !(1 << place.slot);
            if self.asked.must != Must::Nothing && !self.found.count.is_zero() {
                break;
            }
        }
        Some(())
    }

    /// Adds the product of the counts of the parts.
    fn rest(&mut self, meter: &mut Meter<'_>) -> Option<()> {
        let counter = self.counter;
        let mut product = MatchCount::ONE;
        let mut witness: Vec<(u8, EdgeRef)> = ones(self.fixed).map(|slot| (slot, self.places[usize::from(slot)])).collect();
        let has_witness = !self.found.count.is_zero();
        for part in &counter.parts {
            let found = self.part(part, Must::Nothing, meter)?;
            if found.count.is_zero() {
                return Some(());
            }
            product.multiply(&found.count);
            if !has_witness {
                witness.extend(found.witness);
            }
        }
        let mut is_there = match self.asked.must {
            Must::Nothing => true,
            Must::Have(event) => witness.iter().any(|&(_, other)| other == event),
            Must::Begin(before, _) => witness.iter().any(|&(_, other)| self.ts(other) < before),
        };
        for part in &counter.parts {
            is_there = is_there || !self.part(part, self.asked.must, meter)?.count.is_zero();
        }
        if is_there {
            self.found.count.add(&product);
            if !has_witness {
                self.found.witness = witness;
            }
        }
        Some(())
    }

    /// Counts the instances of a part that have what is asked, and returns the events of one of them.
    fn part(&mut self, part: &Part, must: Must, meter: &mut Meter<'_>) -> Option<Counted> {
        match part {
            Part::One(place) if must == Must::Nothing && self.is_plain(place) => {
                let (from, to) = self.interval(place.slot);
                let mut found = Counted::none();
                if let Some(list) = self.list(place).filter(|_| from <= to) {
                    let mut events = between(list, from, to);
                    found.count = MatchCount::Small(events.len() as u64);
                    found.witness.extend(events.next_back().map(|entry| (place.slot, entry.event)));
                }
                meter.charge(1).then_some(found)
            }
            Part::One(place) => {
                let mut events = self.candidates(place, meter)?;
                match must {
                    Must::Nothing => {}
                    Must::Have(event) => events.retain(|&(_, other)| other == event),
                    Must::Begin(before, _) => events.retain(|&(ts, _)| ts < before),
                }
                let witness = events.last().map(|&(_, event)| (place.slot, event)).into_iter().collect();
                Some(Counted { count: MatchCount::Small(events.len() as u64), witness })
            }
            Part::Chain(places, chain) => {
                let candidates = self.merged(places, meter)?;
                chain.count(self.past.events, &candidates, must, meter).map(|found| found.named(places))
            }
            Part::States(places, states) => {
                let candidates = self.merged(places, meter)?;
                let own = (self.shape.lists >> self.counter.slot & 1 == 1).then_some(self.event);
                let own = own.filter(|_| places.iter().any(|place| place.slot == self.counter.slot));
                states.count(&candidates, (own, must), meter).map(|found| found.named(places))
            }
        }
    }

    /// The events that may fill slots of a part, in the order of the stream.
    fn merged(&mut self, places: &[Place], meter: &mut Meter<'_>) -> Option<Vec<Candidate>> {
        let mut all: Vec<Candidate> = Vec::new();
        for (number, place) in places.iter().enumerate() {
            let bit = 1_u64 << number;
            let found = self.candidates(place, meter)?;
            all.extend(found.into_iter().map(|(ts, event)| Candidate { ts, event, places: bit }));
            if place.slot == self.counter.slot {
                // The event is in its list in any case.
                let (_, to) = self.interval(place.slot);
                let fits = to == self.now && place.checks.iter().all(|&check| self.holds(check));
                all.extend(fits.then_some(Candidate { ts: self.now, event: self.event, places: bit }));
            }
        }
        all.sort_by(|one, other| one.ts.cmp(&other.ts).then_with(|| in_order(one.event, other.event)));
        all.dedup_by(|next, kept| {
            let is_same = next.event == kept.event;
            if is_same {
                kept.places |= next.places;
            }
            is_same
        });
        Some(all)
    }
}

impl PartCount {
    fn named(self, places: &[Place]) -> Counted {
        let witness = self.witness.into_iter().map(|(place, event)| (places[place].slot, event)).collect();
        Counted { count: self.count, witness }
    }
}
