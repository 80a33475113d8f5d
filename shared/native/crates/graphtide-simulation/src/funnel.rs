//! Counts of what an engine did, from edges taken down to components reported.
//!
//! Every search ends in one way, so that what continued is what was looked at less what was refused:
//!
//! * `searched` = not red + `early` + `incomplete()` + `verifications_due`, where the engine looks at colours or roles;
//! * `verifications_due` = `refuted_nearby` + `nearby_cut` + `verified()`;
//! * `verified()` = `matched` + `unmatched()` + `verified_cut`;
//! * `verifications_run` = `nearby` + `verified()` + `remainders`.

/// The counts, since the engine was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Funnel {
    /// Edges taken.
    pub taken: u64,
    /// Held edges that were deleted.
    pub deleted: u64,
    /// Held edges that were consumed.
    pub consumed: u64,
    /// Held edges that were forgotten with all others.
    pub forgotten: u64,
    /// Edges whose component was looked for: those that arrived, and those whose deletion retracts it.
    pub searched: u64,
    /// Edges whose ends had, on arrival, all the edges that the query asks for there.
    pub red: u64,
    /// Of these, edges that could match no query edge but such as others come after.
    pub early: u64,
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
    /// Fixpoints of a neighbourhood of the edge.
    pub nearby: u64,
    /// Edges whose neighbourhood was enough to rule out a match.
    pub refuted_nearby: u64,
    /// Fixpoints of a neighbourhood that a refusal of work ended.
    pub nearby_cut: u64,
    /// Fixpoints of all that an edge is connected with, or of the window, that a refusal of work ended.
    pub verified_cut: u64,
    /// Edges that were found to be in the match graph.
    pub matched: u64,
    /// Fixpoints of what is left of a component after edges left it.
    pub remainders: u64,
    /// Pairs that fixpoints began with.
    pub pairs: u64,
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
    /// Nanoseconds of verifications, if a probe has a clock.
    pub verifying_nanoseconds: u64,
}

impl Funnel {
    /// Edges for which counts, of the component or of the window, ruled out a match. The baseline does not look at them.
    pub fn incomplete(&self) -> u64 {
        self.red - self.early - self.verifications_due
    }

    /// Fixpoints of all that an edge is connected with, or of the window.
    pub fn verified(&self) -> u64 {
        self.verifications_run - self.nearby - self.remainders
    }

    /// Those that did not leave the edge in the match graph.
    pub fn unmatched(&self) -> u64 {
        self.verified() - self.matched - self.verified_cut
    }
}
