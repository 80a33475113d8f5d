//! The edges of the window, in stream order.
//!
//! Invariant: edges lie in order of (ts, arrival); the oldest leave first. An edge is named by the low half of its sequence number,
//! so a window holds at most 2^31 edges.
//! Cost: O(1) to append and to read, O(expired) to expire.

use std::collections::VecDeque;

use hashbrown::HashSet;
use rustc_hash::FxBuildHasher;

use crate::Time;
use crate::key::{IdRef, KeyRef};
use crate::text_queue::TextQueue;
use crate::value::{OwnedValue, ValueRef};
use crate::vertex::Vertex;

/// An edge in the window, by the low half of its sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EdgeRef(pub u32);

/// An edge as the store keeps it.
#[derive(Clone, Copy, Debug)]
pub struct StoredEdge {
    /// Event time.
    pub ts: Time,
    /// Source vertex.
    pub source: Vertex,
    /// Target vertex.
    pub target: Vertex,
    /// The caller's own mark: which kind of edge it took it for.
    pub class: u32,
    /// The id where it is a number, else the place of its text.
    id: u64,
    /// Length of the id's text, or [`NUMBER`], or [`MADE`].
    id_length: u32,
}

const NUMBER: u32 = u32::MAX;
const MADE: u32 = NUMBER - 1;

impl StoredEdge {
    /// Whether the store holds a text for the id.
    #[inline]
    fn has_text(&self) -> bool {
        self.id_length < MADE
    }
}

/// Edges of the window with their ids and the attributes that later edges are compared with.
#[derive(Debug, Default)]
pub struct EdgeStore {
    edges: VecDeque<StoredEdge>,
    first: u64,
    width: usize,
    attributes: VecDeque<OwnedValue>,
    texts: TextQueue,
    /// Deleted edges still held: few, or none.
    deleted: HashSet<u32, FxBuildHasher>,
}

