//! The parts of a moment by the clocks of a zone: its year, month, day and so on.

use super::calendar::{day_of_year, of_days};
use super::iso;
use super::zone::Zone;

/// Seconds since 1970 of the years 1 to 9999.
const KNOWN: std::ops::Range<i64> = -62_135_596_800..253_402_300_800;

/// What a clock and a calendar show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The year, from 1.
    pub year: i64,
    /// From 1.
    pub month: i64,
    /// Of the month, from 1.
    pub day: i64,
    /// From 0.
    pub hour: i64,
    /// From 0.
    pub minute: i64,
    /// From 0.
    pub second: i64,
    /// From Monday, 1.
    pub weekday: i64,
    /// From 1.
    pub day_of_year: i64,
}

impl Parts {
    /// The parts of a moment, in whole seconds since 1970; None past the years 1 to 9999, and where the zone is not known.
    pub fn new(seconds: i64, zone: &Zone) -> Option<Self> {
        const DAY: i64 = 86_400;
        if !KNOWN.contains(&seconds) {
            return None;
        }
        let shown = seconds + zone.offset_at(seconds)?;
        if !KNOWN.contains(&shown) {
            return None;
        }
        let (days, of_day) = (shown.div_euclid(DAY), shown.rem_euclid(DAY));
        let (year, month, day) = of_days(days);
        Some(Self {
            year,
            month,
            day,
            hour: of_day / 3_600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
            // 1970-01-01 was a Thursday.
            weekday: (days + 3).rem_euclid(7) + 1,
            day_of_year: day_of_year(year, days),
        })
    }
}

/// Whole seconds since 1970 of a text in ISO 8601, in UTC if it names no zone; None for other texts.
pub fn seconds_of_iso(text: &str) -> Option<i64> {
    iso::read(text).map(|moment| moment.seconds - i64::from(moment.offset.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str, zone: &Zone) -> Option<(i64, i64, i64, i64, i64)> {
        let parts = Parts::new(seconds_of_iso(text)?, zone)?;
        Some((parts.year, parts.month, parts.day, parts.weekday, parts.day_of_year))
    }

    #[test]
    fn every_day_of_the_calendar_is_read_back() {
        for days in KNOWN.start / 86_400..KNOWN.end / 86_400 {
            let (year, month, day) = of_days(days);
            let text = format!("{year:04}-{month:02}-{day:02}");
            assert_eq!(seconds_of_iso(&text), Some(days * 86_400), "{text}");
        }
    }

    #[test]
    fn days_of_weeks_and_years_count_from_one() {
        let utc = Zone::utc();
        assert_eq!(parts("2024-12-31", &utc), Some((2024, 12, 31, 2, 366)));
        assert_eq!(parts("1969-12-28T23:59:59Z", &utc), Some((1969, 12, 28, 7, 362)));
        assert_eq!(parts("0001-01-01", &utc), Some((1, 1, 1, 1, 1)));
        assert_eq!(parts("9999-12-31", &utc), Some((9999, 12, 31, 5, 365)));
        assert_eq!(parts("0001-01-01T00:00+00:01", &utc), None);
    }

    #[test]
    fn a_zone_is_known_between_its_bounds_and_both_shows_of_an_hour_have_their_offset() -> Result<(), &'static str> {
        // From 0 on an hour ahead, from 100,000 on two, from 200,000 to 300,000 one again.
        let zone = Zone::new(vec![(3_600, 3_600), (107_200, 7_200), (207_200, 3_600)], 303_600).ok_or("changes ascend")?;
        let offsets = [(-1, None), (0, Some(3_600)), (99_999, Some(3_600)), (100_000, Some(7_200)), (199_999, Some(7_200))];
        for (seconds, offset) in offsets {
            assert_eq!(zone.offset_at(seconds), offset, "{seconds}");
        }
        assert_eq!(zone.offset_at(200_000), Some(3_600));
        assert_eq!(zone.offset_at(299_999), Some(3_600));
        assert_eq!(zone.offset_at(300_000), None);
        Ok(())
    }
}
