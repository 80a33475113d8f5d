//! The `timing` engine: expansion lists over a TC decomposition, stored as rows, match-store trees or a match-store DAG.
//!
//! Invariant: before an edge that comes at t is matched, every partial match alive lies within `(t - window, t]`. It is the
//! time-constrained match of its prefix or union. A complete match is reported by the edge that completes it and not stored.
//! Cost: an arriving edge costs one probe by join vertices for every query edge that it can match. Each node found and made
//! costs work. Expiry costs O(expired). A deleted edge is marked, its partial matches are passed over and leave with the
//! window.
//! Reference: paper 004, Algorithms 1 and 2, sections 4 and 7. Deviations: lists are hashed on the join vertices where the
//! paper scans them. Ties break an order (`ti > tj` in Algorithm 2, line 12, lets them pass against Definition 4). Nodes hang
//! at their oldest edge instead of linking to their children, which expires the same nodes with fewer links.

mod compile;
mod edges;
mod nearest;
mod run;

use graphtide_engine::arrival::{Arrival, Deleted, Deletion, Outcome};
use graphtide_engine::engine::{Engine, Explained, Usage};
use graphtide_engine::ids::UnitId;
use graphtide_engine::limits::{Bounds, Limits};
use graphtide_engine::lists::Postings;
use graphtide_engine::meter::Meter;
use graphtide_engine::nearest::Nearest;
use graphtide_engine::output::{ItemReport, Rows};
use graphtide_engine::trace::{Node, Tracer};
use graphtide_graph::clock::{self, Now};
use graphtide_graph::store::{EdgeRef, EdgeStore};
use graphtide_graph::vertex::Vertex;

use crate::arena::{Item, NIL};
use crate::plan::{Storage, TimingPlan};
use crate::shape::Shape;
pub use compile::{Compiled, ItemId, ItemKind, Join, KeyVertices, bound_by, step};
use edges::{HeldEdges, LocalEdge};
use run::Run;

/// Data edges and vertices by query position.
#[derive(Clone, Debug)]
struct Binding {
    edges: Vec<LocalEdge>,
    stored: Vec<EdgeRef>,
    vertices: Vec<Vertex>,
}

impl Binding {
    fn new(shape: &Shape) -> Self {
        Self {
            edges: vec![LocalEdge(0); shape.ends.len()],
            stored: vec![EdgeRef(0); shape.ends.len()],
            vertices: vec![Vertex::NONE; shape.vertices],
        }
    }

    fn copy_from(&mut self, other: &Self) {
        self.edges.copy_from_slice(&other.edges);
        self.stored.copy_from_slice(&other.stored);
        self.vertices.copy_from_slice(&other.vertices);
    }

    /// Packs the key's vertices into one number.
    #[inline]
    fn key(&self, key: KeyVertices) -> u64 {
        let half = |vertex: Option<u8>| vertex.map_or(Vertex::NONE, |vertex| self.vertices[usize::from(vertex)]).0;
        pack(half(key.0), half(key.1))
    }
}

#[inline]
fn pack(first: u32, second: u32) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}

/// A node and its item in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NodeRef(u32);

/// Scratch space of one insertion: no allocation an edge.
#[derive(Debug)]
struct Scratch {
    /// Union up to each level.
    unions: Vec<Binding>,
    /// The subquery that the edge completed.
    leaf: Binding,
    /// The stored match it is joined with.
    other: Binding,
}

/// One pattern's expansion lists.
#[derive(Debug)]
pub struct Timing {
    shape: Shape,
    plan: Compiled,
    unit: UnitId,
    edges: HeldEdges,
    items: Vec<Item>,
    node_bits: u32,
    live: usize,
    peak: usize,
    bounds: Bounds,
    limited: bool,
    most_node_bytes: usize,
    scratch: Option<Box<Scratch>>,
}

impl Timing {
    /// Makes an engine for a checked plan.
    pub fn new(unit: UnitId, shape: Shape, plan: &TimingPlan, limits: &Limits) -> Self {
        let plan = Compiled::new(&shape, plan.subqueries.clone(), plan.storage);
        let items = plan.items.iter().map(|item| Item::new(item.payload, item.key.is_some())).collect::<Vec<_>>();
        let most_node_bytes = items.iter().map(Item::most_node_bytes).max().unwrap_or(0);
        let item_bits = usize::BITS - items.len().leading_zeros();
        let node_bits = u32::BITS - item_bits.max(1);
        // The largest word marks no node, the highest bit a bucket.
        let most = (1_u64 << node_bits.min(31)) - 1;
        let scratch = Scratch {
            unions: vec![Binding::new(&shape); plan.subqueries.len()],
            leaf: Binding::new(&shape),
            other: Binding::new(&shape),
        };
        Self {
            unit,
            plan,
            items,
            node_bits,
            edges: HeldEdges::default(),
            live: 0,
            peak: 0,
            bounds: Bounds {
                partial_matches: limits.partial_matches.map_or(most, |bound| bound.min(most)),
                bytes: limits.state_bytes.unwrap_or(u64::MAX),
            },
            limited: false,
            most_node_bytes,
            scratch: Some(Box::new(scratch)),
            shape,
        }
    }

