//! The events of an instance: in the making, and as it is stored.
//!
//! A search binds one slot after the other, and a list of events as a whole. What waits or is remembered is stored apart, in as
//! many bytes as it has events, and is bound again where it is looked at.

use graphtide_graph::store::EdgeRef;
use graphtide_graph::{Time, clock};
use smallvec::SmallVec;

use crate::program::{Absence, Shape, ones};
use crate::view::Events;

/// The events of an instance in the making.
#[derive(Debug, Default)]
pub(crate) struct Bound {
    /// The event of each place; of a list, the one that is looked at.
    pub(crate) events: Vec<EdgeRef>,
    /// Times of the first and the last event of each slot.
    pub(crate) times: Vec<(Time, Time)>,
    /// Events of the slots that are lists, in the order of the stream once whole.
    pub(crate) lists: Vec<Vec<EdgeRef>>,
    /// The slots that have events.
    pub(crate) set: u64,
}

impl Bound {
    /// Binds nothing, with room for so many places.
    pub(crate) fn begin(&mut self, places: usize) {
        if self.events.len() < places {
            self.events.resize(places, EdgeRef(0));
            self.times.resize(places, (0, 0));
            self.lists.resize_with(places, Vec::new);
        }
        self.set = 0;
    }

    /// Binds a slot.
    #[inline]
    pub(crate) fn put(&mut self, slot: u8, event: EdgeRef, ts: Time) {
        let place = usize::from(slot);
        self.events[place] = event;
        self.times[place] = (ts, ts);
        self.set |= 1 << slot;
    }

    /// Earliest time of some slots.
    fn earliest(&self, slots: u64) -> Option<Time> {
        ones(slots).map(|slot| self.times[usize::from(slot)].0).min()
    }

    /// Latest time of some slots.
    fn latest(&self, slots: u64) -> Option<Time> {
        ones(slots).map(|slot| self.times[usize::from(slot)].1).max()
    }

    /// Times of the first event and the last.
    pub(crate) fn span(&self) -> (Time, Time) {
        let times = ones(self.set).map(|slot| self.times[usize::from(slot)]);
        times.fold((Time::MAX, Time::MIN), |(first, last), own| (first.min(own.0), last.max(own.1)))
    }

    /// The interval of an absence, closed.
    pub(crate) fn interval(&self, absence: &Absence, within: Time) -> (Time, Time) {
        let (first, last) = (self.earliest(absence.of).unwrap_or(Time::MAX), self.latest(absence.of).unwrap_or(Time::MIN));
        if absence.is_inner {
            return (first, last);
        }
        let from = self.latest(absence.after).unwrap_or_else(|| clock::subtract(last, within));
        (from, self.earliest(absence.before).unwrap_or_else(|| clock::add(first, within)))
    }

    /// The greatest end of the intervals of absences; none where there are none.
    pub(crate) fn bound_of(&self, shape: &Shape) -> Option<Time> {
        shape.absences.iter().map(|absence| self.interval(absence, shape.within).1).max()
    }

    /// Calls `f` with each event, slot by slot.
    pub(crate) fn each(&self, lists: u64, mut f: impl FnMut(u8, EdgeRef)) {
        for slot in ones(self.set) {
            if lists >> slot & 1 == 1 {
                self.lists[usize::from(slot)].iter().for_each(|&event| f(slot, event));
            } else {
                f(slot, self.events[usize::from(slot)]);
            }
        }
    }

    /// Binds an instance that was stored.
    pub(crate) fn restore(&mut self, shape: &Shape, stored: &Stored, at: Events<'_>) {
        self.begin(shape.slots.len() + shape.absences.len());
        for slot in ones(shape.lists) {
            self.lists[usize::from(slot)].clear();
        }
        stored.each(&mut |slot, event| {
            let (place, ts) = (usize::from(slot), at.store.get(event).ts);
            if shape.lists >> slot & 1 == 0 {
                self.put(slot, event, ts);
                return;
            }
            if self.lists[place].is_empty() {
                self.put(slot, event, ts);
            }
            self.lists[place].push(event);
            self.times[place].1 = ts;
        });
    }
}

/// An instance with its events.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) vertex: u32,
    /// Slot by slot.
    pub(crate) events: SmallVec<[EdgeRef; 8]>,
    /// How many events each slot has; nothing where each has one.
    pub(crate) lengths: SmallVec<[u32; 2]>,
}

impl Stored {
    /// The instance that is bound.
    pub(crate) fn of(vertex: u32, shape: &Shape, bound: &Bound) -> Self {
        let mut stored = Self { vertex, events: SmallVec::new(), lengths: SmallVec::new() };
        if shape.lists != 0 {
            stored.lengths.resize(shape.slots.len(), 0);
        }
        bound.each(shape.lists, |slot, event| {
            stored.events.push(event);
            if shape.lists != 0 {
                stored.lengths[usize::from(slot)] += 1;
            }
        });
        stored
    }

    /// Slots.
    pub(crate) fn slots(&self) -> usize {
        if self.lengths.is_empty() { self.events.len() } else { self.lengths.len() }
    }

    /// Calls `f` with each slot and event.
    pub(crate) fn each(&self, f: &mut dyn FnMut(u8, EdgeRef)) {
        let mut events = self.events.iter();
        for slot in 0..self.slots() {
            let count = self.lengths.get(slot).map_or(1, |&length| length as usize);
            events.by_ref().take(count).for_each(|&event| f(slot as u8, event));
        }
    }

    /// The last of its events in the order of the stream.
    pub(crate) fn last(&self) -> EdgeRef {
        self.events.iter().copied().reduce(|last, event| if last.is_before(event) { event } else { last }).unwrap_or(EdgeRef(0))
    }
}
