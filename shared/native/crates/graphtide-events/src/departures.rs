//! What leaves at a time of its own, the first to leave first.
//!
//! Cost: O(log entries) to add one and for each that leaves; a look where none does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use graphtide_graph::Time;

/// Entries by the last time that they are of use.
#[derive(Debug)]
pub(crate) struct Departures<T: Ord>(BinaryHeap<Reverse<(Time, T)>>);

impl<T: Ord> Default for Departures<T> {
    fn default() -> Self {
        Self(BinaryHeap::new())
    }
}

impl<T: Ord> Departures<T> {
    /// Adds an entry that is of use until a time.
    pub(crate) fn add(&mut self, ts: Time, what: T) {
        self.0.push(Reverse((ts, what)));
    }

    /// Removes the entry of the earliest time if that lies before another; of those of one time the least first.
    #[inline]
    pub(crate) fn pop_before(&mut self, from: Time) -> Option<T> {
        let Reverse((ts, _)) = self.0.peek()?;
        if *ts >= from {
            return None;
        }
        self.0.pop().map(|Reverse((_, what))| what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_at_a_time_is_still_there_at_that_time() {
        let mut departures = Departures::default();
        departures.add(7, 'b');
        departures.add(3, 'a');
        departures.add(Time::MAX, 'c');
        assert_eq!(departures.pop_before(3), None);
        assert_eq!(
            [departures.pop_before(8), departures.pop_before(8), departures.pop_before(8)],
            [Some('a'), Some('b'), None]
        );
        assert_eq!(departures.pop_before(Time::MAX), None);
    }
}
