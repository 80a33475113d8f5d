//! The partial matches that an engine stores: counts by step, and those nearest to completion.
//!
//! A partial match is nearer than another if it binds more query edges. Of two with as many, the nearer has an oldest edge that
//! came later, so that it stays longer. Then the nearer has a newest edge that came later.
//! Invariant: unless [`Nearest::is_truncated`], the gathered partial matches are the nearest of all that are stored.
//! Cost: an engine looks at one stored row for each step of the budget, so the work does not grow with what is stored.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use graphtide_graph::store::EdgeRef;
use smallvec::SmallVec;

use crate::trace::Node;

/// What makes a partial match nearer: query edges bound, then when its oldest and its newest edge came, on the window's clock.
pub type Rank = (usize, i64, i64);

/// Partial matches of one step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepCount {
    /// The step.
    pub node: Node,
    /// Query edges that they bind.
    pub edges: Vec<u8>,
    /// How many are stored.
    pub live: u64,
}

/// A stored partial match; they compare by rank.
#[derive(Clone, Debug)]
pub struct PartialMatch {
    /// How near it is.
    pub rank: Rank,
    /// The step that stores it.
    pub node: Node,
    /// Query edges with their data edges.
    pub bound: SmallVec<[(u8, EdgeRef); 4]>,
}

impl PartialEq for PartialMatch {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl Eq for PartialMatch {}

impl PartialOrd for PartialMatch {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PartialMatch {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.cmp(&other.rank)
    }
}

/// Gathers the nearest partial matches of an engine within a budget.
#[derive(Debug)]
pub struct Nearest {
    most: usize,
    budget: u64,
    alive_from: i64,
    steps: Vec<StepCount>,
    gathered: BinaryHeap<Reverse<PartialMatch>>,
    stores: bool,
    is_truncated: bool,
}

impl Nearest {
    /// Gathers at most `most` partial matches of edges that came at `alive_from` or later, and looks at `budget` rows at most.
    pub fn new(most: usize, budget: u64, alive_from: i64) -> Self {
        Self { most, budget, alive_from, steps: Vec::new(), gathered: BinaryHeap::new(), stores: false, is_truncated: false }
    }

    /// Takes the count of a step.
    pub fn count(&mut self, node: Node, edges: Vec<u8>, live: usize) {
        self.stores = true;
        self.steps.push(StepCount { node, edges, live: live as u64 });
    }

    /// Whether so many rows may still be looked at.
    pub fn affords(&self, rows: usize) -> bool {
        rows as u64 <= self.budget
    }

    /// Counts a row that is looked at; if none may be any more, the result is truncated.
    pub fn look(&mut self) -> bool {
        self.charge(1)
    }

    /// Counts so many rows at once.
    pub fn charge(&mut self, rows: usize) -> bool {
        match self.budget.checked_sub(rows as u64) {
            Some(left) if !self.is_truncated => {
                self.budget = left;
                true
            }
            _ => {
                self.is_truncated = true;
                false
            }
        }
    }

    /// Whether an edge that came then is in the window.
    pub fn is_alive(&self, at: i64) -> bool {
        at >= self.alive_from
    }

    /// Whether partial matches of `edges` edges, the oldest of which came before `until`, are farther than all gathered ones.
    pub fn excludes(&self, edges: usize, until: i64) -> bool {
        self.gathered.len() >= self.most
            && self.gathered.peek().is_none_or(|Reverse(last)| (last.rank.0, last.rank.1) >= (edges, until))
    }

    /// Takes a partial match in the window, if it is among the nearest.
    pub fn offer(&mut self, rank: Rank, node: Node, bound: impl Iterator<Item = (u8, EdgeRef)>) {
        if self.gathered.len() >= self.most {
            if self.gathered.peek().is_none_or(|Reverse(last)| last.rank >= rank) {
                return;
            }
            self.gathered.pop();
        }
        self.gathered.push(Reverse(PartialMatch { rank, node, bound: bound.collect() }));
    }

    /// Whether the engine stores partial matches at all.
    pub fn stores(&self) -> bool {
        self.stores
    }

    /// Whether the budget ended the walk before it was done.
    pub fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// The counts by step and the partial matches, nearest first.
    pub fn into_parts(self) -> (Vec<StepCount>, Vec<PartialMatch>) {
        let sorted = self.gathered.into_sorted_vec();
        (self.steps, sorted.into_iter().map(|Reverse(partial)| partial).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Node = Node::Leaf { level: 0 };

    fn ranks(nearest: Nearest) -> Vec<Rank> {
        nearest.into_parts().1.into_iter().map(|partial| partial.rank).collect()
    }

    #[test]
    fn those_with_most_edges_come_first_then_the_youngest() {
        let mut nearest = Nearest::new(3, 100, 0);
        for rank in [(1, 9, 9), (2, 1, 2), (2, 4, 4), (1, 8, 9), (2, 4, 5)] {
            nearest.offer(rank, STEP, std::iter::empty());
        }
        assert!(nearest.excludes(1, 10) && nearest.excludes(2, 1) && !nearest.excludes(2, 2));
        assert_eq!(ranks(nearest), [(2, 4, 5), (2, 4, 4), (2, 1, 2)]);
    }

    #[test]
    fn nothing_is_excluded_before_enough_is_gathered() {
        let mut nearest = Nearest::new(2, 100, 0);
        nearest.offer((5, 5, 5), STEP, std::iter::empty());
        assert!(!nearest.excludes(0, i64::MIN));
        assert!(Nearest::new(0, 1, 0).excludes(9, 9));
    }

    #[test]
    fn a_spent_budget_is_reported() {
        let mut nearest = Nearest::new(2, 2, 0);
        assert!(nearest.affords(2) && !nearest.affords(3));
        assert!(nearest.look() && nearest.look() && !nearest.is_truncated());
        assert!(!nearest.look() && nearest.is_truncated());
    }
}
