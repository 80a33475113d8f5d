//! The matcher: many patterns of all families in one pass over an ordered stream.
//!
//! [`Matcher`](matcher::Matcher) takes batches of records in stream order and gives batches of matches. It owns what patterns
//! share: the dispatch from labels to query edges, the vertices, the window's edges, the lists. Each pattern has one engine of
//! its family, which owns its partial matches.

pub mod matcher;
pub mod plan;
