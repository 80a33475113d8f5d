//! A queue whose entries are named by their number since its beginning.
//!
//! Invariant: a number names one entry for ever; an entry removed from the middle keeps its room until all before it are gone.
//! Cost: O(1) each, amortised.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// Place of an edge in the order in which edges were taken.
pub(crate) type Number = u64;

/// Names no entry.
pub(crate) const NONE: Number = Number::MAX;

#[derive(Debug)]
struct Entry<T> {
    value: T,
    gone: bool,
}

/// The queue.
#[derive(Debug)]
pub(crate) struct Numbered<T> {
    first: Number,
    entries: VecDeque<Entry<T>>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { first: 0, entries: VecDeque::new() }
    }
}

impl<T> Numbered<T> {
    /// Bytes an entry takes.
    pub(crate) const ENTRY: usize = size_of::<Entry<T>>();

    /// Appends an entry.
    pub(crate) fn push(&mut self, value: T) -> Number {
        self.entries.push_back(Entry { value, gone: false });
        self.first + self.entries.len() as Number - 1
    }

    /// Appends an entry under a number greater than all before it; numbers that are left out name nothing.
    pub(crate) fn append(&mut self, number: Number, value: T)
    where
        T: Copy,
    {
        if self.entries.is_empty() {
            self.first = number;
        }
        while self.first + (self.entries.len() as Number) < number {
            self.entries.push_back(Entry { value, gone: true });
        }
        self.entries.push_back(Entry { value, gone: false });
    }

    /// Removes an entry, and frees the room of all that are gone at the front.
    pub(crate) fn remove(&mut self, number: Number) {
        self.entries[(number - self.first) as usize].gone = true;
        while self.entries.front().is_some_and(|entry| entry.gone) {
            self.entries.pop_front();
            self.first += 1;
        }
    }

    /// The oldest entry.
    #[inline]
    pub(crate) fn front(&self) -> Option<(Number, &T)> {
        self.entries.front().map(|entry| (self.first, &entry.value))
    }

    /// The entries in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Number, &T)> {
        let numbered = (self.first..).zip(&self.entries);
        numbered.filter(|(_, entry)| !entry.gone).map(|(number, entry)| (number, &entry.value))
    }

    /// Entries that there is room for, gone ones in the middle included.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        self.entries.len()
    }
}

impl<T> Index<Number> for Numbered<T> {
    type Output = T;

    #[inline]
    fn index(&self, number: Number) -> &T {
        &self.entries[(number - self.first) as usize].value
    }
}

impl<T> IndexMut<Number> for Numbered<T> {
    #[inline]
    fn index_mut(&mut self, number: Number) -> &mut T {
        &mut self.entries[(number - self.first) as usize].value
    }
}
