//! The window's edges of every signature, listed by source, by target and by both, newest first.
//!
//! Invariant: an entry's `previous` is the next older entry of the same list; a list ends at the first entry that has left the
//! ring or the reader's window. Patterns that share a signature share its lists, whatever their windows. The heads of all lists
//! lie in one table, so that asking thousands of patterns' lists touches memory in proportion to the edges alive.
//! Cost: O(1) expected to add and to find a list; O(expired) to expire, without touching the lists of others.

use std::collections::VecDeque;
use std::hash::BuildHasher;

use graphtide_graph::Time;
use graphtide_graph::store::EdgeRef;
use graphtide_graph::vertex::Vertex;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::dispatch::SignatureId;

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
    /// Lists alive.
    heads: usize,
    window: i64,
    bound: usize,
    shed: bool,
}

/// Lists of all signatures.
#[derive(Debug, Default)]
pub struct Postings {
    rings: Vec<Ring>,
    heads: HashTable<Head>,
}

const ACCESSES: [Access; 3] = [Access::Source, Access::Target, Access::Both];

#[inline]
fn list(signature: SignatureId, access: Access) -> u32 {
    signature * 3 + access as u32
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
        let ring = || Ring {
            entries: VecDeque::new(),
            first: 0,
            served: [false; 3],
            heads: 0,
            window: 0,
            bound: usize::MAX,
            shed: false,
        };
        Self { rings: std::iter::repeat_with(ring).take(signatures).collect(), heads: HashTable::new() }
    }

    #[inline]
    fn ring(&self, signature: SignatureId) -> &Ring {
        &self.rings[signature as usize]
    }

    /// Keeps a signature's lists by `access` for a reader of that window.
    pub fn serve(&mut self, signature: SignatureId, access: Access, window: i64) {
        let ring = &mut self.rings[signature as usize];
        ring.served[access as usize] = true;
        ring.window = ring.window.max(window);
    }

    /// Gives up a signature's oldest edges beyond `bytes`, even if they are in the window.
    pub fn limit(&mut self, signature: SignatureId, bytes: u64) {
        let entry = size_of::<Entry>() + 3 * size_of::<Head>();
        let ring = &mut self.rings[signature as usize];
        ring.bound = ring.bound.min((bytes as usize / entry).max(1));
    }

    /// Whether an edge of the signature was given up while it was in the window.
    pub fn has_shed(&self, signature: SignatureId) -> bool {
        self.ring(signature).shed
    }

    /// Lists an edge under a signature; says whether anyone reads it there.
    #[inline]
    pub fn add(&mut self, signature: SignatureId, ts: Time, (source, target): (Vertex, Vertex), edge: EdgeRef) -> bool {
        let Self { rings, heads } = self;
        let ring = &mut rings[signature as usize];
        if ring.window == 0 {
            return false;
        }
        ring.expire(signature, ts.saturating_sub(ring.window - 1), heads);
        if ring.entries.len() >= ring.bound {
            ring.shed = true;
            ring.pop_front(signature, heads);
        }
        let place = ring.first.wrapping_add(ring.entries.len() as u32);
        // An older entry than any in the ring: where a list ends.
        let mut previous = [ring.first.wrapping_sub(1); 3];
        for access in ACCESSES {
            if !ring.served[access as usize] {
                continue;
            }
            let (list, key) = (list(signature, access), key(access, source, target));
            let hashed = hash(list, key);
            if let Some(head) = heads.find_mut(hashed, |head| head.key == key && head.list == list) {
                previous[access as usize] = std::mem::replace(&mut head.last, place);
            } else {
                heads.insert_unique(hashed, Head { list, last: place, key }, |head| hash(head.list, head.key));
                ring.heads += 1;
            }
        }
        ring.entries.push_back(Entry { ts, source, target, edge, deleted: false, previous });
        true
    }

    /// Removes the entries that left the longest window of their readers.
    pub fn advance(&mut self, now: Time) {
        let Self { rings, heads } = self;
        for (signature, ring) in (0..).zip(rings) {
            ring.expire(signature, now.saturating_sub(ring.window.max(1) - 1), heads);
        }
    }

    /// Whether a list has an entry, which may have left the reader's window.
    #[inline]
    pub fn has_any(&self, signature: SignatureId, access: Access, source: Vertex, target: Vertex) -> bool {
        let (list, key) = (list(signature, access), key(access, source, target));
        self.heads.find(hash(list, key), |head| head.key == key && head.list == list).is_some()
    }

    /// Newest entry of a list.
    #[inline]
    pub fn newest(&self, signature: SignatureId, access: Access, source: Vertex, target: Vertex) -> Option<&Entry> {
        let (list, key) = (list(signature, access), key(access, source, target));
        let head = self.heads.find(hash(list, key), |head| head.key == key && head.list == list)?;
        self.ring(signature).at(head.last)
    }

    /// Next older entry of the same list.
    #[inline]
    pub fn older(&self, signature: SignatureId, access: Access, entry: &Entry) -> Option<&Entry> {
        self.ring(signature).at(entry.previous[access as usize])
    }

    /// Marks an edge as deleted, if it is listed under the signature. Entries lie in stream order, as edges do.
    pub fn delete(&mut self, signature: SignatureId, edge: EdgeRef) {
        let entries = &mut self.rings[signature as usize].entries;
        let Some(oldest) = entries.front().map(|entry| entry.edge.0) else { return };
        let rank = |other: EdgeRef| other.0.wrapping_sub(oldest);
        if rank(edge) > i32::MAX as u32 {
            return;
        }
        if let Ok(place) = entries.binary_search_by_key(&rank(edge), |entry| rank(entry.edge)) {
            entries[place].deleted = true;
        }
    }

    /// Bytes that the lists of a signature take.
    pub fn bytes(&self, signature: SignatureId) -> usize {
        self.ring(signature).bytes()
    }

    /// Bytes that all lists take.
    pub fn total_bytes(&self) -> usize {
        self.rings.iter().map(Ring::bytes).sum()
    }
}

