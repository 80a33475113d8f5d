//! The `filtering` engine: a local search around every edge that may complete a match, among filtered candidates.
//!
//! Like `re-search` it keeps no partial match. It differs in three ways. Candidates are filtered when they arrive
//! ([`candidates`]). Only an edge that no other must follow starts a search. A search looks ahead: when a vertex is bound, the
//! newest candidate of every open query edge there is looked up, once. If one has none in the time that the order and the
//! window leave, the binding is given up. The look-ups serve as the heads of the lists that are read next, so leaves cost no
//! probe of their own. An edge with one candidate goes before the planned order.
//! Invariant: nothing is kept but the lists of candidates, which patterns share where their filters are equal.
//! Cost: O(gates) to keep an edge; for each search, the nodes of its tree times the open edges at a bound vertex.

mod candidates;

use graphtide_engine::arrival::{Arrival, Deleted, Deletion, Outcome};
use graphtide_engine::dispatch::Admission;
use graphtide_engine::engine::{Engine, Explained};
use graphtide_engine::ids::{ReaderId, RingId, SignatureId, UnitId};
use graphtide_engine::lists::{Access, Entry, Gate, Postings};
use graphtide_engine::meter::Meter;
use graphtide_engine::output::Rows;
use graphtide_engine::trace::{Node, Reason, Tracer};
use graphtide_graph::clock::{self, Now};
use graphtide_graph::store::EdgeRef;
use graphtide_graph::vertex::Vertex;

use crate::plan::SearchPlan;
use crate::shape::{Bound, Shape, bits};
use crate::step::too_old;
use candidates::{Part, access, parts};

/// One pattern's search.
#[derive(Debug)]
pub struct Filtering {
    shape: Shape,
    unit: UnitId,
    parts: Vec<Part>,
    orders: Vec<Vec<u8>>,
    signatures: Vec<SignatureId>,
    /// Query edges at every query vertex.
    incident: Vec<Vec<Link>>,
    all: u64,
    edges: Vec<EdgeRef>,
    times: Vec<i64>,
    /// [`Vertex::NONE`] while open.
    vertices: Vec<Vertex>,
    /// Newest candidate by query edge and access; good while the vertices that the access names are bound.
    newest: Vec<Option<Entry>>,
}

