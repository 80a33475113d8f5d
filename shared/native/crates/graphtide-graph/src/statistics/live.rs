//! The live edges, oldest first, for those windows that have to take edges back.
//!
//! A deleted edge is marked and leaves the store with its older neighbours; marked edges are never more than half. The first
//! and the last edge of the store are never marked, so the first and last times are those of live edges.
//! Invariant: an id that was given names the edge it was given to last, while that is live; one that was made names nothing.
//! Cost: O(1) amortised an edge, and one hash look-up where the stream deletes.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::Time;
use crate::clock::Now;
use crate::key::IdRef;
use crate::store::{EdgeRef, EdgeStore, StoredEdge};
use crate::vertex::Vertex;

/// The class of an edge that was deleted.
const DELETED: u32 = u32::MAX;
/// Marked edges that are never worth a sweep.
const SLACK: usize = 1024;

/// Live edges; `class` of an edge is the code of its type.
#[derive(Debug)]
pub(super) struct LiveEdges {
    store: EdgeStore,
    by_id: Option<HashTable<EdgeRef>>,
    marked: usize,
}

#[inline]
fn hash(id: IdRef<'_>) -> u64 {
    FxBuildHasher.hash_one(id)
}

impl LiveEdges {
    /// Makes an empty store; with `deletions`, edges can be found by id.
    pub(super) fn new(deletions: bool) -> Self {
        Self { store: EdgeStore::new(0), by_id: deletions.then(HashTable::new), marked: 0 }
    }

    /// Appends an edge; its time is not before that of any other.
    #[inline]
    pub(super) fn push(&mut self, ts: Time, code: u32, ends: (Vertex, Vertex), id: IdRef<'_>) {
        if self.by_id.is_none() {
            self.store.push((ts, code), ends, IdRef::Made(0), []);
            return;
        }
        let edge = self.store.push((ts, code), ends, id, []);
        self.name(edge);
    }

    /// Removes the oldest edge if its time is before `alive_from`.
    #[inline]
    pub(super) fn pop_expired(&mut self, alive_from: Time) -> Option<StoredEdge> {
        if self.by_id.is_none() {
            return self.store.pop_expired(Now::uncounted(alive_from));
        }
        let (edge, stored) = self.store.oldest()?;
        if stored.ts >= alive_from {
            return None;
        }
        self.forget_id(edge);
        let expired = self.store.pop_oldest();
        self.trim();
        expired
    }

    /// Removes the edge of an id, if one is live.
    pub(super) fn delete(&mut self, id: IdRef<'_>) -> Option<StoredEdge> {
        let store = &self.store;
        let found = self.by_id.as_mut()?.find_entry(hash(id), |edge| store.id(*edge) == id).ok()?;
        let (edge, _) = found.remove();
        let deleted = *self.store.get(edge);
        self.store.set_class(edge, DELETED);
        self.marked += 1;
        self.trim();
        if self.marked > self.store.len() / 2 + SLACK {
            self.sweep();
        }
        Some(deleted)
    }

    /// Times of the first and the last edge.
    pub(super) fn bounds(&self) -> Option<(Time, Time)> {
        Some((self.store.oldest()?.1.ts, self.store.newest()?.1.ts))
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.by_id.is_some());
    }

    /// Lets the id of an edge name it.
    fn name(&mut self, edge: EdgeRef) {
        let Some(by_id) = &mut self.by_id else { return };
        let (store, id) = (&self.store, self.store.id(edge));
        if id.is_made() {
            return;
        }
        if let Some(known) = by_id.find_mut(hash(id), |known| store.id(*known) == id) {
            *known = edge;
        } else {
            by_id.insert_unique(hash(id), edge, |edge| hash(store.id(*edge)));
        }
    }

    fn forget_id(&mut self, edge: EdgeRef) {
        if let Some(by_id) = &mut self.by_id
            && let Ok(entry) = by_id.find_entry(hash(self.store.id(edge)), |other| *other == edge)
        {
            entry.remove();
        }
    }

    /// Drops marked edges at both ends.
    fn trim(&mut self) {
        while self.store.oldest().is_some_and(|(_, stored)| stored.class == DELETED) {
            self.store.pop_oldest();
            self.marked -= 1;
        }
        while self.store.newest().is_some_and(|(_, stored)| stored.class == DELETED) {
            self.store.pop_back();
            self.marked -= 1;
        }
    }

    /// Moves the edges that are not marked to a store of their own.
    #[cold]
    fn sweep(&mut self) {
        let mut swept = Self::new(true);
        for edge in self.store.refs() {
            let (stored, id) = (self.store.get(edge), self.store.id(edge));
            if stored.class == DELETED {
                continue;
            }
            let moved = swept.store.push((stored.ts, stored.class), (stored.source, stored.target), id, []);
            // An edge that lost its id to a later one does not get it back.
            if self.by_id.as_ref().is_some_and(|by_id| by_id.find(hash(id), |other| *other == edge).is_some()) {
                swept.name(moved);
            }
        }
        *self = swept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::KeyRef;

    #[test]
    fn deleted_edges_in_the_middle_of_an_endless_window_are_swept() {
        let mut live = LiveEdges::new(true);
        for number in 0..50_000_u64 {
            live.push(number.cast_signed(), 0, (Vertex(0), Vertex(1)), IdRef::Given(KeyRef::Text(&format!("id {number}"))));
            if number > 1 {
                assert!(live.delete(IdRef::Given(KeyRef::Text(&format!("id {}", number - 1)))).is_some());
            }
            assert!(live.store.len() <= 2 * SLACK + 10);
        }
        assert_eq!(live.bounds(), Some((0, 49_999)));
        assert!(live.delete(IdRef::Given(KeyRef::Text("id 7"))).is_none());
        assert_eq!(live.delete(IdRef::Given(KeyRef::Text("id 49999"))).map(|edge| edge.ts), Some(49_999));
        assert_eq!(live.bounds(), Some((0, 0)));
    }

    #[test]
    fn an_id_given_twice_names_the_later_edge_until_that_has_gone() {
        let mut live = LiveEdges::new(true);
        live.push(1, 7, (Vertex(0), Vertex(1)), IdRef::Given(KeyRef::Number(5)));
        live.push(2, 8, (Vertex(0), Vertex(1)), IdRef::Given(KeyRef::Number(5)));
        live.push(2, 9, (Vertex(0), Vertex(1)), IdRef::Made(5));
        assert_eq!(live.pop_expired(2).map(|edge| edge.class), Some(7));
        assert_eq!(live.delete(IdRef::Given(KeyRef::Number(5))).map(|edge| edge.class), Some(8));
        assert!(live.delete(IdRef::Given(KeyRef::Number(5))).is_none());
        assert!(live.delete(IdRef::Made(5)).is_none());
        assert_eq!(live.pop_expired(3).map(|edge| edge.class), Some(9));
        assert_eq!(live.bounds(), None);
    }
}
