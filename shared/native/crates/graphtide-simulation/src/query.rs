//! What an engine of this family is asked to find, and how it is to go about it.

use graphtide_graph::Time;
use graphtide_graph::store::EdgeRef;
use graphtide_graph::vertex::Vertex;
use serde::Deserialize;

/// Most edges of a query: a set of them is one word.
pub const MOST_EDGES: usize = 64;

/// An edge of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryEdge {
    /// Query vertex it leaves.
    pub source: u8,
    /// Query vertex it enters.
    pub target: u8,
    /// Equal for query edges with the same labels, keys and predicates: a data edge that fits one fits all of its kind.
    pub kind: u32,
}

/// Which match components are reported, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// The component of each arriving edge, whole.
    Maximal,
    /// The same, but its earliest edge and all before it are consumed, so that an instance is reported once.
    Instances,
    /// What entered and what left the match graph with each record and each expiry.
    Changes,
}

/// A pattern graph with a timing order and a window.
#[derive(Clone, Debug)]
pub struct Query {
    /// Number of query vertices.
    pub vertices: usize,
    /// The query edges; at most [`MOST_EDGES`].
    pub edges: Vec<QueryEdge>,
    /// Strict partial order: the match of the first is earlier than that of the second.
    pub before: Vec<(u8, u8)>,
    /// An edge is alive while its `at` is at least that of now, less this.
    pub window: i64,
    /// The report policy.
    pub report: Report,
}

/// How matches are found. All variants report the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// A fixpoint over the whole window for each edge.
    Baseline,
    /// The same, but only when the product of the window's factors is divisible by that of the query's.
    Signature {
        /// The prime modulus of factors.
        p: u32,
        /// Where the random labels come from.
        seed: u64,
    },
    /// A fixpoint over the red component of the edge, and only when it can hold a match.
    Coloring,
}

/// How much may be held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Edges.
    pub edges: Option<u64>,
    /// Bytes.
    pub bytes: Option<u64>,
}

/// An edge that fits at least one query edge, on its way in.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Its name in the shared store.
    pub edge: EdgeRef,
    /// Event time, which the timing order is about. Never less than that of the arrival before.
    pub ts: Time,
    /// What the window counts: the event time, or the record's ordinal. Never less than that of the arrival before.
    pub at: i64,
    /// Source vertex.
    pub source: Vertex,
    /// Target vertex.
    pub target: Vertex,
    /// The set of query edges that it fits by itself.
    pub fits: u64,
}

/// What became of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is held, and no match of it was found; if the meter refused work, there may be one.
    Kept,
    /// It is part of a match component.
    Matched,
    /// It lies at or before the consumption cursor.
    Consumed,
    /// It was not taken, for one of the limits is reached.
    Limited(Limits),
}

/// Why a query cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// Nothing to look for.
    #[error("a query needs at least one edge")]
    NoEdges,
    /// More than fit in a word.
    #[error("a query has at most {MOST_EDGES} edges, not {0}")]
    TooManyEdges(usize),
    /// An end that is not a query vertex.
    #[error("query edge {0} ends at a vertex that the query does not have")]
    UnknownVertex(usize),
    /// An order of edges that are not there.
    #[error("the order names an edge that the query does not have")]
    UnknownEdge,
    /// An order that is not one.
    #[error("query edge {0} comes before itself")]
    CyclicOrder(usize),
    /// A modulus that gives no field, or in which a degree is zero.
    #[error("the modulus {p} is not a prime greater than {degree}, the greatest degree of the query")]
    Modulus {
        /// The modulus.
        p: u32,
        /// The greatest in- or out-degree of a query vertex.
        degree: usize,
    },
}
