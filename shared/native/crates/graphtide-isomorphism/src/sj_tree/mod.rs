//! The `sj-tree` engine: joins along a left-deep tree over primitives of one or two edges, with Lazy Search or without.
//!
//! Every arriving edge is tried as each edge of its leaf. A leaf of two edges is completed by a look-up among the older edges
//! of the window. Without Lazy Search all matches of all leaves are stored. With it only the first leaf is searched for
//! everywhere. An arriving edge of a later leaf is looked at only where a union of the leaves before it is stored. A new union
//! is joined with the edges that arrived before it by a search backwards in time. So a lazy leaf needs no table: the window's
//! lists of edges, which patterns share, are it.
//!
//! Invariant: before an edge that comes at t is matched, every union of the first leaves whose edges lie within `(t - window,
//! t]` is stored once. The exception is that the timing order says that no match of the next leaf can come later. Without Lazy
//! Search the same holds for the matches of each leaf. A union or a match is made by its newest edge and no other. Its other
//! parts are then stored or listed, and an edge is listed only after all query edges have seen it.
//! Cost: a probe for every query edge that an arriving edge can match, and a look-up for each edge that it completes a
//! primitive with. Each union made costs work; to expire costs O(expired). Nothing grows with the window, and nothing is
//! allocated an edge once the tables have grown. Reference: paper 003, Algorithms 1 to 3. Deviations: section 4 says that on
//! enabling `g2` one searches for `g1` among earlier edges; it must be `g2`. Algorithm 3 skips an edge with neither end
//! enabled, which loses a path whose second edge arrives away from the cut. Such an edge is looked up from here, see
//! [`compile::Guard`]. If an edge binds the whole cut, a search is enabled by the cut's projection (the keys of the union's
//! table are the bitmap). If it binds part of the cut, it is enabled by vertex. The paper knows no timing order: here it prunes
//! inside look-ups and joins, and spares tables.

mod compile;
mod enabled;
mod nearest;
mod run;
mod wheel;

use graphtide_engine::arrival::{Arrival, Deleted, Deletion, Outcome};
use graphtide_engine::engine::{Engine, Explained, Usage};
use graphtide_engine::ids::{ReaderId, RingId, UnitId};
use graphtide_engine::limits::{Bounds, LimitPolicy, Limits};
use graphtide_engine::lists::{Access, Postings};
use graphtide_engine::meter::Meter;
use graphtide_engine::nearest::Nearest;
use graphtide_engine::output::{ItemReport, Rows};
use graphtide_engine::trace::{Node, Tracer};
use graphtide_graph::clock::{self, Now};
use graphtide_graph::store::{EdgeRef, EdgeStore};
use graphtide_graph::vertex::Vertex;

use crate::arena::{Item, NIL};
use crate::plan::TreePlan;
use crate::shape::Shape;
use crate::step::Step;
use crate::timing::KeyVertices;
use compile::{Arrives, Compiled, TableId};
use enabled::Enabled;
use run::Run;
use wheel::Wheel;

/// Data edges and vertices by plan position.
#[derive(Debug)]
struct Binding {
    edges: Vec<EdgeRef>,
    vertices: Vec<Vertex>,
}

impl Binding {
    /// Packs the key's vertices into one number.
    #[inline]
    fn key(&self, key: KeyVertices) -> u64 {
        let half = |vertex: Option<u8>| vertex.map_or(Vertex::NONE, |vertex| self.vertices[usize::from(vertex)]).0;
        u64::from(half(key.0)) << 32 | u64::from(half(key.1))
    }
}

/// The partial matches stored.
#[derive(Debug)]
struct State {
    tables: Vec<Item>,
    wheel: Wheel,
    enabled: Enabled,
    node_bits: u32,
    live: usize,
    peak: usize,
    row_bytes: usize,
    bounds: Bounds,
    limited: bool,
}

/// One pattern's join tree.
#[derive(Debug)]
pub struct SjTree {
    unit: UnitId,
    shape: Shape,
    plan: Compiled,
    state: State,
    binding: Binding,
    /// Room for a match by query position.
    found: Binding,
    reads: Vec<(RingId, Access)>,
}

