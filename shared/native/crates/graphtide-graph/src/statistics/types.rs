//! Types of edges as small codes, with the number of live edges of each: the histogram.
//!
//! Invariant: a type has a code while an edge of it is live; a freed code is given to the next new type. So memory follows the
//! window, however many labels the stream ever names. Cost: one hash look-up an edge.
//! Reference: the function `Map()` of paper 003, section 5.1.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::symbol::Symbol;

/// What an edge counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EdgeType {
    /// Label of the source.
    pub source_label: Symbol,
    /// Label of the edge.
    pub label: Symbol,
    /// Label of the target.
    pub target_label: Symbol,
    /// Which of the caller's classes the edge's attributes put it in; 0 where there are none.
    pub class: u32,
}

/// A type's code in its [`TypeTable`].
pub(super) type Code = u32;

/// Types and how many live edges each has.
#[derive(Debug, Default)]
pub(super) struct TypeTable {
    codes: HashMap<EdgeType, Code, FxBuildHasher>,
    counts: Vec<(EdgeType, u64)>,
    free: Vec<Code>,
}

impl TypeTable {
    /// Counts one more edge of a type.
    #[inline]
    pub(super) fn add(&mut self, kind: EdgeType) -> Code {
        if let Some(&code) = self.codes.get(&kind) {
            self.counts[code as usize].1 += 1;
            return code;
        }
        self.insert(kind)
    }

    #[cold]
    fn insert(&mut self, kind: EdgeType) -> Code {
        let code = if let Some(code) = self.free.pop() {
            self.counts[code as usize] = (kind, 1);
            code
        } else {
            self.counts.push((kind, 1));
            self.counts.len() as Code - 1
        };
        self.codes.insert(kind, code);
        code
    }

    /// Counts one edge less, and forgets the type after its last.
    #[inline]
    pub(super) fn remove(&mut self, code: Code) {
        let (kind, count) = &mut self.counts[code as usize];
        *count -= 1;
        if *count == 0 {
            self.codes.remove(kind);
            self.free.push(code);
        }
    }

    /// Forgets every type.
    pub(super) fn clear(&mut self) {
        self.codes.clear();
        self.counts.clear();
        self.free.clear();
    }

    /// How many codes have been in use at once.
    pub(super) fn codes(&self) -> usize {
        self.counts.len()
    }

    /// The types of live edges.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Code, EdgeType, u64)> {
        let counted = (0..).zip(&self.counts).filter(|(_, (_, count))| *count > 0);
        counted.map(|(code, &(kind, count))| (code, kind, count))
    }
}
