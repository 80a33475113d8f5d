//! The `ddst-coloring` engine: edges are black, and red once both ends have all that the query asks of them.
//!
//! A held edge is black. It may be red for a query edge that it fits. Then, at both its ends, as many held edges of each kind
//! leave and enter as the query asks for at that query vertex. A match has red edges only. Red edges that are connected share a
//! master ([`crate::masters`]), which counts their pairs by query edge. The component of an edge is verified only in one case.
//! The edge is red for a query edge that nothing comes after, and its master says that a match is due.
//!
//! Verification grows from the edge ([`crate::nearby`]), up to the whole component. That one starts from real connectivity. A
//! component that is only a part of what its master counts gets a master of its own: removal never splits otherwise.
//!
//! Deviations from the paper: neighbours are looked at only when a vertex begins or ceases to match a query vertex, not for
//! each edge. After a removal for the sake of time, or where components were joined that need it, any new red edge makes a
//! verification due. Counting by kind decides on red: necessary for distinct edges always, and enough where the kinds at a
//! vertex are disjoint.
//! Invariant: `red` is what the above says of the held edges; a vertex points to a master while red edges touch it.
//! Cost: amortised O(1) for each edge that arrives or leaves, if degrees are bounded. For a search, it is what it takes to
//! refute the edge, or its component.
//! Source: paper 000, section 4, algorithms COLOR-EDGE and VERIFY-MATCH.

#[cfg(test)]
mod example_7;

use crate::candidates::Candidates;
use crate::fixpoint::Settled;
use crate::funnel::Funnel;
use crate::incidence::Incidence;
use crate::masters::{MasterId, Masters};
use crate::nearby;
use crate::numbered::Number;
use crate::pattern::{Demand, IN, OUT, Pattern, SIDES};
use crate::question::{Means, Question};
use crate::window::{Held, Place, Window};
use crate::work::Work;

/// The two colours, as indices of lists.
const BLACK: usize = 0;
const RED: usize = 1;

const fn color(red: u64) -> usize {
    if red == 0 { BLACK } else { RED }
}

/// What is known of a vertex.
#[derive(Clone, Copy, Debug, Default)]
struct Spot {
    /// By side: the query edges whose source (target) this vertex has all the edges of.
    fine: [u64; 2],
    /// How many ends of red edges it is.
    reds: u32,
    /// The master, while there are red edges.
    master: MasterId,
}

/// What is known of the held edges.
#[derive(Debug)]
pub(crate) struct Coloring {
    /// Edges by colour, with the query edges they are red for.
    incidence: Incidence<u64, Spot, 2>,
    /// By vertex, kind and side: the held edges.
    counts: Vec<[u32; 2]>,
    masters: Masters,
    neighbours: Vec<Number>,
    kinds: usize,
}

impl Coloring {
    pub(crate) fn new(pattern: &Pattern) -> Self {
        Self {
            incidence: Incidence::default(),
            counts: Vec::new(),
            masters: Masters::new(pattern.edges(), pattern.all),
            neighbours: Vec::new(),
            kinds: pattern.kinds.len(),
        }
    }

