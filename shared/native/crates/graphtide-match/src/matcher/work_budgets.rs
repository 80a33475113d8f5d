//! Work budgets of units: steps of work, refilled by the records of the stream and by a caller with a clock. Those of event
//! patterns and graph queries have accounts as engines have.
//!
//! Every unit has an account, and the pass has one that all share. A record of the stream refills each account, needed or not;
//! unspent steps are saved up to [`SAVED`] records' worth, and accounts begin full. Event time refills nothing, because the
//! sender of the stream could move it. So a pass without refills for time gives the same result for the same records, wherever
//! it runs. While the shared account is empty, only the unit that spent most recently is refused, if that was much.
//! Cost: O(1) an insertion; the search for the one that spent most is O(patterns), once in [`PATIENCE`] records at most.

use super::unit_ref::UnitRef;

/// Records' worth of work that an account saves.
pub const SAVED: u64 = 4096;

/// Of what an account saves, the part that a unit may spend of late without being called to account for the others.
const MODEST: u64 = 8;

/// Records from one search for the unit that spent most to the next.
const PATIENCE: u64 = 64;

/// Whose work is bounded by a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounded {
    /// The unit's: steps a record.
    Unit(u64),
    /// That of all units of the pass: steps a record.
    Pass(u64),
}

impl std::fmt::Display for Bounded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unit(work) => write!(f, "{work} steps of work a record"),
            Self::Pass(work) => write!(f, "{work} steps of work a record, which all patterns of its shard share"),
        }
    }
}

/// Steps saved from refills.
#[derive(Clone, Copy, Debug)]
struct Account {
    work: u64,
    left: u64,
    /// Records refilled when `left` was true.
    at: u64,
}

impl Account {
    fn full(work: u64) -> Self {
        Self { work, left: work.saturating_mul(SAVED), at: 0 }
    }

    fn left(&mut self, records: u64) -> u64 {
        if self.at < records {
            let refilled = self.work.saturating_mul(records - self.at);
            self.left = self.left.saturating_add(refilled).min(self.work.saturating_mul(SAVED));
            self.at = records;
        }
        self.left
    }
}

/// What a unit spent, halved every [`SAVED`] records.
#[derive(Clone, Copy, Debug, Default)]
struct Lately {
    steps: u64,
    half_life: u64,
}

impl Lately {
    fn steps(&mut self, records: u64) -> u64 {
        let now = records / SAVED;
        self.steps = self.steps.checked_shr((now - self.half_life).min(64) as u32).unwrap_or(0);
        self.half_life = now;
        self.steps
    }
}

/// The accounts of a pass.
#[derive(Debug)]
pub struct WorkBudgets {
    own: Vec<Account>,
    lately: Vec<Lately>,
    shared: Option<Account>,
    /// Records taken, and those refilled for time.
    records: u64,
    taken: u64,
    /// Who spent most of late, if that was much, and until when that is taken for true.
    greediest: (Option<usize>, u64),
}

impl WorkBudgets {
    /// Opens accounts of units that share so many steps a record; none if nothing is bounded.
    pub fn new(shared: Option<u64>) -> Option<Self> {
        shared.map(|shared| Self { shared: Some(Account::full(shared)), ..Self::unbounded() })
    }

    /// Opens accounts without bounds.
    fn unbounded() -> Self {
        Self { own: Vec::new(), lately: Vec::new(), shared: None, records: 0, taken: 0, greediest: (None, 0) }
    }

    /// Opens the account of a unit of a pass, which has accounts from when somebody's work is bounded.
    pub fn open_in(accounts: &mut Option<Self>, payer: UnitRef, work: Option<u64>) {
        if work.is_some() {
            accounts.get_or_insert_with(Self::unbounded);
        }
        if let Some(accounts) = accounts {
            accounts.open(payer, work);
        }
    }

    /// Opens the account of a unit that came, which may have the number of one that went.
    fn open(&mut self, payer: UnitRef, work: Option<u64>) {
        self.lookback(payer.place());
        self.own[payer.place()] = Account::full(work.unwrap_or(u64::MAX));
        self.lately[payer.place()] = Lately::default();
    }

    /// Opens accounts up to a place: a unit that came before anything was bounded has one without a bound.
    #[inline]
    fn lookback(&mut self, place: usize) {
        if place >= self.own.len() {
            self.open_to(place);
        }
    }

    #[cold]
    fn open_to(&mut self, place: usize) {
        self.own.resize(place + 1, Account::full(u64::MAX));
        self.lately.resize(place + 1, Lately::default());
    }

    /// Refills every account as so many records do.
    #[inline]
    pub fn refill(&mut self, records: u64) {
        self.records = self.records.saturating_add(records);
    }

    /// Refills budgets for the records of the stream; `records` is their total.
    #[inline]
    pub fn take_record(&mut self, taken: u64) {
        self.refill(taken - self.taken);
        self.taken = taken;
    }

    /// How many steps a unit may take next, and which account says so.
    #[allow(clippy::inline_always)] // every insertion that is bounded
    #[inline(always)]
    pub fn lend(&mut self, payer: UnitRef) -> (u64, Bounded) {
        self.lookback(payer.place());
        let records = self.records;
        let own = &mut self.own[payer.place()];
        let (left, bounded) = (own.left(records), Bounded::Unit(own.work));
        let Some(shared) = &mut self.shared else { return (left, bounded) };
        let work = shared.work;
        let share = match shared.left(records) {
            0 if self.greediest() == Some(payer.place()) => 0,
            rest => rest.max(modest(work)),
        };
        if share < left { (share, Bounded::Pass(work)) } else { (left, bounded) }
    }

