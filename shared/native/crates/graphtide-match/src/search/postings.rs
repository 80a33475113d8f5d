//! The window's edges of one signature, listed by source, by target and by both, newest first.
//!
//! Invariant: an entry's `previous` is the next older entry of the same list; a list ends at the first entry that has left the
//! ring or the reader's window. Patterns that share a signature share its postings, whatever their windows.
//! Cost: O(1) expected to add and to find a list; O(expired) to expire, without touching the lists of others.

use std::collections::VecDeque;
use std::hash::BuildHasher;

use graphtide_graph::Time;
use graphtide_graph::store::EdgeRef;
use graphtide_graph::vertex::Vertex;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

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

#[derive(Debug)]
struct Head {
    key: u64,
    last: Place,
}

/// Lists of one signature.
#[derive(Debug)]
pub struct Postings {
    entries: VecDeque<Entry>,
    first: u32,
    heads: [Option<HashTable<Head>>; 3],
    /// Longest window of the patterns that read the lists.
    window: i64,
    bound: usize,
    shed: bool,
}

#[inline]
fn hash(key: u64) -> u64 {
    FxBuildHasher.hash_one(key)
}

#[inline]
fn key(access: Access, source: Vertex, target: Vertex) -> u64 {
    match access {
        Access::Source => u64::from(source.0),
        Access::Target => u64::from(target.0),
        Access::Both => u64::from(source.0) << 32 | u64::from(target.0),
    }
}

const ACCESSES: [Access; 3] = [Access::Source, Access::Target, Access::Both];

impl Default for Postings {
    /// Makes empty lists that nobody reads yet.
    fn default() -> Self {
        Self { entries: VecDeque::new(), first: 0, heads: [None, None, None], window: 0, bound: usize::MAX, shed: false }
    }
}

impl Postings {
    /// Keeps lists by `access` for a reader of that window.
    pub fn serve(&mut self, access: Access, window: i64) {
        self.heads[access as usize].get_or_insert_with(HashTable::new);
        self.window = self.window.max(window);
    }

    /// Whether anyone reads the lists.
    pub fn is_read(&self) -> bool {
        self.heads.iter().any(Option::is_some)
    }

    /// Gives up the oldest edges beyond `bytes`, even if they are in the window.
    pub fn limit(&mut self, bytes: u64) {
        let entry = size_of::<Entry>() + 3 * size_of::<Head>();
        self.bound = self.bound.min((bytes as usize / entry).max(1));
    }

    /// Whether an edge in the window was given up.
    pub fn has_shed(&self) -> bool {
        self.shed
    }

    /// Adds an edge.
    #[inline]
    pub fn add(&mut self, ts: Time, source: Vertex, target: Vertex, edge: EdgeRef) {
        self.expire(ts.saturating_sub(self.window - 1));
        if self.entries.len() >= self.bound {
            self.shed = true;
            self.pop_front();
        }
        let place = self.first.wrapping_add(self.entries.len() as u32);
        // An older entry than any in the ring: where a list ends.
        let end = self.first.wrapping_sub(1);
        let mut previous = [end; 3];
        for access in ACCESSES {
            let Some(heads) = &mut self.heads[access as usize] else { continue };
            let key = key(access, source, target);
            let hashed = hash(key);
            if let Some(head) = heads.find_mut(hashed, |head| head.key == key) {
                previous[access as usize] = std::mem::replace(&mut head.last, place);
            } else {
                heads.insert_unique(hashed, Head { key, last: place }, |head| hash(head.key));
            }
        }
        self.entries.push_back(Entry { ts, source, target, edge, deleted: false, previous });
    }

    /// Removes the entries that left the longest window of their readers.
    pub fn advance(&mut self, now: Time) {
        self.expire(now.saturating_sub(self.window - 1));
    }

    #[inline]
    fn expire(&mut self, alive_from: Time) {
        while self.entries.front().is_some_and(|entry| entry.ts < alive_from) {
            self.pop_front();
        }
    }

    #[inline]
    fn pop_front(&mut self) {
        let Some(entry) = self.entries.pop_front() else { return };
        let place = self.first;
        self.first = self.first.wrapping_add(1);
        for access in ACCESSES {
            let Some(heads) = &mut self.heads[access as usize] else { continue };
            let key = key(access, entry.source, entry.target);
            if let Ok(head) = heads.find_entry(hash(key), |head| head.key == key && head.last == place) {
                head.remove();
            }
        }
    }

    /// Newest entry of a list.
    #[inline]
    pub fn newest(&self, access: Access, source: Vertex, target: Vertex) -> Option<&Entry> {
        let key = key(access, source, target);
        let head = self.heads[access as usize].as_ref()?.find(hash(key), |head| head.key == key)?;
        self.at(head.last)
    }

    /// Next older entry of the same list.
    #[inline]
    pub fn older(&self, access: Access, entry: &Entry) -> Option<&Entry> {
        self.at(entry.previous[access as usize])
    }

    #[inline]
    fn at(&self, place: Place) -> Option<&Entry> {
        self.entries.get(place.wrapping_sub(self.first) as usize)
    }

    /// Marks an edge as deleted, if it is listed. Entries lie in stream order, as edges do.
    pub fn delete(&mut self, edge: EdgeRef) {
        let Some(oldest) = self.entries.front().map(|entry| entry.edge.0) else { return };
        let rank = |other: EdgeRef| other.0.wrapping_sub(oldest);
        if rank(edge) > i32::MAX as u32 {
            return;
        }
        if let Ok(place) = self.entries.binary_search_by_key(&rank(edge), |entry| rank(entry.edge)) {
            self.entries[place].deleted = true;
        }
    }

    /// Edges listed.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no edge is listed.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes that the lists take.
    pub fn bytes(&self) -> usize {
        let heads: usize = self.heads.iter().flatten().map(HashTable::len).sum();
        self.entries.len() * size_of::<Entry>() + heads * (size_of::<Head>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(postings: &Postings, access: Access, source: u32, target: u32) -> Vec<Time> {
        let mut found = Vec::new();
        let mut entry = postings.newest(access, Vertex(source), Vertex(target));
        while let Some(at) = entry {
            found.push(at.ts);
            entry = postings.older(access, at);
        }
        found
    }

    #[test]
    fn lists_are_newest_first_and_end_at_the_window() {
        let mut postings = Postings::default();
        postings.serve(Access::Source, 10);
        postings.serve(Access::Both, 10);
        for (number, (source, target)) in (0..).zip([(1, 2), (1, 3), (2, 3), (1, 2)]) {
            postings.add(Time::from(number), Vertex(source), Vertex(target), EdgeRef(number));
        }
        assert_eq!(list(&postings, Access::Source, 1, 0), [3, 1, 0]);
        assert_eq!(list(&postings, Access::Both, 1, 2), [3, 0]);
        postings.add(12, Vertex(1), Vertex(2), EdgeRef(4));
        assert_eq!(list(&postings, Access::Source, 1, 0), [12, 3]);
        assert!(list(&postings, Access::Source, 2, 0).is_empty());
        postings.expire(100);
        assert!(postings.is_empty());
        assert!(postings.heads.iter().flatten().all(HashTable::is_empty));
    }

    #[test]
    fn a_list_that_was_emptied_starts_anew() {
        let mut postings = Postings::default();
        postings.serve(Access::Target, 5);
        for number in 0..1000 {
            let ts = Time::from(number) * 10;
            postings.add(ts, Vertex(0), Vertex(1), EdgeRef(number));
            assert_eq!(list(&postings, Access::Target, 0, 1), [ts]);
        }
    }
}
