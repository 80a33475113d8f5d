//! The search for instances: backtracking along a program, each step among the events of an interval of time.
//!
//! What has been bound leaves an interval to each slot. It is no further than the sub-pattern's time from any event, after what
//! comes before it and before what comes after it. Lists are in the order of time, so the interval is found by bisection, and
//! nothing outside of it is looked at. A list of events is bound as a whole, after single events.
//! Cost: a step of the meter for each event or instance looked at.

use graphtide_engine::meter::{MATCH, Meter};
use graphtide_graph::store::EdgeRef;
use graphtide_graph::{Time, clock};

use crate::bound::Bound;
use crate::buffers::{Entry, between, combined};
use crate::instances::Row;
use crate::past::{Past, Scope};
use crate::plan::{AggregateSpec, Selection, mask_below};
use crate::program::{EventStep, Predicate, Program, Rows, Shape, Step, ones};

/// Takes an instance; says whether to continue.
pub(crate) type Found<'f, 'p> = dyn FnMut(&mut Bound, &mut Meter<'p>) -> bool + 'f;

/// A search under way.
pub(crate) struct Search<'a, 'f, 'm, 'p> {
    pub(crate) past: Past<'a>,
    pub(crate) shape: &'a Shape,
    pub(crate) aggregates: &'a [AggregateSpec],
    pub(crate) scope: Scope<'a>,
    pub(crate) bound: &'a mut Bound,
    pub(crate) meter: &'m mut Meter<'p>,
    pub(crate) found: &'f mut Found<'f, 'p>,
}

/// A list in the making.
struct Choice<'c> {
    step: &'c EventStep,
    depth: usize,
    candidates: &'c [(Time, EdgeRef)],
    least: usize,
    most: usize,
}

