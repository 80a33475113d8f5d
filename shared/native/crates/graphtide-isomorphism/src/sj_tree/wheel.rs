//! When partial matches expire: chains of them by the time of their oldest edge, in slots of equal length around a wheel.
//!
//! Invariant: a chain whose slot lies wholly before the window has been handed out. A slot is at most 1/256 of the window long,
//! so a partial match may stay that much longer than it is alive. So a reader of it checks its time. Windows up to 512 ticks
//! are exact.
//! Cost: O(1) to hang a partial match; O(expired) to expire, empty slots being passed over 64 at a time. Why a wheel: Lazy
//! Search finds edges that nobody held when they arrived, so partial matches come in no order of their oldest edges.

use graphtide_graph::{Time, clock};

use crate::arena::NIL;

const SLOTS: usize = 1024;
const SLOTS_IN_WINDOW: i64 = 512;
const WORDS: usize = SLOTS / 64;

/// Chains by slot of time.
#[derive(Debug)]
pub struct Wheel {
    heads: Vec<u32>,
    occupied: [u64; WORDS],
    /// A slot is `1 << shift` ticks long.
    shift: u32,
    /// Number of the first slot that is not yet handed out; slots are numbered along the whole of time.
    from: Time,
}

/// Where a slot lies on the wheel; it turns the same way before the origin of time as after.
#[inline]
fn place(slot: Time) -> usize {
    slot.cast_unsigned() as usize % SLOTS
}

impl Wheel {
    /// Makes a wheel for a window of so many ticks.
    pub fn new(window: i64) -> Self {
        let shift = (0..63).find(|&shift| (window - 1) >> shift < SLOTS_IN_WINDOW).unwrap_or(63);
        Self { heads: Vec::new(), occupied: [0; WORDS], shift, from: Time::MIN }
    }

    /// The chain of the slot of that time, to hang a node at: its head is to be replaced by the node.
    #[inline]
    pub fn chain(&mut self, oldest: Time) -> &mut u32 {
        if self.heads.is_empty() {
            self.heads = vec![NIL; SLOTS];
        }
        let place = place(oldest >> self.shift);
        self.occupied[place / 64] |= 1 << (place % 64);
        &mut self.heads[place]
    }

    /// Hands out the chain of the oldest slot that lies wholly before `alive_from`; none if nothing hangs there.
    #[inline]
    pub fn pop_expired(&mut self, alive_from: Time) -> Option<u32> {
        let until = alive_from >> self.shift;
        if self.from >= until {
            return None;
        }
        self.pop_until(until)
    }

    /// The chains from the newest slot to the oldest, each with a time that all of its nodes are before.
    pub fn newest_first(&self) -> impl Iterator<Item = (Time, u32)> {
        let slots = (0..SLOTS as u64).rev().filter_map(|ahead| self.from.checked_add_unsigned(ahead));
        slots.filter(|_| !self.heads.is_empty()).filter_map(|slot| {
            let (at, end) = (place(slot), (i128::from(slot) + 1) << self.shift);
            let is_occupied = self.occupied[at / 64] >> (at % 64) & 1 == 1;
            is_occupied.then(|| (Time::try_from(end).unwrap_or(if end < 0 { Time::MIN } else { Time::MAX }), self.heads[at]))
        })
    }

    fn pop_until(&mut self, until: Time) -> Option<u32> {
        // Once around is enough: a slot holds nothing but what its one turn within the window brought.
        self.from = self.from.max(clock::subtract(until, 2 * SLOTS_IN_WINDOW));
        while self.from < until {
            let at = place(self.from);
            let word = &mut self.occupied[at / 64];
            let ahead = *word >> (at % 64);
            let skipped = if ahead == 0 { 64 - at % 64 } else { ahead.trailing_zeros() as usize };
            self.from = until.min(self.from.saturating_add_unsigned(skipped as u64));
            if ahead != 0 && self.from < until {
                let at = place(self.from);
                *word &= !(1 << (at % 64));
                self.from += 1;
                return Some(std::mem::replace(&mut self.heads[at], NIL));
            }
        }
        None
    }

    /// Bytes it takes.
    pub fn bytes(&self) -> usize {
        self.heads.len() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hangs one node at each time and returns the nodes handed out.
    fn expired(wheel: &mut Wheel, alive_from: Time) -> Vec<u32> {
        std::iter::from_fn(|| wheel.pop_expired(alive_from)).collect()
    }

    #[test]
    fn short_windows_expire_exactly_and_in_order() {
        let mut wheel = Wheel::new(512);
        assert!(expired(&mut wheel, -100).is_empty());
        for (node, time) in [-100, 3, 200, 411].into_iter().enumerate() {
            *wheel.chain(time) = node as u32;
        }
        assert_eq!(expired(&mut wheel, -99), [0]);
        assert!(expired(&mut wheel, 3).is_empty());
        assert_eq!(expired(&mut wheel, 411), [1, 2]);
        assert_eq!(expired(&mut wheel, Time::MAX), [3]);
    }

    #[test]
    fn long_windows_expire_at_most_a_256th_late() {
        let window = 1_000_000;
        let mut wheel = Wheel::new(window);
        expired(&mut wheel, 0);
        *wheel.chain(5000) = 1;
        assert_eq!(expired(&mut wheel, 5001 + window / 256), [1]);
    }

    #[test]
    fn a_wheel_turns_many_times_and_over_long_silences() {
        for step in [1, 7, 63, 64, 700, 5000, 1 << 40] {
            let mut wheel = Wheel::new(300);
            let mut hung = std::collections::BTreeMap::new();
            for turn in 0..3000_i64 {
                let now = -10_000 + turn * step;
                let due: Vec<u32> = hung.range(..now - 299).map(|(_, &node)| node).collect();
                assert_eq!(expired(&mut wheel, now - 299), due, "step {step} turn {turn}");
                hung = hung.split_off(&(now - 299));
                let oldest = now - turn * 7919 % 300;
                if turn % 3 > 0 && !hung.contains_key(&oldest) {
                    let node = u32::try_from(turn).unwrap_or(0);
                    *wheel.chain(oldest) = node;
                    hung.insert(oldest, node);
                }
            }
        }
    }

    #[test]
    fn chains_are_walked_from_the_newest() {
        let mut wheel = Wheel::new(300);
        assert_eq!(wheel.newest_first().count(), 0);
        expired(&mut wheel, 1_000);
        for node in [1_007, 1_250, 1_003] {
            *wheel.chain(i64::from(node)) = node;
        }
        assert_eq!(wheel.newest_first().collect::<Vec<_>>(), [(1_251, 1_250), (1_008, 1_007), (1_004, 1_003)]);
    }

    #[test]
    fn the_largest_window_has_a_wheel() {
        let mut wheel = Wheel::new(i64::MAX);
        assert!(expired(&mut wheel, Time::MIN).is_empty());
        *wheel.chain(0) = 1;
        assert!(expired(&mut wheel, 1).is_empty());
    }
}