impl EdgeStore {
    /// Makes a store that keeps `width` attributes an edge.
    pub fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Appends an edge; its time is not before that of any stored edge.
    #[inline]
    pub fn push<'v>(
        &mut self,
        (ts, class): (Time, u32),
        (source, target): (Vertex, Vertex),
        id: IdRef<'_>,
        attributes: impl IntoIterator<Item = ValueRef<'v>>,
    ) -> EdgeRef {
        let (id, id_length) = match id {
            IdRef::Given(KeyRef::Number(number)) => (number, NUMBER),
            IdRef::Made(number) => (number, MADE),
            IdRef::Given(KeyRef::Text(text)) => (self.texts.push(text), text.len() as u32),
        };
        self.edges.push_back(StoredEdge { ts, source, target, class, id, id_length });
        if self.width > 0 {
            self.attributes.extend(attributes.into_iter().take(self.width).map(OwnedValue::new));
        }
        EdgeRef((self.first + self.edges.len() as u64 - 1) as u32)
    }

    /// Takes back the edge appended last.
    pub fn pop_back(&mut self) {
        if let Some(edge) = self.edges.pop_back() {
            if edge.has_text() {
                self.texts.pop_back(edge.id, edge.id_length);
            }
            self.attributes.truncate(self.edges.len() * self.width);
        }
    }

    /// Gives an edge of the window another mark.
    pub fn set_class(&mut self, edge: EdgeRef, class: u32) {
        let place = self.place(edge);
        self.edges[place].class = class;
    }

    /// The edge appended last.
    pub fn newest(&self) -> Option<(EdgeRef, &StoredEdge)> {
        Some((EdgeRef((self.first + self.edges.len() as u64).wrapping_sub(1) as u32), self.edges.back()?))
    }

    /// The edges held, oldest first.
    pub fn refs(&self) -> impl Iterator<Item = EdgeRef> + use<> {
        let first = self.first;
        (0..self.edges.len() as u64).map(move |place| EdgeRef((first + place) as u32))
    }

    /// The oldest edge held.
    pub fn oldest(&self) -> Option<(EdgeRef, &StoredEdge)> {
        Some((EdgeRef(self.first as u32), self.edges.front()?))
    }

    /// Removes the oldest edge if its time is before `alive_from`.
    #[inline]
    pub fn pop_expired(&mut self, alive_from: Time) -> Option<StoredEdge> {
        if self.edges.front()?.ts >= alive_from {
            return None;
        }
        self.pop_oldest()
    }

    /// Removes the oldest edge.
    #[inline]
    pub fn pop_oldest(&mut self) -> Option<StoredEdge> {
        let edge = self.edges.pop_front()?;
        if !self.deleted.is_empty() {
            self.deleted.remove(&(self.first as u32));
        }
        self.first += 1;
        self.attributes.drain(..self.width);
        if edge.has_text() {
            self.texts.pop_front(edge.id, edge.id_length);
        }
        Some(edge)
    }

    #[inline]
    fn place(&self, edge: EdgeRef) -> usize {
        edge.0.wrapping_sub(self.first as u32) as usize
    }

    /// Reads an edge of the window.
    #[inline]
    pub fn get(&self, edge: EdgeRef) -> &StoredEdge {
        &self.edges[self.place(edge)]
    }

    /// Returns the id of an edge of the window.
    #[inline]
    pub fn id(&self, edge: EdgeRef) -> IdRef<'_> {
        let stored = self.get(edge);
        if !stored.has_text() {
            let given = || IdRef::Given(KeyRef::Number(stored.id));
            return if stored.id_length == MADE { IdRef::Made(stored.id) } else { given() };
        }
        IdRef::Given(KeyRef::Text(self.texts.get(stored.id, stored.id_length)))
    }

    /// Returns an attribute kept for an edge of the window.
    #[inline]
    pub fn attribute(&self, edge: EdgeRef, column: usize) -> ValueRef<'_> {
        self.attributes[self.place(edge) * self.width + column].get()
    }

    /// All attributes kept for an edge of the window.
    pub fn attributes(&self, edge: EdgeRef) -> impl Iterator<Item = ValueRef<'_>> {
        let start = self.place(edge) * self.width;
        self.attributes.range(start..start + self.width).map(OwnedValue::get)
    }

    /// Marks an edge of the window as deleted. It stays until it expires, so that what names it can be read.
    pub fn delete(&mut self, edge: EdgeRef) {
        self.deleted.insert(edge.0);
    }

    /// Whether some edge held was deleted.
    #[inline]
    pub fn has_deleted(&self) -> bool {
        !self.deleted.is_empty()
    }

    /// Whether an edge of the window was deleted.
    #[inline]
    pub fn is_deleted(&self, edge: EdgeRef) -> bool {
        self.deleted.contains(&edge.0)
    }

    /// How many edges held are older.
    pub fn rank(&self, edge: EdgeRef) -> usize {
        self.place(edge)
    }

    /// Whether the edge is still held.
    pub fn contains(&self, edge: EdgeRef) -> bool {
        self.place(edge) < self.edges.len()
    }

    /// Edges held.
    pub fn len(&self) -> usize {
        self.edges.len()
    }

    /// Whether no edge is held.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// Bytes that the edges held take, texts of attributes apart.
    pub fn bytes(&self) -> usize {
        self.edges.len() * (size_of::<StoredEdge>() + self.width * size_of::<OwnedValue>()) + self.texts.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(store: &mut EdgeStore, ts: Time, id: &str) -> EdgeRef {
        store.push((ts, 0), (Vertex(0), Vertex(1)), IdRef::Given(KeyRef::parse(id)), [])
    }

    #[test]
    fn ids_survive_the_expiry_of_older_edges() {
        let mut store = EdgeStore::default();
        let edges: Vec<EdgeRef> = (0..5000).map(|n| push(&mut store, n, &format!("flow-{n}"))).collect();
        while store.pop_expired(4000).is_some() {}
        assert_eq!(store.len(), 1000);
        assert!(!store.contains(edges[3999]));
        for (n, &edge) in edges.iter().enumerate().skip(4000) {
            assert_eq!(store.id(edge), IdRef::Given(KeyRef::Text(&format!("flow-{n}"))));
            assert_eq!(usize::try_from(store.get(edge).ts), Ok(n));
        }
        assert!(store.texts.len() < 5000 * 9, "texts of expired ids are given back");
    }

    #[test]
    fn a_deletion_is_remembered_until_its_edge_expires() {
        let mut store = EdgeStore::default();
        let (one, other) = (push(&mut store, 1, "a"), push(&mut store, 2, "b"));
        store.delete(one);
        assert!(store.has_deleted() && store.is_deleted(one) && !store.is_deleted(other));
        store.pop_expired(2);
        assert!(!store.has_deleted());
    }

    #[test]
    fn taking_back_the_last_edge_leaves_no_trace() {
        let mut store = EdgeStore::new(1);
        let kept = store.push((1, 0), (Vertex(0), Vertex(1)), IdRef::Given(KeyRef::Text("kept")), [ValueRef::Int(1)]);
        store.push((2, 0), (Vertex(0), Vertex(1)), IdRef::Given(KeyRef::Text("gone")), [ValueRef::Int(2)]);
        store.pop_back();
        let next = store.push((2, 0), (Vertex(0), Vertex(1)), IdRef::Given(KeyRef::Text("next")), [ValueRef::Int(3)]);
        assert_eq!((store.id(kept), store.id(next)), (IdRef::Given(KeyRef::Text("kept")), IdRef::Given(KeyRef::Text("next"))));
        assert_eq!((store.attribute(kept, 0), store.attribute(next, 0)), (ValueRef::Int(1), ValueRef::Int(3)));
    }
}
