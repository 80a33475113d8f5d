//! What a meter lends, and what becomes of results once more is refused.

use std::cell::Cell;

use graphtide_engine::meter::{Ended, Meter, Pace, Refusal, SLICE, Unhurried};

/// Continues for so many looks.
struct Looks(Cell<u32>);

impl Pace for Looks {
    fn rest(&self) -> bool {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        left > 0
    }
}

#[test]
fn bytes_past_those_lent_refuse_the_insertion_and_no_other() {
    let mut meter = Meter::unbounded(&Unhurried);
    meter.begin(u64::MAX);
    meter.lend_bytes(100);
    assert!(meter.hold(60) && meter.step());
    meter.release(20);
    assert!(meter.hold(60));
    assert!(!meter.hold(1) && !meter.step() && !meter.keep(0));
    assert_eq!(meter.take_bytes(), 101);
    assert_eq!(meter.end(), Some(Refusal::Bytes));
    meter.begin(u64::MAX);
    assert!(meter.hold(1 << 40) && meter.keep(1 << 40) && meter.step());
    assert_eq!(meter.end(), None);
}

#[test]
fn what_was_found_is_kept_though_no_more_may_be_sought() {
    let mut meter = Meter::unbounded(&Unhurried);
    meter.begin(3);
    meter.lend_bytes(100);
    while meter.step() {}
    assert!((0..10).all(|_| meter.keep(10)));
    assert!(!meter.keep(10), "as far as there are bytes");
    meter.take_bytes();
    assert_eq!(meter.end(), Some(Refusal::WorkBudget));
}

#[test]
fn nothing_is_kept_once_all_work_ends() {
    let pace = Looks(Cell::new(2));
    let mut meter = Meter::unbounded(&pace);
    meter.begin(u64::MAX);
    let kept = (0..10 * SLICE).take_while(|_| meter.keep(0)).count() as u64;
    assert!(kept <= 3 * SLICE + 3, "an end is heard at the next look: {kept}");
    assert_eq!(meter.end(), Some(Refusal::Ended(Ended::Stopped)));
}