impl SjTree {
    /// Makes an engine for checked leaves; `rings` are the lists of the pattern's edges.
    pub fn new(unit: UnitId, shape: &Shape, plan: &TreePlan, rings: &[RingId], limits: &Limits) -> Self {
        let (shape, plan) = Compiled::new(shape, &plan.leaves, plan.lazy, rings);
        let tables: Vec<Item> = plan.tables.iter().map(|table| Item::new(table.payload, true)).collect();
        let table_bits = usize::BITS - tables.len().leading_zeros();
        let node_bits = u32::BITS - table_bits.max(1);
        // The largest word marks no node, the highest bit a bucket.
        let most = (1_u64 << node_bits.min(31)) - 1;
        let empty = || Binding { edges: vec![EdgeRef(0); shape.ends.len()], vertices: vec![Vertex::NONE; shape.vertices] };
        let mut reads: Vec<(RingId, Access)> = steps(&plan).map(|step| (step.ring, step.access)).collect();
        reads.sort_unstable_by_key(|&(ring, access)| (ring, access as u8));
        reads.dedup();
        // What it reads from the postings is state too: where the oldest of them are given up at the limit, they have half of
        // it.
        let halves = limits.policy == LimitPolicy::Shed && !reads.is_empty();
        let bytes = limits.state_bytes.map_or(u64::MAX, |bytes| if halves { bytes / 2 } else { bytes });
        Self {
            unit,
            state: State {
                tables,
                wheel: Wheel::new(shape.window),
                enabled: Enabled::default(),
                node_bits,
                live: 0,
                peak: 0,
                row_bytes: 0,
                bounds: Bounds { partial_matches: limits.partial_matches.map_or(most, |bound| bound.min(most)), bytes },
                limited: false,
            },
            binding: empty(),
            found: empty(),
            shape,
            plan,
            reads,
        }
    }
}

impl Engine for SjTree {
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
        let edge = usize::from(self.plan.edge_places[usize::from(query_edge)]);
        let level = self.plan.leaf_of[edge];
        let leaf = &self.plan.leaves[level];
        let arrives = &leaf.arrives[edge - leaf.edges.start];
        if matches!(arrives, Arrives::Later) {
            return Outcome::Discarded;
        }
        let alive_from = clock::alive_from(arrival.at, self.shape.window);
        self.state.expire(&self.plan, alive_from, meter);
        self.state.limited = false;
        let (source, target) = self.shape.ends[edge];
        self.binding.edges[edge] = arrival.edge;
        self.binding.vertices[usize::from(source)] = arrival.source;
        self.binding.vertices[usize::from(target)] = arrival.target;
        let mut run = Run {
            unit: self.unit,
            shape: &self.shape,
            plan: &self.plan,
            state: &mut self.state,
            binding: &mut self.binding,
            found: &mut self.found,
            arrival,
            postings: lists,
            rows: found,
            tracer,
            meter,
            alive_from,
            has_deleted: arrival.store.has_deleted(),
            used: false,
        };
        run.arrived(level, query_edge, arrives);
        match (run.used, self.state.limited) {
            (_, true) => Outcome::Limited(self.state.bounds),
            (true, false) => Outcome::Used,
            (false, false) => Outcome::Discarded,
        }
    }

    /// Rows with the edge are passed over, by the marks of the store and of the lists.
    fn delete(&mut self, _deleted: &Deleted, _found: &mut Rows, _meter: &mut Meter<'_>) -> Deletion {
        Deletion::EndsMatches
    }

    fn advance(&mut self, now: Now, _found: &mut Rows, meter: &mut Meter<'_>) {
        self.state.expire(&self.plan, now.alive_from(self.shape.clock, self.shape.window), meter);
    }

    fn clear(&mut self, meter: &mut Meter<'_>) {
        self.state.expire(&self.plan, i64::MAX, meter);
    }

    #[inline]
    fn live(&self) -> usize {
        self.state.live
    }

    fn usage(&self) -> Usage {
        let State { tables, wheel, enabled, live, peak, .. } = &self.state;
        let bytes = tables.iter().map(Item::bytes).sum::<usize>() + wheel.bytes() + enabled.bytes();
        Usage { live: *live, peak: *peak, bytes }
    }

    fn attach(&mut self, reader: ReaderId, lists: &mut Postings) -> Vec<RingId> {
        lists.serve_all(reader, self.reads.iter().copied(), self.shape.window)
    }

    /// The other half is for its tables.
    fn bytes_for_lists(&self, bytes: u64) -> u64 {
        bytes / 2
    }
}

