//! The lists of some edges of one signature: entries in stream order, each with the next older one of its lists.
//!
//! Invariant: an entry's `previous` is the next older entry of the same list; a list ends at the first entry that has left the
//! ring. The heads of all lists lie in one table, which the ring is lent.
//! Cost: O(1) expected to add an entry, and for each that leaves.

use std::collections::VecDeque;

use graphtide_graph::clock::Clock;
use graphtide_graph::store::{EdgeRef, find_in_order};
use graphtide_graph::vertex::Vertex;

use super::access::{ACCESSES, Access, Place};
use super::heads::{Heads, UNWATCHED, key, list};
use super::jumps::Jumps;
use crate::ids::{ReaderId, RingId};
use crate::meter::Meter;

/// An edge in the lists.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// When it came, on the clock of the lists.
    pub at: i64,
    /// Source.
    pub source: Vertex,
    /// Target.
    pub target: Vertex,
    /// The edge in the shared store.
    pub edge: EdgeRef,
    /// Whether the edge was deleted.
    pub deleted: bool,
    pub(super) previous: [u32; 3],
}

impl Entry {
    /// An edge that is to be listed.
    pub fn new(at: i64, (source, target): (Vertex, Vertex), edge: EdgeRef) -> Self {
        Self { at, source, target, edge, deleted: false, previous: [0; 3] }
    }
}

/// Entries of one signature.
#[derive(Debug)]
pub(super) struct Ring {
    pub(super) entries: VecDeque<Entry>,
    pub(super) first: u32,
    /// Which lists are kept.
    pub(super) served: [bool; 3],
    /// Jumps along the lists in which someone skips to an upper bound of time.
    pub(super) jumps: Vec<(Access, Jumps)>,
    /// Lists alive.
    heads: usize,
    pub(super) clock: Clock,
    pub(super) window: i64,
    pub(super) bound: usize,
    pub(super) shed: bool,
    /// The window that all entries cover.
    pub(super) kept: i64,
    /// Whether there are lists or jumps that lack older entries.
    pub(super) unlinked: bool,
    pub(super) readers: Vec<Reader>,
    /// By access: the bit of a list that is watched.
    pub(super) bits: [u8; 3],
    /// Whether all edges of the signature are kept for searches that patterns share.
    pub(super) is_shared: bool,
}

/// What a reader asks of lists.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) id: ReaderId,
    pub(super) window: i64,
    pub(super) bound: usize,
}

impl Default for Ring {
    fn default() -> Self {
        Self {
            entries: VecDeque::new(),
            first: 0,
            served: [false; 3],
            jumps: Vec::new(),
            heads: 0,
            clock: Clock::Time,
            window: 0,
            bound: usize::MAX,
            shed: false,
            kept: 0,
            unlinked: false,
            readers: Vec::new(),
            bits: [UNWATCHED; 3],
            is_shared: false,
        }
    }
}

impl Ring {
    #[inline]
    pub(super) fn at(&self, place: Place) -> Option<&Entry> {
        self.entries.get(place.wrapping_sub(self.first) as usize)
    }

    /// What the reader asks of the lists: nothing yet, if it is new.
    pub(super) fn reader(&mut self, id: ReaderId) -> &mut Reader {
        let place = self.readers.iter().position(|reader| reader.id == id).unwrap_or_else(|| {
            self.readers.push(Reader { id, window: 0, bound: usize::MAX });
            self.readers.len() - 1
        });
        &mut self.readers[place]
    }

    /// Does as all readers ask. What is kept for one that left may be kept on while others read.
    pub(super) fn settle(&mut self) {
        self.window = self.readers.iter().map(|reader| reader.window).max().unwrap_or(0);
        self.bound = self.readers.iter().map(|reader| reader.bound).min().unwrap_or(usize::MAX);
        self.kept = self.kept.min(self.window);
    }

