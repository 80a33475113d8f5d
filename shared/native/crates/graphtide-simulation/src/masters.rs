//! The masters of red components: which vertices red edges connect, and how many matches of each query edge there are among
//! them.
//!
//! The paper hangs the counts at a master edge and has every other red edge of the component point towards it. Here a vertex
//! that red edges touch points to a master, and masters that were joined to others point on. Chains are as short, and an edge
//! that leaves needs no successor. Smaller components are joined to larger ones, and pointers that were followed are shortened.
//!
//! Invariant: every master is pointed to, by a vertex or by another master; one that no longer is goes at once. So there are at
//! most as many as vertices with red edges, but for chains, which are logarithmic. Counts include all red edges of the
//! component. Since removal does not split it here, it may be several in truth, and counts and needs stand for all of them.
//! Cost: O(1) amortised to follow, O(query edges) to join.
//! Source: paper 000, section 4 (`countMap`, `needMap`).

use smallvec::SmallVec;

use crate::pattern::bits;

/// Names a master.
pub(crate) type MasterId = u32;

#[derive(Clone, Copy, Debug)]
struct Master {
    /// The master it was joined to, or itself.
    parent: MasterId,
    /// Vertices and other masters that point to it.
    pointers: u32,
    /// Pairs of a query edge and a red edge.
    pairs: u64,
    /// Query edges that have a red match.
    present: u64,
    /// Query edges whose new match can complete the whole, as far as the last verification shows.
    need: u64,
    /// Query edges that have a new match since.
    fresh: u64,
}

/// All masters.
#[derive(Debug)]
pub(crate) struct Masters {
    edges: usize,
    all: u64,
    masters: Vec<Master>,
    /// By master and query edge.
    counts: Vec<u32>,
    free: Vec<MasterId>,
}

impl Masters {
    /// Starts with none, for queries of so many edges.
    pub(crate) fn new(edges: usize, all: u64) -> Self {
        Self { edges, all, masters: Vec::new(), counts: Vec::new(), free: Vec::new() }
    }

    /// Makes a master that one vertex points to. It counts as verified: nothing is there, and nothing is fresh.
    pub(crate) fn make(&mut self) -> MasterId {
        let id = self.free.pop().unwrap_or(self.masters.len() as MasterId);
        let master = Master { parent: id, pointers: 1, pairs: 0, present: 0, need: 0, fresh: 0 };
        if id as usize == self.masters.len() {
            self.masters.push(master);
            self.counts.resize(self.masters.len() * self.edges, 0);
        } else {
            self.masters[id as usize] = master;
        }
        id
    }

    /// Follows a pointer to its end, and points it and all on the way straight there.
    pub(crate) fn follow(&mut self, pointer: &mut MasterId) -> MasterId {
        let first = *pointer;
        let mut root = first;
        while self.masters[root as usize].parent != root {
            root = self.masters[root as usize].parent;
        }
        if root != first {
            self.shorten(first, root);
            *pointer = root;
        }
        root
    }

    /// Removes a pointer, and with its last one the master itself.
    pub(crate) fn leave(&mut self, mut id: MasterId) {
        loop {
            let master = &mut self.masters[id as usize];
            master.pointers -= 1;
            if master.pointers > 0 {
                return;
            }
            self.free.push(id);
            if master.parent == id {
                return;
            }
            id = master.parent;
        }
    }

    /// Adds a pointer to a master.
    pub(crate) fn join(&mut self, id: MasterId) {
        self.masters[id as usize].pointers += 1;
    }

    /// Joins two components, by their masters; returns the master of both.
    pub(crate) fn unite(&mut self, one: MasterId, other: MasterId) -> MasterId {
        if one == other {
            return one;
        }
        let is_smaller = self.masters[one as usize].pairs < self.masters[other as usize].pairs;
        let (less, more) = if is_smaller { (one, other) } else { (other, one) };
        for edge in 0..self.edges {
            self.counts[more as usize * self.edges + edge] += self.counts[less as usize * self.edges + edge];
            self.counts[less as usize * self.edges + edge] = 0;
        }
        let joined = self.masters[less as usize];
        self.masters[less as usize] = Master { parent: more, pairs: 0, present: 0, ..joined };
        let master = &mut self.masters[more as usize];
        master.pointers += 1;
        master.pairs += joined.pairs;
        master.present |= joined.present;
        master.need |= joined.need;
        master.fresh |= joined.fresh;
        more
    }

    /// Counts new matches of query edges.
    pub(crate) fn add(&mut self, id: MasterId, edges: u64) {
        let master = &mut self.masters[id as usize];
        master.pairs += u64::from(edges.count_ones());
        master.present |= edges;
        master.fresh |= edges;
        for edge in bits(edges) {
            self.counts[id as usize * self.edges + edge] += 1;
        }
    }

    /// Counts matches of query edges that are gone.
    pub(crate) fn subtract(&mut self, id: MasterId, edges: u64) {
        let master = &mut self.masters[id as usize];
        master.pairs -= u64::from(edges.count_ones());
        for edge in bits(edges) {
            let count = &mut self.counts[id as usize * self.edges + edge];
            *count -= 1;
            if *count == 0 {
                master.present &= !(1 << edge);
            }
        }
    }

    /// Pairs that are counted.
    pub(crate) fn pairs(&self, id: MasterId) -> u64 {
        self.masters[id as usize].pairs
    }

    /// Whether a component can hold a match: it has all query edges, and one was added that was needed, or all were.
    ///
    /// Let N be a match among the red edges, and let the last verification have found none. If N has a pair of that time, take
    /// the one that was removed first. All others of N were still there. So the vertex that did not match lacked, for the query
    /// edges that `need` then got, one that N has and that is new. It was not an edge of another component that was joined
    /// since: those have other vertices. A removal for the sake of time is another matter, for any edge can join what has the
    /// times; it needs all. If N has no pair of that time, every query edge has a new one.
    pub(crate) fn is_due(&self, id: MasterId) -> bool {
        let Master { present, need, fresh, .. } = self.masters[id as usize];
        present == self.all && (fresh & need != 0 || fresh == self.all)
    }

    /// Notes that a component was verified and holds no match, for want of some of these query edges.
    pub(crate) fn verified(&mut self, id: MasterId, need: u64) {
        let master = &mut self.masters[id as usize];
        master.need = need;
        master.fresh = 0;
    }

    /// Bytes of the masters there are.
    pub(crate) fn bytes(&self) -> usize {
        (self.masters.len() - self.free.len()) * (size_of::<Master>() + self.edges * size_of::<u32>())
    }

    /// Points the way from `first`, which a vertex points to, straight to its end.
    fn shorten(&mut self, first: MasterId, root: MasterId) {
        let mut way: SmallVec<[MasterId; 8]> = SmallVec::new();
        let mut next = first;
        while next != root {
            way.push(next);
            next = self.masters[next as usize].parent;
        }
        for &id in &way {
            let parent = std::mem::replace(&mut self.masters[id as usize].parent, root);
            self.masters[parent as usize].pointers -= 1;
            self.join(root);
        }
        self.join(root);
        self.masters[first as usize].pointers -= 1;
        for id in way {
            if self.masters[id as usize].pointers == 0 {
                self.free.push(id);
                self.masters[root as usize].pointers -= 1;
            }
        }
    }
}
