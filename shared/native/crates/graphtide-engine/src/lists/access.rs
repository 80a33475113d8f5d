//! What lists are keyed by.

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
pub(super) type Place = u32;
