//! Plans of the family as the planner hands them over, by position, each with the reasons why it cannot be a pattern's plan.
//!
//! A plan without a flaw can be run, so that engines need no checks of their own.

use graphtide_engine::pattern::Pattern;
use serde::Deserialize;

/// Expansion lists over a TC decomposition.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimingPlan {
    /// Timing sequences in join order.
    pub subqueries: Vec<Vec<u8>>,
    /// How partial matches are stored.
    pub storage: Storage,
    /// Worker threads; one means none beside the caller's.
    #[serde(default = "one")]
    pub threads: usize,
    /// Which lock protocol several threads follow.
    #[serde(default)]
    pub locking: Locking,
}

fn one() -> usize {
    1
}

/// How the timing engine stores partial matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// A row of its own for every partial match.
    Independent,
    /// Match-store trees (paper 004, section 4).
    MsTree,
    /// Match-store DAG (paper 004, section 7).
    MsDag,
}

/// How concurrent transactions take their locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Locking {
    /// One item at a time, in chronological order of the wait-lists (paper 004, section 5.2).
    #[default]
    Fine,
    /// Every item a transaction may touch before it starts (the paper's comparison, section 8.2).
    All,
}

/// Joins along a left-deep tree over primitives of one or two edges.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreePlan {
    /// Primitives in join order.
    pub leaves: Vec<Vec<u8>>,
    /// Whether a primitive beyond the first is looked for only where what it joins was found.
    pub lazy: bool,
}

/// Searches around new edges.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchPlan {
    /// For every query edge, the order in which a search from it binds the others; where the engine looks ahead, where nothing
    /// better is known.
    pub orders: Vec<Vec<u8>>,
}

impl TimingPlan {
    /// Why it does not fit a pattern; none if it does.
    pub fn flaw(&self, pattern: &Pattern<'_>) -> Option<&'static str> {
        if self.threads == 0 {
            return Some("at least one thread is needed");
        }
        if !is_partition(pattern, &self.subqueries) {
            return Some("the subqueries must hold every edge exactly once");
        }
        for sequence in &self.subqueries {
            if sequence.windows(2).any(|pair| !pattern.order.contains(&(pair[0], pair[1]))) {
                return Some("a timing sequence is not in the pattern's order");
            }
            if !is_connected_prefix_by_prefix(pattern, sequence) {
                return Some("a timing sequence is not prefix-connected");
            }
        }
        join_order_flaw(pattern, &self.subqueries)
    }
}

impl TreePlan {
    /// Why it does not fit a pattern; none if it does.
    pub fn flaw(&self, pattern: &Pattern<'_>) -> Option<&'static str> {
        if !is_partition(pattern, &self.leaves) {
            return Some("the leaves must hold every edge exactly once");
        }
        if self.leaves.iter().any(|leaf| leaf.len() > 2) {
            return Some("a leaf may have one or two edges");
        }
        if !self.leaves.iter().all(|leaf| is_connected_prefix_by_prefix(pattern, leaf)) {
            return Some("the edges of a leaf share no vertex");
        }
        join_order_flaw(pattern, &self.leaves)
    }
}

impl SearchPlan {
    /// Why it does not fit a pattern; none if it does.
    pub fn flaw(&self, pattern: &Pattern<'_>) -> Option<&'static str> {
        if self.orders.len() != pattern.edges.len() {
            return Some("a search order is needed for every edge");
        }
        for (start, order) in self.orders.iter().enumerate() {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            if !sorted.iter().copied().eq(0..pattern.edges.len() as u8) || usize::from(order[0]) != start {
                return Some("a search order must start at its edge and hold every edge exactly once");
            }
            if !is_connected_prefix_by_prefix(pattern, order) {
                return Some("a search order is not prefix-connected");
            }
        }
        None
    }
}

fn join_order_flaw(pattern: &Pattern<'_>, parts: &[Vec<u8>]) -> Option<&'static str> {
    let mut seen = pattern.vertices_of(&parts[0]);
    for part in &parts[1..] {
        let ends = pattern.vertices_of(part);
        if seen & ends == 0 {
            return Some("the join order is not prefix-connected");
        }
        seen |= ends;
    }
    None
}

/// Whether the parts, none of them empty, hold every edge exactly once.
fn is_partition(pattern: &Pattern<'_>, parts: &[Vec<u8>]) -> bool {
    let mut sorted: Vec<u8> = parts.concat();
    sorted.sort_unstable();
    sorted.iter().copied().eq(0..pattern.edges.len() as u8) && !parts.iter().any(Vec::is_empty)
}

fn is_connected_prefix_by_prefix(pattern: &Pattern<'_>, edges: &[u8]) -> bool {
    (1..edges.len()).all(|end| pattern.vertices_of(&edges[..end]) & pattern.vertices_of(&edges[end..=end]) != 0)
}
