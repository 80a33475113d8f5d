//! The edges an engine holds, in stream order, and a place for each vertex they touch.
//!
//! Invariant: a vertex has a place while a held edge touches it; a place that is free goes to the next new vertex. So what
//! engines keep by place is bounded by the window. A vertex number that the stream reuses never meets what was known of the old
//! one.
//! Cost: three hash look-ups an edge taken, and as many when it leaves.

use graphtide_graph::Time;
use graphtide_graph::store::EdgeRef;
use graphtide_graph::vertex::Vertex;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::numbered::{Number, Numbered};
use crate::pattern::SIDES;
use crate::query::Arrival;

/// Place of a vertex in what is kept by vertex.
pub(crate) type Place = u32;

/// A held edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub edge: EdgeRef,
    pub ts: Time,
    pub at: i64,
    /// How many arrivals of its `at` there were, up to this one.
    pub tie: u32,
    pub ends: [Place; 2],
    pub fits: u64,
}

/// The held edges.
#[derive(Debug, Default)]
pub(crate) struct Window {
    held: Numbered<Held>,
    live: usize,
    numbers: HashMap<EdgeRef, Number, FxBuildHasher>,
    places: HashMap<Vertex, Place, FxBuildHasher>,
    vertices: Vec<(Vertex, u32)>,
    free: Vec<Place>,
}

impl Window {
    /// Appends an edge.
    pub(crate) fn push(&mut self, arrival: &Arrival, tie: u32) -> Number {
        let ends = [arrival.source, arrival.target].map(|vertex| self.acquire(vertex));
        let &Arrival { edge, ts, at, fits, .. } = arrival;
        let number = self.held.push(Held { edge, ts, at, tie, ends, fits });
        self.numbers.insert(edge, number);
        self.live += 1;
        number
    }

    /// Removes an edge.
    pub(crate) fn remove(&mut self, number: Number) {
        let held = self.held[number];
        self.numbers.remove(&held.edge);
        for side in SIDES {
            self.release(held.ends[side]);
        }
        self.held.remove(number);
        self.live -= 1;
    }

    #[inline]
    pub(crate) fn get(&self, number: Number) -> &Held {
        &self.held[number]
    }

    pub(crate) fn find(&self, edge: EdgeRef) -> Option<Number> {
        self.numbers.get(&edge).copied()
    }

    #[inline]
    pub(crate) fn oldest(&self) -> Option<(Number, &Held)> {
        self.held.front()
    }

    /// The held edges in stream order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Number, &Held)> {
        self.held.iter()
    }

    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// Places that were ever given at once: one more than the greatest.
    #[inline]
    pub(crate) fn places(&self) -> usize {
        self.vertices.len()
    }

    /// The vertex that has a place.
    pub(crate) fn vertex(&self, place: Place) -> Vertex {
        self.vertices[place as usize].0
    }

    /// Vertices that have a place.
    pub(crate) fn touched(&self) -> usize {
        self.places.len()
    }

    /// Edges that there is room for: the held ones, and deleted ones that lie between them.
    pub(crate) fn room(&self) -> usize {
        self.held.room()
    }

    /// Bytes of what is held.
    pub(crate) fn bytes(&self) -> usize {
        let edges = self.held.room() * Numbered::<Held>::ENTRY + self.live * size_of::<(EdgeRef, Number)>();
        edges + self.places.len() * (size_of::<(Vertex, Place)>() + size_of::<(Vertex, u32)>())
    }

    fn acquire(&mut self, vertex: Vertex) -> Place {
        let (vertices, free) = (&mut self.vertices, &mut self.free);
        let place = *self.places.entry(vertex).or_insert_with(|| {
            let place = free.pop().unwrap_or(vertices.len() as Place);
            if place as usize == vertices.len() {
                vertices.push((vertex, 0));
            }
            vertices[place as usize] = (vertex, 0);
            place
        });
        vertices[place as usize].1 += 1;
        place
    }

    fn release(&mut self, place: Place) {
        let (vertex, uses) = &mut self.vertices[place as usize];
        *uses -= 1;
        if *uses == 0 {
            self.places.remove(vertex);
            self.free.push(place);
        }
    }
}
