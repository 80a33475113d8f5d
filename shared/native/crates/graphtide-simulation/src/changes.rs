//! The match graph as it was reported, in its components, from which its changes follow.
//!
//! An arriving edge can add pairs to its own component alone: those of any other component keep the definition without it, and
//! so did before. An edge that leaves takes pairs of its own component alone along. So each change is found from one component.
//! A component that falls apart keeps the id of its oldest part; each other part is reported whole, as a match that split from
//! it.
//!
//! Invariant: the pairs kept here keep the definition. After a refused search, some that belong to the match graph may be
//! missing; the next edge of their component brings them.
//! Cost: linear in the component that changes, and the fixpoint over what is left of it.
//! Source: semantics, section 7.

use graphtide_graph::Time;
use graphtide_graph::store::EdgeRef;
use smallvec::SmallVec;

use crate::fixpoint::Settled;
use crate::found::{Found, Kind};
use crate::numbered::{Number, Numbered};
use crate::pattern::{Pattern, bits};
use crate::question::{Means, Question};
use crate::window::Window;

/// In no component.
const APART: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Matched {
    pairs: u64,
    component: u32,
}

/// Edges of each component, in stream order, and what they match.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    matched: Numbered<Matched>,
    components: Vec<Vec<Number>>,
    free: Vec<u32>,
    live: usize,
}

impl Changes {
    /// Records an edge that was appended to the window.
    pub(crate) fn arrive(&mut self) {
        self.matched.push(Matched { pairs: 0, component: APART });
    }

    /// Forgets an edge that leaves the window, whose pairs were withdrawn.
    pub(crate) fn depart(&mut self, number: Number) {
        self.matched.remove(number);
    }

    /// Forgets the component of an edge.
    pub(crate) fn forget(&mut self, number: Number) {
        let component = self.matched[number].component;
        if component != APART {
            self.dissolve(component);
        }
    }

    /// Reports what is new in the component that the fixpoint found for an edge.
    pub(crate) fn enter(
        &mut self,
        question: &Question<'_>,
        component: impl Iterator<Item = (Number, u64)> + Clone,
        detected_at: Time,
        found: &mut Found,
    ) {
        let mut former: SmallVec<[u32; 4]> = SmallVec::new();
        for (number, _) in component.clone() {
            let of = self.matched[number].component;
            if of != APART && !former.contains(&of) {
                former.push(of);
            }
        }
        let named = |number: Number| question.window.get(number).edge;
        let Some(id) = component.clone().next().map(|(number, _)| named(number)) else { return };
        let kind = if former.is_empty() { Kind::Match } else { Kind::Extend };
        let entered = component.clone().map(|(number, pairs)| (named(number), pairs & !self.matched[number].pairs));
        let ids = former.iter().map(|&of| named(self.components[of as usize][0])).filter(|&old| old != id);
        found.push((kind, detected_at, id), pairs(entered), ids);
        for of in former {
            self.dissolve(of);
        }
        self.gather(component);
    }

    /// Reports what leaves the match graph with some edges, in stream order, that are about to leave the window.
    pub(crate) fn leave(
        &mut self,
        pattern: &Pattern,
        window: &Window,
        leaving: &[Number],
        (detected_at, found): (Time, &mut Found),
        means: &mut Means<'_, '_, '_>,
    ) {
        for &first in leaving {
            let component = self.matched[first].component;
            if component == APART {
                continue;
            }
            let edges = std::mem::take(&mut self.components[component as usize]);
            let stays = |number: &Number| leaving.binary_search(number).is_err();
            let candidates = &mut means.fixpoint.candidates;
            candidates.clear(window.places());
            for &number in edges.iter().filter(|number| stays(number)) {
                let held = window.get(number);
                candidates.add(number, held.ts, held.ends, self.matched[number].pairs);
            }
            candidates.close_all();
            means.funnel.verifications_run += 1;
            means.funnel.remainders += 1;
            let settled = means.fixpoint.whole(pattern, &mut means.work, means.funnel);
            debug_assert_eq!(settled, Settled::Stable, "upkeep is not refused");
            self.withdraw(window, &edges, (detected_at, found), means);
            self.components[component as usize] = edges;
            self.split(window, component, (detected_at, found), means);
        }
    }

    /// Bytes of what is known.
    pub(crate) fn bytes(&self) -> usize {
        self.matched.room() * Numbered::<Matched>::ENTRY + self.live * size_of::<Number>()
    }

    /// Reports the pairs that are not left.
    fn withdraw(
        &mut self,
        window: &Window,
        edges: &[Number],
        (detected_at, found): (Time, &mut Found),
        means: &Means<'_, '_, '_>,
    ) {
        let fixpoint = &means.fixpoint;
        let left = |number: Number| fixpoint.matched(number).map_or(0, |place| fixpoint.candidates.edges[place].pairs);
        let gone = edges.iter().map(|&number| (window.get(number).edge, self.matched[number].pairs & !left(number)));
        let old = window.get(edges[0]).edge;
        let oldest = edges.iter().find(|&&number| left(number) != 0).map(|&number| window.get(number).edge);
        let id = oldest.unwrap_or(old);
        found.push((Kind::Retract, detected_at, id), pairs(gone), (id != old).then_some(old));
    }

    /// Replaces a component by what the fixpoint left of it, and reports the parts that split off.
    fn split(&mut self, window: &Window, component: u32, (detected_at, found): (Time, &mut Found), means: &Means<'_, '_, '_>) {
        let fixpoint = &means.fixpoint;
        let old = window.get(self.components[component as usize][0]).edge;
        self.dissolve(component);
        for part in 0..fixpoint.components.len() {
            let of = |&edge: &u32| &fixpoint.candidates.edges[edge as usize];
            let edges = fixpoint.components.get(part).iter().map(of).map(|edge| (edge.number, edge.pairs));
            let mut named = edges.clone().map(|(number, pairs)| (window.get(number).edge, pairs)).peekable();
            if let (true, Some(&(id, _))) = (part > 0, named.peek()) {
                found.push((Kind::Match, detected_at, id), pairs(named), [old]);
            }
            self.gather(edges);
        }
    }

    /// Forgets a component.
    fn dissolve(&mut self, component: u32) {
        let edges = std::mem::take(&mut self.components[component as usize]);
        self.live -= edges.len();
        for number in edges {
            self.matched[number] = Matched { pairs: 0, component: APART };
        }
        self.free.push(component);
    }

    /// Makes a component.
    fn gather(&mut self, edges: impl Iterator<Item = (Number, u64)>) {
        let component = self.free.pop().unwrap_or(self.components.len() as u32);
        if component as usize == self.components.len() {
            self.components.push(Vec::new());
        }
        for (number, pairs) in edges {
            self.matched[number] = Matched { pairs, component };
            self.components[component as usize].push(number);
            self.live += 1;
        }
    }
}

/// The pairs of edges that match sets of query edges.
pub(crate) fn pairs(edges: impl IntoIterator<Item = (EdgeRef, u64)>) -> impl Iterator<Item = (u8, EdgeRef)> {
    edges.into_iter().flat_map(|(edge, pairs)| bits(pairs).map(move |query_edge| (query_edge as u8, edge)))
}
