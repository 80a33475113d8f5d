//! The `ddst-coloring` engine: edges are black, and red once both ends have all that the query asks of them.
//!
//! A held edge is black. It is red for a query edge that it fits if, at both its ends, as many held edges of each kind leave
//! and enter as the query asks for at that query vertex. A match has red edges only. Red edges that are connected share a
//! master ([`crate::masters`]), which counts their pairs by query edge; the component of an edge is verified only if the edge
//! is red for a query edge that nothing comes after, and its master says that a match is due.
//!
//! Verification grows from the edge. First a few red edges around it are judged, as if all were well beyond: most edges that
//! have no match are refuted there, whatever the size of the component. While the edge survives, four times as many are judged,
//! up to the whole component, where the answer is exact. That one starts from real connectivity, and a component which turns
//! out to be a part of what its master counts gets a master of its own: removal never splits otherwise.
//!
//! Deviations from the paper: neighbours are looked at only when a vertex begins or ceases to match a query vertex, not for
//! each edge; after a removal for the sake of time, or where components were joined that need it, any new red edge makes a
//! verification due. Counting by kind decides on red: necessary for distinct edges always, and enough where the kinds at a
//! vertex are disjoint.
//! Invariant: `red` is what the above says of the held edges; a vertex points to a master while red edges touch it.
//! Cost: amortised O(1) for each edge that arrives or leaves, if degrees are bounded; for a search, what it takes to refute the
//! edge, or its component.
//! Source: paper 000, section 4, algorithms COLOR-EDGE and VERIFY-MATCH.

#[cfg(test)]
mod example_7;

use crate::candidates::Candidates;
use crate::engine::{Means, Question};
use crate::fixpoint::Settled;
use crate::masters::{MasterId, Masters};
use crate::numbered::{NONE, Number, Numbered};
use crate::pattern::{Demand, IN, OUT, Pattern, SIDES};
use crate::window::{Held, Place, Window};
use crate::work::Work;

/// Red edges that a search looks at first.
const NEARBY: usize = 16;

/// How many times as many it looks at next: all looks but the last cost no more than a third of it.
const GROWTH: usize = 4;

/// The two colours, as indices of lists.
const BLACK: usize = 0;
const RED: usize = 1;

/// An edge's colour, and its neighbours in the lists of its two ends.
#[derive(Clone, Copy, Debug)]
struct Colored {
    /// The query edges it is red for.
    red: u64,
    next: [Number; 2],
    previous: [Number; 2],
}

impl Colored {
    const fn color(red: u64) -> usize {
        if red == 0 { BLACK } else { RED }
    }
}

/// A vertex.
#[derive(Clone, Copy, Debug)]
struct Corner {
    /// By side and colour: the newest edge there.
    first: [[Number; 2]; 2],
    /// By side: the query edges whose source (target) this vertex has all the edges of.
    fine: [u64; 2],
    /// How many ends of red edges it is.
    reds: u32,
    /// The master, while there are red edges.
    master: MasterId,
}

const BARE: Corner = Corner { first: [[NONE; 2]; 2], fine: [0; 2], reds: 0, master: 0 };

/// What is known of the held edges.
#[derive(Debug)]
pub(crate) struct Coloring {
    edges: Numbered<Colored>,
    corners: Vec<Corner>,
    /// By vertex, kind and side: the held edges.
    counts: Vec<[u32; 2]>,
    masters: Masters,
    neighbours: Vec<Number>,
    kinds: usize,
}

impl Coloring {
    pub(crate) fn new(pattern: &Pattern) -> Self {
        Self {
            edges: Numbered::default(),
            corners: Vec::new(),
            counts: Vec::new(),
            masters: Masters::new(pattern.edges(), pattern.all),
            neighbours: Vec::new(),
            kinds: pattern.kinds.len(),
        }
    }

    /// Leaves the numbers out that come before one.
    pub(crate) fn skip_to(&mut self, number: Number) {
        self.edges.skip_to(number, Colored { red: 0, next: [NONE; 2], previous: [NONE; 2] });
    }

    /// Colours an edge, and the edges around it.
    pub(crate) fn arrive(&mut self, pattern: &Pattern, window: &Window, number: Number, work: &mut Work<'_, '_>) {
        self.corners.resize(window.places().max(self.corners.len()), BARE);
        self.counts.resize(self.corners.len() * self.kinds, [0; 2]);
        self.edges.push(Colored { red: 0, next: [NONE; 2], previous: [NONE; 2] });
        let held = window.get(number);
        for side in SIDES {
            self.link(held, number, side, BLACK);
        }
        for side in SIDES {
            let place = held.ends[side];
            let mut gained = [0; 2];
            for kind in pattern.kinds_of(held.fits) {
                let count = &mut self.counts[place as usize * self.kinds + kind][side];
                *count += 1;
                let now = *count;
                let met = pattern.demands[kind][side].iter().filter(|demand| demand.edges == now);
                for demand in met.filter(|demand| self.has_all(pattern, place, demand.vertex)) {
                    for side in SIDES {
                        gained[side] |= pattern.incident[usize::from(demand.vertex)][side];
                    }
                }
            }
            if gained != [0; 2] {
                for side in SIDES {
                    self.corners[place as usize].fine[side] |= gained[side];
                }
                self.recolor_around(window, place, work);
            }
        }
        work.spend(1);
        self.recolor(window, number);
    }

