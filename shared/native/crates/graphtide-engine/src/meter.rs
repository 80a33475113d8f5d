//! Work, counted in steps, and who may do how much of it.
//!
//! A step is one candidate looked at: an entry of a list, a stored partial match, a joined row; some tens of nanoseconds.
//! Engines count theirs on a [`Meter`], which is handed to them as the tracer is. It says whether to continue. An engine that
//! must not unwinds at once. Each loop on the way out asks again before its next candidate and gets the same answer, so
//! searches need no return values for it. What was stored until then stays, and all of it is true. Where work cannot be left
//! half done, expiry for one, it is counted by [`Meter::tick`], which pauses but refuses nothing.
//! Invariant: between two looks at the [`Pace`] lie at most [`SLICE`] steps, and an insertion gets exactly the steps that it
//! was allowed. Neither changes what is found by insertions that are not refused. What is found meanwhile may be handed on in
//! parts: see [`Pace::most`].
//! Cost: a subtraction and a branch a step; one look at the pace for every slice.

use crate::output::MatchBatch;

/// Steps between two looks at the pace.
pub const SLICE: u64 = 1024;

/// Steps that a match takes to be handed over.
pub const MATCH: u32 = 32;

/// When to pause, and whether to continue at all; asked once a slice.
pub trait Pace {
    /// Takes as long as it likes; says whether the work is to continue.
    fn rest(&self) -> bool;

    /// Matches from which on they are handed on while the work continues; by default all wait for its end.
    fn most(&self) -> usize {
        usize::MAX
    }

    /// Takes matches, in order of detection, and as long as it likes.
    fn hand_on(&self, matches: MatchBatch) {
        debug_assert!(matches.is_empty(), "nobody takes matches before the work is done");
    }
}

/// Work that nobody pauses or stops.
#[derive(Clone, Copy, Debug)]
pub struct Unhurried;

impl Pace for Unhurried {
    fn rest(&self) -> bool {
        true
    }
}

/// Why work ended before it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Someone stopped it.
    Stopped,
    /// What it was to cost at most is spent.
    Spent,
}

/// Why an insertion may not continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its own work budget is spent.
    WorkBudget,
    /// What it found takes more bytes than its pattern may hold.
    Bytes,
    /// All work ends.
    Ended(Ended),
}

/// Counts steps.
pub struct Meter<'p> {
    /// Steps until the next look; negative once that is due.
    left: i64,
    /// What `left` was when it was filled last.
    lent: i64,
    /// Steps taken before it was filled last.
    before: u64,
    /// Steps at which the insertion under way is refused.
    until: u64,
    /// Steps at which everything is.
    budget: u64,
    /// Bytes that were lent, and what is left of them.
    bytes: (i64, i64),
    refusal: Option<Refusal>,
    pace: &'p dyn Pace,
    most: usize,
}

impl std::fmt::Debug for Meter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meter").field("taken", &self.taken()).field("refusal", &self.refusal).finish_non_exhaustive()
    }
}

impl<'p> Meter<'p> {
    /// Starts at zero, for work of at most `budget` steps.
    pub fn new(pace: &'p dyn Pace, budget: u64) -> Self {
        let bytes = (i64::MAX, i64::MAX);
        let mut meter =
            Self { left: 0, lent: 0, before: 0, until: u64::MAX, budget, bytes, refusal: None, pace, most: pace.most() };
        meter.fill(0);
        meter
    }

    /// Starts at zero, for work without a bound.
    pub fn unbounded(pace: &'p dyn Pace) -> Self {
        Self::new(pace, u64::MAX)
    }

    /// Counts a step; says whether to take it.
    #[inline]
    pub fn step(&mut self) -> bool {
        self.charge(1)
    }

    /// Counts steps; says whether to take them.
    #[inline]
    pub fn charge(&mut self, steps: u32) -> bool {
        self.left -= i64::from(steps);
        self.left >= 0 || self.look()
    }

    /// Counts steps that are taken in any case.
    #[inline]
    pub fn tick(&mut self, steps: u32) {
        self.left -= i64::from(steps);
        if self.left < 0 {
            self.pause();
        }
    }

    /// Steps counted.
    #[inline]
    pub fn taken(&self) -> u64 {
        self.before + self.lent.wrapping_sub(self.left).cast_unsigned()
    }

    /// Steps that the insertion under way may still take.
    pub fn remaining(&self) -> u64 {
        self.until.saturating_sub(self.taken())
    }

    /// Begins an insertion that may take so many steps.
    #[inline]
    pub fn begin(&mut self, work_budget: u64) {
        let taken = self.taken();
        self.until = taken.saturating_add(work_budget);
        if work_budget < self.left.max(0).cast_unsigned() {
            self.fill(taken);
        }
    }

    /// Whether the current insertion must not continue.
    #[inline]
    pub fn is_refused(&self) -> bool {
        self.left < 0
    }

