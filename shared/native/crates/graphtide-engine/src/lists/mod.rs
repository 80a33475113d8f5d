//! Lists of the window's edges that patterns share, and gates that read them before a pattern is touched.

mod gate;
mod jumps;
mod postings;

pub use gate::Gate;
pub use postings::{Aside, Entry, Postings};

/// What a list is keyed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Edges out of a vertex.
    Source = 0,
    /// Edges into a vertex.
    Target = 1,
    /// Edges from one vertex to another.
    Both = 2,
}

/// Every access.
pub const ACCESSES: [Access; 3] = [Access::Source, Access::Target, Access::Both];

/// A place in the lists: the low half of an entry's sequence number.
type Place = u32;
