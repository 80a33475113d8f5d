//! The definition, obviously right: the greatest fixpoint over the live edges by naive removal, anew for every record.

use std::collections::{BTreeMap, BTreeSet};

use graphtide_graph::Time;
use graphtide_simulation::found::Kind;
use graphtide_simulation::{Query, Report};

/// A query edge and a data edge.
pub type Pair = (u8, u32);

/// What is reported: kind, component id, pairs, former ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emitted {
    pub kind: Kind,
    pub detected_at: Time,
    pub id: u32,
    pub pairs: Vec<Pair>,
    pub former: Vec<u32>,
}

/// An edge of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub id: u32,
    pub ts: Time,
    pub at: i64,
    pub source: u32,
    pub target: u32,
    pub fits: u64,
}

/// Matches one query by the definition.
pub struct Oracle {
    query: Query,
    live: Vec<Edge>,
    reported: BTreeSet<Pair>,
    /// The ends of every edge, for what was reported may be gone.
    ends: BTreeMap<u32, (u32, u32)>,
}

impl Oracle {
    pub fn new(query: Query) -> Self {
        Self { query, live: Vec::new(), reported: BTreeSet::new(), ends: BTreeMap::new() }
    }

    pub fn live(&self) -> usize {
        self.live.len()
    }

    /// Takes edges of the past: nothing is reported, nothing is consumed.
    pub fn fill(&mut self, edges: impl Iterator<Item = Edge>) {
        for edge in edges {
            self.live.push(edge);
            self.ends.insert(edge.id, (edge.source, edge.target));
        }
    }

    pub fn insert(&mut self, edge: Edge) -> Vec<Emitted> {
        let mut emitted = self.advance(edge.at, edge.ts);
        self.live.push(edge);
        self.ends.insert(edge.id, (edge.source, edge.target));
        if self.query.report == Report::Changes {
            emitted.extend(self.changes(edge.ts));
        } else if let Some(part) = self.component(edge.id) {
            emitted.push(Self::whole(Kind::Match, edge.ts, &part));
            if self.query.report == Report::Instances {
                let earliest = self.live.iter().position(|live| part.iter().any(|pair| pair.1 == live.id)).unwrap();
                self.live.drain(..=earliest);
            }
        }
        emitted
    }

    pub fn delete(&mut self, id: u32, detected_at: Time) -> Vec<Emitted> {
        let part = self.component(id);
        let emitted = part.map(|part| Self::whole(Kind::Retract, detected_at, &part));
        self.live.retain(|edge| edge.id != id);
        match self.query.report {
            Report::Maximal => emitted.into_iter().collect(),
            Report::Instances => Vec::new(),
            Report::Changes => self.changes(detected_at),
        }
    }

    pub fn advance(&mut self, at: i64, detected_at: Time) -> Vec<Emitted> {
        let mut emitted = Vec::new();
        while let Some(&Edge { at: first, .. }) = self.live.first().filter(|edge| edge.at < at - self.query.window) {
            self.live.retain(|edge| edge.at != first);
            if self.query.report == Report::Changes {
                emitted.extend(self.changes(detected_at));
            }
        }
        emitted
    }

    /// The difference between the match graph that was reported and the one there is.
    fn changes(&mut self, detected_at: Time) -> Vec<Emitted> {
        let now = self.match_graph();
        let (old, new) = (self.parts_by_age(&self.reported), self.parts_by_age(&now));
        let mut emitted = Vec::new();
        for (id, part) in &old {
            let left: Vec<Pair> = part.difference(&now).copied().collect();
            let mut rest = new.iter().filter(|(_, other)| !other.is_disjoint(part));
            if !left.is_empty() {
                let first = rest.next().map_or(*id, |(new, _)| *new);
                emitted.push(Emitted {
                    kind: Kind::Retract,
                    detected_at,
                    id: first,
                    pairs: Self::sorted(&left),
                    former: (first != *id).then_some(*id).into_iter().collect(),
                });
                for (new, other) in rest {
                    emitted.push(Emitted { former: vec![*id], ..Self::emitted(Kind::Match, detected_at, *new, other) });
                }
            }
        }
        for (id, part) in &new {
            let entered: BTreeSet<Pair> = part.difference(&self.reported).copied().collect();
            if entered.is_empty() {
                continue;
            }
            let from: Vec<u32> = old.iter().filter(|(_, other)| !other.is_disjoint(part)).map(|(id, _)| *id).collect();
            let kind = if from.is_empty() { Kind::Match } else { Kind::Extend };
            let former = from.into_iter().filter(|old| old != id).collect();
            emitted.push(Emitted { former, ..Self::emitted(kind, detected_at, *id, &entered) });
        }
        self.reported = now;
        emitted
    }

    fn whole(kind: Kind, detected_at: Time, part: &BTreeSet<Pair>) -> Emitted {
        Self::emitted(kind, detected_at, Self::sorted(&part.iter().copied().collect::<Vec<_>>())[0].1, part)
    }

    fn emitted(kind: Kind, detected_at: Time, id: u32, part: &BTreeSet<Pair>) -> Emitted {
        let pairs = Self::sorted(&part.iter().copied().collect::<Vec<_>>());
        Emitted { kind, detected_at, id, pairs, former: Vec::new() }
    }

