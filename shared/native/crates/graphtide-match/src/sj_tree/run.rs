//! One edge on its way through a join tree.
//!
//! The binding holds, in plan order, the union of the leaves so far; a leaf found around the arriving edge is bound in place first
//! and the union it joins is read in before it, the cut's vertices being equal in both.
//! Reference: paper 003, Algorithm 2 (`leaf_found`, `union_found`) and Algorithm 3 (`arrived`, `search_backward`).

use graphtide_graph::Time;
use graphtide_graph::store::EdgeRef;
use graphtide_graph::vertex::Vertex;

use super::compile::{Arrives, Compiled, Guard, Join, ROW_HEADER};
use super::{Binding, State, time};
use crate::output::Rows;
use crate::search::postings::Postings;
use crate::search::step::Step;
use crate::shape::{Bound, Shape};
use crate::timing::Arrival;
use crate::timing::arena::NIL;

/// One insertion under way.
pub struct Run<'r, 'a> {
    pub pattern: u32,
    pub shape: &'r Shape,
    pub plan: &'r Compiled,
    pub state: &'r mut State,
    pub binding: &'r mut Binding,
    pub found: &'r mut Binding,
    pub arrival: &'r Arrival<'a>,
    pub postings: &'r Postings,
    pub rows: &'r mut Rows,
    pub alive_from: Time,
    pub has_deleted: bool,
    /// Whether something was stored or reported.
    pub used: bool,
}