impl<'a> Search<'a, '_, '_, '_> {
    /// Finds the instances in which an event fills a slot; says whether it was to continue to the end.
    pub(crate) fn run(&mut self, program: &'a Program, slot: u8, event: EdgeRef) -> bool {
        self.bound.begin(self.shape.slots.len() + self.shape.absences.len());
        let Some((rows, of)) = &program.driver else {
            let ts = self.past.events.store.get(event).ts;
            self.bound.put(slot, event, ts);
            if self.shape.lists >> slot & 1 == 1 {
                let list = &mut self.bound.lists[usize::from(slot)];
                list.clear();
                list.push(event);
            }
            return self.step(&program.steps, 0, (ts, ts));
        };
        let Some(instances) = self.past.instances[rows.vertex].as_ref() else { return true };
        let Some(place) = rows.slots.iter().position(|slot| slot == of) else { return true };
        for events in instances.fresh(place as u8) {
            let times = events.iter().map(|&event| self.past.events.store.get(event).ts);
            let (first, last) = times.fold((Time::MAX, Time::MIN), |(first, last), ts| (first.min(ts), last.max(ts)));
            if !self.row(rows, Row { first, last, events }, (&program.steps, 0), (Time::MAX, Time::MIN)) {
                return false;
            }
        }
        true
    }

    fn step(&mut self, steps: &'a [Step], depth: usize, span: (Time, Time)) -> bool {
        match steps.get(depth) {
            None if !self.are_whole() => true,
            None => self.meter.charge(MATCH) && (self.found)(self.bound, self.meter),
            Some(Step::Event(step)) => self.event(step, steps, depth, span),
            Some(Step::List(step)) => self.list(step, steps, depth, span),
            Some(Step::Rows(rows)) => self.rows(rows, steps, depth, span),
        }
    }

    /// Whether a first and a last time are no further apart than the sub-pattern's time.
    #[inline]
    fn fit_in_time(&self, (first, last): (Time, Time)) -> bool {
        last.abs_diff(first) <= self.shape.within.unsigned_abs()
    }

    /// The interval that is left to a slot.
    #[inline]
    fn interval(&self, slot: u8, (first, last): (Time, Time)) -> (Time, Time) {
        let own = &self.shape.slots[usize::from(slot)];
        let mut from = clock::subtract(last, self.shape.within).max(self.scope.from);
        let mut to = clock::add(first, self.shape.within);
        for other in ones(own.before & self.bound.set) {
            from = from.max(self.bound.times[usize::from(other)].1);
        }
        for other in ones(own.after & self.bound.set) {
            to = to.min(self.bound.times[usize::from(other)].0);
        }
        (from, to)
    }

    fn entries(&self, step: &'a EventStep, (from, to): (Time, Time)) -> impl Iterator<Item = (Time, EdgeRef)> + use<'a> {
        let signature = self.shape.slots[usize::from(step.slot)].signature;
        let Past { buffers, events, .. } = self.past;
        let list = match &step.key {
            _ if from > to => None,
            None => Some(buffers.list(signature)),
            Some((key, given)) => {
                let hash = combined(given.iter().map(|side| side.hash(&events.at(&self.bound.events))));
                hash.and_then(|hash| buffers.joined(signature, *key, hash))
            }
        };
        list.into_iter().flat_map(move |list| between(list, from, to)).map(|entry| (entry.ts, entry.event))
    }

    /// Whether an event may fill a slot, by its type and attributes.
    #[inline]
    fn admits(&self, slot: u8, event: EdgeRef) -> bool {
        self.past.is_of_use(&self.scope, event) && !self.is_taken(slot, event)
    }

    /// Whether an event fills a slot already that could be filled by the same.
    #[inline]
    fn is_taken(&self, slot: u8, event: EdgeRef) -> bool {
        let rivals = self.shape.slots[usize::from(slot)].rivals & self.bound.set;
        let lists = self.shape.lists;
        ones(rivals).any(|other| {
            let place = usize::from(other);
            if lists >> other & 1 == 1 { self.bound.lists[place].contains(&event) } else { self.bound.events[place] == event }
        })
    }

    /// Whether an event shares what the partition names with another of its list.
    fn is_like(&self, given: Option<EdgeRef>, event: EdgeRef) -> bool {
        let alike = |given| self.shape.alike.iter().all(|alike| alike.holds(&self.past.events.at(&[given, event])));
        given.is_none_or(alike)
    }

    fn event(&mut self, step: &'a EventStep, steps: &'a [Step], depth: usize, span: (Time, Time)) -> bool {
        let interval = self.interval(step.slot, span);
        for (ts, event) in self.entries(step, interval) {
            if !self.meter.step() {
                return false;
            }
            let is_other = self.scope.pinned.is_some_and(|(slot, pinned)| slot == step.slot && pinned != event);
            if is_other || !self.admits(step.slot, event) {
                continue;
            }
            self.bound.put(step.slot, event, ts);
            let goes_on = !self.hold(&step.checks, step.slot) || self.step(steps, depth + 1, (span.0.min(ts), span.1.max(ts)));
            self.bound.set &= !(1 << step.slot);
            if !goes_on {
                return false;
            }
        }
        true
    }

    fn rows(&mut self, rows: &'a Rows, steps: &'a [Step], depth: usize, span: (Time, Time)) -> bool {
        let past = self.past;
        let Some(instances) = past.instances[rows.vertex].as_ref() else { return true };
        let from = clock::subtract(span.1, self.shape.within).max(self.scope.from);
        let Some((key, given)) = &rows.key else {
            return instances.rows(from).all(|row| row.first < from || self.row(rows, row, (steps, depth + 1), span));
        };
        let hash = combined(given.iter().map(|side| side.hash(&past.events.at(&self.bound.events))));
        let Some(hash) = hash else { return true };
        instances.joined(*key, hash, from).all(|row| row.first < from || self.row(rows, row, (steps, depth + 1), span))
    }

    /// Binds an instance of a parent, and continues with a step; says whether to continue with others.
    fn row(&mut self, rows: &'a Rows, row: Row<'_>, (steps, next): (&'a [Step], usize), span: (Time, Time)) -> bool {
        if !self.meter.step() {
            return false;
        }
        let (first, last) = (span.0.min(row.first), span.1.max(row.last));
        if !self.fit_in_time((first, last)) || row.first < self.scope.from {
            return true;
        }
        let before = self.bound.set;
        let goes_on = !self.join(rows, row.events) || self.step(steps, next, (first, last));
        self.bound.set = before;
        goes_on
    }

    /// Binds the events of an instance of a parent; says whether they fit.
    fn join(&mut self, rows: &Rows, events: &[EdgeRef]) -> bool {
        let before = self.bound.set;
        for (&slot, &event) in rows.slots.iter().zip(events) {
            if before >> slot & 1 == 1 {
                if self.bound.events[usize::from(slot)] != event {
                    return false;
                }
            } else {
                if !self.admits(slot, event) {
                    return false;
                }
                self.bound.put(slot, event, self.past.events.store.get(event).ts);
            }
        }
        let is_late = |&(one, other): &(u8, u8)| self.bound.times[usize::from(one)].1 > self.bound.times[usize::from(other)].0;
        if rows.order.iter().any(is_late) {
            return false;
        }
        let Past { events, signatures, .. } = self.past;
        let fits = |&slot: &u8| {
            let event = self.bound.events[usize::from(slot)];
            signatures.get(self.shape.slots[usize::from(slot)].signature).fits(events.kind(event), &events.at(&[event]))
        };
        rows.narrower.iter().all(fits) && self.hold(&rows.checks, u8::MAX)
    }

    /// Whether predicates hold; of a list other than the slot that is being bound, for each of its events.
    fn hold(&mut self, checks: &[usize], slot: u8) -> bool {
        checks.iter().all(|&check| self.holds(check, if slot == u8::MAX { 0 } else { 1 << slot }))
    }

    /// Whether a predicate holds, for each event of the lists that it reads but those of `fixed`.
    fn holds(&mut self, check: usize, fixed: u64) -> bool {
        let predicate = &self.shape.predicates[check];
        if !self.meter.charge(predicate.steps) {
            return false;
        }
        let lists = predicate.reads_singly & self.shape.lists & self.bound.set & !fixed;
        let Some(list) = ones(lists).next() else {
            let view = self.past.events.with_lists(&self.bound.events, &self.bound.lists, self.aggregates);
            return predicate.expression.holds(&view);
        };
        let place = usize::from(list);
        (0..self.bound.lists[place].len()).all(|number| {
            self.bound.events[place] = self.bound.lists[place][number];
            self.holds(check, fixed | 1 << list)
        })
    }

    /// Binds a list. That of the event which the search starts from has it in any case.
    fn list(&mut self, step: &'a EventStep, steps: &'a [Step], depth: usize, span: (Time, Time)) -> bool {
        let place = usize::from(step.slot);
        let Some(repeat) = self.shape.slots[place].repeat else { return true };
        let before = self.bound.set;
        let given = (before >> step.slot & 1 == 1).then(|| self.bound.lists[place][0]);
        self.bound.set &= !(1 << step.slot);
        let interval = self.interval(step.slot, span);
        let mut candidates = Vec::new();
        for (ts, event) in self.entries(step, interval) {
            if !self.meter.step() {
                self.bound.set = before;
                return false;
            }
            self.bound.events[place] = event;
            if self.admits(step.slot, event) && self.is_like(given, event) && self.hold(&step.checks, step.slot) {
                candidates.push((ts, event));
            }
        }
        let most = repeat.most.map_or(usize::MAX, |most| most as usize);
        let choice = Choice { step, depth, candidates: &candidates, least: repeat.least as usize, most };
        let goes_on = match repeat.selection {
            Selection::Any => self.choose(&choice, steps, span, given),
            // What another list takes later may be no part of this one, so that each subset may be all that is left to it.
            Selection::Next if self.shape.lists & !before & !(1 << step.slot) != 0 => self.choose(&choice, steps, span, given),
            Selection::Next => self.runs(&choice, steps, span, given),
        };
        self.bound.set = before;
        if let Some(event) = given {
            self.bound.put(step.slot, event, self.past.events.store.get(event).ts);
            self.bound.lists[place].clear();
            self.bound.lists[place].push(event);
        }
        goes_on
    }

    /// Takes each subset of the candidates, of those with an event in it if one is given.
    fn choose(&mut self, choice: &Choice<'_>, steps: &'a [Step], span: (Time, Time), given: Option<EdgeRef>) -> bool {
        let candidates = choice.candidates;
        let given = given.map(|given| candidates.iter().position(|&(_, event)| event == given));
        if given == Some(None) {
            return true;
        }
        let given = given.flatten();
        let mut chosen = Vec::new();
        // The places of those chosen, and the span before each was. A list may be longer than a stack of calls is deep.
        let mut taken: Vec<(usize, (Time, Time))> = Vec::new();
        let (mut place, mut span) = (0, span);
        loop {
            let has_given = |last: Option<usize>| given.is_none_or(|given| last.is_some_and(|last| last >= given));
            let end =
                given.filter(|_| !has_given(taken.last().map(|&(last, _)| last))).map_or(candidates.len(), |given| given + 1);
            let can_be_enough = chosen.len() + (candidates.len() - place) >= choice.least;
            if place < end && chosen.len() < choice.most && can_be_enough {
                let (ts, event) = candidates[place];
                let wider = (span.0.min(ts), span.1.max(ts));
                place += 1;
                if !self.meter.step() {
                    return false;
                }
                if !self.fit_in_time(wider) {
                    continue;
                }
                taken.push((place - 1, span));
                chosen.push(event);
                span = wider;
                let is_whole = chosen.len() >= choice.least && has_given(Some(place - 1));
                if is_whole && !self.close(choice, steps, span, &mut chosen) {
                    return false;
                }
            } else {
                let Some((last, before)) = taken.pop() else { return true };
                chosen.pop();
                (place, span) = (last + 1, before);
            }
        }
    }

    /// Takes, from each candidate on, as many as there may be.
    fn runs(&mut self, choice: &Choice<'_>, steps: &'a [Step], span: (Time, Time), given: Option<EdgeRef>) -> bool {
        let mut chosen = Vec::new();
        for start in 0..choice.candidates.len() {
            let (first, _) = choice.candidates[start];
            let last = clock::add(span.0.min(first), self.shape.within);
            let run = choice.candidates[start..].iter().take_while(|&&(ts, _)| ts <= last).take(choice.most);
            chosen.clear();
            chosen.extend(run.map(|&(_, event)| event));
            let has_given = given.is_none_or(|given| chosen.contains(&given));
            if chosen.len() < choice.least || !has_given || !self.fit_in_time((first.min(span.1), span.1)) {
                continue;
            }
            let latest = chosen.last().map_or(first, |&event| self.past.events.store.get(event).ts);
            if !self.meter.step() || !self.close(choice, steps, (span.0.min(first), span.1.max(latest)), &mut chosen) {
                return false;
            }
        }
        true
    }

    /// Whether lists that take what follows took all that the others leave them.
    fn are_whole(&mut self) -> bool {
        if self.shape.lists.count_ones() < 2 && self.scope.among.is_none() {
            return true;
        }
        // What is left out of the search may be what follows.
        let among = self.scope.among.take();
        let are_whole = ones(self.shape.lists).all(|slot| self.is_whole(slot));
        self.scope.among = among;
        are_whole
    }

    /// Whether a list took, from its first event on, all that fits beside that and the events of the other slots.
    fn is_whole(&mut self, slot: u8) -> bool {
        let place = usize::from(slot);
        let own = &self.shape.slots[place];
        let Some(repeat) = own.repeat.filter(|repeat| repeat.selection == Selection::Next) else { return true };
        let taken = std::mem::take(&mut self.bound.lists[place]);
        let (times, set) = (self.bound.times[place], self.bound.set);
        let most = repeat.most.map_or(usize::MAX, |most| most as usize);
        let (&[first, ..], &[.., last]) = (taken.as_slice(), taken.as_slice()) else { return true };
        self.bound.set = set & !(1 << slot);
        let others = self.bound.span();
        let (from, to) = self.interval(slot, (others.0.min(times.0), others.1.max(times.0)));
        let mut is_whole = true;
        for Entry { event, .. } in between(self.past.buffers.list(own.signature), from.max(times.0), to) {
            if !first.is_before(event) || taken.contains(&event) {
                continue;
            }
            if !self.meter.step() || (taken.len() >= most && last.is_before(event)) {
                break;
            }
            self.bound.events[place] = event;
            if self.admits(slot, event) && self.is_like(Some(first), event) && self.fits_each(slot) {
                is_whole = false;
                break;
            }
        }
        self.bound.set = set;
        self.bound.lists[place] = taken;
        is_whole
    }

    /// Whether predicates that read events of a list singly hold for the one that is looked at.
    fn fits_each(&mut self, slot: u8) -> bool {
        let slots = mask_below(self.shape.slots.len());
        let predicates = &self.shape.predicates;
        (0..predicates.len()).all(|number| {
            let Predicate { reads, reads_whole, .. } = predicates[number];
            let is_of_each = reads >> slot & 1 == 1 && reads_whole >> slot & 1 == 0 && reads & !slots == 0;
            !is_of_each || self.holds(number, 1 << slot)
        })
    }

    /// Continues with a whole list.
    fn close(&mut self, choice: &Choice<'_>, steps: &'a [Step], span: (Time, Time), chosen: &mut Vec<EdgeRef>) -> bool {
        let (&[first, ..], &[.., last]) = (chosen.as_slice(), chosen.as_slice()) else { return true };
        let slot = choice.step.slot;
        let place = usize::from(slot);
        let store = self.past.events.store;
        self.bound.times[place] = (store.get(first).ts, store.get(last).ts);
        self.bound.set |= 1 << slot;
        std::mem::swap(&mut self.bound.lists[place], chosen);
        let goes_on = !self.hold(&choice.step.whole, u8::MAX) || self.step(steps, choice.depth + 1, span);
        std::mem::swap(&mut self.bound.lists[place], chosen);
        self.bound.set &= !(1 << slot);
        goes_on
    }
}
