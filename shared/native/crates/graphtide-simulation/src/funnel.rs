//! Counts of what an engine did, from edges taken down to pairs removed.

/// The counts, since the engine was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Funnel {
    /// Edges taken.
    pub taken: u64,
    /// Edges that were red on arrival: both ends have all that the query asks of them, for a query edge they fit.
    pub red: u64,
    /// Times that the signature of the window was compared.
    pub signature_checks: u64,
    /// Times that it let through.
    pub signature_passed: u64,
    /// Times that it let through what held no match of the edge.
    pub signature_false: u64,
    /// Times that all was there for a match of the edge, as far as counts show.
    pub verifications_due: u64,
    /// Times that a fixpoint was computed.
    pub verifications_run: u64,
    /// Times that the neighbourhood of the edge was enough to see that it has no match.
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
}
