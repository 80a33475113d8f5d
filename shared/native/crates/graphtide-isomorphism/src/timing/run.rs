//! One edge on its way through the expansion lists.
//!
//! Reference: paper 004, Algorithm 1 (`insert`, `extended`, `join_left`, `join_right`) and Algorithm 2 (`incompatible`).

use graphtide_engine::meter::Meter;
use graphtide_engine::output::Rows;
use graphtide_engine::trace::{Node, Reason, Tracer};
use graphtide_graph::vertex::Vertex;

use super::compile::{Extension, Join};
use super::edges::LocalEdge;
use super::{Arrival, Binding, NodeRef, Scratch, Timing, pack};
use crate::arena::NIL;
use crate::plan::Storage;
use crate::shape::Bound;

fn prefix(subquery: usize, depth: usize) -> Node {
    Node::Prefix { subquery: subquery as u8, depth: depth as u8 }
}

fn union(level: usize) -> Node {
    Node::Union { level: level as u8 }
}

/// One insertion under way.
pub struct Run<'r, 'a, 'p, T> {
    pub engine: &'r mut Timing,
    pub arrival: &'r Arrival<'a>,
    pub rows: &'r mut Rows,
    pub tracer: T,
    pub meter: &'r mut Meter<'p>,
    pub local: LocalEdge,
    pub used: bool,
}

