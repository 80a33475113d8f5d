//! Tuples of vertices with the instants at which they end: the coalesced output of an operator.
//!
//! A tuple is there once, whatever derives it, with the latest end of its derivations. One that has ended keeps its number
//! until time is past its end, so that what follows at that very instant continues it. While a record is taken, a tuple also
//! has the end from before it, so that a later reader sees both.
//! Invariant: every index has each numbered tuple once. Tuples that ended may name vertices whose numbers others have by now.
//! They say nothing any more, and are those of the others if these are derived.
//! Cost: a look-up, and one an index, a change; expiry in what expires.

use std::hash::BuildHasher;

use graphtide_graph::Time;
use graphtide_graph::clock::Present;
use graphtide_graph::vertex::Vertex;
use hashbrown::{HashMap, HashTable};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use crate::wheel::Wheel;

/// The end of what has none: before every instant.
pub const ENDED: Time = Time::MIN;

/// A tuple's number in its [`Relation`].
pub type Tuple = u32;

/// Values of the columns of an index.
pub type Values = SmallVec<[Vertex; 2]>;

/// Which end of a tuple is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// That from before the record, for tuples that it shortened.
    Before,
    /// That of now.
    Now,
}

/// Tuples by some of their columns.
#[derive(Debug)]
struct Index {
    columns: SmallVec<[u8; 2]>,
    /// Whether somebody reads it; else it is empty.
    is_read: bool,
    buckets: HashMap<Values, Vec<Tuple>, FxBuildHasher>,
    /// Where each tuple stands in its bucket.
    places: Vec<u32>,
}

/// Tuples of one arity.
#[derive(Debug)]
pub struct Relation {
    arity: usize,
    columns: Vec<Vertex>,
    ends: Vec<Time>,
    /// By tuple that changed: its end from before the record.
    befores: Vec<Time>,
    is_changed: Vec<bool>,
    free: Vec<Tuple>,
    numbers: HashTable<Tuple>,
    indexes: Vec<Index>,
    changed: Vec<Tuple>,
    wheel: Wheel,
}

impl Relation {
    /// Makes an empty one.
    pub fn new(arity: usize) -> Self {
        Self {
            arity,
            columns: Vec::new(),
            ends: Vec::new(),
            befores: Vec::new(),
            is_changed: Vec::new(),
            free: Vec::new(),
            numbers: HashTable::new(),
            indexes: Vec::new(),
            changed: Vec::new(),
            wheel: Wheel::default(),
        }
    }

    /// Columns of a tuple.
    pub fn arity(&self) -> usize {
        self.arity
    }

    /// Asks for an index on columns, ascending; returns its number. There must be no tuples yet.
    pub fn index_on(&mut self, columns: &[u8]) -> usize {
        if let Some(known) = self.indexes.iter().position(|index| index.columns.as_slice() == columns) {
            return known;
        }
        let index = Index { columns: columns.into(), is_read: true, buckets: HashMap::default(), places: Vec::new() };
        self.indexes.push(index);
        self.indexes.len() - 1
    }

    /// Gives up the indexes that nobody reads any more.
    pub fn retain_indexes(&mut self, is_read: impl Fn(usize) -> bool) {
        for (_, index) in self.indexes.iter_mut().enumerate().filter(|(number, _)| !is_read(*number)) {
            (index.is_read, index.buckets, index.places) = (false, HashMap::default(), Vec::new());
        }
    }

    /// Begins a record: what changed before is history.
    #[inline]
    pub fn begin(&mut self) {
        for tuple in self.changed.drain(..) {
            self.is_changed[tuple as usize] = false;
        }
    }

    /// Tuples that the record changed, each once, in order.
    #[inline]
    pub fn changed(&self) -> &[Tuple] {
        &self.changed
    }

    /// Vertices of a tuple.
    #[inline]
    pub fn get(&self, tuple: Tuple) -> &[Vertex] {
        let start = tuple as usize * self.arity;
        &self.columns[start..start + self.arity]
    }

    /// End of a tuple.
    #[inline]
    pub fn end(&self, tuple: Tuple) -> Time {
        self.ends[tuple as usize]
    }

    /// End of a tuple that changed, from before the record; [`ENDED`] if that was past.
    #[inline]
    pub fn before(&self, tuple: Tuple) -> Time {
        self.befores[tuple as usize]
    }

    /// End of a tuple in a view.
    #[inline]
    pub fn end_in(&self, tuple: Tuple, view: View) -> Time {
        let place = tuple as usize;
        if view == View::Before && self.is_changed[place] { self.befores[place] } else { self.ends[place] }
    }

    /// Number of a tuple.
    #[inline]
    pub fn find(&self, values: &[Vertex]) -> Option<Tuple> {
        self.numbers.find(hash(values), |&tuple| self.get(tuple) == values).copied()
    }

    /// Tuples that have these values in the columns of an index.
    #[inline]
    pub fn matching(&self, index: usize, values: &Values) -> &[Tuple] {
        self.indexes[index].buckets.get(values).map_or(&[], Vec::as_slice)
    }

    /// All numbered tuples.
    pub fn tuples(&self) -> impl Iterator<Item = Tuple> {
        self.numbers.iter().copied()
    }

