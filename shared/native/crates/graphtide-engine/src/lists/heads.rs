//! The newest entry of every list, and which watched lists a vertex has.
//!
//! A *watched* list by one end has a bit. The mask of a vertex has the bits of the watched lists with an entry there. So a
//! search for many patterns reads it once, and does not look at list after list. Several lists may share a bit.
//! Invariant: a bit of a vertex is set if a list of that bit has an entry at the vertex. A mask without the bit proves that
//! none has.
//! Cost: O(1) for a list that begins. One that ends costs a look-up for each list of its bit, [`SHARED`] at most.

use std::hash::BuildHasher;

use graphtide_graph::vertex::Vertex;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::access::{ACCESSES, Access, Place};
use crate::ids::RingId;

/// The newest entry of one list.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) list: u32,
    pub(super) last: Place,
    pub(super) key: u64,
}

/// Watched lists, one bit for each or for several.
pub type Mask = u128;

/// Bits there are.
const BITS: usize = Mask::BITS as usize;

/// Lists that share a bit, at most.
const SHARED: usize = 8;

/// The bit of lists that are not watched.
pub(super) const UNWATCHED: u8 = u8::MAX;

#[inline]
pub(super) fn list(ring: RingId, access: Access) -> u32 {
    ring.0 * 3 + access as u32
}

#[inline]
pub(super) fn key(access: Access, source: Vertex, target: Vertex) -> u64 {
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

/// The heads of all lists.
#[derive(Debug, Default)]
pub(super) struct Heads {
    table: HashTable<Head>,
    /// By vertex.
    masks: Vec<Mask>,
    /// By bit: the lists watched.
    watched: Vec<Vec<u32>>,
}

impl Heads {
    /// The place of a list's newest entry.
    #[inline]
    pub(super) fn last(&self, list: u32, key: u64) -> Option<Place> {
        self.table.find(hash(list, key), |head| head.key == key && head.list == list).map(|head| head.last)
    }

    /// Puts an entry at the head of a list; returns the one that it follows.
    // Else it would be a call for every edge.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(super) fn push(&mut self, list: u32, key: u64, place: Place, bit: u8) -> Option<Place> {
        let hashed = hash(list, key);
        if let Some(head) = self.table.find_mut(hashed, |head| head.key == key && head.list == list) {
            return Some(std::mem::replace(&mut head.last, place));
        }
        self.table.insert_unique(hashed, Head { list, last: place, key }, |head| hash(head.list, head.key));
        if bit != UNWATCHED {
            self.mark(key, bit);
        }
        None
    }

    /// Ends a list if the entry is its newest; says whether it is.
    #[inline]
    pub(super) fn pop(&mut self, list: u32, key: u64, place: Place, bit: u8) -> bool {
        let is_last = |head: &Head| head.key == key && head.list == list && head.last == place;
        let Ok(head) = self.table.find_entry(hash(list, key), is_last) else { return false };
        head.remove();
        if bit != UNWATCHED {
            self.unmark(key, bit);
        }
        true
    }

    /// The watched lists that may have an entry at a vertex.
    #[inline]
    pub(super) fn mask(&self, vertex: Vertex) -> Mask {
        self.masks.get(vertex.0 as usize).copied().unwrap_or(0)
    }

    fn mark(&mut self, key: u64, bit: u8) {
        let place = key as usize;
        if place >= self.masks.len() {
            self.masks.resize((place + 1).next_power_of_two(), 0);
        }
        self.masks[place] |= 1 << bit;
    }

    fn unmark(&mut self, key: u64, bit: u8) {
        let others = &self.watched[usize::from(bit)];
        if others.len() > 1 && others.iter().any(|&other| self.last(other, key).is_some()) {
            return;
        }
        if let Some(mask) = self.masks.get_mut(key as usize) {
            *mask &= !(1 << bit);
        }
    }

    /// Watches a list from now on; returns its bit, or none if all bits have as many lists as they may.
    pub(super) fn watch(&mut self, ring: RingId, access: Access) -> Option<u8> {
        let list = list(ring, access);
        let bit = if self.watched.len() < BITS {
            self.watched.iter().position(Vec::is_empty).unwrap_or_else(|| {
                self.watched.push(Vec::new());
                self.watched.len() - 1
            })
        } else {
            (0..BITS).min_by_key(|&bit| self.watched[bit].len()).filter(|&bit| self.watched[bit].len() < SHARED)?
        };
        self.watched[bit].push(list);
        Some(bit as u8)
    }

    /// Marks what a list has, now that it is watched.
    pub(super) fn mark_if_listed(&mut self, list: u32, key: u64, bit: u8) {
        if self.last(list, key).is_some() {
            self.mark(key, bit);
        }
    }

    /// Watches the lists of a ring, which are empty, no longer.
    pub(super) fn unwatch(&mut self, ring: RingId, bits: [u8; 3]) {
        for access in ACCESSES {
            let bit = bits[access as usize];
            if bit != UNWATCHED {
                self.watched[usize::from(bit)].retain(|&other| other != list(ring, access));
            }
        }
    }

    /// Takes all heads out; the same lists stay watched.
    pub(super) fn take(&mut self) -> Self {
        let bare = Self { watched: self.watched.clone(), ..Self::default() };
        std::mem::replace(self, bare)
    }

    /// All heads.
    pub(super) fn into_heads(self) -> impl Iterator<Item = Head> {
        self.table.into_iter()
    }

    /// Bytes of the masks; rings count those of their heads.
    pub(super) fn bytes(&self) -> usize {
        self.masks.len() * size_of::<Mask>()
    }

    /// Lists alive.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }
}
