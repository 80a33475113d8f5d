//! Jumps along linked lists of entries, so that a list is skipped to an upper bound of time in O(log) steps.
//!
//! The entry at depth d of its list, counted from the oldest, jumps over some entries. The last term of d in skew-binary
//! notation says how many. Invariant: a jump leads to an entry of the same list that is older than the entry, or out of the
//! ring.
//! Cost: O(1) amortised to add; 8 bytes an entry. What left the ring is never read: a jump there counts as none.
//!
//! Reference: Myers, An applicative random-access stack (1983).

use std::collections::VecDeque;

use super::access::Place;

#[derive(Clone, Copy, Debug)]
struct Jump {
    target: Place,
    depth: u32,
}

/// The jumps of a ring's entries, in their order.
#[derive(Debug, Default)]
pub struct Jumps(VecDeque<Jump>);

impl Jumps {
    /// Adds the jump of the ring's next entry, which follows `previous` in its list; the ring starts at place `first`.
    #[inline]
    pub fn push_back(&mut self, first: Place, previous: Place) {
        let get = |place: Place| self.0.get(place.wrapping_sub(first) as usize);
        let out = first.wrapping_sub(1);
        let jump = match get(previous) {
            None => Jump { target: out, depth: 0 },
            Some(before) => {
                let depth = before.depth.wrapping_add(1);
                let target =
                    if last_term(depth) == 1 { previous } else { get(before.target).map_or(out, |middle| middle.target) };
                Jump { target, depth }
            }
        };
        self.0.push_back(jump);
    }

    /// Drops the jump of the oldest entry.
    #[inline]
    pub fn pop_front(&mut self) {
        self.0.pop_front();
    }

    /// Where the entry at that offset in the ring jumps to.
    #[inline]
    pub fn target(&self, offset: u32) -> Option<Place> {
        self.0.get(offset as usize).map(|jump| jump.target)
    }

    /// Bytes taken.
    pub fn bytes(&self) -> usize {
        self.0.len() * size_of::<Jump>()
    }
}

/// The least term of a number as a sum of greatest possible 2^k - 1; 0 has none.
#[inline]
fn last_term(number: u32) -> u32 {
    let (mut rest, mut term) = (u64::from(number), 0);
    while rest > 0 {
        term = (1 << (rest + 1).ilog2()) - 1;
        rest -= term;
    }
    term as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_skew_binary() {
        assert_eq!([1, 2, 3, 4, 5, 6, 7, 8, 14, 15, 17].map(last_term), [1, 1, 3, 1, 1, 3, 7, 1, 7, 15, 1]);
    }

    #[test]
    fn any_depth_is_reached_in_logarithmic_steps() {
        let mut jumps = Jumps::default();
        for place in 0..10_000_u32 {
            jumps.push_back(0, place.wrapping_sub(1));
        }
        for wanted in [0, 1, 17, 4_095, 9_000, 9_998] {
            let (mut place, mut steps) = (9_999_u32, 0);
            while place > wanted {
                place = jumps.target(place).filter(|&far| far >= wanted && far < place).unwrap_or(place - 1);
                steps += 1;
            }
            assert!(steps <= 40, "{steps} steps to {wanted}");
        }
    }

    #[test]
    fn jumps_out_of_the_ring_lead_nowhere() {
        let (mut jumps, mut first) = (Jumps::default(), 0_u32);
        for place in 0..1_000_u32 {
            jumps.push_back(first, place.wrapping_sub(1));
            if place - first > 50 {
                jumps.pop_front();
                first += 1;
            }
            let target = jumps.target(place - first);
            assert!(target.is_some_and(|target| target < place || target == first.wrapping_sub(1) || place == 0));
        }
    }
}