    /// Removes every partial match with an edge from before `alive_from`.
    #[inline]
    fn expire(&mut self, alive_from: i64, meter: &mut Meter<'_>) {
        while let Some(mut chain) = self.edges.pop_expired(alive_from) {
            while chain != NIL {
                meter.tick(1);
                let (item, node) = self.split(NodeRef(chain));
                chain = self.items[item].remove(node);
                self.live -= 1;
            }
        }
    }

    /// Bytes of state alive.
    fn bytes(&self) -> usize {
        self.items.iter().map(Item::bytes).sum::<usize>() + self.edges.bytes()
    }

    /// Bytes of state alive at most: cheaper to know than how many.
    #[inline]
    fn most_bytes(&self) -> u64 {
        (self.live * self.most_node_bytes + self.edges.bytes()) as u64
    }

    /// The query edges that partial matches of a node bind.
    fn bound_by(&self, node: Node) -> impl Iterator<Item = u8> {
        bound_by(&self.plan.subqueries, node)
    }

    #[inline]
    fn split(&self, node: NodeRef) -> (ItemId, u32) {
        ((node.0 >> self.node_bits) as usize, node.0 & ((1 << self.node_bits) - 1))
    }

    #[inline]
    fn join_ref(&self, item: ItemId, node: u32) -> NodeRef {
        NodeRef((item as u32) << self.node_bits | node)
    }

    #[inline]
    fn bind(&self, binding: &mut Binding, query_edge: u8, edge: LocalEdge) -> bool {
        let held = self.edges.get(edge);
        let (source, target) = self.shape.ends[usize::from(query_edge)];
        binding.edges[usize::from(query_edge)] = edge;
        binding.stored[usize::from(query_edge)] = held.edge;
        binding.vertices[usize::from(source)] = held.source;
        binding.vertices[usize::from(target)] = held.target;
        held.source != Vertex::NONE
    }

    /// Reads a stored partial match into `binding`; false if one of its edges was deleted.
    #[inline]
    fn load(&self, item: ItemId, node: u32, binding: &mut Binding) -> bool {
        let payload = self.items[item].payload(node);
        match (&self.plan.items[item].kind, self.plan.storage) {
            (ItemKind::Prefix { subquery, depth }, Storage::Independent) => {
                self.bind_row(&self.plan.subqueries[*subquery][..=*depth], payload, binding)
            }
            (ItemKind::Prefix { subquery, depth }, _) => self.load_branch(*subquery, *depth, (item, node), binding),
            (ItemKind::Union { level }, Storage::Independent) => {
                let mut rest = payload;
                let mut alive = true;
                for sequence in &self.plan.subqueries[..=*level] {
                    let (row, after) = rest.split_at(sequence.len());
                    alive &= self.bind_row(sequence, row, binding);
                    rest = after;
                }
                alive
            }
            (ItemKind::Union { level }, Storage::MsTree) => {
                let alive = self.bind_row(&self.plan.subqueries[*level], &payload[1..], binding);
                alive && (payload[0] == NIL || self.load_ref(NodeRef(payload[0]), binding))
            }
            (ItemKind::Union { .. }, Storage::MsDag) => {
                self.load_ref(NodeRef(payload[1]), binding) && self.load_ref(NodeRef(payload[0]), binding)
            }
        }
    }

    fn load_ref(&self, node: NodeRef, binding: &mut Binding) -> bool {
        let (item, node) = self.split(node);
        self.load(item, node, binding)
    }

    /// Reads a branch of a match-store tree from a node up to its root.
    #[inline]
    fn load_branch(&self, subquery: usize, depth: usize, (mut item, mut node): (ItemId, u32), binding: &mut Binding) -> bool {
        let sequence = &self.plan.subqueries[subquery];
        for depth in (0..=depth).rev() {
            let payload = self.items[item].payload(node);
            if !self.bind(binding, sequence[depth], LocalEdge(payload[0])) {
                return false;
            }
            if depth > 0 {
                (item, node) = self.split(NodeRef(payload[1]));
            }
        }
        true
    }

