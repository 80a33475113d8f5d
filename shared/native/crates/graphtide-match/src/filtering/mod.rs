//! The `filtering` engine: a local search around every edge that may complete a match, among filtered candidates.
//!
//! Like `re-search` it keeps no partial match. It differs in three ways. Candidates are filtered when they arrive
//! ([`candidates`]). Only an edge that no other must follow starts a search. A search looks ahead: when a vertex is bound, the
//! newest candidate of every open query edge there is looked up, once; if one has none in the time that the order and the window
//! leave, the binding is given up. The look-ups serve as the heads of the lists that are read next, so leaves cost no probe of
//! their own, and an edge with one candidate goes before the planned order.
//! Invariant: nothing is kept but the lists of candidates, which patterns share where their filters are equal.
//! Cost: O(gates) to keep an edge; for each search, the nodes of its tree times the open edges at a bound vertex.

mod candidates;

use graphtide_graph::Time;
use graphtide_graph::store::EdgeRef;
use graphtide_graph::vertex::Vertex;

use crate::dispatch::SignatureId;
use crate::output::Rows;
use crate::search::gate::Gate;
use crate::search::postings::{Access, Entry, Postings, RingId};
use crate::shape::{Bound, Shape, bits};
use crate::timing::Arrival;
use candidates::{Part, access, parts};

/// One pattern's search.
#[derive(Debug)]
pub struct Filtering {
    shape: Shape,
    pattern: u32,
    parts: Vec<Part>,
    orders: Vec<Vec<u8>>,
    signatures: Vec<SignatureId>,
    /// Query edges at every query vertex.
    incident: Vec<Vec<Link>>,
    all: u64,
    edges: Vec<EdgeRef>,
    times: Vec<Time>,
    /// [`Vertex::NONE`] while open.
    vertices: Vec<Vertex>,
    /// Newest candidate by query edge and access; good while the vertices that the access names are bound.
    newest: Vec<Option<Entry>>,
}

impl Filtering {
    /// Makes an engine for checked search orders; `signatures` are those of the pattern's edges. It must be attached to lists.
    pub fn new(pattern: u32, shape: Shape, orders: Vec<Vec<u8>>, signatures: Vec<SignatureId>) -> Self {
        let count = shape.ends.len();
        Self {
            pattern,
            parts: Vec::new(),
            orders,
            signatures,
            incident: Vec::new(),
            all: (0..count).fold(0, |set, edge| set | 1 << edge),
            edges: vec![EdgeRef(0); count],
            times: vec![0; count],
            vertices: vec![Vertex::NONE; shape.vertices],
            newest: vec![None; count * 3],
            shape,
        }
    }

    /// Has its candidates kept in these lists; once more for the same lists changes nothing.
    pub fn attach(&mut self, postings: &mut Postings) {
        self.parts = parts(&self.shape, &self.orders, &self.signatures, postings);
        self.incident = (0..self.shape.vertices).map(|vertex| links(&self.parts, vertex as u8)).collect();
    }

    /// The lists of candidates.
    pub fn lists(&self) -> impl Iterator<Item = RingId> {
        self.parts.iter().map(|part| part.ring)
    }

    /// Whether a match can be complete when this query edge arrives.
    pub fn completes(&self, query_edge: u8) -> bool {
        self.parts[usize::from(query_edge)].completes()
    }

    /// What a search from a query edge looks up first, and what it needs at the other end: without either, no match can be found
    /// from there.
    pub fn gates(&self, query_edge: u8) -> [Option<Gate>; 2] {
        let start = &self.orders[usize::from(query_edge)][..1];
        let arriving = self.shape.ends[usize::from(query_edge)];
        let mut gates = self.orders[usize::from(query_edge)].iter().skip(1).filter_map(|&other| {
            let part = &self.parts[usize::from(other)];
            let access = access(&self.shape, start, other);
            let shared = self.shape.vertices_of(1 << query_edge) & self.shape.vertices_of(1 << other);
            (shared != 0 && part.read[access as usize]).then(|| (shared, Gate::new(part.ring, access, part.ends, arriving)))
        });
        let Some((met, first)) = gates.next() else { return [None; 2] };
        let second = gates.find(|&(shared, _)| shared != met).map(|(_, gate)| gate);
        [Some(first), second]
    }

