//! A subgraph join tree compiled. It says for every leaf how its matches are found. It says for every join which tables to
//! probe, by which key, and what to check.
//!
//! Edges are numbered in plan order: leaf after leaf; vertices in the order in which those edges bring them. So the union of
//! the first leaves is a prefix of both, a new union needs no copy, and a stored one is two slices. The timing order decides at
//! compile time what need not be stored. That is a union all of whose partners must be complete before it, and a match of a
//! leaf all of whose partners must be. Reference: paper 003, Definitions 3.1.1 to 3.1.3 (the cut is what union and leaf share),
//! section 4.

use std::ops::Range;

use graphtide_engine::ids::RingId;

use super::enabled::Slot;
use crate::shape::{Shape, inverse};
use crate::step::Step;
use crate::timing::KeyVertices;

/// Position of a table in the engine's list.
pub type TableId = usize;

/// A table of partial matches.
#[derive(Clone, Debug)]
pub struct TablePlan {
    /// Its name in the plan.
    pub name: String,
    /// Words of a row.
    pub payload: usize,
    /// Slots that a row enables, with the places of their vertices in its payload.
    pub enables: Vec<(Slot, usize)>,
}

/// What has to be true before the other edge of a primitive is looked up.
#[derive(Clone, Debug)]
pub enum Guard {
    /// Nothing.
    None,
    /// A union with the same cut: the edge binds the whole cut.
    Union,
    /// These vertices are enabled: the edge binds part of the cut.
    Enabled(Vec<(Slot, u8)>),
}

/// What an edge does when it arrives as an edge of a leaf.
#[derive(Clone, Debug)]
pub enum Arrives {
    /// Nothing: by the order it is never the newest edge of what is made of it. A later edge finds it in the window's lists.
    Later,
    /// It is a match of its leaf.
    Alone,
    /// It makes matches with older edges found by the step.
    With(Guard, Step),
}

/// A leaf.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// Its edges.
    pub edges: Range<usize>,
    /// What each of them does.
    pub arrives: Vec<Arrives>,
}

/// How the union of the leaves before a leaf meets the leaf.
#[derive(Clone, Debug)]
pub struct Join {
    /// Table of the union; none if every match of the leaf is complete before the union.
    pub left: Option<TableId>,
    /// Table of the leaf; none if every union is complete before the leaf, or the search is lazy.
    pub right: Option<TableId>,
    /// Search for the leaf's matches around a new union; empty unless lazy.
    pub backward: Vec<Step>,
    /// Key on both sides.
    pub key: KeyVertices,
    /// Vertices of the cut beyond the key.
    pub equal: Vec<u8>,
    /// Edges of the union: those before.
    pub left_edges: usize,
    /// Vertices of the union: those before.
    pub left_vertices: usize,
    /// Vertices that the leaf brings: from `left_vertices` up to here.
    pub vertices: usize,
    /// Whether they must differ from the union's.
    pub differ: bool,
    /// Pairs of edges (earlier, later), one on each side.
    pub order: Vec<(u8, u8)>,
    /// Pairs of edges (left, right) that must not be one data edge.
    pub distinct: Vec<(u8, u8)>,
    /// Predicates across edges to check.
    pub predicates: Vec<u16>,
}

/// The whole plan.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Plan position of every query edge.
    pub edge_places: Vec<u8>,
    /// Query edge at every plan position.
    query_edges: Vec<u8>,
    /// Plan position of every query vertex.
    pub vertex_places: Vec<u8>,
    /// Leaf of every edge.
    pub leaf_of: Vec<usize>,
    /// Leaves in join order.
    pub leaves: Vec<Leaf>,
    /// For every leaf but the first, its join with the union before it.
    pub joins: Vec<Join>,
    /// Tables.
    pub tables: Vec<TablePlan>,
}

/// Words of a row before its edges: the time of its oldest edge.
pub const ROW_HEADER: usize = 2;

fn mask(edges: Range<usize>) -> u64 {
    edges.fold(0, |set, edge| set | 1 << edge)
}

fn vertices(set: u128) -> impl Iterator<Item = u8> {
    (0..128_u8).filter(move |&vertex| set >> vertex & 1 == 1)
}

impl Compiled {
    /// Compiles checked leaves; returns the shape in plan order with the plan.
    pub fn new(shape: &Shape, leaves: &[Vec<u8>], lazy: bool, rings: &[RingId]) -> (Shape, Self) {
        let edges = leaves.concat();
        let mut brought: Vec<u8> = Vec::with_capacity(shape.vertices);
        for &edge in &edges {
            let (source, target) = shape.ends[usize::from(edge)];
            for vertex in [source, target] {
                if !brought.contains(&vertex) {
                    brought.push(vertex);
                }
            }
        }
        debug_assert_eq!(brought.len(), shape.vertices, "every vertex has an edge");
        let shape = shape.reordered(&edges, &brought);
        let rings: Vec<RingId> = edges.iter().map(|&edge| rings[usize::from(edge)]).collect();
        let mut plan = Self {
            edge_places: inverse(&edges),
            query_edges: edges,
            vertex_places: inverse(&brought),
            leaf_of: leaves.iter().enumerate().flat_map(|(leaf, edges)| edges.iter().map(move |_| leaf)).collect(),
            leaves: Vec::new(),
            joins: Vec::new(),
            tables: Vec::new(),
        };
        let mut from = 0;
        for (level, leaf) in leaves.iter().enumerate() {
            let own = from..from + leaf.len();
            from = own.end;
            if level > 0 {
                plan.add_join(&shape, level, own.clone(), lazy, &rings);
            }
            let arrives = own.clone().map(|edge| plan.arrives(&shape, level, own.clone(), edge, &rings)).collect();
            plan.leaves.push(Leaf { edges: own, arrives });
        }
        (shape, plan)
    }