    fn bind_row(&self, sequence: &[u8], row: &[u32], binding: &mut Binding) -> bool {
        sequence.iter().zip(row).all(|(&query_edge, &edge)| self.bind(binding, query_edge, LocalEdge(edge)))
    }

    /// Stores a node at its oldest edge; none at the limit.
    #[inline]
    fn add(
        &mut self,
        item: ItemId,
        binding: &Binding,
        oldest: LocalEdge,
        payload: impl IntoIterator<Item = u32>,
    ) -> Option<NodeRef> {
        let full = self.live as u64 >= self.bounds.partial_matches
            || (self.most_bytes() >= self.bounds.bytes && self.bytes() as u64 >= self.bounds.bytes);
        if full {
            self.limited = true;
            return None;
        }
        let key = self.plan.items[item].key.map_or(0, |key| binding.key(key));
        let chain = self.edges.chain(oldest);
        let node = self.items[item].add(key, *chain, payload);
        let node = NodeRef((item as u32) << self.node_bits | node);
        *chain = node.0;
        self.live += 1;
        self.peak = self.peak.max(self.live);
        Some(node)
    }
}

impl Engine for Timing {
    fn lookback(&self) -> i64 {
        self.shape.window
    }

    fn insert<T: Tracer>(
        &mut self,
        arrival: &Arrival<'_>,
        query_edge: u8,
        _lists: &Postings,
        found: &mut Rows,
        tracer: T,
        meter: &mut Meter<'_>,
    ) -> Outcome {
        let Some(mut scratch) = self.scratch.take() else { return Outcome::Discarded };
        self.expire(clock::alive_from(arrival.at, self.shape.window), meter);
        self.limited = false;
        let (local, fresh) = self.edges.hold(arrival.at, arrival.source, arrival.target, arrival.edge);
        let mut run = Run { engine: self, arrival, rows: found, tracer, meter, local, used: false };
        run.insert(query_edge, &mut scratch);
        let used = run.used;
        if fresh && !used {
            self.edges.let_go();
        }
        self.scratch = Some(scratch);
        match (self.limited, used) {
            (true, _) => Outcome::Limited(self.bounds),
            (false, true) => Outcome::Used,
            (false, false) => Outcome::Discarded,
        }
    }

    /// Marks the edge: partial matches with it are passed over.
    fn delete(&mut self, deleted: &Deleted, _found: &mut Rows, _meter: &mut Meter<'_>) -> Deletion {
        self.edges.delete(deleted.born.on(self.shape.clock), deleted.edge);
        Deletion::EndsMatches
    }

    #[inline]
    fn advance(&mut self, now: Now, _found: &mut Rows, meter: &mut Meter<'_>) {
        self.expire(now.alive_from(self.shape.clock, self.shape.window), meter);
    }

    fn clear(&mut self, meter: &mut Meter<'_>) {
        self.expire(i64::MAX, meter);
        self.edges = HeldEdges::default();
    }

    #[inline]
    fn live(&self) -> usize {
        self.live
    }

    fn usage(&self) -> Usage {
        Usage { live: self.live, peak: self.peak, bytes: self.bytes() }
    }
}

impl Explained for Timing {
    fn report(&self) -> Vec<ItemReport> {
        self.items
            .iter()
            .enumerate()
            .map(|(id, item)| ItemReport {
                name: self.plan.item_name(id),
                live: item.live() as u64,
                peak: item.peak() as u64,
                created: item.created(),
                node_bytes: item.node_bytes() as u64,
            })
            .collect()
    }

    fn nearest(&self, _store: &EdgeStore, nearest: &mut Nearest) {
        crate::nearest::walk(self, nearest);
    }

    fn waits_for(&self, node: Node) -> Vec<u8> {
        let subqueries = &self.plan.subqueries;
        match node {
            Node::Prefix { subquery, depth } => {
                let (subquery, next) = (usize::from(subquery), usize::from(depth) + 1);
                match subqueries[subquery].get(next) {
                    Some(&edge) => vec![edge],
                    None if subquery == 0 => subqueries.get(1).cloned().unwrap_or_default(),
                    None => subqueries[..subquery].concat(),
                }
            }
            Node::Union { level } => subqueries.get(usize::from(level) + 1).cloned().unwrap_or_default(),
            _ => Vec::new(),
        }
    }
}