    /// Ends an insertion; says whether it was refused, and why.
    #[inline]
    pub fn end(&mut self) -> Option<Refusal> {
        self.until = u64::MAX;
        if self.left >= 0 {
            return None;
        }
        self.settle()
    }

    /// Lends bytes to what is stored from now on; until then there are enough.
    #[inline]
    pub fn lend_bytes(&mut self, bytes: u64) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.bytes = (bytes, bytes);
    }

    /// Takes back what was lent; returns how many bytes were held of it.
    #[inline]
    pub fn take_bytes(&mut self) -> u64 {
        let (given, left) = std::mem::replace(&mut self.bytes, (i64::MAX, i64::MAX));
        u64::try_from(given - left).unwrap_or(0)
    }

    /// Counts bytes that the insertion under way would hold; past those lent it is refused. Says whether it is not.
    #[inline]
    pub fn hold(&mut self, bytes: usize) -> bool {
        self.bytes.1 -= (bytes as u64).cast_signed();
        self.bytes.1 >= 0 || self.refuse_bytes()
    }

    /// Counts bytes that it does not hold any more.
    #[inline]
    pub fn release(&mut self, bytes: usize) {
        self.bytes.1 += (bytes as u64).cast_signed();
    }

    /// Counts a result that takes so many bytes; says whether to keep it. One that was found is kept though no more may be
    /// sought, unless its bytes are too many or all work ends.
    #[inline]
    pub fn keep(&mut self, bytes: usize) -> bool {
        self.left -= 1;
        self.bytes.1 -= (bytes as u64).cast_signed();
        // Neither is below zero.
        (self.left | self.bytes.1) >= 0 || self.look_at_kept()
    }

    #[cold]
    fn look_at_kept(&mut self) -> bool {
        self.tick(0);
        (self.bytes.1 >= 0 || self.refuse_bytes()) && self.ended().is_none()
    }

    #[cold]
    fn refuse_bytes(&mut self) -> bool {
        self.refuse(Refusal::Bytes);
        false
    }

    /// Why all work ends, if it does.
    #[inline]
    pub fn ended(&self) -> Option<Ended> {
        match self.refusal {
            Some(Refusal::Ended(ended)) => Some(ended),
            Some(Refusal::WorkBudget | Refusal::Bytes) | None => None,
        }
    }

    /// Looks at the pace now; says whether to continue.
    pub fn rest(&mut self) -> bool {
        self.pause();
        self.ended().is_none()
    }

    /// Lets the insertion under way not continue.
    #[cold]
    pub fn refuse(&mut self, refusal: Refusal) {
        if self.refusal.is_none() {
            self.refusal = Some(refusal);
            (self.before, self.lent, self.left) = (self.taken(), -1, -1);
        }
    }

    /// Matches from which on they are handed on.
    #[inline]
    pub fn most(&self) -> usize {
        self.most
    }

    /// Lets matches wait for the end of the work; returns what [`hand_on_from`](Self::hand_on_from) takes.
    pub fn hold_matches(&mut self) -> usize {
        std::mem::replace(&mut self.most, usize::MAX)
    }

    /// Hands matches on from so many on, again.
    pub fn hand_on_from(&mut self, most: usize) {
        self.most = most;
    }

    /// Hands matches on now; a batch without any stays.
    #[cold]
    pub fn hand_on(&mut self, matches: &mut MatchBatch) {
        if !matches.is_empty() {
            self.pace.hand_on(std::mem::take(matches));
        }
    }

    #[cold]
    fn settle(&mut self) -> Option<Refusal> {
        let refusal = self.refusal;
        if matches!(refusal, Some(Refusal::WorkBudget | Refusal::Bytes)) {
            self.refusal = None;
            self.fill(self.taken());
        }
        refusal
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self) -> bool {
        if self.refusal.is_some() {
            return false;
        }
        let taken = self.taken();
        self.refusal = if taken > self.budget {
            Some(Refusal::Ended(Ended::Spent))
        } else if !self.pace.rest() {
            Some(Refusal::Ended(Ended::Stopped))
        } else if taken > self.until {
            Some(Refusal::WorkBudget)
        } else {
            None
        };
        if self.refusal.is_some() {
            return false;
        }
        self.fill(taken);
        true
    }

    #[cold]
    #[inline(never)]
    fn pause(&mut self) {
        let taken = self.taken();
        if self.ended().is_none() {
            let ended = if taken > self.budget { Some(Ended::Spent) } else { (!self.pace.rest()).then_some(Ended::Stopped) };
            self.refusal = ended.map(Refusal::Ended).or(self.refusal);
        }
        if self.refusal.is_none() {
            self.fill(taken);
        }
    }

    fn fill(&mut self, taken: u64) {
        let most = (self.until.min(self.budget)).saturating_sub(taken).min(SLICE);
        self.before = taken;
        self.lent = most.cast_signed();
        self.left = self.lent;
    }
}