impl Filtering {
    /// Makes an engine for a checked plan; `signatures` are those of the pattern's edges. It must be attached to lists.
    pub fn new(unit: UnitId, shape: Shape, plan: &SearchPlan, signatures: Vec<SignatureId>) -> Self {
        let count = shape.ends.len();
        Self {
            unit,
            parts: Vec::new(),
            orders: plan.orders.clone(),
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

    /// What a search from a query edge looks up first, and what it needs at the other end. Without either, no match can be
    /// found from there.
    fn gates(&self, query_edge: u8) -> [Option<Gate>; 2] {
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

    /// The pattern.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
}

impl Engine for Filtering {
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
        let number = usize::from(query_edge);
        if !self.parts[number].completes() {
            return Outcome::Passed;
        }
        let (source, target) = self.shape.ends[number];
        self.vertices.fill(Vertex::NONE);
        self.vertices[usize::from(source)] = arrival.source;
        self.vertices[usize::from(target)] = arrival.target;
        self.edges[number] = arrival.edge;
        self.times[number] = arrival.at;
        let mut run = Run {
            unit: self.unit,
            start: query_edge,
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
            postings: lists,
            rows: found,
            tracer,
            meter,
            alive_from: clock::alive_from(arrival.at, self.shape.window),
        };
        let bound = 1 << number;
        let started = run.node(number).arrival(query_edge);
        run.tracer.look(started);
        if run.reaches(source, bound) && (source == target || run.reaches(target, bound)) {
            run.tracer.pass(started);
            run.descend(bound);
        } else {
            run.tracer.refuse(started, Reason::Partner, None);
        }
        Outcome::Passed
    }

    /// Its edges are those of the lists, which have marks of their own.
    fn delete(&mut self, _deleted: &Deleted, _found: &mut Rows, _meter: &mut Meter<'_>) -> Deletion {
        Deletion::EndsMatches
    }

    fn advance(&mut self, _now: Now, _found: &mut Rows, _meter: &mut Meter<'_>) {}

    fn clear(&mut self, _meter: &mut Meter<'_>) {}

    /// Whether a match can be complete with the query edge, and what a search from there needs at each of its ends.
    fn admission(&self, query_edge: u8) -> Admission {
        Admission { is_wanted: self.parts[usize::from(query_edge)].completes(), gates: self.gates(query_edge) }
    }

    /// Has its candidates kept.
    fn attach(&mut self, reader: ReaderId, lists: &mut Postings) -> Vec<RingId> {
        self.parts = parts(&self.shape, &self.orders, &self.signatures, reader, lists);
        self.incident = (0..self.shape.vertices).map(|vertex| links(&self.parts, vertex as u8)).collect();
        self.parts.iter().map(|part| part.ring).filter(|&ring| lists.reads(reader, ring)).collect()
    }
}

impl Explained for Filtering {
    fn candidates(&self, query_edge: u8) -> Option<RingId> {
        let part = &self.parts[usize::from(query_edge)];
        part.read.contains(&true).then_some(part.ring)
    }

    /// As it is planned.
    fn place(&self, start: u8, edge: u8) -> usize {
        self.orders[usize::from(start)].iter().position(|&other| other == edge).unwrap_or_default()
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
    earliest: i64,
    latest: i64,
}

struct Run<'r, 'a, 'p, T> {
    unit: UnitId,
    start: u8,
    shape: &'r Shape,
    parts: &'r [Part],
    order: &'r [u8],
    incident: &'r [Vec<Link>],
    all: u64,
    edges: &'r mut [EdgeRef],
    times: &'r mut [i64],
    vertices: &'r mut [Vertex],
    newest: &'r mut [Option<Entry>],
    arrival: &'r Arrival<'a>,
    postings: &'r Postings,
    rows: &'r mut Rows,
    tracer: T,
    meter: &'r mut Meter<'p>,
    alive_from: i64,
}

impl<T: Tracer> Run<'_, '_, '_, T> {
    #[inline]
    fn node(&self, edge: usize) -> Node {
        Node::Search { start: self.start, edge: edge as u8 }
    }

    /// The search ends here: none was found for an edge.
    #[inline]
    fn sought(&mut self, edge: usize, bound: u64) {
        let node = self.node(edge);
        let bound = bits(bound).map(|edge| (edge as u8, self.edges[edge]));
        self.tracer.sought(node, edge as u8, bound, self.arrival.ts);
    }

    /// The search ends here: an edge has no candidate, or its newest is of no use for that reason.
    #[inline]
    fn ends_before(&mut self, edge: usize, bound: u64, newest: Option<Reason>) {
        self.tracer.seek();
        if let Some(reason) = newest {
            let emitted = self.node(edge).look_up(edge as u8);
            self.tracer.look(emitted);
            self.tracer.refuse(emitted, reason, None);
        }
        self.sought(edge, bound);
    }

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
        let incident = self.incident;
        for link in &incident[usize::from(vertex)] {
            if bound >> link.edge & 1 == 1 {
                continue;
            }
            let both = link.both && self.is_bound(link.other);
            let Some(access) = (if both { Some(Access::Both) } else { link.alone }) else { continue };
            let (source, target) = (self.vertex(link.ends.0), self.vertex(link.ends.1));
            match self.postings.newest(link.ring, access, source, target) {
                Some(entry) if entry.at >= self.alive_from => {
                    self.newest[usize::from(link.edge) * 3 + access as usize] = Some(*entry);
                }
                newest => {
                    self.ends_before(usize::from(link.edge), bound, newest.map(|_| Reason::Window));
                    return false;
                }
            }
        }
        true
    }

    /// The times that the bound edges and the window leave to a query edge.
    #[inline]
    fn range(&self, part: &Part, bound: u64) -> Option<(i64, i64)> {
        let (mut earliest, mut latest) = (self.alive_from, i64::MAX);
        for edge in bits(part.before & bound) {
            earliest = earliest.max(clock::find_next(self.times[edge])?);
        }
        for edge in bits(part.after & bound) {
            latest = latest.min(self.times[edge].checked_sub(1)?);
        }
        (earliest <= latest).then_some((earliest, latest))
    }

    /// Picks the query edge to bind next: one that has a single candidate, else the first in the planned order. None if an open
    /// edge has no candidate left.
    fn choose(&mut self, bound: u64) -> Option<Choice> {
        let mut chosen: Option<Choice> = None;
        let mut is_single = false;
        for &edge in self.order {
            let edge = usize::from(edge);
            if bound >> edge & 1 == 1 {
                continue;
            }
            let part = &self.parts[edge];
            let Some(access) = self.access(part) else { continue };
            let newest = self.newest[edge * 3 + access as usize]?;
            let Some((earliest, latest)) = self.range(part, bound) else {
                self.ends_before(edge, bound, Some(Reason::Order));
                return None;
            };
            if newest.at < earliest {
                self.ends_before(edge, bound, Some(too_old(&newest, self.alive_from)));
                return None;
            }
            if is_single {
                continue;
            }
            is_single = !self.postings.has_older(part.ring, access, &newest);
            if is_single && newest.at > latest {
                self.ends_before(edge, bound, Some(Reason::Order));
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
            self.tracer.matched(self.arrival.at, self.edges);
            self.rows.complete(self.unit, self.arrival, self.edges.iter().copied(), self.vertices.iter().copied(), self.meter);
            return;
        }
        let Some(choice) = self.choose(bound) else { return };
        self.tracer.seek();
        self.look_up(&choice, bound);
        self.sought(choice.edge, bound);
    }

    /// Binds each candidate that was chosen, newest first, and continues.
    // Compiled with tracing and without, it would else be a call in both.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn look_up(&mut self, choice: &Choice, bound: u64) {
        let &Choice { edge, access, earliest, latest } = choice;
        let emitted = self.node(edge).look_up(edge as u8);
        let Some(newest) = self.newest[edge * 3 + access as usize] else { return };
        let (parts, postings) = (self.parts, self.postings);
        let part = &parts[edge];
        let kept = (self.vertex(part.ends.0), self.vertex(part.ends.1));
        let bound = bound | 1 << edge;
        let mut next = if newest.at > latest {
            postings.older_until(part.ring, access, &newest, latest, self.meter)
        } else {
            Some(&newest)
        };
        while let Some(entry) = next {
            if !self.meter.step() {
                return;
            }
            self.tracer.look(emitted);
            if entry.at < earliest {
                self.tracer.refuse(emitted, too_old(entry, self.alive_from), None);
                return;
            }
            next = postings.older(part.ring, access, entry);
            if let Some(reason) = self.misfit(part, kept, entry, bound) {
                self.tracer.refuse(emitted, reason, None);
                continue;
            }
            self.edges[edge] = entry.edge;
            self.times[edge] = entry.at;
            self.vertices[usize::from(part.ends.0)] = entry.source;
            self.vertices[usize::from(part.ends.1)] = entry.target;
            let is_open = if kept.0 == Vertex::NONE {
                self.reaches(part.ends.0, bound)
            } else if kept.1 == Vertex::NONE {
                self.reaches(part.ends.1, bound)
            } else {
                true
            };
            if !is_open {
                self.tracer.refuse(emitted, Reason::Partner, None);
            } else if self.predicates_hold(bound, edge) {
                self.tracer.pass(emitted);
                self.descend(bound);
            } else {
                self.tracer.refuse(emitted, Reason::Predicate, None);
            }
            self.vertices[usize::from(part.ends.0)] = kept.0;
            self.vertices[usize::from(part.ends.1)] = kept.1;
        }
    }

    /// Why a candidate cannot be the edge. It is deleted, does not lie at the bound vertices, or is bound already. Or the
    /// vertex that it brings is not new.
    // Compiled with tracing and without, it would else be a call in both.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn misfit(&self, part: &Part, kept: (Vertex, Vertex), entry: &Entry, bound: u64) -> Option<Reason> {
        if entry.deleted {
            return Some(Reason::Deleted);
        }
        let lies = |kept: Vertex, vertex: Vertex| kept == Vertex::NONE || kept == vertex;
        if !(lies(kept.0, entry.source) && lies(kept.1, entry.target)) {
            return Some(Reason::Ends);
        }
        let is_new = |kept: Vertex, vertex: Vertex| {
            kept != Vertex::NONE || self.shape.vertices_may_coincide || !self.vertices.contains(&vertex)
        };
        let is_distinct = is_new(kept.0, entry.source)
            && is_new(kept.1, entry.target)
            && bits(part.coincide & bound).all(|other| self.edges[other] != entry.edge);
        (!is_distinct).then_some(Reason::Distinct)
    }

    fn predicates_hold(&mut self, bound: u64, edge: usize) -> bool {
        if self.shape.across.is_empty() {
            return true;
        }
        self.meter.tick(self.shape.across.len() as u32);
        let found = Bound { store: self.arrival.store, names: self.arrival.names, edges: self.edges, vertices: self.vertices };
        let new = 1 << edge;
        self.shape.newly_decided(bound & !new, new).all(|index| self.shape.across[index].holds(&found, self.meter))
    }
}
