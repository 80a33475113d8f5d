//! The window's edges of every signature, listed by source, by target and by both, newest first.
//!
//! Invariant: an entry's `previous` is the next older entry of the same list; a list ends at the first entry that has left the
//! ring or the reader's window. Patterns that share a signature share its lists, whatever their windows, as far as these are
//! measured by one clock: on that clock lies when an entry came. The heads of all lists lie in one table, so that asking thousands
//! of patterns' lists touches memory in proportion to the edges alive.
//! Lists may be *narrowed*: then only edges are listed whose gates are open when they arrive, for readers to whom the others are
//! of no use. Narrowed lists of equal gates are one, too.
//! Readers come and go. A reader of a longer window brings edges with it, of which the lists are made anew
//! ([`Postings::set_aside`]); whoever read them before reads them as before.
//! Cost: O(1) expected to add and to find a list; O(expired) to expire, without touching the lists of others.

use std::collections::VecDeque;
use std::hash::BuildHasher;

use graphtide_graph::clock::{CLOCKS, Clock, Now};
use graphtide_graph::store::{EdgeRef, find_in_order};
use graphtide_graph::vertex::Vertex;
use graphtide_graph::{Time, clock};
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::gate::Gate;
use super::jumps::Jumps;
use super::{ACCESSES, Access, Place};
use crate::ids::{ReaderId, RingId, SignatureId};
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
    previous: [u32; 3],
}

impl Entry {
    /// An edge that is to be listed.
    pub fn new(at: i64, (source, target): (Vertex, Vertex), edge: EdgeRef) -> Self {
        Self { at, source, target, edge, deleted: false, previous: [0; 3] }
    }
}

/// No lists.
const NONE: RingId = RingId(u32::MAX);

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
    clock: Clock,
    window: i64,
    bound: usize,
    shed: bool,
    /// The window of which all entries are there.
    kept: i64,
    /// Whether there are lists or jumps that lack older entries.
    unlinked: bool,
    readers: Vec<Reader>,
}

/// What a reader asks of lists.
#[derive(Debug)]
struct Reader {
    id: ReaderId,
    window: i64,
    bound: usize,
}

/// Lists of some edges of a signature.
#[derive(Debug)]
struct Narrowed {
    ring: RingId,
    gates: Vec<Gate>,
}

/// Lists of one signature for windows by one clock.
#[derive(Debug)]
struct Lists {
    /// Of all its edges; [`NONE`] if nobody reads them.
    whole: RingId,
    /// Those that a gate reads are older than those it is a gate of.
    narrowed: Vec<Narrowed>,
}

/// Lists of all signatures.
#[derive(Debug, Default)]
pub struct Postings {
    rings: Vec<Ring>,
    /// Numbers that may be given again.
    free: Vec<RingId>,
    /// By clock.
    by_signature: [Vec<Lists>; 2],
    heads: HashTable<Head>,
    next_reader: u32,
}

/// Lists that make room for others of the same numbers.
#[derive(Debug)]
pub struct Aside {
    rings: Vec<(RingId, Ring)>,
    heads: HashTable<Head>,
}

