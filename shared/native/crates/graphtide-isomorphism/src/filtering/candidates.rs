//! Which edges can be which query edge: candidates, filtered by the timing order when they arrive.
//!
//! An edge can be query edge q in one case. Every query edge that touches q and must be earlier has a candidate at the same
//! vertex already. What comes later cannot make up for it. So it is decided once, on arrival, and an edge that fails is not
//! kept.
//! Invariant: the lists of q hold every edge of the window that is q in a match which is complete or may still become so. By
//! induction over the order: in that match the earlier query edges are edges that arrived before and were candidates then.
//! Cost: for an arriving edge one look-up for each gate; gates that others imply are left out.
//!
//! Reference: the max-min timestamps of Min et al., Time-Constrained Continuous Subgraph Matching (ICDE 2024), section 4. They
//! keep bounds for each vertex of a query DAG and update them along it. We keep the time-ordered lists alone, whose newest
//! entry is the bound.

use graphtide_engine::ids::{ReaderId, RingId, SignatureId};
use graphtide_engine::lists::{ACCESSES, Access, Gate, Postings};

use crate::shape::{Shape, bits};

/// A query edge and its candidates.
#[derive(Clone, Debug)]
pub struct Part {
    /// Lists of its candidates.
    pub ring: RingId,
    /// Source and target.
    pub ends: (u8, u8),
    /// Query edges that must be earlier.
    pub before: u64,
    /// Query edges that must be later.
    pub after: u64,
    /// Query edges that nothing else keeps from taking the same data edge.
    pub coincide: u64,
    /// Which lists a search reads.
    pub read: [bool; 3],
}

impl Part {
    /// Whether a match can be complete when this edge arrives: no other must be later.
    pub fn completes(&self) -> bool {
        self.after == 0
    }
}

/// Makes the lists of every query edge's candidates, for searches in these orders.
pub fn parts(
    shape: &Shape,
    orders: &[Vec<u8>],
    signatures: &[SignatureId],
    reader: ReaderId,
    postings: &mut Postings,
) -> Vec<Part> {
    let all = (0..shape.ends.len()).fold(0_u64, |set, edge| set | 1 << edge);
    let mut parts: Vec<Part> = (0..shape.ends.len())
        .map(|edge| Part {
            ring: postings.whole(signatures[edge], shape.clock),
            ends: shape.ends[edge],
            before: shape.before[edge],
            after: bits(all).filter(|&other| shape.precedes(edge, other)).fold(0, |set, other| set | 1 << other),
            coincide: shape.may_coincide(1 << edge, all & !(1 << edge)).iter().fold(0, |set, &(_, other)| set | 1 << other),
            read: [false; 3],
        })
        .collect();
    let mut skipped = vec![[false; 3]; parts.len()];
    for (start, order) in orders.iter().enumerate() {
        if !parts[start].completes() {
            continue;
        }
        for (place, &edge) in order.iter().enumerate().skip(1) {
            let edge_access = access(shape, &order[..place], edge) as usize;
            let part = &mut parts[usize::from(edge)];
            part.read[edge_access] = true;
            // No kept edge is later than the start.
            skipped[usize::from(edge)][edge_access] |= order[1..place].iter().any(|&bound| part.after >> bound & 1 == 1);
        }
    }
    let mut earliest_first: Vec<usize> = (0..parts.len()).collect();
    earliest_first.sort_by_key(|&edge| shape.before[edge].count_ones());
    for edge in earliest_first {
        let Part { ring, read, .. } = parts[edge];
        if read.contains(&true) && !has_wider(&parts, signatures, edge) && !postings.is_shared(ring, read) {
            let gates = gates(shape, &parts, edge, reader, postings);
            parts[edge].ring = postings.narrow(signatures[edge], shape.clock, gates);
        }
        let Part { ring, read, .. } = parts[edge];
        for access in ACCESSES {
            if read[access as usize] {
                postings.serve(reader, ring, access, shape.window);
            }
            if skipped[edge][access as usize] {
                postings.serve_skips(ring, access);
            }
        }
    }
    parts
}

/// Whether the same lists are kept of all edges of the signature anyway: then it costs more to narrow them than it saves.
fn has_wider(parts: &[Part], signatures: &[SignatureId], edge: usize) -> bool {
    (0..parts.len()).any(|other| {
        signatures[other] == signatures[edge]
            && parts[other].before == 0
            && parts[other].read.iter().zip(parts[edge].read).all(|(&kept, asked)| kept || !asked)
    })
}

/// How an edge is looked up once others are bound.
pub fn access(shape: &Shape, bound: &[u8], edge: u8) -> Access {
    let seen = shape.vertices_of(bound.iter().fold(0, |set, &edge| set | 1 << edge));
    let (source, target) = shape.ends[usize::from(edge)];
    match (seen >> source & 1 == 1, seen >> target & 1 == 1) {
        (true, true) => Access::Both,
        (true, false) => Access::Source,
        (false, _) => Access::Target,
    }
}

/// Makes the gates of an edge, and keeps the lists that they read.
fn gates(shape: &Shape, parts: &[Part], edge: usize, reader: ReaderId, postings: &mut Postings) -> Vec<Gate> {
    let shared = |other: usize| shape.vertices_of(1 << edge) & shape.vertices_of(1 << other);
    let mut gates = Vec::new();
    for earlier in bits(shape.before[edge]) {
        let met = shared(earlier);
        // A candidate of `between` has found `earlier` at its own ends.
        let implied = bits(shape.before[edge]).any(|between| shape.precedes(earlier, between) && met & !shared(between) == 0);
        if met == 0 || implied {
            continue;
        }
        let Part { ring, ends, .. } = parts[earlier];
        let access = match (met >> ends.0 & 1 == 1, met >> ends.1 & 1 == 1) {
            (true, true) => Access::Both,
            (true, false) => Access::Source,
            (false, _) => Access::Target,
        };
        postings.serve(reader, ring, access, shape.window);
        gates.push(Gate::new(ring, access, ends, shape.ends[edge]));
    }
    gates
}
