//! Units of one family that hold records in stores of their own, and who of them has a record.
//!
//! A record goes to the units that ask for its label, a deletion to all. A unit gets the time when it has something to settle,
//! and at the end of a chunk, so that it holds nothing for ever. What it finds goes out at once, for its records are its own:
//! the window of the matcher knows nothing of them. A unit that comes takes its past again before it reports anything.
//! Cost: a look-up of the label a record, and a comparison with the next bound of all; else what the units do.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use graphtide_engine::ids::PatternId;
use graphtide_engine::meter::Meter;
use graphtide_engine::output::MatchBatch;
use graphtide_graph::Time;
use graphtide_graph::batch::{EdgeBatch, Operation};
use graphtide_graph::clock::Now;
use smallvec::SmallVec;

use super::emission::Emission;
use super::query::Query;
use super::unit::{LimitReached, Removal, Unit, Warm};
use super::unit_ref::UnitRef;
use super::work_budgets::Bounded;

/// A record as such a unit takes it.
#[derive(Clone, Copy)]
pub struct OwnRecord<'a> {
    /// Where it is.
    pub batch: &'a EdgeBatch,
    /// Its row there.
    pub row: usize,
    /// How many steps it may take, and which account says so.
    pub lent: (u64, Bounded),
}

/// The past of such a unit.
#[derive(Clone, Copy)]
pub struct OwnPast<'a> {
    /// Records from before the unit was made; they produce no output.
    pub batches: &'a [&'a EdgeBatch],
    /// From which batch on their matches are reported, or will be once nothing can prevent them.
    pub emitted: usize,
    /// The time up to which everything is known.
    pub now: Time,
}