    /// Lets a tuple end no earlier than at `end`, now; returns its number if that changed it.
    pub fn raise(&mut self, values: &[Vertex], end: Time, now: Present) -> Option<Tuple> {
        let hashed = hash(values);
        let arity = self.arity;
        let of = |columns: &[Vertex], tuple: Tuple| {
            let start = tuple as usize * arity;
            columns[start..start + arity] == *values
        };
        let tuple = if let Some(&tuple) = self.numbers.find(hashed, |&tuple| of(&self.columns, tuple)) {
            if end <= self.ends[tuple as usize] {
                return None;
            }
            tuple
        } else {
            let tuple = self.number(values, hashed);
            self.wheel.put(end, tuple);
            tuple
        };
        let place = tuple as usize;
        let old = self.ends[place];
        self.note(tuple, old, now);
        self.ends[place] = end;
        Some(tuple)
    }

    /// Lets a tuple end earlier, at `end`; at [`ENDED`] if nothing derives it any more.
    pub fn lower(&mut self, tuple: Tuple, end: Time, now: Present) {
        let old = self.ends[tuple as usize];
        self.note(tuple, old, now);
        self.ends[tuple as usize] = end;
    }

    /// Gives up what ended before now; calls `f` with each.
    pub fn expire(&mut self, now: Present, mut f: impl FnMut(Tuple, &[Vertex])) {
        while let Some(bucket) = self.wheel.pop_before(now) {
            for tuple in bucket {
                let end = self.ends[tuple as usize];
                if !now.follows(end) {
                    self.wheel.put(end, tuple);
                    continue;
                }
                f(tuple, self.get(tuple));
                self.forget(tuple);
            }
        }
    }

    /// When something is to be looked at that may have ended.
    pub fn next_look(&self) -> Option<Time> {
        self.wheel.next()
    }

    /// Tuples that are numbered.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Bytes that one more tuple takes, about, with what is noted of it while its record is taken.
    pub fn tuple_bytes(&self) -> usize {
        /// Its number by its values, its place in the list of what changed, and in that of what ends.
        const PLACES: usize = 5 + 4 + 8;
        let indexed = size_of::<Values>() + size_of::<Vec<Tuple>>() + 8;
        self.arity * 4 + 2 * size_of::<Time>() + 1 + PLACES + self.indexes.len() * indexed
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let indexes = self.indexes.iter().map(|index| {
            let bucket = size_of::<Values>() + size_of::<Vec<Tuple>>();
            index.places.capacity() * 4 + index.buckets.capacity() * bucket + self.numbers.len() * 4
        });
        self.columns.capacity() * 4
            + (self.ends.capacity() + self.befores.capacity()) * size_of::<Time>()
            + self.is_changed.capacity()
            + self.numbers.capacity() * 5
            + indexes.sum::<usize>()
            + self.wheel.bytes()
    }

    /// Remembers the end from before the record, at the first change.
    fn note(&mut self, tuple: Tuple, old: Time, now: Present) {
        let place = tuple as usize;
        // What ended before now has no part in it: it is as if it had not been.
        if !self.is_changed[place] {
            self.is_changed[place] = true;
            self.befores[place] = if now.follows(old) { ENDED } else { old };
            self.changed.push(tuple);
        }
    }

    fn number(&mut self, values: &[Vertex], hashed: u64) -> Tuple {
        let tuple = if let Some(tuple) = self.free.pop() {
            let start = tuple as usize * self.arity;
            self.columns[start..start + self.arity].copy_from_slice(values);
            tuple
        } else {
            self.columns.extend_from_slice(values);
            self.ends.push(ENDED);
            self.befores.push(ENDED);
            self.is_changed.push(false);
            self.ends.len() as Tuple - 1
        };
        let Self { columns, arity, numbers, indexes, .. } = self;
        let of = |tuple: Tuple| {
            let start = tuple as usize * *arity;
            &columns[start..start + *arity]
        };
        numbers.insert_unique(hashed, tuple, |&tuple| hash(of(tuple)));
        for index in indexes.iter_mut().filter(|index| index.is_read) {
            index.insert(tuple, of(tuple));
        }
        tuple
    }

    fn forget(&mut self, tuple: Tuple) {
        let start = tuple as usize * self.arity;
        let values = &self.columns[start..start + self.arity];
        if let Ok(entry) = self.numbers.find_entry(hash(values), |&other| other == tuple) {
            entry.remove();
        }
        for index in self.indexes.iter_mut().filter(|index| index.is_read) {
            index.remove(tuple, values);
        }
        self.ends[tuple as usize] = ENDED;
        self.free.push(tuple);
    }
}

impl Index {
    fn values(&self, tuple: &[Vertex]) -> Values {
        self.columns.iter().map(|&column| tuple[usize::from(column)]).collect()
    }

    fn insert(&mut self, tuple: Tuple, values: &[Vertex]) {
        let bucket = self.buckets.entry(self.values(values)).or_default();
        if self.places.len() <= tuple as usize {
            self.places.resize(tuple as usize + 1, 0);
        }
        self.places[tuple as usize] = bucket.len() as u32;
        bucket.push(tuple);
    }

    fn remove(&mut self, tuple: Tuple, values: &[Vertex]) {
        let key = self.values(values);
        let Some(bucket) = self.buckets.get_mut(&key) else { return };
        let place = self.places[tuple as usize] as usize;
        bucket.swap_remove(place);
        match bucket.get(place) {
            Some(&moved) => self.places[moved as usize] = place as u32,
            None if bucket.is_empty() => drop(self.buckets.remove(&key)),
            None => {}
        }
    }
}

#[inline]
fn hash(values: &[Vertex]) -> u64 {
    FxBuildHasher.hash_one(values)
}
