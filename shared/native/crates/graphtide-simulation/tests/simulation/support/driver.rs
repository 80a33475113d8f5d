//! An engine driven as the matcher drives it: vertices have small numbers that are used again, and each record is reported on
//! its own.

use std::collections::BTreeMap;

use graphtide_engine::meter::{Meter, Unhurried};
use graphtide_graph::store::EdgeRef;
use graphtide_graph::vertex::Vertex;
use graphtide_simulation::{Arrival, Found, Limits, Outcome, Query, Simulation, Variant};

use super::oracle::{Edge, Emitted};
use super::streams::Record;

/// The three engines.
pub const VARIANTS: [Variant; 3] = [Variant::Baseline, Variant::Signature { p: 97, seed: 1 }, Variant::Coloring];

/// The three engines, with labels drawn anew for each seed, from fields so small that most collide and from large ones.
pub fn variants(seed: u64) -> [Variant; 3] {
    let p = [7, 11, 97, 997, 65_521][(seed % 5) as usize];
    [Variant::Baseline, Variant::Signature { p, seed }, Variant::Coloring]
}

/// An engine, and the numbers of vertices that it was handed.
pub struct Driver {
    pub simulation: Simulation,
    found: Found,
    /// By name: the number, and the edges that are held there.
    numbers: BTreeMap<u32, (Vertex, Vec<u32>)>,
    free: Vec<Vertex>,
}

impl Driver {
    pub fn new(query: &Query, variant: Variant) -> Self {
        let simulation = Simulation::new(query, variant, Limits::default()).unwrap();
        Self { simulation, found: Found::default(), numbers: BTreeMap::new(), free: Vec::new() }
    }

    pub fn insert(&mut self, edge: &Edge) -> Vec<Emitted> {
        self.insert_with(edge, &mut Meter::unbounded(&Unhurried)).1
    }

    pub fn insert_with(&mut self, edge: &Edge, meter: &mut Meter<'_>) -> (Outcome, Vec<Emitted>) {
        let mut emitted = self.advance(edge.at, edge.ts);
        self.forget();
        let [source, target] = [edge.source, edge.target].map(|name| self.number(name, edge.id));
        let arrival = Arrival { edge: EdgeRef(edge.id), ts: edge.ts, at: edge.at, source, target, fits: edge.fits };
        self.found.clear();
        let outcome = self.simulation.insert(&arrival, &mut self.found, meter);
        emitted.extend(self.emitted());
        (outcome, emitted)
    }

    pub fn delete(&mut self, id: u32, detected_at: i64) -> Vec<Emitted> {
        self.found.clear();
        self.simulation.delete(EdgeRef(id), detected_at, &mut self.found, &mut Meter::unbounded(&Unhurried));
        self.emitted()
    }

    pub fn advance(&mut self, at: i64, detected_at: i64) -> Vec<Emitted> {
        self.found.clear();
        self.simulation.advance(at, detected_at, &mut self.found, &mut Meter::unbounded(&Unhurried));
        self.emitted()
    }

    pub fn push(&mut self, record: &Record) -> Vec<Emitted> {
        match record {
            Record::Insert(edge) => self.insert(edge),
            Record::Delete(id, ts) => self.delete(*id, *ts),
            Record::Advance(at) => self.advance(*at, *at),
        }
    }

    fn emitted(&self) -> Vec<Emitted> {
        let emitted = |component: &graphtide_simulation::found::Component| Emitted {
            kind: component.kind,
            detected_at: component.detected_at,
            id: component.id.0,
            pairs: self.found.pairs(component).iter().map(|&(query_edge, edge)| (query_edge, edge.0)).collect(),
            former: self.found.former(component).iter().map(|edge| edge.0).collect(),
        };
        self.found.components().iter().map(emitted).collect()
    }

    fn number(&mut self, name: u32, edge: u32) -> Vertex {
        let next = Vertex((self.numbers.len() + self.free.len()) as u32);
        let entry = self.numbers.entry(name).or_insert_with(|| (self.free.pop().unwrap_or(next), Vec::new()));
        entry.1.push(edge);
        entry.0
    }

    /// Frees the numbers of vertices that no held edge touches.
    fn forget(&mut self) {
        let (simulation, free) = (&self.simulation, &mut self.free);
        self.numbers.retain(|_, (vertex, edges)| {
            edges.retain(|&edge| simulation.holds(EdgeRef(edge)));
            if edges.is_empty() {
                free.push(*vertex);
            }
            !edges.is_empty()
        });
    }
}
