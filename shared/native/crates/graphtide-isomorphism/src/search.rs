//! The `re-search` engine: a local backtracking search around every new edge, without partial matches.
//!
//! A match is found from the edge that completes it. That edge is bound to each query edge that it fits. The others are looked
//! up among the older edges of the window, one after the other, each next to a vertex already bound.
//! Invariant: nothing is kept but the postings of the window's edges, which patterns share.
//! Cost: O(1) to keep an edge. For each query edge that it fits, the cost is the size of the search tree. Time bounds, vertices
//! and predicates cut the tree as soon as they are known.

use graphtide_engine::arrival::{Arrival, Deleted, Deletion, Outcome};
use graphtide_engine::dispatch::Admission;
use graphtide_engine::engine::{Engine, Explained};
use graphtide_engine::ids::{ReaderId, RingId, UnitId};
use graphtide_engine::lists::{Gate, Postings};
use graphtide_engine::meter::Meter;
use graphtide_engine::output::Rows;
use graphtide_engine::trace::{Node, Reason, Tracer};
use graphtide_graph::clock::{self, Now};
use graphtide_graph::store::EdgeRef;
use graphtide_graph::vertex::Vertex;

use crate::plan::SearchPlan;
use crate::shape::{Bound, Shape};
use crate::step::{Step, too_old};

/// One pattern's search.
#[derive(Debug)]
pub struct Search {
    shape: Shape,
    unit: UnitId,
    steps: Vec<Vec<Step>>,
    edges: Vec<EdgeRef>,
    /// When they came.
    times: Vec<i64>,
    vertices: Vec<Vertex>,
}

impl Search {
    /// Makes an engine for a checked plan; `rings` are the lists of the pattern's edges.
    pub fn new(unit: UnitId, shape: Shape, plan: &SearchPlan, rings: &[RingId]) -> Self {
        let steps = plan.orders.iter().map(|order| steps(&shape, order, rings)).collect();
        Self {
            unit,
            steps,
            edges: vec![EdgeRef(0); shape.ends.len()],
            times: vec![0; shape.ends.len()],
            vertices: vec![Vertex::NONE; shape.vertices],
            shape,
        }
    }

    /// The pattern.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
}

impl Engine for Search {
    fn lookback(&self) -> i64 {
        self.shape.window
    }

    #[inline]
    fn insert<T: Tracer>(
        &mut self,
        arrival: &Arrival<'_>,
        query_edge: u8,
        lists: &Postings,
        found: &mut Rows,
        tracer: T,
        meter: &mut Meter<'_>,
    ) -> Outcome {
        let (source, target) = self.shape.ends[usize::from(query_edge)];
        self.vertices.fill(Vertex::NONE);
        self.vertices[usize::from(source)] = arrival.source;
        self.vertices[usize::from(target)] = arrival.target;
        self.edges[usize::from(query_edge)] = arrival.edge;
        self.times[usize::from(query_edge)] = arrival.at;
        let mut run = Run {
            unit: self.unit,
            start: query_edge,
            shape: &self.shape,
            steps: &self.steps[usize::from(query_edge)],
            edges: &mut self.edges,
            times: &mut self.times,
            vertices: &mut self.vertices,
            arrival,
            postings: lists,
            rows: found,
            tracer,
            meter,
            alive_from: clock::alive_from(arrival.at, self.shape.window),
        };
        let started = run.node(query_edge).arrival(query_edge);
        run.tracer.look(started);
        run.tracer.pass(started);
        run.descend(0);
        Outcome::Passed
    }

    /// Its edges are those of the lists, which have marks of their own.
    fn delete(&mut self, _deleted: &Deleted, _found: &mut Rows, _meter: &mut Meter<'_>) -> Deletion {
        Deletion::EndsMatches
    }

