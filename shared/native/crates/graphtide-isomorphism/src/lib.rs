//! The isomorphism family: a pattern is found as a subgraph, a data edge for each query edge, in a window of a stream of edges.
//!
//! Each engine runs one pattern, and all of them report the same matches, each when its last edge arrives. They differ in what
//! they keep. Some keep partial matches in lists ([`timing`], by several threads [`concurrent`]) or in the tables of a tree
//! ([`sj_tree`]). Others keep none but the lists that patterns share ([`search`], [`filtering`]).

mod arena;
pub mod concurrent;
pub mod filtering;
mod nearest;
pub mod plan;
pub mod prefix_tree;
pub mod search;
pub mod shape;
pub mod sj_tree;
mod step;
pub mod timing;
