//! What units with a store of their own use of the pass: work to spend, and a way out for what they find.
//!
//! Their matches go out at once, behind the rows that wait.

use graphtide_engine::meter::{Meter, Unhurried};
use graphtide_engine::output::MatchBatch;

use super::output::{Output, Sources};
use super::query::Query;
use super::unit_ref::UnitRef;
use super::work_budgets::{Bounded, WorkBudgets};

/// The pass as such units see it while they have a record.
pub struct Emission<'a> {
    /// What units may spend.
    pub budgets: &'a mut Option<WorkBudgets>,
    /// The output of all.
    pub output: &'a mut Output,
    /// What the rows that wait refer to.
    pub from: Sources<'a>,
    /// By number: the patterns.
    pub queries: &'a mut [Query],
    /// Where matches go.
    pub out: &'a mut MatchBatch,
}

impl Emission<'_> {
    /// Refills budgets for the records of the stream; `records` is their total.
    #[inline]
    pub fn take_record(&mut self, taken: u64) {
        if let Some(budgets) = &mut self.budgets {
            budgets.take_record(taken);
        }
    }

    /// How many steps a unit may take with the record, and which account says so.
    #[inline]
    pub fn lend(&mut self, unit: UnitRef) -> (u64, Bounded) {
        let unbounded = (u64::MAX, Bounded::Unit(u64::MAX));
        self.budgets.as_mut().map_or(unbounded, |budgets| budgets.lend(unit))
    }

    /// Takes the steps that a unit took.
    #[inline]
    pub fn spend(&mut self, unit: UnitRef, steps: u64) {
        if let Some(budgets) = &mut self.budgets {
            budgets.spend(unit, steps);
        }
    }

    /// Hands over what a unit found, behind what was found before; `f` appends it and returns how many matches that is.
    pub fn hand_over(&mut self, f: impl FnOnce(&mut [Query], &mut MatchBatch) -> u64) {
        if !self.output.rows.is_empty() {
            self.output.hand_over(self.from, self.queries, self.out, &mut Meter::unbounded(&Unhurried));
        }
        self.output.append(self.queries, self.out, f);
    }
}
