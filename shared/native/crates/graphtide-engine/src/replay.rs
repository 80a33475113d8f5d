//! Taking the past: how far a pattern is whose engine is handed edges that came before.

/// How far consumption has come: the one thing an engine may know that does not follow from the edges of its window.
///
/// It counts arrivals, so a replay has to hand over all of a tick that were handed over before, those deleted since included.
/// Or it says where it leaves some out ([`Engine::count_from`](crate::engine::Engine::count_from)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConsumptionCursor {
    /// The `at` of the last edge that is consumed.
    pub at: i64,
    /// How many arrivals of this `at` there were, up to that edge.
    pub ties: u32,
}

impl ConsumptionCursor {
    /// That of a query which has consumed nothing.
    pub const NOTHING: Self = Self { at: i64::MIN, ties: 0 };
}

/// How far a pattern is whose engine is given the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// Its matches do not count yet; what it had consumed, if it consumes and did before, is to hold where they begin to.
    Not(Option<ConsumptionCursor>),
    /// Its matches count from now on.
    Now,
    /// Its matches counted before, and consumption had come so far, if it consumes.
    Before(ConsumptionCursor),
}
