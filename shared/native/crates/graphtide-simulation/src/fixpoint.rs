//! The greatest set of pairs of query edges and data edges that keeps Definitions 1 and 2, found by removal.
//!
//! A pair stays while both ends match. The data vertex has, for the query edges that leave the query vertex, different edges
//! that match them, and for those that enter it likewise. And it stays while its connected component has, for each other query
//! edge, a match such that the times keep the order. What is removed could be of no use to what stays, so the order of removal
//! does not matter.
//!
//! Different edges are found by counting where that is exact. Query edges at a vertex that no data edge here could both match
//! have no choice in common, so one each is enough. One that has as many choices as there are query edges to share them can
//! wait until the others have taken theirs. Only for what is left then, a bipartite matching decides, on fewer choices than the
//! square of the degree of the query vertex. Counting by kinds alone would not do: query edges of one kind to different query
//! vertices begin with equal choices, but lose different ones.
//!
//! Invariant: a check that fails is found, for every loss that can make one fail puts the vertex on the list of unchecked ones.
//! Cost: linear in the pairs until both ends match everywhere; as much again for every time that the order then removes some.
//! Source: paper 000, algorithms DDST and VERIFY-MATCH.

use smallvec::SmallVec;

use crate::candidates::{Candidate, Candidates};
use crate::components::Components;
use crate::distinct::has_distinct;
use crate::funnel::Funnel;
use crate::numbered::Number;
use crate::pattern::{IN, OUT, Pattern, SIDES, bits};
use crate::schedule::Schedule;
use crate::work::Work;

/// How a search for the fixpoint ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// What is left is the fixpoint.
    Stable,
    /// The pairs of the edge in question are gone.
    Refuted,
    /// Work was refused.
    Cut,
}

/// Why a vertex does not match a query vertex: the query edges that it lacks a choice for.
enum Failure {
    Missing(u64),
    Shared(u64),
}

/// A search for the fixpoint, with its scratch space.
#[derive(Debug, Default)]
pub(crate) struct Fixpoint {
    pub candidates: Candidates,
    pub components: Components,
    /// Query edges where one more match might have changed the outcome.
    pub need: u64,
    /// By vertex, query edge and side: the data edges there that match it.
    counts: Vec<[u32; 2]>,
    /// By query edge: those that some data edge could match as well.
    rivals: Vec<u64>,
    unchecked: Vec<(u32, u8)>,
    schedule: Schedule,
}

impl Fixpoint {
    /// Removes pairs with an end that does not match, by closed vertices only. Stops early if the edge in question loses
    /// all pairs that it may have.
    pub(crate) fn near(
        &mut self,
        pattern: &Pattern,
        (edge, may_match): (usize, u64),
        work: &mut Work<'_, '_>,
        funnel: &mut Funnel,
    ) -> Settled {
        funnel.nearby += 1;
        let settled = if self.load(pattern, work, funnel) {
            let lost = self.candidates.edges[edge].pairs & !may_match;
            self.remove(pattern, edge, lost);
            funnel.removed_by_timing += u64::from(lost.count_ones());
            self.match_ends(pattern, Some(edge), work, funnel)
        } else {
            Settled::Cut
        };
        self.unchecked.clear();
        funnel.nearby_cut += u64::from(settled == Settled::Cut);
        settled
    }

    /// Finds the fixpoint of all candidates, which are then in stream order and in connected components.
    pub(crate) fn whole(&mut self, pattern: &Pattern, work: &mut Work<'_, '_>, funnel: &mut Funnel) -> Settled {
        self.candidates.sort();
        let settled = self.settle(pattern, work, funnel);
        self.unchecked.clear();
        funnel.verified_cut += u64::from(settled == Settled::Cut);
        settled
    }

    fn settle(&mut self, pattern: &Pattern, work: &mut Work<'_, '_>, funnel: &mut Funnel) -> Settled {
        if !self.load(pattern, work, funnel) {
            return Settled::Cut;
        }
        loop {
            if self.match_ends(pattern, None, work, funnel) == Settled::Cut {
                return Settled::Cut;
            }
            self.components.find(&self.candidates);
            if !work.spend(self.candidates.edges.len() as u32) {
                return Settled::Cut;
            }
            if !self.keep_order(pattern, funnel) {
                return Settled::Stable;
            }
        }
    }

    /// The place of a data edge among the candidates, if it still matches something.
    pub(crate) fn matched(&self, number: Number) -> Option<usize> {
        let edges = &self.candidates.edges;
        let place = edges.binary_search_by_key(&number, |edge| edge.number).ok()?;
        (edges[place].pairs != 0).then_some(place)
    }

    /// The pairs of the component that a data edge is in.
    pub(crate) fn component(&self, edge: usize) -> impl Iterator<Item = &Candidate> + Clone {
        self.components.of(edge).iter().map(|&edge| &self.candidates.edges[edge as usize])
    }

    /// Counts the pairs, and lists every vertex as unchecked.
    fn load(&mut self, pattern: &Pattern, work: &mut Work<'_, '_>, funnel: &mut Funnel) -> bool {
        self.need = 0;
        self.candidates.index();
        let degree = pattern.edges();
        self.counts.clear();
        self.counts.resize(self.candidates.len() * degree, [0; 2]);
        self.rivals.clear();
        self.rivals.resize(degree, 0);
        if !work.spend(self.candidates.edges.len() as u32) {
            return false;
        }
        for edge in &mut self.candidates.edges {
            edge.pairs = edge.given;
            funnel.pairs += u64::from(edge.pairs.count_ones());
            for query_edge in bits(edge.pairs) {
                self.rivals[query_edge] |= edge.pairs;
                for side in SIDES {
                    self.counts[edge.ends[side] as usize * degree + query_edge][side] += 1;
                }
            }
        }
        for (vertex, counts) in self.counts.chunks_exact(degree).enumerate() {
            if !self.candidates.is_closed(vertex as u32) {
                break;
            }
            let met =
                SIDES.map(|side| (0..degree).filter(|&edge| counts[edge][side] > 0).fold(0, |set, edge| set | 1_u64 << edge));
            for (query_vertex, edges) in pattern.incident.iter().enumerate() {
                if edges[OUT] & met[OUT] != 0 || edges[IN] & met[IN] != 0 {
                    self.unchecked.push((vertex as u32, query_vertex as u8));
                }
            }
        }
        true
    }