impl Explained for SjTree {
    fn report(&self) -> Vec<ItemReport> {
        let tables = self.state.tables.iter().zip(&self.plan.tables);
        tables
            .map(|(table, plan)| ItemReport {
                name: plan.name.clone(),
                live: table.live() as u64,
                peak: table.peak() as u64,
                created: table.created(),
                node_bytes: table.node_bytes() as u64,
            })
            .collect()
    }

    fn nearest(&self, store: &EdgeStore, nearest: &mut Nearest) {
        crate::nearest::walk(&nearest::Stored { tree: self, store }, nearest);
    }

    fn waits_for(&self, node: Node) -> Vec<u8> {
        let places = match node {
            Node::Leaf { level: 0 } => self.plan.leaves.get(1).map_or(0..0, |next| next.edges.clone()),
            Node::Leaf { level } => 0..self.plan.leaves[usize::from(level)].edges.start,
            Node::Join { level } => self.plan.leaves.get(usize::from(level) + 1).map_or(0..0, |next| next.edges.clone()),
            _ => 0..0,
        };
        places.map(|place| self.plan.query_edge(place as u8)).collect()
    }
}

/// All look-ups of a plan.
fn steps(plan: &Compiled) -> impl Iterator<Item = &Step> {
    let arriving = plan.leaves.iter().flat_map(|leaf| &leaf.arrives).filter_map(|arrives| match arrives {
        Arrives::With(_, step) => Some(step),
        Arrives::Alone | Arrives::Later => None,
    });
    arriving.chain(plan.joins.iter().flat_map(|join| &join.backward))
}

impl State {
    #[inline]
    fn expire(&mut self, plan: &Compiled, alive_from: i64, meter: &mut Meter<'_>) {
        while let Some(mut chain) = self.wheel.pop_expired(alive_from) {
            while chain != NIL {
                meter.tick(1);
                let (table, node) = self.split(chain);
                for &(slot, place) in &plan.tables[table].enables {
                    self.enabled.disable(slot, Vertex(self.tables[table].payload(node)[place]));
                }
                chain = self.tables[table].remove(node);
                self.live -= 1;
                self.row_bytes -= self.tables[table].node_bytes();
            }
        }
    }

    /// The table and the row of a word.
    #[inline]
    fn split(&self, word: u32) -> (TableId, u32) {
        ((word >> self.node_bits) as TableId, word & ((1 << self.node_bits) - 1))
    }

    /// A row and its table in one word.
    #[inline]
    fn word(&self, table: TableId, node: u32) -> u32 {
        (table as u32) << self.node_bits | node
    }

    /// Stores a row at its oldest edge; returns it with its table in one word, none at the limit.
    #[inline]
    fn store(&mut self, table: TableId, key: u64, oldest: i64, parts: impl Iterator<Item = u32>) -> Option<u32> {
        let bytes = self.row_bytes + self.tables[table].node_bytes();
        let fixed = self.wheel.bytes() + self.enabled.bytes();
        if self.live as u64 >= self.bounds.partial_matches || (bytes + fixed) as u64 > self.bounds.bytes {
            self.limited = true;
            return None;
        }
        self.row_bytes = bytes;
        let chain = self.wheel.chain(oldest);
        let node = self.tables[table].add(key, *chain, words(oldest).into_iter().chain(parts));
        let word = (table as u32) << self.node_bits | node;
        *chain = word;
        self.live += 1;
        self.peak = self.peak.max(self.live);
        Some(word)
    }
}

#[inline]
fn words(time: i64) -> [u32; 2] {
    [time.cast_unsigned() as u32, (time >> 32).cast_unsigned() as u32]
}

#[inline]
fn time(row: &[u32]) -> i64 {
    i64::from(row[1].cast_signed()) << 32 | i64::from(row[0])
}
