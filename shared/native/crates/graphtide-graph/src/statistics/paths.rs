//! Counts of 2-edge paths by the types of their edges and their directions at the vertex between.
//!
//! Every edge has two *ends*: it goes out of its source and into its target. A 2-edge path is an unordered pair of ends of two
//! distinct edges at one vertex. So two edges that share both vertices make two paths, one at each. A self-loop has both ends
//! at its vertex, makes two paths with every other end there, and none with itself.
//!
//! At each vertex stands how many ends of each kind it has. A new end makes a path with every end there, so it adds those
//! numbers to the counts, and a removed one subtracts them. Cost: O(kinds of ends at the vertex) an end, never a look at other
//! edges.
//!
//! Reference: paper 003, Algorithm 5, which counts a graph at rest; `n (n - 1) / 2` for pairs of one kind comes about as the
//! sum of
//! `0 + 1 + … + (n - 1)`.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

/// A kind of end: the type's code, doubled, plus 1 for an edge that comes in.
pub(super) type End = u32;

/// Ends of one kind at one vertex.
#[derive(Clone, Copy, Debug)]
struct Ends {
    kind: End,
    count: u32,
}

/// Kinds of ends at one vertex. Six fit in place, which fills a line of the cache together with the degrees beside them.
#[derive(Debug, Default)]
pub(super) struct EndTable(SmallVec<[Ends; 6]>);

impl EndTable {
    #[inline]
    fn add(&mut self, kind: End) {
        match self.0.iter_mut().find(|ends| ends.kind == kind) {
            Some(ends) => ends.count += 1,
            None => self.0.push(Ends { kind, count: 1 }),
        }
    }

    #[inline]
    fn remove(&mut self, kind: End) {
        let Some(place) = self.0.iter().position(|ends| ends.kind == kind) else { return };
        self.0[place].count -= 1;
        if self.0[place].count == 0 {
            self.0.swap_remove(place);
            if self.0.is_empty() && self.0.spilled() {
                // A vertex that is gone holds no memory but its place.
                self.0 = SmallVec::new();
            }
        }
    }
}

/// Kinds of ends up to which counts lie in a matrix: half a megabyte.
const MOST_IN_MATRIX: usize = 256;

/// How many paths there are of each pair of kinds.
#[derive(Debug)]
pub(super) enum PathCounts {
    /// Row by the end that came or went, column by the one that was there. The paths of two kinds are the sum of both places. A
    /// place alone may wrap around zero, since the end that goes first need not be the one that came last; the sum is exact.
    Matrix { width: usize, places: Vec<u64> },
    /// By the lesser kind, then the greater; none is zero.
    Table(HashMap<(End, End), u64, FxBuildHasher>),
}

impl Default for PathCounts {
    fn default() -> Self {
        Self::Matrix { width: 0, places: Vec::new() }
    }
}

impl PathCounts {
    /// Makes room for ends of so many kinds.
    #[inline]
    pub(super) fn reserve(&mut self, kinds: usize) {
        if let Self::Matrix { width, .. } = self
            && kinds > *width
        {
            self.grow(kinds);
        }
    }

    #[cold]
    fn grow(&mut self, kinds: usize) {
        let known = self.counts();
        let width = kinds.next_power_of_two().max(16);
        let mut grown = if width <= MOST_IN_MATRIX {
            Self::Matrix { width, places: vec![0; width * width] }
        } else {
            Self::Table(HashMap::default())
        };
        for (kinds, count) in known {
            match &mut grown {
                Self::Matrix { width, places } => places[kinds.0 as usize * *width + kinds.1 as usize] = count,
                Self::Table(table) => {
                    table.insert(kinds, count);
                }
            }
        }
        *self = grown;
    }

    /// Counts an end that comes to a vertex.
    #[inline]
    pub(super) fn add(&mut self, table: &mut EndTable, kind: End) {
        self.pair(table, kind);
        table.add(kind);
    }

    /// Counts both ends of a self-loop.
    pub(super) fn add_both(&mut self, table: &mut EndTable, kinds: [End; 2]) {
        for kind in kinds {
            self.pair(table, kind);
        }
        for kind in kinds {
            table.add(kind);
        }
    }

    /// Counts an end that goes from a vertex.
    #[inline]
    pub(super) fn remove(&mut self, table: &mut EndTable, kind: End) {
        table.remove(kind);
        self.unpair(table, kind);
    }

    /// Counts that both ends of a self-loop go.
    pub(super) fn remove_both(&mut self, table: &mut EndTable, kinds: [End; 2]) {
        for kind in kinds {
            table.remove(kind);
        }
        for kind in kinds {
            self.unpair(table, kind);
        }
    }

