//! What every search reads: the events of the lookback, what was found among them, and what was deleted since.

use graphtide_engine::meter::Meter;
use graphtide_graph::store::EdgeRef;
use graphtide_graph::{Time, clock};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::bound::Bound;
use crate::buffers::{Buffers, between};
use crate::instances::Instances;
use crate::plan::AggregateSpec;
use crate::program::{Shape, ones};
use crate::signatures::Signatures;
use crate::view::Events;

/// What is known of a deleted event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gone {
    /// When it was deleted.
    pub(crate) at: Time,
    /// The newest event then.
    pub(crate) newest: EdgeRef,
}

/// Deleted events of the lookback.
pub(crate) type Deletions = HashMap<u32, Gone, FxBuildHasher>;

/// The earliest time of an event that is within the lookback, at least one tick.
pub(crate) fn earliest_alive(now: Time, lookback: Time) -> Time {
    clock::alive_from(now, lookback)
}

/// What every search reads.
#[derive(Clone, Copy)]
pub(crate) struct Past<'a> {
    pub(crate) events: Events<'a>,
    pub(crate) buffers: &'a Buffers,
    pub(crate) instances: &'a [Option<Instances>],
    pub(crate) signatures: &'a Signatures,
    pub(crate) deletions: &'a Deletions,
}

/// Which matches are searched for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope<'a> {
    /// No event came before.
    pub(crate) from: Time,
    /// All events came before this one, or are it.
    pub(crate) until: Option<EdgeRef>,
    /// Events that were deleted once this one had come are there.
    pub(crate) as_of: Option<EdgeRef>,
    /// The events are among these.
    pub(crate) among: Option<&'a [EdgeRef]>,
    /// A slot that one event alone may fill.
    pub(crate) pinned: Option<(u8, EdgeRef)>,
}

impl Scope<'_> {
    /// All matches.
    pub(crate) const ALL: Self = Self { from: Time::MIN, until: None, as_of: None, among: None, pinned: None };
}

impl Past<'_> {
    /// Whether an event may be part of what is searched for.
    #[inline]
    pub(crate) fn is_of_use(&self, Scope { until, among, as_of, .. }: &Scope<'_>, event: EdgeRef) -> bool {
        let is_late = until.is_some_and(|until| until != event && !event.is_before(until));
        let is_other = among.is_some_and(|among| !among.contains(&event));
        if is_late || is_other {
            return false;
        }
        let gone = if self.deletions.is_empty() { None } else { self.deletions.get(&event.0) };
        gone.is_none_or(|gone| as_of.is_some_and(|then| then == gone.newest || then.is_before(gone.newest)))
    }

    /// Whether an event that must not come came in the interval of an absence, which is over.
    pub(crate) fn is_blocked(
        &self,
        (shape, aggregates): (&Shape, &[AggregateSpec]),
        number: usize,
        bound: &mut Bound,
        meter: &mut Meter<'_>,
    ) -> bool {
        let absence = &shape.absences[number];
        let (from, to) = bound.interval(absence, shape.within);
        if from > to {
            return false;
        }
        let place = shape.slots.len() + number;
        for entry in between(self.buffers.list(absence.signature), from, to) {
            meter.tick(1);
            let is_gone = self.deletions.get(&entry.event.0).is_some_and(|gone| gone.at <= to);
            let mut is_part = false;
            bound.each(shape.lists, |_, event| is_part |= event == entry.event);
            if is_gone || is_part {
                continue;
            }
            bound.events[place] = entry.event;
            let mut holds = |&check: &usize| self.all_hold(shape, aggregates, check, 0, bound, meter);
            if absence.predicates.iter().all(&mut holds) {
                return true;
            }
        }
        false
    }

    /// Whether a predicate holds for each event of the lists that it reads but those of `fixed`.
    fn all_hold(
        &self,
        shape: &Shape,
        aggregates: &[AggregateSpec],
        check: usize,
        fixed: u64,
        bound: &mut Bound,
        meter: &mut Meter<'_>,
    ) -> bool {
        let predicate = &shape.predicates[check];
        meter.tick(predicate.steps);
        let lists = predicate.reads_singly & shape.lists & !fixed;
        let Some(list) = ones(lists).next() else {
            return predicate.expression.holds(&self.events.with_lists(&bound.events, &bound.lists, aggregates));
        };
        let place = usize::from(list);
        (0..bound.lists[place].len()).all(|number| {
            bound.events[place] = bound.lists[place][number];
            self.all_hold(shape, aggregates, check, fixed | 1 << list, bound, meter)
        })
    }
}
