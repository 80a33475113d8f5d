//! A detector that continues where others are: it takes what they hold again, by its own plan.
//!
//! The state of a detection follows from the events of its lookback and their deletions, in order. Each of the others has those
//! that its patterns ask for, in the order of the stream. Together they have one order as far as their patterns can see. What
//! several hold is one event, by time and id. Nothing is emitted meanwhile: the others emitted it.
//! Cost: O(log others) for each event held, and what it takes to detect once more in all that is held.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use graphtide_engine::meter::Meter;
use graphtide_graph::Time;
use graphtide_graph::key::IdRef;
use graphtide_graph::store::EdgeRef;
use graphtide_graph::value::ValueRef;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use super::Detector;
use crate::merging::merged;
use crate::occurrences::Occurrences;
use crate::plan::{InvalidPlan, PlanSpec};
use crate::view::Events;

/// What a detector took.
#[derive(Clone, Copy, Debug)]
enum Step {
    Event(EdgeRef),
    Deletion(EdgeRef),
}

impl Step {
    /// What came, or was deleted.
    fn event(self) -> EdgeRef {
        let (Self::Event(event) | Self::Deletion(event)) = self;
        event
    }
}

/// One of those that were before, by its place among them.
type Which = usize;

/// By detector and event: the patterns whose matches count that have a later one.
type Begins = HashMap<(Which, u32), SmallVec<[u32; 2]>, FxBuildHasher>;

impl Detector {
    /// Goes over to another plan. Of each of its patterns `carried` says which one of the plan before it is, if any. What was
    /// pending and buffered of those stays so, and none of it is emitted again. Of the others, matches count whose last event
    /// is yet to come. Returns whether it has the plan: one that reaches a bound on the way is refused, and the one before
    /// continues.
    /// Complexity: that of taking the events of the lookback again.
    pub fn replan(&mut self, plan: &PlanSpec, carried: &[Option<u32>], meter: &mut Meter<'_>) -> Result<bool, InvalidPlan> {
        let mut next = Self::new(plan, &self.symbols, self.width, self.setup)?;
        let carried: Vec<Option<(Which, u32)>> = carried.iter().map(|own| own.map(|own| (0, own))).collect();
        let is_whole = next.follow(&[self], &carried, meter);
        if is_whole {
            *self = next;
        }
        Ok(is_whole)
    }

    /// Takes what others hold, which stay as they are; it has taken nothing yet. Of each pattern `carried` says of which of
    /// them it is, and its place there. What was pending of it stays so, and none of it is emitted again. Of patterns that are
    /// of none, matches count whose last event is yet to come. Returns whether it took all: not where a bound was reached or
    /// the work was ended.
    pub fn follow(&mut self, before: &[&Self], carried: &[Option<(Which, u32)>], meter: &mut Meter<'_>) -> bool {
        let mut begins = Begins::default();
        for (pattern, &carried) in (0..).zip(carried) {
            let since = carried.and_then(|(which, own)| Some((which, before[which].detection.begins_after(own)?.1)));
            if let Some((which, EdgeRef(since))) = since {
                begins.entry((which, since)).or_default().push(pattern);
            }
        }
        self.begin_replay();
        let is_whole = each_step(before, |at, step, holders| self.take_again((at, step), holders, before, &begins, meter));
        for (pattern, _) in (0..).zip(carried).filter(|(_, carried)| carried.is_none()) {
            self.begin_now(pattern);
        }
        if let Some(now) = before.iter().filter_map(|other| other.now).max() {
            self.advance(now, &mut Occurrences::default(), meter);
        }
        self.end_replay();
        is_whole && meter.ended().is_none()
    }

    /// Takes a step that others took before; says whether it was whole.
    fn take_again(
        &mut self,
        (at, step): (Time, Step),
        holders: &[(Which, EdgeRef)],
        before: &[&Self],
        begins: &Begins,
        meter: &mut Meter<'_>,
    ) -> bool {
        let mut nothing = Occurrences::default();
        meter.tick(1);
        meter.begin(self.setup.work_budget);
        self.advance(at, &mut nothing, meter);
        match step {
            Step::Deletion(event) => {
                self.delete(before[holders[0].0].store.id(event), at, &mut nothing, meter);
            }
            Step::Event(_) => {
                self.insert_again(holders, before, &mut nothing, meter);
                for (which, EdgeRef(event)) in holders {
                    let begun = begins.get(&(*which, *event));
                    begun.into_iter().flatten().for_each(|&pattern| self.begin_now(pattern));
                }
            }
        }
        meter.end().is_none() && !self.take_limited()
    }

