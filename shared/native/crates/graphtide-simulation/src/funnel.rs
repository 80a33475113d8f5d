//! Counts of what an engine did, from edges taken down to pairs removed.

/// The counts, since the engine was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Funnel {
    /// Edges taken.
    pub taken: u64,
    /// Edges whose ends had, on arrival, all the edges that the query asks for there.
    pub red: u64,
    /// Comparisons of the window's signature with the query's.
    pub signature_checks: u64,
    /// Comparisons that found a signature match.
    pub signature_passed: u64,
    /// Signature matches although the edge had no match: false positives.
    pub signature_false: u64,
    /// Edges for which the counts allowed a match.
    pub verifications_due: u64,
    /// Fixpoints computed.
    pub verifications_run: u64,
    /// Edges whose neighbourhood was enough to rule out a match.
    pub refuted_nearby: u64,
    /// Pairs removed because an end has no edge left for a query edge.
    pub removed_by_ends: u64,
    /// Pairs removed because an end has edges for each query edge, yet not different ones.
    pub removed_by_distinctness: u64,
    /// Pairs removed because their component has no times that keep the order with them.
    pub removed_by_timing: u64,
    /// Components reported.
    pub reported: u64,
    /// Steps of work.
    pub steps: u64,
    /// Of these, steps of verifications.
    pub verifying_steps: u64,
    /// Nanoseconds of verifications, where a probe tells the time.
    pub verifying_nanoseconds: u64,
}
