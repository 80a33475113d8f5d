//! The clocks of a time zone: by how much they are ahead of UTC, from one change to the next.
//!
//! A time that clocks show twice is the first of the two. One that they skip is counted as if they had not been changed yet.
//! Both are so in Python, where a `datetime` has `fold` 0. Cost: a search among the changes, a few hundred.

/// A zone, as far as it is known.
#[derive(Clone, Debug)]
pub struct Zone {
    /// What clocks show when an offset begins to hold, in seconds since 1970, and the offset in seconds; ascending.
    changes: Box<[(i64, i32)]>,
    /// What clocks show when it is no longer known.
    until: i64,
    /// When each of the changes is, in seconds since 1970.
    moments: Box<[i64]>,
}

/// Changes of clocks that a zone may have: four a year over its range, and more.
const MOST: usize = 4_096;

impl Zone {
    /// UTC.
    pub fn utc() -> Self {
        Self { changes: Box::new([(i64::MIN, 0)]), until: i64::MAX, moments: Box::new([i64::MIN]) }
    }

    /// Makes a zone of changes: each begins when clocks show that many seconds since 1970. It is known from the first of them to
    /// before `until`. None if they do not ascend, are too many, or are a day or more ahead.
    pub fn new(changes: Vec<(i64, i32)>, until: i64) -> Option<Self> {
        const DAY: i32 = 86_400;
        let ascends = changes.is_sorted_by(|one, next| one.0 < next.0);
        if !ascends || changes.is_empty() || changes.len() > MOST || changes.iter().any(|(_, offset)| offset.abs() >= DAY) {
            return None;
        }
        // Clocks that go back show a time twice, and the first counts; those that go forward skip one.
        let mut ahead = i32::MIN;
        let moment = |(shown, offset): &(i64, i32)| {
            let most = ahead.max(*offset);
            ahead = *offset;
            shown.saturating_sub(i64::from(most))
        };
        let moments = changes.iter().map(moment).collect();
        Some(Self { changes: changes.into(), until, moments })
    }

    /// Whether clocks always show UTC.
    pub fn is_utc(&self) -> bool {
        matches!(*self.changes, [(i64::MIN, 0)])
    }

    /// Seconds that clocks are ahead of UTC when they show a time; None where that is not known.
    #[inline]
    pub fn offset(&self, clock: i64) -> Option<i64> {
        let next = self.changes.partition_point(|(from, _)| *from <= clock);
        let (_, offset) = self.changes.get(next.checked_sub(1)?)?;
        (clock < self.until).then_some(i64::from(*offset))
    }

    /// Seconds that clocks are ahead of UTC at a moment, in seconds since 1970; None where that is not known.
    pub fn offset_at(&self, moment: i64) -> Option<i64> {
        let next = self.moments.partition_point(|from| *from <= moment);
        let (_, offset) = self.changes.get(next.checked_sub(1)?)?;
        let offset = i64::from(*offset);
        (moment.saturating_add(offset) < self.until).then_some(offset)
    }
}
