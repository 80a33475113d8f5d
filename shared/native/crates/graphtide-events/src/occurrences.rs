//! What detection found: occurrences of patterns, column by column, with the ids of their events.

use std::cmp::Ordering;

use graphtide_engine::output::{Fields, FieldsRef, Kind, MatchCount};
use graphtide_graph::Time;
use graphtide_graph::key::{IdRef, Key, TextArena};
use graphtide_graph::store::EdgeRef;
use graphtide_graph::symbol::Symbol;

use crate::pattern::Pattern;
use crate::returns::{Keyed, Room};
use crate::view::Events;

/// An occurrence, as it is read.
#[derive(Clone, Copy, Debug)]
pub struct Occurrence<'a> {
    /// Place of the pattern in the plan.
    pub pattern: u32,
    /// Place of the branch in the pattern.
    pub branch: u32,
    /// What is reported.
    pub kind: Kind,
    /// When it was found: the time of its last event, or of the bound that was passed.
    pub detected_at: Time,
    /// The matches that one event completes; these are the events of one. 1 if all are emitted.
    pub count: &'a MatchCount,
    /// Time of its first event.
    pub first_ts: Time,
    /// Time of its last event.
    pub last_ts: Time,
    /// How many events each slot has.
    pub lengths: &'a [u32],
    /// Types of the events, slot by slot.
    pub types: &'a [Symbol],
    /// What its pattern returns of it.
    pub fields: FieldsRef<'a>,
    /// Bytes of its key; none if all are emitted.
    pub key: &'a [u8],
    order: &'a [Option<EdgeRef>],
    ids: &'a [Key],
    last: usize,
    text: &'a TextArena,
}

impl<'a> Occurrence<'a> {
    /// The ids of its events, slot by slot.
    pub fn ids(&self) -> impl Iterator<Item = IdRef<'a>> {
        let text = self.text;
        self.ids.iter().map(move |&id| text.get_id(id))
    }

    /// The id of the event that came last.
    pub fn completed_by(&self) -> IdRef<'a> {
        self.text.get_id(self.ids[self.last])
    }

    /// Which comes first of two that have a key and were found at one time. It is the one whose last event is the earlier. Then
    /// their events in the order of the text decide, the earliest first, then the branch.
    pub fn compare(&self, other: &Self) -> Ordering {
        let newest = |of: &Self| {
            of.order.iter().flatten().copied().reduce(|newest, event| if newest.is_before(event) { event } else { newest })
        };
        match (newest(self), newest(other)) {
            (Some(own), Some(other)) if own.is_before(other) => return Ordering::Less,
            (Some(own), Some(other)) if other.is_before(own) => return Ordering::Greater,
            _ => {}
        }
        let earlier = |&(own, other): &(&Option<EdgeRef>, &Option<EdgeRef>)| own != other;
        let both = match self.order.iter().zip(other.order).find(earlier) {
            Some((Some(own), Some(other))) if own.is_before(*other) => Ordering::Less,
            Some((Some(_), Some(_))) => Ordering::Greater,
            // The list that ends first is the first.
            Some((own, other)) => own.is_some().cmp(&other.is_some()),
            None => self.order.len().cmp(&other.order.len()),
        };
        both.then(self.branch.cmp(&other.branch))
    }
}

/// What is reported of an occurrence beside its events.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) pattern: u32,
    pub(crate) branch: u32,
    pub(crate) kind: Kind,
    pub(crate) detected_at: Time,
    pub(crate) count: MatchCount,
}

/// When the events of an occurrence came, and which of them was the last.
#[derive(Clone, Copy, Debug)]
struct Span {
    first_ts: Time,
    last_ts: Time,
    last: usize,
}

/// Occurrences in the order in which they were found.
#[derive(Clone, Debug, Default)]
pub struct Occurrences {
    headers: Vec<Header>,
    spans: Vec<Span>,
    /// Where the lengths, the ids and the fields of each end.
    ends: Vec<(usize, usize, usize)>,
    /// Where the key and its order end, of each up to the last that has one.
    key_ends: Vec<(usize, usize)>,
    lengths: Vec<u32>,
    types: Vec<Symbol>,
    ids: Vec<Key>,
    fields: Fields,
    text: TextArena,
    /// The events of the occurrence that is added, where its pattern returns something.
    taken: Vec<(u8, EdgeRef)>,
    room: Room,
    keyed: Keyed,
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

