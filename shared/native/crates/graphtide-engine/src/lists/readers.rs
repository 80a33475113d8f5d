//! Who reads lists: readers come and go, and lists are there for them alone.
//!
//! Lists may be *narrowed*: then an edge is listed only if its gates are open when it arrives. That is for readers to whom the
//! others are of no use. Narrowed lists of equal gates are one. A reader of a longer window brings edges with it, and the lists
//! are rebuilt with them ([`Postings::detach`]). Earlier readers read them as before.
//! Cost: O(readers of the lists) to come and to go; O(edges) to make lists anew.

use graphtide_graph::clock::{CLOCKS, Clock, Now};
use graphtide_graph::store::EdgeRef;
use graphtide_graph::vertex::Vertex;

use super::access::Access;
use super::gate::Gate;
use super::heads::{Head, Heads, Mask, UNWATCHED, key, list};
use super::jumps::Jumps;
use super::postings::{Lists, NONE, Narrowed, Postings};
use super::ring::{Entry, Ring};
use crate::ids::{ReaderId, RingId, SignatureId};
use crate::meter::Meter;

/// Lists that make room for others of the same numbers.
#[derive(Debug)]
pub struct Detached {
    rings: Vec<(RingId, Ring)>,
    heads: Heads,
}

impl Postings {
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

    /// Keeps the lists of all edges of a signature for a search that patterns share. They are kept by source and by target, and
    /// by both if so said.
    pub fn serve_shared(&mut self, reader: ReaderId, ring: RingId, by_both: bool, window: i64) {
        self.serve(reader, ring, Access::Source, window);
        self.serve(reader, ring, Access::Target, window);
        if by_both {
            self.serve(reader, ring, Access::Both, window);
        }
        self.rings[ring.place()].is_shared = true;
    }

    /// Whether all edges of a signature are kept for a search that patterns share, and by each of these accesses.
    pub fn is_shared(&self, ring: RingId, read: [bool; 3]) -> bool {
        let ring = self.ring(ring);
        ring.is_shared && read.iter().zip(ring.served).all(|(&read, served)| served || !read)
    }

    /// The bit of lists by one end in the [masks](Self::mask) of vertices: they are watched from now on. Without a bit if too
    /// many are.
    pub fn watch(&mut self, number: RingId, access: Access) -> Mask {
        let Self { rings, heads, .. } = self;
        let ring = &mut rings[number.place()];
        let known = ring.bits[access as usize];
        if known != UNWATCHED {
            return 1 << known;
        }
        let Some(bit) = heads.watch(number, access) else { return 0 };
        ring.bits[access as usize] = bit;
        for entry in &ring.entries {
            heads.mark_if_listed(list(number, access), key(access, entry.source, entry.target), bit);
        }
        1 << bit
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

    /// Drops the lists of all edges of these signatures that nobody reads after all.
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
                heads.unwatch(number, ring.bits);
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

    /// Sets lists apart, so that [`relist`](Self::relist) rebuilds them from edges that come again in their order.
    pub fn detach(&mut self, lists: &[RingId]) -> Detached {
        let rings = lists.iter().map(|&number| {
            let ring = &mut self.rings[number.place()];
            let bare = ring.bare();
            (number, std::mem::replace(ring, bare))
        });
        Detached { rings: rings.collect(), heads: self.heads.take() }
    }

    /// Lists an edge that comes again under a signature, in detached lists.
    pub fn relist(
        &mut self,
        detached: &Detached,
        signature: SignatureId,
        now: Now,
        (ends, edge): ((Vertex, Vertex), EdgeRef),
        meter: &mut Meter<'_>,
    ) {
        let lists = detached.rings.iter().map(|&(number, _)| number);
        for clock in CLOCKS {
            let is_meant = |ring| lists.clone().any(|number| number == ring);
            self.add_where((clock, signature), now.on(clock), ends, edge, meter, is_meant);
        }
    }

    /// Puts lists back. If they were made anew for a reader, those stay that lacked edges of its window.
    pub fn put_back(&mut self, detached: Detached, made_for: Option<ReaderId>) {
        let made_heads = std::mem::replace(&mut self.heads, detached.heads);
        let mut stay = Vec::new();
        for (number, mut old) in detached.rings {
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
        for Head { list, last, key } in made_heads.into_heads() {
            let ring = RingId(list / 3);
            if stay.contains(&ring) {
                let bit = self.rings[ring.place()].bits[(list % 3) as usize];
                self.heads.push(list, key, last, bit);
            }
        }
    }

    /// Takes all lists for what their readers need: there was no edge yet.
    pub fn begin(&mut self) {
        for ring in &mut self.rings {
            (ring.kept, ring.unlinked) = (ring.window, false);
        }
    }
}
