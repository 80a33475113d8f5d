//! The matching engines: many patterns in one pass over an ordered stream.
//!
//! [`Matcher`](matcher::Matcher) takes batches of records in stream order and gives batches of matches. It owns what patterns
//! share: the dispatch from labels to query edges, the vertices, the window's edges, the postings. Each pattern has one engine,
//! which owns its partial matches.

pub mod concurrent;
pub mod filtering;
pub mod inquiry;
pub mod matcher;
pub mod plan;
pub mod search;
pub mod shape;
pub mod simulated;
pub mod sj_tree;
pub mod timing;
