//! An event pattern of a plan: its branches, what is reported of it, and since when.

use graphtide_graph::Time;
use graphtide_graph::store::EdgeRef;

use crate::plan::Report;
use crate::returns::Returns;

/// A pattern as it is reported.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) branches: Vec<u32>,
    pub(crate) report: Report,
    /// Ticks that an event is of use for.
    pub(crate) lookback: Time,
    /// Vertices of the beginnings of its branches with the branch, the longest first; empty if the pattern reports no timeouts.
    pub(crate) beginnings: Vec<(u32, u32)>,
    /// Only matches count whose last event came after this one, of that time.
    pub(crate) since: Option<(Time, EdgeRef)>,
    /// For patterns that emit matches of the same events once: the slots of each branch in the order of the text.
    pub(crate) distinct: Vec<Vec<u8>>,
    /// What it returns of its matches.
    pub(crate) returns: Option<Returns>,
}

impl Pattern {
    /// Whether a match counts, by its last event.
    pub(crate) fn counts(&self, last: EdgeRef) -> bool {
        self.since.is_none_or(|(_, since)| since.is_before(last))
    }
}
