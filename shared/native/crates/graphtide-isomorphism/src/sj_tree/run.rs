//! One edge on its way through a join tree.
//!
//! The binding holds, in plan order, the union of the leaves so far. A leaf found around the arriving edge is bound in place
//! first. The union that it joins is read in before it, the cut's vertices being equal in both. Reference: paper 003, Algorithm
//! 2 (`leaf_found`, `union_found`) and Algorithm 3 (`arrived`, `search_backward`).

use graphtide_engine::arrival::Arrival;
use graphtide_engine::ids::UnitId;
use graphtide_engine::lists::Postings;
use graphtide_engine::meter::Meter;
use graphtide_engine::output::Rows;
use graphtide_engine::trace::{Node, Reason, Tracer};
use graphtide_graph::store::EdgeRef;
use graphtide_graph::vertex::Vertex;

use super::compile::{Arrives, Compiled, Guard, Join, ROW_HEADER, TableId};
use super::{Binding, State, time};
use crate::arena::NIL;
use crate::shape::{Bound, Shape};
use crate::step::{Step, too_old};

/// A leaf.
pub fn leaf(level: usize) -> Node {
    Node::Leaf { level: level as u8 }
}

/// The union of the leaves up to a level; of one leaf it is the leaf.
pub fn union(level: usize) -> Node {
    if level == 0 { leaf(0) } else { Node::Join { level: level as u8 } }
}

/// One insertion under way.
pub struct Run<'r, 'a, 'p, T> {
    pub unit: UnitId,
    pub shape: &'r Shape,
    pub plan: &'r Compiled,
    pub state: &'r mut State,
    pub binding: &'r mut Binding,
    pub found: &'r mut Binding,
    pub arrival: &'r Arrival<'a>,
    pub postings: &'r Postings,
    pub rows: &'r mut Rows,
    pub tracer: T,
    pub meter: &'r mut Meter<'p>,
    pub alive_from: i64,
    pub has_deleted: bool,
    /// Whether something was stored or reported.
    pub used: bool,
}

