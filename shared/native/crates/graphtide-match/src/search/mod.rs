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
pub mod step;

use graphtide_graph::Time;
use graphtide_graph::store::EdgeRef;
use graphtide_graph::vertex::Vertex;

use crate::dispatch::SignatureId;
use crate::output::Rows;
use crate::shape::{Bound, Shape};
use crate::timing::Arrival;
use gate::Gate;
use postings::{Access, Postings};
use step::Step;

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

    /// The lists the search reads: signature and access.
    pub fn reads(&self) -> impl Iterator<Item = (SignatureId, Access)> {
        self.steps.iter().flatten().map(|step| (step.signature, step.access))
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
            Step::new(shape, bound, edge, signatures[usize::from(edge)])
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
        let Some((earliest, latest)) = step.range(self.alive_from, |edge| self.times[usize::from(edge)]) else { return };
        let mut next = lists.newest(step.signature, step.access, self.vertices[source], self.vertices[target]);
        while let Some(entry) = next {
            if entry.ts < earliest {
                return;
            }
            next = lists.older(step.signature, step.access, entry);
            if entry.ts > latest || entry.deleted || !step.fits(entry, self.edges, self.vertices) {
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

    fn predicates_hold(&self, predicates: &[u16]) -> bool {
        if predicates.is_empty() {
            return true;
        }
        let bound = Bound { store: self.arrival.store, names: self.arrival.names, edges: self.edges, vertices: self.vertices };
        predicates.iter().all(|&index| self.shape.across[usize::from(index)].predicate.holds(&bound))
    }
}
