//! What runs in a pass: a unit matches some patterns, by an engine of subgraphs, a detector of events or operators of graph
//! queries.
//!
//! A unit takes the records that it asks for, between two of them what time brings, and before the first its past. What it
//! knows follows from the records of its window, in their order, so it is rebuilt by a replay. Units of each kind are called
//! under their own type: a record costs what it would without the trait.

use graphtide_engine::engine::Usage;
use graphtide_engine::ids::PatternId;
use graphtide_engine::limits::{LimitPolicy, Limits};
use graphtide_engine::meter::Meter;
use graphtide_engine::output::ItemReport;
use graphtide_graph::Time;
use graphtide_graph::clock::Now;

/// A unit.
pub trait Unit {
    /// A record as it comes to the unit, with what the unit reads beside it.
    type Record<'a>;
    /// A deletion as it comes to the unit.
    type Deletion<'a>;
    /// What it replays, with what it reads beside.
    type Past<'a>;
    /// Where it puts what it finds; none where that is its own.
    type Found;

    /// Its patterns, in their order.
    fn members(&self) -> impl Iterator<Item = PatternId>;

    /// Its limits, and what came of them.
    fn guard(&self) -> &Guard;

    /// Takes a record; says whether it holds it.
    fn insert(
        &mut self,
        record: Self::Record<'_>,
        found: &mut Self::Found,
        meter: &mut Meter<'_>,
    ) -> Result<bool, LimitReached>;

    /// Takes a deletion.
    fn delete(
        &mut self,
        deletion: Self::Deletion<'_>,
        found: &mut Self::Found,
        meter: &mut Meter<'_>,
    ) -> Result<Removal, LimitReached>;

    /// Lets time pass: drops what left its window, and finds what follows from that.
    fn advance(&mut self, now: Now, found: &mut Self::Found, meter: &mut Meter<'_>);

    /// Takes records of the past without output; returns whether it then has all of their state.
    fn replay(&mut self, past: Self::Past<'_>, meter: &mut Meter<'_>) -> Warm;

    /// When it has something to report though no record comes for it, on the clock of its window.
    fn next_due(&self) -> Option<i64> {
        None
    }

    /// What it holds and held.
    fn usage(&self) -> Usage;

    /// What one of its patterns holds and held, together with others; of the bytes that are shared it has its part.
    fn usage_of(&self, pattern: PatternId) -> Usage;

    /// What one of its patterns holds, as far as that is known without counting bytes.
    fn live_of(&self, pattern: PatternId) -> usize {
        self.usage_of(pattern).live
    }

    /// What each item of a pattern's plan holds and held.
    fn items_of(&self, pattern: PatternId) -> Vec<ItemReport>;

    /// What it counted for a pattern that came when it had counted so much; of work that patterns share each has a part.
    fn counts_since(&self, before: Counts) -> Counts;
}

/// The limits of a unit, and what came of them.
#[derive(Clone, Debug)]
pub struct Guard {
    /// Bounds.
    pub limits: Limits,
    /// Counts.
    pub counts: Counts,
    /// Whether a limit stopped it.
    pub paused: bool,
    /// The limit that was reached last; none if none was.
    pub limit: Option<String>,
    /// Time of the record it took last.
    pub taken: Time,
    /// Time of the record at which a limit was reached last.
    pub limited_at: Option<Time>,
    /// Whether a limit made it give up something, so that matches may be missing.
    pub shed: bool,
}

impl Guard {
    /// Of a new unit.
    pub fn new(limits: Limits) -> Self {
        Self { limits, counts: Counts::default(), paused: false, limit: None, taken: Time::MIN, limited_at: None, shed: false }
    }

    /// Does as the policy says, now that a limit was reached; says whether the unit is to drop its state. Under the policy to
    /// fail, `first` is the pattern that is named.
    #[cold]
    pub fn at_limit(&mut self, limit: &str, first: Option<PatternId>) -> Result<bool, LimitReached> {
        self.counts.limited += 1;
        self.limited_at = Some(self.taken);
        if self.limit.as_deref() != Some(limit) {
            self.limit = Some(limit.to_owned());
        }
        self.shed |= self.limits.policy != LimitPolicy::Fail;
        self.paused |= self.limits.policy == LimitPolicy::Pause;
        match self.limits.policy {
            LimitPolicy::Fail => Err(LimitReached { pattern: first.unwrap_or(PatternId(0)), limit: limit.to_owned() }),
            LimitPolicy::Pause => Ok(true),
            LimitPolicy::Shed => Ok(false),
        }
    }
}

/// What the deletion of a record came to in a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It did not hold it.
    NotHeld,
    /// What it found of that, and nothing else.
    Reported,
    /// Every match with the record ends: the owner of stored matches retracts them.
    EndsMatches,
}

/// How a replay came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warm {
    /// With all the state.
    Whole,
    /// The unit reached a limit, or was not let continue.
    Limited,
}

/// What a unit counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Edges that satisfied a query edge and were discarded at once: no match could hold them (Lemma 1).
    pub discarded: u64,
    /// Times that a partial match or a search was given up at a limit.
    pub limited: u64,
    /// Steps of work, if work is bounded.
    pub work: u64,
}

impl Counts {
    /// What was counted since others were; those may be of another unit, and then stand for less than nothing.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            discarded: self.discarded.wrapping_sub(before.discarded),
            limited: self.limited.wrapping_sub(before.limited),
            work: self.work.wrapping_sub(before.work),
        }
    }
}

/// A bound that was reached under the policy to fail.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pattern {} reached its limit of {limit}", pattern.0)]
pub struct LimitReached {
    /// The pattern; of a unit of several the first.
    pub pattern: PatternId,
    /// The bound.
    pub limit: String,
}
