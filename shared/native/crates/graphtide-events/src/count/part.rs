//! What the parts of an instance are counted by, and how one of their instances is found again.

use graphtide_engine::output::MatchCount;
use graphtide_graph::Time;
use graphtide_graph::store::EdgeRef;

/// What an instance must have to count; with one of these it is only found out whether there is any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Must {
    /// No more than what all have.
    Nothing,
    /// An event.
    Have(EdgeRef),
    /// A first event before a time, and of deleted events only those that it takes back from that time on; with the lookback.
    Begin(Time, Time),
}

/// An event that may fill slots of a part, by their places there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) ts: Time,
    pub(super) event: EdgeRef,
    pub(super) places: u64,
}

/// How many instances of a part there are, and one of them by places in the part.
#[derive(Debug)]
pub(super) struct PartCount {
    pub(super) count: MatchCount,
    pub(super) witness: Vec<(usize, EdgeRef)>,
}

/// How an instance of a part came about: its last event, and how the rest did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) place: usize,
    pub(super) event: EdgeRef,
    pub(super) before: u32,
}

/// No step.
pub(super) const START: u32 = u32::MAX;

/// The events of an instance by its last step.
pub(super) fn walk(steps: &[Step], mut last: u32) -> Vec<(usize, EdgeRef)> {
    let mut found = Vec::new();
    while let Some(step) = steps.get(last as usize) {
        found.push((step.place, step.event));
        last = step.before;
    }
    found
}
