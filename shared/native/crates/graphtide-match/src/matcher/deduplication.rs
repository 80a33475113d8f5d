//! Output deduplication: of the matches with the same edges a pattern emits the first. Of those with the same key it emits the
//! first in each interval of time.
//!
//! Of matches that one record completes, the first is that whose edges, in the order of the text, are the earliest in the
//! stream. So neither the engine nor its plan decides which is emitted. What was emitted in an interval follows from its
//! records and from the lookback before it. So a replay of these without output restores the state. Keys are state: a pattern
//! holds no more of them than its limits allow, and does at the bound what they say.
//! Cost: one comparison a hand-over if all patterns emit all. Else a match costs its key and a lookup, and an emitted one 16
//! bytes while its interval lasts. Where the stream may delete, it also costs its identity while it may be retracted.

use std::cmp::Ordering;
use std::collections::VecDeque;

use blake2::digest::consts::U16;
use blake2::{Blake2b, Digest};
use graphtide_engine::ids::PatternId;
use graphtide_engine::limits::Limits;
use graphtide_engine::output::{FoundRow, Rows};
use graphtide_graph::Time;
use graphtide_graph::clock;
use graphtide_graph::store::{EdgeRef, EdgeStore};
use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use crate::plan::{DeduplicationSpec, OnePerSpec};

/// Keys that are remembered of an interval, whatever the limits.
const MOST_KEYS: u64 = 1 << 20;

/// Keys, or matches, for which room may be left when they are gone.
const SMALL: usize = 64;

/// Bytes that a key is counted for: its own, with the room that a table leaves free.
const KEY_BYTES: u64 = 32;

/// What a pattern does not emit.
#[derive(Clone, Debug, Default)]
pub struct Deduplication {
    /// Of matches with the same edges only the first is emitted.
    pub is_distinct: bool,
    /// What is emitted once.
    pub once: Option<OnePerKey>,
}

/// One match for each key in each interval.
#[derive(Clone, Debug)]
pub struct OnePerKey {
    spec: OnePerSpec,
    /// Keys that it may hold.
    most: usize,
    /// Whether there were more since somebody asked.
    is_over: bool,
    has_begun: bool,
    interval: i128,
    keys: HashSet<[u8; 16], FxBuildHasher>,
    /// Identities of emitted matches that may be retracted, with the times when they were emitted.
    emitted: VecDeque<(Time, [u8; 32])>,
    /// When each was emitted last: ids of edges may be given again.
    last: HashMap<[u8; 32], Time, FxBuildHasher>,
}

/// What is to be done about a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Say {
    /// It is emitted.
    Emitted,
    /// It is counted.
    Suppressed,
    /// It is emitted, though one of its key may have been: there are more keys than are stored.
    Overflow,
}

/// Rows that are not emitted as they are, by their places and patterns.
#[derive(Debug, Default)]
pub struct Silent {
    suppressed: HashSet<(u32, PatternId), FxBuildHasher>,
    repeated: HashSet<(u32, PatternId), FxBuildHasher>,
}

/// Places of edges in the stream.
type Ranks = SmallVec<[usize; 8]>;

/// The order in the stream of edges of a unit's past. They may have come late to the store, where they then are before others
/// of their time. Edges that the unit took since are behind all of them.
#[derive(Clone, Debug)]
pub struct PastOrder {
    places: HashMap<EdgeRef, usize, FxBuildHasher>,
    /// When the last of them came, on the clock of the unit's window.
    newest: i64,
}

/// A row of a pattern that does not report all.
pub struct Candidate {
    /// The pattern.
    pub pattern: PatternId,
    /// Place of the row.
    pub place: u32,
    /// When it was found.
    pub detected_at: Time,
    /// Its edges in the order of the text, or in that of the stream with the places of their query edges.
    pub order: SmallVec<[(usize, u8); 8]>,
    /// Its key, if one match a key is reported.
    pub key: Option<[u8; 16]>,
}

impl Deduplication {
    /// What a specification asks for, of a pattern with these limits; none if all matches are emitted. Keys may take half of
    /// its bytes.
    pub fn new(spec: &DeduplicationSpec, limits: &Limits) -> Option<Box<Self>> {
        let most = limits.state_bytes.map_or(MOST_KEYS, |bytes| (bytes / 2 / KEY_BYTES).clamp(1, MOST_KEYS)) as usize;
        let once = spec.once.map(|spec| OnePerKey {
            spec,
            most,
            is_over: false,
            has_begun: true,
            interval: 0,
            keys: HashSet::default(),
            emitted: VecDeque::new(),
            last: HashMap::default(),
        });
        (spec.is_distinct || once.is_some()).then(|| Box::new(Self { is_distinct: spec.is_distinct, once }))
    }
}

impl OnePerKey {
    /// Decides about a match of a key.
    pub fn decide(&mut self, detected_at: Time, key: &[u8; 16]) -> Say {
        if !self.has_begun {
            return Say::Emitted;
        }
        self.pass(detected_at);
        if self.keys.contains(key) {
            return Say::Suppressed;
        }
        if self.keys.len() >= self.most {
            self.is_over = true;
            return Say::Overflow;
        }
        self.keys.insert(*key);
        Say::Emitted
    }

