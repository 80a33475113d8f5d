//! The snapshot graph that a path walks: arcs by symbol, each with the instant at which it ends.
//!
//! A vertex has a place of its own while an arc touches it, so that what is kept of it can be a plain list.
//! Invariant: an arc is in the lists of both its ends, at the places that it says.

use graphtide_graph::Time;
use graphtide_graph::vertex::Vertex;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rustc_hash::FxBuildHasher;

/// A vertex's place.
pub type Place = u32;

/// An arc's number.
pub type ArcId = u32;

/// A step from one vertex to another.
#[derive(Clone, Copy, Debug)]
pub struct Arc {
    /// Where it begins.
    pub source: Place,
    /// Where it ends.
    pub target: Place,
    /// What it spells.
    pub symbol: u16,
    /// When it ends.
    pub end: Time,
    /// When it ended before the record under way shortened it; else as `end`.
    pub before: Time,
    places: (u32, u32),
}

/// Bytes that one more arc takes, about, with a place of its own.
pub const ARC_BYTES: usize = size_of::<Arc>() + 17 + 8 + 9 + 4 + 2 * size_of::<Vec<ArcId>>();

/// Arcs by their ends.
#[derive(Debug, Default)]
pub struct Graph {
    arcs: Vec<Arc>,
    free_arcs: Vec<ArcId>,
    numbers: HashMap<(u16, Place, Place), ArcId, FxBuildHasher>,
    places: HashMap<Vertex, Place, FxBuildHasher>,
    vertices: Vec<Vertex>,
    free_places: Vec<Place>,
    from: Vec<Vec<ArcId>>,
    to: Vec<Vec<ArcId>>,
}

impl Graph {
    /// An arc.
    #[inline]
    pub fn arc(&self, arc: ArcId) -> &Arc {
        &self.arcs[arc as usize]
    }

    /// Arcs from a place.
    #[inline]
    pub fn from(&self, place: Place) -> &[ArcId] {
        &self.from[place as usize]
    }

    /// Arcs to a place.
    #[inline]
    pub fn to(&self, place: Place) -> &[ArcId] {
        &self.to[place as usize]
    }

    /// The vertex at a place.
    #[inline]
    pub fn vertex(&self, place: Place) -> Vertex {
        self.vertices[place as usize]
    }

    /// The place of a vertex.
    pub fn place(&self, vertex: Vertex) -> Option<Place> {
        self.places.get(&vertex).copied()
    }

    /// Places there are, free ones too.
    pub fn len(&self) -> usize {
        self.vertices.len()
    }

    /// Lets an arc end at an instant; makes it if it is not there.
    pub fn raise(&mut self, symbol: u16, (source, target): (Vertex, Vertex), end: Time) -> ArcId {
        let (source, target) = (self.put(source), self.put(target));
        match self.numbers.entry((symbol, source, target)) {
            Entry::Occupied(entry) => {
                let arc = *entry.get();
                let own = &mut self.arcs[arc as usize];
                (own.end, own.before) = (end, end);
                arc
            }
            Entry::Vacant(entry) => {
                let places = (self.from[source as usize].len() as u32, self.to[target as usize].len() as u32);
                let made = Arc { source, target, symbol, end, before: end, places };
                let arc = if let Some(arc) = self.free_arcs.pop() {
                    self.arcs[arc as usize] = made;
                    arc
                } else {
                    self.arcs.push(made);
                    self.arcs.len() as ArcId - 1
                };
                entry.insert(arc);
                self.from[source as usize].push(arc);
                self.to[target as usize].push(arc);
                arc
            }
        }
    }

    /// Ends an existing arc earlier; until [`settle`](Self::settle) it keeps its former end.
    pub fn lower(&mut self, symbol: u16, (source, target): (Vertex, Vertex), end: Time) -> Option<ArcId> {
        let key = (symbol, self.place(source)?, self.place(target)?);
        let arc = *self.numbers.get(&key)?;
        self.arcs[arc as usize].end = end;
        Some(arc)
    }

    /// Forgets when an arc ended before.
    pub fn settle(&mut self, arc: ArcId) {
        let own = &mut self.arcs[arc as usize];
        own.before = own.end;
    }

    /// Removes an arc; calls `f` with each place that no arc touches any more.
    pub fn remove(&mut self, symbol: u16, (source, target): (Vertex, Vertex), mut f: impl FnMut(Place)) {
        let (Some(source), Some(target)) = (self.place(source), self.place(target)) else { return };
        let Some(arc) = self.numbers.remove(&(symbol, source, target)) else { return };
        let (out, into) = self.arcs[arc as usize].places;
        self.from[source as usize].swap_remove(out as usize);
        if let Some(&moved) = self.from[source as usize].get(out as usize) {
            self.arcs[moved as usize].places.0 = out;
        }
        self.to[target as usize].swap_remove(into as usize);
        if let Some(&moved) = self.to[target as usize].get(into as usize) {
            self.arcs[moved as usize].places.1 = into;
        }
        self.free_arcs.push(arc);
        for place in [source, target] {
            let is_bare = self.from[place as usize].is_empty() && self.to[place as usize].is_empty();
            if is_bare && self.places.remove(&self.vertices[place as usize]).is_some() {
                self.free_places.push(place);
                f(place);
            }
        }
    }

    /// Arcs that there is room for.
    #[inline]
    pub fn room(&self) -> usize {
        self.arcs.len()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let lists = self.from.iter().chain(&self.to).map(|list| size_of_val(list) + list.capacity() * 4);
        self.arcs.capacity() * size_of::<Arc>()
            + self.numbers.capacity() * 17
            + self.places.capacity() * 9
            + self.vertices.capacity() * 4
            + lists.sum::<usize>()
    }

    fn put(&mut self, vertex: Vertex) -> Place {
        let Self { places, vertices, free_places, from, to, .. } = self;
        *places.entry(vertex).or_insert_with(|| {
            if let Some(place) = free_places.pop() {
                vertices[place as usize] = vertex;
                return place;
            }
            vertices.push(vertex);
            from.push(Vec::new());
            to.push(Vec::new());
            vertices.len() as Place - 1
        })
    }
}
