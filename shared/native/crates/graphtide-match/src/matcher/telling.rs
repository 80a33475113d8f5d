//! Which of its matches a pattern tells, where that is not each: of those that have the same edges the first, and of those that have
//! the same key the first in each interval of time.
//!
//! Of matches that one record completes, the first is that whose edges, in the order of the text, are the earliest in the stream: so
//! neither the engine nor its plan decides which is told. What was told in an interval follows from the records of the interval and
//! of the reach before it; so whoever takes them again, and tells nothing, goes on as if he had been there.
//! Keys are state: a pattern holds no more of them than its limits allow, and does at the bound what they say.
//! Cost: a comparison a hand-over where all patterns tell all; else a match costs its key and a look-up, one that is told 16 bytes
//! while its interval lasts and, where the stream may delete, its identity while it may be retracted.

use std::cmp::Ordering;
use std::collections::VecDeque;

use blake2::digest::consts::U16;
use blake2::{Blake2b, Digest};
use graphtide_engine::engine::Engine;
use graphtide_engine::ids::PatternId;
use graphtide_engine::limits::Limits;
use graphtide_engine::meter::Meter;
use graphtide_engine::output::{FoundRow, Kind, MatchBatch, Rows};
use graphtide_graph::Time;
use graphtide_graph::clock::{self, Now};
use graphtide_graph::store::{EdgeRef, EdgeStore};
use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use super::Matcher;
use super::query::Query;
use super::unit::{LimitReached, Unit};
use super::window::Window;
use crate::plan::{OnceSpec, TellingSpec};

/// Keys that are remembered of an interval, whatever the limits.
const MOST_KEYS: u64 = 1 << 20;

/// Keys, or matches, for which room may be left when they are gone.
const SMALL: usize = 64;

/// Bytes that a key is counted for: its own, with the room that a table leaves free.
const KEY_BYTES: u64 = 32;

/// What a pattern does not tell.
#[derive(Clone, Debug, Default)]
pub struct Telling {
    /// Of matches that have the same edges the first is told alone.
    pub is_distinct: bool,
    /// What is told once.
    pub once: Option<Once>,
}

/// One match for each key in each interval.
#[derive(Clone, Debug)]
pub struct Once {
    spec: OnceSpec,
    /// Keys that it may hold.
    most: usize,
    /// Whether there were more since somebody asked.
    is_over: bool,
    has_begun: bool,
    interval: i128,
    keys: HashSet<[u8; 16], FxBuildHasher>,
    /// Identities of matches that were told and may be retracted, with when they were.
    told: VecDeque<(Time, [u8; 32])>,
    /// When each of them was told last: ids of edges may be given again.
    last: HashMap<[u8; 32], Time, FxBuildHasher>,
}

/// What is to be done about a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Say {
    /// It is told.
    Told,
    /// It is counted.
    Suppressed,
    /// It is told, though one of its key may have been: there are more keys than are remembered.
    Overflow,
}

/// Rows that are not told as they are, by their places and patterns.
#[derive(Debug, Default)]
pub struct Silent {
    suppressed: HashSet<(u32, PatternId), FxBuildHasher>,
    repeated: HashSet<(u32, PatternId), FxBuildHasher>,
}

/// Places of edges in the stream.
type Ranks = SmallVec<[usize; 8]>;

/// The order in the stream of edges of a unit's past, which may have come late to the store: that lets them be before others of
/// their time. Edges that the unit took since are behind all of them.
#[derive(Clone, Debug)]
pub struct PastOrder {
    places: HashMap<EdgeRef, usize, FxBuildHasher>,
    /// When the last of them came, on the clock of the unit's window.
    newest: i64,
}

/// A row of a pattern that does not tell all.
struct Candidate {
    pattern: PatternId,
    place: u32,
    detected_at: Time,
    /// Its edges in the order of the text, or in that of the stream with the places of their query edges.
    order: SmallVec<[(usize, u8); 8]>,
    key: Option<[u8; 16]>,
}

impl Telling {
    /// What a specification asks for, of a pattern with these limits; none where all is told. Keys may take half of its bytes.
    pub fn new(spec: &TellingSpec, limits: &Limits) -> Option<Box<Self>> {
        let most = limits.state_bytes.map_or(MOST_KEYS, |bytes| (bytes / 2 / KEY_BYTES).clamp(1, MOST_KEYS)) as usize;
        let once = spec.once.map(|spec| Once {
            spec,
            most,
            is_over: false,
            has_begun: true,
            interval: 0,
            keys: HashSet::default(),
            told: VecDeque::new(),
            last: HashMap::default(),
        });
        (spec.is_distinct || once.is_some()).then(|| Box::new(Self { is_distinct: spec.is_distinct, once }))
    }
}

