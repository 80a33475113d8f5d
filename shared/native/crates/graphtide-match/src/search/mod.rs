//! The `re-search` engine: a local backtracking search around every new edge, without partial matches.
//!
//! A match is found from the edge that completes it: that edge is bound to each query edge it fits, and the others are looked up
//! among the older edges of the window, one after the other, each next to a vertex already bound.
//! Invariant: nothing is kept but the postings of the window's edges, which patterns share.
//! Cost: O(1) to keep an edge; for each query edge it fits, the size of the search tree, cut by time bounds, vertices and
//! predicates as soon as they are known.

pub mod gate;
mod jumps;
pub mod postings;

use graphtide_graph::Time;
use graphtide_graph::store::EdgeRef;
use graphtide_graph::vertex::Vertex;

use crate::dispatch::SignatureId;
use crate::output::Rows;
use crate::shape::{Bound, Shape, bits};
use crate::timing::Arrival;
use gate::Gate;
use postings::{Access, Postings};

/// One edge to bind, given those before it.
#[derive(Clone, Debug)]
struct Step {
    edge: u8,
    signature: SignatureId,
    access: Access,
    source: u8,
    target: u8,
    /// Vertices already bound that a new one must differ from.
    differ: Vec<u8>,
    /// Bound edges that must be earlier.
    after: Vec<u8>,
    /// Bound edges that must be later.
    before: Vec<u8>,
    /// Bound edges that it must not be.
    distinct: Vec<u8>,
    predicates: Vec<u16>,
}

/// One pattern's search.
#[derive(Debug)]
pub struct Search {
    shape: Shape,
    pattern: u32,
    steps: Vec<Vec<Step>>,
    edges: Vec<EdgeRef>,
    times: Vec<Time>,
    vertices: Vec<Vertex>,
}

impl Search {
    /// Makes an engine for checked search orders; `signatures` are those of the pattern's edges.
    pub fn new(pattern: u32, shape: Shape, orders: &[Vec<u8>], signatures: &[SignatureId]) -> Self {
        let steps = orders.iter().map(|order| steps(&shape, order, signatures)).collect();
        Self {
            pattern,
            steps,
            edges: vec![EdgeRef(0); shape.ends.len()],
            times: vec![0; shape.ends.len()],
            vertices: vec![Vertex::NONE; shape.vertices],
            shape,
        }
    }

    /// The lists the search reads: signature, access and window.
    pub fn reads(&self) -> impl Iterator<Item = (SignatureId, Access, i64)> {
        self.steps.iter().flatten().map(|step| (step.signature, step.access, self.shape.window))
    }

    /// What the first look-up from a query edge needs: without it, no match can be found from there.
    pub fn gate(&self, query_edge: u8) -> Option<Gate> {
        let step = self.steps[usize::from(query_edge)].first()?;
        let arriving = self.shape.ends[usize::from(query_edge)];
        Some(Gate::new(step.signature, step.access, (step.source, step.target), arriving))
    }

    /// Reports every match that the edge completes as one query edge. The edge is not in the postings yet.
    pub fn insert(&mut self, arrival: &Arrival<'_>, query_edge: u8, postings: &Postings, rows: &mut Rows) {
        let (source, target) = self.shape.ends[usize::from(query_edge)];
        self.vertices.fill(Vertex::NONE);
        self.vertices[usize::from(source)] = arrival.source;
        self.vertices[usize::from(target)] = arrival.target;
        self.edges[usize::from(query_edge)] = arrival.edge;
        self.times[usize::from(query_edge)] = arrival.ts;
        let mut run = Run {
            pattern: self.pattern,
            shape: &self.shape,
            steps: &self.steps[usize::from(query_edge)],
            edges: &mut self.edges,
            times: &mut self.times,
            vertices: &mut self.vertices,
            arrival,
            postings,
            rows,
            alive_from: arrival.ts.saturating_sub(self.shape.window - 1),
        };
        run.descend(0);
    }
}

