//! Vertices as small numbers, for as long as an edge in the window touches them.
//!
//! Invariant: a vertex has a number while its use count is above zero; a freed number is given to the next new vertex. So
//! memory follows the window, however many vertices the stream ever names.
//! Cost: one hash look-up an end of an edge.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::key::KeyRef;

/// A vertex's number in its [`VertexTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Vertex(pub u32);

impl Vertex {
    /// No vertex: the end of a deleted edge, an unbound query vertex.
    pub const NONE: Self = Self(u32::MAX);
}

#[derive(Debug)]
enum Name {
    Number(u64),
    Text(Box<str>),
}

impl Name {
    #[inline]
    fn get(&self) -> KeyRef<'_> {
        match self {
            Self::Number(number) => KeyRef::Number(*number),
            Self::Text(text) => KeyRef::Text(text),
        }
    }

    fn text_bytes(&self) -> usize {
        match self {
            Self::Number(_) => 0,
            Self::Text(text) => text.len(),
        }
    }
}

#[derive(Debug)]
struct Slot {
    name: Name,
    uses: u32,
}

/// Names of vertices and their numbers.
#[derive(Debug, Default)]
pub struct VertexTable {
    slots: Vec<Slot>,
    free: Vec<Vertex>,
    numbers: HashTable<Vertex>,
    text_bytes: usize,
}

#[inline]
fn hash(name: KeyRef<'_>) -> u64 {
    FxBuildHasher.hash_one(name)
}

impl VertexTable {
    /// Returns the number of a vertex in use.
    #[inline]
    pub fn find(&self, name: KeyRef<'_>) -> Option<Vertex> {
        self.numbers.find(hash(name), |vertex| self.slots[vertex.0 as usize].name.get() == name).copied()
    }

    /// Returns the number of a vertex, giving it one if it has none, and counts one more use.
    #[inline]
    pub fn acquire(&mut self, name: KeyRef<'_>) -> Vertex {
        let hashed = hash(name);
        let found = self.numbers.find(hashed, |vertex| self.slots[vertex.0 as usize].name.get() == name);
        if let Some(&vertex) = found {
            self.slots[vertex.0 as usize].uses += 1;
            return vertex;
        }
        let name = match name {
            KeyRef::Number(number) => Name::Number(number),
            KeyRef::Text(text) => Name::Text(text.into()),
        };
        self.text_bytes += name.text_bytes();
        let slot = Slot { name, uses: 1 };
        let vertex = if let Some(vertex) = self.free.pop() {
            self.slots[vertex.0 as usize] = slot;
            vertex
        } else {
            self.slots.push(slot);
            Vertex(self.slots.len() as u32 - 1)
        };
        let slots = &self.slots;
        self.numbers.insert_unique(hashed, vertex, |vertex| hash(slots[vertex.0 as usize].name.get()));
        vertex
    }

    /// Counts one more use of a vertex in use.
    #[inline]
    pub fn retain(&mut self, vertex: Vertex) {
        self.slots[vertex.0 as usize].uses += 1;
    }

    /// Counts one use less, and forgets the vertex after its last.
    #[inline]
    pub fn release(&mut self, vertex: Vertex) {
        let slot = &mut self.slots[vertex.0 as usize];
        slot.uses -= 1;
        if slot.uses == 0 {
            self.forget(vertex);
        }
    }

    fn forget(&mut self, vertex: Vertex) {
        let slot = &mut self.slots[vertex.0 as usize];
        if let Ok(entry) = self.numbers.find_entry(hash(slot.name.get()), |other| *other == vertex) {
            entry.remove();
        }
        self.text_bytes -= slot.name.text_bytes();
        slot.name = Name::Number(0);
        self.free.push(vertex);
    }

    /// Forgets every vertex.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.free.clear();
        self.numbers.clear();
        self.text_bytes = 0;
    }

    /// Returns the name of a vertex in use.
    #[inline]
    pub fn name(&self, vertex: Vertex) -> KeyRef<'_> {
        self.slots[vertex.0 as usize].name.get()
    }

    /// Vertices in use.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether no vertex is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that the vertices in use take.
    pub fn bytes(&self) -> usize {
        self.len() * (size_of::<Slot>() + size_of::<Vertex>() + 1) + self.text_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vertex_is_forgotten_after_its_last_use_and_its_number_given_again() {
        let mut table = VertexTable::default();
        let a = table.acquire(KeyRef::Text("10.0.0.7"));
        assert_eq!(table.acquire(KeyRef::Text("10.0.0.7")), a);
        table.release(a);
        assert_eq!(table.find(KeyRef::Text("10.0.0.7")), Some(a));
        table.release(a);
        assert_eq!(table.find(KeyRef::Text("10.0.0.7")), None);
        assert_eq!(table.acquire(KeyRef::Number(5)), a);
        assert_eq!(table.name(a), KeyRef::Number(5));
        assert_eq!(table.len(), 1);
    }

    #[test]
    fn names_survive_growth() {
        let mut table = VertexTable::default();
        let vertices: Vec<Vertex> = (0..10_000).map(|number| table.acquire(KeyRef::Number(number))).collect();
        for (number, &vertex) in vertices.iter().enumerate() {
            assert_eq!(table.name(vertex), KeyRef::Number(number as u64));
            assert_eq!(table.find(KeyRef::Number(number as u64)), Some(vertex));
        }
    }
}