    fn advance(&mut self, _now: Now, _found: &mut Rows, _meter: &mut Meter<'_>) {}

    fn clear(&mut self, _meter: &mut Meter<'_>) {}

    /// What the first look-up from the query edge needs: without it, no match can be found from there.
    fn admission(&self, query_edge: u8) -> Admission {
        let arriving = self.shape.ends[usize::from(query_edge)];
        let first = self.steps[usize::from(query_edge)].first();
        let gate = first.map(|step| Gate::new(step.ring, step.access, (step.source, step.target), arriving));
        Admission { gates: [gate, None], ..Admission::ALWAYS }
    }

    fn attach(&mut self, reader: ReaderId, lists: &mut Postings) -> Vec<RingId> {
        lists.serve_all(reader, self.steps.iter().flatten().map(|step| (step.ring, step.access)), self.shape.window)
    }
}

impl Explained for Search {
    fn place(&self, start: u8, edge: u8) -> usize {
        self.steps[usize::from(start)].iter().position(|step| step.edge == edge).map_or(0, |place| place + 1)
    }
}

fn steps(shape: &Shape, order: &[u8], rings: &[RingId]) -> Vec<Step> {
    (1..order.len())
        .map(|place| {
            let edge = order[place];
            let bound = order[..place].iter().fold(0, |set: u64, &edge| set | 1 << edge);
            Step::new(shape, bound, edge, rings[usize::from(edge)])
        })
        .collect()
}

struct Run<'r, 'a, 'p, T> {
    unit: UnitId,
    start: u8,
    shape: &'r Shape,
    steps: &'r [Step],
    edges: &'r mut [EdgeRef],
    times: &'r mut [i64],
    vertices: &'r mut [Vertex],
    arrival: &'r Arrival<'a>,
    postings: &'r Postings,
    rows: &'r mut Rows,
    tracer: T,
    meter: &'r mut Meter<'p>,
    alive_from: i64,
}

impl<T: Tracer> Run<'_, '_, '_, T> {
    #[inline]
    fn node(&self, edge: u8) -> Node {
        Node::Search { start: self.start, edge }
    }

    fn descend(&mut self, depth: usize) {
        let steps = self.steps;
        let Some(step) = steps.get(depth) else {
            self.tracer.matched(self.arrival.at, self.edges);
            self.rows.complete(self.unit, self.arrival, self.edges.iter().copied(), self.vertices.iter().copied(), self.meter);
            return;
        };
        self.tracer.seek();
        self.look_up(depth, step);
        let bound = std::iter::once(self.start).chain(steps[..depth].iter().map(|step| step.edge));
        let bound = bound.map(|edge| (edge, self.edges[usize::from(edge)]));
        self.tracer.sought(Node::Search { start: self.start, edge: step.edge }, step.edge, bound, self.arrival.ts);
    }

    /// Binds each older edge that the step allows, newest first, and continues with the next step.
    // Compiled with tracing and without, it would else be a call in both.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn look_up(&mut self, depth: usize, step: &Step) {
        let lists = self.postings;
        let emitted = self.node(step.edge).look_up(step.edge);
        let (source, target) = (usize::from(step.source), usize::from(step.target));
        let Some((earliest, latest)) = step.range(self.alive_from, |edge| self.times[usize::from(edge)]) else { return };
        let mut next = lists.newest(step.ring, step.access, self.vertices[source], self.vertices[target]);
        while let Some(entry) = next {
            if !self.meter.step() {
                return;
            }
            self.tracer.look(emitted);
            if entry.at < earliest {
                self.tracer.refuse(emitted, too_old(entry, self.alive_from), None);
                return;
            }
            next = lists.older(step.ring, step.access, entry);
            if let Some(reason) = step.misfit(entry, latest, self.edges, self.vertices) {
                self.tracer.refuse(emitted, reason, None);
                continue;
            }
            self.edges[usize::from(step.edge)] = entry.edge;
            self.times[usize::from(step.edge)] = entry.at;
            let kept = (self.vertices[source], self.vertices[target]);
            self.vertices[source] = entry.source;
            self.vertices[target] = entry.target;
            if self.predicates_hold(&step.predicates) {
                self.tracer.pass(emitted);
                self.descend(depth + 1);
            } else {
                self.tracer.refuse(emitted, Reason::Predicate, None);
            }
            (self.vertices[source], self.vertices[target]) = kept;
        }
    }

    fn predicates_hold(&mut self, predicates: &[u16]) -> bool {
        if predicates.is_empty() {
            return true;
        }
        let bound = Bound { store: self.arrival.store, names: self.arrival.names, edges: self.edges, vertices: self.vertices };
        self.shape.hold(predicates, &bound, self.meter)
    }
}
