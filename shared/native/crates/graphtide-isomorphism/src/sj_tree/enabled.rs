//! Where the search of a primitive is enabled: at the data vertices that a partial match to be extended holds.
//!
//! The paper's bitmap, kept as counts: a place (vertex, leaf) is enabled while a partial match that enabled it is in the
//! window.
//! Invariant: a count is the number of stored partial matches with that data vertex at that slot. Counts of zero are not kept,
//! so memory follows the partial matches, not the vertices.
//! Cost: O(1) expected.
//! Reference: paper 003, section 4, `M_b`.

use std::hash::BuildHasher;

use graphtide_graph::vertex::Vertex;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// A query vertex of one table of partial matches.
pub type Slot = u32;

#[derive(Debug)]
struct Place {
    key: u64,
    count: u32,
}

/// Counts of partial matches by slot and data vertex.
#[derive(Debug, Default)]
pub struct Enabled {
    places: HashTable<Place>,
}

#[inline]
fn key(slot: Slot, vertex: Vertex) -> u64 {
    u64::from(slot) << 32 | u64::from(vertex.0)
}

#[inline]
fn hash(key: u64) -> u64 {
    FxBuildHasher.hash_one(key)
}

impl Enabled {
    /// Enables the slot at a vertex, once more.
    #[inline]
    pub fn enable(&mut self, slot: Slot, vertex: Vertex) {
        let key = key(slot, vertex);
        if let Some(place) = self.places.find_mut(hash(key), |place| place.key == key) {
            place.count += 1;
        } else {
            self.places.insert_unique(hash(key), Place { key, count: 1 }, |place| hash(place.key));
        }
    }

    /// Takes back one enabling.
    #[inline]
    pub fn disable(&mut self, slot: Slot, vertex: Vertex) {
        let key = key(slot, vertex);
        if let Ok(mut place) = self.places.find_entry(hash(key), |place| place.key == key) {
            place.get_mut().count -= 1;
            if place.get().count == 0 {
                place.remove();
            }
        }
    }

    /// Whether the slot is enabled at a vertex.
    #[inline]
    pub fn is_enabled(&self, slot: Slot, vertex: Vertex) -> bool {
        let key = key(slot, vertex);
        self.places.find(hash(key), |place| place.key == key).is_some()
    }

    /// Bytes they take.
    pub fn bytes(&self) -> usize {
        self.places.len() * (size_of::<Place>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_enabled_until_its_last_partial_match_is_gone() {
        let mut enabled = Enabled::default();
        enabled.enable(1, Vertex(7));
        enabled.enable(1, Vertex(7));
        enabled.disable(1, Vertex(7));
        assert!(enabled.is_enabled(1, Vertex(7)) && !enabled.is_enabled(2, Vertex(7)) && !enabled.is_enabled(1, Vertex(8)));
        enabled.disable(1, Vertex(7));
        assert!(!enabled.is_enabled(1, Vertex(7)));
        enabled.enable(1, Vertex(7));
        assert!(enabled.is_enabled(1, Vertex(7)));
        enabled.disable(1, Vertex(7));
        assert_eq!(enabled.bytes(), 0);
    }
}
