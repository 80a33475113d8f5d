//! The patterns of a matcher, by number.
//!
//! Invariant: a number is of one pattern from when it is added until it is removed; then another may have it.
//! Cost: O(1) to add or remove one.

use graphtide_engine::ids::PatternId;
use graphtide_graph::Time;

use super::changes::Changes;
use super::query::Query;
use super::unit::LimitReached;
use super::unit_ref::UnitRef;

/// Who is here.
#[derive(Debug, Default)]
pub struct Registry {
    /// By number.
    pub queries: Vec<Query>,
    /// What was said of each.
    pub changes: Changes,
    /// Numbers of patterns that were removed.
    vacant: Vec<PatternId>,
}

impl Registry {
    /// A pattern; vacant if it was removed.
    pub fn get(&self, number: PatternId) -> Option<&Query> {
        self.queries.get(number.place())
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, number: PatternId) -> Option<&mut Query> {
        self.queries.get_mut(number.place())
    }

    /// All with their numbers.
    pub fn numbered(&self) -> impl Iterator<Item = (PatternId, &Query)> {
        (0..).map(PatternId).zip(&self.queries)
    }

    /// The unit of a pattern.
    pub fn unit_of(&self, number: PatternId) -> Option<UnitRef> {
        self.get(number)?.unit
    }

    /// Whether a number is known, and no pattern has it.
    pub fn is_free(&self, number: PatternId) -> bool {
        self.get(number).is_some_and(Query::is_vacant)
    }

    /// A number that no pattern has.
    pub fn reserve(&mut self) -> PatternId {
        self.vacant.pop().unwrap_or_else(|| {
            self.queries.push(Query::vacant());
            PatternId(self.queries.len() as u32 - 1)
        })
    }

    /// Takes numbers back that no pattern was given.
    pub fn give_back(&mut self, numbers: &[PatternId]) {
        self.vacant.extend(numbers);
    }

    /// Gives a number to a pattern, or to none.
    pub fn put(&mut self, number: PatternId, query: Query) {
        if number.place() == self.queries.len() {
            self.queries.push(query);
        } else {
            self.queries[number.place()] = query;
        }
    }

    /// Forgets a pattern, whose number is free then.
    pub fn remove(&mut self, number: PatternId) {
        self.queries[number.place()] = Query::vacant();
        self.changes.forget(number);
        self.vacant.push(number);
    }

    /// Lets a pattern's matches count as reported from now on, or wait for that.
    pub fn begin_counting(&mut self, number: PatternId, has_begun: bool) {
        if let Some(once) = self.get_mut(number).and_then(Query::once_mut) {
            once.begin(has_begun);
        }
    }

    /// Takes it that a pattern has another plan.
    pub fn replanned(&mut self, number: PatternId) {
        self.changes.replanned(number, self.queries.len());
    }

    /// Drops what was reported in intervals that are over; calls `f` where there are too many keys in one, with the bound.
    #[cold]
    pub fn check_keys(
        &mut self,
        now: Time,
        mut f: impl FnMut(UnitRef, String) -> Result<(), LimitReached>,
    ) -> Result<(), LimitReached> {
        for query in &mut self.queries {
            let unit = query.unit;
            let Some(once) = query.once_mut() else { continue };
            once.pass(now);
            once.expire(now);
            if let (Some(limit), Some(unit)) = (once.take_limit(), unit) {
                f(unit, limit)?;
            }
        }
        Ok(())
    }
}