    fn insert_again(&mut self, holders: &[(Which, EdgeRef)], before: &[&Self], out: &mut Occurrences, meter: &mut Meter<'_>) {
        let (first, held) = (before[holders[0].0], holders[0].1);
        let stored = first.store.get(held);
        let ends = (first.names.name(stored.source), first.names.name(stored.target));
        // What a pattern reads its own detector has; others may lack it.
        let value = |column: usize| {
            let own = |&(which, event): &(Which, EdgeRef)| {
                let Self { store, width, .. } = before[which];
                if column < *width { store.attribute(event, column) } else { ValueRef::Null }
            };
            holders.iter().map(own).find(|&value| value != ValueRef::Null).unwrap_or(ValueRef::Null)
        };
        let kinds = first.labels[stored.class as usize];
        let event = self.keep((stored.ts, kinds), ends, first.store.id(held), (0..self.width).map(value));
        let mut satisfied = std::mem::take(&mut self.satisfied);
        satisfied.clear();
        let Self { detection, store, names, labels, texts, .. } = &*self;
        let (events, place) = (Events { store, names, labels, texts }, [event]);
        detection.satisfied(events.kind(event), &events.one(&place), meter, |signature| satisfied.push(signature));
        if satisfied.is_empty() && !self.setup.may_change {
            let stored = *self.store.get(event);
            self.names.release(stored.source);
            self.names.release(stored.target);
            self.store.pop_back();
        } else {
            self.insert(event, &satisfied, out, meter);
        }
        self.satisfied = satisfied;
    }

    /// What was taken and is held, with its time, in order.
    fn steps(&self) -> impl Iterator<Item = (Time, Step)> {
        let oldest = self.store.oldest().map_or(Time::MAX, |(_, stored)| stored.ts);
        let mut deletions = self.deleted.iter().filter(move |deletion| deletion.ts >= oldest).peekable();
        let mut events = self.store.refs().peekable();
        std::iter::from_fn(move || {
            let next = events.peek().copied();
            let is_due = |newest: EdgeRef| next.is_none_or(|next| newest.is_before(next));
            if let Some(gone) = deletions.next_if(|deletion| is_due(deletion.newest)) {
                return Some((gone.at, Step::Deletion(gone.event)));
            }
            events.next().map(|event| (self.store.get(event).ts, Step::Event(event)))
        })
    }

    /// What distinguishes a step from others of its time.
    fn key(&self, step: Step) -> (bool, Time, IdRef<'_>) {
        (matches!(step, Step::Event(_)), self.store.get(step.event()).ts, self.store.id(step.event()))
    }
}

/// Calls `f` with each step of detectors, once, in an order that agrees with each of theirs, until it returns false. `f` gets
/// the step's time, and by whom and as which event it is held. Returns whether it never did.
fn each_step(of: &[&Detector], mut f: impl FnMut(Time, Step, &[(Which, EdgeRef)]) -> bool) -> bool {
    let mut steps: Vec<_> = of.iter().map(|detector| detector.steps().peekable()).collect();
    let mut queue: BinaryHeap<Reverse<(Time, Which)>> = BinaryHeap::new();
    for (which, steps) in steps.iter_mut().enumerate() {
        queue.extend(steps.peek().map(|&(at, _)| Reverse((at, which))));
    }
    while let Some(&Reverse((at, _))) = queue.peek() {
        let mut parts: SmallVec<[(Which, SmallVec<[Step; 2]>); 2]> = SmallVec::new();
        while let Some(&Reverse((_, which))) = queue.peek().filter(|Reverse((other, _))| *other == at) {
            queue.pop();
            let own = std::iter::from_fn(|| steps[which].next_if(|&(other, _)| other == at));
            parts.push((which, own.map(|(_, step)| step).collect()));
            queue.extend(steps[which].peek().map(|&(at, _)| Reverse((at, which))));
        }
        let goes_on = if let [(which, own)] = parts.as_slice() {
            own.iter().all(|&step| f(at, step, &[(*which, step.event())]))
        } else {
            let keys = parts.iter().map(|(which, own)| own.iter().map(|&step| of[*which].key(step)).collect::<Vec<_>>());
            merged(&keys.collect::<Vec<_>>()).iter().all(|holders| {
                let step = |&(part, place): &(usize, usize)| parts[part].1[place];
                let held = holders.iter().map(|holder| (parts[holder.0].0, step(holder).event()));
                f(at, step(&holders[0]), &held.collect::<SmallVec<[(Which, EdgeRef); 2]>>())
            })
        };
        if !goes_on {
            return false;
        }
    }
    true
}