impl<T: Tracer> Run<'_, '_, '_, T> {
    /// Algorithm 1, lines 1 to 10.
    pub fn insert(&mut self, query_edge: u8, scratch: &mut Scratch) {
        let (subquery, depth) = self.engine.plan.positions[usize::from(query_edge)];
        let step = prefix(subquery, depth).step();
        if depth == 0 {
            self.tracer.look(step);
            self.engine.bind(&mut scratch.leaf, query_edge, self.local);
            self.extended(subquery, 0, None, scratch);
            return;
        }
        let prefix_item = self.engine.extension(query_edge).prefix;
        let (mut source, mut target) = (self.arrival.source.0, self.arrival.target.0);
        let bound = self.engine.extension(query_edge).bound;
        if !bound.0 {
            source = Vertex::NONE.0;
        }
        if !bound.1 {
            target = Vertex::NONE.0;
        }
        let mut node = self.engine.items[prefix_item].first(pack(source, target));
        while node != NIL && self.meter.step() {
            let next = self.engine.items[prefix_item].next(node);
            let parent = self.engine.join_ref(prefix_item, node);
            self.tracer.look(step);
            let refused = if self.engine.load(prefix_item, node, &mut scratch.leaf) {
                self.refuses(query_edge, subquery, depth, &mut scratch.leaf)
            } else {
                Some(Reason::Deleted)
            };
            match refused {
                None => self.extended(subquery, depth, Some(parent), scratch),
                Some(reason) => self.tracer.refuse(step, reason, Some(parent.0)),
            }
            node = next;
        }
    }

    /// Why the edge cannot extend the prefix; if it can, it is bound.
    #[inline]
    fn refuses(&mut self, query_edge: u8, subquery: usize, depth: usize, prefix: &mut Binding) -> Option<Reason> {
        let refused = self.misfit(query_edge, subquery, depth, prefix);
        if refused.is_some() {
            return refused;
        }
        self.engine.bind(prefix, query_edge, self.local);
        let engine = &*self.engine;
        let hold = engine.predicates_hold(&engine.extension(query_edge).predicates, self.arrival, prefix, self.meter);
        (!hold).then_some(Reason::Predicate)
    }

    /// Refuses an edge that is not later than the prefix's last, or brings a vertex that is not new.
    #[inline]
    fn misfit(&self, query_edge: u8, subquery: usize, depth: usize, prefix: &Binding) -> Option<Reason> {
        let last = self.engine.plan.subqueries[subquery][depth - 1];
        if self.engine.edges.get(prefix.edges[usize::from(last)]).at >= self.arrival.at {
            return Some(Reason::Order);
        }
        let extension = self.engine.extension(query_edge);
        let taken = |vertex: Vertex| extension.differ.iter().any(|&other| prefix.vertices[usize::from(other)] == vertex);
        let is_new = (extension.bound.0 || !taken(self.arrival.source)) && (extension.bound.1 || !taken(self.arrival.target));
        (!is_new).then_some(Reason::Distinct)
    }

    /// `scratch.leaf` is a new match of a prefix: stores it, and joins it if the subquery is whole (lines 11 to 16).
    fn extended(&mut self, subquery: usize, depth: usize, parent: Option<NodeRef>, scratch: &mut Scratch) {
        let at = prefix(subquery, depth);
        let Some(item) = self.engine.plan.prefixes[subquery][depth] else {
            self.tracer.pass(at.step());
            self.report(&scratch.leaf);
            return;
        };
        let sequence = &self.engine.plan.subqueries[subquery];
        let whole = depth + 1 == sequence.len();
        let oldest = scratch.leaf.edges[usize::from(sequence[0])];
        let node = if self.engine.plan.storage == Storage::Independent {
            let row: smallvec::SmallVec<[u32; 16]> =
                sequence[..=depth].iter().map(|&edge| scratch.leaf.edges[usize::from(edge)].0).collect();
            self.engine.add(item, &scratch.leaf, oldest, row)
        } else {
            let parent = parent.map_or(NIL, |parent| parent.0);
            self.engine.add(item, &scratch.leaf, oldest, [self.local.0, parent])
        };
        let Some(node) = node else {
            self.tracer.refuse(at.step(), Reason::Limit, None);
            return;
        };
        self.used = true;
        if whole && subquery == 0 {
            scratch.unions[0].copy_from(&scratch.leaf);
            // The union's node stands for the partial match: it is the one that is joined.
            match self.store_union(0, (NodeRef(NIL), node), scratch) {
                Some(union) => {
                    self.stored(at, union, &scratch.leaf);
                    self.join_right(0, union, scratch);
                }
                None => self.tracer.refuse(at.step(), Reason::Limit, None),
            }
            return;
        }
        self.stored(at, node, &scratch.leaf);
        if whole {
            self.join_left(subquery, node, scratch);
        }
    }

    /// A new partial match of a node was stored.
    #[inline]
    fn stored(&mut self, at: Node, node: NodeRef, binding: &Binding) {
        if T::ON {
            self.tracer.pass(at.step());
            let bound = self.engine.bound_by(at).map(|edge| (edge, binding.stored[usize::from(edge)]));
            self.tracer.created(at, node.0, bound, self.arrival.store);
        }
    }

    /// Joins the new match of a subquery, `scratch.leaf`, with the union before it (lines 15 and 16).
    fn join_left(&mut self, level: usize, leaf: NodeRef, scratch: &mut Scratch) {
        let join = &self.engine.plan.joins[level - 1];
        let left = join.left;
        let mut node = self.engine.items[left].first(scratch.leaf.key(join.key));
        self.tracer.enter(Some(leaf.0));
        while node != NIL && self.meter.step() {
            let next = self.engine.items[left].next(node);
            let parent = self.engine.join_ref(left, node);
            self.tracer.look(union(level).step());
            let refused = if self.engine.load(left, node, &mut scratch.unions[level - 1]) {
                self.incompatible(level, &scratch.unions[level - 1], &scratch.leaf)
            } else {
                Some(Reason::Deleted)
            };
            if let Some(reason) = refused {
                self.tracer.refuse(union(level).step(), reason, Some(parent.0));
            } else {
                let (before, after) = scratch.unions.split_at_mut(level);
                after[0].copy_from(&before[level - 1]);
                self.engine.merge(level, &mut after[0], &scratch.leaf);
                self.joined(level, (parent, leaf), parent, scratch);
            }
            node = next;
        }
        self.tracer.leave();
    }

    /// Joins the new union `scratch.unions[level]` with the matches of the next subquery (lines 17 to 22).
    fn join_right(&mut self, level: usize, union: NodeRef, scratch: &mut Scratch) {
        let join = &self.engine.plan.joins[level];
        let right = join.right;
        let step = self::union(level + 1).step();
        let mut node = self.engine.items[right].first(scratch.unions[level].key(join.key));
        self.tracer.enter(Some(union.0));
        while node != NIL && self.meter.step() {
            let next = self.engine.items[right].next(node);
            let leaf = self.engine.join_ref(right, node);
            self.tracer.look(step);
            let refused = if self.engine.load(right, node, &mut scratch.other) {
                self.incompatible(level + 1, &scratch.unions[level], &scratch.other)
            } else {
                Some(Reason::Deleted)
            };
            if let Some(reason) = refused {
                self.tracer.refuse(step, reason, Some(leaf.0));
            } else {
                let (before, after) = scratch.unions.split_at_mut(level + 1);
                after[0].copy_from(&before[level]);
                self.engine.merge(level + 1, &mut after[0], &scratch.other);
                self.joined(level + 1, (union, leaf), leaf, scratch);
            }
            node = next;
        }
        self.tracer.leave();
    }

    /// `scratch.unions[level]` is new: checks its predicates, then reports it, or stores it and continues. `partner` is the
    /// part that was stored before.
    fn joined(&mut self, level: usize, parts: (NodeRef, NodeRef), partner: NodeRef, scratch: &mut Scratch) {
        let at = union(level);
        let engine = &*self.engine;
        let predicates = &engine.plan.joins[level - 1].predicates;
        if !engine.predicates_hold(predicates, self.arrival, &scratch.unions[level], self.meter) {
            self.tracer.refuse(at.step(), Reason::Predicate, Some(partner.0));
        } else if level + 1 == self.engine.plan.subqueries.len() {
            self.tracer.pass(at.step());
            self.report(&scratch.unions[level]);
        } else if let Some(union) = self.store_union(level, parts, scratch) {
            self.stored(at, union, &scratch.unions[level]);
            self.join_right(level, union, scratch);
        } else {
            self.tracer.refuse(at.step(), Reason::Limit, None);
        }
    }

    fn store_union(&mut self, level: usize, (parent, leaf): (NodeRef, NodeRef), scratch: &Scratch) -> Option<NodeRef> {
        let plan = &self.engine.plan;
        let binding = &scratch.unions[level];
        let item = plan.unions[level]?;
        let firsts = plan.subqueries[..=level].iter().map(|sequence| binding.edges[usize::from(sequence[0])]);
        let oldest = firsts.min_by_key(|&edge| self.engine.edges.age_rank(edge))?;
        let row = |sequences: &[Vec<u8>]| -> smallvec::SmallVec<[u32; 16]> {
            sequences.iter().flatten().map(|&edge| binding.edges[usize::from(edge)].0).collect()
        };
        match plan.storage {
            Storage::MsDag if level == 0 => Some(leaf),
            Storage::MsDag => self.engine.add(item, binding, oldest, [parent.0, leaf.0]),
            Storage::MsTree => {
                let edges = row(&plan.subqueries[level..=level]);
                self.engine.add(item, binding, oldest, std::iter::once(parent.0).chain(edges))
            }
            Storage::Independent => {
                let edges = row(&plan.subqueries[..=level]);
                self.engine.add(item, binding, oldest, edges)
            }
        }
    }

    /// Algorithm 2: structure, order, and what the key left open.
    #[inline]
    fn incompatible(&self, level: usize, left: &Binding, right: &Binding) -> Option<Reason> {
        let join: &Join = &self.engine.plan.joins[level - 1];
        let at = |edge: u8, is_right: bool| {
            let binding = if is_right { right } else { left };
            self.engine.edges.get(binding.edges[usize::from(edge)]).at
        };
        let on_right = |edge: u8| self.engine.plan.positions[usize::from(edge)].0 == level;
        if !join.equal.iter().all(|&vertex| left.vertices[usize::from(vertex)] == right.vertices[usize::from(vertex)]) {
            return Some(Reason::Ends);
        }
        if !join.differ.iter().all(|&(a, b)| left.vertices[usize::from(a)] != right.vertices[usize::from(b)]) {
            return Some(Reason::Distinct);
        }
        if !join.order.iter().all(|&(earlier, later)| at(earlier, on_right(earlier)) < at(later, on_right(later))) {
            return Some(Reason::Order);
        }
        let are_distinct = join.distinct.iter().all(|&(a, b)| left.edges[usize::from(a)] != right.edges[usize::from(b)]);
        (!are_distinct).then_some(Reason::Distinct)
    }

    fn report(&mut self, binding: &Binding) {
        self.used = true;
        self.tracer.matched(self.arrival.at, &binding.stored);
        let (edges, vertices) = (binding.stored.iter().copied(), binding.vertices.iter().copied());
        self.rows.complete(self.engine.unit, self.arrival, edges, vertices, self.meter);
    }
}

impl Timing {
    #[inline]
    fn extension(&self, query_edge: u8) -> &Extension {
        // Every edge beyond the first of its subquery has one.
        match &self.plan.extensions[usize::from(query_edge)] {
            Some(extension) => extension,
            None => unreachable!("edge {query_edge} begins its subquery"),
        }
    }

    fn predicates_hold(&self, predicates: &[u16], arrival: &Arrival<'_>, binding: &Binding, meter: &mut Meter<'_>) -> bool {
        if predicates.is_empty() {
            return true;
        }
        let bound = Bound { store: arrival.store, names: arrival.names, edges: &binding.stored, vertices: &binding.vertices };
        self.shape.hold(predicates, &bound, meter)
    }

    /// Overlays subquery `level` of `right` on a union.
    #[inline]
    fn merge(&self, level: usize, union: &mut Binding, right: &Binding) {
        for &edge in &self.plan.subqueries[level] {
            let (source, target) = self.shape.ends[usize::from(edge)];
            let edge = usize::from(edge);
            union.edges[edge] = right.edges[edge];
            union.stored[edge] = right.stored[edge];
            for vertex in [usize::from(source), usize::from(target)] {
                union.vertices[vertex] = right.vertices[vertex];
            }
        }
    }
}