    /// Colours an edge, and the edges around it.
    pub(crate) fn arrive(&mut self, pattern: &Pattern, window: &Window, number: Number, work: &mut Work<'_, '_>) {
        self.incidence.push(window, number, 0);
        self.counts.resize(self.incidence.corners.len() * self.kinds, [0; 2]);
        let held = window.get(number);
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
                    self.spot(place).fine[side] |= gained[side];
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
        self.incidence.remove(held, number);
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
            let fine = &mut self.spot(place).fine;
            if fine[OUT] & lost[OUT] != 0 || fine[IN] & lost[IN] != 0 {
                for side in SIDES {
                    fine[side] &= !lost[side];
                }
                self.recolor_around(window, place, work);
            }
        }
    }

    /// Whether an edge is red for what it could match, and its component is due.
    pub(crate) fn admits(&mut self, question: &Question<'_>, funnel: &mut Funnel) -> bool {
        let red = self.incidence.edges[question.number].known;
        funnel.red += u64::from(red != 0);
        if red & question.may_match == 0 {
            funnel.early += u64::from(red != 0);
            return false;
        }
        let master = self.master(question.window.get(question.number).ends[OUT]);
        self.masters.is_due(master)
    }

    /// Finds the match component of an edge.
    pub(crate) fn verify(&mut self, question: &Question<'_>, means: &mut Means<'_, '_, '_>) -> Option<usize> {
        let incidence = &self.incidence;
        let gather = |enough, candidates: &mut Candidates, work: &mut Work<'_, '_>| {
            incidence.gather(question, (RED, enough), |_, &red| red, candidates, work)
        };
        let (settled, found) = nearby::settle(question, incidence.edges[question.number].known, gather, means);
        if settled != Settled::Stable {
            return None;
        }
        let master = self.master(question.window.get(question.number).ends[OUT]);
        let candidates = &means.fixpoint.candidates;
        let given: u64 = candidates.edges.iter().map(|edge| u64::from(edge.given.count_ones())).sum();
        let master = if given < self.masters.pairs(master) { self.split(candidates, master) } else { master };
        if means.fixpoint.components.len() == 0 {
            self.masters.verified(master, means.fixpoint.need);
        }
        found
    }

    /// Bytes of what is known.
    pub(crate) fn bytes(&self, window: &Window) -> usize {
        let [edge, vertex] = Incidence::<u64, Spot, 2>::ENTRY;
        let counts = self.kinds * size_of::<[u32; 2]>();
        window.room() * edge + window.touched() * (vertex + counts) + self.masters.bytes()
    }

    /// Gives a component that is but a part of what its master counts a master of its own.
    fn split(&mut self, candidates: &Candidates, whole: MasterId) -> MasterId {
        let part = self.masters.make();
        for edge in &candidates.edges {
            self.masters.subtract(whole, edge.given);
            self.masters.add(part, edge.given);
        }
        for &place in candidates.places() {
            self.masters.join(part);
            let old = std::mem::replace(&mut self.spot(place).master, part);
            self.masters.leave(old);
        }
        self.masters.leave(part);
        part
    }

    /// Whether a vertex has as many edges of each kind as a query vertex.
    fn has_all(&self, pattern: &Pattern, place: Place, vertex: u8) -> bool {
        let first = place as usize * self.kinds;
        pattern.needs[usize::from(vertex)].iter().all(|need| self.counts[first + need.kind][need.side] >= need.edges)
    }

    /// Colours all edges at a vertex again.
    fn recolor_around(&mut self, window: &Window, place: Place, work: &mut Work<'_, '_>) {
        let mut neighbours = std::mem::take(&mut self.neighbours);
        for side in SIDES {
            for color in [BLACK, RED] {
                neighbours.extend(self.incidence.at(place, side, color));
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
        let [source, target] = held.ends.map(|place| self.incidence.corners[place as usize].known.fine);
        self.set_red(held, number, held.fits & source[OUT] & target[IN]);
    }

    /// Sets the query edges that an edge is red for.
    #[inline]
    fn set_red(&mut self, held: &Held, number: Number, red: u64) {
        let was = std::mem::replace(&mut self.incidence.edges[number].known, red);
        if was == red {
            return;
        }
        if was == 0 {
            self.connect(held);
        }
        let master = self.master(held.ends[OUT]);
        self.masters.subtract(master, was & !red);
        self.masters.add(master, red & !was);
        if red == 0 {
            self.disconnect(held);
        }
        let colors = [was, red].map(color);
        if colors[0] != colors[1] {
            self.incidence.repaint(held, number, colors);
        }
    }

    /// Points both ends of an edge that becomes red to one master.
    fn connect(&mut self, held: &Held) {
        let masters = held.ends.map(|place| {
            let spot = &mut self.incidence.corners[place as usize].known;
            spot.reds += 1;
            if spot.reds == 1 {
                spot.master = self.masters.make();
            }
            self.masters.follow(&mut spot.master)
        });
        self.masters.unite(masters[OUT], masters[IN]);
    }

    /// Releases the master of each end that no other red edge touches.
    fn disconnect(&mut self, held: &Held) {
        for place in held.ends {
            let spot = &mut self.incidence.corners[place as usize].known;
            spot.reds -= 1;
            if spot.reds == 0 {
                self.masters.leave(spot.master);
            }
        }
    }

    /// The master of the red edges at a vertex.
    fn master(&mut self, place: Place) -> MasterId {
        self.masters.follow(&mut self.incidence.corners[place as usize].known.master)
    }

    #[inline]
    fn spot(&mut self, place: Place) -> &mut Spot {
        &mut self.incidence.corners[place as usize].known
    }
}