    /// Reports every match that the edge completes as one query edge. The edge is not in the postings yet.
    pub fn insert(&mut self, arrival: &Arrival<'_>, query_edge: u8, postings: &Postings, rows: &mut Rows) {
        let number = usize::from(query_edge);
        if !self.parts[number].completes() {
            return;
        }
        let (source, target) = self.shape.ends[number];
        self.vertices.fill(Vertex::NONE);
        self.vertices[usize::from(source)] = arrival.source;
        self.vertices[usize::from(target)] = arrival.target;
        self.edges[number] = arrival.edge;
        self.times[number] = arrival.ts;
        let mut run = Run {
            pattern: self.pattern,
            shape: &self.shape,
            parts: &self.parts,
            order: &self.orders[number],
            incident: &self.incident,
            all: self.all,
            edges: &mut self.edges,
            times: &mut self.times,
            vertices: &mut self.vertices,
            newest: &mut self.newest,
            arrival,
            postings,
            rows,
            alive_from: arrival.ts.saturating_sub(self.shape.window - 1),
        };
        let bound = 1 << number;
        if run.reaches(source, bound) && (source == target || run.reaches(target, bound)) {
            run.descend(bound);
        }
    }
}

/// A query edge at a query vertex.
#[derive(Clone, Copy, Debug)]
struct Link {
    edge: u8,
    ring: RingId,
    ends: (u8, u8),
    /// The edge's other end.
    other: u8,
    /// The list to read if this end alone is bound, if it is kept.
    alone: Option<Access>,
    /// Whether the list by both ends is kept.
    both: bool,
}

fn links(parts: &[Part], vertex: u8) -> Vec<Link> {
    let link = |(edge, part): (u8, &Part)| {
        let (source, target) = part.ends;
        let (other, access) = if source == vertex { (target, Access::Source) } else { (source, Access::Target) };
        (source == vertex || target == vertex).then(|| Link {
            edge,
            ring: part.ring,
            ends: part.ends,
            other,
            alone: part.read[access as usize].then_some(access),
            both: part.read[Access::Both as usize],
        })
    };
    (0..).zip(parts).filter_map(link).collect()
}

/// The candidates to read next: of one query edge, between two times.
struct Choice {
    edge: usize,
    access: Access,
    earliest: Time,
    latest: Time,
}

struct Run<'r, 'a> {
    pattern: u32,
    shape: &'r Shape,
    parts: &'r [Part],
    order: &'r [u8],
    incident: &'r [Vec<Link>],
    all: u64,
    edges: &'r mut [EdgeRef],
    times: &'r mut [Time],
    vertices: &'r mut [Vertex],
    newest: &'r mut [Option<Entry>],
    arrival: &'r Arrival<'a>,
    postings: &'r Postings,
    rows: &'r mut Rows,
    alive_from: Time,
}

impl Run<'_, '_> {
    #[inline]
    fn vertex(&self, vertex: u8) -> Vertex {
        self.vertices[usize::from(vertex)]
    }

    #[inline]
    fn is_bound(&self, vertex: u8) -> bool {
        self.vertex(vertex) != Vertex::NONE
    }

    /// The narrowest list of a query edge that the bound vertices lead to.
    #[inline]
    fn access(&self, part: &Part) -> Option<Access> {
        let (source, target) = (self.is_bound(part.ends.0), self.is_bound(part.ends.1));
        if source && target && part.read[Access::Both as usize] {
            Some(Access::Both)
        } else if source && part.read[Access::Source as usize] {
            Some(Access::Source)
        } else if target && part.read[Access::Target as usize] {
            Some(Access::Target)
        } else {
            None
        }
    }

    /// Looks up the newest candidates at a vertex that was just bound; says whether no open query edge is without.
    #[inline]
    fn reaches(&mut self, vertex: u8, bound: u64) -> bool {
        for link in &self.incident[usize::from(vertex)] {
            if bound >> link.edge & 1 == 1 {
                continue;
            }
            let both = link.both && self.is_bound(link.other);
            let Some(access) = (if both { Some(Access::Both) } else { link.alone }) else { continue };
            let (source, target) = (self.vertex(link.ends.0), self.vertex(link.ends.1));
            match self.postings.newest(link.ring, access, source, target) {
                Some(entry) if entry.ts >= self.alive_from => {
                    self.newest[usize::from(link.edge) * 3 + access as usize] = Some(*entry);
                }
                _ => return false,
            }
        }
        true
    }