#[inline]
fn list(ring: RingId, access: Access) -> u32 {
    ring.0 * 3 + access as u32
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
    /// Has room for that many signatures; nobody reads lists of new ones yet.
    pub fn grow(&mut self, signatures: usize) {
        for lists in &mut self.by_signature {
            lists.resize_with(signatures, || Lists { whole: NONE, narrowed: Vec::new() });
        }
    }

    /// Returns a new reader.
    pub fn reader(&mut self) -> ReaderId {
        self.next_reader += 1;
        ReaderId(self.next_reader)
    }

    /// Returns the lists of all edges of a signature, for windows by a clock; nobody reads them yet.
    pub fn whole(&mut self, signature: SignatureId, clock: Clock) -> RingId {
        if self.lists(clock, signature).whole == NONE {
            self.lists_mut(clock, signature).whole = self.new_ring(clock);
        }
        self.lists(clock, signature).whole
    }

    #[inline]
    fn lists(&self, clock: Clock, signature: SignatureId) -> &Lists {
        &self.by_signature[clock as usize][signature.place()]
    }

    fn lists_mut(&mut self, clock: Clock, signature: SignatureId) -> &mut Lists {
        &mut self.by_signature[clock as usize][signature.place()]
    }

    fn new_ring(&mut self, clock: Clock) -> RingId {
        let number = self.free.pop().unwrap_or_else(|| {
            self.rings.push(Ring::default());
            RingId(self.rings.len() as u32 - 1)
        });
        self.rings[number.place()].clock = clock;
        number
    }

    #[inline]
    fn ring(&self, ring: RingId) -> &Ring {
        &self.rings[ring.place()]
    }

    /// Returns the lists of a signature's edges that find every gate open; nobody reads them yet.
    ///
    /// A gate is open while its list has an entry in the window of the lists it leads to.
    pub fn narrow(&mut self, signature: SignatureId, clock: Clock, gates: Vec<Gate>) -> RingId {
        if gates.is_empty() {
            return self.whole(signature, clock);
        }
        let narrowed = &self.lists(clock, signature).narrowed;
        if let Some(known) = narrowed.iter().find(|known| known.gates == gates) {
            return known.ring;
        }
        let ring = self.new_ring(clock);
        self.lists_mut(clock, signature).narrowed.push(Narrowed { ring, gates });
        ring
    }

    /// Keeps lists by `access` for a reader of that window.
    pub fn serve(&mut self, reader: ReaderId, ring: RingId, access: Access, window: i64) {
        let ring = &mut self.rings[ring.place()];
        ring.unlinked |= !ring.served[access as usize];
        ring.served[access as usize] = true;
        let asked = ring.reader(reader);
        asked.window = asked.window.max(window);
        ring.settle();
    }

    /// Keeps several lists for a reader of that window; returns which.
    pub fn serve_all(
        &mut self,
        reader: ReaderId,
        reads: impl IntoIterator<Item = (RingId, Access)>,
        window: i64,
    ) -> Vec<RingId> {
        let served = reads.into_iter().map(|(ring, access)| {
            self.serve(reader, ring, access, window);
            ring
        });
        served.collect()
    }

    /// Lets a reader of lists by `access` skip to an upper bound of time in O(log) steps.
    pub fn serve_skips(&mut self, ring: RingId, access: Access) {
        let ring = &mut self.rings[ring.place()];
        if ring.jumps.iter().all(|&(other, _)| other != access) {
            ring.unlinked = true;
            ring.jumps.push((access, Jumps::default()));
        }
    }

    /// Gives up the oldest edges beyond `bytes`, even if they are in the window.
    pub fn limit(&mut self, reader: ReaderId, ring: RingId, bytes: u64) {
        let entry = size_of::<Entry>() + 3 * size_of::<Head>();
        let ring = &mut self.rings[ring.place()];
        let asked = ring.reader(reader);
        asked.bound = asked.bound.min((bytes as usize / entry).max(1));
        ring.settle();
    }

    /// Whether the reader reads lists.
    pub fn reads(&self, reader: ReaderId, ring: RingId) -> bool {
        self.ring(ring).readers.iter().any(|other| other.id == reader)
    }

    /// Lets go of the lists of all edges of these signatures that nobody reads after all.
    pub fn release_unread(&mut self, signatures: &[SignatureId]) {
        for clock in CLOCKS {
            for &signature in signatures {
                let whole = self.lists(clock, signature).whole;
                if whole != NONE && self.ring(whole).readers.is_empty() {
                    self.lists_mut(clock, signature).whole = NONE;
                    self.free.push(whole);
                }
            }
        }
    }

    /// Keeps lists no longer for a reader; those that nobody reads are gone.
    pub fn leave(&mut self, reader: ReaderId, signatures: &[SignatureId], lists: &[RingId]) {
        for &number in lists {
            let Self { rings, heads, .. } = self;
            let ring = &mut rings[number.place()];
            ring.readers.retain(|other| other.id != reader);
            ring.settle();
            if ring.readers.is_empty() {
                let clock = ring.clock;
                ring.clear(number, heads);
                *ring = Ring::default();
                for &signature in signatures {
                    let of = self.lists_mut(clock, signature);
                    of.narrowed.retain(|narrowed| narrowed.ring != number);
                    of.whole = if of.whole == number { NONE } else { of.whole };
                }
                self.free.push(number);
            }
        }
    }

    /// Puts lists aside, so that they are made anew, of edges that come again in their order by [`relist`](Self::relist).
    pub fn set_aside(&mut self, lists: &[RingId]) -> Aside {
        let rings = lists.iter().map(|&number| {
            let ring = &mut self.rings[number.place()];
            let bare = ring.bare();
            (number, std::mem::replace(ring, bare))
        });
        Aside { rings: rings.collect(), heads: std::mem::take(&mut self.heads) }
    }

    /// Lists an edge that comes again under a signature, in lists that were set aside.
    pub fn relist(
        &mut self,
        aside: &Aside,
        signature: SignatureId,
        now: Now,
        (ends, edge): ((Vertex, Vertex), EdgeRef),
        meter: &mut Meter<'_>,
    ) {
        let lists = aside.rings.iter().map(|&(number, _)| number);
        for clock in CLOCKS {
            let is_meant = |ring| lists.clone().any(|number| number == ring);
            self.add_where((clock, signature), now.on(clock), ends, edge, meter, is_meant);
        }
    }

    /// Puts lists back. If they were made anew for a reader, those stay that lacked edges of its window.
    pub fn put_back(&mut self, aside: Aside, made_for: Option<ReaderId>) {
        let made_heads = std::mem::replace(&mut self.heads, aside.heads);
        let mut stay = Vec::new();
        for (number, mut old) in aside.rings {
            let ring = &mut self.rings[number.place()];
            let made = made_for.map_or(0, |reader| ring.reader(reader).window);
            if old.kept < made {
                old.clear(number, &mut self.heads);
                ring.shed |= old.shed;
                ring.kept = made;
                stay.push(number);
            } else {
                *ring = old;
                ring.link(number, &mut self.heads);
            }
        }
        for head in made_heads {
            if stay.contains(&RingId(head.list / 3)) {
                self.heads.insert_unique(hash(head.list, head.key), head, |head| hash(head.list, head.key));
            }
        }
    }

    /// Takes all lists for what their readers need: there was no edge yet.
    pub fn begin(&mut self) {
        for ring in &mut self.rings {
            (ring.kept, ring.unlinked) = (ring.window, false);
        }
    }

    /// Whether an edge was given up while it was in the window.
    pub fn has_shed(&self, ring: RingId) -> bool {
        self.ring(ring).shed
    }

    /// Lists an edge under a signature for windows of time; says whether anyone reads it there.
    #[inline]
    pub fn add(
        &mut self,
        signature: SignatureId,
        ts: Time,
        ends: (Vertex, Vertex),
        edge: EdgeRef,
        meter: &mut Meter<'_>,
    ) -> bool {
        self.add_where((Clock::Time, signature), ts, ends, edge, meter, |_| true)
    }

    /// Lists an edge under a signature for windows of edges; says whether anyone reads it there.
    pub fn add_counted(
        &mut self,
        signature: SignatureId,
        edges: i64,
        ends: (Vertex, Vertex),
        edge: EdgeRef,
        meter: &mut Meter<'_>,
    ) -> bool {
        self.add_where((Clock::Edges, signature), edges, ends, edge, meter, |_| true)
    }

    // Else it would be a call for every edge.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn add_where(
        &mut self,
        (clock, signature): (Clock, SignatureId),
        at: i64,
        ends: (Vertex, Vertex),
        edge: EdgeRef,
        meter: &mut Meter<'_>,
        is_meant: impl Fn(RingId) -> bool,
    ) -> bool {
        let mut kept = false;
        let &Lists { whole, ref narrowed } = self.lists(clock, signature);
        // From the newest: an edge is no gate to itself.
        for place in (0..narrowed.len()).rev() {
            let &Narrowed { ring, ref gates } = &self.lists(clock, signature).narrowed[place];
            let alive_from = clock::alive_from(at, self.ring(ring).window);
            if is_meant(ring) && gates.iter().all(|&gate| self.is_open_since(gate, alive_from, ends)) {
                kept |= self.put(ring, at, ends, edge, meter);
            }
        }
        (whole != NONE && is_meant(whole) && self.put(whole, at, ends, edge, meter)) || kept
    }

    #[inline]
    fn put(
        &mut self,
        number: RingId,
        at: i64,
        (source, target): (Vertex, Vertex),
        edge: EdgeRef,
        meter: &mut Meter<'_>,
    ) -> bool {
        let Self { rings, heads, .. } = self;
        let ring = &mut rings[number.place()];
        if ring.window == 0 {
            return false;
        }
        ring.expire(number, clock::alive_from(at, ring.window), heads, meter);
        if ring.entries.len() >= ring.bound {
            ring.shed = true;
            ring.pop_front(number, heads);
        }
        ring.push(number, &Entry::new(at, (source, target), edge), heads);
        true
    }

    /// Removes the entries that left the longest window of their readers.
    pub fn advance(&mut self, now: Now, meter: &mut Meter<'_>) {
        let Self { rings, heads, .. } = self;
        for (number, ring) in (0..).zip(rings) {
            ring.expire(RingId(number), now.alive_from(ring.clock, ring.window.max(1)), heads, meter);
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

    /// Whether the list of a gate has an entry for an edge that arrives with these ends.
    #[inline]
    pub fn is_open(&self, gate: Gate, ends: (Vertex, Vertex)) -> bool {
        let (source, target) = gate.ends(ends);
        self.has_any(gate.ring, gate.access, source, target)
    }

    /// Whether the list of a gate has an entry from that instant on, on its clock.
    #[inline]
    fn is_open_since(&self, gate: Gate, earliest: i64, ends: (Vertex, Vertex)) -> bool {
        let (source, target) = gate.ends(ends);
        self.newest(gate.ring, gate.access, source, target).is_some_and(|entry| entry.at >= earliest)
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
        latest: i64,
        meter: &mut Meter<'_>,
    ) -> Option<&Entry> {
        self.ring(ring).older_until(access, entry, latest, meter)
    }

    /// Marks an edge that came then as deleted, if it is listed under the signature. Entries lie in stream order, as edges do.
    pub fn delete(&mut self, signature: SignatureId, born: Now, edge: EdgeRef) {
        for clock in CLOCKS {
            let Lists { whole, narrowed } = &self.by_signature[clock as usize][signature.place()];
            for ring in narrowed.iter().map(|narrowed| narrowed.ring).chain((*whole != NONE).then_some(*whole)) {
                self.rings[ring.place()].delete(born.on(clock), edge);
            }
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
            clock: Clock::Time,
            window: 0,
            bound: usize::MAX,
            shed: false,
            kept: 0,
            unlinked: false,
            readers: Vec::new(),
        }
    }
}

impl Ring {
    #[inline]
    fn at(&self, place: Place) -> Option<&Entry> {
        self.entries.get(place.wrapping_sub(self.first) as usize)
    }

    /// What the reader asks of the lists: nothing yet, if it is new.
    fn reader(&mut self, id: ReaderId) -> &mut Reader {
        let place = self.readers.iter().position(|reader| reader.id == id).unwrap_or_else(|| {
            self.readers.push(Reader { id, window: 0, bound: usize::MAX });
            self.readers.len() - 1
        });
        &mut self.readers[place]
    }

    /// Does as all readers ask. What is kept for one that left may be kept on while others read.
    fn settle(&mut self) {
        self.window = self.readers.iter().map(|reader| reader.window).max().unwrap_or(0);
        self.bound = self.readers.iter().map(|reader| reader.bound).min().unwrap_or(usize::MAX);
        self.kept = self.kept.min(self.window);
    }

    /// Puts an entry at the head of its lists.
    // Else it would be a call for every edge.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn push(&mut self, number: RingId, entry: &Entry, heads: &mut HashTable<Head>) {
        let place = self.first.wrapping_add(self.entries.len() as u32);
        // An older entry than any in the ring: where a list ends.
        let mut previous = [self.first.wrapping_sub(1); 3];
        for access in ACCESSES {
            if !self.served[access as usize] {
                continue;
            }
            let (list, key) = (list(number, access), key(access, entry.source, entry.target));
            let hashed = hash(list, key);
            if let Some(head) = heads.find_mut(hashed, |head| head.key == key && head.list == list) {
                previous[access as usize] = std::mem::replace(&mut head.last, place);
            } else {
                heads.insert_unique(hashed, Head { list, last: place, key }, |head| hash(head.list, head.key));
                self.heads += 1;
            }
        }
        for (access, jumps) in &mut self.jumps {
            jumps.push_back(self.first, previous[*access as usize]);
        }
        self.entries.push_back(Entry { previous, ..*entry });
    }

    /// Puts the entries into all lists, if some lack them.
    fn link(&mut self, number: RingId, heads: &mut HashTable<Head>) {
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
    fn bare(&self) -> Self {
        let readers = self.readers.iter().map(|reader| Reader { ..*reader }).collect();
        let jumps = self.jumps.iter().map(|&(access, _)| (access, Jumps::default())).collect();
        let &Self { served, clock, window, bound, .. } = self;
        Self { served, jumps, clock, window, bound, readers, ..Self::default() }
    }

    fn clear(&mut self, number: RingId, heads: &mut HashTable<Head>) {
        while !self.entries.is_empty() {
            self.pop_front(number, heads);
        }
    }

    fn delete(&mut self, at: i64, edge: EdgeRef) {
        if let Some(place) = find_in_order(&self.entries, at, edge, |entry| (entry.at, entry.edge)) {
            self.entries[place].deleted = true;
        }
    }

    fn older_until(&self, access: Access, entry: &Entry, latest: i64, meter: &mut Meter<'_>) -> Option<&Entry> {
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
    fn expire(&mut self, number: RingId, alive_from: i64, heads: &mut HashTable<Head>, meter: &mut Meter<'_>) {
        while self.entries.front().is_some_and(|entry| entry.at < alive_from) {
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

    const READER: ReaderId = ReaderId(99);
    const ZERO: RingId = RingId(0);
    const ONE: RingId = RingId(1);
    const TWO: RingId = RingId(2);

    /// Lists of so many signatures, those of all edges by their numbers.
    fn listing(signatures: usize) -> Postings {
        let mut postings = Postings::default();
        postings.grow(signatures);
        for number in 0..signatures as u32 {
            assert_eq!(postings.whole(SignatureId(number), Clock::Time), RingId(number));
        }
        postings
    }

    fn add(postings: &mut Postings, signature: u32, ts: Time, (source, target): (u32, u32), edge: u32) -> bool {
        let ends = (Vertex(source), Vertex(target));
        postings.add(SignatureId(signature), ts, ends, EdgeRef(edge), &mut Meter::unbounded(&Unhurried))
    }

    fn times(postings: &Postings, access: Access, source: u32, target: u32) -> Vec<Time> {
        let mut found = Vec::new();
        let mut entry = postings.newest(ONE, access, Vertex(source), Vertex(target));
        while let Some(at) = entry {
            found.push(at.at);
            entry = postings.older(ONE, access, at);
        }
        found
    }

    #[test]
    fn lists_are_newest_first_and_end_at_the_window() {
        let mut postings = listing(2);
        assert!(!add(&mut postings, 1, 0, (1, 2), 0), "nobody reads it");
        postings.serve(READER, ONE, Access::Source, 10);
        postings.serve(READER, ONE, Access::Both, 10);
        for (number, (source, target)) in (0..).zip([(1, 2), (1, 3), (2, 3), (1, 2)]) {
            add(&mut postings, 1, Time::from(number), (source, target), number);
        }
        assert_eq!(times(&postings, Access::Source, 1, 0), [3, 1, 0]);
        assert_eq!(times(&postings, Access::Both, 1, 2), [3, 0]);
        add(&mut postings, 1, 12, (1, 2), 4);
        assert_eq!(times(&postings, Access::Source, 1, 0), [12, 3]);
        assert!(times(&postings, Access::Source, 2, 0).is_empty());
        assert!(postings.has_any(ONE, Access::Source, Vertex(1), Vertex::NONE));
        postings.advance(Now::uncounted(100), &mut Meter::unbounded(&Unhurried));
        assert_eq!((postings.total_bytes(), postings.heads.len()), (0, 0));
    }

    #[test]
    fn a_list_that_was_emptied_starts_anew() {
        let mut postings = listing(2);
        postings.serve(READER, ONE, Access::Target, 5);
        for number in 0..1000 {
            let ts = Time::from(number) * 10;
            add(&mut postings, 1, ts, (0, 1), number);
            assert_eq!(times(&postings, Access::Target, 0, 1), [ts]);
        }
    }

    #[test]
    fn a_narrowed_list_keeps_what_finds_its_gates_open() {
        let mut postings = listing(2);
        postings.serve(READER, ZERO, Access::Target, 10);
        let gate = Gate::new(ZERO, Access::Target, (0, 1), (1, 2));
        let narrowed = postings.narrow(SignatureId(1), Clock::Time, vec![gate]);
        assert_eq!(
            (
                narrowed,
                postings.narrow(SignatureId(1), Clock::Time, vec![gate]),
                postings.narrow(SignatureId(1), Clock::Time, Vec::new())
            ),
            (TWO, TWO, ONE)
        );
        postings.serve(READER, narrowed, Access::Source, 10);
        let mut arrive = |signature, ts, source, target, edge| add(&mut postings, signature, ts, (source, target), edge);
        assert!(!arrive(1, 0, 7, 8, 0), "nothing came into 7");
        assert!(arrive(0, 1, 6, 7, 1));
        assert!(arrive(1, 2, 7, 8, 2));
        assert!(!arrive(1, 2, 8, 7, 3), "nothing came into 8");
        assert!(!arrive(1, 11, 7, 8, 4), "the edge into 7 left the window");
        assert!(postings.newest(narrowed, Access::Source, Vertex(7), Vertex::NONE).is_some_and(|entry| entry.at == 2));
        postings.delete(SignatureId(1), Now::uncounted(2), EdgeRef(2));
        assert!(postings.newest(narrowed, Access::Source, Vertex(7), Vertex::NONE).is_some_and(|entry| entry.deleted));
    }

    #[test]
    fn an_edge_is_no_gate_to_itself() {
        let mut postings = listing(1);
        let gate = |ring| Gate::new(ring, Access::Source, (0, 1), (0, 2));
        let second = postings.narrow(SignatureId(0), Clock::Time, vec![gate(ZERO)]);
        let third = postings.narrow(SignatureId(0), Clock::Time, vec![gate(second)]);
        for ring in [ZERO, second, third] {
            postings.serve(READER, ring, Access::Source, 10);
        }
        let mut lengths = Vec::new();
        for number in 0..3 {
            add(&mut postings, 0, Time::from(number), (1, 2 + number), number);
            lengths.push([ZERO, second, third].map(|ring| postings.ring(ring).entries.len()));
        }
        assert_eq!(lengths, [[1, 0, 0], [2, 1, 0], [3, 2, 1]]);
    }

    #[test]
    fn a_list_is_skipped_to_a_time_with_jumps_and_without() {
        for with_jumps in [false, true] {
            let mut postings = listing(2);
            postings.serve(READER, ONE, Access::Source, 300);
            if with_jumps {
                postings.serve_skips(ONE, Access::Source);
            }
            for number in 0..1000 {
                // Every third entry is of another list.
                add(&mut postings, 1, Time::from(number), (u32::from(number % 3 == 0), 2), number);
            }
            let Some(newest) = postings.newest(ONE, Access::Source, Vertex(0), Vertex::NONE) else { panic!("it has entries") };
            for latest in 600..newest.at {
                let found = postings
                    .older_until(ONE, Access::Source, newest, latest, &mut Meter::unbounded(&Unhurried))
                    .map(|entry| entry.at);
                let expected = (700..=latest).rev().find(|ts| ts % 3 != 0);
                assert_eq!(found, expected, "{latest}");
            }
        }
    }

    #[test]
    fn lists_are_made_anew_for_a_reader_that_needs_more_and_others_read_them_as_before() {
        let meter = &mut Meter::unbounded(&Unhurried);
        let mut postings = listing(2);
        postings.serve(READER, ONE, Access::Source, 10);
        postings.begin();
        for number in 0..20 {
            add(&mut postings, 1, Time::from(number), (1, 2), number);
        }
        assert_eq!(times(&postings, Access::Source, 1, 0).len(), 10);
        let other = postings.reader();
        postings.serve(other, ONE, Access::Target, 15);
        for made in [false, true] {
            let aside = postings.set_aside(&[ONE]);
            assert!(times(&postings, Access::Source, 1, 0).is_empty());
            for number in 5..20_u32 {
                let entry = Entry::new(number.into(), (Vertex(1), Vertex(2)), EdgeRef(number));
                postings.relist(
                    &aside,
                    SignatureId(1),
                    Now::uncounted(entry.at),
                    ((entry.source, entry.target), entry.edge),
                    meter,
                );
            }
            postings.put_back(aside, made.then_some(other));
            let length = if made { 15 } else { 10 };
            assert_eq!(times(&postings, Access::Source, 1, 0).len(), length);
            assert_eq!(times(&postings, Access::Target, 0, 2).len(), length);
        }
        add(&mut postings, 1, 20, (1, 2), 20);
        assert_eq!(times(&postings, Access::Target, 0, 2), (6..=20).rev().collect::<Vec<_>>());
        let aside = postings.set_aside(&[ONE]);
        postings.put_back(aside, Some(other));
        assert_eq!(times(&postings, Access::Source, 1, 0).len(), 15, "nobody needs more");
        postings.leave(other, &[SignatureId(1)], &[ONE]);
        add(&mut postings, 1, 21, (1, 2), 21);
        assert_eq!(times(&postings, Access::Source, 1, 0).len(), 10);
        postings.leave(READER, &[SignatureId(1)], &[ONE]);
        assert_eq!((postings.total_bytes(), postings.heads.len()), (0, 0));
        assert!(!add(&mut postings, 1, 22, (1, 2), 22), "nobody reads it");
        assert_eq!(postings.whole(SignatureId(0), Clock::Time), ZERO);
        assert_eq!(postings.whole(SignatureId(1), Clock::Time), ONE, "its number is given again");
    }

    #[test]
    fn an_edge_that_came_late_is_found_to_be_deleted() {
        let late = |number: u32| number | 1 << 31;
        let mut postings = listing(1);
        postings.serve(READER, ZERO, Access::Source, 10);
        for (ts, edge) in [(1, 0), (2, late(3)), (2, late(1)), (2, 1), (2, 4), (3, late(0)), (3, 5)] {
            add(&mut postings, 0, ts, (1, 2), edge);
        }
        for (ts, edge) in [(2, late(1)), (2, 4), (3, late(0)), (2, 5), (2, late(9))] {
            postings.delete(SignatureId(0), Now::uncounted(ts), EdgeRef(edge));
        }
        let deleted: Vec<u32> =
            postings.ring(ZERO).entries.iter().filter(|entry| entry.deleted).map(|entry| entry.edge.0).collect();
        assert_eq!(deleted, [late(1), 4, late(0)]);
    }
}
