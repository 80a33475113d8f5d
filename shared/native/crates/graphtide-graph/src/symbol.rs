//! Labels as small numbers.
//!
//! One table serves a stream's decoder and its matcher. It is bounded. A stream that invents labels without end gets
//! [`Symbol::OTHER`] for those past the bound. No pattern can name that once it was registered, because patterns intern first.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// A label's number in its [`SymbolTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(pub u32);

impl Symbol {
    /// No label given. Matches a query part without a label and no other.
    pub const ABSENT: Self = Self(0);
    /// A label past the table's bound.
    pub const OTHER: Self = Self(1);
}

/// Labels and their numbers.
#[derive(Debug)]
pub struct SymbolTable {
    numbers: HashMap<Box<str>, Symbol, FxBuildHasher>,
    names: Vec<Box<str>>,
    capacity: usize,
}

/// Labels that a table holds by default.
pub const DEFAULT_CAPACITY: usize = 1 << 20;

impl Default for SymbolTable {
    fn default() -> Self {
        Self::with_capacity(DEFAULT_CAPACITY)
    }
}

impl SymbolTable {
    /// Makes a table of at most `capacity` labels.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { numbers: HashMap::default(), names: vec!["".into(), "".into()], capacity }
    }

    /// Returns the number of a label, giving it one if there is room; the empty label is [`Symbol::ABSENT`].
    #[inline]
    pub fn intern(&mut self, name: &str) -> Symbol {
        if name.is_empty() {
            return Symbol::ABSENT;
        }
        if let Some(&symbol) = self.numbers.get(name) {
            return symbol;
        }
        self.insert(name)
    }

    #[cold]
    fn insert(&mut self, name: &str) -> Symbol {
        if self.numbers.len() >= self.capacity {
            return Symbol::OTHER;
        }
        let symbol = Symbol(self.names.len() as u32);
        self.numbers.insert(name.into(), symbol);
        self.names.push(name.into());
        symbol
    }

    /// Returns the label of a number; empty for [`Symbol::ABSENT`] and [`Symbol::OTHER`].
    pub fn name(&self, symbol: Symbol) -> &str {
        &self.names[symbol.0 as usize]
    }

    /// Appends to `names` the labels of all numbers beyond those it holds.
    pub fn copy_new_names(&self, names: &mut Vec<Box<str>>) {
        names.extend_from_slice(&self.names[names.len().min(self.names.len())..]);
    }

    /// How many numbers are in use, the two special ones included.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Never: the special symbols are always there.
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// A table that a decoder and a matcher share; locked once a batch.
///
/// Invariant: who holds the lock waits for nothing else. Threads wait for it with Python's own lock in hand, so no object of
/// Python is made under it. Making one may collect garbage, which lets other threads have Python's lock.
#[derive(Clone, Debug, Default)]
pub struct SharedSymbols(Arc<Mutex<SymbolTable>>);

impl SharedSymbols {
    /// Shares a table.
    pub fn new(table: SymbolTable) -> Self {
        Self(Arc::new(Mutex::new(table)))
    }

    /// Locks the table. A holder that panicked leaves it whole: every insertion is complete before the next can fail.
    pub fn lock(&self) -> MutexGuard<'_, SymbolTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_keeps_its_number() {
        let mut table = SymbolTable::default();
        let http = table.intern("http");
        assert_eq!(table.intern("tcp"), Symbol(http.0 + 1));
        assert_eq!(table.intern("http"), http);
        assert_eq!(table.name(http), "http");
    }

    #[test]
    fn past_its_bound_a_table_stops_growing() {
        let mut table = SymbolTable::with_capacity(1);
        let first = table.intern("a");
        assert_eq!(table.intern("b"), Symbol::OTHER);
        assert_eq!(table.intern("a"), first);
        assert_eq!(table.intern(""), Symbol::ABSENT);
    }
}
