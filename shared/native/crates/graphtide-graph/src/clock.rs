//! The clocks that windows are measured by, the times of records or how many edges came, and all arithmetic on what they show.
//!
//! Invariant: in stream order no clock goes back. Edges of one time may be many; no two are at one place of the count. Results
//! of arithmetic stay in 64 bits. A sum past the greatest time is the greatest time, a difference before the least time is the
//! least. Bounds that include their ends are exact so, since no record lies beyond. Ends of intervals exclude themselves, so an
//! interval that ends at the greatest time is valid there, too: [`Present`] compares them.

use crate::Time;

/// A time and a duration after it; the greatest time if that is before it.
#[inline]
#[must_use]
pub fn add(ts: Time, duration: i64) -> Time {
    ts.saturating_add(duration)
}

/// A time less a duration; the least time if that is after it.
#[inline]
#[must_use]
pub fn subtract(ts: Time, duration: i64) -> Time {
    ts.saturating_sub(duration)
}

/// A time and a duration after it; none if there is no such time.
#[inline]
#[must_use]
pub fn find_sum(ts: Time, duration: i64) -> Option<Time> {
    ts.checked_add(duration)
}

/// The time after another; none after the greatest.
#[inline]
#[must_use]
pub fn find_next(ts: Time) -> Option<Time> {
    ts.checked_add(1)
}

/// From where on a window of that length holds what comes up to an instant; one of length 0 holds nothing.
#[inline]
#[must_use]
pub fn alive_from(now: i64, window: i64) -> i64 {
    subtract(now, window - 1)
}

/// Whether a duration has passed since a time.
#[inline]
#[must_use]
pub fn has_passed(ts: Time, duration: i64, now: Time) -> bool {
    find_sum(ts, duration).is_some_and(|end| end <= now)
}

/// When an edge of a time ends that slides with its window. That is at the start of its slide and the window's length, or at
/// the greatest time.
///
/// The start of a slide may lie before the least time.
#[inline]
#[must_use]
pub fn end_of_slide(ts: Time, slide: i64, length: i64) -> Time {
    // Into the slide it is less than a slide, which is at most the length: so the sum is not before the edge.
    add(ts, length - ts.rem_euclid(slide))
}

/// The present instant, beside ends of intervals.
///
/// An end of [`Time::MAX`] stands for that time and all beyond, and is never over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Present(Time);

impl Present {
    /// The instant of a time.
    #[inline]
    #[must_use]
    pub fn at(ts: Time) -> Self {
        Self(ts)
    }

    /// Its time.
    #[inline]
    #[must_use]
    pub fn ts(self) -> Time {
        self.0
    }

    /// What the end of everything exceeds that is valid now.
    #[inline]
    #[must_use]
    pub fn floor(self) -> Time {
        self.0.min(Time::MAX - 1)
    }

    /// Whether what has this end is valid now.
    #[inline]
    #[must_use]
    pub fn precedes(self, end: Time) -> bool {
        end > self.floor()
    }

    /// Whether this end was before now, so that nothing from now on continues what had it.
    #[inline]
    #[must_use]
    pub fn follows(self, end: Time) -> bool {
        end < self.0
    }
}

/// What a window counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// Ticks of event time.
    #[default]
    Time,
    /// Insertions of the stream, whether anyone wants them or not.
    Edges,
}

/// Every clock.
pub const CLOCKS: [Clock; 2] = [Clock::Time, Clock::Edges];

/// What both clocks show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Event time.
    pub ts: Time,
    /// Insertions so far, this one included; [`i64::MIN`] of an edge that was not counted.
    pub edges: i64,
}

impl Now {
    /// A time, where nobody counts edges.
    #[inline]
    #[must_use]
    pub fn uncounted(ts: Time) -> Self {
        Self { ts, edges: i64::MIN }
    }

    /// What a clock shows.
    #[inline]
    #[must_use]
    pub fn on(self, clock: Clock) -> i64 {
        match clock {
            Clock::Time => self.ts,
            Clock::Edges => self.edges,
        }
    }

    /// From where on a window of that length holds edges; one of length 0 holds none.
    #[inline]
    #[must_use]
    pub fn alive_from(self, clock: Clock, window: i64) -> i64 {
        alive_from(self.on(clock), window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: [Time; 8] = [Time::MIN, Time::MIN + 1, Time::MIN + 9, -1, 0, Time::MAX - 9, Time::MAX - 1, Time::MAX];

    /// A number without bounds as a time.
    fn clamped(number: i128) -> Time {
        number.clamp(Time::MIN.into(), Time::MAX.into()) as Time
    }

    #[test]
    fn arithmetic_is_that_of_numbers_without_bounds_as_far_as_there_are_times() {
        for ts in TIMES {
            for duration in [0, 1, 8, 9, 10, i64::MAX] {
                let (exact, length) = (i128::from(ts), i128::from(duration));
                assert_eq!(add(ts, duration), clamped(exact + length));
                assert_eq!(subtract(ts, duration), clamped(exact - length));
                assert_eq!(find_sum(ts, duration).map(i128::from), Some(exact + length).filter(|&sum| sum <= Time::MAX.into()));
                for now in TIMES {
                    assert_eq!(has_passed(ts, duration, now), exact + length <= now.into(), "{ts} {duration} {now}");
                    let is_alive = ts >= alive_from(now, duration.max(1));
                    assert!(ts > now || is_alive == (exact > i128::from(now) - length.max(1)), "{ts} {duration} {now}");
                }
                for slide in [1, 3, 8, 9].into_iter().filter(|&slide| slide <= duration) {
                    let end = exact.div_euclid(slide.into()) * i128::from(slide) + length;
                    assert_eq!(end_of_slide(ts, slide, duration), clamped(end));
                }
            }
        }
    }

    #[test]
    fn the_greatest_end_is_never_over_and_all_others_are_in_time() {
        for now in TIMES {
            for end in TIMES {
                let present = Present::at(now);
                assert_eq!(present.precedes(end), end > now || end == Time::MAX);
                assert_eq!(present.follows(end), end < now);
            }
        }
    }
}
