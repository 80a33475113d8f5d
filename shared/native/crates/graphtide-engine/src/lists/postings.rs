//! The window's edges of every signature, listed by source, by target and by both, newest first.
//!
//! Invariant: a list ends at the first entry that has left the [ring](super::ring) or the reader's window. Patterns that share
//! a signature share its lists, whatever their windows, as far as these are measured by one clock. That clock says when an
//! entry came. The heads of all lists lie in one table, so that asking thousands of patterns' lists touches memory in
//! proportion to the edges alive.
//! Cost: O(1) expected to add and to find a list; O(expired) to expire, without touching the lists of others.

use graphtide_graph::clock::{CLOCKS, Clock, Now};
use graphtide_graph::store::EdgeRef;
use graphtide_graph::vertex::Vertex;
use graphtide_graph::{Time, clock};

use super::access::Access;
use super::gate::Gate;
use super::heads::{Heads, Mask, key, list};
use super::ring::{Entry, Ring};
use crate::ids::{RingId, SignatureId};
use crate::meter::Meter;

/// No lists.
pub(super) const NONE: RingId = RingId(u32::MAX);

/// Lists of some edges of a signature.
#[derive(Debug)]
pub(super) struct Narrowed {
    pub(super) ring: RingId,
    pub(super) gates: Vec<Gate>,
}

/// Lists of one signature for windows by one clock.
#[derive(Debug)]
pub(super) struct Lists {
    /// Of all its edges; [`NONE`] if nobody reads them.
    pub(super) whole: RingId,
    /// Those that a gate reads are older than those it is a gate of.
    pub(super) narrowed: Vec<Narrowed>,
}

/// Lists of all signatures.
#[derive(Debug, Default)]
pub struct Postings {
    pub(super) rings: Vec<Ring>,
    /// Numbers that may be given again.
    pub(super) free: Vec<RingId>,
    /// By clock.
    pub(super) by_signature: [Vec<Lists>; 2],
    pub(super) heads: Heads,
    pub(super) next_reader: u32,
    /// Whether an edge was ever given up while it was in the window.
    has_shed: bool,
}

impl Postings {
    /// Has room for that many signatures; nobody reads lists of new ones yet.
    pub fn grow(&mut self, signatures: usize) {
        for lists in &mut self.by_signature {
            lists.resize_with(signatures, || Lists { whole: NONE, narrowed: Vec::new() });
        }
    }

    #[inline]
    pub(super) fn lists(&self, clock: Clock, signature: SignatureId) -> &Lists {
        &self.by_signature[clock as usize][signature.place()]
    }

    #[inline]
    pub(super) fn ring(&self, ring: RingId) -> &Ring {
        &self.rings[ring.place()]
    }

    /// Whether an edge of any list was ever given up while it was in the window.
    #[inline]
    pub fn has_shed_any(&self) -> bool {
        self.has_shed
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
    pub(super) fn add_where(
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
        // From the newest: an edge is not a gate to itself.
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
            (ring.shed, self.has_shed) = (true, true);
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
        self.heads.last(list, key).is_some()
    }

    /// Whether the newest entry of any of these lists is that edge.
    pub fn has_just(&self, ring: RingId, edge: EdgeRef) -> bool {
        self.ring(ring).entries.back().is_some_and(|entry| entry.edge == edge)
    }

    /// Newest entry of a list.
    #[inline]
    pub fn newest(&self, ring: RingId, access: Access, source: Vertex, target: Vertex) -> Option<&Entry> {
        let (list, key) = (list(ring, access), key(access, source, target));
        self.ring(ring).at(self.heads.last(list, key)?)
    }

    /// The watched lists by one end that may have an entry at a vertex, which may have left the reader's window.
    #[inline]
    pub fn mask(&self, vertex: Vertex) -> Mask {
        self.heads.mask(vertex)
    }

    /// Entries in one list of a ring, in the mean; none if it has no entry.
    pub fn mean_length(&self, ring: RingId) -> Option<f64> {
        self.ring(ring).mean_length()
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
        self.rings.iter().map(Ring::bytes).sum::<usize>() + self.heads.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ReaderId;
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
    fn a_mask_has_the_bits_of_the_lists_that_a_vertex_has_though_lists_share_bits() {
        // More lists than bits: some share one, and the last of them have none.
        let signatures = 1200;
        let mut postings = listing(signatures);
        for ring in (0..signatures as u32).map(RingId) {
            postings.serve_shared(READER, ring, false, 10);
        }
        let bits: Vec<Mask> = (0..signatures as u32).map(|ring| postings.watch(RingId(ring), Access::Source)).collect();
        assert_eq!(bits.iter().filter(|&&bit| bit == 0).count(), signatures - 8 * 128);
        assert_eq!((bits[0], bits[128]), (1, 1), "they share a bit");
        let mut edge = 0;
        let mut arrive = |postings: &mut Postings, signature: u32, ts| {
            edge += 1;
            add(postings, signature, ts, (7, 8), edge);
        };
        for (signature, ts) in [(0, 0), (128, 5), (1, 5), (1199, 5)] {
            arrive(&mut postings, signature, ts);
        }
        assert_eq!((postings.mask(Vertex(7)), postings.mask(Vertex(8))), (0b11, 0));
        let meter = &mut Meter::unbounded(&Unhurried);
        postings.advance(Now::uncounted(12), meter);
        assert_eq!(postings.mask(Vertex(7)), 0b11, "one of the lists that share the bit has an entry");
        postings.advance(Now::uncounted(20), meter);
        assert_eq!(postings.mask(Vertex(7)), 0);
        // A list that is watched late has what it had.
        arrive(&mut postings, 2, 21);
        assert_eq!(postings.watch(RingId(2), Access::Target), 0, "all bits have as many lists as they may");
        postings.leave(READER, &[SignatureId(3)], &[RingId(3)]);
        let late = postings.watch(RingId(2), Access::Target);
        assert_eq!((late, postings.mask(Vertex(8))), (bits[3], bits[3]));
        assert_eq!(postings.mask(Vertex(7)), bits[2]);
        let detached = postings.detach(&[RingId(2)]);
        assert_eq!((postings.mask(Vertex(7)), postings.mask(Vertex(8))), (0, 0));
        postings.put_back(detached, None);
        assert_eq!((postings.mask(Vertex(7)), postings.mask(Vertex(8))), (bits[2], late));
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
            let detached = postings.detach(&[ONE]);
            assert!(times(&postings, Access::Source, 1, 0).is_empty());
            for number in 5..20_u32 {
                let entry = Entry::new(number.into(), (Vertex(1), Vertex(2)), EdgeRef(number));
                postings.relist(
                    &detached,
                    SignatureId(1),
                    Now::uncounted(entry.at),
                    ((entry.source, entry.target), entry.edge),
                    meter,
                );
            }
            postings.put_back(detached, made.then_some(other));
            let length = if made { 15 } else { 10 };
            assert_eq!(times(&postings, Access::Source, 1, 0).len(), length);
            assert_eq!(times(&postings, Access::Target, 0, 2).len(), length);
        }
        add(&mut postings, 1, 20, (1, 2), 20);
        assert_eq!(times(&postings, Access::Target, 0, 2), (6..=20).rev().collect::<Vec<_>>());
        let detached = postings.detach(&[ONE]);
        postings.put_back(detached, Some(other));
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