    /// The query edge at a plan position.
    #[inline]
    pub fn query_edge(&self, place: u8) -> u8 {
        self.query_edges[usize::from(place)]
    }

    fn add_table(&mut self, name: String, payload: usize) -> TableId {
        self.tables.push(TablePlan { name, payload: ROW_HEADER + payload, enables: Vec::new() });
        self.tables.len() - 1
    }

    fn add_join(&mut self, shape: &Shape, level: usize, own: Range<usize>, lazy: bool, rings: &[RingId]) {
        let (left, right) = (mask(0..own.start), mask(own.clone()));
        let (seen, ends) = (shape.vertices_of(left), shape.vertices_of(right));
        let mut cut = vertices(seen & ends);
        let key = KeyVertices(cut.next(), cut.next());
        let equal: Vec<u8> = cut.collect();
        let (left_vertices, vertices) = (seen.count_ones() as usize, (seen | ends).count_ones() as usize);
        // Whether each edge of one side must come before some edge of the other: then the other side is complete later.
        let before_some = |side: Range<usize>, other: u64| {
            side.into_iter().all(|edge| crate::shape::bits(other).any(|later| shape.precedes(edge, later)))
        };
        let leaf_first = before_some(own.clone(), left);
        let union_first = before_some(0..own.start, right);
        let left_table = (!leaf_first).then(|| {
            let name = if level == 1 { "P1".to_owned() } else { format!("J{level}") };
            self.add_table(name, own.start + left_vertices)
        });
        let right_table = (!union_first && !lazy)
            .then(|| self.add_table(format!("P{}", level + 1), own.len() + vertices - left_vertices + equal.len()));
        self.joins.push(Join {
            left: left_table,
            right: right_table,
            backward: if lazy && !union_first { backward(shape, left, own.clone(), rings) } else { Vec::new() },
            key,
            equal,
            left_edges: own.start,
            left_vertices,
            vertices,
            differ: !shape.vertices_may_coincide,
            order: shape.order_between(left, right),
            distinct: shape.may_coincide(left, right),
            predicates: shape.predicates_between(left, right),
        });
    }

    fn arrives(&mut self, shape: &Shape, level: usize, own: Range<usize>, edge: usize, rings: &[RingId]) -> Arrives {
        let join = level.checked_sub(1).map(|join| &self.joins[join]);
        if join.is_some_and(|join| join.left.is_none() && join.right.is_none()) {
            return Arrives::Later;
        }
        let Some(other) = own.clone().find(|&other| other != edge) else { return Arrives::Alone };
        if shape.precedes(edge, other) {
            return Arrives::Later;
        }
        let step = Step::new(shape, 1 << edge, other as u8, rings[other]);
        // A match of the leaf that will be stored is wanted wherever it is; one that will not, where a union waits for it.
        let guard = match join {
            Some(Join { left: Some(table), right: None, .. }) => self.guard(shape, *table, own, edge),
            _ => Guard::None,
        };
        Arrives::With(guard, step)
    }

    fn guard(&mut self, shape: &Shape, table: TableId, own: Range<usize>, edge: usize) -> Guard {
        let cut = shape.vertices_of(mask(0..own.start)) & shape.vertices_of(mask(own.clone()));
        let bound = cut & shape.vertices_of(1 << edge);
        if bound == cut {
            return Guard::Union;
        }
        let slots: Vec<(Slot, u8)> = vertices(bound).map(|vertex| (table as Slot * 128 + Slot::from(vertex), vertex)).collect();
        let enables = &mut self.tables[table].enables;
        for &(slot, vertex) in &slots {
            let place = ROW_HEADER + own.start + usize::from(vertex);
            if !enables.contains(&(slot, place)) {
                enables.push((slot, place));
            }
        }
        if slots.is_empty() { Guard::None } else { Guard::Enabled(slots) }
    }
}

/// The look-ups that find the matches of a leaf around a union: the edge with more ends in the cut first.
fn backward(shape: &Shape, left: u64, own: Range<usize>, rings: &[RingId]) -> Vec<Step> {
    let seen = shape.vertices_of(left);
    let bound_ends = |edge: usize| {
        let (source, target) = shape.ends[edge];
        (seen >> source & 1) + (seen >> target & 1)
    };
    let mut order: Vec<usize> = own.collect();
    order.sort_by_key(|&edge| std::cmp::Reverse(bound_ends(edge)));
    let mut bound = left;
    order
        .into_iter()
        .map(|edge| {
            let step = Step::new(shape, bound, edge as u8, rings[edge]);
            bound |= 1 << edge;
            step
        })
        .collect()
}
