//! Why an edge is in no match: what it lacks in the greatest match graph that it could have been in.
//!
//! The match graph grows with the edges. So one of all edges that ever shared a window with the edge in question holds every
//! match that it could have had. It is found in rounds. Each removes all pairs at once whose end lacks an edge for some query
//! edge, or not different ones. A round in which there are none removes those that no times keep in order. What a pair of the
//! edge lacks is what removed it. What was missing then is missing in the graph that is left, for it has no more edges. Where a
//! pair is left, and the edge had no match, what it needs was never there all at once.
//!
//! Cost: O(edges) a round.

use graphtide_graph::Time;

use crate::candidates::{Candidate, Candidates};
use crate::components::Components;
use crate::distinct::has_distinct;
use crate::numbered::Number;
use crate::pattern::{Pattern, SIDES, bits};
use crate::query::{Query, QueryError};
use crate::schedule::Schedule;

/// An edge that shared a window with the one in question, or that one.
#[derive(Clone, Copy, Debug)]
pub struct Companion {
    /// Event time.
    pub ts: Time,
    /// Source and target; vertices are numbered from zero.
    pub ends: [u32; 2],
    /// The set of query edges that it fits by itself.
    pub fits: u64,
}

/// What an edge lacks to match a query edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// An end has no edge that matches any of some query edges.
    Missing(Corner),
    /// An end has edges that match each of some query edges, yet not different ones.
    Shared(Corner),
    /// What the edge is connected with has no match of a query edge, or none later than a time.
    Order {
        /// The query edge.
        edge: u8,
        /// The earliest time at which all that comes before it can be had; none where nothing does.
        after: Option<Time>,
    },
}

/// Where edges are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corner {
    /// The vertex.
    pub vertex: u32,
    /// The query vertex that it would have to match.
    pub query_vertex: u8,
    /// 0 for edges that leave it, 1 for edges that enter it.
    pub side: usize,
    /// The query edges.
    pub edges: u64,
}

/// Says for each query edge that an edge fits what it lacks to match it. None where it matches it in the graph of all edges.
///
/// Edges are in stream order; `asked` is the place of the edge in question.
///
/// # Errors
///
/// The query is none.
pub fn why_not(query: &Query, edges: &[Companion], asked: usize) -> Result<Vec<(u8, Option<Lack>)>, QueryError> {
    let pattern = Pattern::new(query)?;
    let mut rounds = Rounds::new(&pattern, edges, asked);
    while rounds.candidates.edges[asked].pairs != 0 && (rounds.match_ends() || rounds.keep_order()) {}
    Ok(bits(edges[asked].fits).map(|edge| (edge as u8, rounds.lacks[edge])).collect())
}

/// The pairs that are left.
struct Rounds<'a> {
    pattern: &'a Pattern,
    candidates: Candidates,
    asked: usize,
    /// By query edge: what the edge in question lacks to match it.
    lacks: Vec<Option<Lack>>,
}

impl<'a> Rounds<'a> {
    fn new(pattern: &'a Pattern, edges: &[Companion], asked: usize) -> Self {
        let mut candidates = Candidates::default();
        candidates.clear(edges.iter().flat_map(|edge| edge.ends).max().map_or(0, |most| most as usize + 1));
        for (number, edge) in edges.iter().enumerate() {
            candidates.add(number as Number, edge.ts, edge.ends, edge.fits);
        }
        candidates.index();
        Self { pattern, candidates, asked, lacks: vec![None; pattern.edges()] }
    }

    /// Removes the pairs with an end that does not match now; returns whether there were any.
    fn match_ends(&mut self) -> bool {
        let vertices = 0..self.candidates.len() as u32;
        let corners = vertices.flat_map(|vertex| (0..self.pattern.incident.len()).map(move |of| (vertex, of)));
        let failing: Vec<_> =
            corners.filter_map(|(vertex, of)| self.lack_at(vertex, of).map(|lack| (vertex, of, lack))).collect();
        let mut removed = false;
        for (vertex, query_vertex, lack) in failing {
            for side in SIDES {
                for place in self.candidates.at(vertex, side) {
                    let edge = self.candidates.listed(side, place);
                    let lost = self.candidates.edges[edge].pairs & self.pattern.incident[query_vertex][side];
                    removed |= lost != 0;
                    self.remove(edge, lost, |_| Some(lack));
                }
            }
        }
        removed
    }

    /// What a vertex lacks to match a query vertex.
    fn lack_at(&self, vertex: u32, query_vertex: usize) -> Option<Lack> {
        let incident = self.pattern.incident[query_vertex];
        SIDES.into_iter().find_map(|side| {
            let at = self.candidates.at(vertex, side).map(|place| self.candidates.listed(side, place));
            let choices = at.map(|edge| self.candidates.edges[edge].pairs & incident[side]);
            let choices: Vec<u64> = choices.filter(|&choice| choice != 0).collect();
            let missing = choices.iter().fold(incident[side], |missing, choice| missing & !choice);
            let corner = |edges| Corner {
                vertex: self.candidates.places()[vertex as usize],
                query_vertex: query_vertex as u8,
                side,
                edges,
            };
            if missing != 0 {
                Some(Lack::Missing(corner(missing)))
            } else {
                (!has_distinct(incident[side], &choices)).then(|| Lack::Shared(corner(incident[side])))
            }
        })
    }

