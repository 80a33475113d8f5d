//! A pattern compiled: what every engine asks of it, as bit sets and lists.
//!
//! Engines know one clock, that of the pattern's window, and take the timing order for one of its instants. Where the window
//! counts edges, an edge that comes earlier need not have an earlier time. Then `ts(a) < ts(b)` is a predicate over each pair
//! of the order that no other pairs imply.

use graphtide_engine::dispatch::{Asked, Loops};
use graphtide_engine::expression::{Bindings, Comparison, Expression, Operand};
use graphtide_engine::meter::Meter;
use graphtide_engine::pattern::Pattern;
use graphtide_graph::clock::Clock;
use graphtide_graph::key::{IdRef, KeyRef};
use graphtide_graph::store::{EdgeRef, EdgeStore};
use graphtide_graph::vertex::{Vertex, VertexTable};

/// A predicate with the edges and vertices it reads.
#[derive(Clone, Debug)]
pub struct Across {
    /// The predicate.
    pub predicate: Expression,
    /// Steps that it takes to evaluate.
    pub steps: u32,
    edges: u64,
    vertices: u128,
}

impl Across {
    /// The same over edges and vertices at other places.
    #[must_use]
    pub fn renamed(&self, edges: &[u8], vertices: &[u8]) -> Self {
        let predicate = self.predicate.renamed(&|edge| edges[usize::from(edge)], &|vertex| vertices[usize::from(vertex)]);
        let (edges, vertices) = predicate.reads();
        Self { steps: self.steps, predicate, edges, vertices }
    }

    /// Whether it is true of what is bound; its evaluation is work.
    #[inline]
    pub fn holds(&self, bound: &impl Bindings, meter: &mut Meter<'_>) -> bool {
        meter.tick(self.steps);
        self.predicate.holds(bound)
    }
}

/// A pattern's graph, order and predicates across edges.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Source and target of every edge.
    pub ends: Vec<(u8, u8)>,
    /// For every edge, the set of edges that must come before it.
    pub before: Vec<u64>,
    /// How many vertices.
    pub vertices: usize,
    /// Whether two query vertices may be the same data vertex.
    pub vertices_may_coincide: bool,
    /// Length of the window on its clock.
    pub window: i64,
    /// The clock of the window and of all instants.
    pub clock: Clock,
    /// Predicates that no single edge decides.
    pub across: Vec<Across>,
    /// Labels and loops of every edge: two edges of different kinds never take the same data edge.
    kinds: Vec<(Option<String>, Option<String>, Option<String>)>,
}

impl Shape {
    /// Compiles a checked pattern; `across` are its predicates over more than one edge.
    pub fn new(pattern: &Pattern<'_>, across: Vec<Expression>) -> Self {
        let ends = pattern.ends();
        let mut before = vec![0; ends.len()];
        for &(earlier, later) in pattern.order {
            before[usize::from(later)] |= 1 << earlier;
        }
        let label = |vertex: u8| pattern.vertices[usize::from(vertex)].label.clone();
        let kinds = pattern.edges.iter().map(|edge| (label(edge.source), edge.label.clone(), label(edge.target))).collect();
        let ties = if pattern.clock == Clock::Edges { earlier_times(&before) } else { Vec::new() };
        let across = across
            .into_iter()
            .chain(ties)
            .map(|predicate| {
                let (edges, vertices) = predicate.reads();
                Across { steps: predicate.steps(), predicate, edges, vertices }
            })
            .collect();
        Self {
            ends,
            before,
            vertices: pattern.vertices.len(),
            vertices_may_coincide: pattern.vertices_may_coincide,
            window: pattern.window,
            clock: pattern.clock,
            across,
            kinds,
        }
    }

