//! The clocks of a time zone: by how much they are ahead of UTC, from one change to the next.
//!
//! A time that clocks show twice is the first of the two; one that they skip is counted as if they had not been changed yet. Both
//! are so in Python, where a `datetime` has `fold` 0. Cost: a search among the changes, a few hundred.

use crate::error::DecodeError;

/// A zone, as far as it is known.
#[derive(Clone, Debug)]
pub struct Zone {
    /// What clocks show when an offset begins to hold, in seconds since 1970, and the offset in seconds; ascending.
    changes: Box<[(i64, i32)]>,
    /// What clocks show when it is no longer known.
    until: i64,
}

/// Changes of clocks that a zone may have: four a year over its range, and more.
const MOST: usize = 4_096;

impl Zone {
    /// UTC.
    pub fn utc() -> Self {
        Self { changes: Box::new([(i64::MIN, 0)]), until: i64::MAX }
    }

    /// Makes a zone of changes: each begins when clocks show that many seconds since 1970. It is known from the first of them to
    /// before `until`.
    pub fn new(changes: Vec<(i64, i32)>, until: i64) -> Result<Self, DecodeError> {
        const DAY: i32 = 86_400;
        let ascends = changes.is_sorted_by(|one, next| one.0 < next.0);
        if !ascends || changes.is_empty() || changes.len() > MOST || changes.iter().any(|(_, offset)| offset.abs() >= DAY) {
            return Err(DecodeError::Zone);
        }
        Ok(Self { changes: changes.into(), until })
    }

    /// Whether clocks always show UTC.
    pub(super) fn is_utc(&self) -> bool {
        matches!(*self.changes, [(i64::MIN, 0)])
    }

    /// Seconds that clocks are ahead of UTC when they show a time; None where that is not known.
    #[inline]
    pub(super) fn offset(&self, clock: i64) -> Option<i64> {
        let next = self.changes.partition_point(|(from, _)| *from <= clock);
        let (_, offset) = self.changes.get(next.checked_sub(1)?)?;
        (clock < self.until).then_some(i64::from(*offset))
    }
}