/// A unit with a store of its own.
pub trait OwnStore:
    for<'a> Unit<Record<'a> = OwnRecord<'a>, Deletion<'a> = OwnRecord<'a>, Past<'a> = OwnPast<'a>, Found = ()>
{
    /// A unit of a number.
    fn reference(number: u32) -> UnitRef;

    /// The labels of the records that it asks for; none if of any.
    fn asks(&self) -> Option<Vec<u32>>;

    /// Whether none of its patterns is left: then another may have its number.
    fn is_vacant(&self) -> bool;

    /// Learns the names of labels that came since the last time.
    fn learn_names(&mut self);

    /// Lets matches of a pattern count that records complete from now on.
    fn begin(&mut self, _pattern: PatternId) {}

    /// Lets all bounds pass.
    fn finish(&mut self, _meter: &mut Meter<'_>) {}

    /// Reports a pattern no more; says whether it asks for other records then.
    fn remove(&mut self, pattern: PatternId) -> bool;

    /// Whether it has something to hand over.
    fn has_found(&self) -> bool;

    /// Whether what it took last could have been of use, if no limit had been reached: who asks for the same later depends on
    /// it.
    fn wants_last(&self, is_held: bool) -> bool {
        is_held
    }

    /// Hands over what was found, in parts if it is much; returns how many matches that are.
    fn hand_over(&mut self, queries: &mut [Query], out: &mut MatchBatch, meter: &mut Meter<'_>) -> u64;

    /// Does as the policy says where it takes more bytes than it may.
    fn check_bytes(&mut self, queries: &[Query]) -> Result<(), LimitReached>;

    /// Does as the policy says, now that one of its patterns reached a limit.
    fn at_limit(&mut self, limit: &str) -> Result<(), LimitReached>;

    /// Takes the steps that a record took.
    fn take_steps(&mut self, steps: u64);
}

/// All units of a family.
#[derive(Debug)]
pub struct Units<U> {
    units: Vec<U>,
    /// By label: who asks for it.
    by_label: Vec<SmallVec<[u32; 2]>>,
    /// Who asks for records of any label.
    of_any_label: Vec<u32>,
    /// By unit: the bound that it is to be woken after, if it waits for one.
    waits: Vec<Option<Time>>,
    /// Bounds that units wait for; those that were replaced are passed over.
    bounds: BinaryHeap<Reverse<(Time, u32)>>,
}

/// Of what use a record was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// A unit holds it, or held what was deleted.
    pub is_held: bool,
    /// A unit would, if no limit was reached.
    pub is_wanted: bool,
}

impl<U> Default for Units<U> {
    fn default() -> Self {
        Self { units: Vec::new(), by_label: Vec::new(), of_any_label: Vec::new(), waits: Vec::new(), bounds: BinaryHeap::new() }
    }
}

impl<U: OwnStore> Units<U> {
    /// Gives a unit its records from now on; returns its number.
    pub fn put(&mut self, unit: U) -> u32 {
        let place = self.units.iter().position(U::is_vacant).unwrap_or(self.units.len());
        if place < self.units.len() {
            self.units[place] = unit;
            self.waits[place] = None;
        } else {
            self.units.push(unit);
            self.waits.push(None);
        }
        self.ask(place as u32);
        self.wait(place as u32);
        place as u32
    }

    /// Lets a unit take its past.
    pub fn replay(&mut self, number: u32, past: OwnPast<'_>, meter: &mut Meter<'_>) -> Warm {
        let warm = self.units[number as usize].replay(past, meter);
        self.wait(number);
        warm
    }

    /// Reports a pattern no more; the last of a unit takes it along.
    pub fn remove(&mut self, number: u32, pattern: PatternId) {
        if self.units[number as usize].remove(pattern) {
            self.ask_anew(number);
        }
    }

    /// Lets a unit have the records that it asks for now.
    pub fn ask_anew(&mut self, number: u32) {
        self.by_label.iter_mut().for_each(|units| units.retain(|&mut other| other != number));
        self.of_any_label.retain(|&other| other != number);
        self.ask(number);
    }

    fn ask(&mut self, number: u32) {
        match self.units[number as usize].asks() {
            None => self.of_any_label.push(number),
            Some(labels) => {
                for label in labels {
                    let label = label as usize;
                    self.by_label.resize_with(self.by_label.len().max(label + 1), SmallVec::new);
                    self.by_label[label].push(number);
                }
            }
        }
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// A unit.
    pub fn get(&self, number: u32) -> &U {
        &self.units[number as usize]
    }

    /// The same, to be changed; see [`ask_anew`](Self::ask_anew).
    pub fn get_mut(&mut self, number: u32) -> &mut U {
        &mut self.units[number as usize]
    }

    /// Lets all units know the labels that came since the last time.
    pub fn learn_names(&mut self) {
        self.units.iter_mut().for_each(U::learn_names);
    }

    /// Takes a record, and emits what it brings about.
    pub fn take(
        &mut self,
        batch: &EdgeBatch,
        row: usize,
        pass: &mut Emission<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Use, LimitReached> {
        let is_deletion = batch.operations()[row] == Operation::Delete;
        let asks: SmallVec<[u32; 4]> = if is_deletion {
            (0..).zip(&self.units).filter(|(_, unit)| !unit.is_vacant()).map(|(number, _)| number).collect()
        } else {
            let own = self.by_label.get(batch.labels()[row][1].0 as usize);
            own.into_iter().flatten().chain(&self.of_any_label).copied().collect()
        };
        let mut used = Use::default();
        for number in asks {
            let unit = &mut self.units[number as usize];
            let (lent, before) = (pass.lend(U::reference(number)), meter.taken());
            let record = OwnRecord { batch, row, lent };
            let taken = if is_deletion {
                unit.delete(record, &mut (), meter).map(|removal| removal != Removal::NotHeld)
            } else {
                unit.insert(record, &mut (), meter)
            };
            let steps = meter.taken() - before;
            unit.take_steps(steps);
            pass.spend(U::reference(number), steps);
            emit(unit, pass, meter);
            if let Ok(is_held) = taken {
                used.is_held |= is_held;
                used.is_wanted |= unit.wants_last(is_held);
            }
            self.wait(number);
            taken?;
        }
        Ok(used)
    }

    /// Whether some unit may have something to report before a record of a time.
    #[inline]
    pub fn may_be_due(&self, now: Time) -> bool {
        self.bounds.peek().is_some_and(|Reverse((bound, _))| *bound < now)
    }

    /// Lets units report what has settled by a time.
    #[cold]
    pub fn wake(&mut self, now: Now, pass: &mut Emission<'_>, meter: &mut Meter<'_>) {
        // Each unit once: what it is to wait for next lies after now, and if it does not, that is not a reason to ask it for ever.
        let mut woken: SmallVec<[u32; 4]> = SmallVec::new();
        while let Some(&Reverse((bound, number))) = self.bounds.peek().filter(|Reverse((bound, _))| *bound < now.ts) {
            self.bounds.pop();
            if self.waits[number as usize].take_if(|own| *own == bound).is_none() {
                continue;
            }
            let unit = &mut self.units[number as usize];
            unit.advance(now, &mut (), meter);
            emit(unit, pass, meter);
            woken.push(number);
        }
        woken.into_iter().for_each(|number| self.wait(number));
    }

    /// Advances time for all, so that expired state is dropped.
    pub fn advance(&mut self, now: Now, pass: &mut Emission<'_>, meter: &mut Meter<'_>) {
        for number in 0..self.units.len() {
            let unit = &mut self.units[number];
            unit.advance(now, &mut (), meter);
            emit(unit, pass, meter);
            self.wait(number as u32);
        }
    }

    /// Lets all bounds pass.
    pub fn finish(&mut self, pass: &mut Emission<'_>, meter: &mut Meter<'_>) {
        for unit in &mut self.units {
            unit.finish(meter);
            emit(unit, pass, meter);
        }
    }

    /// Does as the policies say where units take more bytes than they may.
    pub fn check_bytes(&mut self, queries: &[Query]) -> Result<(), LimitReached> {
        self.units.iter_mut().try_for_each(|unit| unit.check_bytes(queries))
    }

    /// Bytes of state of all.
    pub fn bytes(&self) -> usize {
        self.units.iter().map(|unit| unit.usage().bytes).sum()
    }

    /// The most that was held at once in each, added up: that bounds what was held in all.
    pub fn peak(&self) -> usize {
        self.units.iter().map(|unit| unit.usage().peak).sum()
    }

    #[inline]
    fn wait(&mut self, number: u32) {
        let bound = self.units[number as usize].next_due();
        let waits = &mut self.waits[number as usize];
        if bound != *waits {
            *waits = bound;
            self.bounds.extend(bound.map(|bound| Reverse((bound, number))));
        }
    }
}

/// Hands over what a unit found, if that is something.
#[inline]
fn emit(unit: &mut impl OwnStore, pass: &mut Emission<'_>, meter: &mut Meter<'_>) {
    if unit.has_found() {
        pass.hand_over(|queries, out| unit.hand_over(queries, out, meter));
    }
}

/// Words a bound that so many patterns have each, and hold together.
pub fn of_each(bound: &str, members: usize) -> String {
    match members {
        0 | 1 => bound.to_owned(),
        several => format!("{bound} a pattern, for the {several} of its unit together"),
    }
}

#[cfg(test)]
mod tests {
    use graphtide_engine::engine::Usage;
    use graphtide_engine::limits::Limits;
    use graphtide_engine::lists::Postings;
    use graphtide_engine::meter::Unhurried;
    use graphtide_engine::output::ItemReport;
    use graphtide_graph::batch::Row;
    use graphtide_graph::key::{IdRef, KeyRef};
    use graphtide_graph::symbol::{SharedSymbols, Symbol};

    use super::*;
    use crate::matcher::output::{Output, Sources};
    use crate::matcher::unit::{Counts, Guard};
    use crate::matcher::window::Window;

    /// A toy: it holds the records of one label, and waits for the time after each.
    struct Toy {
        label: u32,
        is_gone: bool,
        held: Vec<Time>,
        woken: Vec<Time>,
        due: Option<Time>,
        guard: Guard,
    }

    impl Toy {
        fn of(label: u32) -> Self {
            let guard = Guard::new(Limits::default());
            Self { label, is_gone: false, held: Vec::new(), woken: Vec::new(), due: None, guard }
        }
    }

    impl Unit for Toy {
        type Record<'a> = OwnRecord<'a>;
        type Deletion<'a> = OwnRecord<'a>;
        type Past<'a> = OwnPast<'a>;
        type Found = ();

        fn members(&self) -> impl Iterator<Item = PatternId> {
            (!self.is_gone).then_some(PatternId(self.label)).into_iter()
        }

        fn guard(&self) -> &Guard {
            &self.guard
        }

        fn insert(&mut self, record: OwnRecord<'_>, (): &mut (), meter: &mut Meter<'_>) -> Result<bool, LimitReached> {
            meter.tick(1);
            self.held.push(record.batch.ts()[record.row]);
            self.due = self.held.last().copied();
            Ok(true)
        }

        fn delete(&mut self, _: OwnRecord<'_>, (): &mut (), _: &mut Meter<'_>) -> Result<Removal, LimitReached> {
            Ok(if self.held.pop().is_some() { Removal::Reported } else { Removal::NotHeld })
        }

        fn advance(&mut self, now: Now, (): &mut (), _: &mut Meter<'_>) {
            self.woken.push(now.ts);
            self.due = None;
        }

        fn replay(&mut self, past: OwnPast<'_>, _: &mut Meter<'_>) -> Warm {
            self.held.extend(past.batches.iter().flat_map(|batch| batch.ts()));
            Warm::Whole
        }

        fn next_due(&self) -> Option<i64> {
            self.due
        }

        fn usage(&self) -> Usage {
            Usage { live: self.held.len(), peak: self.held.len(), bytes: 8 * self.held.len() }
        }

        fn usage_of(&self, _: PatternId) -> Usage {
            self.usage()
        }

        fn items_of(&self, _: PatternId) -> Vec<ItemReport> {
            Vec::new()
        }

        fn counts_since(&self, _: Counts) -> Counts {
            self.guard.counts
        }
    }

    impl OwnStore for Toy {
        fn reference(number: u32) -> UnitRef {
            UnitRef::Events(number)
        }

        fn asks(&self) -> Option<Vec<u32>> {
            Some(if self.is_gone { Vec::new() } else { vec![self.label] })
        }

        fn is_vacant(&self) -> bool {
            self.is_gone
        }

        fn learn_names(&mut self) {}

        fn remove(&mut self, _: PatternId) -> bool {
            self.is_gone = true;
            true
        }

        fn has_found(&self) -> bool {
            false
        }

        fn hand_over(&mut self, _: &mut [Query], _: &mut MatchBatch, _: &mut Meter<'_>) -> u64 {
            0
        }

        fn check_bytes(&mut self, _: &[Query]) -> Result<(), LimitReached> {
            Ok(())
        }

        fn at_limit(&mut self, _: &str) -> Result<(), LimitReached> {
            Ok(())
        }

        fn take_steps(&mut self, steps: u64) {
            self.guard.counts.work += steps;
        }
    }

    fn batch(records: &[(Time, u32, Operation)]) -> EdgeBatch {
        let mut batch = EdgeBatch::new(0);
        for (ordinal, &(ts, label, operation)) in (0..).zip(records) {
            let row = Row {
                ordinal,
                line: ordinal,
                ts,
                operation,
                source: KeyRef::Number(1),
                target: KeyRef::Number(2),
                label: Symbol(label),
                source_label: Symbol::ABSENT,
                target_label: Symbol::ABSENT,
                stream: Symbol::ABSENT,
                id: IdRef::Given(KeyRef::Number(ordinal)),
                raw: b"",
            };
            batch.push(&row, []);
        }
        batch
    }

    #[test]
    fn a_toy_has_the_records_that_it_asks_for_and_all_deletions_and_is_woken_once_for_each_bound() {
        let (symbols, postings) = (SharedSymbols::default(), Postings::default());
        let (window, mut output) = (Window::new(&symbols, false, false), Output::new(false));
        let (mut budgets, mut out) = (None, MatchBatch::default());
        let from = Sources { units: &[], postings: &postings, window: &window };
        let mut pass = Emission { budgets: &mut budgets, output: &mut output, from, queries: &mut [], out: &mut out };
        let meter = &mut Meter::unbounded(&Unhurried);
        let mut units = Units::default();
        assert_eq!((units.put(Toy::of(5)), units.put(Toy::of(7))), (0, 1));
        let records = batch(&[(1, 5, Operation::Insert), (2, 7, Operation::Insert), (3, 9, Operation::Insert)]);
        let held = [true, true, false];
        for (row, is_held) in held.into_iter().enumerate() {
            assert_eq!(units.take(&records, row, &mut pass, meter), Ok(Use { is_held, is_wanted: is_held }));
        }
        assert_eq!((&units.get(0).held, &units.get(1).held), (&vec![1], &vec![2]));
        assert_eq!((units.get(0).guard.counts.work, units.bytes(), units.peak()), (1, 16, 2));
        assert!(!units.may_be_due(1) && units.may_be_due(2));
        for now in [2, 9] {
            units.wake(Now::uncounted(now), &mut pass, meter);
        }
        assert_eq!((&units.get(0).woken, &units.get(1).woken), (&vec![2], &vec![9]));
        let deletion = batch(&[(10, 0, Operation::Delete)]);
        assert_eq!(units.take(&deletion, 0, &mut pass, meter), Ok(Use { is_held: true, is_wanted: true }));
        assert_eq!(units.peak(), 0);
        units.remove(0, PatternId(5));
        assert_eq!(units.take(&records, 0, &mut pass, meter), Ok(Use::default()));
        assert_eq!(units.put(Toy::of(9)), 0);
        let batches = &[&records];
        assert_eq!(units.replay(0, OwnPast { batches, emitted: 1, now: 3 }, meter), Warm::Whole);
        assert!(units.take(&records, 2, &mut pass, meter).is_ok_and(|used| used.is_held));
        assert_eq!(units.get(0).held, [1, 2, 3, 3]);
    }
}
