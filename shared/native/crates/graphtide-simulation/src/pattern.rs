//! A query, checked, with what all engines derive from it.
//!
//! Invariant: `earlier` and `later` are transitively closed and irreflexive; each query edge is in one kind.

use smallvec::SmallVec;

use crate::query::{MOST_EDGES, Query, QueryError};

/// Index of what leaves a vertex.
pub(crate) const OUT: usize = 0;
/// Index of what enters a vertex.
pub(crate) const IN: usize = 1;
/// Both directions in which an edge can touch a vertex.
pub(crate) const SIDES: [usize; 2] = [OUT, IN];

/// The members of a set.
#[inline]
pub(crate) fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let member = set.trailing_zeros() as usize;
        set &= set.wrapping_sub(1);
        (member < MOST_EDGES).then_some(member)
    })
}

/// So many edges of a kind must leave (enter) a vertex that matches a query vertex.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    pub vertex: u8,
    pub edges: u32,
}

/// A query vertex needs so many edges of a kind that leave (enter) it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    pub kind: usize,
    pub side: usize,
    pub edges: u32,
}

/// A checked query.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// Every query edge.
    pub all: u64,
    /// Source and target of each query edge.
    pub ends: Vec<[u8; 2]>,
    /// By query vertex: the query edges that leave it, and those that enter it.
    pub incident: Vec<[u64; 2]>,
    /// By query edge: what comes before it.
    pub earlier: Vec<u64>,
    /// By query edge: what comes after it.
    pub later: Vec<u64>,
    /// Query edges that nothing comes after.
    pub last: u64,
    /// The query edges of each kind.
    pub kinds: Vec<u64>,
    /// By kind, for each side: the query vertices that need edges of it.
    pub demands: Vec<[SmallVec<[Demand; 2]>; 2]>,
    /// By query edge and side: how many query edges leave (enter) its end there, itself included.
    pub together: Vec<[u32; 2]>,
    /// By query vertex: the kinds and sides of the edges that it needs, and how many.
    pub needs: Vec<SmallVec<[Need; 4]>>,
    pub window: i64,
}

impl Pattern {
    pub(crate) fn new(query: &Query) -> Result<Self, QueryError> {
        let count = query.edges.len();
        if count == 0 {
            return Err(QueryError::NoEdges);
        }
        if count > MOST_EDGES {
            return Err(QueryError::TooManyEdges(count));
        }
        let ends: Vec<_> = query.edges.iter().map(|edge| [edge.source, edge.target]).collect();
        let mut incident = vec![[0; 2]; query.vertices];
        for (edge, vertices) in ends.iter().enumerate() {
            for side in SIDES {
                let vertex = incident.get_mut(usize::from(vertices[side])).ok_or(QueryError::UnknownVertex(edge))?;
                vertex[side] |= 1 << edge;
            }
        }
        let earlier = closed(count, &query.before)?;
        let after = |edge: usize| set((0..count).filter(|&of| earlier[of] >> edge & 1 == 1));
        let later: Vec<_> = (0..count).map(after).collect();
        let kinds = kinds(query);
        let demands = kinds.iter().map(|&kind| SIDES.map(|side| demands(&incident, kind, side))).collect();
        let at = |vertices: &[u8; 2]| SIDES.map(|side| incident[usize::from(vertices[side])][side].count_ones());
        let together = ends.iter().map(at).collect();
        let needs = incident.iter().map(|edges| needs(&kinds, edges)).collect();
        Ok(Self {
            all: u64::MAX >> (MOST_EDGES - count),
            last: set((0..count).filter(|&edge| later[edge] == 0)),
            ends,
            incident,
            earlier,
            later,
            kinds,
            demands,
            together,
            needs,
            window: query.window,
        })
    }

    /// Number of query edges.
    #[inline]
    pub(crate) fn edges(&self) -> usize {
        self.ends.len()
    }

    /// Whether no query edge comes before another.
    #[inline]
    pub(crate) fn is_unordered(&self) -> bool {
        self.last == self.all
    }

    /// The kinds of the query edges in a set.
    #[inline]
    pub(crate) fn kinds_of(&self, edges: u64) -> impl Iterator<Item = usize> + '_ {
        self.kinds.iter().enumerate().filter(move |(_, kind)| *kind & edges != 0).map(|(kind, _)| kind)
    }
}

/// The set of some members.
fn set(members: impl Iterator<Item = usize>) -> u64 {
    members.fold(0, |set, member| set | 1 << member)
}

/// What comes before each edge, by way of others too.
fn closed(count: usize, before: &[(u8, u8)]) -> Result<Vec<u64>, QueryError> {
    let mut earlier = vec![0_u64; count];
    for &(first, second) in before {
        let of = earlier.get_mut(usize::from(second)).ok_or(QueryError::UnknownEdge)?;
        if usize::from(first) >= count {
            return Err(QueryError::UnknownEdge);
        }
        *of |= 1 << first;
    }
    for through in 0..count {
        for edge in 0..count {
            if earlier[edge] >> through & 1 == 1 {
                earlier[edge] |= earlier[through];
            }
        }
    }
    match (0..count).find(|&edge| earlier[edge] >> edge & 1 == 1) {
        Some(edge) => Err(QueryError::CyclicOrder(edge)),
        None => Ok(earlier),
    }
}

fn kinds(query: &Query) -> Vec<u64> {
    let mut kinds: Vec<(u32, u64)> = Vec::new();
    for (place, edge) in query.edges.iter().enumerate() {
        match kinds.iter_mut().find(|(kind, _)| *kind == edge.kind) {
            Some((_, edges)) => *edges |= 1 << place,
            None => kinds.push((edge.kind, 1 << place)),
        }
    }
    kinds.into_iter().map(|(_, edges)| edges).collect()
}

fn demands(incident: &[[u64; 2]], kind: u64, side: usize) -> SmallVec<[Demand; 2]> {
    let of = incident.iter().enumerate().map(|(vertex, edges)| (vertex as u8, (edges[side] & kind).count_ones()));
    of.filter(|(_, edges)| *edges > 0).map(|(vertex, edges)| Demand { vertex, edges }).collect()
}

fn needs(kinds: &[u64], incident: &[u64; 2]) -> SmallVec<[Need; 4]> {
    let of = |(kind, edges): (usize, &u64)| SIDES.map(|side| Need { kind, side, edges: (incident[side] & edges).count_ones() });
    kinds.iter().enumerate().flat_map(of).filter(|need| need.edges > 0).collect()
}