    /// Takes the steps that a unit took out of its account and the shared one.
    #[inline]
    pub fn spend(&mut self, payer: UnitRef, steps: u64) {
        if steps == 0 {
            return;
        }
        self.lookback(payer.place());
        let own = &mut self.own[payer.place()];
        own.left = own.left.saturating_sub(steps);
        if let Some(shared) = &mut self.shared {
            shared.left = shared.left.saturating_sub(steps);
            let lately = &mut self.lately[payer.place()];
            lately.steps = lately.steps(self.records).saturating_add(steps);
        }
    }

    #[cold]
    fn greediest(&mut self) -> Option<usize> {
        let (found, until) = self.greediest;
        let records = self.records;
        if records < until {
            return found;
        }
        let floor = self.shared.as_ref().map_or(0, |shared| modest(shared.work));
        let spent = self.lately.iter_mut().enumerate().map(|(place, lately)| (lately.steps(records), place));
        let found = spent.max().filter(|&(steps, _)| steps > floor).map(|(_, place)| place);
        self.greediest = (found, records.saturating_add(PATIENCE));
        found
    }
}

fn modest(work: u64) -> u64 {
    work.saturating_mul(SAVED) / MODEST
}

#[cfg(test)]
mod tests {
    use graphtide_engine::ids::UnitId;

    use super::*;

    fn opened(works: &[Option<u64>], shared: Option<u64>) -> Option<WorkBudgets> {
        let mut accounts = WorkBudgets::new(shared);
        for (unit, &work) in (0..).zip(works) {
            WorkBudgets::open_in(&mut accounts, engine(unit), work);
        }
        accounts
    }

    fn engine(unit: u32) -> UnitRef {
        UnitRef::Subgraph(UnitId(unit))
    }

    #[test]
    fn what_is_not_spent_is_saved_up_to_a_bound() {
        let Some(mut work_budgets) = opened(&[Some(10)], None) else { panic!("it is bounded") };
        let all = 10 * SAVED;
        assert_eq!(work_budgets.lend(engine(0)), (all, Bounded::Unit(10)));
        work_budgets.refill(5);
        assert_eq!(work_budgets.lend(engine(0)).0, all, "it is full");
        work_budgets.spend(engine(0), all + 7);
        assert_eq!(work_budgets.lend(engine(0)).0, 0);
        work_budgets.refill(3);
        assert_eq!(work_budgets.lend(engine(0)).0, 30);
        work_budgets.refill(2 * SAVED);
        assert_eq!(work_budgets.lend(engine(0)).0, all);
    }

    #[test]
    fn nothing_is_kept_where_nothing_is_bounded() {
        assert!(opened(&[None, None], None).is_none());
    }

    #[test]
    fn the_greediest_pays_for_all_and_a_modest_one_never_does() {
        let Some(mut work_budgets) = opened(&[None, None, None], Some(100)) else { panic!("it is bounded") };
        let all = 100 * SAVED;
        work_budgets.spend(engine(0), 10);
        work_budgets.spend(engine(1), all / 4);
        work_budgets.spend(engine(2), all);
        assert_eq!(work_budgets.lend(engine(2)), (0, Bounded::Pass(100)));
        for modest in [engine(0), engine(1)] {
            assert_eq!(work_budgets.lend(modest), (all / MODEST, Bounded::Pass(100)));
        }
        work_budgets.refill(SAVED);
        assert_eq!(work_budgets.lend(engine(2)).0, all, "it may go on once there is something again");
    }

    #[test]
    fn nobody_is_refused_where_all_are_modest() {
        let Some(mut work_budgets) = opened(&[None; 100], Some(100)) else { panic!("it is bounded") };
        for unit in (0..100).map(engine) {
            work_budgets.spend(unit, 100 * SAVED / 50);
        }
        assert!((0..100).map(engine).all(|unit| work_budgets.lend(unit).0 > 0));
    }

    #[test]
    fn units_of_event_patterns_have_accounts_of_their_own() {
        let Some(mut work_budgets) = opened(&[Some(10)], None) else { panic!("it is bounded") };
        work_budgets.open(UnitRef::Events(0), Some(3));
        work_budgets.spend(UnitRef::Events(0), 2 * SAVED);
        assert_eq!(work_budgets.lend(UnitRef::Events(0)), (SAVED, Bounded::Unit(3)));
        assert_eq!(work_budgets.lend(engine(0)).0, 10 * SAVED);
    }

    #[test]
    fn units_of_all_families_that_came_before_anything_was_bounded_have_accounts_without_a_bound() {
        let mut accounts = None;
        for unit in 0..9 {
            for payer in [engine(unit), UnitRef::Events(unit), UnitRef::Graph(unit)] {
                WorkBudgets::open_in(&mut accounts, payer, None);
            }
        }
        assert!(accounts.is_none());
        WorkBudgets::open_in(&mut accounts, engine(0), Some(3));
        let Some(mut accounts) = accounts else { panic!("it is bounded") };
        for payer in [engine(8), UnitRef::Events(8), UnitRef::Graph(8)] {
            accounts.spend(payer, 1_000_000);
            assert_eq!(accounts.lend(payer).1, Bounded::Unit(u64::MAX));
        }
        assert_eq!(accounts.lend(engine(0)), (3 * SAVED, Bounded::Unit(3)));
    }
}