    /// Forgets an edge, and colours the edges around it.
    pub(crate) fn depart(&mut self, pattern: &Pattern, window: &Window, number: Number, work: &mut Work<'_, '_>) {
        let held = window.get(number);
        work.spend(1);
        self.set_red(held, number, 0);
        for side in SIDES {
            self.unlink(held, number, side, BLACK);
        }
        self.edges.remove(number);
        for side in SIDES {
            let place = held.ends[side];
            let mut lost = [0; 2];
            for kind in pattern.kinds_of(held.fits) {
                let count = &mut self.counts[place as usize * self.kinds + kind][side];
                let now = *count;
                *count -= 1;
                for &Demand { vertex, .. } in pattern.demands[kind][side].iter().filter(|demand| demand.edges == now) {
                    for side in SIDES {
                        lost[side] |= pattern.incident[usize::from(vertex)][side];
                    }
                }
            }
            let fine = &mut self.corners[place as usize].fine;
            if fine[OUT] & lost[OUT] != 0 || fine[IN] & lost[IN] != 0 {
                for side in SIDES {
                    fine[side] &= !lost[side];
                }
                self.recolor_around(window, place, work);
            }
        }
    }

    /// Finds the match component of an edge.
    pub(crate) fn search(&mut self, question: &Question<'_>, means: &mut Means<'_, '_, '_>) -> Option<usize> {
        let held = question.window.get(question.number);
        let red = self.edges[question.number].red;
        means.funnel.red += u64::from(red != 0);
        if red & question.may_match == 0 {
            return None;
        }
        let master = self.masters.follow(&mut self.corners[held.ends[OUT] as usize].master);
        if !self.masters.is_due(master) {
            return None;
        }
        means.funnel.verifications_due += 1;
        let candidates = &mut means.fixpoint.candidates;
        candidates.clear(question.window.places());
        candidates.add(question.number, held.ts, held.ends, red);
        let mut enough = NEARBY;
        while self.gather(question, enough, &mut means.fixpoint.candidates, &mut means.work) {
            means.funnel.verifications_run += 1;
            let asked = (0, question.may_match);
            match means.fixpoint.near(question.pattern, asked, &mut means.work, means.funnel) {
                Settled::Stable => enough = GROWTH * means.fixpoint.candidates.edges.len(),
                Settled::Refuted => {
                    means.funnel.refuted_nearby += 1;
                    return None;
                }
                Settled::Cut => return None,
            }
        }
        self.verify(question, master, means)
    }

    /// Bytes of what is known.
    pub(crate) fn bytes(&self, window: &Window) -> usize {
        let vertex = size_of::<Corner>() + self.kinds * size_of::<[u32; 2]>();
        window.room() * Numbered::<Colored>::ENTRY + window.touched() * vertex + self.masters.bytes()
    }

    /// Adds red edges around those that are there, until there are enough; returns whether there are more.
    fn gather(&self, question: &Question<'_>, enough: usize, candidates: &mut Candidates, work: &mut Work<'_, '_>) -> bool {
        while candidates.edges.len() < enough {
            let Some((vertex, place)) = candidates.close_next() else { return false };
            for side in SIDES {
                let mut next = self.corners[place as usize].first[side][RED];
                while next != NONE {
                    let held = question.window.get(next);
                    let other = held.ends[1 - side];
                    // An edge between closed vertices is there already; a loop is met twice.
                    let is_there = next == question.number
                        || if other == place { side == IN } else { candidates.was_closed_before(other, vertex) };
                    if !is_there {
                        candidates.add(next, held.ts, held.ends, self.edges[next].red);
                    }
                    if !work.spend(1) {
                        return !candidates.is_whole();
                    }
                    next = self.edges[next].next[side];
                }
            }
        }
        !candidates.is_whole()
    }