impl Ring {
    #[inline]
    fn at(&self, place: Place) -> Option<&Entry> {
        self.entries.get(place.wrapping_sub(self.first) as usize)
    }

    #[inline]
    fn expire(&mut self, signature: SignatureId, alive_from: Time, heads: &mut HashTable<Head>) {
        while self.entries.front().is_some_and(|entry| entry.ts < alive_from) {
            self.pop_front(signature, heads);
        }
    }

    #[inline]
    fn pop_front(&mut self, signature: SignatureId, heads: &mut HashTable<Head>) {
        let Some(entry) = self.entries.pop_front() else { return };
        let place = self.first;
        self.first = self.first.wrapping_add(1);
        for access in ACCESSES {
            if !self.served[access as usize] {
                continue;
            }
            let (list, key) = (list(signature, access), key(access, entry.source, entry.target));
            let is_last = |head: &Head| head.key == key && head.list == list && head.last == place;
            if let Ok(head) = heads.find_entry(hash(list, key), is_last) {
                head.remove();
                self.heads -= 1;
            }
        }
    }

    fn bytes(&self) -> usize {
        self.entries.len() * size_of::<Entry>() + self.heads * (size_of::<Head>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(!postings.add(1, 0, (Vertex(1), Vertex(2)), EdgeRef(0)), "nobody reads it");
        postings.serve(1, Access::Source, 10);
        postings.serve(1, Access::Both, 10);
        for (number, (source, target)) in (0..).zip([(1, 2), (1, 3), (2, 3), (1, 2)]) {
            postings.add(1, Time::from(number), (Vertex(source), Vertex(target)), EdgeRef(number));
        }
        assert_eq!(times(&postings, Access::Source, 1, 0), [3, 1, 0]);
        assert_eq!(times(&postings, Access::Both, 1, 2), [3, 0]);
        postings.add(1, 12, (Vertex(1), Vertex(2)), EdgeRef(4));
        assert_eq!(times(&postings, Access::Source, 1, 0), [12, 3]);
        assert!(times(&postings, Access::Source, 2, 0).is_empty());
        assert!(postings.has_any(1, Access::Source, Vertex(1), Vertex::NONE));
        postings.advance(100);
        assert_eq!((postings.total_bytes(), postings.heads.len()), (0, 0));
    }

    #[test]
    fn a_list_that_was_emptied_starts_anew() {
        let mut postings = Postings::new(2);
        postings.serve(1, Access::Target, 5);
        for number in 0..1000 {
            let ts = Time::from(number) * 10;
            postings.add(1, ts, (Vertex(0), Vertex(1)), EdgeRef(number));
            assert_eq!(times(&postings, Access::Target, 0, 1), [ts]);
        }
    }
}