    /// Nothing is detected before this time any more: drops what was emitted in earlier intervals.
    pub fn pass(&mut self, now: Time) {
        let (length, parts) = self.spec.every;
        let interval = (i128::from(now) * i128::from(parts)).div_euclid(i128::from(length));
        if interval != self.interval {
            self.interval = interval;
            self.keys.clear();
            // Many keys at once leave no empty capacity behind.
            self.keys.shrink_to(SMALL);
        }
    }

    /// Drops matches that were emitted too long before a time to be retracted.
    pub fn expire(&mut self, now: Time) {
        while let Some(&(at, oldest)) = self.emitted.front()
            && clock::has_passed(at, self.spec.lookback, now)
        {
            self.emitted.pop_front();
            if self.last.get(&oldest) == Some(&at) {
                self.last.remove(&oldest);
            }
        }
        if self.emitted.capacity() > SMALL.max(4 * self.emitted.len()) {
            self.emitted.shrink_to(2 * self.emitted.len());
            self.last.shrink_to(2 * self.last.len());
        }
    }

    /// The bound on keys, if there were more since the last call.
    pub fn take_limit(&mut self) -> Option<String> {
        std::mem::take(&mut self.is_over).then(|| format!("{} keys of ONE PER in an interval", self.most))
    }

    /// Lets matches count from now on, or wait for that.
    pub fn begin(&mut self, has_begun: bool) {
        self.has_begun = has_begun;
        self.keys.clear();
        self.emitted.clear();
        self.last.clear();
    }

    /// Stores an emitted match that may be retracted.
    pub fn keep(&mut self, detected_at: Time, id: [u8; 32]) {
        self.expire(detected_at);
        if self.has_begun && self.last.insert(id, detected_at) != Some(detected_at) {
            self.emitted.push_back((detected_at, id));
        }
    }

    /// Removes a match that is retracted; returns whether it was emitted.
    pub fn take(&mut self, id: &[u8; 32]) -> bool {
        !self.has_begun || self.last.remove(id).is_some()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.keys.capacity() * 17 + self.emitted.capacity() * size_of::<(Time, [u8; 32])>() + self.last.capacity() * 41
    }
}

impl PastOrder {
    /// Of edges in the order of the stream; nothing where there are none.
    pub fn of(edges: &[EdgeRef], came: impl Fn(EdgeRef) -> i64) -> Option<Box<Self>> {
        let newest = edges.iter().map(|&edge| came(edge)).max()?;
        Some(Box::new(Self { places: edges.iter().copied().zip(0..).collect(), newest }))
    }

    /// The place of an edge among those of its unit.
    pub fn rank(past: Option<&Self>, edge: EdgeRef, store: &EdgeStore) -> usize {
        let Some(past) = past else { return store.rank(edge) };
        past.places.get(&edge).copied().unwrap_or_else(|| past.places.len() + store.rank(edge))
    }

    /// Whether all of them came before an instant on the clock of the unit's window.
    pub fn is_before(&self, alive_from: i64) -> bool {
        self.newest < alive_from
    }
}

/// What a key is remembered as.
pub fn digest(key: &[u8]) -> [u8; 16] {
    Blake2b::<U16>::digest(key).into()
}

impl Silent {
    /// Takes it that a pattern does not report a row, whose edges are those of another.
    pub fn repeat(&mut self, place: u32, pattern: PatternId) {
        self.repeated.insert((place, pattern));
    }

    /// Takes it that a pattern does not report a row, since another of its key was.
    pub fn suppress(&mut self, place: u32, pattern: PatternId) {
        self.suppressed.insert((place, pattern));
    }

    /// Whether a pattern emits a row.
    #[inline]
    pub fn emits(&self, place: usize, pattern: PatternId) -> bool {
        let row = (place as u32, pattern);
        (self.suppressed.is_empty() || !self.suppressed.contains(&row))
            && (self.repeated.is_empty() || !self.repeated.contains(&row))
    }

    /// Whether a row is suppressed by another one of its key.
    #[inline]
    pub fn suppresses(&self, place: usize, pattern: PatternId) -> bool {
        !self.suppressed.is_empty() && self.suppressed.contains(&(place as u32, pattern))
    }
}

impl Candidate {
    /// Which of two comes first.
    pub fn first(&self, other: &Self) -> Ordering {
        let newest = |of: &Self| of.order.iter().map(|&(rank, _)| rank).max();
        (self.pattern, self.detected_at, newest(self), &self.order).cmp(&(
            other.pattern,
            other.detected_at,
            newest(other),
            &other.order,
        ))
    }

    /// Its edges, for any query edges.
    pub fn edges(&self) -> Ranks {
        let mut edges: Ranks = self.order.iter().map(|&(rank, _)| rank).collect();
        edges.sort_unstable();
        edges
    }
}

/// Places of assignments of one unit that have the edges of another, which is the first of them.
pub fn repeated(rows: &Rows, past: Option<&PastOrder>, store: &EdgeStore) -> Vec<usize> {
    let mut found: Vec<(Ranks, Ranks, usize)> = Vec::new();
    let mut place = 0;
    rows.each(|_, _, row| {
        if let FoundRow::Assignment { edges, .. } = row {
            let order: Ranks = edges.iter().map(|&edge| PastOrder::rank(past, edge, store)).collect();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            found.push((sorted, order, place));
        }
        place += 1;
    });
    found.sort_unstable();
    found.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].2).collect()
}