    /// The same pattern with its edges and vertices in another order: place `i` is for what was at `edges[i]`, `vertices[i]`.
    #[must_use]
    pub fn reordered(&self, edges: &[u8], vertices: &[u8]) -> Self {
        let edge_place = inverse(edges);
        let vertex_place = inverse(vertices);
        let moved = |set: u64| bits(set).fold(0, |moved: u64, edge| moved | 1 << edge_place[edge]);
        let moved_vertices = |set: u128| {
            (0..self.vertices).filter(|&v| set >> v & 1 == 1).fold(0, |moved: u128, v| moved | 1 << vertex_place[v])
        };
        let across = self.across.iter().map(|across| Across {
            predicate: across.predicate.renamed(&|edge| edge_place[usize::from(edge)], &|v| vertex_place[usize::from(v)]),
            edges: moved(across.edges),
            vertices: moved_vertices(across.vertices),
            steps: across.steps,
        });
        let ends = edges.iter().map(|&edge| {
            let (source, target) = self.ends[usize::from(edge)];
            (vertex_place[usize::from(source)], vertex_place[usize::from(target)])
        });
        Self {
            ends: ends.collect(),
            before: edges.iter().map(|&edge| moved(self.before[usize::from(edge)])).collect(),
            vertices: self.vertices,
            vertices_may_coincide: self.vertices_may_coincide,
            window: self.window,
            clock: self.clock,
            across: across.collect(),
            kinds: edges.iter().map(|&edge| self.kinds[usize::from(edge)].clone()).collect(),
        }
    }

    /// The set of vertices that a set of edges binds.
    pub fn vertices_of(&self, edges: u64) -> u128 {
        bits(edges).fold(0, |seen, edge| {
            let (source, target) = self.ends[edge];
            seen | 1 << source | 1 << target
        })
    }

    /// Whether some edge lies between two vertices that others connect, or at one alone.
    pub fn has_cycle(&self) -> bool {
        self.ends.len() >= self.vertices
    }

    /// Whether a match can be complete when an edge arrives as this one: no other must be later.
    pub fn completes(&self, edge: u8) -> bool {
        (0..self.ends.len()).all(|other| !self.precedes(usize::from(edge), other))
    }

    /// Whether `a` must come before `b`.
    pub fn precedes(&self, a: usize, b: usize) -> bool {
        self.before[b] >> a & 1 == 1
    }

    /// Pairs (earlier, later) between two sets of edges that have to be compared once each set is in order. They are the
    /// transitive reduction of the order over both, without pairs inside one set.
    pub fn order_between(&self, left: u64, right: u64) -> Vec<(u8, u8)> {
        let all = left | right;
        let mut pairs = Vec::new();
        for later in bits(all) {
            for earlier in bits(self.before[later] & all) {
                let crosses = (left >> earlier & 1) != (left >> later & 1);
                let implied = bits(self.before[later] & all).any(|middle| self.precedes(earlier, middle));
                if crosses && !implied {
                    pairs.push((earlier as u8, later as u8));
                }
            }
        }
        pairs
    }

    /// Pairs of edges of two disjoint sets that nothing else keeps from taking the same data edge.
    ///
    /// Under isomorphism only parallel edges can: two edges with different ends have different vertices.
    pub fn may_coincide(&self, left: u64, right: u64) -> Vec<(u8, u8)> {
        let mut pairs = Vec::new();
        for a in bits(left) {
            for b in bits(right) {
                let ordered = self.precedes(a, b) || self.precedes(b, a);
                let same_ends = self.vertices_may_coincide || self.ends[a] == self.ends[b];
                if !ordered && same_ends && self.kinds_meet(a, b) {
                    pairs.push((a as u8, b as u8));
                }
            }
        }
        pairs
    }

    fn kinds_meet(&self, a: usize, b: usize) -> bool {
        let meet = |a: &Option<String>, b: &Option<String>| a.is_none() || b.is_none() || a == b;
        let (a, b) = (&self.kinds[a], &self.kinds[b]);
        meet(&a.0, &b.0) && meet(&a.1, &b.1) && meet(&a.2, &b.2)
    }

