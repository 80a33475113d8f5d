//! The window's edges of every signature, listed by source, by target and by both, newest first.
//!
//! Invariant: an entry's `previous` is the next older entry of the same list; a list ends at the first entry that has left the
//! ring or the reader's window. Patterns that share a signature share its lists, whatever their windows. The heads of all lists
//! lie in one table, so that asking thousands of patterns' lists touches memory in proportion to the edges alive.
//! Lists may be *narrowed*: then only edges are listed whose gates are open when they arrive, for readers to whom the others are
//! of no use. Narrowed lists of equal gates are one, too.
//! Cost: O(1) expected to add and to find a list; O(expired) to expire, without touching the lists of others.

use std::collections::VecDeque;
use std::hash::BuildHasher;

use graphtide_graph::Time;
use graphtide_graph::store::EdgeRef;
use graphtide_graph::vertex::Vertex;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::dispatch::SignatureId;
use crate::meter::Meter;
use crate::search::gate::Gate;
use crate::search::jumps::Jumps;

/// What a list is keyed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Edges out of a vertex.
    Source = 0,
    /// Edges into a vertex.
    Target = 1,
    /// Edges from one vertex to another.
    Both = 2,
}

/// An edge in the lists.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Event time.
    pub ts: Time,
    /// Source.
    pub source: Vertex,
    /// Target.
    pub target: Vertex,
    /// The edge in the shared store.
    pub edge: EdgeRef,
    /// Whether the edge was deleted.
    pub deleted: bool,
    previous: [u32; 3],
}

/// Lists of one signature: those of all its edges have its number, narrowed ones the numbers after the last signature.
pub type RingId = u32;

/// A place in the lists: the low half of an entry's sequence number.
pub type Place = u32;

/// The newest entry of one list.
#[derive(Debug)]
struct Head {
    list: u32,
    last: Place,
    key: u64,
}

/// Entries of one signature.
#[derive(Debug)]
struct Ring {
    entries: VecDeque<Entry>,
    first: u32,
    /// Which lists are kept.
    served: [bool; 3],
    /// Jumps along the lists in which someone skips to an upper bound of time.
    jumps: Vec<(Access, Jumps)>,
    /// Lists alive.
    heads: usize,
    window: i64,
    bound: usize,
    shed: bool,
}

/// Lists of some edges of a signature.
#[derive(Debug)]
struct Narrowed {
    ring: RingId,
    gates: Vec<Gate>,
}

/// Lists of all signatures.
#[derive(Debug, Default)]
pub struct Postings {
    rings: Vec<Ring>,
    /// For every signature, its narrowed lists; those that a gate reads are older than those it is a gate of.
    narrowed: Vec<Vec<Narrowed>>,
    heads: HashTable<Head>,
}

/// Every access.
pub const ACCESSES: [Access; 3] = [Access::Source, Access::Target, Access::Both];

#[inline]
fn list(ring: RingId, access: Access) -> u32 {
    ring * 3 + access as u32
}

#[inline]
fn key(access: Access, source: Vertex, target: Vertex) -> u64 {
    match access {
        Access::Source => u64::from(source.0),
        Access::Target => u64::from(target.0),
        Access::Both => u64::from(source.0) << 32 | u64::from(target.0),
    }
}

#[inline]
fn hash(list: u32, key: u64) -> u64 {
    FxBuildHasher.hash_one((list, key))
}

impl Postings {
    /// Makes lists for that many signatures; nobody reads them yet.
    pub fn new(signatures: usize) -> Self {
        Self {
            rings: std::iter::repeat_with(Ring::default).take(signatures).collect(),
            narrowed: std::iter::repeat_with(Vec::new).take(signatures).collect(),
            heads: HashTable::new(),
        }
    }

    #[inline]
    fn ring(&self, ring: RingId) -> &Ring {
        &self.rings[ring as usize]
    }

    /// Returns the lists of a signature's edges that find every gate open; nobody reads them yet.
    ///
    /// A gate is open while its list has an entry in the window of the lists it leads to.
    pub fn narrow(&mut self, signature: SignatureId, gates: Vec<Gate>) -> RingId {
        if gates.is_empty() {
            return signature;
        }
        let narrowed = &mut self.narrowed[signature as usize];
        if let Some(known) = narrowed.iter().find(|known| known.gates == gates) {
            return known.ring;
        }
        let ring = self.rings.len() as RingId;
        self.rings.push(Ring::default());
        narrowed.push(Narrowed { ring, gates });
        ring
    }

    /// Keeps lists by `access` for a reader of that window.
    pub fn serve(&mut self, ring: RingId, access: Access, window: i64) {
        let ring = &mut self.rings[ring as usize];
        ring.served[access as usize] = true;
        ring.window = ring.window.max(window);
    }

