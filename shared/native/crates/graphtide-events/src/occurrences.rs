//! What detection found: occurrences of patterns, column by column, with the ids of their events.

use graphtide_graph::Time;
use graphtide_graph::key::{IdRef, Key, TextArena};
use graphtide_graph::store::EdgeRef;
use graphtide_graph::symbol::Symbol;

use crate::view::Events;

/// What is told of an occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It came about.
    Match,
    /// It is no more, since an event of it was deleted.
    Retract,
    /// It began, and did not end in time.
    Timeout,
}

/// An occurrence, as it is read.
#[derive(Clone, Copy, Debug)]
pub struct Occurrence<'a> {
    /// Place of the pattern in the plan.
    pub pattern: u32,
    /// Place of the branch in the pattern.
    pub branch: u32,
    /// What is told.
    pub kind: Kind,
    /// When it was found: the time of its last event, or of the bound that was passed.
    pub detected_at: Time,
    /// Matches that one event completes, of which these are the events of one; 1 where all are told. At most [`u64::MAX`].
    pub count: u64,
    /// How many events each slot has.
    pub lengths: &'a [u32],
    /// Types of the events, slot by slot.
    pub types: &'a [Symbol],
    ids: &'a [Key],
    text: &'a TextArena,
}

impl<'a> Occurrence<'a> {
    /// The ids of its events, slot by slot.
    pub fn ids(&self) -> impl Iterator<Item = IdRef<'a>> {
        let text = self.text;
        self.ids.iter().map(move |&id| text.get_id(id))
    }
}

/// What is told of an occurrence beside its events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) pattern: u32,
    pub(crate) branch: u32,
    pub(crate) kind: Kind,
    pub(crate) detected_at: Time,
    pub(crate) count: u64,
}

/// Occurrences in the order in which they were found.
#[derive(Clone, Debug, Default)]
pub struct Occurrences {
    headers: Vec<Header>,
    /// Where the lengths and the ids of each end.
    ends: Vec<(usize, usize)>,
    lengths: Vec<u32>,
    types: Vec<Symbol>,
    ids: Vec<Key>,
    text: TextArena,
}

impl Occurrences {
    /// Occurrences.
    pub fn len(&self) -> usize {
        self.headers.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty()
    }

    /// Matches that are told of, those that are only counted too, without retractions.
    pub fn matches(&self) -> u64 {
        let told = self.headers.iter().filter(|header| header.kind == Kind::Match);
        told.fold(0, |sum, header| sum.saturating_add(header.count))
    }

    /// Reads one.
    pub fn get(&self, place: usize) -> Occurrence<'_> {
        let Header { pattern, branch, kind, detected_at, count } = self.headers[place];
        let (first_length, first_id) = if place == 0 { (0, 0) } else { self.ends[place - 1] };
        let (lengths, ids) = self.ends[place];
        let (lengths, types) = (&self.lengths[first_length..lengths], &self.types[first_id..ids]);
        let ids = &self.ids[first_id..ids];
        Occurrence { pattern, branch, kind, detected_at, count, lengths, types, ids, text: &self.text }
    }

    /// Adds one; `slots` calls back with each slot and event, slot by slot.
    pub(crate) fn push(
        &mut self,
        header: Header,
        slots: usize,
        events: Events<'_>,
        each: impl FnOnce(&mut dyn FnMut(u8, EdgeRef)),
    ) {
        let start = self.lengths.len();
        self.lengths.resize(start + slots, 0);
        let (lengths, types, ids, text) = (&mut self.lengths, &mut self.types, &mut self.ids, &mut self.text);
        each(&mut |slot, event| {
            lengths[start + usize::from(slot)] += 1;
            types.push(events.kind(event));
            ids.push(text.insert_id(events.store.id(event)));
        });
        self.headers.push(header);
        self.ends.push((self.lengths.len(), self.ids.len()));
    }
}