    #[inline]
    fn pair(&mut self, table: &EndTable, kind: End) {
        match self {
            Self::Matrix { width, places } => {
                let row = &mut places[kind as usize * *width..][..*width];
                for ends in &table.0 {
                    let place = &mut row[ends.kind as usize];
                    *place = place.wrapping_add(u64::from(ends.count));
                }
            }
            Self::Table(counts) => {
                for ends in &table.0 {
                    *counts.entry(ordered(kind, ends.kind)).or_insert(0) += u64::from(ends.count);
                }
            }
        }
    }

    #[inline]
    fn unpair(&mut self, table: &EndTable, kind: End) {
        match self {
            Self::Matrix { width, places } => {
                let row = &mut places[kind as usize * *width..][..*width];
                for ends in &table.0 {
                    let place = &mut row[ends.kind as usize];
                    *place = place.wrapping_sub(u64::from(ends.count));
                }
            }
            Self::Table(counts) => {
                for ends in &table.0 {
                    let kinds = ordered(kind, ends.kind);
                    if let Some(count) = counts.get_mut(&kinds) {
                        *count -= u64::from(ends.count);
                        if *count == 0 {
                            counts.remove(&kinds);
                        }
                    }
                }
            }
        }
    }

    /// Forgets every path; no kind above `kinds` was ever counted.
    pub(super) fn clear(&mut self, kinds: usize) {
        match self {
            Self::Matrix { width, places } => places[..kinds * *width].fill(0),
            Self::Table(counts) => counts.clear(),
        }
    }

    /// The pairs of kinds that have paths, the lesser kind first, in order.
    pub(super) fn counts(&self) -> Vec<((End, End), u64)> {
        let mut counts = Vec::new();
        match self {
            Self::Matrix { width, places } => {
                for row in 0..*width {
                    for column in row..*width {
                        let mirrored = if row == column { 0 } else { places[column * width + row] };
                        let count = places[row * width + column].wrapping_add(mirrored);
                        if count > 0 {
                            counts.push(((row as End, column as End), count));
                        }
                    }
                }
            }
            Self::Table(table) => {
                counts.extend(table.iter().map(|(&kinds, &count)| (kinds, count)));
                counts.sort_unstable();
            }
        }
        counts
    }
}

#[inline]
fn ordered(one: End, other: End) -> (End, End) {
    (one.min(other), one.max(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_one_kind_make_every_pair_once() {
        let (mut counts, mut table) = (PathCounts::default(), EndTable::default());
        counts.reserve(2);
        for _ in 0..5 {
            counts.add(&mut table, 1);
        }
        assert_eq!(counts.counts(), [((1, 1), 10)]);
        counts.remove(&mut table, 1);
        assert_eq!(counts.counts(), [((1, 1), 6)]);
    }

    #[test]
    fn the_order_in_which_ends_go_does_not_matter() {
        let (mut counts, mut table) = (PathCounts::default(), EndTable::default());
        counts.reserve(4);
        for kind in [0, 2, 0, 3] {
            counts.add(&mut table, kind);
        }
        assert_eq!(counts.counts(), [((0, 0), 1), ((0, 2), 2), ((0, 3), 2), ((2, 3), 1)]);
        counts.remove(&mut table, 0);
        assert_eq!(counts.counts(), [((0, 2), 1), ((0, 3), 1), ((2, 3), 1)]);
        counts.remove(&mut table, 2);
        assert_eq!(counts.counts(), [((0, 3), 1)]);
    }

    #[test]
    fn a_self_loop_pairs_twice_with_others_and_not_with_itself() {
        let (mut counts, mut table) = (PathCounts::default(), EndTable::default());
        counts.reserve(4);
        counts.add_both(&mut table, [0, 1]);
        assert_eq!(counts.counts(), []);
        counts.add(&mut table, 2);
        assert_eq!(counts.counts(), [((0, 2), 1), ((1, 2), 1)]);
        counts.remove_both(&mut table, [0, 1]);
        assert_eq!(counts.counts(), []);
    }

    #[test]
    fn matrix_and_table_agree_past_the_bound() {
        let (mut counts, mut table) = (PathCounts::default(), EndTable::default());
        for kind in 0..400 {
            counts.reserve(kind as usize + 1);
            counts.add(&mut table, kind);
        }
        assert!(matches!(counts, PathCounts::Table(_)));
        assert_eq!(counts.counts().len(), 400 * 399 / 2);
        for kind in 0..400 {
            counts.remove(&mut table, kind);
        }
        assert_eq!(counts.counts(), []);
        assert!(table.0.is_empty() && !table.0.spilled());
    }
}