    /// Lets a reader of lists by `access` skip to an upper bound of time in O(log) steps.
    pub fn serve_skips(&mut self, ring: RingId, access: Access) {
        let jumps = &mut self.rings[ring as usize].jumps;
        if jumps.iter().all(|&(other, _)| other != access) {
            jumps.push((access, Jumps::default()));
        }
    }

    /// Gives up the oldest edges beyond `bytes`, even if they are in the window.
    pub fn limit(&mut self, ring: RingId, bytes: u64) {
        let entry = size_of::<Entry>() + 3 * size_of::<Head>();
        let ring = &mut self.rings[ring as usize];
        ring.bound = ring.bound.min((bytes as usize / entry).max(1));
    }

    /// Whether an edge was given up while it was in the window.
    pub fn has_shed(&self, ring: RingId) -> bool {
        self.ring(ring).shed
    }

    /// Lists an edge under a signature; says whether anyone reads it there.
    #[inline]
    pub fn add(
        &mut self,
        signature: SignatureId,
        ts: Time,
        ends: (Vertex, Vertex),
        edge: EdgeRef,
        meter: &mut Meter<'_>,
    ) -> bool {
        let mut kept = false;
        // From the newest: an edge is no gate to itself.
        for place in (0..self.narrowed[signature as usize].len()).rev() {
            let Narrowed { ring, ref gates } = self.narrowed[signature as usize][place];
            let alive_from = ts.saturating_sub(self.ring(ring).window - 1);
            if gates.iter().all(|gate| gate.is_open_since(alive_from, self, ends.0, ends.1)) {
                kept |= self.put(ring, ts, ends, edge, meter);
            }
        }
        self.put(signature, ts, ends, edge, meter) || kept
    }

    #[inline]
    fn put(
        &mut self,
        number: RingId,
        ts: Time,
        (source, target): (Vertex, Vertex),
        edge: EdgeRef,
        meter: &mut Meter<'_>,
    ) -> bool {
        let Self { rings, heads, .. } = self;
        let ring = &mut rings[number as usize];
        if ring.window == 0 {
            return false;
        }
        ring.expire(number, ts.saturating_sub(ring.window - 1), heads, meter);
        if ring.entries.len() >= ring.bound {
            ring.shed = true;
            ring.pop_front(number, heads);
        }
        let place = ring.first.wrapping_add(ring.entries.len() as u32);
        // An older entry than any in the ring: where a list ends.
        let mut previous = [ring.first.wrapping_sub(1); 3];
        for access in ACCESSES {
            if !ring.served[access as usize] {
                continue;
            }
            let (list, key) = (list(number, access), key(access, source, target));
            let hashed = hash(list, key);
            if let Some(head) = heads.find_mut(hashed, |head| head.key == key && head.list == list) {
                previous[access as usize] = std::mem::replace(&mut head.last, place);
            } else {
                heads.insert_unique(hashed, Head { list, last: place, key }, |head| hash(head.list, head.key));
                ring.heads += 1;
            }
        }
        for (access, jumps) in &mut ring.jumps {
            jumps.push_back(ring.first, previous[*access as usize]);
        }
        ring.entries.push_back(Entry { ts, source, target, edge, deleted: false, previous });
        true
    }

    /// Removes the entries that left the longest window of their readers.
    pub fn advance(&mut self, now: Time, meter: &mut Meter<'_>) {
        let Self { rings, heads, .. } = self;
        for (number, ring) in (0..).zip(rings) {
            ring.expire(number, now.saturating_sub(ring.window.max(1) - 1), heads, meter);
        }
    }

    /// Whether a list has an entry, which may have left the reader's window.
    #[inline]
    pub fn has_any(&self, ring: RingId, access: Access, source: Vertex, target: Vertex) -> bool {
        let (list, key) = (list(ring, access), key(access, source, target));
        self.heads.find(hash(list, key), |head| head.key == key && head.list == list).is_some()
    }

    /// Whether the newest entry of any of these lists is that edge.
    pub fn has_just(&self, ring: RingId, edge: EdgeRef) -> bool {
        self.ring(ring).entries.back().is_some_and(|entry| entry.edge == edge)
    }

    /// Newest entry of a list.
    #[inline]
    pub fn newest(&self, ring: RingId, access: Access, source: Vertex, target: Vertex) -> Option<&Entry> {
        let (list, key) = (list(ring, access), key(access, source, target));
        let head = self.heads.find(hash(list, key), |head| head.key == key && head.list == list)?;
        self.ring(ring).at(head.last)
    }

    /// Next older entry of the same list.
    #[inline]
    pub fn older(&self, ring: RingId, access: Access, entry: &Entry) -> Option<&Entry> {
        self.ring(ring).at(entry.previous[access as usize])
    }