    /// Positions of the predicates across edges that two sets of edges decide together and neither decides alone.
    pub fn predicates_between(&self, bound: u64, new: u64) -> Vec<u16> {
        self.newly_decided(bound, new).filter(|&index| !self.decides(new, index)).map(|index| index as u16).collect()
    }

    /// Whether the predicates at these positions are true of what is bound.
    #[inline]
    pub fn hold(&self, predicates: &[u16], bound: &impl Bindings, meter: &mut Meter<'_>) -> bool {
        predicates.iter().all(|&index| self.across[usize::from(index)].holds(bound, meter))
    }

    /// Positions of the predicates across edges that a set of edges decides only with the new ones.
    pub fn newly_decided(&self, bound: u64, new: u64) -> impl Iterator<Item = usize> {
        (0..self.across.len()).filter(move |&index| self.decides(bound | new, index) && !self.decides(bound, index))
    }

    fn decides(&self, edges: u64, index: usize) -> bool {
        let across = &self.across[index];
        across.edges & !edges == 0 && across.vertices & !self.vertices_of(edges) == 0
    }
}

/// What the edges of a pattern ask, given the predicates that each decides alone: two query vertices are two data vertices,
/// unless they may coincide.
pub fn asked<'a>(pattern: Pattern<'a>, alone: &[Vec<Expression>]) -> impl Iterator<Item = Asked<'a>> {
    pattern.edges.iter().zip(alone).map(move |(edge, alone)| {
        let loops = match (edge.source == edge.target, pattern.vertices_may_coincide) {
            (true, _) => Loops::Only,
            (false, true) => Loops::Any,
            (false, false) => Loops::Never,
        };
        Asked::new(&pattern, edge, loops, alone)
    })
}

/// What an order over times asks beside one over instants of another clock: pairs of the transitive reduction.
fn earlier_times(before: &[u64]) -> Vec<Expression> {
    let is_direct = |earlier: usize, later: usize| bits(before[later]).all(|middle| before[middle] >> earlier & 1 == 0);
    let pairs = (0..before.len()).flat_map(|later| bits(before[later]).map(move |earlier| (earlier, later)));
    pairs
        .filter(|&(earlier, later)| is_direct(earlier, later))
        .map(|(earlier, later)| {
            let times = (Expression::Ts(earlier as u8), Expression::Ts(later as u8));
            Expression::Compare(Comparison::Less, Box::new(times))
        })
        .collect()
}

/// Where each value of a permutation stands.
pub fn inverse(permutation: &[u8]) -> Vec<u8> {
    let mut places = vec![0; permutation.len()];
    for (place, &value) in permutation.iter().enumerate() {
        places[usize::from(value)] = place as u8;
    }
    places
}

/// Positions of the bits set, ascending.
#[inline]
pub fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if set == 0 {
            return None;
        }
        let bit = set.trailing_zeros() as usize;
        set &= set - 1;
        Some(bit)
    })
}

/// A match in the making, read by predicates: edges of the store and vertices by query position.
pub struct Bound<'a> {
    /// The window's edges.
    pub store: &'a EdgeStore,
    /// Names of vertices.
    pub names: &'a VertexTable,
    /// Data edge of every bound query edge.
    pub edges: &'a [EdgeRef],
    /// Data vertex of every bound query vertex.
    pub vertices: &'a [Vertex],
}

impl Bindings for Bound<'_> {
    fn attribute(&self, edge: u8, column: u16) -> Operand<'_> {
        self.store.attribute(self.edges[usize::from(edge)], usize::from(column)).into()
    }

    fn ts(&self, edge: u8) -> i64 {
        self.store.get(self.edges[usize::from(edge)]).ts
    }

    fn id(&self, edge: u8) -> IdRef<'_> {
        self.store.id(self.edges[usize::from(edge)])
    }

    fn vertex(&self, vertex: u8) -> KeyRef<'_> {
        self.names.name(self.vertices[usize::from(vertex)])
    }
}
