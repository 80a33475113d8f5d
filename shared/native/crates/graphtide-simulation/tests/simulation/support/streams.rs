//! Small random queries and streams, chosen so that matches, near misses and ties are frequent.

use graphtide_simulation::{Query, QueryEdge, Report};

use super::oracle::Edge;

/// The generator `SplitMix64`.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn ticks(&mut self, bound: u32) -> i64 {
        self.below(bound.into()).cast_signed()
    }

    pub fn chance(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }
}

/// A record of a stream.
#[derive(Clone, Copy, Debug)]
pub enum Record {
    Insert(Edge),
    Delete(u32, i64),
    Advance(i64),
}

/// A query, mostly connected, with loops, parallel edges, edges of equal kind, and an order that is empty, a chain or anything
/// between.
pub fn query(random: &mut Random, report: Report) -> Query {
    let count = 1 + random.below(5) as usize;
    let kinds = 1 + random.below(3);
    let mut vertices = 1_u64;
    let mut edges = Vec::new();
    for _ in 0..count {
        let known = if random.chance(12) { vertices } else { random.below(vertices) } as u8;
        vertices = vertices.max(u64::from(known) + 1);
        let other = random.below(vertices + 2).min(vertices);
        vertices = vertices.max(other + 1);
        let (source, target) = if random.chance(2) { (known, other as u8) } else { (other as u8, known) };
        edges.push(QueryEdge { source, target, kind: random.below(kinds) as u32 });
    }
    let density = random.below(4);
    let mut before = Vec::new();
    for first in 0..count as u8 {
        for second in first + 1..count as u8 {
            if density == 3 || (density > 0 && random.chance(4 - density)) {
                before.push((first, second));
            }
        }
    }
    if random.chance(2) {
        let turned = before.iter().map(|&(first, second)| (second, first));
        before = turned.collect();
    }
    Query { vertices: vertices as usize, edges, before, window: random.ticks(14), report }
}

/// A stream over few vertices, whose times tie and jump, and whose edges fit one kind or several.
pub fn stream(random: &mut Random, query: &Query, records: u32) -> Vec<Record> {
    let kinds: Vec<u32> = query.edges.iter().map(|edge| edge.kind).collect();
    let of_kind = |kind: u32| (0..kinds.len()).filter(|&edge| kinds[edge] == kind).fold(0_u64, |set, edge| set | 1 << edge);
    let vertices = 2 + random.below(6);
    let counts_records = random.chance(4);
    let (several, loops, deletions) = (1 + random.below(6), 1 + random.below(8), 4 + random.below(12));
    let mut ids: Vec<u32> = Vec::new();
    let mut ts = 0;
    let mut stream = Vec::new();
    for place in 0..i64::from(records) {
        ts += if random.chance(20) { query.window } else { random.ticks(3) };
        let at = if counts_records { place } else { ts };
        if !ids.is_empty() && random.chance(deletions) {
            let id = ids[ids.len() - 1 - random.below(ids.len().min(8) as u64) as usize];
            stream.push(Record::Advance(at));
            stream.push(Record::Delete(id, ts));
            continue;
        }
        let mut fits = of_kind(kinds[random.below(kinds.len() as u64) as usize]);
        if random.chance(several) {
            fits |= of_kind(kinds[random.below(kinds.len() as u64) as usize]);
        }
        let source = random.below(vertices) as u32;
        let target = if random.chance(loops) { source } else { random.below(vertices) as u32 };
        let id = ids.len() as u32;
        ids.push(id);
        stream.push(Record::Insert(Edge { id, ts, at, source, target, fits }));
    }
    stream
}