    /// Verifies the whole red component, which was gathered.
    fn verify(&mut self, question: &Question<'_>, master: MasterId, means: &mut Means<'_, '_, '_>) -> Option<usize> {
        means.funnel.verifications_run += 1;
        let settled = means.fixpoint.whole(question.pattern, &mut means.work, means.funnel);
        if settled != Settled::Stable {
            return None;
        }
        let candidates = &means.fixpoint.candidates;
        let given: u64 = candidates.edges.iter().map(|edge| u64::from(edge.given.count_ones())).sum();
        let master = if given < self.masters.pairs(master) { self.split(candidates, master) } else { master };
        if means.fixpoint.components.len() == 0 {
            self.masters.verified(master, means.fixpoint.need);
        }
        means.fixpoint.matched(question.number)
    }

    /// Gives a component that is but a part of what its master counts a master of its own.
    fn split(&mut self, candidates: &Candidates, whole: MasterId) -> MasterId {
        let part = self.masters.make();
        for edge in &candidates.edges {
            self.masters.subtract(whole, edge.given);
            self.masters.add(part, edge.given);
        }
        for &place in candidates.places() {
            let corner = &mut self.corners[place as usize];
            self.masters.join(part);
            self.masters.leave(std::mem::replace(&mut corner.master, part));
        }
        self.masters.leave(part);
        part
    }

    /// Whether a vertex has as many edges of each kind as a query vertex.
    fn has_all(&self, pattern: &Pattern, place: Place, vertex: u8) -> bool {
        let first = place as usize * self.kinds;
        pattern.kinds.iter().enumerate().all(|(kind, edges)| {
            let of = pattern.incident[usize::from(vertex)];
            SIDES.into_iter().all(|side| self.counts[first + kind][side] >= (of[side] & edges).count_ones())
        })
    }

    /// Colours all edges at a vertex again.
    fn recolor_around(&mut self, window: &Window, place: Place, work: &mut Work<'_, '_>) {
        let mut neighbours = std::mem::take(&mut self.neighbours);
        for side in SIDES {
            for color in [BLACK, RED] {
                let mut next = self.corners[place as usize].first[side][color];
                while next != NONE {
                    neighbours.push(next);
                    next = self.edges[next].next[side];
                }
            }
        }
        work.spend(neighbours.len() as u32);
        for number in neighbours.drain(..) {
            self.recolor(window, number);
        }
        self.neighbours = neighbours;
    }

    #[inline]
    fn recolor(&mut self, window: &Window, number: Number) {
        let held = window.get(number);
        let [source, target] = held.ends.map(|place| place as usize);
        self.set_red(held, number, held.fits & self.corners[source].fine[OUT] & self.corners[target].fine[IN]);
    }

    /// Sets the query edges that an edge is red for.
    #[inline]
    fn set_red(&mut self, held: &Held, number: Number, red: u64) {
        let was = std::mem::replace(&mut self.edges[number].red, red);
        if was == red {
            return;
        }
        if was == 0 {
            self.connect(held);
        }
        let master = self.masters.follow(&mut self.corners[held.ends[OUT] as usize].master);
        self.masters.subtract(master, was & !red);
        self.masters.add(master, red & !was);
        if red == 0 {
            self.disconnect(held);
        }
        if Colored::color(was) != Colored::color(red) {
            for side in SIDES {
                self.unlink(held, number, side, Colored::color(was));
                self.link(held, number, side, Colored::color(red));
            }
        }
    }

    /// Points both ends of an edge that turns red to one master.
    fn connect(&mut self, held: &Held) {
        let masters = held.ends.map(|place| {
            let corner = &mut self.corners[place as usize];
            corner.reds += 1;
            if corner.reds == 1 {
                corner.master = self.masters.make();
            }
            self.masters.follow(&mut corner.master)
        });
        self.masters.unite(masters[OUT], masters[IN]);
    }

    /// Releases the master of each end that no other red edge touches.
    fn disconnect(&mut self, held: &Held) {
        for place in held.ends {
            let corner = &mut self.corners[place as usize];
            corner.reds -= 1;
            if corner.reds == 0 {
                self.masters.leave(corner.master);
            }
        }
    }

    fn link(&mut self, held: &Held, number: Number, side: usize, color: usize) {
        let first = &mut self.corners[held.ends[side] as usize].first[side][color];
        let next = std::mem::replace(first, number);
        let edge = &mut self.edges[number];
        (edge.next[side], edge.previous[side]) = (next, NONE);
        if next != NONE {
            self.edges[next].previous[side] = number;
        }
    }

    fn unlink(&mut self, held: &Held, number: Number, side: usize, color: usize) {
        let Colored { next, previous, .. } = self.edges[number];
        if next[side] != NONE {
            self.edges[next[side]].previous[side] = previous[side];
        }
        if previous[side] == NONE {
            self.corners[held.ends[side] as usize].first[side][color] = next[side];
        } else {
            self.edges[previous[side]].next[side] = next[side];
        }
    }
}
