//! Requests to a matcher, and its reports on a pass.

use graphtide_engine::meter::Ended;
use graphtide_engine::output::MatchBatch;

use super::unit::LimitReached;

/// Counts over the whole pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Records taken.
    pub records: u64,
    /// Records whose labels some query edge has.
    pub relevant: u64,
    /// Matches reported.
    pub matches: u64,
    /// Deletions of an edge that was held.
    pub deletions: u64,
    /// Records refused, since their time is before the time that the stream had come to.
    pub unordered: u64,
    /// Most partial matches alive at once, over all patterns.
    pub peak_partial_matches: u64,
    /// Most bytes of state alive at the end of a chunk.
    pub peak_state_bytes: u64,
}

/// What came of a batch.
#[derive(Debug, Default)]
pub struct Progress {
    /// Matches found.
    pub matches: MatchBatch,
    /// Records taken; fewer than the batch holds if the bound on matches was reached or a limit stopped the run.
    pub consumed: usize,
    /// The limit that stopped the run.
    pub stopped: Option<LimitReached>,
    /// Why the meter ended the run, if it did.
    pub ended: Option<Ended>,
    /// Steps taken.
    pub work: u64,
}

/// What a matcher is to be ready for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The stream may retract edges: matches of the window are remembered, to be retracted.
    pub deletions: bool,
    /// Plans may change while the stream runs: every edge that some query edge could be is kept, to be replayed.
    pub adaptive: bool,
    /// Patterns are traced, each with so many near misses; plans must then not change.
    pub traced: Option<usize>,
    /// Steps of work a record that all patterns share.
    pub work: Option<u64>,
}