    /// Pairs in stream order, then by query edge. Ids of the tests grow with the stream.
    fn sorted(pairs: &[Pair]) -> Vec<Pair> {
        let mut sorted = pairs.to_vec();
        sorted.sort_by_key(|&(query_edge, id)| (id, query_edge));
        sorted
    }

    fn component(&self, id: u32) -> Option<BTreeSet<Pair>> {
        self.parts(&self.match_graph()).into_iter().find(|part| part.iter().any(|pair| pair.1 == id))
    }

    fn parts_by_age(&self, pairs: &BTreeSet<Pair>) -> BTreeMap<u32, BTreeSet<Pair>> {
        self.parts(pairs).into_iter().map(|part| (part.iter().map(|pair| pair.1).min().unwrap(), part)).collect()
    }

    fn edge(&self, id: u32) -> Edge {
        self.edges().find(|edge| edge.id == id).unwrap()
    }

    fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        self.live.iter().copied()
    }

    fn match_graph(&self) -> BTreeSet<Pair> {
        let fits = |edge: Edge| (0..self.query.edges.len()).filter(move |of| edge.fits >> of & 1 == 1);
        let mut pairs: BTreeSet<Pair> = self.edges().flat_map(|edge| fits(edge).map(move |of| (of as u8, edge.id))).collect();
        loop {
            let matching = self.with_matching_ends(&pairs);
            let in_time =
                |part: BTreeSet<Pair>| part.iter().copied().filter(|pair| self.is_in_time(&part, *pair)).collect::<Vec<_>>();
            let kept: BTreeSet<Pair> = self.parts(&matching).into_iter().flat_map(in_time).collect();
            if kept == pairs {
                return kept;
            }
            pairs = kept;
        }
    }

    /// The connected components.
    fn parts(&self, pairs: &BTreeSet<Pair>) -> Vec<BTreeSet<Pair>> {
        let mut parts: Vec<(BTreeSet<u32>, BTreeSet<Pair>)> = Vec::new();
        for &pair in pairs {
            let (source, target) = self.ends[&pair.1];
            let mut joined = (BTreeSet::from([source, target]), BTreeSet::from([pair]));
            parts.retain(|part| {
                let touches = !part.0.is_disjoint(&joined.0);
                if touches {
                    joined.0.extend(&part.0);
                    joined.1.extend(&part.1);
                }
                !touches
            });
            parts.push(joined);
        }
        parts.into_iter().map(|(_, part)| part).collect()
    }

    fn with_matching_ends(&self, pairs: &BTreeSet<Pair>) -> BTreeSet<Pair> {
        let matches = |vertex: u8, image: u32| {
            let choices = |leaves: bool| -> Vec<Vec<u32>> {
                let of = |edge: &graphtide_simulation::QueryEdge| if leaves { edge.source } else { edge.target };
                let at = |id: u32| if leaves { self.edge(id).source } else { self.edge(id).target };
                let query_edges = (0..self.query.edges.len()).filter(|&edge| of(&self.query.edges[edge]) == vertex);
                let choices = |edge: usize| pairs.iter().filter(move |pair| usize::from(pair.0) == edge).map(|pair| pair.1);
                query_edges.map(|edge| choices(edge).filter(|&id| at(id) == image).collect()).collect()
            };
            has_distinct(&choices(true), &mut Vec::new()) && has_distinct(&choices(false), &mut Vec::new())
        };
        let stays = |pair: &&Pair| {
            let query_edge = &self.query.edges[usize::from(pair.0)];
            let edge = self.edge(pair.1);
            matches(query_edge.source, edge.source) && matches(query_edge.target, edge.target)
        };
        pairs.iter().filter(stays).copied().collect()
    }

    /// Whether the pair and one for each other query edge keep the order, tried out over all times.
    fn is_in_time(&self, part: &BTreeSet<Pair>, pair: Pair) -> bool {
        let times = |edge: u8| -> BTreeSet<Time> {
            let of = part.iter().filter(|other| other.0 == edge && (edge != pair.0 || other.1 == pair.1));
            of.map(|other| self.edge(other.1).ts).collect()
        };
        let times: Vec<BTreeSet<Time>> = (0..self.query.edges.len() as u8).map(times).collect();
        can_be_given(&self.query.before, &times, &mut Vec::new())
    }
}

fn can_be_given(before: &[(u8, u8)], times: &[BTreeSet<Time>], given: &mut Vec<Time>) -> bool {
    if given.len() == times.len() {
        return true;
    }
    let edge = given.len();
    times[edge].iter().any(|&time| {
        given.push(time);
        let of = |edge: u8| given.get(usize::from(edge));
        let keeps = |&(first, second): &(u8, u8)| match (of(first), of(second)) {
            (Some(first), Some(second)) => first < second,
            (None, _) | (_, None) => true,
        };
        let can_be = before.iter().all(keeps) && can_be_given(before, times, given);
        given.pop();
        can_be
    })
}

fn has_distinct(choices: &[Vec<u32>], taken: &mut Vec<u32>) -> bool {
    let Some((first, rest)) = choices.split_first() else { return true };
    first.iter().any(|&choice| {
        !taken.contains(&choice) && {
            taken.push(choice);
            let has = has_distinct(rest, taken);
            taken.pop();
            has
        }
    })
}