impl Run<'_, '_> {
    /// The arriving edge is bound as an edge of leaf `level`: finds the matches of the leaf that it makes.
    #[inline]
    pub fn arrived(&mut self, level: usize, arrives: &Arrives) {
        match arrives {
            Arrives::Later => {}
            Arrives::Alone => self.leaf_found(level, self.arrival.ts),
            Arrives::With(guard, step) => {
                if self.passes(level, guard) {
                    self.look_up(step, |run, ts| run.leaf_found(level, ts));
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

    /// Binds each older edge that the step allows, newest first, and calls `f` with its time.
    #[inline]
    fn look_up(&mut self, step: &Step, mut f: impl FnMut(&mut Self, Time)) {
        let store = self.arrival.store;
        let edges = &self.binding.edges;
        let Some((earliest, latest)) = step.range(self.alive_from, |edge| store.get(edges[usize::from(edge)]).ts) else {
            return;
        };
        let lists = self.postings;
        let (source, target) = (usize::from(step.source), usize::from(step.target));
        let mut next = lists.newest(step.signature, step.access, self.binding.vertices[source], self.binding.vertices[target]);
        while let Some(entry) = next {
            if entry.ts < earliest {
                return;
            }
            next = lists.older(step.signature, step.access, entry);
            if entry.ts > latest || entry.deleted || !step.fits(entry, &self.binding.edges, &self.binding.vertices) {
                continue;
            }
            self.binding.edges[usize::from(step.edge)] = entry.edge;
            self.binding.vertices[source] = entry.source;
            self.binding.vertices[target] = entry.target;
            if self.predicates_hold(&step.predicates) {
                f(self, entry.ts);
            }
        }
    }

    fn predicates_hold(&self, predicates: &[u16]) -> bool {
        if predicates.is_empty() {
            return true;
        }
        let Binding { edges, vertices } = &*self.binding;
        let bound = Bound { store: self.arrival.store, names: self.arrival.names, edges, vertices };
        predicates.iter().all(|&index| self.shape.across[usize::from(index)].predicate.holds(&bound))
    }

    /// A match of leaf `level` is bound: stores it, and joins it with the unions before it.
    #[inline]
    fn leaf_found(&mut self, level: usize, oldest: Time) {
        let Some(before) = level.checked_sub(1) else {
            self.union_found(0, oldest);
            return;
        };
        let join = &self.plan.joins[before];
        let key = self.binding.key(join.key);
        if let Some(right) = join.right {
            let Binding { edges, vertices } = &*self.binding;
            let fresh = &vertices[join.left_vertices..join.vertices];
            let equal = join.equal.iter().map(|&vertex| vertices[usize::from(vertex)]);
            let parts = edges[self.plan.leaves[level].edges.clone()].iter().map(|edge| edge.0);
            let parts = parts.chain(fresh.iter().copied().chain(equal).map(|vertex| vertex.0));
            self.used |= self.state.store(right, key, oldest, parts);
        }
        let Some(left) = join.left else { return };
        let mut node = self.state.tables[left].first(key);
        while node != NIL {
            let table = &self.state.tables[left];
            let (row, next) = (table.payload(node), table.next(node));
            let union_oldest = time(row);
            if union_oldest >= self.alive_from && self.joins_union(join, row) {
                let (edges, vertices) = row[ROW_HEADER..].split_at(join.left_edges);
                self.binding.edges.iter_mut().zip(edges).for_each(|(bound, &edge)| *bound = EdgeRef(edge));
                self.binding.vertices.iter_mut().zip(vertices).for_each(|(bound, &vertex)| *bound = Vertex(vertex));
                if self.predicates_hold(&join.predicates) {
                    self.union_found(level, oldest.min(union_oldest));
                }
            }
            node = next;
        }
    }

    /// Whether a stored union of the same key goes with the leaf that is bound.
    #[inline]
    fn joins_union(&self, join: &Join, row: &[u32]) -> bool {
        let Binding { edges, vertices } = &*self.binding;
        let (union_edges, union_vertices) = row[ROW_HEADER..].split_at(join.left_edges);
        let fresh = &vertices[join.left_vertices..join.vertices];
        let edge = |edge: u8| {
            let edge = usize::from(edge);
            if edge < join.left_edges { EdgeRef(union_edges[edge]) } else { edges[edge] }
        };
        join.equal.iter().all(|&vertex| union_vertices[usize::from(vertex)] == vertices[usize::from(vertex)].0)
            && !(join.differ && fresh.iter().any(|vertex| union_vertices.contains(&vertex.0)))
            && self.in_order(join, edge)
            && !self.any_deleted(union_edges)
    }

    /// Whether a stored match of the next leaf, of the same key, goes with the union that is bound.
    #[inline]
    fn joins_leaf(&self, join: &Join, row: &[u32], own: usize) -> bool {
        let Binding { edges, vertices } = &*self.binding;
        let (leaf_edges, leaf_vertices) = row[ROW_HEADER..].split_at(own);
        let (fresh, equal) = leaf_vertices.split_at(join.vertices - join.left_vertices);
        let union = &vertices[..join.left_vertices];
        let edge = |edge: u8| {
            let edge = usize::from(edge);
            edge.checked_sub(join.left_edges).map_or(edges[edge], |place| EdgeRef(leaf_edges[place]))
        };
        join.equal.iter().zip(equal).all(|(&vertex, &other)| vertices[usize::from(vertex)].0 == other)
            && !(join.differ && fresh.iter().any(|&vertex| union.contains(&Vertex(vertex))))
            && self.in_order(join, edge)
            && !self.any_deleted(leaf_edges)
    }

    /// Whether the edges of both sides are different ones in the timing order.
    #[inline]
    fn in_order(&self, join: &Join, edge: impl Fn(u8) -> EdgeRef) -> bool {
        let ts = |place: u8| self.arrival.store.get(edge(place)).ts;
        join.distinct.iter().all(|&(a, b)| edge(a) != edge(b))
            && join.order.iter().all(|&(earlier, later)| ts(earlier) < ts(later))
    }

    #[inline]
    fn any_deleted(&self, edges: &[u32]) -> bool {
        self.has_deleted && edges.iter().any(|&edge| self.arrival.store.is_deleted(EdgeRef(edge)))
    }

    /// The union of the leaves up to `level` is bound: reports it, or stores it and joins it with the next leaf.
    fn union_found(&mut self, level: usize, oldest: Time) {
        let Some(join) = self.plan.joins.get(level) else {
            self.report();
            return;
        };
        if let Some(left) = join.left {
            let Binding { edges, vertices } = &*self.binding;
            let parts = edges[..join.left_edges].iter().map(|edge| edge.0);
            let parts = parts.chain(vertices[..join.left_vertices].iter().map(|vertex| vertex.0));
            if self.state.store(left, self.binding.key(join.key), oldest, parts) {
                self.used = true;
                for &(slot, place) in &self.plan.tables[left].enables {
                    let vertex = place - ROW_HEADER - join.left_edges;
                    self.state.enabled.enable(slot, self.binding.vertices[vertex]);
                }
            }
        }
        if !join.backward.is_empty() {
            self.search_backward(level, &join.backward, oldest);
        }
        let Some(right) = join.right else { return };
        let own = self.plan.leaves[level + 1].edges.len();
        let mut node = self.state.tables[right].first(self.binding.key(join.key));
        while node != NIL {
            let table = &self.state.tables[right];
            let (row, next) = (table.payload(node), table.next(node));
            let leaf_oldest = time(row);
            if leaf_oldest >= self.alive_from && self.joins_leaf(join, row, own) {
                let (edges, vertices) = row[ROW_HEADER..].split_at(own);
                self.binding.edges[join.left_edges..].iter_mut().zip(edges).for_each(|(bound, &edge)| *bound = EdgeRef(edge));
                let fresh = self.binding.vertices[join.left_vertices..join.vertices].iter_mut();
                fresh.zip(vertices).for_each(|(bound, &vertex)| *bound = Vertex(vertex));
                if self.predicates_hold(&join.predicates) {
                    self.union_found(level + 1, oldest.min(leaf_oldest));
                }
            }
            node = next;
        }
    }

    /// Lazy Search: looks for the matches of the leaf after `level` that arrived before the union bound.
    fn search_backward(&mut self, level: usize, steps: &[Step], oldest: Time) {
        let Some((step, rest)) = steps.split_first() else {
            self.union_found(level + 1, oldest);
            return;
        };
        self.look_up(step, |run, ts| run.search_backward(level, rest, oldest.min(ts)));
    }

    fn report(&mut self) {
        self.used = true;
        for (edge, &place) in self.found.edges.iter_mut().zip(&self.plan.edge_places) {
            *edge = self.binding.edges[usize::from(place)];
        }
        for (vertex, &place) in self.found.vertices.iter_mut().zip(&self.plan.vertex_places) {
            *vertex = self.binding.vertices[usize::from(place)];
        }
        self.rows.push(self.pattern, self.arrival.ts, &self.found.edges, &self.found.vertices);
    }
}
