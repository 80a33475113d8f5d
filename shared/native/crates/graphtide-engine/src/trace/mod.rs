//! The trace of a run. For every step of a plan it has the candidates and why they were refused. For every node it has what
//! became of its partial matches, and which of them came furthest.
//!
//! Engines call a [`Tracer`]; they are compiled once for [`Untraced`], which leaves nothing in the machine code, and once for a
//! [`Trace`]. A trace keeps a copy of every partial match in the window. So it can name its edges when the window passes it,
//! however late the engine gives it up.
//! Cost: when off, none; when on, O(edges of the pattern) a candidate and a partial match, and their room.

mod partials;
mod tally;

use std::collections::BTreeMap;

use graphtide_graph::Time;
use graphtide_graph::clock::{self, Clock};
use graphtide_graph::store::{EdgeRef, EdgeStore};
use graphtide_graph::vertex::VertexTable;

pub use partials::{DeadEnd, Fates, NearMiss};
use partials::{Partial, Partials};
pub use tally::{REASONS, Reason, Refused, Tally};

/// A node of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// Timing: prefix of a timing sequence.
    Prefix {
        /// Subquery.
        subquery: u8,
        /// Length of the prefix less one.
        depth: u8,
    },
    /// Timing: union of the subqueries up to and with a level.
    Union {
        /// Last subquery joined.
        level: u8,
    },
    /// Join tree: a leaf.
    Leaf {
        /// Its place in the join order.
        level: u8,
    },
    /// Join tree: union of the leaves up to and with a level.
    Join {
        /// Last leaf joined.
        level: u8,
    },
    /// Filtering: the candidates kept for a query edge. Dual simulation: the edges held that fit it.
    Kept {
        /// The query edge.
        edge: u8,
    },
    /// Dual simulation: the edges held.
    Held,
    /// Dual simulation: what an engine asks before it verifies.
    Filter,
    /// Dual simulation: the fixpoints.
    Verify,
    /// Searches: a query edge bound in searches from another, or their start.
    Search {
        /// Query edge that the searches start from.
        start: u8,
        /// Query edge bound.
        edge: u8,
    },
}

/// What a node does with a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The one thing it does.
    Whole,
    /// It takes an arriving edge for a query edge.
    Arrival(u8),
    /// It looks an earlier edge up for a query edge.
    LookUp(u8),
    /// It checks an edge by its neighbourhood.
    Nearby,
    /// It checks an edge by its whole component.
    Connected,
    /// It finds what is left of a component after edges left it.
    Remainder,
    /// It looks at pairs of a query edge and a data edge.
    Pairs,
}

/// A step of a plan: where candidates are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// Its node.
    pub node: Node,
    /// What the node does there.
    pub part: Part,
}

impl Node {
    /// The node's only step.
    #[inline]
    pub fn step(self) -> Step {
        Step { node: self, part: Part::Whole }
    }

    /// The node's step for an arriving edge.
    #[inline]
    pub fn arrival(self, edge: u8) -> Step {
        Step { node: self, part: Part::Arrival(edge) }
    }

    /// The node's step for an edge that is looked up.
    #[inline]
    pub fn look_up(self, edge: u8) -> Step {
        Step { node: self, part: Part::LookUp(edge) }
    }
}

/// Receives what an engine does. Each candidate is announced by one `look` and ended by one `refuse` or `pass`.
pub trait Tracer {
    /// Whether someone listens: what only a listener needs is worked out under this.
    const ON: bool = false;

    /// A candidate is looked at.
    #[inline]
    fn look(&mut self, _step: Step) {}

    /// It continued.
    #[inline]
    fn pass(&mut self, _step: Step) {}

    /// It was refused; `partner` is the stored partial match that it was tried against, if there is one.
    #[inline]
    fn refuse(&mut self, _step: Step, _reason: Reason, _partner: Option<u32>) {}

    /// A partial match was stored under a key that no other has while it is stored.
    #[inline]
    fn created(&mut self, _node: Node, _key: u32, _bound: impl Iterator<Item = (u8, EdgeRef)>, _store: &EdgeStore) {}

    /// From here to [`leave`](Self::leave) refusals count against this stored partial match, too; against none if it is not
    /// stored.
    #[inline]
    fn enter(&mut self, _key: Option<u32>) {}

    /// Ends what `enter` began.
    #[inline]
    fn leave(&mut self) {}

    /// A search looks for a query edge beside those bound: from here to [`sought`](Self::sought) refusals count against it.
    #[inline]
    fn seek(&mut self) {}

    /// Ends what `seek` began, and says at which node, for which query edge, beside which.
    #[inline]
    fn sought(&mut self, _node: Node, _edge: u8, _bound: impl Iterator<Item = (u8, EdgeRef)>, _now: Time) {}

    /// A match was reported, at that instant of the window's clock.
    #[inline]
    fn matched(&mut self, _at: i64, _edges: &[EdgeRef]) {}
}

/// Nobody listens.
#[derive(Clone, Copy, Debug)]
pub struct Untraced;

impl Tracer for Untraced {}

