//! Dates and times of day as seconds since 1970.

/// A moment as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Seconds since 1970-01-01T00:00:00 by the clocks of its zone.
    pub seconds: i64,
    /// Nanoseconds after that; below a second.
    pub nanoseconds: u32,
    /// Seconds that its clocks are ahead of UTC, if it says so.
    pub offset: Option<i32>,
}

/// Why a text is no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It is not written so.
    Form,
    /// It is past 64 bits.
    Range,
    /// Its zone is not known so far away.
    Zone,
    /// It has no year.
    Year,
}

/// A day of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Day {
    year: u32,
    month: u32,
    day: u32,
}

impl Day {
    /// Reads `2027-01-01`; None if it is written otherwise, or no calendar has it.
    pub fn read(text: &str) -> Option<Self> {
        let (year, rest) = digits(text.as_bytes(), 4)?;
        let (month, rest) = digits(rest.strip_prefix(b"-")?, 2)?;
        let (day, rest) = digits(rest.strip_prefix(b"-")?, 2)?;
        let is_day = rest.is_empty() && (1..=9999).contains(&year) && (1..=12).contains(&month);
        (is_day && (1..=days_of_month(year, month)).contains(&day)).then_some(Self { year, month, day })
    }

    /// The last year whose day comes before this one; `of_year` gives the month and day in a year, if it has the day.
    pub fn year_of(self, of_year: impl Fn(u32) -> Option<(u32, u32)>) -> Option<u32> {
        /// Between two leap years, at most.
        const YEARS: u32 = 8;
        let years = self.year.saturating_sub(YEARS).max(1)..=self.year;
        years.rev().find(|year| {
            let found = of_year(*year)
                .filter(|(month, day)| (1..=12).contains(month) && (1..=days_of_month(*year, *month)).contains(day));
            found.is_some_and(|(month, day)| (*year, month, day) < (self.year, self.month, self.day))
        })
    }
}

/// Seconds of a date and time of day; None if no calendar or clock has them.
#[inline]
pub fn seconds(year: u32, month: u32, day: u32, (hour, minute, second): (u32, u32, u32)) -> Option<i64> {
    let is_valid = (1..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_of_month(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let of_day = i64::from(hour * 3600 + minute * 60 + second);
    is_valid.then(|| days(year, month, day) * 86_400 + of_day)
}

/// Month and day of the day of a year, from 1; None if the year does not have it.
pub fn of_day_of_year(year: u32, day: u32) -> Option<(u32, u32)> {
    let mut rest = day;
    for month in 1..=12 {
        let days = days_of_month(year, month);
        if (1..=days).contains(&rest) {
            return Some((month, rest));
        }
        rest = rest.checked_sub(days)?;
    }
    None
}

fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of_month(year: u32, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01; years begin in March, so that a leap day is the last of its year.
fn days(year: u32, month: u32, day: u32) -> i64 {
    let year = i64::from(year) - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((i64::from(month) + 9) % 12) + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of the days since 1970-01-01: the reverse of [`days`].
pub fn of_days(days: i64) -> (i64, i64, i64) {
    let since = days + 719_468;
    let (era, of_era) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// The day of a year, from 1, of the days since 1970-01-01.
pub fn day_of_year(year: i64, days_since: i64) -> i64 {
    days_since - u32::try_from(year).map_or(0, |year| days(year, 1, 1)) + 1
}

/// A number of digits at the beginning of a text, and what follows; None if there are not so many.
#[inline]
pub fn digits(text: &[u8], count: usize) -> Option<(u32, &[u8])> {
    let (number, rest) = text.split_at_checked(count)?;
    let mut value = 0;
    for byte in number {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u32::from(digit);
    }
    Some((value, rest))
}

/// Nanoseconds of the digits behind a decimal point, further ones rounded down, and what follows; None if there is no digit.
#[inline]
pub fn fraction(text: &[u8]) -> Option<(u32, &[u8])> {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (places, rest) = text.split_at(count);
    let nanoseconds = (0..9).fold(0, |sum, place| sum * 10 + places.get(place).map_or(0, |byte| u32::from(byte - b'0')));
    (count > 0).then_some((nanoseconds, rest))
}

/// Seconds ahead of UTC: `Z`, `+02`, `+0200` or `+02:00`, and what follows; None if it is none of these.
#[inline]
pub fn offset(text: &[u8]) -> Option<(i32, &[u8])> {
    let (&sign, rest) = text.split_first()?;
    match sign {
        b'Z' | b'z' => Some((0, rest)),
        b'+' | b'-' => {
            let (hours, rest) = digits(rest, 2)?;
            let minutes = rest.strip_prefix(b":").map_or_else(|| digits(rest, 2), |rest| digits(rest, 2));
            let (minutes, rest) = match minutes {
                Some(found) => found,
                None if rest.first() == Some(&b':') => return None,
                None => (0, rest),
            };
            if hours > 23 || minutes > 59 {
                return None;
            }
            let seconds = i32::try_from(hours * 3600 + minutes * 60).ok()?;
            Some((if sign == b'-' { -seconds } else { seconds }, rest))
        }
        _ => None,
    }
}