    /// Matches that are reported, with those that are only counted, without retractions.
    pub fn matches(&self) -> u64 {
        let emitted = self.headers.iter().filter(|header| header.kind == Kind::Match);
        emitted.fold(0, |sum, header| sum.saturating_add(header.count.saturated()))
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.headers.clear();
        self.spans.clear();
        self.ends.clear();
        self.key_ends.clear();
        self.keyed.keys.clear();
        self.keyed.order.clear();
        self.lengths.clear();
        self.types.clear();
        self.ids.clear();
        self.fields.clear();
        self.text.clear();
    }

    /// Reads one.
    pub fn get(&self, place: usize) -> Occurrence<'_> {
        let &Header { pattern, branch, kind, detected_at, ref count } = &self.headers[place];
        let (first_length, first_id, first_field) = if place == 0 { (0, 0, 0) } else { self.ends[place - 1] };
        let (lengths, ids, fields) = self.ends[place];
        let (lengths, types) = (&self.lengths[first_length..lengths], &self.types[first_id..ids]);
        let (ids, fields) = (&self.ids[first_id..ids], self.fields.get((first_field, fields), &self.text));
        let key_end = |place: usize| self.key_ends.get(place).copied();
        let (first_key, first_place) = place.checked_sub(1).and_then(key_end).unwrap_or_default();
        let (key, place_end) = key_end(place).unwrap_or((first_key, first_place));
        let (key, order) = (&self.keyed.keys[first_key..key], &self.keyed.order[first_place..place_end]);
        let (Span { first_ts, last_ts, last }, text) = (self.spans[place], &self.text);
        Occurrence {
            pattern,
            branch,
            kind,
            detected_at,
            count,
            first_ts,
            last_ts,
            lengths,
            types,
            fields,
            key,
            order,
            ids,
            last,
            text,
        }
    }

    /// Bytes that they take, about.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.headers.len() * (size_of::<Header>() + size_of::<Span>()) + self.ids.len() * size_of::<Key>()
    }

    /// Adds one of a pattern; `each` calls back with each slot and event, slot by slot.
    pub(crate) fn push(
        &mut self,
        header: Header,
        pattern: &Pattern,
        slots: usize,
        events: Events<'_>,
        each: impl FnOnce(&mut dyn FnMut(u8, EdgeRef)),
    ) {
        let start = self.lengths.len();
        self.lengths.resize(start + slots, 0);
        let Self { lengths, types, ids, fields, text, taken, room, keyed, key_ends, .. } = self;
        taken.clear();
        let from = ids.len();
        let mut span = Span { first_ts: Time::MAX, last_ts: Time::MIN, last: 0 };
        let mut newest: Option<EdgeRef> = None;
        each(&mut |slot, event| {
            lengths[start + usize::from(slot)] += 1;
            types.push(events.kind(event));
            let ts = events.store.get(event).ts;
            span.first_ts = span.first_ts.min(ts);
            if newest.is_none_or(|newest| newest.is_before(event)) {
                (newest, span.last_ts, span.last) = (Some(event), ts, ids.len() - from);
            }
            ids.push(text.insert_id(events.store.id(event)));
            if pattern.returns.is_some() {
                taken.push((slot, event));
            }
        });
        if let Some(returns) = &pattern.returns {
            returns.evaluate(header.branch, taken, events, room, (fields, text), keyed);
            if returns.has_keys() {
                // Those before have none.
                let before = key_ends.last().copied().unwrap_or_default();
                key_ends.resize(self.headers.len(), before);
                key_ends.push((keyed.keys.len(), keyed.order.len()));
            }
        }
        self.headers.push(header);
        self.spans.push(span);
        self.ends.push((self.lengths.len(), self.ids.len(), self.fields.end()));
    }
}