    fn match_ends(
        &mut self,
        pattern: &Pattern,
        question: Option<usize>,
        work: &mut Work<'_, '_>,
        funnel: &mut Funnel,
    ) -> Settled {
        while let Some((vertex, query_vertex)) = self.unchecked.pop() {
            if !work.spend(1) {
                return Settled::Cut;
            }
            let edges = pattern.incident[usize::from(query_vertex)];
            let Some(failure) = SIDES.into_iter().find_map(|side| self.failure(pattern, vertex, side, edges[side], work))
            else {
                continue;
            };
            let (lacking, removed) = match failure {
                Failure::Missing(lacking) => (lacking, &mut funnel.removed_by_ends),
                Failure::Shared(lacking) => (lacking, &mut funnel.removed_by_distinctness),
            };
            self.need |= lacking;
            *removed += self.unmatch(pattern, vertex, edges, work);
            if question.is_some_and(|edge| self.candidates.edges[edge].pairs == 0) {
                return Settled::Refuted;
            }
        }
        Settled::Stable
    }

    /// Returns why the query edges cannot have different data edges at a side of a vertex, if they cannot.
    fn failure(&self, pattern: &Pattern, vertex: u32, side: usize, edges: u64, work: &mut Work<'_, '_>) -> Option<Failure> {
        let first = vertex as usize * pattern.edges();
        let fewer = |than: u32, edges: u64| {
            bits(edges).filter(|&edge| self.counts[first + edge][side] < than).fold(0, |set, edge| set | 1_u64 << edge)
        };
        let missing = fewer(1, edges);
        if missing != 0 {
            return Some(Failure::Missing(missing));
        }
        let is_contested = |edge: &usize| self.rivals[*edge] & edges & !(1 << edge) != 0;
        let mut contested = bits(edges).filter(is_contested).fold(0, |set, edge| set | 1_u64 << edge);
        loop {
            let short = fewer(contested.count_ones(), contested);
            if short == contested {
                break;
            }
            contested = short;
        }
        if contested == 0 {
            return None;
        }
        let at = self.candidates.at(vertex, side);
        // If these steps are refused, so is the next check.
        work.spend(at.len() as u32);
        let choices: SmallVec<[u64; 32]> = at
            .map(|place| self.candidates.edges[self.candidates.listed(side, place)].pairs & contested)
            .filter(|&choice| choice != 0)
            .collect();
        (!has_distinct(contested, &choices)).then_some(Failure::Shared(contested))
    }

    /// Removes the pairs that take a vertex for the query vertex with these edges; returns how many there were.
    fn unmatch(&mut self, pattern: &Pattern, vertex: u32, edges: [u64; 2], work: &mut Work<'_, '_>) -> u64 {
        let mut removed = 0;
        for side in SIDES {
            let at = self.candidates.at(vertex, side);
            work.spend(at.len() as u32);
            for place in at {
                let edge = self.candidates.listed(side, place);
                let lost = self.candidates.edges[edge].pairs & edges[side];
                self.remove(pattern, edge, lost);
                removed += u64::from(lost.count_ones());
            }
        }
        removed
    }

    /// Removes pairs of a data edge, and lists its ends as unchecked if they have too few choices left.
    fn remove(&mut self, pattern: &Pattern, edge: usize, lost: u64) {
        let Candidate { ends, ref mut pairs, .. } = self.candidates.edges[edge];
        *pairs &= !lost;
        for query_edge in bits(lost) {
            for side in SIDES {
                let vertex = ends[side];
                let count = &mut self.counts[vertex as usize * pattern.edges() + query_edge][side];
                *count -= 1;
                let query_vertex = pattern.ends[query_edge][side];
                if *count < pattern.together[query_edge][side] && self.candidates.is_closed(vertex) {
                    self.unchecked.push((vertex, query_vertex));
                }
            }
        }
    }

    /// Removes pairs that are not in time; returns whether there were any.
    fn keep_order(&mut self, pattern: &Pattern, funnel: &mut Funnel) -> bool {
        let mut removed = 0;
        for component in 0..self.components.len() {
            let edges = self.components.get(component);
            let candidates = &self.candidates.edges;
            let times = edges.iter().map(|&edge| (candidates[edge as usize].ts, candidates[edge as usize].pairs));
            let is_possible = if pattern.is_unordered() {
                times.fold(0, |met, (_, pairs)| met | pairs) == pattern.all
            } else {
                self.schedule.fit(pattern, times)
            };
            if is_possible && pattern.is_unordered() {
                continue;
            }
            for place in self.components.range(component) {
                let edge = self.components.edge(place);
                let Candidate { ts, pairs, .. } = self.candidates.edges[edge];
                let kept = if is_possible { self.schedule.keep(ts, pairs) } else { 0 };
                removed += u64::from((pairs & !kept).count_ones());
                self.remove(pattern, edge, pairs & !kept);
            }
        }
        if removed > 0 {
            // A match more, of any query edge, could have joined this component to one that has other times.
            self.need = pattern.all;
        }
        funnel.removed_by_timing += removed;
        removed > 0
    }
}