    /// The times that the bound edges and the window leave to a query edge.
    #[inline]
    fn range(&self, part: &Part, bound: u64) -> Option<(Time, Time)> {
        let (mut earliest, mut latest) = (self.alive_from, Time::MAX);
        for edge in bits(part.before & bound) {
            earliest = earliest.max(self.times[edge].checked_add(1)?);
        }
        for edge in bits(part.after & bound) {
            latest = latest.min(self.times[edge].checked_sub(1)?);
        }
        (earliest <= latest).then_some((earliest, latest))
    }

    /// Picks the query edge to bind next: one that has a single candidate, else the first in the planned order. None if an open
    /// edge has no candidate left.
    fn choose(&self, bound: u64) -> Option<Choice> {
        let mut chosen: Option<Choice> = None;
        let mut is_single = false;
        for &edge in self.order {
            let edge = usize::from(edge);
            if bound >> edge & 1 == 1 {
                continue;
            }
            let part = &self.parts[edge];
            let Some(access) = self.access(part) else { continue };
            let (earliest, latest) = self.range(part, bound)?;
            let newest = self.newest[edge * 3 + access as usize].as_ref()?;
            if newest.ts < earliest {
                return None;
            }
            if is_single {
                continue;
            }
            is_single = !self.postings.has_older(part.ring, access, newest);
            if is_single && newest.ts > latest {
                return None;
            }
            if is_single || chosen.is_none() {
                chosen = Some(Choice { edge, access, earliest, latest });
            }
        }
        chosen
    }

    fn descend(&mut self, bound: u64) {
        if bound == self.all {
            self.rows.push(self.pattern, self.arrival.ts, self.edges, self.vertices);
            return;
        }
        let Some(Choice { edge, access, earliest, latest }) = self.choose(bound) else { return };
        let Some(newest) = self.newest[edge * 3 + access as usize] else { return };
        let (parts, postings) = (self.parts, self.postings);
        let part = &parts[edge];
        let kept = (self.vertex(part.ends.0), self.vertex(part.ends.1));
        let bound = bound | 1 << edge;
        let mut next =
            if newest.ts > latest { postings.older_until(part.ring, access, &newest, latest) } else { Some(&newest) };
        while let Some(entry) = next {
            if entry.ts < earliest {
                return;
            }
            next = postings.older(part.ring, access, entry);
            if entry.deleted || !self.fits(part, kept, entry, bound) {
                continue;
            }
            self.edges[edge] = entry.edge;
            self.times[edge] = entry.ts;
            self.vertices[usize::from(part.ends.0)] = entry.source;
            self.vertices[usize::from(part.ends.1)] = entry.target;
            let is_open = if kept.0 == Vertex::NONE {
                self.reaches(part.ends.0, bound)
            } else if kept.1 == Vertex::NONE {
                self.reaches(part.ends.1, bound)
            } else {
                true
            };
            if is_open && self.predicates_hold(bound, edge) {
                self.descend(bound);
            }
            self.vertices[usize::from(part.ends.0)] = kept.0;
            self.vertices[usize::from(part.ends.1)] = kept.1;
        }
    }

    /// Whether the edge lies at the bound vertices, the vertex that it brings is new, and it is none of the edges bound.
    #[inline]
    fn fits(&self, part: &Part, kept: (Vertex, Vertex), entry: &Entry, bound: u64) -> bool {
        let lies = |kept: Vertex, vertex: Vertex| {
            if kept == Vertex::NONE {
                self.shape.vertices_may_coincide || !self.vertices.contains(&vertex)
            } else {
                kept == vertex
            }
        };
        lies(kept.0, entry.source)
            && lies(kept.1, entry.target)
            && bits(part.coincide & bound).all(|other| self.edges[other] != entry.edge)
    }

    fn predicates_hold(&self, bound: u64, edge: usize) -> bool {
        if self.shape.across.is_empty() {
            return true;
        }
        let found = Bound { store: self.arrival.store, names: self.arrival.names, edges: self.edges, vertices: self.vertices };
        let new = 1 << edge;
        self.shape.newly_decided(bound & !new, new).all(|index| self.shape.across[index].predicate.holds(&found))
    }
}