    /// Whether a list has an entry older than this one, without a look at it.
    #[inline]
    pub fn has_older(&self, ring: RingId, access: Access, entry: &Entry) -> bool {
        let ring = self.ring(ring);
        (entry.previous[access as usize].wrapping_sub(ring.first) as usize) < ring.entries.len()
    }

    /// Newest entry not after `latest`, of those older than this one in the same list; none if the meter refuses to look on.
    #[inline]
    pub fn older_until(
        &self,
        ring: RingId,
        access: Access,
        entry: &Entry,
        latest: Time,
        meter: &mut Meter<'_>,
    ) -> Option<&Entry> {
        self.ring(ring).older_until(access, entry, latest, meter)
    }

    /// Marks an edge as deleted, if it is listed under the signature. Entries lie in stream order, as edges do.
    pub fn delete(&mut self, signature: SignatureId, edge: EdgeRef) {
        self.rings[signature as usize].delete(edge);
        for narrowed in &self.narrowed[signature as usize] {
            self.rings[narrowed.ring as usize].delete(edge);
        }
    }

    /// Bytes that lists take.
    pub fn bytes(&self, ring: RingId) -> usize {
        self.ring(ring).bytes()
    }

    /// Bytes that all lists take.
    pub fn total_bytes(&self) -> usize {
        self.rings.iter().map(Ring::bytes).sum()
    }
}

impl Default for Ring {
    fn default() -> Self {
        Self {
            entries: VecDeque::new(),
            first: 0,
            served: [false; 3],
            jumps: Vec::new(),
            heads: 0,
            window: 0,
            bound: usize::MAX,
            shed: false,
        }
    }
}

impl Ring {
    #[inline]
    fn at(&self, place: Place) -> Option<&Entry> {
        self.entries.get(place.wrapping_sub(self.first) as usize)
    }

    fn delete(&mut self, edge: EdgeRef) {
        let Some(oldest) = self.entries.front().map(|entry| entry.edge.0) else { return };
        let rank = |other: EdgeRef| other.0.wrapping_sub(oldest);
        if rank(edge) > i32::MAX as u32 {
            return;
        }
        if let Ok(place) = self.entries.binary_search_by_key(&rank(edge), |entry| rank(entry.edge)) {
            self.entries[place].deleted = true;
        }
    }

    fn older_until(&self, access: Access, entry: &Entry, latest: Time, meter: &mut Meter<'_>) -> Option<&Entry> {
        let jumps = self.jumps.iter().find(|&&(other, _)| other == access).map(|(_, jumps)| jumps);
        let mut place = entry.previous[access as usize];
        loop {
            let entry = self.at(place)?;
            if entry.ts <= latest {
                return Some(entry);
            }
            if !meter.step() {
                return None;
            }
            let far = jumps.and_then(|jumps| jumps.target(place.wrapping_sub(self.first)));
            place = far
                .filter(|&far| self.at(far).is_some_and(|entry| entry.ts > latest))
                .unwrap_or(entry.previous[access as usize]);
        }
    }

    #[inline]
    fn expire(&mut self, number: RingId, alive_from: Time, heads: &mut HashTable<Head>, meter: &mut Meter<'_>) {
        while self.entries.front().is_some_and(|entry| entry.ts < alive_from) {
            meter.tick(1);
            self.pop_front(number, heads);
        }
    }

    #[inline]
    fn pop_front(&mut self, number: RingId, heads: &mut HashTable<Head>) {
        let Some(entry) = self.entries.pop_front() else { return };
        let place = self.first;
        self.first = self.first.wrapping_add(1);
        self.jumps.iter_mut().for_each(|(_, jumps)| jumps.pop_front());
        for access in ACCESSES {
            if !self.served[access as usize] {
                continue;
            }
            let (list, key) = (list(number, access), key(access, entry.source, entry.target));
            let is_last = |head: &Head| head.key == key && head.list == list && head.last == place;
            if let Ok(head) = heads.find_entry(hash(list, key), is_last) {
                head.remove();
                self.heads -= 1;
            }
        }
    }

