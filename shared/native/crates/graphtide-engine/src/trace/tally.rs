//! Counts of what a step looked at, and the reasons for which it refuses.

/// Why a candidate was refused: the first of these that held, in the order in which the step asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The labels of the edge or of its ends are not those asked for.
    Label,
    /// An end is not the vertex asked for.
    VertexId,
    /// The edges do not meet where they should, or an edge is a loop and should not be, or the other way round. Under dual
    /// simulation, an end lacks edges that the pattern asks for there.
    Ends,
    /// A predicate is not true.
    Predicate,
    /// The timing order forbids it.
    Order,
    /// An edge has left the window.
    Window,
    /// Two query vertices would be one data vertex, or two query edges one data edge. Under dual simulation, an end has edges
    /// for all query edges there, yet not different ones.
    Distinct,
    /// An edge was deleted.
    Deleted,
    /// A query edge beside it has no candidate.
    Partner,
    /// Counts rule out that what is around it is whole.
    Incomplete,
    /// No pair of it is left in the fixpoint.
    Unmatched,
    /// A limit kept the partial match from being stored, or ended the search.
    Limit,
}

/// How many reasons there are.
pub const REASONS: usize = 12;

impl Reason {
    /// Every reason with its name in reports.
    pub const ALL: [(Self, &'static str); REASONS] = [
        (Self::Label, "label"),
        (Self::VertexId, "vertex_id"),
        (Self::Ends, "ends"),
        (Self::Predicate, "predicate"),
        (Self::Order, "order"),
        (Self::Window, "window"),
        (Self::Distinct, "distinct"),
        (Self::Deleted, "deleted"),
        (Self::Partner, "partner"),
        (Self::Incomplete, "incomplete"),
        (Self::Unmatched, "unmatched"),
        (Self::Limit, "limit"),
    ];

    /// Its name in reports.
    pub fn as_str(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// Candidates refused, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused([u64; REASONS]);

impl Refused {
    /// Counts one.
    #[inline]
    pub fn add(&mut self, reason: Reason) {
        self.0[reason as usize] += 1;
    }

    /// Counts as many, for each of some reasons.
    pub fn of(counts: &[(Reason, u64)]) -> Self {
        let mut refused = Self::default();
        for &(reason, count) in counts {
            refused.0[reason as usize] += count;
        }
        refused
    }

    /// Their number.
    pub fn sum(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Counts one, unless what was refused had left the window: how long such a thing is still met depends on when the matcher
    /// cleans up.
    #[inline]
    pub fn add_alive(&mut self, reason: Reason) {
        if reason != Reason::Window {
            self.add(reason);
        }
    }

    /// The counts above zero, by name.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = Reason::ALL.iter().map(|&(reason, name)| (name, self.0[reason as usize]));
        counts.filter(|&(_, count)| count > 0)
    }
}

/// What one step did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Candidates looked at.
    pub looked_at: u64,
    /// Those refused.
    pub refused: Refused,
    /// Those that continued.
    pub passed: u64,
}

impl Tally {
    /// Of so many that were looked at, those that were not refused continued.
    pub fn of(looked_at: u64, refused: &[(Reason, u64)]) -> Self {
        let refused = Refused::of(refused);
        Self { looked_at, refused, passed: looked_at - refused.sum() }
    }
}
