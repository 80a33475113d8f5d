//! The edges of the window by their ids, where edges may be deleted.
//!
//! An id may come again once its first edge has left the window, which the store may still hold: it names the newest. What was
//! made is never deleted, and has no entry where another has its id.
//! Cost: one look-up an edge, from the first deletion on, which costs one for each edge of the window. Most streams that may have
//! deletions have none.

use std::hash::BuildHasher;

use graphtide_graph::Time;
use graphtide_graph::key::IdRef;
use graphtide_graph::store::{EdgeRef, EdgeStore};
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// Edges by id.
#[derive(Debug, Default)]
pub struct Ids {
    /// Empty before the first deletion.
    edges: HashTable<EdgeRef>,
    /// Whether there was a deletion.
    are_kept: bool,
}

impl Ids {
    /// Lets the newest edge be found by its id.
    pub fn name(&mut self, edge: EdgeRef, id: IdRef<'_>, store: &EdgeStore) {
        if !self.are_kept || id.is_made() {
            return;
        }
        match self.edges.find_mut(hash(id), |&edge| store.id(edge) == id) {
            Some(known) => *known = edge,
            None => {
                self.edges.insert_unique(hash(id), edge, |&edge| hash(store.id(edge)));
            }
        }
    }

    /// Lets an edge that came late be found by its id, unless the id was given again since.
    pub fn name_out_of_order(&mut self, edge: EdgeRef, store: &EdgeStore) {
        let id = store.id(edge);
        if !self.are_kept || id.is_made() {
            return;
        }
        match self.edges.find_mut(hash(id), |&other| store.id(other) == id) {
            Some(known) if store.get(*known).ts < store.get(edge).ts => *known = edge,
            Some(_) => {}
            None => {
                self.edges.insert_unique(hash(id), edge, |&edge| hash(store.id(edge)));
            }
        }
    }

    /// Takes the edge of an id, which names none then.
    pub fn take(&mut self, id: IdRef<'_>, store: &EdgeStore) -> Option<EdgeRef> {
        if !self.are_kept {
            self.are_kept = true;
            store.refs().for_each(|edge| self.name(edge, store.id(edge), store));
        }
        self.edges.find_entry(hash(id), |&edge| store.id(edge) == id).ok().map(|entry| entry.remove().0)
    }

    /// Forgets an edge, which the store still has.
    pub fn forget(&mut self, edge: EdgeRef, store: &EdgeStore) {
        if self.are_kept
            && let Ok(entry) = self.edges.find_entry(hash(store.id(edge)), |&other| other == edge)
        {
            entry.remove();
        }
    }
}

/// Finds edges of the store by time and id, each once; they are asked for in order of time.
#[derive(Debug, Default)]
pub struct OfTime {
    ts: Option<Time>,
    by_id: HashTable<EdgeRef>,
}

impl OfTime {
    /// Takes the edge of a time and an id.
    pub fn take(&mut self, store: &EdgeStore, ts: Time, id: IdRef<'_>) -> Option<EdgeRef> {
        if self.ts != Some(ts) {
            self.ts = Some(ts);
            self.by_id.clear();
            let of = |edge: &EdgeRef| hash(store.id(*edge));
            for edge in store.of_time(ts).filter(|&edge| !store.is_deleted(edge)) {
                self.by_id.insert_unique(of(&edge), edge, of);
            }
        }
        let found = self.by_id.find_entry(hash(id), |&edge| store.id(edge) == id).ok()?;
        Some(found.remove().0)
    }
}

fn hash(id: IdRef<'_>) -> u64 {
    FxBuildHasher.hash_one(id)
}