    fn bytes(&self) -> usize {
        let jumps: usize = self.jumps.iter().map(|(_, jumps)| jumps.bytes()).sum();
        self.entries.len() * size_of::<Entry>() + jumps + self.heads * (size_of::<Head>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Unhurried;

    fn add(postings: &mut Postings, signature: SignatureId, ts: Time, (source, target): (u32, u32), edge: u32) -> bool {
        let ends = (Vertex(source), Vertex(target));
        postings.add(signature, ts, ends, EdgeRef(edge), &mut Meter::unbounded(&Unhurried))
    }

    fn times(postings: &Postings, access: Access, source: u32, target: u32) -> Vec<Time> {
        let mut found = Vec::new();
        let mut entry = postings.newest(1, access, Vertex(source), Vertex(target));
        while let Some(at) = entry {
            found.push(at.ts);
            entry = postings.older(1, access, at);
        }
        found
    }

    #[test]
    fn lists_are_newest_first_and_end_at_the_window() {
        let mut postings = Postings::new(2);
        assert!(!add(&mut postings, 1, 0, (1, 2), 0), "nobody reads it");
        postings.serve(1, Access::Source, 10);
        postings.serve(1, Access::Both, 10);
        for (number, (source, target)) in (0..).zip([(1, 2), (1, 3), (2, 3), (1, 2)]) {
            add(&mut postings, 1, Time::from(number), (source, target), number);
        }
        assert_eq!(times(&postings, Access::Source, 1, 0), [3, 1, 0]);
        assert_eq!(times(&postings, Access::Both, 1, 2), [3, 0]);
        add(&mut postings, 1, 12, (1, 2), 4);
        assert_eq!(times(&postings, Access::Source, 1, 0), [12, 3]);
        assert!(times(&postings, Access::Source, 2, 0).is_empty());
        assert!(postings.has_any(1, Access::Source, Vertex(1), Vertex::NONE));
        postings.advance(100, &mut Meter::unbounded(&Unhurried));
        assert_eq!((postings.total_bytes(), postings.heads.len()), (0, 0));
    }

    #[test]
    fn a_list_that_was_emptied_starts_anew() {
        let mut postings = Postings::new(2);
        postings.serve(1, Access::Target, 5);
        for number in 0..1000 {
            let ts = Time::from(number) * 10;
            add(&mut postings, 1, ts, (0, 1), number);
            assert_eq!(times(&postings, Access::Target, 0, 1), [ts]);
        }
    }

    #[test]
    fn a_narrowed_list_keeps_what_finds_its_gates_open() {
        let mut postings = Postings::new(2);
        postings.serve(0, Access::Target, 10);
        let gate = Gate::new(0, Access::Target, (0, 1), (1, 2));
        let narrowed = postings.narrow(1, vec![gate]);
        assert_eq!((narrowed, postings.narrow(1, vec![gate]), postings.narrow(1, Vec::new())), (2, 2, 1));
        postings.serve(narrowed, Access::Source, 10);
        let mut arrive = |signature, ts, source, target, edge| add(&mut postings, signature, ts, (source, target), edge);
        assert!(!arrive(1, 0, 7, 8, 0), "nothing came into 7");
        assert!(arrive(0, 1, 6, 7, 1));
        assert!(arrive(1, 2, 7, 8, 2));
        assert!(!arrive(1, 2, 8, 7, 3), "nothing came into 8");
        assert!(!arrive(1, 11, 7, 8, 4), "the edge into 7 left the window");
        assert!(postings.newest(narrowed, Access::Source, Vertex(7), Vertex::NONE).is_some_and(|entry| entry.ts == 2));
        postings.delete(1, EdgeRef(2));
        assert!(postings.newest(narrowed, Access::Source, Vertex(7), Vertex::NONE).is_some_and(|entry| entry.deleted));
    }

    #[test]
    fn an_edge_is_no_gate_to_itself() {
        let mut postings = Postings::new(1);
        let gate = |ring| Gate::new(ring, Access::Source, (0, 1), (0, 2));
        let second = postings.narrow(0, vec![gate(0)]);
        let third = postings.narrow(0, vec![gate(second)]);
        for ring in [0, second, third] {
            postings.serve(ring, Access::Source, 10);
        }
        let mut lengths = Vec::new();
        for number in 0..3 {
            add(&mut postings, 0, Time::from(number), (1, 2 + number), number);
            lengths.push([0, second, third].map(|ring| postings.ring(ring).entries.len()));
        }
        assert_eq!(lengths, [[1, 0, 0], [2, 1, 0], [3, 2, 1]]);
    }

    #[test]
    fn a_list_is_skipped_to_a_time_with_jumps_and_without() {
        for with_jumps in [false, true] {
            let mut postings = Postings::new(2);
            postings.serve(1, Access::Source, 300);
            if with_jumps {
                postings.serve_skips(1, Access::Source);
            }
            for number in 0..1000 {
                // Every third entry is of another list.
                add(&mut postings, 1, Time::from(number), (u32::from(number % 3 == 0), 2), number);
            }
            let Some(newest) = postings.newest(1, Access::Source, Vertex(0), Vertex::NONE) else { panic!("it has entries") };
            for latest in 600..newest.ts {
                let found = postings
                    .older_until(1, Access::Source, newest, latest, &mut Meter::unbounded(&Unhurried))
                    .map(|entry| entry.ts);
                let expected = (700..=latest).rev().find(|ts| ts % 3 != 0);
                assert_eq!(found, expected, "{latest}");
            }
        }
    }
}