    /// Removes the pairs that no times of their component keep in order; returns whether there were any.
    fn keep_order(&mut self) -> bool {
        let (mut components, mut schedule, mut removed) = (Components::default(), Schedule::default(), false);
        components.find(&self.candidates);
        for component in 0..components.len() {
            let edges = components.get(component);
            let times = edges.iter().map(|&edge| &self.candidates.edges[edge as usize]).map(|edge| (edge.ts, edge.pairs));
            let connected: Vec<(Time, u64)> = times.collect();
            let is_possible = schedule.fit(self.pattern, connected.iter().copied());
            for &edge in edges {
                let Candidate { ts, pairs, .. } = self.candidates.edges[edge as usize];
                let lost = if is_possible { pairs & !schedule.keep(ts, pairs) } else { pairs };
                removed |= lost != 0;
                let pattern = self.pattern;
                self.remove(edge as usize, lost, |query_edge| lack_of_time(pattern, &connected, (query_edge, ts)));
            }
        }
        removed
    }

    /// Removes pairs of an edge, and notes what they lack if the edge is the one in question.
    fn remove(&mut self, edge: usize, lost: u64, lack: impl Fn(usize) -> Option<Lack>) {
        self.candidates.edges[edge].pairs &= !lost;
        if edge == self.asked {
            for query_edge in bits(lost) {
                self.lacks[query_edge] = lack(query_edge);
            }
        }
    }
}

/// The first query edge that finds no time among connected edges, if one of them has the time of this edge. Those before it
/// have the earliest that they can.
fn lack_of_time(pattern: &Pattern, connected: &[(Time, u64)], (edge, at): (usize, Time)) -> Option<Lack> {
    let mut query_edges: Vec<usize> = (0..pattern.edges()).collect();
    query_edges.sort_by_key(|&each| pattern.earlier[each].count_ones());
    let mut times = vec![Time::MIN; query_edges.len()];
    for each in query_edges {
        let after = bits(pattern.earlier[each]).map(|earlier| times[earlier]).max();
        let had = connected.iter().filter(|(_, pairs)| pairs >> each & 1 == 1).map(|&(ts, _)| ts);
        let had = had.filter(|&ts| each != edge || ts == at).filter(|&ts| after.is_none_or(|after| after < ts));
        match had.min() {
            Some(ts) => times[each] = ts,
            None => return Some(Lack::Order { edge: each as u8, after }),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Companion, Corner, Lack, why_not};
    use crate::query::{Query, QueryEdge, Report};

    /// Two calls from a gang to a mule, then a payment from the mule.
    fn payout() -> Query {
        let edges = [(0, 1, 0), (0, 1, 0), (1, 2, 1)];
        let edges = edges.into_iter().map(|(source, target, kind)| QueryEdge { source, target, kind }).collect();
        Query { vertices: 3, edges, before: vec![(0, 2), (1, 2)], window: 100, report: Report::Maximal }
    }

    fn call(ts: i64, ends: [u32; 2]) -> Companion {
        Companion { ts, ends, fits: 0b011 }
    }

    fn pay(ts: i64, ends: [u32; 2]) -> Companion {
        Companion { ts, ends, fits: 0b100 }
    }

    #[test]
    fn an_end_without_an_edge() {
        let edges = [call(1, [0, 1]), call(2, [0, 1])];
        let lack = Lack::Missing(Corner { vertex: 1, query_vertex: 1, side: 0, edges: 0b100 });
        assert_eq!(why_not(&payout(), &edges, 0), Ok(vec![(0, Some(lack)), (1, Some(lack))]));
    }

    #[test]
    fn an_end_with_too_few_different_edges() {
        let edges = [call(1, [0, 1]), pay(3, [1, 2])];
        let lack = Lack::Shared(Corner { vertex: 0, query_vertex: 0, side: 0, edges: 0b011 });
        assert_eq!(why_not(&payout(), &edges, 0), Ok(vec![(0, Some(lack)), (1, Some(lack))]));
    }

    #[test]
    fn no_time_that_keeps_the_order() {
        let edges = [pay(1, [1, 2]), call(2, [0, 1]), call(3, [0, 1]), pay(4, [1, 2])];
        let lack = Lack::Order { edge: 2, after: Some(2) };
        assert_eq!(why_not(&payout(), &edges, 0), Ok(vec![(2, Some(lack))]));
        assert_eq!(why_not(&payout(), &edges, 3), Ok(vec![(2, None)]));
    }
}
