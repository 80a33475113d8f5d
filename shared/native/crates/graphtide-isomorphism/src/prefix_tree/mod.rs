//! One search for the many query edges that an arriving edge could be: their search orders as a prefix tree.
//!
//! A *member* is a query edge of a pattern, from which a search starts. Members look up the other edges of their patterns in
//! some order. Look-ups in the same lists next to the same bound vertices are one *step* of the tree, whatever the patterns
//! ask beside. So a step reads its candidates once for all members below it. Which of them a candidate is good for is a set of
//! bits that the search carries along. A member stays in the set while the times of the bound edges are in its order and its
//! window, and its predicates hold. Every open edge at a newly bound vertex must have a list there, too. That is one comparison
//! of the vertex's mask ([`graphtide_engine::lists::Mask`]) with those of all members that need the same lists.
//! Invariant: below a step, the set holds all members for which the bound edges are the beginning of a match. A member whose
//! edges are all bound has a match. So the tree finds what its members would find one by one.
//! Cost: an edge that no member can use costs a comparison for each kind of need. Otherwise the cost is that of the nodes of
//! the search tree, each once for all members that share it.
//!
//! Reference: the discrimination networks of production systems (Forgy, Rete, 1982), where conditions that rules share are
//! tested once. They store what satisfied a prefix. We store nothing but the lists of the window's edges.

mod build;
mod search;
mod tree;

pub use build::is_shareable;
pub use tree::{PrefixTree, Sharing, Start};
