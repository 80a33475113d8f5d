//! The partial matches of a traced pattern while they are in the window, and the near misses among those that left it.
//!
//! A *near miss* is a partial match that the window passed, that no reported match contains, and that lost no edge. Those with
//! most edges are kept, the newest first among equals, none of them part of another. Engines that store no partial match give
//! the dead ends of their searches instead. A dead end is the edges bound when no edge was found for the next query edge.
//! Invariant: what is held lies in the window of the last expiry; so do the matches that a partial match may be part of.
//! Cost: O(log window) to hold and let go; for a candidate near miss the matches that hold one of its edges.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use graphtide_graph::Time;
use graphtide_graph::clock::{self, Clock};
use graphtide_graph::store::{EdgeRef, EdgeStore};
use graphtide_graph::vertex::VertexTable;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use super::{Node, Reason, Refused};

/// Near misses kept beyond those shown: for when one of those turns out to be part of another.
const SPARE: usize = 8;

/// Data edges by query edge.
type Bound = SmallVec<[(u8, EdgeRef); 4]>;

/// A partial match in the window.
#[derive(Debug)]
pub struct Partial {
    node: Node,
    pub(super) bound: Bound,
    /// When its oldest and its newest edge came, on the clock of the window.
    oldest: i64,
    newest: i64,
    refused: Refused,
    dead_end: Option<DeadEnd>,
}

/// Where a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadEnd {
    /// When.
    pub at: Time,
    /// The query edge that none was found for.
    pub edge: u8,
}

impl Partial {
    /// A partial match that a node stores.
    pub fn new(node: Node, bound: impl Iterator<Item = (u8, EdgeRef)>, of: (&EdgeStore, Clock)) -> Self {
        let mut new = Self { node, bound: bound.collect(), oldest: 0, newest: 0, refused: Refused::default(), dead_end: None };
        new.date(of);
        new
    }

    /// What a search had bound when it found no edge to continue with; to be dated.
    pub fn dead_end(node: Node, bound: impl Iterator<Item = (u8, EdgeRef)>, dead_end: DeadEnd, refused: Refused) -> Self {
        Self { node, bound: bound.collect(), oldest: 0, newest: 0, refused, dead_end: Some(dead_end) }
    }

    fn date(&mut self, (store, clock): (&EdgeStore, Clock)) {
        let times = || self.bound.iter().map(|&(_, edge)| store.came(edge, clock));
        (self.oldest, self.newest) = (times().min().unwrap_or_default(), times().max().unwrap_or_default());
    }

    fn rank(&self) -> Rank {
        (self.bound.len(), self.newest, self.oldest)
    }

    fn has_deleted(&self, store: &EdgeStore) -> bool {
        store.has_deleted() && self.bound.iter().any(|&(_, edge)| store.is_deleted(edge))
    }
}

/// What makes a near miss nearer: more edges, then newer ones.
type Rank = (usize, i64, i64);

/// What became of the partial matches of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fates {
    /// Stored in all.
    pub created: u64,
    /// In the window at the end.
    pub alive: u64,
    /// Passed by the window.
    pub expired: u64,
    /// Of which an edge was deleted: passed over from then on.
    pub deleted: u64,
    /// Given up at a limit.
    pub given_up: u64,
    /// Consumed by a report.
    pub consumed: u64,
}

/// A partial match that came far.
#[derive(Clone, Debug)]
pub struct NearMiss {
    /// The node that stored it, or the step at which the search for more ended.
    pub node: Node,
    /// Query edges with id and time of their data edges.
    pub edges: Vec<(u8, String, Time)>,
    /// Query vertices with the names of their data vertices.
    pub vertices: Vec<(u8, String)>,
    /// First time at which its oldest edge is not in the window; none if the window counts edges.
    pub expired_at: Option<Time>,
    /// What it was tried with, or the search looked at, in vain.
    pub refused: Refused,
    /// Where the search ended, if it was one.
    pub dead_end: Option<DeadEnd>,
    rank: Rank,
    bound: Bound,
}

/// What a trace knows of partial matches.
#[derive(Debug)]
pub struct Partials {
    clock: Clock,
    ends: Vec<(u8, u8)>,
    /// Stored ones by key, dead ends above all keys.
    held: HashMap<u64, Partial, FxBuildHasher>,
    by_oldest: BTreeMap<i64, Vec<u64>>,
    next_dead_end: u64,
    fates: BTreeMap<Node, Fates>,
    matches: BTreeMap<i64, Vec<Arc<[EdgeRef]>>>,
    matches_of: HashMap<u32, Vec<Arc<[EdgeRef]>>, FxBuildHasher>,
    shown: usize,
    most: usize,
    misses: Vec<NearMiss>,
}

impl Partials {
    /// Holds nothing yet; `ends` are the vertices of every query edge, `clock` that of the window.
    pub fn new(clock: Clock, ends: Vec<(u8, u8)>, most: usize) -> Self {
        Self {
            clock,
            ends,
            held: HashMap::default(),
            by_oldest: BTreeMap::new(),
            next_dead_end: 1 << 32,
            fates: BTreeMap::new(),
            matches: BTreeMap::new(),
            matches_of: HashMap::default(),
            shown: most,
            most: if most == 0 { 0 } else { most + SPARE },
            misses: Vec::new(),
        }
    }

    /// Holds a partial match that was stored.
    pub fn store(&mut self, key: u32, partial: Partial) {
        self.fates.entry(partial.node).or_default().created += 1;
        self.hold(u64::from(key), partial);
    }