fn steps(shape: &Shape, order: &[u8], signatures: &[SignatureId]) -> Vec<Step> {
    (1..order.len())
        .map(|place| {
            let edge = order[place];
            let bound = order[..place].iter().fold(0, |set: u64, &edge| set | 1 << edge);
            let seen = shape.vertices_of(bound);
            let (source, target) = shape.ends[usize::from(edge)];
            let (has_source, has_target) = (seen >> source & 1 == 1, seen >> target & 1 == 1);
            let ordered = |precedes: &dyn Fn(usize) -> bool| {
                bits(bound).filter(|&other| precedes(other)).map(|other| other as u8).collect()
            };
            Step {
                edge,
                signature: signatures[usize::from(edge)],
                access: match (has_source, has_target) {
                    (true, true) => Access::Both,
                    (true, false) => Access::Source,
                    (false, _) => Access::Target,
                },
                source,
                target,
                differ: if shape.vertices_may_coincide || (has_source && has_target) {
                    Vec::new()
                } else {
                    (0..128).filter(|&vertex| seen >> vertex & 1 == 1).collect()
                },
                after: ordered(&|other| shape.precedes(other, usize::from(edge))),
                before: ordered(&|other| shape.precedes(usize::from(edge), other)),
                distinct: shape.may_coincide(1 << edge, bound).into_iter().map(|(_, other)| other).collect(),
                predicates: shape.predicates_between(bound, 1 << edge),
            }
        })
        .collect()
}

struct Run<'r, 'a> {
    pattern: u32,
    shape: &'r Shape,
    steps: &'r [Step],
    edges: &'r mut [EdgeRef],
    times: &'r mut [Time],
    vertices: &'r mut [Vertex],
    arrival: &'r Arrival<'a>,
    postings: &'r Postings,
    rows: &'r mut Rows,
    alive_from: Time,
}

impl Run<'_, '_> {
    fn descend(&mut self, depth: usize) {
        let steps = self.steps;
        let Some(step) = steps.get(depth) else {
            self.rows.push(self.pattern, self.arrival.ts, self.edges, self.vertices);
            return;
        };
        let lists = self.postings;
        let (source, target) = (usize::from(step.source), usize::from(step.target));
        let time = |edge: &u8| self.times[usize::from(*edge)];
        let Some(after) = step.after.iter().map(time).max().map_or(Some(Time::MIN), |ts| ts.checked_add(1)) else { return };
        let Some(latest) = step.before.iter().map(time).min().map_or(Some(Time::MAX), |ts| ts.checked_sub(1)) else { return };
        let earliest = self.alive_from.max(after);
        if earliest > latest {
            return;
        }
        let mut next = lists.newest(step.signature, step.access, self.vertices[source], self.vertices[target]);
        while let Some(entry) = next {
            if entry.ts < earliest {
                return;
            }
            next = lists.older(step.signature, step.access, entry);
            if entry.ts > latest || entry.deleted || !self.fits(step, entry.source, entry.target, entry.edge) {
                continue;
            }
            self.edges[usize::from(step.edge)] = entry.edge;
            self.times[usize::from(step.edge)] = entry.ts;
            let kept = (self.vertices[source], self.vertices[target]);
            self.vertices[source] = entry.source;
            self.vertices[target] = entry.target;
            if self.predicates_hold(&step.predicates) {
                self.descend(depth + 1);
            }
            (self.vertices[source], self.vertices[target]) = kept;
        }
    }

    /// Whether the vertex that the edge brings is new, and the edge is none of those bound.
    #[inline]
    fn fits(&self, step: &Step, source: Vertex, target: Vertex, edge: EdgeRef) -> bool {
        let brought = match step.access {
            Access::Source => target,
            Access::Target => source,
            Access::Both => Vertex::NONE,
        };
        step.differ.iter().all(|&other| self.vertices[usize::from(other)] != brought)
            && step.distinct.iter().all(|&other| self.edges[usize::from(other)] != edge)
    }

    fn predicates_hold(&self, predicates: &[u16]) -> bool {
        if predicates.is_empty() {
            return true;
        }
        let bound = Bound { store: self.arrival.store, names: self.arrival.names, edges: self.edges, vertices: self.vertices };
        predicates.iter().all(|&index| self.shape.across[usize::from(index)].predicate.holds(&bound))
    }
}
