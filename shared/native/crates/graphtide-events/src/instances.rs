//! The instances of one sub-pattern, stored once for all that extend them.
//!
//! A row holds the events of the slots; rows have one width. They lie in buckets by the time of their first event, so that
//! whole buckets expire from one end. A row stays at most a sixteenth of the sub-pattern's time longer than it has to. Rows
//! that are joined by equal values are found by their hashes in each bucket.
//! Cost: O(keys) to add a row, O(expired) to expire, O(buckets) more to read.

use std::collections::VecDeque;

use graphtide_engine::expression::Expression;
use graphtide_graph::store::EdgeRef;
use graphtide_graph::{Time, clock};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::buffers::combined;
use crate::view::Events;

/// Buckets in the time of a sub-pattern.
const BUCKETS: i64 = 16;

/// Values of a row that join it, an expression over the slots each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowKey(usize);

/// A row as it is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) first: Time,
    pub(crate) last: Time,
    pub(crate) events: &'a [EdgeRef],
}

/// Rows whose first events are of about one time.
#[derive(Debug)]
struct Bucket {
    number: i64,
    times: Vec<(Time, Time)>,
    events: Vec<EdgeRef>,
    /// For each key, the places of rows by hash.
    keyed: Vec<HashMap<u64, Vec<u32>, FxBuildHasher>>,
}

/// The instances of a sub-pattern.
#[derive(Debug)]
pub(crate) struct Instances {
    width: usize,
    within: Time,
    /// Ticks of a bucket.
    span: Time,
    buckets: VecDeque<Bucket>,
    keys: Vec<Vec<Expression>>,
    live: usize,
    peak: usize,
    created: u64,
    /// Rows of the record under way, by the slot that its event fills.
    fresh: Vec<EdgeRef>,
    runs: Vec<(u8, usize)>,
}

impl Instances {
    /// Holds rows of so many slots, whose events lie at most `within` ticks apart.
    pub(crate) fn new(width: usize, within: Time) -> Self {
        let span = within / BUCKETS + 1;
        Self {
            width,
            within,
            span,
            buckets: VecDeque::new(),
            keys: Vec::new(),
            live: 0,
            peak: 0,
            created: 0,
            fresh: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Lists rows by the values of expressions over their slots, too.
    pub(crate) fn join(&mut self, key: &[Expression]) -> RowKey {
        let known = self.keys.iter().position(|other| other == key);
        RowKey(known.unwrap_or_else(|| {
            self.keys.push(key.to_vec());
            self.keys.len() - 1
        }))
    }

    /// Begins a record: rows that come now are its own.
    pub(crate) fn begin(&mut self) {
        self.fresh.clear();
        self.runs.clear();
    }

    /// Adds rows in which the record's event fills a slot; `rows` has them end to end. `leaves` is called with the last time
    /// that a bucket which is new is of use, where time continues after it.
    pub(crate) fn add(&mut self, slot: u8, rows: &[EdgeRef], events: Events<'_>, mut leaves: impl FnMut(Time)) {
        for row in rows.chunks_exact(self.width) {
            let times = row.iter().map(|&event| events.store.get(event).ts);
            let (first, last) = times.fold((Time::MAX, Time::MIN), |(first, last), ts| (first.min(ts), last.max(ts)));
            self.add_one((first, last), row, events, &mut leaves);
        }
        self.fresh.extend_from_slice(rows);
        self.runs.push((slot, self.fresh.len()));
        self.created += (rows.len() / self.width) as u64;
        self.peak = self.peak.max(self.live);
    }

    fn add_one(&mut self, times: (Time, Time), row: &[EdgeRef], events: Events<'_>, leaves: &mut impl FnMut(Time)) {
        let number = times.0.div_euclid(self.span);
        let place = self.buckets.partition_point(|bucket| bucket.number < number);
        if self.buckets.get(place).is_none_or(|bucket| bucket.number != number) {
            let keyed = self.keys.iter().map(|_| HashMap::default()).collect();
            self.buckets.insert(place, Bucket { number, times: Vec::new(), events: Vec::new(), keyed });
            self.last_use(number).into_iter().for_each(leaves);
        }
        let bucket = &mut self.buckets[place];
        let own = bucket.times.len() as u32;
        bucket.times.push(times);
        bucket.events.extend_from_slice(row);
        for (key, table) in self.keys.iter().zip(&mut bucket.keyed) {
            if let Some(hash) = combined(key.iter().map(|part| part.hash(&events.at(row)))) {
                table.entry(hash).or_default().push(own);
            }
        }
        self.live += 1;
    }

    /// Drops expired rows, in whole buckets; returns how many.
    pub(crate) fn expire(&mut self, now: Time) -> usize {
        let mut dropped = 0;
        while let Some(bucket) =
            self.buckets.front().filter(|bucket| self.last_use(bucket.number).is_some_and(|last| last < now))
        {
            dropped += bucket.times.len();
            self.buckets.pop_front();
        }
        self.live -= dropped;
        dropped
    }

    /// The last time that a bucket is of use; none if there is no later one.
    fn last_use(&self, number: i64) -> Option<Time> {
        clock::find_sum((number + 1).checked_mul(self.span)?, self.within - 1)
    }

    /// Rows alive.
    #[inline]
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// Most rows ever alive at once.
    pub(crate) fn peak(&self) -> usize {
        self.peak
    }

    /// Rows ever added.
    pub(crate) fn created(&self) -> u64 {
        self.created
    }

    /// Slots of a row.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Bytes that a row takes.
    pub(crate) fn row_bytes(&self) -> usize {
        size_of::<(Time, Time)>() + self.width * size_of::<EdgeRef>() + self.keys.len() * size_of::<u32>()
    }

    /// The rows of the record under way in which its event fills a slot.
    pub(crate) fn fresh(&self, slot: u8) -> impl Iterator<Item = &[EdgeRef]> {
        let starts = std::iter::once(0).chain(self.runs.iter().map(|&(_, end)| end));
        let runs = starts.zip(&self.runs).filter(move |&(_, &(of, _))| of == slot);
        runs.flat_map(|(start, &(_, end))| self.fresh[start..end].chunks_exact(self.width))
    }

    /// The rows whose first event is no earlier than `from`.
    pub(crate) fn rows(&self, from: Time) -> impl Iterator<Item = Row<'_>> {
        self.buckets_from(from).flat_map(move |bucket| (0..bucket.times.len()).map(move |place| self.row(bucket, place)))
    }

    /// As [`rows`](Self::rows), those whose values have a hash.
    pub(crate) fn joined(&self, key: RowKey, hash: u64, from: Time) -> impl Iterator<Item = Row<'_>> {
        self.buckets_from(from).flat_map(move |bucket| {
            let places = bucket.keyed[key.0].get(&hash).into_iter().flatten();
            places.map(move |&place| self.row(bucket, place as usize))
        })
    }

    fn buckets_from(&self, from: Time) -> impl Iterator<Item = &Bucket> {
        let number = from.div_euclid(self.span);
        self.buckets.range(self.buckets.partition_point(|bucket| bucket.number < number)..)
    }

    fn row<'a>(&self, bucket: &'a Bucket, place: usize) -> Row<'a> {
        let (first, last) = bucket.times[place];
        Row { first, last, events: &bucket.events[place * self.width..(place + 1) * self.width] }
    }
}