    /// Holds a dead end, if it may turn out a near miss; says whether.
    pub fn remember(&mut self, mut dead_end: Partial, store: &EdgeStore) -> bool {
        dead_end.date((store, self.clock));
        let is_near = self.may_be_near(dead_end.rank());
        if is_near {
            self.hold(self.next_dead_end, dead_end);
            self.next_dead_end += 1;
        }
        is_near
    }

    fn hold(&mut self, key: u64, partial: Partial) {
        self.by_oldest.entry(partial.oldest).or_default().push(key);
        self.held.insert(key, partial);
    }

    /// Counts a vain try against a stored partial match, if it is in the window.
    pub fn refuse(&mut self, key: u32, reason: Reason) {
        if let Some(partial) = self.held.get_mut(&u64::from(key)) {
            partial.refused.add_alive(reason);
        }
    }

    /// Notes a match.
    pub fn matched(&mut self, at: i64, edges: &[EdgeRef]) {
        let found: Arc<[EdgeRef]> = edges.into();
        for edge in edges {
            self.matches_of.entry(edge.0).or_default().push(Arc::clone(&found));
        }
        self.matches.entry(at).or_default().push(found);
    }

    /// Drops what has an edge from before `alive_from`.
    pub fn expire(&mut self, (alive_from, window): (i64, i64), store: &EdgeStore, names: &VertexTable) {
        while let Some(entry) = self.by_oldest.first_entry()
            && *entry.key() < alive_from
        {
            for key in entry.remove() {
                let Some(partial) = self.held.remove(&key) else { continue };
                let is_deleted = partial.has_deleted(store);
                if partial.dead_end.is_none() {
                    let fates = self.fates.entry(partial.node).or_default();
                    *(if is_deleted { &mut fates.deleted } else { &mut fates.expired }) += 1;
                }
                if !is_deleted && self.is_near(&partial) {
                    self.keep(partial, window, store, names);
                }
            }
        }
        // A match goes with its newest edge: until then a part of it may expire.
        while let Some(entry) = self.matches.first_entry()
            && *entry.key() < alive_from
        {
            for edge in entry.remove().iter().flat_map(|found| found.iter()) {
                self.matches_of.remove(&edge.0);
            }
        }
    }

    fn may_be_near(&self, rank: Rank) -> bool {
        self.most > 0 && (self.misses.len() < self.most || self.misses.last().is_some_and(|last| last.rank < rank))
    }

    fn is_near(&self, partial: &Partial) -> bool {
        let holds = |edges: &[EdgeRef]| partial.bound.iter().all(|&(query, edge)| edges[usize::from(query)] == edge);
        let matches = partial.bound.last().and_then(|(_, edge)| self.matches_of.get(&edge.0));
        self.may_be_near(partial.rank())
            && !self.misses.iter().any(|miss| is_part(&partial.bound, &miss.bound))
            && !matches.is_some_and(|matches| matches.iter().any(|found| holds(found)))
    }

    fn keep(&mut self, partial: Partial, window: i64, store: &EdgeStore, names: &VertexTable) {
        self.misses.retain(|miss| !is_part(&miss.bound, &partial.bound));
        let mut vertices = BTreeMap::new();
        for &(query, edge) in &partial.bound {
            let (stored, ends) = (store.get(edge), self.ends[usize::from(query)]);
            vertices.insert(ends.0, names.name(stored.source).to_string());
            vertices.insert(ends.1, names.name(stored.target).to_string());
        }
        let mut edges: Vec<(u8, String, Time)> =
            partial.bound.iter().map(|&(query, edge)| (query, store.id(edge).to_string(), store.get(edge).ts)).collect();
        edges.sort_by_key(|&(query, ..)| query);
        let rank = partial.rank();
        let place = self.misses.partition_point(|miss| Reverse(miss.rank) <= Reverse(rank));
        let miss = NearMiss {
            node: partial.node,
            edges,
            vertices: vertices.into_iter().collect(),
            expired_at: (self.clock == Clock::Time).then(|| clock::add(partial.oldest, window)),
            refused: partial.refused,
            dead_end: partial.dead_end,
            rank,
            bound: partial.bound,
        };
        self.misses.insert(place, miss);
        self.misses.truncate(self.most);
    }

    /// Drops all that is stored.
    pub fn clear(&mut self) {
        for partial in self.held.values().filter(|partial| partial.dead_end.is_none()) {
            self.fates.entry(partial.node).or_default().given_up += 1;
        }
        self.held.clear();
        self.by_oldest.clear();
    }

    /// What became of the partial matches of each node.
    pub fn fates(&self, store: &EdgeStore) -> BTreeMap<Node, Fates> {
        let mut all = self.fates.clone();
        for partial in self.held.values().filter(|partial| partial.dead_end.is_none()) {
            let fates = all.entry(partial.node).or_default();
            *(if partial.has_deleted(store) { &mut fates.deleted } else { &mut fates.alive }) += 1;
        }
        all
    }

    /// How many misses are shown.
    pub fn shown(&self) -> usize {
        self.shown
    }

    /// The nearest misses, nearest first.
    pub fn misses(&self) -> &[NearMiss] {
        &self.misses[..self.misses.len().min(self.shown)]
    }
}

fn is_part(part: &Bound, whole: &Bound) -> bool {
    part.iter().all(|pair| whole.contains(pair))
}