impl Once {
    /// Decides about a match of a key.
    pub fn decide(&mut self, detected_at: Time, key: &[u8; 16]) -> Say {
        if !self.has_begun {
            return Say::Told;
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
        Say::Told
    }

    /// Takes it that nothing is detected before a time any more: what was told in intervals before is of no use.
    pub fn pass(&mut self, now: Time) {
        let (length, parts) = self.spec.every;
        let interval = (i128::from(now) * i128::from(parts)).div_euclid(i128::from(length));
        if interval != self.interval {
            self.interval = interval;
            self.keys.clear();
            // A crowd leaves no empty room behind.
            self.keys.shrink_to(SMALL);
        }
    }

    /// Lets go of matches that were told so long before a time that they are not retracted any more.
    fn expire(&mut self, now: Time) {
        while let Some(&(at, oldest)) = self.told.front()
            && clock::has_passed(at, self.spec.reach, now)
        {
            self.told.pop_front();
            if self.last.get(&oldest) == Some(&at) {
                self.last.remove(&oldest);
            }
        }
        if self.told.capacity() > SMALL.max(4 * self.told.len()) {
            self.told.shrink_to(2 * self.told.len());
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
        self.told.clear();
        self.last.clear();
    }

    /// Remembers a match that was told, to be retracted.
    fn keep(&mut self, detected_at: Time, id: [u8; 32]) {
        self.expire(detected_at);
        if self.has_begun && self.last.insert(id, detected_at) != Some(detected_at) {
            self.told.push_back((detected_at, id));
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.keys.capacity() * 17 + self.told.capacity() * size_of::<(Time, [u8; 32])>() + self.last.capacity() * 41
    }
}

impl PastOrder {
    /// Of edges in the order of the stream; nothing where there are none.
    pub fn of(edges: &[EdgeRef], came: impl Fn(EdgeRef) -> i64) -> Option<Box<Self>> {
        let newest = edges.iter().map(|&edge| came(edge)).max()?;
        Some(Box::new(Self { places: edges.iter().copied().zip(0..).collect(), newest }))
    }

    /// The place of an edge among those of its unit.
    fn rank(past: Option<&Self>, edge: EdgeRef, store: &EdgeStore) -> usize {
        let Some(past) = past else { return store.rank(edge) };
        past.places.get(&edge).copied().unwrap_or_else(|| past.places.len() + store.rank(edge))
    }
}

impl Unit {
    /// Lets go of the order of its past once that has left its window.
    pub fn forget_past(&mut self, now: Now) {
        let alive_from = now.alive_from(self.clock, self.engine.reach());
        if self.past.as_ref().is_some_and(|past| past.newest < alive_from) {
            self.past = None;
        }
    }
}

/// What a key is remembered as.
pub fn digest(key: &[u8]) -> [u8; 16] {
    Blake2b::<U16>::digest(key).into()
}

impl Silent {
    /// Whether a pattern tells a row.
    #[inline]
    pub fn tells(&self, place: usize, pattern: PatternId) -> bool {
        let row = (place as u32, pattern);
        (self.suppressed.is_empty() || !self.suppressed.contains(&row))
            && (self.repeated.is_empty() || !self.repeated.contains(&row))
    }

    /// Whether a row is not told since another of its key was.
    #[inline]
    pub fn suppresses(&self, place: usize, pattern: PatternId) -> bool {
        !self.suppressed.is_empty() && self.suppressed.contains(&(place as u32, pattern))
    }
}

impl Candidate {
    fn first(&self, other: &Self) -> Ordering {
        let newest = |of: &Self| of.order.iter().map(|&(rank, _)| rank).max();
        (self.pattern, self.detected_at, newest(self), &self.order).cmp(&(
            other.pattern,
            other.detected_at,
            newest(other),
            &other.order,
        ))
    }

    /// Its edges, whichever query edges they are.
    fn edges(&self) -> Ranks {
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

impl Matcher {
    /// Decides which of the rows at hand are not told, where some pattern does not tell all.
    #[cold]
    pub(super) fn silence(&mut self) -> Silent {
        let mut candidates = self.candidates();
        candidates.sort_unstable_by(Candidate::first);
        let (mut silent, mut seen) = (Silent::default(), HashSet::<_, FxBuildHasher>::default());
        for found in candidates {
            let (query, row) = (&mut self.queries[found.pattern.place()], (found.place, found.pattern));
            let Some(telling) = &mut query.telling else { continue };
            if telling.is_distinct && !seen.insert((found.pattern, found.edges())) {
                silent.repeated.insert(row);
                continue;
            }
            let said = match (&mut telling.once, &found.key) {
                (Some(once), Some(key)) => once.decide(found.detected_at, key),
                _ => Say::Told,
            };
            query.shed |= said == Say::Overflow;
            if said == Say::Suppressed {
                silent.suppressed.insert(row);
            }
        }
        silent
    }

    /// The rows of matches of patterns that do not tell all.
    fn candidates(&self) -> Vec<Candidate> {
        let Self { units, queries, rows, window: Window { store, vertices, .. }, .. } = self;
        let (mut found, mut place, mut bytes) = (Vec::new(), 0, Vec::new());
        rows.each(|unit, detected_at, row| {
            for &pattern in &units[unit.place()].members {
                let query = &queries[pattern.place()];
                let Some(telling) = query.telling.as_ref().filter(|_| row.kind() == Kind::Match) else { continue };
                let past = units[unit.place()].past.as_deref();
                let rank = |edge: EdgeRef| PastOrder::rank(past, edge, store);
                let order = match row {
                    FoundRow::Assignment { edges, .. } => edges.iter().map(|&edge| (rank(edge), 0)).collect(),
                    FoundRow::Component { pairs, .. } => pairs.iter().map(|&(of, edge)| (rank(edge), of)).collect(),
                };
                let key = telling.once.as_ref().map(|_| {
                    bytes.clear();
                    query.names.key(&row, store, vertices, &mut bytes);
                    digest(&bytes)
                });
                // A component is like no other.
                found.push(Candidate { pattern, place, detected_at, order, key });
            }
            place += 1;
        });
        found
    }

    /// Remembers which matches were told once, from a place of a batch on, and takes back retractions of those that were not.
    pub(super) fn note_told(&mut self, out: &mut MatchBatch, from: usize) {
        let (queries, names) = (&mut self.queries, &self.names);
        out.retain_from(from, |batch, index| {
            let found = batch.get(index, names);
            queries[found.pattern.place()].notes(found.kind, found.detected_at, |query| query.names.match_id(&found))
        });
    }

    /// Bytes that all patterns take for what they told once.
    pub(super) fn telling_bytes(&self) -> usize {
        if self.tells_less { self.queries.iter().map(Query::told_bytes).sum() } else { 0 }
    }

    /// Lets go of what was told in intervals that are over, and does as the limits say where there are too many keys in one.
    #[cold]
    pub(super) fn check_keys(&mut self, meter: &mut Meter<'_>) -> Result<(), LimitReached> {
        let now = self.window.clocks.now();
        self.units.iter_mut().for_each(|unit| unit.forget_past(now));
        for query in &mut self.queries {
            let Some(once) = query.telling.as_mut().and_then(|telling| telling.once.as_mut()) else { continue };
            once.pass(now.ts);
            once.expire(now.ts);
            let Some(limit) = once.take_limit() else { continue };
            match (query.unit, query.events) {
                (Some(unit), _) => self.units[unit.place()].at_limit(&limit, meter)?,
                (None, Some(unit)) => self.events.at_limit(unit, limit)?,
                (None, None) => {}
            }
        }
        Ok(())
    }

    /// Lets a pattern tell what it would if it went on from what another matcher told of it, which stands where this one stands.
    pub fn take_telling(&mut self, number: PatternId, other: &Self, of: PatternId) {
        let (Some(query), Some(other)) = (self.queries.get_mut(number.place()), other.queries.get(of.place())) else { return };
        query.telling.clone_from(&other.telling);
    }

    /// Lets a pattern's matches count as told from now on, or wait for that.
    pub(super) fn begin_telling(&mut self, number: PatternId, has_begun: bool) {
        let telling = self.queries.get_mut(number.place()).and_then(|query| query.telling.as_mut());
        if let Some(once) = telling.and_then(|telling| telling.once.as_mut()) {
            once.begin(has_begun);
        }
    }
}

impl Query {
    /// Bytes that it takes for what it told once.
    pub fn told_bytes(&self) -> usize {
        self.telling.as_ref().and_then(|telling| telling.once.as_ref()).map_or(0, Once::bytes)
    }

    /// Says whether a record of a match that is to be told is told, where a match for each key is; counts it as not told if not.
    pub fn notes(&mut self, kind: Kind, detected_at: Time, id: impl FnOnce(&Self) -> [u8; 32]) -> bool {
        let has_once = |telling: &Telling| telling.once.is_some();
        if !self.telling.as_deref().is_some_and(has_once) || !matches!(kind, Kind::Match | Kind::Retract) {
            return true;
        }
        let id = id(self);
        let Some(once) = self.telling.as_mut().and_then(|telling| telling.once.as_mut()) else { return true };
        if kind == Kind::Match {
            once.keep(detected_at, id);
            return true;
        }
        let was_told = !once.has_begun || once.last.remove(&id).is_some();
        if !was_told {
            self.reports.retractions -= 1;
        }
        was_told
    }
}