    /// Puts an entry at the head of its lists.
    // Else it would be a call for every edge.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(super) fn push(&mut self, number: RingId, entry: &Entry, heads: &mut Heads) {
        let place = self.first.wrapping_add(self.entries.len() as u32);
        // An older entry than any in the ring: where a list ends.
        let mut previous = [self.first.wrapping_sub(1); 3];
        for access in ACCESSES {
            if !self.served[access as usize] {
                continue;
            }
            let (list, key) = (list(number, access), key(access, entry.source, entry.target));
            match heads.push(list, key, place, self.bits[access as usize]) {
                Some(newest) => previous[access as usize] = newest,
                None => self.heads += 1,
            }
        }
        for (access, jumps) in &mut self.jumps {
            jumps.push_back(self.first, previous[*access as usize]);
        }
        self.entries.push_back(Entry { previous, ..*entry });
    }

    /// Puts the entries into all lists, if some lack them.
    pub(super) fn link(&mut self, number: RingId, heads: &mut Heads) {
        if std::mem::take(&mut self.unlinked) {
            let entries: Vec<Entry> = self.entries.iter().copied().collect();
            self.clear(number, heads);
            self.jumps.iter_mut().for_each(|(_, jumps)| *jumps = Jumps::default());
            for entry in entries {
                self.push(number, &entry, heads);
            }
        }
    }

    /// An empty ring for the same readers and windows by the same clock.
    pub(super) fn bare(&self) -> Self {
        let readers = self.readers.iter().map(|reader| Reader { ..*reader }).collect();
        let jumps = self.jumps.iter().map(|&(access, _)| (access, Jumps::default())).collect();
        let &Self { served, clock, window, bound, bits, is_shared, .. } = self;
        Self { served, jumps, clock, window, bound, readers, bits, is_shared, ..Self::default() }
    }

    pub(super) fn clear(&mut self, number: RingId, heads: &mut Heads) {
        while !self.entries.is_empty() {
            self.pop_front(number, heads);
        }
    }

    pub(super) fn delete(&mut self, at: i64, edge: EdgeRef) {
        if let Some(place) = find_in_order(&self.entries, at, edge, |entry| (entry.at, entry.edge)) {
            self.entries[place].deleted = true;
        }
    }

    pub(super) fn older_until(&self, access: Access, entry: &Entry, latest: i64, meter: &mut Meter<'_>) -> Option<&Entry> {
        let jumps = self.jumps.iter().find(|&&(other, _)| other == access).map(|(_, jumps)| jumps);
        let mut place = entry.previous[access as usize];
        loop {
            let entry = self.at(place)?;
            if entry.at <= latest {
                return Some(entry);
            }
            if !meter.step() {
                return None;
            }
            let far = jumps.and_then(|jumps| jumps.target(place.wrapping_sub(self.first)));
            place = far
                .filter(|&far| self.at(far).is_some_and(|entry| entry.at > latest))
                .unwrap_or(entry.previous[access as usize]);
        }
    }

    #[inline]
    pub(super) fn expire(&mut self, number: RingId, alive_from: i64, heads: &mut Heads, meter: &mut Meter<'_>) {
        while self.entries.front().is_some_and(|entry| entry.at < alive_from) {
            meter.tick(1);
            self.pop_front(number, heads);
        }
    }

    #[inline]
    pub(super) fn pop_front(&mut self, number: RingId, heads: &mut Heads) {
        let Some(entry) = self.entries.pop_front() else { return };
        let place = self.first;
        self.first = self.first.wrapping_add(1);
        self.jumps.iter_mut().for_each(|(_, jumps)| jumps.pop_front());
        for access in ACCESSES {
            if !self.served[access as usize] {
                continue;
            }
            let (list, key) = (list(number, access), key(access, entry.source, entry.target));
            self.heads -= usize::from(heads.pop(list, key, place, self.bits[access as usize]));
        }
    }

    /// Entries in one list of a kind, in the mean; none if it has no entry.
    pub(super) fn mean_length(&self) -> Option<f64> {
        let kinds = self.served.iter().filter(|&&served| served).count();
        (self.heads > 0).then(|| (self.entries.len() * kinds) as f64 / self.heads as f64)
    }

    pub(super) fn bytes(&self) -> usize {
        let jumps: usize = self.jumps.iter().map(|(_, jumps)| jumps.bytes()).sum();
        self.entries.len() * size_of::<Entry>() + jumps + self.heads * (size_of::<super::heads::Head>() + 1)
    }
}
