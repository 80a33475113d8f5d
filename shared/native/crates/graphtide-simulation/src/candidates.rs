//! A part of the window that is searched for matches: edges with what each could match, and their vertices, numbered densely.
//!
//! Invariant: vertices are numbered in the order in which they were met; all edges of those below `closed` are here, of the
//! others perhaps not.

use graphtide_graph::Time;

use crate::numbered::Number;
use crate::pattern::SIDES;
use crate::window::Place;

/// An edge with the query edges it could match.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub number: Number,
    pub ts: Time,
    pub ends: [u32; 2],
    /// What it could match at first.
    pub given: u64,
    /// What is left of it.
    pub pairs: u64,
}

/// The edges and their vertices.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    pub edges: Vec<Candidate>,
    places: Vec<Place>,
    closed: usize,
    /// By place, the vertex and the search it was numbered in.
    vertices: Vec<(u32, u32)>,
    search: u32,
    /// By side: where the edges of each vertex begin among `incident`.
    starts: [Vec<u32>; 2],
    incident: [Vec<u32>; 2],
}

impl Candidates {
    /// Starts anew, for vertices at so many places.
    pub(crate) fn clear(&mut self, places: usize) {
        self.edges.clear();
        self.places.clear();
        self.closed = 0;
        if self.search == u32::MAX {
            self.vertices.clear();
            self.search = 0;
        }
        self.search += 1;
        if self.vertices.len() < places {
            self.vertices.resize(places, (0, 0));
        }
    }

    /// Adds an edge.
    pub(crate) fn add(&mut self, number: Number, ts: Time, places: [Place; 2], given: u64) {
        let ends = places.map(|place| self.vertex(place));
        self.edges.push(Candidate { number, ts, ends, given, pairs: given });
    }

    /// The number of the vertex at a place.
    pub(crate) fn vertex(&mut self, place: Place) -> u32 {
        let entry = &mut self.vertices[place as usize];
        if entry.1 != self.search {
            *entry = (self.places.len() as u32, self.search);
            self.places.push(place);
        }
        entry.0
    }

    /// Closes the first open vertex, and returns its number and place. The caller adds its edges, except those to vertices that
    /// were closed before.
    pub(crate) fn close_next(&mut self) -> Option<(u32, Place)> {
        let place = *self.places.get(self.closed)?;
        self.closed += 1;
        Some((self.closed as u32 - 1, place))
    }

    /// Whether the vertex at a place was closed before another was.
    #[inline]
    pub(crate) fn was_closed_before(&self, place: Place, other: u32) -> bool {
        let (vertex, search) = self.vertices[place as usize];
        search == self.search && vertex < other
    }

    /// Closes all vertices.
    pub(crate) fn close_all(&mut self) {
        self.closed = self.places.len();
    }

    /// Whether a vertex is closed.
    #[inline]
    pub(crate) fn is_closed(&self, vertex: u32) -> bool {
        (vertex as usize) < self.closed
    }

    /// Whether all vertices are.
    pub(crate) fn is_whole(&self) -> bool {
        self.closed == self.places.len()
    }

    /// Number of vertices.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Places of the vertices.
    pub(crate) fn places(&self) -> &[Place] {
        &self.places
    }

    /// Puts the edges into stream order.
    pub(crate) fn sort(&mut self) {
        if !self.edges.is_sorted_by_key(|edge| edge.number) {
            self.edges.sort_unstable_by_key(|edge| edge.number);
        }
    }

    /// Lists the edges at each vertex, to be read with [`Self::at`].
    pub(crate) fn index(&mut self) {
        for side in SIDES {
            let starts = &mut self.starts[side];
            starts.clear();
            starts.resize(self.places.len() + 1, 0);
            for edge in &self.edges {
                starts[edge.ends[side] as usize] += 1;
            }
            let mut sum = 0;
            for start in starts.iter_mut() {
                sum += *start;
                *start = sum;
            }
            let incident = &mut self.incident[side];
            incident.clear();
            incident.resize(self.edges.len(), 0);
            for (place, edge) in self.edges.iter().enumerate() {
                let start = &mut starts[edge.ends[side] as usize];
                *start -= 1;
                incident[*start as usize] = place as u32;
            }
        }
    }

    /// Where the edges that leave (enter) a vertex are listed, and how many there are.
    #[inline]
    pub(crate) fn at(&self, vertex: u32, side: usize) -> std::ops::Range<usize> {
        self.starts[side][vertex as usize] as usize..self.starts[side][vertex as usize + 1] as usize
    }

    /// The edge at a place of these lists.
    #[inline]
    pub(crate) fn listed(&self, side: usize, place: usize) -> usize {
        self.incident[side][place] as usize
    }
}