/// The trace of one pattern.
#[derive(Debug)]
pub struct Trace {
    window: i64,
    clock: Clock,
    steps: BTreeMap<Step, Tally>,
    discarded: Vec<u64>,
    partials: Partials,
    /// Who is trying partners, innermost last.
    trying: Vec<Trying>,
    /// The deepest dead end of the search under way.
    dead_end: Option<Partial>,
}

#[derive(Debug)]
enum Trying {
    /// A stored partial match.
    Stored(u32),
    /// A partial match that is not stored.
    Passing,
    /// A search for one query edge, and whether some edge continued.
    Seeking { refused: Refused, passed: bool },
}

impl Trace {
    /// Makes a trace for a pattern with that window and those edges that remembers so many near misses.
    pub fn new((window, clock): (i64, Clock), edges: Vec<(u8, u8)>, misses: usize) -> Self {
        Self {
            window,
            clock,
            steps: BTreeMap::new(),
            discarded: vec![0; edges.len()],
            partials: Partials::new(clock, edges, misses),
            trying: Vec::new(),
            dead_end: None,
        }
    }

    /// An arriving edge came to nothing as a query edge (Lemma 1).
    pub fn discard(&mut self, query_edge: u8) {
        self.discarded[usize::from(query_edge)] += 1;
    }

    /// A limit made the engine give up all it stores.
    pub fn clear(&mut self) {
        self.partials.clear();
    }

    /// An arriving edge was dealt with as one query edge. Returns whether a dead end of its search is remembered, so that the
    /// edge must be held.
    pub fn arrived(&mut self, store: &EdgeStore) -> bool {
        self.dead_end.take().is_some_and(|dead_end| self.partials.remember(dead_end, store))
    }

    /// A candidate was kept for a query edge, or not: nothing lies beside it that must be earlier.
    pub fn keep(&mut self, query_edge: u8, is_kept: bool) {
        let tally = self.tally(Node::Kept { edge: query_edge }.step());
        tally.looked_at += 1;
        if is_kept {
            tally.passed += 1;
        } else {
            tally.refused.add(Reason::Partner);
        }
    }

    /// Drops the partial matches that the window has passed at the instant `now`. The store still has their edges.
    pub fn expire(&mut self, now: i64, store: &EdgeStore, names: &VertexTable) {
        self.partials.expire((clock::alive_from(now, self.window), self.window), store, names);
    }

    /// What each step looked at, by node.
    pub fn steps(&self) -> impl Iterator<Item = (Step, &Tally)> {
        self.steps.iter().map(|(&step, tally)| (step, tally))
    }

    /// For every query edge, how many arriving edges came to nothing as it (Lemma 1).
    pub fn discarded(&self) -> &[u64] {
        &self.discarded
    }

    /// What became of the partial matches of each node that stores some.
    pub fn fates(&self, store: &EdgeStore) -> BTreeMap<Node, Fates> {
        self.partials.fates(store)
    }

    /// How many near misses are shown.
    pub fn shown(&self) -> usize {
        self.partials.shown()
    }

    /// The partial matches that came furthest before the window passed them.
    pub fn misses(&self) -> &[NearMiss] {
        self.partials.misses()
    }

    fn tally(&mut self, step: Step) -> &mut Tally {
        self.steps.entry(step).or_default()
    }
}

impl Tracer for &mut Trace {
    const ON: bool = true;

    fn look(&mut self, step: Step) {
        self.tally(step).looked_at += 1;
    }

    fn pass(&mut self, step: Step) {
        self.tally(step).passed += 1;
        if let Some(Trying::Seeking { passed, .. }) = self.trying.last_mut() {
            *passed = true;
        }
    }

    fn refuse(&mut self, step: Step, reason: Reason, partner: Option<u32>) {
        self.tally(step).refused.add(reason);
        if let Some(partner) = partner {
            self.partials.refuse(partner, reason);
        }
        let mut trying = self.trying.iter_mut().rev().peekable();
        if let Some(Trying::Seeking { refused, .. }) = trying.peek_mut() {
            refused.add_alive(reason);
            trying.next();
        }
        // A search may be that of a stored partial match for what came before it.
        if let Some(Trying::Stored(key)) = trying.next() {
            self.partials.refuse(*key, reason);
        }
    }

    fn created(&mut self, node: Node, key: u32, bound: impl Iterator<Item = (u8, EdgeRef)>, store: &EdgeStore) {
        self.partials.store(key, Partial::new(node, bound, (store, self.clock)));
    }

    fn enter(&mut self, key: Option<u32>) {
        self.trying.push(key.map_or(Trying::Passing, Trying::Stored));
    }

    fn leave(&mut self) {
        self.trying.pop();
    }

    fn seek(&mut self) {
        self.trying.push(Trying::Seeking { refused: Refused::default(), passed: false });
    }

    fn sought(&mut self, node: Node, edge: u8, bound: impl Iterator<Item = (u8, EdgeRef)>, now: Time) {
        let Some(Trying::Seeking { refused, passed: false }) = self.trying.pop() else { return };
        let found = Partial::dead_end(node, bound, DeadEnd { at: now, edge }, refused);
        if self.dead_end.as_ref().is_none_or(|known| found.bound.len() > known.bound.len()) {
            self.dead_end = Some(found);
        }
    }

    fn matched(&mut self, at: i64, edges: &[EdgeRef]) {
        self.partials.matched(at, edges);
    }
}
