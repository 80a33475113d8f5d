//! A unit of a matcher, of any family.

use graphtide_engine::ids::UnitId;

/// Who matches a pattern, and has an account of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitRef {
    /// A unit with an engine of subgraphs.
    Subgraph(UnitId),
    /// A unit of event patterns.
    Events(u32),
    /// A unit of graph queries.
    Graph(u32),
}

impl UnitRef {
    /// Its place among the units of all families.
    #[inline]
    pub fn place(self) -> usize {
        match self {
            Self::Subgraph(unit) => 3 * unit.place(),
            Self::Events(unit) => 3 * unit as usize + 1,
            Self::Graph(unit) => 3 * unit as usize + 2,
        }
    }

    /// Its number, if it has an engine of subgraphs.
    pub fn subgraph(self) -> Option<UnitId> {
        match self {
            Self::Subgraph(unit) => Some(unit),
            Self::Events(_) | Self::Graph(_) => None,
        }
    }

    /// Its number, if it is of event patterns.
    pub fn events(self) -> Option<u32> {
        match self {
            Self::Events(unit) => Some(unit),
            Self::Subgraph(_) | Self::Graph(_) => None,
        }
    }

    /// Its number, if it is of graph queries.
    pub fn graph(self) -> Option<u32> {
        match self {
            Self::Graph(unit) => Some(unit),
            Self::Subgraph(_) | Self::Events(_) => None,
        }
    }
}
