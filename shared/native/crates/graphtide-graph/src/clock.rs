//! The clocks that windows are measured by: the times of records, or how many edges came.
//!
//! Invariant: in stream order no clock goes back. Edges of one time may be many; no two are at one place of the count.

use crate::Time;

/// When an edge of a time ends that slides with its window: at the start of its slide and the window's length, or with all time.
///
/// The start of a slide may lie before the least time.
#[inline]
#[must_use]
pub fn end_of_slide(ts: Time, slide: i64, length: i64) -> Time {
    // Into the slide it is less than a slide, which is at most the length: so the sum is not before the edge.
    ts.saturating_add(length - ts.rem_euclid(slide))
}

/// The instant at which what is valid at a time is looked at: the last two times are one, so that an end past all times, which is
/// the greatest one, is past every instant. What ends at the greatest time is valid for good, too.
#[inline]
#[must_use]
pub fn instant(ts: Time) -> Time {
    ts.min(Time::MAX - 1)
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
        self.on(clock).saturating_sub(window - 1)
    }
}
