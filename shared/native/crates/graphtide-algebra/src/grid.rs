//! The instants at which edges of windows can end: a grid, whose step divides lengths and slides of all of them.
//!
//! An edge at t of a window of length T and slide b ends at floor(t / b) · b + T. That is a multiple of any common divisor of T
//! and b. So the ends of all edges, and of all that is derived from them, are numbers of steps.

use graphtide_graph::Time;
use graphtide_graph::clock::Present;

/// Instants as numbers of steps from an origin; 1 is the first.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    step: i128,
    origin: i128,
}

impl Grid {
    /// A grid for windows of these lengths and slides, not placed yet.
    pub fn new(windows: impl IntoIterator<Item = (i64, i64)>) -> Self {
        let step = windows.into_iter().flat_map(|(length, slide)| [length, slide]).fold(0, gcd).max(1);
        let step = i128::from(step);
        Self { step, origin: before(Time::MIN, step) }
    }

    /// Steps in the longest of these windows, and one more.
    pub fn span(&self, length: i64) -> u64 {
        number(i128::from(length) / self.step + 2)
    }

    /// Moves the origin to just before an instant; returns how many steps later it lies now.
    pub fn move_to(&mut self, instant: Time) -> u64 {
        let origin = before(instant, self.step);
        let moved = (origin - self.origin) / self.step;
        self.origin = origin;
        number(moved)
    }

    /// The number of an end; 0 before the origin. The greatest time may stand for one past it, so its number is rounded up.
    #[inline]
    pub fn number(&self, end: Time) -> u64 {
        if end == Time::MAX {
            return self.reached(end);
        }
        self.steps(i128::from(end) - self.origin).0
    }

    /// The number that every end of what is valid now exceeds, and no other.
    #[inline]
    pub fn passed(&self, now: Present) -> u64 {
        self.steps(i128::from(now.floor()) - self.origin).0
    }

    /// The number that every end at an instant or after it has at least, and no other.
    #[inline]
    pub fn reached(&self, now: Time) -> u64 {
        let (steps, has_rest) = self.steps(i128::from(now) - self.origin);
        steps.saturating_add(u64::from(has_rest))
    }

    /// The whole steps in so many ticks, and whether some ticks are left; none before the origin.
    #[inline]
    fn steps(&self, ticks: i128) -> (u64, bool) {
        // Ticks of 64 bits are divided at once.
        match (u64::try_from(ticks), u64::try_from(self.step)) {
            (Ok(ticks), Ok(step)) => (ticks / step, !ticks.is_multiple_of(step)),
            _ => (number(ticks.max(0) / self.step), ticks > 0 && ticks % self.step != 0),
        }
    }

    /// The instant of a number.
    #[inline]
    pub fn instant(&self, number: u64) -> Time {
        (self.origin + i128::from(number) * self.step).min(i128::from(Time::MAX)) as Time
    }
}

/// The last multiple of a step but one that is not after an instant; it may lie before the least time.
fn before(instant: Time, step: i128) -> i128 {
    (i128::from(instant).div_euclid(step) - 1) * step
}

/// A number of steps, 0 before the origin.
#[inline]
fn number(steps: i128) -> u64 {
    u64::try_from(steps.max(0)).unwrap_or(u64::MAX)
}

fn gcd(one: i64, other: i64) -> i64 {
    if other == 0 { one } else { gcd(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_numbered_in_order_and_compare_with_now() {
        let mut grid = Grid::new([(30, 10), (20, 10)]);
        grid.move_to(Time::MAX - 1);
        assert!(grid.number(Time::MAX) > grid.passed(Present::at(Time::MAX)));
        assert_eq!(grid.instant(grid.number(Time::MAX)), Time::MAX);
        let mut grid = Grid::new([(30, 10), (20, 10)]);
        grid.move_to(40);
        assert_eq!([40, 50, 60].map(|end| grid.number(end)), [1, 2, 3]);
        assert_eq!([49, 50, 51].map(|now| grid.passed(Present::at(now))), [1, 2, 2]);
        assert_eq!([49, 50, 51].map(|now| grid.reached(now)), [2, 2, 3]);
        assert_eq!(grid.instant(3), 60);
        assert_eq!(grid.move_to(65), 2);
        assert_eq!((grid.number(60), grid.number(40)), (1, 0));
    }

    #[test]
    fn a_grid_at_the_least_time_has_the_multiples_of_its_step() {
        let mut grid = Grid::new([(10, 5)]);
        grid.move_to(Time::MIN);
        let end = Time::MIN + 8;
        assert_eq!(end % 5, 0);
        assert_eq!(grid.instant(grid.number(end)), end);
    }
}
