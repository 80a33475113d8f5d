//! The edges of the window by their ids, where edges may be deleted.
//!
//! An id may come again once its first edge has left the window, which the store may still hold: it names the newest. What was
//! made is never deleted, and has no entry where another has its id.
//! Cost: one look-up an edge.

use std::hash::BuildHasher;

use graphtide_graph::Time;
use graphtide_graph::key::IdRef;
use graphtide_graph::store::{EdgeRef, EdgeStore};
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// Edges by id.
#[derive(Debug, Default)]
pub struct Ids(HashTable<EdgeRef>);

impl Ids {
    /// Lets the newest edge be found by its id.
    pub fn name(&mut self, edge: EdgeRef, id: IdRef<'_>, store: &EdgeStore) {
        match self.0.find_mut(hash(id), |&edge| store.id(edge) == id) {
            _ if id.is_made() => {}
            Some(known) => *known = edge,
            None => {
                self.0.insert_unique(hash(id), edge, |&edge| hash(store.id(edge)));
            }
        }
    }

    /// Lets an edge that came late be found by its id, unless the id was given again since.
    pub fn name_out_of_order(&mut self, edge: EdgeRef, store: &EdgeStore) {
        let id = store.id(edge);
        if id.is_made() {
            return;
        }
        match self.0.find_mut(hash(id), |&other| store.id(other) == id) {
            Some(known) if store.get(*known).ts < store.get(edge).ts => *known = edge,
            Some(_) => {}
            None => {
                self.0.insert_unique(hash(id), edge, |&edge| hash(store.id(edge)));
            }
        }
    }

    /// Takes the edge of an id, which names none then.
    pub fn take(&mut self, id: IdRef<'_>, store: &EdgeStore) -> Option<EdgeRef> {
        self.0.find_entry(hash(id), |&edge| store.id(edge) == id).ok().map(|entry| entry.remove().0)
    }

    /// Forgets an edge, which the store still has.
    pub fn forget(&mut self, edge: EdgeRef, store: &EdgeStore) {
        if let Ok(entry) = self.0.find_entry(hash(store.id(edge)), |&other| other == edge) {
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