impl<T: Tracer> Run<'_, '_, '_, T> {
    /// The arriving edge is bound as an edge of leaf `level`, that `query_edge` of the pattern: finds the matches of the leaf
    /// that it makes.
    #[inline]
    pub fn arrived(&mut self, level: usize, query_edge: u8, arrives: &Arrives) {
        let step = leaf(level).arrival(query_edge);
        match arrives {
            Arrives::Later => {}
            Arrives::Alone => {
                self.tracer.look(step);
                self.tracer.pass(step);
                self.leaf_found(level, self.arrival.at);
            }
            Arrives::With(guard, other) => {
                self.tracer.look(step);
                if self.passes(level, guard) {
                    self.tracer.pass(step);
                    self.tracer.seek();
                    self.look_up(level, other, |run, at| run.leaf_found(level, at));
                    let bound = std::iter::once((query_edge, self.arrival.edge));
                    self.tracer.sought(leaf(level), self.plan.query_edge(other.edge), bound, self.arrival.ts);
                } else {
                    self.tracer.refuse(step, Reason::Partner, None);
                }
            }
        }
    }

    fn passes(&self, level: usize, guard: &Guard) -> bool {
        match guard {
            Guard::None => true,
            Guard::Union => {
                let join = &self.plan.joins[level - 1];
                join.left.is_some_and(|left| self.state.tables[left].first(self.binding.key(join.key)) != NIL)
            }
            Guard::Enabled(slots) => slots
                .iter()
                .all(|&(slot, vertex)| self.state.enabled.is_enabled(slot, self.binding.vertices[usize::from(vertex)])),
        }
    }

    /// Binds each older edge that the step of leaf `level` allows, newest first, and calls `f` with its time.
    #[inline]
    fn look_up(&mut self, level: usize, step: &Step, mut f: impl FnMut(&mut Self, i64)) {
        let emitted = leaf(level).look_up(self.plan.query_edge(step.edge));
        let (store, clock) = (self.arrival.store, self.shape.clock);
        let edges = &self.binding.edges;
        let Some((earliest, latest)) = step.range(self.alive_from, |edge| store.came(edges[usize::from(edge)], clock)) else {
            return;
        };
        let lists = self.postings;
        let (source, target) = (usize::from(step.source), usize::from(step.target));
        let mut next = lists.newest(step.ring, step.access, self.binding.vertices[source], self.binding.vertices[target]);
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
            if let Some(reason) = step.misfit(entry, latest, &self.binding.edges, &self.binding.vertices) {
                self.tracer.refuse(emitted, reason, None);
                continue;
            }
            self.binding.edges[usize::from(step.edge)] = entry.edge;
            self.binding.vertices[source] = entry.source;
            self.binding.vertices[target] = entry.target;
            if self.predicates_hold(&step.predicates) {
                self.tracer.pass(emitted);
                f(self, entry.at);
            } else {
                self.tracer.refuse(emitted, Reason::Predicate, None);
            }
        }
    }

    fn predicates_hold(&mut self, predicates: &[u16]) -> bool {
        if predicates.is_empty() {
            return true;
        }
        let Binding { edges, vertices } = &*self.binding;
        let bound = Bound { store: self.arrival.store, names: self.arrival.names, edges, vertices };
        self.shape.hold(predicates, &bound, self.meter)
    }

    /// A match of leaf `level` is bound: stores it, and joins it with the unions before it.
    #[inline]
    fn leaf_found(&mut self, level: usize, oldest: i64) {
        let Some(before) = level.checked_sub(1) else {
            self.union_found(0, oldest);
            return;
        };
        let join = &self.plan.joins[before];
        let key = self.binding.key(join.key);
        let mut stored = None;
        if let Some(right) = join.right {
            let Binding { edges, vertices } = &*self.binding;
            let fresh = &vertices[join.left_vertices..join.vertices];
            let equal = join.equal.iter().map(|&vertex| vertices[usize::from(vertex)]);
            let parts = edges[self.plan.leaves[level].edges.clone()].iter().map(|edge| edge.0);
            let parts = parts.chain(fresh.iter().copied().chain(equal).map(|vertex| vertex.0));
            stored = self.state.store(right, key, oldest, parts);
            self.used |= stored.is_some();
            self.created(leaf(level), stored, self.plan.leaves[level].edges.clone());
        }
        let Some(left) = join.left else { return };
        let step = union(level).step();
        self.tracer.enter(stored);
        let mut node = self.state.tables[left].first(key);
        while node != NIL && self.meter.step() {
            let table = &self.state.tables[left];
            let (row, next) = (table.payload(node), table.next(node));
            let union_oldest = time(row);
            self.tracer.look(step);
            if let Some(reason) = self.refuses_union(join, row) {
                self.tracer.refuse(step, reason, Some(self.state.word(left, node)));
            } else {
                let (edges, vertices) = row[ROW_HEADER..].split_at(join.left_edges);
                self.binding.edges.iter_mut().zip(edges).for_each(|(bound, &edge)| *bound = EdgeRef(edge));
                self.binding.vertices.iter_mut().zip(vertices).for_each(|(bound, &vertex)| *bound = Vertex(vertex));
                if self.predicates_hold(&join.predicates) {
                    self.tracer.pass(step);
                    self.union_found(level, oldest.min(union_oldest));
                } else {
                    self.tracer.refuse(step, Reason::Predicate, Some(self.state.word(left, node)));
                }
            }
            node = next;
        }
        self.tracer.leave();
    }

    /// Why a stored union of the same key does not go with the leaf that is bound.
    #[inline]
    fn refuses_union(&self, join: &Join, row: &[u32]) -> Option<Reason> {
        if time(row) < self.alive_from {
            return Some(Reason::Window);
        }
        let Binding { edges, vertices } = &*self.binding;
        let (union_edges, union_vertices) = row[ROW_HEADER..].split_at(join.left_edges);
        let fresh = &vertices[join.left_vertices..join.vertices];
        let edge = |edge: u8| {
            let edge = usize::from(edge);
            if edge < join.left_edges { EdgeRef(union_edges[edge]) } else { edges[edge] }
        };
        if !join.equal.iter().all(|&vertex| union_vertices[usize::from(vertex)] == vertices[usize::from(vertex)].0) {
            return Some(Reason::Ends);
        }
        if join.differ && fresh.iter().any(|vertex| union_vertices.contains(&vertex.0)) {
            return Some(Reason::Distinct);
        }
        self.disorder(join, edge).or_else(|| self.any_deleted(union_edges).then_some(Reason::Deleted))
    }

    /// Why a stored match of the next leaf, of the same key, does not go with the union that is bound.
    #[inline]
    fn refuses_leaf(&self, join: &Join, row: &[u32], own: usize) -> Option<Reason> {
        if time(row) < self.alive_from {
            return Some(Reason::Window);
        }
        let Binding { edges, vertices } = &*self.binding;
        let (leaf_edges, leaf_vertices) = row[ROW_HEADER..].split_at(own);
        let (fresh, equal) = leaf_vertices.split_at(join.vertices - join.left_vertices);
        let union = &vertices[..join.left_vertices];
        let edge = |edge: u8| {
            let edge = usize::from(edge);
            edge.checked_sub(join.left_edges).map_or(edges[edge], |place| EdgeRef(leaf_edges[place]))
        };
        if !join.equal.iter().zip(equal).all(|(&vertex, &other)| vertices[usize::from(vertex)].0 == other) {
            return Some(Reason::Ends);
        }
        if join.differ && fresh.iter().any(|&vertex| union.contains(&Vertex(vertex))) {
            return Some(Reason::Distinct);
        }
        self.disorder(join, edge).or_else(|| self.any_deleted(leaf_edges).then_some(Reason::Deleted))
    }

    /// Whether an edge stands on both sides, or two are not in the timing order.
    #[inline]
    fn disorder(&self, join: &Join, edge: impl Fn(u8) -> EdgeRef) -> Option<Reason> {
        let at = |place: u8| self.arrival.store.came(edge(place), self.shape.clock);
        if !join.distinct.iter().all(|&(a, b)| edge(a) != edge(b)) {
            return Some(Reason::Distinct);
        }
        (!join.order.iter().all(|&(earlier, later)| at(earlier) < at(later))).then_some(Reason::Order)
    }

    #[inline]
    fn any_deleted(&self, edges: &[u32]) -> bool {
        self.has_deleted && edges.iter().any(|&edge| self.arrival.store.is_deleted(EdgeRef(edge)))
    }

    /// A partial match of a node, over edges in plan order, was stored if it has a key.
    #[inline]
    fn created(&mut self, node: Node, key: Option<u32>, edges: std::ops::Range<usize>) {
        if T::ON
            && let Some(key) = key
        {
            let bound = edges.map(|edge| (self.plan.query_edge(edge as u8), self.binding.edges[edge]));
            self.tracer.created(node, key, bound, self.arrival.store);
        }
    }

    /// The union of the leaves up to `level` is bound: reports it, or stores it and joins it with the next leaf.
    fn union_found(&mut self, level: usize, oldest: i64) {
        let Some(join) = self.plan.joins.get(level) else {
            self.report();
            return;
        };
        let mut stored = None;
        if let Some(left) = join.left {
            let Binding { edges, vertices } = &*self.binding;
            let parts = edges[..join.left_edges].iter().map(|edge| edge.0);
            let parts = parts.chain(vertices[..join.left_vertices].iter().map(|vertex| vertex.0));
            stored = self.state.store(left, self.binding.key(join.key), oldest, parts);
            if stored.is_some() {
                self.used = true;
                for &(slot, place) in &self.plan.tables[left].enables {
                    let vertex = place - ROW_HEADER - join.left_edges;
                    self.state.enabled.enable(slot, self.binding.vertices[vertex]);
                }
            }
        }
        self.created(union(level), stored, 0..join.left_edges);
        self.tracer.enter(stored);
        if !join.backward.is_empty() {
            self.search_backward(level, &join.backward, oldest);
        }
        if let Some(right) = join.right {
            self.join_leaves(level, right, oldest);
        }
        self.tracer.leave();
    }

    /// Joins the union that is bound with the stored matches of the leaf after `level`.
    #[inline]
    fn join_leaves(&mut self, level: usize, right: TableId, oldest: i64) {
        let join = &self.plan.joins[level];
        let step = union(level + 1).step();
        let own = self.plan.leaves[level + 1].edges.len();
        let mut node = self.state.tables[right].first(self.binding.key(join.key));
        while node != NIL && self.meter.step() {
            let table = &self.state.tables[right];
            let (row, next) = (table.payload(node), table.next(node));
            let leaf_oldest = time(row);
            self.tracer.look(step);
            if let Some(reason) = self.refuses_leaf(join, row, own) {
                self.tracer.refuse(step, reason, Some(self.state.word(right, node)));
            } else {
                let (edges, vertices) = row[ROW_HEADER..].split_at(own);
                self.binding.edges[join.left_edges..].iter_mut().zip(edges).for_each(|(bound, &edge)| *bound = EdgeRef(edge));
                let fresh = self.binding.vertices[join.left_vertices..join.vertices].iter_mut();
                fresh.zip(vertices).for_each(|(bound, &vertex)| *bound = Vertex(vertex));
                if self.predicates_hold(&join.predicates) {
                    self.tracer.pass(step);
                    self.union_found(level + 1, oldest.min(leaf_oldest));
                } else {
                    self.tracer.refuse(step, Reason::Predicate, Some(self.state.word(right, node)));
                }
            }
            node = next;
        }
    }

    /// Lazy Search: looks for the matches of the leaf after `level` that arrived before the union bound.
    fn search_backward(&mut self, level: usize, steps: &[Step], oldest: i64) {
        let Some((step, rest)) = steps.split_first() else {
            let joined = union(level + 1).step();
            self.tracer.look(joined);
            self.tracer.pass(joined);
            self.union_found(level + 1, oldest);
            return;
        };
        self.tracer.seek();
        self.look_up(level + 1, step, |run, at| run.search_backward(level, rest, oldest.min(at)));
        if T::ON {
            let (join, plan) = (&self.plan.joins[level], self.plan);
            let before = join.backward[..join.backward.len() - steps.len()].iter().map(|step| usize::from(step.edge));
            let bound = (0..join.left_edges).chain(before);
            let bound = bound.map(|edge| (plan.query_edge(edge as u8), self.binding.edges[edge]));
            self.tracer.sought(leaf(level + 1), plan.query_edge(step.edge), bound, self.arrival.ts);
        }
    }

    fn report(&mut self) {
        self.used = true;
        for (edge, &place) in self.found.edges.iter_mut().zip(&self.plan.edge_places) {
            *edge = self.binding.edges[usize::from(place)];
        }
        for (vertex, &place) in self.found.vertices.iter_mut().zip(&self.plan.vertex_places) {
            *vertex = self.binding.vertices[usize::from(place)];
        }
        self.tracer.matched(self.arrival.at, &self.found.edges);
        let (edges, vertices) = (self.found.edges.iter().copied(), self.found.vertices.iter().copied());
        self.rows.complete(self.unit, self.arrival, edges, vertices, self.meter);
    }
}
